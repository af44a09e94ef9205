/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store: keeps profiles, histories and node shapes; one interface for two kinds of store.
 *
 * `file`: one v1 List as JSON (NodeShapes, MemoryProfiles and MemoryHistories, in this order), with the collector state
 * in PATH.state and one writer at a time (flock on PATH.lock). Every write is atomic and fsynced. A file that is
 * incomplete or not a store is refused and never overwritten.
 *
 * `kube`: objects of the API server, with the collector state in ConfigMaps of memtamer's namespace. Objects that
 * cannot be read (edited by hand, or written by a newer release) are reported and skipped. Every write carries the
 * resourceVersion at which this store last saw the object; it fails with -EAGAIN if the object has changed since. The
 * `spec` of a profile belongs to people: it is written when the profile is created and never again, except by
 * store_undo_mode_cap, store_release_mode_cap and store_lower_mode_cap.
 *
 * Threads: a store and its client belong to one thread. Programs that use `kube` must ignore SIGPIPE. */
#include "base/err.h"
#include "base/strbuf.h"
#include "model/history.h"
#include "model/node_shape.h"
#include "model/profile.h"
#include "model/snapshot.h"

struct store;
struct kube_client;

/** Opens a file store. The file need not exist. `is_writer`: takes the lock. @return 0; -EWOULDBLOCK another writer has
 *  it; another -errno. */
int store_open_file(const char *path, bool is_writer, struct store **ret, struct err *err) ATTR_NODISCARD;
/** Opens a store in the cluster of `client` (borrowed, of this thread); sends no request yet.
 *  @param own_namespace  where the collector state is kept.
 *  @return 0; -ENOMEM. */
int store_open_kube(struct kube_client *client, const char *own_namespace, bool is_writer, struct store **ret,
		    struct err *err) ATTR_NODISCARD;
void store_close(struct store *self);
void store_closep(struct store **self);

/** Reports an object that was skipped, or, if why->code is STORE_SPEC_INVALID, a profile that is used without its spec.
 *  why->where names the object, why->msg says why. */
typedef void store_bad_fn(void *context, const struct err *why);
enum { STORE_SPEC_INVALID = 1 };
void store_set_bad(struct store *self, store_bad_fn *bad, void *context);
/** Called often while `kube` works. True ends the operation with -ECANCELED, between two objects. */
typedef bool store_cancelled_fn(void *context);
void store_set_cancelled(struct store *self, store_cancelled_fn *cancelled, void *context);
/** Makes `kube` read objects of this namespace only, for callers without access to others; `file` ignores it. NULL: all
 *  namespaces. Node shapes have no namespace. @return 0; -ENOMEM. */
int store_set_namespace(struct store *self, const char *namespace_name) ATTR_NODISCARD;
/** For messages: the path of the file, or "the cluster". Borrowed. */
const char *store_place(const struct store *self);
/** For messages: where the collector state is, and what to delete to start again. Borrowed. */
const char *store_state_place(const struct store *self);

/** Reads profiles (without their reasons, to save memory) and node shapes for admission; histories are skipped. Adds
 *  them to `builder`; the caller adds the node shapes of the configuration.
 *  @return 0 (also for a missing file, which is an empty store); errors as store_visit. */
int store_read_profiles(struct store *self, struct snapshot_builder *builder, struct err *err) ATTR_NODISCARD;

/** Callbacks for objects. A non-zero return value ends the visit and is returned. The callback owns profiles and
 *  histories; a shape is borrowed. Each object is passed once, as it was at some time during the visit. */
typedef int store_profile_fn(void *context, struct profile *take_profile, struct err *err);
typedef int store_history_fn(void *context, struct history *take_history, struct err *err);
typedef int store_shape_fn(void *context, const struct node_shape *shape, struct err *err);
struct store_visitor {
	void *context;
	store_profile_fn *profile; /* NULL: skip profiles; the same for the others */
	store_history_fn *history;
	store_shape_fn *shape;
	/* Takes profiles instead of `profile`, which saves a copy: the profile is borrowed for the call. */
	int (*borrowed_profile)(void *context, const struct profile *profile, struct err *err);
};
/** Visits all objects, in memory for one object at a time.
 *  @return 0; what a callback returned. `file`: -EINVAL the file is incomplete or not a store, with the byte offset;
 *  another -errno. `kube`: -ENOENT the custom resources are not installed; -EACCES forbidden; -EPERM unauthorized
 *  (401); -ECANCELED; -EIO and others: a failure of server or network. */
int store_visit(struct store *self, const struct store_visitor *visitor, struct err *err) ATTR_NODISCARD;

/** The name of a workload's objects; its profile and its history have the same name. */
struct store_name {
	const char *namespace_name, *name;
};
/** The same for these profiles and histories only, in any order. Missing names are skipped. `shape` is not called.
 *  `kube` sends a GET for each, many at a time: the cost does not depend on other objects. `file` reads the whole
 *  file. */
int store_visit_named(struct store *self, const struct store_visitor *visitor, const struct store_name *names, size_t n,
		      struct err *err) ATTR_NODISCARD;

/** Objects to write, identified by kind, namespace and name. All others stay unchanged, byte for byte.
 *
 *  `file` writes all or nothing. `kube` writes object by object, many at a time, the history of a workload before its
 *  profile. If a write fails, the others are still done, but the profile of a workload is not written after its history
 *  failed; `err` names the first failure and counts the others. Objects of namespaces that are deleted or being
 *  deleted, and existing objects that cannot be read, are reported and skipped. */
struct store_change {
	const struct profile *const *profiles;
	size_t n_profiles;
	struct history *const *histories;
	size_t n_histories;
	const struct node_shape *shapes;
	size_t n_shapes;
	/** Another writer has changed, created or deleted this object since it was read: read it again and compute it
	 *  again. NULL: the return value is enough. */
	void (*conflict)(void *context, const struct store_name *name);
	void *context;
};
/** Writes a change. The store must be open for writing. @return 0; -EAGAIN there was a conflict, and nothing worse;
 *  -EACCES the store is open for reading only; else as store_visit. */
int store_commit(struct store *self, const struct store_change *change, struct err *err) ATTR_NODISCARD;

/** Deletes profiles with their histories, and (`kube` only) node shapes, whose namespace is "". Three kinds of objects
 *  are kept and not counted: a profile with a spec that a person wrote, `memtamer-namespace`, and an object that
 *  changed since it was read.
 *  @param ret_n  how many were deleted; may be NULL.
 *  @return as store_commit. */
int store_remove(struct store *self, const struct store_name *names, size_t n, size_t *ret_n,
		 struct err *err) ATTR_NODISCARD;
/** Whether the profile belongs to a workload and nobody wrote anything into its spec. */
bool store_may_remove(const struct profile *profile);

/** Undoes on request of a person: sets spec.modeCap of a profile to `cap` and keeps the old value in
 *  spec.modeCapBeforeUndo; nothing else changes. A cap that is as low or lower stays.
 *  @return 0; 1 nothing to lower; -EINVAL `cap` is not a mode that caps; -ENOENT no such profile; -EACCES forbidden;
 *  -EAGAIN others kept changing it; else as store_commit. */
int store_undo_mode_cap(struct store *self, const char *namespace_name, const char *name, const char *cap,
			struct err *err) ATTR_NODISCARD;
/** Reverts store_undo_mode_cap: if spec.modeCap is `cap`, restores the value before, or none. Another value stays,
 *  because somebody has set it since then.
 *  @return as store_undo_mode_cap; 1 there is nothing to revert. */
int store_release_mode_cap(struct store *self, const char *namespace_name, const char *name, const char *cap,
			   struct err *err) ATTR_NODISCARD;
/** Lowers spec.modeCap of `memtamer-namespace` to `cap` because of harm; creates the profile if it is missing. A cap
 *  that is as low or lower stays, even if it was set a moment ago.
 *  @return as store_undo_mode_cap. */
int store_lower_mode_cap(struct store *self, const char *namespace_name, const char *cap,
			 struct err *err) ATTR_NODISCARD;

/** Loads and saves a short JSON text about the recommender's last cycle, which commands show and nothing is computed
 *  from. It is in PATH.status, or in the ConfigMap `memtamer-status` of memtamer's namespace; the last write wins.
 *  @return 0; 1 there is none (load); -E2BIG; -EACCES; another -errno. */
int store_status_load(struct store *self, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_status_save(struct store *self, const char *text, size_t n, struct err *err) ATTR_NODISCARD;
/** For messages: where the status is. The result is valid as long as `buf`. */
const char *store_status_place(const struct store *self, char *buf, size_t size);

/** Loads and saves the collector state, bytes of the recommender; save it after the profiles that it belongs to.
 * Loading returns what one save has written, or fails. Load before the first save: `kube` replaces only what it has
 * seen, and has room for 1 MiB after compression.
 *  @return 0; 1 there is none (load); -EINVAL it is damaged (load); -E2BIG there is no room, nothing was written
 * (save); -EAGAIN another writer was faster (save); another -errno. */
int store_state_load(struct store *self, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_state_save(struct store *self, const char *text, size_t n, struct err *err) ATTR_NODISCARD;

/** A descriptor (inotify on the folder, owned by the store) that becomes readable when the file may have changed. Then
 *  call store_watch_changed, which drains it and compares identity, size and mtime with the last read. Also call it at
 *  a slow interval. `kube` is watched by reflectors instead: -ENOTSUP, and never changed. */
int store_watch_fd(struct store *self, struct err *err) ATTR_NODISCARD;
bool store_watch_changed(struct store *self);
