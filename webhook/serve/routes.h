/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* routes: the HTTP handlers. They run on the server's threads and use `struct serve` only: the current state (protected
 * by a mutex), the metrics and the flags (atomic). Each thread has scratch memory of its own, which is freed with the
 * thread. Cost: admission.h and probe.h for these; the other answers do not depend on what a client sends.
 */
#include "http_server/http_server.h"
#include "program/log_buffer.h"
#include "serve/client_log.h"
#include "serve/current_state.h"
#include "serve/metrics.h"

#include <pthread.h>
#include <stdatomic.h>

/** Bytes of a text that says what the server waits for. */
#define SERVE_WORDS 1024

struct serve {
	struct metrics *metrics;
	struct current_state *current;
	struct http_server *server; /* set before the first request that uses it */
	pthread_key_t scratch_key;
	/* Monotonic: when the snapshot was last known to match the store; 0: never. */
	_Atomic int64_t confirmed_ms;
	atomic_bool is_draining, has_snapshot, has_certificate;
	atomic_bool has_freed_much; /* asks the control thread to trim the heap */
	pthread_mutex_t words_mutex;
	char waiting[SERVE_WORDS];	       /* under words_mutex: why there is no snapshot yet; "": unknown */
	char certificate_waiting[SERVE_WORDS]; /* under words_mutex: why there is no certificate yet */
	struct client_log log;
	struct log_buffer *log_buffer; /* for its count of dropped lines, borrowed; NULL: no buffer */
	char instance[254];	       /* our name: of the pod, or of the host */
};

/** @return 0; -errno, and nothing is to be released. */
int serve_init(struct serve *self, struct err *err) ATTR_NODISCARD;
/** Must be called after http_server_free, and only if serve_init succeeded. */
void serve_release(struct serve *self);

/** Sets the text that says what the first snapshot waits for. Any thread. */
void serve_set_waiting(struct serve *self, const char *words);
/** Sets the text that says what the first certificate waits for. Any thread. */
void serve_set_certificate_waiting(struct serve *self, const char *words);

/** Ends with a row without path. The context of handlers and observer is a struct serve. */
extern const struct http_server_route serve_routes[];
void serve_observe(void *context, const struct http_server_event *event);
