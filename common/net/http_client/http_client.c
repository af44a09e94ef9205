/* SPDX-License-Identifier: Apache-2.0 */
/* The client itself: its configuration, checked and copied, and its handles. */
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_client/http_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONNECT_TIMEOUT_MS (10 * TIME_SECOND_MS)
#define DEFAULT_TIMEOUT_MS	   (30 * TIME_SECOND_MS)
#define DEFAULT_CONCURRENCY	   4
#define MAX_CONCURRENCY		   1024

bool has_control_character(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

int header_append(struct curl_slist **list, const char *name, const char *value, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(64 * KIB);
	struct curl_slist *longer;

	if (!name || !*name || strpbrk(name, ":; \t") || has_control_character(name))
		return err_set(err, -EINVAL, "bad name of a header: %s", name ? name : "");
	if (has_control_character(value))
		return err_set(err, -EINVAL, "value of header %s holds a control character", name);
	strbuf_adds(&line, name);
	if (*value)
		strbuf_addf(&line, ": %s", value);
	else
		strbuf_addc(&line, ';');
	longer = line.status ? NULL : curl_slist_append(*list, strbuf_text(&line));
	if (!longer)
		return err_set(err, -ENOMEM, "header %s: out of memory or too long", name);
	*list = longer;
	return 0;
}

int headers_append(struct curl_slist **list, const struct http_client_header *headers, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = header_append(list, headers[i].name, headers[i].value, err);
	return r;
}

/* Base URL, checked and without its trailing slash. Credentials in a URL end up in logs: refused. */
static int set_base_url(struct http_client *self, const char *url, struct err *err)
{
	static const struct {
		CURLUPart part;
		const char *what;
	} forbidden[] = {{CURLUPART_USER, "a user"},
			 {CURLUPART_PASSWORD, "a password"},
			 {CURLUPART_QUERY, "a query"},
			 {CURLUPART_FRAGMENT, "a fragment"}};
	CURLU *parsed = curl_url();
	CURLUcode code;
	int r = 0;

	if (!parsed)
		return err_set(err, -ENOMEM, "out of memory");
	code = curl_url_set(parsed, CURLUPART_URL, url, 0);
	if (code)
		r = err_set(err, -EINVAL, "bad URL: %s", curl_url_strerror(code));
	else if (!strstarts(url, "http://") && !strstarts(url, "https://"))
		r = err_set(err, -EINVAL, "bad URL: http:// or https:// expected");
	for (size_t i = 0; i < ARRAY_LEN(forbidden) && !r; i++) {
		char *text = NULL;

		if (!curl_url_get(parsed, forbidden[i].part, &text, 0))
			r = err_set(err, -EINVAL, "bad URL: %s does not belong into it", forbidden[i].what);
		curl_free(text);
	}
	curl_url_cleanup(parsed);
	if (r)
		return r;
	self->base_url = strdup(url);
	if (!self->base_url)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t n = strlen(url); n > 0 && self->base_url[n - 1] == '/'; n--)
		self->base_url[n - 1] = '\0';
	return 0;
}

int copy_text(char **ret, const char *text)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* curl verifies the URL's host and has no option for another name: the URL gets that name, curl connects to the real
 * host all the same, and the Host header stays what it was. */
static int set_server_name(struct http_client *self, const char *name, struct err *err)
{
	CURLU *url = curl_url();
	char *host = NULL, *port = NULL, *changed = NULL;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(4 * KIB);
	int r = url ? 0 : -ENOMEM;

	if (!r && (curl_url_set(url, CURLUPART_URL, self->base_url, 0) || curl_url_get(url, CURLUPART_HOST, &host, 0) ||
		   curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT)))
		r = -ENOMEM;
	if (!r && (has_control_character(name) || curl_url_set(url, CURLUPART_HOST, name, 0) ||
		   curl_url_get(url, CURLUPART_URL, &changed, 0)))
		r = err_set(err, -EINVAL, "bad TLS server name: %s", name);
	if (!r) {
		strbuf_addf(&line, "::%s:%s", host, port);
		self->connect_to = curl_slist_append(NULL, strbuf_text(&line));
		strbuf_clear(&line);
		strbuf_addf(&line, "%s:%s", host, port);
		r = header_append(&self->header_lines, "Host", strbuf_text(&line), err);
		free(self->request_url);
		self->request_url = strdup(changed);
		for (size_t n = self->request_url ? strlen(changed) : 0; n > 0 && changed[n - 1] == '/'; n--)
			self->request_url[n - 1] = changed[n - 1] = '\0';
	}
	curl_free(host);
	curl_free(port);
	curl_free(changed);
	curl_url_cleanup(url);
	if (!r && (!self->connect_to || !self->request_url))
		r = -ENOMEM;
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

static int copy_config(struct http_client *self, const struct http_client_config *config, struct err *err)
{
	const struct {
		char **to;
		const char *from;
	} texts[] = {
		{&self->bearer_token_file, config->bearer_token_file},
		{&self->basic_user, config->basic_user},
		{&self->basic_password_file, config->basic_password_file},
		{&self->ca_file, config->ca_file},
		{&self->cert_file, config->cert_file},
		{&self->key_file, config->key_file},
		{&self->ca_pem, config->ca_pem},
		{&self->cert_pem, config->cert_pem},
		{&self->key_pem, config->key_pem},
		{&self->proxy, config->proxy},
		{&self->user_agent, config->user_agent ? config->user_agent : "memtamer"},
	};
	int r = 0;

	if (config->bearer_token_file && config->basic_user)
		return err_set(err, -EINVAL, "both a bearer token and basic authentication are set");
	if (!(config->cert_file || config->cert_pem) != !(config->key_file || config->key_pem))
		return err_set(err, -EINVAL, "a client certificate and its key belong together");
	if (!config->basic_user && config->basic_password_file)
		return err_set(err, -EINVAL, "a password without a user");
	r = set_base_url(self, config->base_url ? config->base_url : "", err);
	for (size_t i = 0; i < ARRAY_LEN(texts) && !r; i++)
		if (copy_text(texts[i].to, texts[i].from))
			r = err_set(err, -ENOMEM, "out of memory");
	if (!r) /* no "100-continue" round trip for large bodies */
		r = (self->header_lines = curl_slist_append(NULL, "Expect:")) ? 0 : -ENOMEM;
	if (!r)
		r = headers_append(&self->header_lines, config->headers, config->n_headers, err);
	if (!r && copy_text(&self->request_url, self->base_url))
		r = err_set(err, -ENOMEM, "out of memory");
	if (!r && config->tls_server_name)
		r = set_server_name(self, config->tls_server_name, err);
	self->insecure_skip_verify = config->insecure_skip_verify;
	self->connect_timeout_ms = config->connect_timeout_ms ? config->connect_timeout_ms : DEFAULT_CONNECT_TIMEOUT_MS;
	self->timeout_ms = config->timeout_ms ? config->timeout_ms : DEFAULT_TIMEOUT_MS;
	self->stall_timeout_ms = config->stall_timeout_ms;
	return r;
}

static int make_slots(struct http_client *self, size_t n, struct err *err)
{
	n = MIN(n ? n : DEFAULT_CONCURRENCY, MAX_CONCURRENCY);
	self->slots = calloc(n, sizeof(*self->slots));
	if (!self->slots)
		return err_set(err, -ENOMEM, "out of memory");
	self->n_slots = n;
	/* their handles are made when they are needed: most of many slots never are */
	for (size_t i = 0; i < n; i++)
		self->slots[i].client = self;
	self->multi = curl_multi_init();
	if (!self->multi)
		return err_set(err, -ENOMEM, "out of memory");
	curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, (long)n);
	return 0;
}

int http_client_new(const struct http_client_config *config, struct http_client **ret, struct err *err)
{
	struct http_client *self;
	int r;

	/* counted by curl; matched by http_client_free */
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(err, -ENOMEM, "cannot initialise libcurl");
	self = calloc(1, sizeof(*self));
	if (!self) {
		curl_global_cleanup();
		return err_set(err, -ENOMEM, "out of memory");
	}
	self->queue_tail = &self->queue_head;
	atomic_init(&self->is_interrupted, false);
	r = copy_config(self, config, err);
	if (!r)
		r = make_slots(self, config->concurrency, err);
	if (r) {
		http_client_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

static void wipe_text(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

int http_client_set_certificate(struct http_client *self, const char *cert_pem, const char *key_pem, struct err *err)
{
	char *cert, *key;

	if (!cert_pem != !key_pem)
		return err_set(err, -EINVAL, "a client certificate and its key belong together");
	if (copy_text(&cert, cert_pem))
		return err_set(err, -ENOMEM, "out of memory");
	if (copy_text(&key, key_pem)) {
		free(cert);
		return err_set(err, -ENOMEM, "out of memory");
	}
	wipe_text(&self->cert_pem);
	wipe_text(&self->key_pem);
	self->cert_pem = cert;
	self->key_pem = key;
	return 0;
}

void http_client_free(struct http_client *self)
{
	struct err why = ERR_INIT;

	if (!self)
		return;
	err_set(&why, -ECANCELED, "cancelled");
	if (self->multi)
		run_cancel(self, &why);
	for (size_t i = 0; i < self->n_slots; i++)
		if (self->slots[i].easy)
			curl_easy_cleanup(self->slots[i].easy);
	if (self->multi)
		curl_multi_cleanup(self->multi);
	free(self->slots);
	curl_slist_free_all(self->header_lines);
	curl_slist_free_all(self->connect_to);
	free(self->request_url);
	free(self->ca_pem);
	wipe_text(&self->cert_pem);
	wipe_text(&self->key_pem);
	free(self->base_url);
	free(self->bearer_token_file);
	free(self->basic_user);
	free(self->basic_password_file);
	free(self->ca_file);
	free(self->cert_file);
	free(self->key_file);
	free(self->proxy);
	free(self->user_agent);
	free(self);
	curl_global_cleanup();
}
