/* SPDX-License-Identifier: Apache-2.0 */
/* store_commit: old items and changes merged into a new file. Old items are copied byte for byte by their place in the
 * old file; the new file is complete and on disk before it takes the old one's name. */
#include "store/store_internal.h"

#include "base/io.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define COMMIT_DEPTH 32

/* One item of the file to be: either bytes of the old file, or a number in the change. */
struct entry {
	enum store_item_kind kind;
	char *namespace_name, *name; /* heap */
	int64_t offset;		     /* in the old file; -1: new */
	size_t n;		     /* bytes in the old file, or index in the change */
};

struct commit {
	struct file_store *store;
	const struct store_change *change;
	struct store_names removed; /* value: is it kept all the same? */
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

static int names_by_parsing(const struct store_item *item, char **ret_namespace, char **ret_name, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct json_object *metadata = NULL;
	const char *namespace_name = "", *name = "";
	int r = json_parse(item->text, item->n, COMMIT_DEPTH, &object, err);

	if (!r)
		r = json_get_object(object, "", "metadata", &metadata, err);
	if (r >= 0)
		r = json_get_string(metadata, "metadata", "namespace", &namespace_name, err);
	if (r >= 0)
		r = json_get_string(metadata, "metadata", "name", &name, err);
	if (r < 0)
		return r;
	*ret_namespace = strdup(namespace_name);
	*ret_name = strdup(name);
	return *ret_namespace && *ret_name ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* `"key":"text"` at *at: a heap copy of the text, if it has no escapes. NULL otherwise. */
static char *plain_member(const char **at, const char *end, const char *key)
{
	size_t n = strlen(key);
	const char *start = *at + n, *stop;

	if ((size_t)(end - *at) <= n || memcmp(*at, key, n) != 0)
		return NULL;
	stop = memchr(start, '"', (size_t)(end - start));
	if (!stop || memchr(start, '\\', (size_t)(stop - start)))
		return NULL;
	*at = stop + 1;
	return strndup(start, (size_t)(stop - start));
}

/* In our own spelling (the head that codec_head writes) without parsing the rest; else by json-c. */
int store_item_names(const struct store_item *item, const char *path, char **ret_namespace, char **ret_name,
		     struct err *err)
{
	const char *at = memmem(item->text, MIN(item->n, (size_t)128), "\"metadata\":{", 12),
		   *end = item->text + item->n;
	int r = 0;

	*ret_namespace = *ret_name = NULL;
	if (at) {
		at += 12;
		*ret_namespace = plain_member(&at, end, "\"namespace\":\"");
		if (*ret_namespace && at < end && *at == ',')
			at++;
		*ret_name = plain_member(&at, end, "\"name\":\"");
	}
	if (*ret_name && !*ret_namespace)
		*ret_namespace = strdup("");
	if (*ret_name && *ret_namespace)
		return 0;
	free(*ret_namespace);
	free(*ret_name);
	*ret_namespace = *ret_name = NULL;
	r = names_by_parsing(item, ret_namespace, ret_name, err);
	if (r)
		err_wrap(err, "%s: byte %lld", path, (long long)item->offset);
	return r;
}

/* Note that a profile that was to be removed stays, with its history. */
static int look_at_removed(struct commit *self, const struct store_item *item, const struct entry *entry,
			   struct err *err)
{
	struct profile_draft draft;
	int r;

	if (item->kind != ITEM_PROFILE || !store_names_has(&self->removed, entry->namespace_name, entry->name))
		return 0;
	arena_reset(&self->scratch);
	r = profile_read(item->text, item->n, &self->scratch, &draft, err);
	if (r == -ENOMEM)
		return r;
	/* one that cannot be read stays too: who knows what it says */
	if (r || !store_may_remove(&draft.profile))
		store_names_keep(&self->removed, entry->namespace_name, entry->name);
	return 0;
}

static int add_old(void *context, const struct store_item *item, struct err *err)
{
	struct commit *self = context;
	struct entry entry = {.kind = item->kind, .offset = item->offset, .n = item->n};
	int r = store_item_names(item, self->store->base.place, &entry.namespace_name, &entry.name, err);

	if (!r)
		r = look_at_removed(self, item, &entry, err);

	if (!r && vec_push(&self->entries, entry))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r) {
		free(entry.namespace_name);
		free(entry.name);
	}
	return r;
}

static int add_new(struct commit *self, enum store_item_kind kind, const char *namespace_name, const char *name,
		   size_t i)
{
	struct entry entry = {
		.kind = kind, .namespace_name = strdup(namespace_name), .name = strdup(name), .offset = -1, .n = i};

	if (entry.namespace_name && entry.name && !vec_push(&self->entries, entry))
		return 0;
	free(entry.namespace_name);
	free(entry.name);
	return -ENOMEM;
}

static int add_changes(struct commit *self, struct err *err)
{
	const struct store_change *change = self->change;
	int r = 0;

	for (size_t i = 0; !r && i < change->n_shapes; i++)
		r = add_new(self, ITEM_SHAPE, "", change->shapes[i].name, i);
	for (size_t i = 0; !r && i < change->n_profiles; i++)
		r = add_new(self, ITEM_PROFILE, change->profiles[i]->namespace_name, change->profiles[i]->name, i);
	for (size_t i = 0; !r && i < change->n_histories; i++)
		r = add_new(self, ITEM_HISTORY, change->histories[i]->namespace_name, change->histories[i]->name, i);
	return r ? err_set(err, r, "out of memory") : 0;
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
	       store_names_has(&self->removed, entry->namespace_name, entry->name) &&
	       !store_names_is_kept(&self->removed, entry->namespace_name, entry->name);
}

static size_t count_removed(const struct commit *self)
{
	size_t n = 0;

	for (size_t i = 0; i < self->entries.n; i++)
		n += self->entries.items[i].kind == ITEM_PROFILE && is_removed(self, &self->entries.items[i]);
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

/* The only writer holds the lock, so the temporary file may have a fixed name: what a killed writer left behind is
 * overwritten by the next one and does not pile up. */
static FILE *open_temporary(const char *temporary)
{
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !out)
		close(fd);
	return out;
}

static int fill_and_sync(FILE *out, int (*fill)(const void *context, FILE *out), const void *context)
{
	int r;

	errno = 0;
	r = fill(context, out);
	if (!r && (fflush(out) || ferror(out)))
		r = errno ? -errno : -EIO;
	if (!r && fsync(fileno(out)))
		r = -errno;
	if (fclose(out) && !r)
		r = -errno;
	return r;
}

int store_write_atomic(const char *path, int (*fill)(const void *context, FILE *out), const void *context,
		       struct err *err)
{
	char temporary[PATH_MAX];
	FILE *out;
	int r;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
		return err_set_at(err, -ENAMETOOLONG, path, 0, 0, "path too long");
	out = open_temporary(temporary);
	if (!out)
		return err_set_at(err, -errno, temporary, 0, 0, "cannot create: %s", strerror(errno));
	r = fill_and_sync(out, fill, context);
	if (!r && rename(temporary, path))
		r = -errno;
	if (r)
		unlink(temporary);
	else
		r = io_sync_folder_of(path);
	return r ? err_set_at(err, r, path, 0, 0, "cannot write: %s", strerror(-r)) : 0;
}

int store_file_rewrite(struct file_store *self, const struct store_change *change, const struct store_name *removed,
		       size_t n_removed, size_t *ret_n, struct err *err)
{
	CLEANUP(commit_release)
	struct commit commit = {.store = self,
				.change = change,
				.removed = {.map = STRMAP_INIT},
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
		*ret_n = count_removed(&commit);
	if (n_removed && !*ret_n)
		return 0;
	return store_write_atomic(self->base.place, write_list, &commit, err);
}
