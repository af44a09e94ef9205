/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* http_internal: what http_client.c (queue and loop) and http_transfer.c (one request in one curl handle) share. */
#include "http_client/http_client.h"

#include <curl/curl.h>
#include <stdatomic.h>

/** A queued request: the caller's, with its text copied. */
struct job {
	struct job *next;
	struct http_request request; /* headers are in header_lines, body and path point behind */
	struct curl_slist *header_lines;
	char *path, *method, *body;
	bool is_cancelled; /* the next round ends it */
};

/** A place for one request under way. The curl handle is kept for the next one. */
struct slot {
	struct http_client *client;
	CURL *easy;
	struct job *job; /* NULL: free */
	struct curl_slist *headers;
	char curl_error[CURL_ERROR_SIZE];
	char error_body[HTTP_ERROR_BODY_BYTES + 1];
	size_t error_body_bytes;
	int64_t received_bytes, started_ms;
	bool is_head_seen;
	int aborted; /* what a callback returned */
};

struct http_client {
	CURLM *multi;
	char *base_url, *bearer_token_file, *basic_user, *basic_password_file, *ca_file, *cert_file, *key_file, *ca_pem,
		*cert_pem, *key_pem, *proxy, *user_agent;
	char *request_url; /* base_url, with tls_server_name for its host where one is set */
	struct curl_slist *header_lines, *connect_to;
	bool insecure_skip_verify;
	int64_t connect_timeout_ms, timeout_ms, stall_timeout_ms;
	struct slot *slots;
	size_t n_slots, n_busy;
	struct job *queue_head, **queue_tail;
	bool is_cancelling, has_cancelled_jobs;
	atomic_bool is_interrupted;
};

bool has_control_character(const char *text);
/** Heap copy; NULL stays NULL. 0 or -ENOMEM. */
int copy_text(char **ret, const char *text) ATTR_NODISCARD;
void job_free(struct job *job);
/** End everything with HTTP_CANCELLED. */
void run_cancel(struct http_client *self, const struct err *why);
/** `name: value` (or curl's `name;` for an empty value) onto the list; refuses control characters. 0, -EINVAL, -ENOMEM.
 */
int header_append(struct curl_slist **list, const char *name, const char *value, struct err *err) ATTR_NODISCARD;
int headers_append(struct curl_slist **list, const struct http_client_header *headers, size_t n,
		   struct err *err) ATTR_NODISCARD;

/** Set up slot->easy for slot->job. On failure the slot is not under way and err says why. */
int transfer_prepare(struct slot *slot, struct err *err) ATTR_NODISCARD;
/** Fill in the result of a transfer that curl has ended. */
void transfer_result(struct slot *slot, CURLcode code, struct http_result *ret);
/** Release what the transfer held; the slot is free again. */
void transfer_finish(struct slot *slot);
/** URL for people: base and path without the query. */
void transfer_where(const struct slot *slot, char *buf, size_t size);
