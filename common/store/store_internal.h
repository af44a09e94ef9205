/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_internal: the parts of the file store. Private to the layer. One thread a store. */
#include "store/store.h"

#include <stdio.h>
#include <sys/stat.h>

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

struct store {
	char *path;
	int lock_fd;	  /* -1: reader */
	int watch_fd;	  /* -1: not watched */
	struct stat seen; /* the file as it was when last read; st_ino 0: it was missing */
};

/** Open the file for reading and remember what it was. @return 0 with -1 in *ret_fd when it is missing; -errno. */
int store_open_data(struct store *self, int *ret_fd, struct err *err) ATTR_NODISCARD;

/** Write a file of the store (the writer's only): temporary file beside it, `fill`, fsync, rename, fsync of the folder.
 *  `fill` returns 0 or -errno. On failure the old file is whole and the temporary one is gone. */
int store_write_atomic(struct store *self, const char *path, int (*fill)(const void *context, FILE *out),
		       const void *context, struct err *err) ATTR_NODISCARD;
