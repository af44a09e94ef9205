/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store: where profiles, histories and node shapes live, behind one interface. Kind `file`: one v1 List as JSON
 * (NodeShapes, MemoryProfiles, MemoryHistories in this order), collector state beside it (PATH.state), one writer by
 * flock on PATH.lock. Every write is atomic and fsynced; a torn or foreign file is refused and never overwritten. */
#include "base/err.h"
#include "base/strbuf.h"
#include "model/history.h"
#include "model/node_shape.h"
#include "model/profile.h"
#include "model/snapshot.h"

struct store;

/** Open the file store (the file need not exist). `is_writer`: take the lock, -EWOULDBLOCK when another writer has it.
 */
int store_open_file(const char *path, bool is_writer, struct store **ret, struct err *err) ATTR_NODISCARD;
void store_close(struct store *self);
void store_closep(struct store **self);

/** Read for admission: profiles and shapes only, histories skipped while scanning, profiles without their reasons
 *  (memory stays small).
 *  Starts from an empty snapshot; `config` shapes are added by the caller through the builder.
 *  @return 0 (a missing file is an empty store); -EINVAL torn or foreign, with the byte offset; -errno. */
int store_read_profiles(struct store *self, struct snapshot_builder *builder, struct err *err) ATTR_NODISCARD;

/** Visit objects; a callback returning non-zero stops and is returned. Objects are given to the callback (ownership).
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
int store_visit(struct store *self, const struct store_visitor *visitor, struct err *err) ATTR_NODISCARD;

/** Replace the given objects (by kind, namespace and name), keep all others byte for byte, write atomically. */
struct store_change {
	const struct profile *const *profiles;
	size_t n_profiles;
	struct history *const *histories;
	size_t n_histories;
	const struct node_shape *shapes;
	size_t n_shapes;
};
int store_commit(struct store *self, const struct store_change *change, struct err *err) ATTR_NODISCARD;

/** Collector state: an opaque JSON text of the recommender. Committed after the profiles that it stands for.
 *  @return 0; 1 when there is none; -EINVAL torn; -errno. */
int store_state_load(struct store *self, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_state_save(struct store *self, const char *text, size_t n, struct err *err) ATTR_NODISCARD;

/** Watching: a file descriptor (inotify on the folder) that becomes readable when the file may have changed; drain it
 *  with store_watch_changed, which compares identity, size and mtime. Poll that slowly as well. */
int store_watch_fd(struct store *self, struct err *err) ATTR_NODISCARD;
bool store_watch_changed(struct store *self);
