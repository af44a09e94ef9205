/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of kube_client share. */
#include "http_client/http_client.h"
#include "kube/kube_client.h"
#include "kube/kube_plugin.h"

enum call_state {
	CALL_WAITS,	/* for credentials, or until retry_at_ms */
	CALL_IN_FLIGHT, /* the HTTP client has it */
	CALL_ENDED,	/* nothing refers to it but the list */
};

struct kube_call {
	struct kube_call *next, *previous;
	struct kube_client *client;
	enum call_state state;
	bool is_cancelled; /* no callback any more */
	char *path, *body;
	size_t body_bytes;
	enum kube_verb verb;
	const char *content_type;
	int64_t timeout_ms, stall_timeout_ms, give_up_ms, retry_at_ms;
	unsigned int tries, generation; /* generation of the plugin's credentials that it was sent with */
	bool is_tried_once, has_new_credentials;
	bool has_streamed; /* a piece was given away: not to be tried again */
	kube_began_fn *began;
	kube_piece_fn *piece;
	kube_done_fn *done;
	void *context;
	struct strbuf answer;
};

struct kube_client {
	const struct kubeconfig *kubeconfig;
	struct http_client *http;
	struct kube_plugin *plugin; /* NULL: none */
	unsigned int certificate_generation;
	int64_t (*now_ms)(void);
	struct kube_call calls; /* ring */
	struct kube_timer *timers;
	kube_observer_fn *observe; /* may be NULL */
	void *observe_context;
	uint64_t random_state;
};

/** "Bearer ..." or "Basic ..." for the next request, empty when none is needed. `ret_generation`: of a plugin's
 *  credentials, 0 otherwise. @return 0; 1 the plugin runs: ask again later; -errno. */
int auth_header(struct kube_client *self, struct strbuf *ret, unsigned int *ret_generation,
		struct err *err) ATTR_NODISCARD;
/** Path and query of a request. @return sticky status; -EINVAL. */
int request_path(const struct kube_request *request, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
/** Method and content type of a verb. */
const char *verb_method(enum kube_verb verb);
const char *verb_content_type(enum kube_verb verb);

/** Hand a waiting call to the HTTP client; a failure ends it. */
void call_start(struct kube_call *call);
/** Tell the end of a call (unless cancelled). */
void call_end(struct kube_call *call, const struct kube_result *result);
void call_fail(struct kube_call *call, const struct err *why);
void call_free(struct kube_call *call);
