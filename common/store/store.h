/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store: where profiles, histories and node shapes live, behind one interface of two kinds.
 *
 * `file`: one v1 List as JSON (NodeShapes, MemoryProfiles, MemoryHistories in this order), collector state beside it
 * (PATH.state), one writer by flock on PATH.lock. Every write is atomic and fsynced; a torn or foreign file is refused
 * and never overwritten.
 *
 * `kube`: objects of the API server, collector state in ConfigMaps of our own namespace. Objects that cannot be read
 * (written by hand, by a release to come) are passed over and told, the others count. Every write carries the
 * resourceVersion under which this store last saw the object, so that it changes what the caller has read, or nothing:
 * -EAGAIN then. The `spec` of a profile is people's: it is written when the object is made, and never again.
 * store_undo_mode_cap, store_release_mode_cap and store_lower_mode_cap are the one way to change a word of it.
 *
 * One thread a store (and a client). SIGPIPE must be ignored by programs that use `kube`. */
#include "base/err.h"
#include "base/strbuf.h"
#include "model/history.h"
#include "model/node_shape.h"
#include "model/profile.h"
#include "model/snapshot.h"

struct store;
struct kube_client;

/** Open the file store (the file need not exist). `is_writer`: take the lock, -EWOULDBLOCK when another writer has it.
 */
int store_open_file(const char *path, bool is_writer, struct store **ret, struct err *err) ATTR_NODISCARD;
/** Objects of the cluster that `client` (borrowed, of this thread) talks to; nothing is sent yet.
 *  @param own_namespace  where collector state is kept. @return 0; -ENOMEM. */
int store_open_kube(struct kube_client *client, const char *own_namespace, bool is_writer, struct store **ret,
		    struct err *err) ATTR_NODISCARD;
void store_close(struct store *self);
void store_closep(struct store **self);

/** What is told of an object that was passed over: `where` names it, `msg` says why. */
typedef void store_bad_fn(void *context, const struct err *why);
void store_set_bad(struct store *self, store_bad_fn *bad, void *context);
/** Asked often while `kube` works: true ends it with -ECANCELED, between two objects. */
typedef bool store_cancelled_fn(void *context);
void store_set_cancelled(struct store *self, store_cancelled_fn *cancelled, void *context);
/** `kube` asks for objects of this namespace only (who may read one need not be allowed to read all); `file` pays no
 *  heed. NULL: all. Node shapes have none. @return 0; -ENOMEM. */
int store_set_namespace(struct store *self, const char *namespace_name) ATTR_NODISCARD;
/** For messages: the file, or "the cluster". */
const char *store_place(const struct store *self);
/** For messages: where collector state is, and what to remove to begin anew. */
const char *store_state_place(const struct store *self);

/** Read for admission: profiles and shapes only, histories skipped while scanning, profiles without their reasons
 *  (memory stays small).
 *  Starts from an empty snapshot; `config` shapes are added by the caller through the builder.
 *  @return 0 (a missing file is an empty store); as store_visit. */
int store_read_profiles(struct store *self, struct snapshot_builder *builder, struct err *err) ATTR_NODISCARD;

/** Visit objects; a callback returning non-zero stops and is returned. Objects are given to the callback (ownership).
 *  `kube` may give one twice when it changed meanwhile: the later one counts.
 */
typedef int store_profile_fn(void *context, struct profile *take_profile, struct err *err);
typedef int store_history_fn(void *context, struct history *take_history, struct err *err);
typedef int store_shape_fn(void *context, const struct node_shape *shape, struct err *err);
struct store_visitor {
	void *context;
	store_profile_fn *profile; /* NULL: skipped */
	store_history_fn *history;
	store_shape_fn *shape;
};
/** @return 0; -EINVAL torn or foreign, with the byte offset (file); -ENOENT the custom resources are not installed,
 *  -EACCES not allowed, -EPERM not known (401), -ECANCELED, -EIO and other -errno: the server's or network's failure,
 * in words (kube). */
int store_visit(struct store *self, const struct store_visitor *visitor, struct err *err) ATTR_NODISCARD;

/** A workload's objects: its profile and its history have the same name. */
struct store_name {
	const char *namespace_name, *name;
};
/** The same for these profiles and histories only, in any order; names that are not there are passed over. `shape` is
 *  not called. `kube` asks for each by itself, many at a time: memory does not depend on what else is there. */
int store_visit_named(struct store *self, const struct store_visitor *visitor, const struct store_name *names, size_t n,
		      struct err *err) ATTR_NODISCARD;

/** Replace the given objects (by kind, namespace and name); all others stay as they are, byte for byte.
 *
 *  `file` writes all or nothing. `kube` writes object by object, many at a time, a workload's history before its
 *  profile; what fails leaves the others written, and nothing of a workload whose history failed. Then err names the
 *  first that failed and counts the others. Passed over (and told) are objects of namespaces that are gone or going,
 *  and those that are there but cannot be read. */
struct store_change {
	const struct profile *const *profiles;
	size_t n_profiles;
	struct history *const *histories;
	size_t n_histories;
	const struct node_shape *shapes;
	size_t n_shapes;
	/** Someone else changed this object since it was read (or made it, or took it away): read it again and compute
	 *  anew. NULL: the return value says enough. */
	void (*conflict)(void *context, const struct store_name *name);
	void *context;
};
/** @return 0; -EAGAIN at least one conflict, and nothing worse; else as store_visit. */
int store_commit(struct store *self, const struct store_change *change, struct err *err) ATTR_NODISCARD;

/** Delete profiles with their histories, and node shapes (by names without namespace, ""; `kube` only). Never a profile
 *  with a word of a person in its spec, nor `memtamer-namespace`, nor anything that changed since it was read: these
 *  stay and are not counted. `ret_n` may be NULL.
 *  @return 0; as store_commit. */
int store_remove(struct store *self, const struct store_name *names, size_t n, size_t *ret_n,
		 struct err *err) ATTR_NODISCARD;
/** Has nobody said anything in this profile, and is it one of a workload? */
bool store_may_remove(const struct profile *profile);

/** A person's undo: spec.modeCap of a profile becomes `cap`, unless one as low or lower stands there, and what it
 *  replaces is remembered in spec.modeCapBeforeUndo; nothing else of the object changes.
 *  @return 0; 1 there is nothing to lower; -EINVAL no mode that caps; -ENOENT no such profile; -EACCES not allowed, in
 *  words; -EAGAIN others kept changing it; else as store_commit. */
int store_undo_mode_cap(struct store *self, const char *namespace_name, const char *name, const char *cap,
			struct err *err) ATTR_NODISCARD;
/** Back to what that replaced, or to no cap, where `cap` stands: another one is somebody's word since.
 *  @return as store_undo_mode_cap; 1 it does not stand there, and nothing of an undo
 *  was left. */
int store_release_mode_cap(struct store *self, const char *namespace_name, const char *name, const char *cap,
			   struct err *err) ATTR_NODISCARD;
/** The word of counted harm: spec.modeCap of `memtamer-namespace`, which is made where there is none, becomes `cap`,
 *  unless one as low or lower stands there: what somebody said last, also a moment ago, is never loosened.
 *  @return as store_undo_mode_cap. */
int store_lower_mode_cap(struct store *self, const char *namespace_name, const char *cap,
			 struct err *err) ATTR_NODISCARD;

/** What the last cycle of the recommender did: a small JSON text that reading commands show, and nothing is computed
 *  from. PATH.status beside the file; ConfigMap `memtamer-status` in memtamer's namespace, whoever wrote last counts.
 *  @return 0; 1 there is none; -E2BIG; -EACCES; -errno. */
int store_status_load(struct store *self, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_status_save(struct store *self, const char *text, size_t n, struct err *err) ATTR_NODISCARD;
/** For messages: where it is. The text lives as long as `buf`. */
const char *store_status_place(const struct store *self, char *buf, size_t size);

/** Collector state: an opaque JSON text of the recommender. Committed after the profiles that it stands for. Kept
 *  whole: what is loaded was saved so, or is refused. Load before saving: `kube` only replaces what it has seen.
 *  @return 0; 1 when there is none; -EINVAL torn; -EAGAIN (save): another writer was faster; -errno. */
int store_state_load(struct store *self, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_state_save(struct store *self, const char *text, size_t n, struct err *err) ATTR_NODISCARD;

/** Watching a file: a file descriptor (inotify on the folder) that becomes readable when the file may have changed;
 *  drain it with store_watch_changed, which compares identity, size and mtime. Poll that slowly as well. `kube` has no
 *  such thing (-ENOTSUP; never changed): reflectors watch. */
int store_watch_fd(struct store *self, struct err *err) ATTR_NODISCARD;
bool store_watch_changed(struct store *self);
