/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees a client: checks and copies its configuration, creates its handles. */
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

/* A URL with credentials is refused, because URLs are logged. */
static int check_base_url(const char *url, struct err *err)
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
	return r;
}

/* Copies the strings, the base URL without its trailing slashes. */
static int copy_texts(struct http_client *self, struct err *err)
{
	struct http_client_config *config = &self->config;
	size_t n_url = strlen(config->base_url);
	const char **texts[] = {
		&config->bearer_token_file, &config->basic_user, &config->basic_password_file, &config->ca_file,
		&config->cert_file,	    &config->key_file,	 &config->unix_socket,	       &config->user_agent,
	};

	while (n_url > 0 && config->base_url[n_url - 1] == '/')
		n_url--;
	config->base_url = arena_strndup(&self->arena, config->base_url, n_url);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (*texts[i])
			*texts[i] = arena_strdup(&self->arena, *texts[i]);
	return self->arena.has_failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int copy_config(struct http_client *self, const struct http_client_config *config, struct err *err)
{
	int r;

	if (config->bearer_token_file && config->basic_user)
		return err_set(err, -EINVAL, "both a bearer token and basic authentication are set");
	if (!config->cert_file != !config->key_file)
		return err_set(err, -EINVAL, "a client certificate and its key belong together");
	if (!config->basic_user && config->basic_password_file)
		return err_set(err, -EINVAL, "a password without a user");
	self->config = *config;
	if (!config->base_url)
		self->config.base_url = "";
	if (!config->user_agent)
		self->config.user_agent = "memtamer";
	if (!config->connect_timeout_ms)
		self->config.connect_timeout_ms = DEFAULT_CONNECT_TIMEOUT_MS;
	if (!config->timeout_ms)
		self->config.timeout_ms = DEFAULT_TIMEOUT_MS;
	r = check_base_url(self->config.base_url, err);
	if (!r)
		r = copy_texts(self, err);
	return r ? r : headers_append(&self->header_lines, config->headers, config->n_headers, err);
}

static int make_slots(struct http_client *self, size_t n, struct err *err)
{
	n = MIN(n ? n : DEFAULT_CONCURRENCY, MAX_CONCURRENCY);
	self->slots = calloc(n, sizeof(*self->slots));
	if (!self->slots)
		return err_set(err, -ENOMEM, "out of memory");
	self->n_slots = n;
	/* their curl handles are made on first use; most slots are never used */
	for (size_t i = 0; i < n; i++)
		self->slots[i].client = self;
	self->multi = curl_multi_init();
	if (!self->multi)
		return err_set(err, -ENOMEM, "out of memory");
	curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, (long)n);
	self->has_lanes = lanes_are_possible(self);
	return 0;
}

int http_client_new(const struct http_client_config *config, struct http_client **ret, struct err *err)
{
	struct http_client *self;
	int r;

	/* curl counts these calls; http_client_free has the matching one */
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(err, -ENOMEM, "cannot initialise libcurl");
	self = calloc(1, sizeof(*self));
	if (!self) {
		curl_global_cleanup();
		return err_set(err, -ENOMEM, "out of memory");
	}
	self->queue_tail = &self->queue_head;
	self->arena = (struct arena)ARENA_INIT(MIB);
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
	lanes_release(self);
	free(self->slots);
	curl_slist_free_all(self->header_lines);
	arena_release(&self->arena);
	free(self);
	curl_global_cleanup();
}
