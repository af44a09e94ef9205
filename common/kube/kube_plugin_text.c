/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_plugin_text.h"

#include "base/io.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "kube/base64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_DEPTH 32

static void wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void kube_plugin_answer_release(struct kube_plugin_answer *self)
{
	wipe(&self->token);
	wipe(&self->cert_pem);
	wipe(&self->key_pem);
}

static void add_member(struct strbuf *buf, const char *name, const char *value)
{
	if (!value)
		return;
	strbuf_adds(buf, ",\"");
	strbuf_adds(buf, name);
	strbuf_adds(buf, "\":");
	strbuf_add_json_string(buf, value);
}

static int add_cluster(struct strbuf *buf, const struct kubeconfig *config, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf ca = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES), text = STRBUF_INIT(MIB);
	int r = 0;

	if (config->ca_pem)
		r = strbuf_adds(&ca, config->ca_pem);
	else if (config->ca_file)
		r = io_read_file(config->ca_file, &ca, err);
	if (r)
		return r;
	base64_encode(strbuf_text(&ca), ca.len, &text);
	strbuf_adds(buf, ",\"cluster\":{\"server\":");
	strbuf_add_json_string(buf, config->server);
	add_member(buf, "tls-server-name", config->tls_server_name);
	if (config->insecure_skip_tls_verify)
		strbuf_adds(buf, ",\"insecure-skip-tls-verify\":true");
	add_member(buf, "certificate-authority-data", text.len ? strbuf_text(&text) : NULL);
	add_member(buf, "proxy-url", config->proxy_url);
	if (config->exec->cluster_config_json) {
		strbuf_adds(buf, ",\"config\":");
		strbuf_adds(buf, config->exec->cluster_config_json);
	}
	strbuf_adds(buf, "}");
	return 0;
}

int kube_plugin_info(const struct kubeconfig *config, char **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_KUBECONFIG_BYTES);
	int r = 0;

	strbuf_adds(&buf, "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":");
	strbuf_add_json_string(&buf, config->exec->api_version);
	strbuf_adds(&buf, ",\"spec\":{\"interactive\":false");
	if (config->exec->provides_cluster_info)
		r = add_cluster(&buf, config, err);
	if (r)
		return r;
	strbuf_adds(&buf, "}}");
	*ret = strbuf_detach(&buf);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Copy a text of the answer. A token becomes a header: one line. */
static int take(struct json_object *status, const char *key, bool is_line, char **ret, struct err *err)
{
	const char *text = NULL;
	int r = json_get_string(status, "status", key, &text, err);

	if (r < 0)
		return r;
	if (r == JSON_ABSENT || !*text)
		return 0;
	for (const char *p = text; is_line && *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return err_set(err, -EINVAL, "status.%s holds a space or a control character", key);
	*ret = strdup(text);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int read_answer(struct json_object *object, const char *api_version, struct kube_plugin_answer *ret,
		       struct err *err)
{
	struct json_object *status = NULL;
	const char *kind = NULL, *version = NULL, *expires = NULL;
	int r = json_get_string(object, "", "kind", &kind, err);

	if (r >= 0)
		r = json_get_string(object, "", "apiVersion", &version, err);
	if (r >= 0)
		r = json_get_object(object, "", "status", &status, err);
	if (r < 0)
		return r;
	if (!streq(kind, "ExecCredential"))
		return err_set(err, -EINVAL, "its answer is no ExecCredential");
	if (!streq(version, api_version))
		return err_set(err, -EINVAL, "it answers in version %s, but the kubeconfig says %s",
			       version ? version : "(none)", api_version);
	if (!status)
		return err_set(err, -EINVAL, "its answer has no status");
	r = take(status, "token", true, &ret->token, err);
	if (!r)
		r = take(status, "clientCertificateData", false, &ret->cert_pem, err);
	if (!r)
		r = take(status, "clientKeyData", false, &ret->key_pem, err);
	if (!r)
		r = json_get_string(status, "status", "expirationTimestamp", &expires, err);
	if (r < 0)
		return r;
	if (expires && time_parse(expires, strlen(expires), &ret->expires_ms))
		return err_set(err, -EINVAL, "status.expirationTimestamp is no time: %.60s", expires);
	if (!ret->cert_pem != !ret->key_pem)
		return err_set(err, -EINVAL, "it gave only one of certificate and key");
	if (!ret->token && !ret->cert_pem)
		return err_set(err, -EINVAL, "it gave neither a token nor a certificate");
	return 0;
}

int kube_plugin_parse(const char *text, size_t n, const char *api_version, struct kube_plugin_answer *ret,
		      struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	int r = json_parse(text, n, ANSWER_DEPTH, &object, err);

	if (r) {
		err_wrap(err, "its answer is not JSON");
		return r;
	}
	r = read_answer(object, api_version, ret, err);
	if (r)
		kube_plugin_answer_release(ret);
	return r;
}
