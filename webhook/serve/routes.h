/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* routes: what the server's threads run. They touch `struct serve` only: the holder (mutex inside), the metrics
 * (atomics) and the flags. Each thread has scratch memory of its own, which ends with the thread. */
#include "http_server/http_server.h"
#include "serve/holder.h"
#include "serve/metrics.h"
#include "serve/untold.h"

#include <pthread.h>
#include <stdatomic.h>

/** At most some log lines of one sort in a while, so that a client cannot fill the disk. */
struct log_gate {
	_Atomic int64_t window_start_ms;
	atomic_uint n;
};

/** Longest text of what is waited for. */
#define SERVE_WORDS 1024

struct serve {
	struct metrics *metrics;
	struct holder *holder;
	struct http_server *server; /* set before the first request that needs it */
	struct untold untold;
	pthread_key_t scratch_key;
	/* Monotonic: when the snapshot was last known to be what the store holds; 0: never. */
	_Atomic int64_t confirmed_ms;
	atomic_bool is_draining, has_snapshot, has_certificate;
	pthread_mutex_t words_mutex;
	char waiting[SERVE_WORDS];	       /* under it: why there is no snapshot yet; "": not known */
	char certificate_waiting[SERVE_WORDS]; /* under it: the same of the certificate */
	struct log_gate refused_gate, closed_gate;
	char instance[254]; /* our name: of the pod, or of the host */
};

/** 0 or -errno. */
int serve_init(struct serve *self, struct err *err) ATTR_NODISCARD;
/** Behind http_server_free. */
void serve_release(struct serve *self);

/** Say what the first snapshot waits for. Any thread. */
void serve_set_waiting(struct serve *self, const char *words);
/** Say what the first certificate waits for. Any thread. */
void serve_set_certificate_waiting(struct serve *self, const char *words);

extern const struct http_server_route serve_routes[];
void serve_observe(void *context, const struct http_server_event *event);
