/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client/http_client.h"

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
	       c == '_' || c == '~';
}

static void add_encoded(struct strbuf *form, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (is_unreserved(*p)) {
			strbuf_addc(form, (char)*p);
			continue;
		}
		strbuf_addc(form, '%');
		strbuf_addc(form, hex[*p >> 4]);
		strbuf_addc(form, hex[*p & 15]);
	}
}

int http_form_add(struct strbuf *form, const char *name, const char *value)
{
	if (form->len > 0)
		strbuf_addc(form, '&');
	add_encoded(form, name);
	strbuf_addc(form, '=');
	add_encoded(form, value);
	return form->status;
}
