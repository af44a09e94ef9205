/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client/http_client.h"

#include <ctype.h>

int http_add_encoded(struct strbuf *buf, const char *text, const char *also)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text) || strchr(also, *text))
			strbuf_addc(buf, *text);
		else
			strbuf_addf(buf, "%%%02X", (unsigned int)(unsigned char)*text);
	return buf->status;
}

int http_form_add(struct strbuf *form, const char *name, const char *value)
{
	if (form->len > 0)
		strbuf_addc(form, '&');
	http_add_encoded(form, name, "");
	strbuf_addc(form, '=');
	return http_add_encoded(form, value, "");
}
