/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* http_internal: shared by the files of http_client: http_client.c (configuration), http_job.c (queued requests),
 * http_run.c (queue and loop), http_transfer.c (one request in one curl handle) and http_lane.c (shared connections).
 * Threads: the client's. */
#include "base/arena.h"
#include "http_client/http_client.h"

#include <curl/curl.h>
#include <stdatomic.h>

/** A request that was submitted. */
struct job {
	struct job *next;
	struct http_request request;	 /* strings and body point to the copies below; headers are in header_lines */
	struct curl_slist *header_lines; /* with those of the client */
	struct lane *lane;		 /* NULL: no other request uses its connection meanwhile */
	char *path, *method, *body;
	bool is_cancelled; /* the next round ends it */
};

/** A lane: requests that share a connection, and their connection cache. */
struct lane {
	CURLSH *share;	   /* NULL until the first transfer of the lane starts */
	size_t n_requests; /* queued or under way */
	int64_t heard_ms;  /* monotonic: when the last byte arrived */
	bool is_broken;	   /* the next round ends its transfers and closes its connections */
	struct err why;
};

/** A slot for one request under way. Its curl handle is reused. */
struct slot {
	struct http_client *client;
	CURL *easy;
	struct job *job; /* NULL: free */
	char curl_error[CURL_ERROR_SIZE];
	char error_body[HTTP_ERROR_BODY_BYTES + 1];
	size_t error_body_bytes;
	int64_t received_bytes;
	bool is_head_seen;
	int aborted; /* the value that a callback returned */
};

struct http_client {
	CURLM *multi;
	struct arena arena;		  /* owns the strings of `config` */
	struct http_client_config config; /* its headers are in header_lines */
	struct curl_slist *header_lines;  /* of every request */
	struct slot *slots;
	size_t n_slots, n_busy;
	struct job *queue_head, **queue_tail;
	struct lane lanes[HTTP_LANES];
	bool has_lanes;
	bool is_cancelling, has_marked_jobs;
	atomic_bool is_interrupted;
};

void job_free(struct job *job);
/** Ends all requests with HTTP_CANCELLED. */
void run_cancel(struct http_client *self, const struct err *why);
/** Appends a line for each header. @return 0; -EINVAL a header contains control characters; -ENOMEM. */
int headers_append(struct curl_slist **list, const struct http_client_header *headers, size_t n,
		   struct err *err) ATTR_NODISCARD;

/** Sets up slot->easy for slot->job. @return 0; an error: the transfer was not started. */
int transfer_prepare(struct slot *slot, struct err *err) ATTR_NODISCARD;
/** Fills in the result of a transfer that curl has ended. The result borrows from the slot. */
void transfer_result(struct slot *slot, CURLcode code, struct http_result *ret);
/** Frees the job and everything that belongs to the transfer; the slot is free again. */
void transfer_finish(struct slot *slot);
/** Whether this libcurl and the base URL allow several requests on one connection. */
bool lanes_are_possible(const struct http_client *self);
/** Adds a request to a lane until lane_leave. NULL: there is no such lane. */
struct lane *lane_enter(struct http_client *self, unsigned int number);
/** NULL is allowed. */
void lane_leave(struct lane *lane);
/** Makes the transfer use the lane of its job, if it has one. @return 0; -ENOMEM. */
int lane_attach(struct slot *slot, struct err *err) ATTR_NODISCARD;
void lane_detach(struct slot *slot);
/** Records that bytes arrived for the slot's lane. */
void lane_heard(const struct slot *slot);
/** Closes the connections of broken lanes, after their transfers were removed. */
void lanes_close_broken(struct http_client *self);
void lanes_release(struct http_client *self);
/** Writes the URL for messages: base URL and path without the query. */
void transfer_where(const struct slot *slot, char *buf, size_t size);
