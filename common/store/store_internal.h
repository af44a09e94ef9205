/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_internal: the operations of a kind of store, and the parts of the file store. Private to the layer. */
#include "base/limits.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "store/store.h"

#include <stdio.h>
#include <sys/stat.h>

/** A change of spec.modeCap of a profile: for store_lower_mode_cap, store_undo_mode_cap and store_release_mode_cap. */
enum store_cap_act { CAP_LOWER, CAP_UNDO, CAP_RELEASE };
struct store_cap {
	const char *namespace_name, *name, *mode;
	enum store_cap_act act;
};
/** spec.modeCap and spec.modeCapBeforeUndo; "": none. */
struct store_cap_words {
	const char *cap, *before_undo;
};
/** Changes `words` from the current to the new values. @return false: there is nothing to change. */
bool store_cap_change(const struct store_cap *self, struct store_cap_words *words);

/** The functions of store.h for one kind of store. watch_fd and watch_changed may be NULL: not supported. */
struct store_ops {
	void (*close)(struct store *self);
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

/** The first member of every kind of store. */
struct store {
	const struct store_ops *ops;
	bool is_writer;
	char *place, *state_place; /* heap */
	char *namespace_name;	   /* heap; NULL: all namespaces */
	store_bad_fn *bad;
	void *bad_context;
	store_cancelled_fn *cancelled;
	void *cancelled_context;
};

/** Frees what the head owns; the kind frees the struct. */
void store_release(struct store *self);
void store_report_bad(const struct store *self, const struct err *why);
bool store_is_cancelled(const struct store *self);

#define STORE_KEY_BYTES (2 * LIMIT_NAME_BYTES + 2)
/** Writes "namespace/name"; longer names than Kubernetes allows are cut. Returns `ret`. */
const char *store_key(char ret[STORE_KEY_BYTES], const char *namespace_name, const char *name);

/** A set of names. */
struct store_names {
	struct strmap map;
	struct arena keys;
};
#define STORE_NAMES_INIT                                                                                               \
	{                                                                                                              \
		.map = STRMAP_INIT, .keys = ARENA_INIT(LIMIT_STORE_BYTES)                                              \
	}
int store_names_put_all(struct store_names *self, const struct store_name *names, size_t n) ATTR_NODISCARD;
bool store_names_has(const struct store_names *self, const char *namespace_name, const char *name);
/** Removes a name, which may be absent. @return 0; -ENOMEM. */
int store_names_drop(struct store_names *self, const char *namespace_name, const char *name) ATTR_NODISCARD;
void store_names_release(struct store_names *self);

/** Kinds of objects, in their order in the file. */
enum store_item_kind { ITEM_SHAPE, ITEM_PROFILE, ITEM_HISTORY, ITEM_KIND_COUNT_ };
extern const char *const store_item_kinds[ITEM_KIND_COUNT_];
/** Whether the visitor takes objects of this kind. */
bool store_wants(const struct store_visitor *visitor, enum store_item_kind kind);
/** Decodes the text of an object and passes it to the visitor. `scratch` is reset.
 *  @param ret_is_read  false: the object cannot be read; true: the return value is that of the visitor.
 *  @return 0; -ENOMEM; -EINVAL, -E2BIG the object cannot be read; what the visitor returned. */
int store_give(const struct store *self, enum store_item_kind kind, struct str text,
	       const struct store_visitor *visitor, struct arena *scratch, bool *ret_is_read,
	       struct err *err) ATTR_NODISCARD;

/** One item of the List, as in the file, borrowed for the call. `text` is NULL when the scan skips its kind. */
struct store_item {
	enum store_item_kind kind;
	const char *namespace_name, *name; /* "": none */
	int64_t offset;			   /* position of its first byte in the file */
	const char *text;
	size_t n;
};

struct store_scan {
	bool wants[ITEM_KIND_COUNT_];
	void *context;
	/** Called with each item; the text is borrowed for the call. A non-zero return value ends the scan and is
	 *  returned. */
	int (*item)(void *context, const struct store_item *item, struct err *err);
};

/** Reads a List from a file descriptor in blocks and passes on its items one by one. Memory: one item. Strings and
 *  brackets of the whole text are checked, and the text around the items is parsed.
 *  @return 0; -EINVAL incomplete or not a store, -E2BIG, both with the byte offset; another -errno. */
int store_scan(int fd, const char *path, const struct store_scan *scan, struct err *err) ATTR_NODISCARD;

struct file_store {
	struct store base; /* `place` is the path of the file */
	int lock_fd;	   /* -1: not a writer */
	int watch_fd;	   /* -1: not watched */
	struct stat seen;  /* the file at the last read; st_ino 0: it was missing */
};

/** Opens the file for reading and stores its identity in `seen`. @return 0, with -1 in *ret_fd if the file is missing;
 *  -EINVAL not a regular file; another -errno. */
int store_open_data(struct file_store *self, int *ret_fd, struct err *err) ATTR_NODISCARD;

/** Writes a file of the store, for the writer only: temporary file beside it, `fill`, fsync, rename, fsync of the
 *  folder. `fill` returns 0 or -errno. On a failure the temporary file is removed and the old file is unchanged, unless
 *  only the fsync of the folder failed: then the new file is in place, but may be lost in a power failure. */
int store_write_atomic(const char *path, int (*fill)(const void *context, FILE *out), const void *context,
		       struct err *err) ATTR_NODISCARD;

/** Writes `head` and then `n` bytes of `text` as store_write_atomic does. */
int store_write_text(const char *path, const char *head, const char *text, size_t n, struct err *err) ATTR_NODISCARD;

/** store_file_small.c: contracts as in store.h. */
int store_file_change_mode_cap(struct store *base, const struct store_cap *want, struct err *err) ATTR_NODISCARD;
int store_file_status_load(struct store *base, struct strbuf *ret_text, struct err *err) ATTR_NODISCARD;
int store_file_status_save(struct store *base, const char *text, size_t n, struct err *err) ATTR_NODISCARD;
const char *store_file_status_place(const struct store *base, char *buf, size_t size);

/** store_commit and store_remove of the file store: deletes `removed` (n_removed names) and writes `change`. `ret_n`
 *  may be NULL. */
int store_file_rewrite(struct file_store *self, const struct store_change *change, const struct store_name *removed,
		       size_t n_removed, size_t *ret_n, struct err *err) ATTR_NODISCARD;
