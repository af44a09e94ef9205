/* SPDX-License-Identifier: Apache-2.0 */
/* Which credentials a request is sent with. A token file goes before a token, as in client-go. */
#include "base/io.h"
#include "base/limits.h"
#include "kube/base64.h"
#include "kube/kube_internal.h"
#include "kube/kubeconfig.h"

#include <errno.h>
#include <string.h>

static void wipe(struct strbuf *buf)
{
	if (buf->text)
		explicit_bzero(buf->text, buf->capacity);
	strbuf_release(buf);
}

static int bearer_of_file(const char *path, struct strbuf *ret, struct err *err)
{
	CLEANUP(wipe) struct strbuf token = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	int r = io_read_file(path, &token, err);

	if (r)
		return r;
	while (token.len > 0 && strchr(" \t\r\n", token.text[token.len - 1]))
		token.text[--token.len] = '\0';
	if (token.len == 0)
		return err_set_at(err, -EINVAL, path, 0, 0, "the token file is empty");
	for (size_t i = 0; i < token.len; i++)
		if ((unsigned char)token.text[i] <= ' ' || token.text[i] == 0x7f)
			return err_set_at(err, -EINVAL, path, 0, 0, "the token file holds more than one token");
	strbuf_adds(ret, "Bearer ");
	return strbuf_add(ret, token.text, token.len);
}

static int basic(const struct kubeconfig *config, struct strbuf *ret)
{
	CLEANUP(wipe) struct strbuf plain = STRBUF_INIT(64 * KIB);

	strbuf_addf(&plain, "%s:%s", config->username, config->password ? config->password : "");
	strbuf_adds(ret, "Basic ");
	return plain.status ? plain.status : base64_encode(strbuf_text(&plain), plain.len, ret);
}

static int of_plugin(struct kube_client *self, struct strbuf *ret, unsigned int *ret_generation, struct err *err)
{
	const struct kube_credentials *credentials = kube_plugin_credentials(self->plugin, self->now_ms());
	int r;

	if (!credentials) {
		r = kube_plugin_is_running(self->plugin) ? 0 : kube_plugin_start(self->plugin, err);
		return r ? r : 1;
	}
	if (credentials->generation != self->certificate_generation) {
		r = http_client_set_certificate(self->http, credentials->cert_pem, credentials->key_pem, err);
		if (r)
			return r;
		self->certificate_generation = credentials->generation;
	}
	*ret_generation = credentials->generation;
	if (!credentials->token)
		return 0;
	strbuf_adds(ret, "Bearer ");
	return strbuf_adds(ret, credentials->token);
}

int auth_header(struct kube_client *self, struct strbuf *ret, unsigned int *ret_generation, struct err *err)
{
	const struct kubeconfig *config = self->kubeconfig;
	int r = 0;

	*ret_generation = 0;
	if (config->token_file) {
		r = bearer_of_file(config->token_file, ret, err);
		if (!r || !config->token)
			return r;
		strbuf_clear(ret);
	}
	if (config->token)
		r = strbuf_addf(ret, "Bearer %s", config->token);
	else if (config->username)
		r = basic(config, ret);
	else if (self->plugin)
		return of_plugin(self, ret, ret_generation, err);
	return r ? err_set(err, r, "credentials: out of memory or too long") : 0;
}
