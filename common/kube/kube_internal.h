/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_internal: types and functions that the files of kube_client share. Threads: the client's. */
#include "http_client/http_client.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"

enum call_state {
	CALL_WAITS,	/* waits until retry_at_ms */
	CALL_IN_FLIGHT, /* submitted to the HTTP client */
	CALL_ENDED,	/* only the list of calls refers to it; freed in the next round */
};

struct kube_call {
	struct kube_call *next, *previous;
	struct kube_client *client;
	enum call_state state;
	bool is_cancelled;	     /* no callback may run any more */
	struct kube_request request; /* without its strings and its body, which became path and body */
	char *path, *body;
	size_t body_bytes;
	int64_t give_up_ms, retry_at_ms;
	unsigned int tries;
	unsigned int lane; /* lane of this try; 0: none */
	bool has_streamed; /* `piece` was called, so the request must not be retried */
	struct strbuf answer;
};

/** A lane: requests that share one connection (kube_lanes.c). */
struct kube_lane {
	struct kube_client *client;
	unsigned int number;	 /* number of the lane in the HTTP client */
	struct kube_call *probe; /* the probe under way; NULL: none */
};

struct kube_client {
	struct kubectl *kubectl; /* NULL: requests do not go through kubectl */
	struct http_client *http;
	int64_t (*now_ms)(void);
	struct kube_call calls; /* head of a ring of all calls */
	struct kube_timer *timers;
	kube_observer_fn *observe; /* may be NULL */
	void *observe_context;
	uint64_t random_state;
	struct kube_lane lanes[HTTP_LANES];
	struct kube_timer lanes_timer;
	int64_t silence_ms, probe_timeout_ms;
};

/** Appends path and query of a request. @return the status of `ret`; -EINVAL a name cannot be a path segment. */
int request_path(const struct kube_request *request, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
/** How HTTP says a verb. */
struct kube_method {
	const char *name, *content_type; /* NULL: GET */
	bool has_object;		 /* the path ends with the name of an object */
};
const struct kube_method *kube_method(enum kube_verb verb);

void lanes_init(struct kube_client *self, const struct kube_client_config *config);
/** Chooses the lane for one more request, and probes this lane from now on while it has requests. Cost: linear in the
 *  number of lanes. */
unsigned int lanes_choose(struct kube_client *self);

/** Submits a waiting call to the HTTP client; on failure the call ends. */
void call_start(struct kube_call *call);
/** Marks the call as ended and calls the observer and done(), unless the call was cancelled. */
void call_end(struct kube_call *call, const struct kube_result *result);
void call_fail(struct kube_call *call, const struct err *why);
void call_free(struct kube_call *call);
