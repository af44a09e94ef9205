/* SPDX-License-Identifier: Apache-2.0 */
/* One request in one curl handle: options in, callbacks while it runs, outcome in words when it has ended. */
#include "base/io.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_client/http_internal.h"

#include <errno.h>
#include <string.h>

/* A connection is not kept longer than this, so that a moved server is found again. */
#define CONNECTION_LIFETIME_S 300L
/* A peer that is gone is found in a silent watch too. */
#define KEEPALIVE_S 30L

static long clamp_long(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : (long)value;
}

void transfer_where(const struct slot *slot, char *buf, size_t size)
{
	const char *path = slot->job->path;

	snprintf(buf, size, "%s%.*s", slot->client->base_url, (int)strcspn(path, "?#"), path);
}

static const char *content_type(struct slot *slot)
{
	char *type = NULL;

	curl_easy_getinfo(slot->easy, CURLINFO_CONTENT_TYPE, &type);
	return type ? type : "";
}

static long status_of(struct slot *slot)
{
	long status = 0;

	curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static bool is_success(long status)
{
	return status >= 200 && status < 300;
}

static int tell_head(struct slot *slot, long status)
{
	const struct http_request *request = &slot->job->request;

	if (slot->is_head_seen)
		return 0;
	slot->is_head_seen = true;
	return request->head ? request->head(request->context, status, content_type(slot)) : 0;
}

static void keep_error_body(struct slot *slot, const char *bytes, size_t n)
{
	size_t room = HTTP_ERROR_BODY_BYTES - slot->error_body_bytes;

	n = MIN(n, room);
	memcpy(slot->error_body + slot->error_body_bytes, bytes, n);
	slot->error_body_bytes += n;
	slot->error_body[slot->error_body_bytes] = '\0';
}

/* The line behind the last header: a body may be minutes away. */
static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
	struct slot *slot = context;
	size_t n = size * count;

	if (n > 0 && (bytes[0] == '\r' || bytes[0] == '\n') && is_success(status_of(slot)))
		slot->aborted = tell_head(slot, status_of(slot));
	return slot->aborted ? CURL_WRITEFUNC_ERROR : n;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct slot *slot = context;
	const struct http_request *request = &slot->job->request;
	size_t n = size * count; /* size is 1, by curl's contract */
	long status = status_of(slot);

	if (!is_success(status)) {
		/* An error's body is read to 4 KiB; the rest is not worth the wire. */
		keep_error_body(slot, bytes, n);
		return slot->error_body_bytes < HTTP_ERROR_BODY_BYTES ? n : CURL_WRITEFUNC_ERROR;
	}
	slot->aborted = tell_head(slot, status);
	if (!slot->aborted && request->body_piece && n > 0)
		slot->aborted = request->body_piece(request->context, bytes, n);
	if (slot->aborted)
		return CURL_WRITEFUNC_ERROR;
	slot->received_bytes += (int64_t)n;
	return n;
}

/* A secret is one line; control characters inside would become headers of their own. */
static int read_secret(const char *path, struct strbuf *buf, struct err *err)
{
	int r = io_read_file(path, buf, err);

	if (r)
		return r;
	while (buf->len > 0 && strchr(" \t\r\n", buf->text[buf->len - 1]))
		buf->text[--buf->len] = '\0';
	if (buf->len == 0)
		return err_set(err, -EINVAL, "%s is empty", path);
	for (size_t i = 0; i < buf->len; i++)
		if ((unsigned char)buf->text[i] < ' ' || buf->text[i] == 0x7f)
			return err_set(err, -EINVAL, "%s holds a control character", path);
	return 0;
}

static void wipe(struct strbuf *buf)
{
	if (buf->text)
		explicit_bzero(buf->text, buf->capacity);
	strbuf_release(buf);
}

static int set_credentials(struct slot *slot, struct err *err)
{
	struct http_client *client = slot->client;
	CLEANUP(wipe) struct strbuf secret = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	const char *file = client->bearer_token_file ? client->bearer_token_file : client->basic_password_file;
	CURL *easy = slot->easy;
	CURLcode code;
	int r;

	if (file) {
		r = read_secret(file, &secret, err);
		if (r)
			return r;
	}
	if (client->bearer_token_file) {
		curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		code = curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, strbuf_text(&secret));
	} else if (client->basic_user) {
		curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		code = curl_easy_setopt(easy, CURLOPT_USERNAME, client->basic_user);
		if (!code)
			code = curl_easy_setopt(easy, CURLOPT_PASSWORD, strbuf_text(&secret));
	} else {
		return 0;
	}
	return code ? err_set(err, -ENOMEM, "%s", curl_easy_strerror(code)) : 0;
}

static int set_headers(struct slot *slot, struct err *err)
{
	const struct curl_slist *lists[] = {slot->client->header_lines, slot->job->header_lines};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (const struct curl_slist *line = lists[i]; line; line = line->next) {
			struct curl_slist *longer = curl_slist_append(slot->headers, line->data);

			if (!longer)
				return err_set(err, -ENOMEM, "out of memory");
			slot->headers = longer;
		}
	curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, slot->headers);
	return 0;
}

static CURLcode set_tls(struct http_client *client, CURL *easy)
{
	const struct {
		CURLoption blob_option, file_option;
		const char *pem, *file;
	} parts[] = {
		{CURLOPT_CAINFO_BLOB, CURLOPT_CAINFO, client->ca_pem, client->ca_file},
		{CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERT, client->cert_pem, client->cert_file},
		{CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEY, client->key_pem, client->key_file},
	};
	CURLcode code = CURLE_OK;

	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	/* curl caches a CA file by its name for a day; a rotated CA must be seen. */
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, client->insecure_skip_verify ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, client->insecure_skip_verify ? 0L : 2L);
	if (client->ca_pem || client->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	for (size_t i = 0; i < ARRAY_LEN(parts) && !code; i++)
		if (parts[i].pem) {
			/* copied by curl: the certificate may change while the transfer runs */
			struct curl_blob blob = {(void *)(uintptr_t)parts[i].pem, strlen(parts[i].pem), CURL_BLOB_COPY};

			code = curl_easy_setopt(easy, parts[i].blob_option, &blob);
		} else if (parts[i].file) {
			code = curl_easy_setopt(easy, parts[i].file_option, parts[i].file);
		}
	return code;
}

static void set_timeouts(const struct slot *slot)
{
	const struct http_client *client = slot->client;
	const struct http_request *request = &slot->job->request;
	int64_t timeout_ms = request->timeout_ms ? request->timeout_ms : client->timeout_ms;
	int64_t stall_ms = request->stall_timeout_ms ? request->stall_timeout_ms : client->stall_timeout_ms;

	if (!stall_ms)
		stall_ms = timeout_ms;
	curl_easy_setopt(slot->easy, CURLOPT_TIMEOUT_MS, clamp_long(timeout_ms));
	curl_easy_setopt(slot->easy, CURLOPT_CONNECTTIMEOUT_MS,
			 clamp_long(MIN(client->connect_timeout_ms, timeout_ms)));
	curl_easy_setopt(slot->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(slot->easy, CURLOPT_LOW_SPEED_TIME, MAX(1L, clamp_long(stall_ms / 1000)));
}

static CURLcode set_method(const struct slot *slot)
{
	const struct job *job = slot->job;
	CURL *easy = slot->easy;

	if (!job->body) {
		curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	} else {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)job->request.body_bytes);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, job->body);
	}
	return job->method ? curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, job->method) : CURLE_OK;
}

static CURLcode set_connection(struct slot *slot)
{
	struct http_client *client = slot->client;
	CURL *easy = slot->easy;
	CURLcode code;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, CONNECTION_LIFETIME_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
	if (client->connect_to)
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, client->connect_to);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, slot->curl_error);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, slot);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
	if (slot->job->request.accepts_compression)
		curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (!code)
		code = curl_easy_setopt(easy, CURLOPT_PROXY, client->proxy ? client->proxy : "");
	if (!code)
		code = curl_easy_setopt(easy, CURLOPT_USERAGENT, client->user_agent);
	return code;
}

static CURLcode set_url(struct slot *slot)
{
	/* Longer than any query that a server takes; a form body carries the long ones. */
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(64 * KIB);

	strbuf_adds(&url, slot->client->request_url);
	strbuf_adds(&url, slot->job->path);
	return url.status ? CURLE_OUT_OF_MEMORY : curl_easy_setopt(slot->easy, CURLOPT_URL, strbuf_text(&url));
}

int transfer_prepare(struct slot *slot, struct err *err)
{
	CURLcode code;
	int r;

	if (slot->easy)
		curl_easy_reset(slot->easy);
	else
		slot->easy = curl_easy_init();
	if (!slot->easy)
		return err_set(err, -ENOMEM, "out of memory");
	slot->curl_error[0] = slot->error_body[0] = '\0';
	slot->error_body_bytes = 0;
	slot->received_bytes = 0;
	slot->is_head_seen = false;
	slot->aborted = 0;
	slot->started_ms = time_monotonic_ms();
	code = set_url(slot);
	if (!code)
		code = set_connection(slot);
	if (!code)
		code = set_method(slot);
	if (!code)
		code = set_tls(slot->client, slot->easy);
	if (code)
		return err_set(err, code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL, "%s", curl_easy_strerror(code));
	set_timeouts(slot);
	r = set_headers(slot, err);
	return r ? r : set_credentials(slot, err);
}

void transfer_finish(struct slot *slot)
{
	curl_slist_free_all(slot->headers);
	slot->headers = NULL;
	/* Forgets the secrets and the pointers into the job. */
	if (slot->easy)
		curl_easy_reset(slot->easy);
	job_free(TAKE_PTR(slot->job));
}

/* Which outcome a curl error is, and the errno that goes with it. */
static enum http_outcome classify(CURLcode code, int *ret_errno)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		*ret_errno = -ECONNREFUSED;
		return HTTP_CANNOT_CONNECT;
	case CURLE_OPERATION_TIMEDOUT:
		*ret_errno = -ETIMEDOUT;
		return HTTP_TIMED_OUT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_USE_SSL_FAILED:
		*ret_errno = -EPROTO;
		return HTTP_TLS_FAILED;
	case CURLE_OUT_OF_MEMORY:
		*ret_errno = -ENOMEM;
		return HTTP_FAILED_LOCALLY;
	default:
		*ret_errno = -EIO;
		return HTTP_BROKEN;
	}
}

static const char *outcome_words(enum http_outcome outcome)
{
	switch (outcome) {
	case HTTP_CANNOT_CONNECT:
		return "cannot connect";
	case HTTP_TIMED_OUT:
		return "timed out";
	case HTTP_TLS_FAILED:
		return "TLS failed";
	case HTTP_FAILED_LOCALLY:
		return "failed";
	default:
		return "connection broke";
	}
}

/* First line of an error's body, printable, for the message. */
static void first_line(const char *body, char *buf, size_t size)
{
	size_t n = MIN(strcspn(body, "\r\n"), size - 1);

	for (size_t i = 0; i < n; i++)
		buf[i] = (unsigned char)body[i] < ' ' || body[i] == 0x7f ? ' ' : body[i];
	buf[n] = '\0';
}

static void status_words(const struct slot *slot, struct http_result *ret)
{
	char line[200];

	first_line(slot->error_body, line, sizeof(line));
	err_set(&ret->err, -EIO, "HTTP status %ld%s%s", ret->status, line[0] ? ": " : "", line);
}

void transfer_result(struct slot *slot, CURLcode code, struct http_result *ret)
{
	curl_off_t retry_after_s = 0;
	int number;

	*ret = (struct http_result){
		.status = status_of(slot),
		.content_type = content_type(slot),
		.error_body = slot->error_body,
		.error_body_bytes = slot->error_body_bytes,
		.received_bytes = slot->received_bytes,
		.duration_ms = time_monotonic_ms() - slot->started_ms,
	};
	curl_easy_getinfo(slot->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	ret->retry_after_s = retry_after_s;
	if (code == CURLE_OK && is_success(ret->status) && !slot->aborted)
		slot->aborted = tell_head(slot, ret->status);
	if (slot->aborted) {
		ret->outcome = HTTP_ABORTED;
		err_set(&ret->err, slot->aborted, "stopped by its reader after %lld bytes",
			(long long)slot->received_bytes);
	} else if (code == CURLE_WRITE_ERROR || (code == CURLE_OK && !is_success(ret->status))) {
		ret->outcome = HTTP_STATUS;
		status_words(slot, ret);
	} else if (code != CURLE_OK) {
		ret->outcome = classify(code, &number);
		err_set(&ret->err, number, "%s: %s", outcome_words(ret->outcome),
			slot->curl_error[0] ? slot->curl_error : curl_easy_strerror(code));
	}
	if (ret->outcome != HTTP_DONE)
		transfer_where(slot, ret->err.where, sizeof(ret->err.where));
}
