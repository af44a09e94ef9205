/* SPDX-License-Identifier: Apache-2.0 */
/* store_commit: old items and changes merged into a new file. Old items are copied byte for byte by their place in the
 * old file; the new file is complete and on disk before it takes the old one's name. */
#include "store/store_internal.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* One item of the file to be: either bytes of the old file, or a number in the change. */
struct entry {
	enum store_item_kind kind;
	char *namespace_name, *name; /* heap */
	int64_t offset;		     /* in the old file; -1: new */
	size_t n;		     /* bytes in the old file, or index in the change */
};

struct commit {
	const struct store_change *change;
	struct store_names removed;
	struct arena scratch;
	int old_fd;
	VEC(struct entry) entries;
};

static void commit_release(struct commit *self)
{
	for (size_t i = 0; i < self->entries.n; i++) {
		free(self->entries.items[i].namespace_name);
		free(self->entries.items[i].name);
	}
	vec_release(&self->entries);
	store_names_release(&self->removed);
	arena_release(&self->scratch);
	closep(&self->old_fd);
}

/* A profile with decisions of people is not removed, nor is its history. */
static int keep_protected(struct commit *self, const struct store_item *item, struct err *err)
{
	struct profile_draft draft;
	int r;

	if (item->kind != ITEM_PROFILE || !store_names_has(&self->removed, item->namespace_name, item->name))
		return 0;
	arena_reset(&self->scratch);
	r = profile_read(item->text, item->n, &self->scratch, &draft, err);
	if (r == -ENOMEM)
		return r;
	/* A profile that cannot be read may have decisions of people. */
	if ((r || !store_may_remove(&draft.profile)) &&
	    store_names_drop(&self->removed, item->namespace_name, item->name))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Takes the names. */
static int add(struct commit *self, struct entry entry, const char *namespace_name, const char *name, struct err *err)
{
	entry.namespace_name = strdup(namespace_name);
	entry.name = strdup(name);
	if (entry.namespace_name && entry.name && !vec_push(&self->entries, entry))
		return 0;
	free(entry.namespace_name);
	free(entry.name);
	return err_set(err, -ENOMEM, "out of memory");
}

static int add_old(void *context, const struct store_item *item, struct err *err)
{
	const struct entry entry = {.kind = item->kind, .offset = item->offset, .n = item->n};
	int r = keep_protected(context, item, err);

	return r ? r : add(context, entry, item->namespace_name, item->name, err);
}

static int add_new(struct commit *self, enum store_item_kind kind, const char *namespace_name, const char *name,
		   size_t i, struct err *err)
{
	return add(self, (struct entry){.kind = kind, .offset = -1, .n = i}, namespace_name, name, err);
}

static int add_changes(struct commit *self, struct err *err)
{
	const struct store_change *change = self->change;
	int r = 0;

	for (size_t i = 0; !r && i < change->n_shapes; i++)
		r = add_new(self, ITEM_SHAPE, "", change->shapes[i].name, i, err);
	for (size_t i = 0; !r && i < change->n_profiles; i++)
		r = add_new(self, ITEM_PROFILE, change->profiles[i]->namespace_name, change->profiles[i]->name, i, err);
	for (size_t i = 0; !r && i < change->n_histories; i++)
		r = add_new(self, ITEM_HISTORY, change->histories[i]->namespace_name, change->histories[i]->name, i,
			    err);
	return r;
}

static int same_object(const struct entry *x, const struct entry *y)
{
	int r = (x->kind > y->kind) - (x->kind < y->kind);

	r = r ? r : strcmp(x->namespace_name, y->namespace_name);
	return r ? r : strcmp(x->name, y->name);
}

/* By kind, namespace, name; of one object the new version first, then the later one of the change. */
static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = same_object(x, y);

	if (r)
		return r;
	if ((x->offset < 0) != (y->offset < 0))
		return x->offset < 0 ? -1 : 1;
	return x->offset < 0 ? (x->n < y->n) - (x->n > y->n) : (x->offset > y->offset) - (x->offset < y->offset);
}

static bool is_removed(const struct commit *self, const struct entry *entry)
{
	return entry->offset >= 0 && entry->kind != ITEM_SHAPE &&
	       store_names_has(&self->removed, entry->namespace_name, entry->name);
}

static size_t count_removed(const struct commit *self, enum store_item_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < self->entries.n; i++)
		n += self->entries.items[i].kind == kind && is_removed(self, &self->entries.items[i]);
	return n;
}

static int copy_old(const struct commit *self, const struct entry *entry, FILE *out)
{
	int64_t offset = entry->offset;
	size_t left = entry->n;
	char block[64 * 1024];

	while (left) {
		ssize_t n = pread(self->old_fd, block, MIN(left, sizeof(block)), offset);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if (fwrite(block, 1, (size_t)n, out) != (size_t)n)
			return -errno;
		offset += n;
		left -= (size_t)n;
	}
	return 0;
}

static int write_entry(const struct commit *self, const struct entry *entry, struct strbuf *buf, FILE *out)
{
	int r;

	if (entry->offset >= 0)
		return copy_old(self, entry, out);
	strbuf_clear(buf);
	if (entry->kind == ITEM_SHAPE)
		r = node_shape_encode(&self->change->shapes[entry->n], buf);
	else if (entry->kind == ITEM_PROFILE)
		r = profile_encode(self->change->profiles[entry->n], buf);
	else
		r = history_encode(self->change->histories[entry->n], buf);
	if (!r && fwrite(buf->text, 1, buf->len, out) != buf->len)
		r = -errno;
	return r;
}

static int write_list(const void *context, FILE *out)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_STORE_ITEM_BYTES);
	const struct commit *self = context;
	const struct entry *last = NULL;
	int r = 0;

	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{},\"items\":[", out);
	for (size_t i = 0; !r && i < self->entries.n; i++) {
		const struct entry *entry = &self->entries.items[i];

		if ((last && same_object(last, entry) == 0) || is_removed(self, entry))
			continue;
		fputs(last ? ",\n" : "\n", out);
		r = write_entry(self, entry, &buf, out);
		last = entry;
	}
	fputs("\n]}\n", out);
	return r;
}

int store_file_rewrite(struct file_store *self, const struct store_change *change, const struct store_name *removed,
		       size_t n_removed, size_t *ret_n, struct err *err)
{
	CLEANUP(commit_release)
	struct commit commit = {.change = change,
				.removed = STORE_NAMES_INIT,
				.scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES),
				.old_fd = -1};
	struct store_scan scan = {.wants = {true, true, true}, .context = &commit, .item = add_old};
	int r = store_names_put_all(&commit.removed, removed, n_removed);

	if (r)
		return err_set(err, r, "out of memory");
	r = store_open_data(self, &commit.old_fd, err);
	if (!r && commit.old_fd >= 0)
		r = store_scan(commit.old_fd, self->base.place, &scan, err);
	if (!r)
		r = add_changes(&commit, err);
	if (r)
		return r;
	if (commit.entries.n)
		qsort(commit.entries.items, commit.entries.n, sizeof(*commit.entries.items), compare);
	if (n_removed)
		*ret_n = count_removed(&commit, ITEM_PROFILE);
	if (n_removed && !*ret_n && !count_removed(&commit, ITEM_HISTORY))
		return 0;
	return store_write_atomic(self->base.place, write_list, &commit, err);
}
