/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_kube: the parts of kind `kube`. Private to the layer. */
#include "kube/kube_client.h"
#include "kube/kube_object.h"
#include "store/store_internal.h"

/** What is remembered of an object that was seen: enough to write it so that nobody else's change is lost. */
struct seen_object {
	uint64_t hash;	  /* of namespace and name, seeded; 0: a free slot */
	char version[23]; /* resourceVersion; "": there is none any more */
	bool is_bad;	  /* it is there but could not be read, and so is not written */
	char *metadata; /* heap: members of metadata that a replacement has to keep, as JSON with a comma; NULL: none */
};

/** By namespace and name. 40 bytes an object and as much room again: what 100,000 profiles cost. */
struct seen_table {
	struct seen_object *slots;
	size_t n, capacity;
};

void seen_release(struct seen_table *self);
/** NULL: never seen, or gone. Borrowed until the next put. */
const struct seen_object *seen_get(const struct seen_table *self, const char *namespace_name, const char *name);
/** The object as text or as json. @return 0; -EINVAL (a resourceVersion that is none); -ENOMEM. */
int seen_put(struct seen_table *self, const struct kube_object *object, bool is_bad, struct err *err) ATTR_NODISCARD;
void seen_forget(struct seen_table *self, const char *namespace_name, const char *name);

/** The ConfigMap that says where collector state is. */
struct state_head {
	char version[23];	   /* resourceVersion; "": there is no head */
	char uid[64];		   /* whose parts go when it goes */
	int64_t generation, bytes; /* 0: nothing was saved yet; bytes of the text */
	int64_t chunks[2];	   /* by parity of the generation */
	char hash[17];		   /* of the text */
};

struct kube_store {
	struct store base;
	struct kube_client *client;
	char *own_namespace;			  /* heap */
	struct seen_table seen[ITEM_KIND_COUNT_]; /* only of a writer */
	struct state_head state;		  /* as last seen */
	struct store_names told_gone;		  /* namespaces of which it was told that they are gone */
};

extern const struct kube_resource store_kube_resources[ITEM_KIND_COUNT_];

struct kube_store *store_kube_of(struct store *base);
/** "MemoryProfile ml/x" in front of what `err` says, and as its place. */
void store_kube_name(enum store_item_kind kind, const char *namespace_name, const char *name, struct err *err);
/** A kube_condition or -errno as -errno, the words left as they are. */
int store_kube_errno(int code);
/** A request's body from text, which is taken. NULL: memory is out (the text is freed). */
struct json_object *store_kube_body(char *take_text) ATTR_NODISCARD;

/** Decode an object's text and hand it out; what cannot be read is told and passed over. `scratch` is reset.
 *  0; -errno; a callback's. */
int store_kube_give(struct kube_store *self, enum store_item_kind kind, const struct kube_object *object,
		    const struct store_visitor *visitor, struct arena *scratch, struct err *err) ATTR_NODISCARD;

enum { STORE_KUBE_WINDOW = 32, STORE_KUBE_POLL_MS = 50, STORE_KUBE_MAX_FAILURES = 10 };

/** One of several chains of requests under way. */
struct kube_job {
	struct kube_flow *flow;
	size_t index; /* of what it is about */
	int step;
	struct kube_call *call;
	struct strbuf answer; /* of the last request, when it was a good one */
	bool is_busy;
};

/** Many chains of requests, some at a time. */
struct kube_flow {
	struct kube_store *store;
	void *context;
	size_t n; /* chains in all */
	/** Begin chain job->index: kube_flow_submit, or nothing. Non-zero fails it. */
	int (*start)(struct kube_job *job, struct err *err);
	/** An answer came (`result` has no object): go on with kube_flow_submit, or nothing. Non-zero fails the chain.
	 */
	int (*answered)(struct kube_job *job, const struct kube_result *result, struct err *err);
	/* Filled in. */
	struct kube_job jobs[STORE_KUBE_WINDOW];
	struct arena scratch; /* of the object at hand */
	size_t next, in_flight, n_failed;
	struct err err; /* of the first that failed */
};

/** The job's next request; `request`'s callbacks are set. */
int kube_flow_submit(struct kube_job *job, struct kube_request *request, struct err *err) ATTR_NODISCARD;
/** The object that was answered. Borrowed until the next request. @return 0; -EINVAL; -ENOMEM. */
int kube_flow_object(struct kube_job *job, struct arena *arena, struct kube_object *ret,
		     struct err *err) ATTR_NODISCARD;
/** Until all chains have ended. A failure leaves the others going, ten end it. @return 0; -ECANCELED; -errno of the
 *  first failure with its words. */
int kube_flow_run(struct kube_flow *self, struct err *err) ATTR_NODISCARD;

int store_kube_visit_named(struct store *base, const struct store_visitor *visitor, const struct store_name *names,
			   size_t n, struct err *err) ATTR_NODISCARD;
int store_kube_commit(struct store *base, const struct store_change *change, struct err *err) ATTR_NODISCARD;
int store_kube_remove(struct store *base, const struct store_name *names, size_t n, size_t *ret_n,
		      struct err *err) ATTR_NODISCARD;
/* store_kube_small.c */
int store_kube_change_mode_cap(struct store *base, const struct store_cap *want, struct err *err) ATTR_NODISCARD;
int store_kube_status_load(struct store *base, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_kube_status_save(struct store *base, const char *text, size_t n, struct err *err) ATTR_NODISCARD;
const char *store_kube_status_place(const struct store *base, char *buf, size_t size);
int store_kube_state_load(struct store *base, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_kube_state_save(struct store *base, const char *text, size_t n, struct err *err) ATTR_NODISCARD;
