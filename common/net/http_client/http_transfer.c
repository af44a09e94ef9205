/* SPDX-License-Identifier: Apache-2.0 */
/* One request in one curl handle: sets its options, runs its callbacks, and explains how it ended. */
#include "base/io.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_client/http_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

/* Connections are closed after this time, so that a server that has moved is found. */
#define CONNECTION_LIFETIME_S 300L
/* The kernel probes a silent connection after KEEPALIVE_S, and closes a connection whose data is not acknowledged
 * within USER_TIMEOUT_MS. A host that is gone is noticed within a minute; with the kernel's default of nine probes it
 * would take five. */
#define KEEPALIVE_S	15L
#define USER_TIMEOUT_MS (45 * TIME_SECOND_MS)

static long clamp_long(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : (long)value;
}

void transfer_where(const struct slot *slot, char *buf, size_t size)
{
	const char *path = slot->job->path;

	snprintf(buf, size, "%s%.*s", slot->client->config.base_url, (int)strcspn(path, "?#"), path);
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

static int report_head(struct slot *slot, long status)
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

/* Called for the empty line after the last header; the body may follow minutes later. */
static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
	struct slot *slot = context;
	size_t n = size * count;

	lane_heard(slot);
	if (n > 0 && (bytes[0] == '\r' || bytes[0] == '\n') && is_success(status_of(slot)))
		slot->aborted = report_head(slot, status_of(slot));
	return slot->aborted ? CURL_WRITEFUNC_ERROR : n;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct slot *slot = context;
	const struct http_request *request = &slot->job->request;
	size_t n = size * count; /* curl's documentation says that size is always 1 */
	long status = status_of(slot);

	lane_heard(slot);
	if (!is_success(status)) {
		/* Only the beginning of an error's body is needed. */
		keep_error_body(slot, bytes, n);
		return slot->error_body_bytes < HTTP_ERROR_BODY_BYTES ? n : CURL_WRITEFUNC_ERROR;
	}
	slot->aborted = report_head(slot, status);
	if (!slot->aborted && request->body_piece && n > 0)
		slot->aborted = request->body_piece(request->context, bytes, n);
	if (slot->aborted)
		return CURL_WRITEFUNC_ERROR;
	slot->received_bytes += (int64_t)n;
	return n;
}

/* A secret is one line; control characters in it could inject headers. */
static int read_secret(const char *path, struct strbuf *buf, struct err *err)
{
	int r = io_read_file(path, buf, err);

	if (r)
		return r;
	while (buf->len > 0 && strchr(" \t\r\n", buf->text[buf->len - 1]))
		buf->text[--buf->len] = '\0';
	if (buf->len == 0)
		return err_set(err, -EINVAL, "%s is empty", path);
	if (str_has_control((struct str){buf->text, buf->len}))
		return err_set(err, -EINVAL, "%s holds a control character", path);
	return 0;
}

static int set_credentials(struct slot *slot, struct err *err)
{
	const struct http_client_config *client = &slot->client->config;
	CLEANUP(strbuf_wipe) struct strbuf secret = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
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

static CURLcode set_tls(const struct http_client_config *client, CURL *easy)
{
	const struct {
		CURLoption option;
		const char *file;
	} parts[] = {
		{CURLOPT_CAINFO, client->ca_file},
		{CURLOPT_SSLCERT, client->cert_file},
		{CURLOPT_SSLKEY, client->key_file},
	};
	CURLcode code = CURLE_OK;

	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	/* curl caches a CA file by its name for a day, which would hide a rotated CA */
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, client->insecure_skip_verify ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, client->insecure_skip_verify ? 0L : 2L);
	if (client->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	for (size_t i = 0; i < ARRAY_LEN(parts) && !code; i++)
		if (parts[i].file)
			code = curl_easy_setopt(easy, parts[i].option, parts[i].file);
	return code;
}

static void set_timeouts(const struct slot *slot)
{
	const struct http_client_config *client = &slot->client->config;
	const struct http_request *request = &slot->job->request;
	int64_t timeout_ms = request->timeout_ms ? request->timeout_ms : client->timeout_ms;
	int64_t stall_ms = request->stall_timeout_ms ? request->stall_timeout_ms : client->stall_timeout_ms;

	if (!stall_ms)
		stall_ms = timeout_ms;
	curl_easy_setopt(slot->easy, CURLOPT_TIMEOUT_MS, clamp_long(timeout_ms));
	curl_easy_setopt(slot->easy, CURLOPT_CONNECTTIMEOUT_MS,
			 clamp_long(MIN(client->connect_timeout_ms, timeout_ms)));
	if (stall_ms == HTTP_NO_STALL)
		return;
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

/* A failure is ignored: a Unix socket does not need the option. */
static int on_socket(void *context, curl_socket_t fd, curlsocktype purpose)
{
	unsigned int timeout_ms = USER_TIMEOUT_MS;

	(void)context, (void)purpose;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
	return CURL_SOCKOPT_OK;
}

static CURLcode set_connection(struct slot *slot)
{
	const struct http_client_config *client = &slot->client->config;
	CURL *easy = slot->easy;
	CURLcode code;

	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, slot->job->header_lines);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, CONNECTION_LIFETIME_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
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
		code = curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (!code && client->unix_socket)
		code = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, client->unix_socket);
	if (!code)
		code = curl_easy_setopt(easy, CURLOPT_USERAGENT, client->user_agent);
	return code;
}

static CURLcode set_url(struct slot *slot)
{
	/* Longer than any query that a server accepts; long queries are sent in a form body. */
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(64 * KIB);

	strbuf_adds(&url, slot->client->config.unix_socket ? "http://localhost" : slot->client->config.base_url);
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
	*slot = (struct slot){.client = slot->client, .easy = slot->easy, .job = slot->job};
	code = set_url(slot);
	if (!code)
		code = set_connection(slot);
	if (!code)
		code = set_method(slot);
	if (!code)
		code = set_tls(&slot->client->config, slot->easy);
	if (code)
		return err_set(err, code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL, "%s", curl_easy_strerror(code));
	set_timeouts(slot);
	r = lane_attach(slot, err);
	return r ? r : set_credentials(slot, err);
}

void transfer_finish(struct slot *slot)
{
	lane_detach(slot);
	/* Removes secrets and pointers into the job from the handle. */
	if (slot->easy)
		curl_easy_reset(slot->easy);
	job_free(TAKE_PTR(slot->job));
}

struct failure {
	CURLcode code;
	enum http_outcome outcome;
	int number; /* errno */
	const char *words;
};

/* What curl's errors mean; others come from options that are not set, or mean that the connection broke. */
static const struct failure failures[] = {
	{CURLE_COULDNT_RESOLVE_HOST, HTTP_CANNOT_CONNECT, -ECONNREFUSED, "cannot connect"},
	{CURLE_COULDNT_CONNECT, HTTP_CANNOT_CONNECT, -ECONNREFUSED, "cannot connect"},
	{CURLE_OPERATION_TIMEDOUT, HTTP_TIMED_OUT, -ETIMEDOUT, "timed out"},
	{CURLE_SSL_CONNECT_ERROR, HTTP_TLS_FAILED, -EPROTO, "TLS failed"},
	{CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS_FAILED, -EPROTO, "TLS failed"},
	{CURLE_SSL_CERTPROBLEM, HTTP_TLS_FAILED, -EPROTO, "TLS failed"},
	{CURLE_SSL_CACERT_BADFILE, HTTP_TLS_FAILED, -EPROTO, "TLS failed"},
	{CURLE_SSL_CLIENTCERT, HTTP_TLS_FAILED, -EPROTO, "TLS failed"},
	{CURLE_OUT_OF_MEMORY, HTTP_FAILED_LOCALLY, -ENOMEM, "failed"},
};

static struct failure failure_of(CURLcode code)
{
	for (size_t i = 0; i < ARRAY_LEN(failures); i++)
		if (failures[i].code == code)
			return failures[i];
	return (struct failure){code, HTTP_BROKEN, -EIO, "connection broke"};
}

/* The message has the first line of the error's body. */
static void status_words(const struct slot *slot, struct http_result *ret)
{
	const char *body = slot->error_body;
	char line[200];

	str_to_line((struct str){body, strcspn(body, "\r\n")}, line, sizeof(line));
	err_set(&ret->err, -EIO, "HTTP status %ld%s%s", ret->status, line[0] ? ": " : "", line);
}

void transfer_result(struct slot *slot, CURLcode code, struct http_result *ret)
{
	const struct failure failure = failure_of(code);
	curl_off_t retry_after_s = 0;

	*ret = (struct http_result){
		.status = status_of(slot),
		.content_type = content_type(slot),
		.error_body = slot->error_body,
		.error_body_bytes = slot->error_body_bytes,
	};
	curl_easy_getinfo(slot->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	ret->retry_after_s = retry_after_s;
	if (code == CURLE_OK && is_success(ret->status) && !slot->aborted)
		slot->aborted = report_head(slot, ret->status);
	if (slot->aborted) {
		ret->outcome = HTTP_ABORTED;
		err_set(&ret->err, slot->aborted, "stopped by its reader after %lld bytes",
			(long long)slot->received_bytes);
	} else if (code == CURLE_WRITE_ERROR || (code == CURLE_OK && !is_success(ret->status))) {
		ret->outcome = HTTP_STATUS;
		status_words(slot, ret);
	} else if (code != CURLE_OK) {
		ret->outcome = failure.outcome;
		err_set(&ret->err, failure.number, "%s: %s", failure.words,
			slot->curl_error[0] ? slot->curl_error : curl_easy_strerror(code));
	}
	if (ret->outcome != HTTP_DONE)
		transfer_where(slot, ret->err.where, sizeof(ret->err.where));
}
