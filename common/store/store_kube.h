/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_kube: the parts of the kind `kube`. Private to the layer. */
#include "base/hashtable.h"
#include "kube/kube_client.h"
#include "kube/kube_object.h"
#include "store/store_internal.h"

/** What a writer keeps about an object that it has seen, so that a write does not overwrite changes of others. */
struct seen_object {
	struct hashtable_node node; /* by namespace and name */
	char version[23];	    /* resourceVersion */
	bool is_bad;		    /* the object exists but cannot be read, so it is never written */
	char *metadata; /* heap: members of metadata that a replacement has to keep, as JSON with a comma; NULL: none */
};

/* A table of seen objects. It takes 64 to 72 bytes an object. */
void seen_release(struct hashtable *self);
/** NULL: never seen, or gone. Borrowed until the next put or forget of this object. */
struct seen_object *seen_get(const struct hashtable *self, const char *namespace_name, const char *name);
/** Stores an object, which has text or json. @return 0; -EINVAL the resourceVersion is not usable; -ENOMEM. */
int seen_put(struct hashtable *self, const struct kube_object *object, bool is_bad, struct err *err) ATTR_NODISCARD;
void seen_forget(struct hashtable *self, const char *namespace_name, const char *name);

struct kube_store {
	struct store base;
	struct kube_client *client;
	char *own_namespace;			 /* heap */
	struct hashtable seen[ITEM_KIND_COUNT_]; /* used by writers only */
	char state_version[23];			 /* resourceVersion of the collector's state; "": there is none */
	int64_t n_pieces[2];			 /* ConfigMaps of its state that version 0.1 wrote, by set */
	struct store_names reported_gone;	 /* namespaces that were reported as gone */
};

extern const struct kube_resource store_kube_resources[ITEM_KIND_COUNT_];

struct kube_store *store_kube_of(struct store *base);
/** Puts "MemoryProfile ml/x" before the message of `err`, and sets its place to it. */
void store_kube_name(enum store_item_kind kind, const char *namespace_name, const char *name, struct err *err);
/** Converts a kube_condition or -errno to -errno. */
int store_kube_errno(int code);
/** Makes the body of a request from text, which is taken. NULL: out of memory (the text is freed). */
struct json_object *store_kube_body(char *take_text) ATTR_NODISCARD;

/** Decodes an object's text and passes it to the visitor. An object that cannot be read is reported and skipped.
 *  `scratch` is reset. @return 0; -errno; what a callback returned. */
int store_kube_give(struct kube_store *self, enum store_item_kind kind, const struct kube_object *object,
		    const struct store_visitor *visitor, struct arena *scratch, struct err *err) ATTR_NODISCARD;

enum { STORE_KUBE_WINDOW = 32, STORE_KUBE_POLL_MS = 50, STORE_KUBE_MAX_FAILURES = 10 };

/** A chain of requests, one of several under way. */
struct kube_job {
	struct kube_flow *flow;
	size_t index; /* index of the chain */
	int step;
	struct kube_call *call;
	struct strbuf answer; /* body of the last 2xx answer */
	bool is_busy;
};

/** Many chains of requests, at most STORE_KUBE_WINDOW at a time. */
struct kube_flow {
	struct kube_store *store;
	void *context;
	size_t n; /* number of chains */
	/** Starts chain job->index: calls kube_flow_submit or nothing. A non-zero return value fails the chain. */
	int (*start)(struct kube_job *job, struct err *err);
	/** An answer arrived (`result` has no object): calls kube_flow_submit or nothing. `err` has the error of the
	 *  result, with -errno as its code. A non-zero return value fails the chain. */
	int (*answered)(struct kube_job *job, const struct kube_result *result, struct err *err);
	/** Puts the current object of the chain before the message of `err`. */
	void (*name)(const struct kube_job *job, struct err *err);
	/* Set by kube_flow_run. */
	struct kube_job jobs[STORE_KUBE_WINDOW];
	struct arena scratch; /* for the current object */
	size_t next, in_flight, n_failed;
	struct err err; /* of the first chain that failed */
};

/** Submits the next request of the job; sets the callbacks of `request`. */
int kube_flow_submit(struct kube_job *job, struct kube_request *request, struct err *err) ATTR_NODISCARD;
/** The object in the last answer. Borrowed until the next request. @return 0; -EINVAL; -ENOMEM. */
int kube_flow_object(struct kube_job *job, struct arena *arena, struct kube_object *ret,
		     struct err *err) ATTR_NODISCARD;
/** Runs until all chains have ended. A failure does not stop the others, but STORE_KUBE_MAX_FAILURES do. @return 0;
 *  -ECANCELED; the -errno of the first failure, with its message. */
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
