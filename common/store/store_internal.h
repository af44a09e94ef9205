/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_internal: what a kind of store does, and the parts of the file store. Private to the layer. */
#include "base/limits.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "store/store.h"

#include <stdio.h>
#include <sys/stat.h>

/** What to do with spec.modeCap of a profile: store_lower_mode_cap, store_undo_mode_cap, store_release_mode_cap. */
enum store_cap_act { CAP_LOWER, CAP_UNDO, CAP_RELEASE };
struct store_cap {
	const char *namespace_name, *name, *mode;
	enum store_cap_act act;
};
/** spec.modeCap and spec.modeCapBeforeUndo; "": none. */
struct store_cap_words {
	const char *cap, *before_undo;
};
/** Words as they stand become what they shall be. @return false: there is nothing to change. */
bool store_cap_change(const struct store_cap *self, struct store_cap_words *words);

/** What store.h promises, by kind; NULL: this kind has no such thing. */
struct store_ops {
	void (*close)(struct store *self);
	int (*read_profiles)(struct store *self, struct snapshot_builder *builder, struct err *err);
	int (*visit)(struct store *self, const struct store_visitor *visitor, struct err *err);
	int (*visit_named)(struct store *self, const struct store_visitor *visitor, const struct store_name *names,
			   size_t n, struct err *err);
	int (*commit)(struct store *self, const struct store_change *change, struct err *err);
	int (*remove)(struct store *self, const struct store_name *names, size_t n, size_t *ret_n, struct err *err);
	int (*state_load)(struct store *self, struct strbuf *ret_text, struct err *err);
	int (*state_save)(struct store *self, const char *text, size_t n, struct err *err);
	int (*change_mode_cap)(struct store *self, const struct store_cap *want, struct err *err);
	int (*status_load)(struct store *self, struct strbuf *ret_text, struct err *err);
	int (*status_save)(struct store *self, const char *text, size_t n, struct err *err);
	const char *(*status_place)(const struct store *self, char *buf, size_t size);
	int (*watch_fd)(struct store *self, struct err *err);
	bool (*watch_changed)(struct store *self);
};

/** The head of every kind. */
struct store {
	const struct store_ops *ops;
	bool is_writer;
	char *place, *state_place; /* heap */
	char *namespace_name;	   /* heap; NULL: all */
	store_bad_fn *bad;
	void *bad_context;
	store_cancelled_fn *cancelled;
	void *cancelled_context;
};

/** Take the head's parts down; the kind frees itself. */
void store_release(struct store *self);
void store_tell_bad(const struct store *self, const struct err *why);
bool store_is_cancelled(const struct store *self);
/** -EACCES unless opened for writing. */
int store_check_writer(const struct store *self, struct err *err) ATTR_NODISCARD;

#define STORE_KEY_BYTES (2 * LIMIT_NAME_BYTES + 2)
/** "namespace/name"; names longer than Kubernetes' are cut. Returns `ret`. */
const char *store_key(char ret[STORE_KEY_BYTES], const char *namespace_name, const char *name);

/** A set of names, each of which may be marked as one to keep. */
struct store_names {
	struct strmap map;
	VEC(char *) keys; /* heap */
};
int store_names_put_all(struct store_names *self, const struct store_name *names, size_t n) ATTR_NODISCARD;
bool store_names_has(const struct store_names *self, const char *namespace_name, const char *name);
/** Of a name that it has. Cannot fail. */
void store_names_keep(struct store_names *self, const char *namespace_name, const char *name);
bool store_names_is_kept(const struct store_names *self, const char *namespace_name, const char *name);
void store_names_release(struct store_names *self);

/** Kinds in the order in which they stand in the file. */
enum store_item_kind { ITEM_SHAPE, ITEM_PROFILE, ITEM_HISTORY, ITEM_KIND_COUNT_ };
extern const char *const store_item_kinds[ITEM_KIND_COUNT_];

/** One item of the List as it stands in the file. `text` is NULL when the scan was told to skip its kind. */
struct store_item {
	enum store_item_kind kind;
	int64_t offset; /* of its first byte in the file */
	const char *text;
	size_t n;
};

struct store_scan {
	bool wants[ITEM_KIND_COUNT_];
	bool may_repeat; /* items may be handed out twice: allows a faster way that is sometimes wrong */
	void *context;
	/** Non-zero stops the scan and is returned. The text is borrowed for the call. */
	int (*item)(void *context, const struct store_item *item, struct err *err);
};

/** Read a List from a file descriptor in blocks and hand out its items one by one; memory is one item.
 *  The whole text is checked for structure. @return 0; -EINVAL torn or foreign with the byte offset; -errno. */
int store_scan(int fd, const char *path, const struct store_scan *scan, struct err *err) ATTR_NODISCARD;

struct file_store {
	struct store base; /* place is the file */
	int lock_fd;	   /* -1: reader */
	int watch_fd;	   /* -1: not watched */
	struct stat seen;  /* the file as it was when last read; st_ino 0: it was missing */
};

/** Names of an item, as heap strings. @return 0; -EINVAL with the byte offset; -ENOMEM. */
int store_item_names(const struct store_item *item, const char *path, char **ret_namespace, char **ret_name,
		     struct err *err) ATTR_NODISCARD;

/** Open the file for reading and remember what it was. @return 0 with -1 in *ret_fd when it is missing; -errno. */
int store_open_data(struct file_store *self, int *ret_fd, struct err *err) ATTR_NODISCARD;

/** Write a file of the store (the writer's only): temporary file beside it, `fill`, fsync, rename, fsync of the folder.
 *  `fill` returns 0 or -errno. On failure the old file is whole and the temporary one is gone. */
int store_write_atomic(const char *path, int (*fill)(const void *context, FILE *out), const void *context,
		       struct err *err) ATTR_NODISCARD;

/** store_file_small.c */
int store_file_change_mode_cap(struct store *base, const struct store_cap *want, struct err *err) ATTR_NODISCARD;
int store_file_status_load(struct store *base, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_file_status_save(struct store *base, const char *text, size_t n, struct err *err) ATTR_NODISCARD;
const char *store_file_status_place(const struct store *base, char *buf, size_t size);

/** store_commit and store_remove of the file store: `removed` (n_removed) go, the change comes. */
int store_file_rewrite(struct file_store *self, const struct store_change *change, const struct store_name *removed,
		       size_t n_removed, size_t *ret_n, struct err *err) ATTR_NODISCARD;
