/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_internal.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { STATE_HEAD_BYTES = 80 };

static struct file_store *of(struct store *base)
{
	return (struct file_store *)base; /* the head stands first */
}

static int store_lock(struct file_store *self, struct err *err)
{
	CLEANUP(freep) char *path = NULL;

	if (asprintf(&path, "%s.lock", self->base.place) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	self->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (self->lock_fd < 0)
		return err_set_at(err, -errno, path, 0, 0, "cannot create: %s", strerror(errno));
	if (flock(self->lock_fd, LOCK_EX | LOCK_NB))
		return err_set_at(err, -errno, path, 0, 0,
				  errno == EWOULDBLOCK ? "another writer has the store" : "cannot lock");
	return 0;
}

static void file_close(struct store *base)
{
	struct file_store *self = of(base);

	closep(&self->lock_fd);
	closep(&self->watch_fd);
	store_release(base);
	free(self);
}

struct visiting {
	const struct store_visitor *visitor;
	struct file_store *store;
	const struct strmap *names; /* "namespace/name" of the only wanted objects; NULL: all */
	struct arena scratch;	    /* of the current item */
};

static int visit_item(void *context, const struct store_item *item, struct err *err)
{
	struct visiting *self = context;
	char key[STORE_KEY_BYTES];
	bool is_read;
	int r;

	if (!item->text || (self->names && !strmap_has(self->names, store_key(key, item->namespace_name, item->name))))
		return 0;
	r = store_give(&self->store->base, item->kind, (struct str){item->text, item->n}, self->visitor, &self->scratch,
		       &is_read, err);
	if (r)
		err_wrap(err, "%s: byte %lld: %s", self->store->base.place, (long long)item->offset,
			 store_item_kinds[item->kind]);
	return r;
}

static int visit(struct file_store *self, const struct store_visitor *visitor, const struct strmap *names,
		 struct err *err)
{
	CLEANUP(closep) int fd = -1;
	struct visiting visiting = {visitor, self, names, ARENA_INIT(LIMIT_OBJECT_DOC_BYTES)};
	struct store_scan scan = {
		.wants = {store_wants(visitor, ITEM_SHAPE), store_wants(visitor, ITEM_PROFILE),
			  store_wants(visitor, ITEM_HISTORY)},
		.context = &visiting,
		.item = visit_item,
	};
	int r = store_open_data(self, &fd, err);

	if (!r && fd >= 0)
		r = store_scan(fd, self->base.place, &scan, err);
	/* what is wrong with the text stays; anything else may pass, though the file does not change */
	if (r < 0 && r != -EINVAL && r != -E2BIG && !visiting.scratch.is_full)
		self->seen = (struct stat){.st_ino = 0};
	arena_release(&visiting.scratch);
	return r;
}

static int file_visit(struct store *base, const struct store_visitor *visitor, struct err *err)
{
	return visit(of(base), visitor, NULL, err);
}

static int file_visit_named(struct store *base, const struct store_visitor *visitor, const struct store_name *names,
			    size_t n, struct err *err)
{
	CLEANUP(store_names_release) struct store_names wanted = STORE_NAMES_INIT;
	struct store_visitor without_shapes = *visitor;
	int r = store_names_put_all(&wanted, names, n);

	without_shapes.shape = NULL;
	return r ? err_set(err, r, "out of memory") : visit(of(base), &without_shapes, &wanted.map, err);
}

static int file_commit(struct store *base, const struct store_change *change, struct err *err)
{
	return store_file_rewrite(of(base), change, NULL, 0, NULL, err);
}

static int file_remove(struct store *base, const struct store_name *names, size_t n, size_t *ret_n, struct err *err)
{
	static const struct store_change nothing = {.n_profiles = 0};

	return store_file_rewrite(of(base), &nothing, names, n, ret_n, err);
}

/* The head of the collector's state shows whether the rest is complete: length and hash. */
static const char *state_head(const char *text, size_t n, char ret[STATE_HEAD_BYTES])
{
	snprintf(ret, STATE_HEAD_BYTES, "memtamer-state v1 %zu %016llx\n", n,
		 (unsigned long long)hash_stable(HASH_STABLE_INIT, text, n));
	return ret;
}

static int file_state_load(struct store *base, struct strbuf *ret_text, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf file = STRBUF_INIT(LIMIT_STORE_BYTES);
	const char *path = base->state_place;
	char head[STATE_HEAD_BYTES];
	const char *text;
	size_t n;
	int r;

	r = io_read_file(path, &file, err);
	if (r == -ENOENT)
		return 1;
	if (r)
		return r;
	text = memchr(strbuf_text(&file), '\n', file.len);
	text = text ? text + 1 : strbuf_text(&file);
	n = file.len - (size_t)(text - strbuf_text(&file));
	state_head(text, n, head);
	if (strlen(head) != file.len - n || memcmp(file.text, head, strlen(head)) != 0)
		return err_set_at(err, -EINVAL, path, 0, 0, "torn, or not the collector's state");
	return strbuf_add(ret_text, text, n) ? err_set_at(err, ret_text->status, path, 0, 0, "too long") : 0;
}

static int file_state_save(struct store *base, const char *text, size_t n, struct err *err)
{
	char head[STATE_HEAD_BYTES];

	return store_write_text(base->state_place, state_head(text, n, head), text, n, err);
}

static int file_watch_fd(struct store *base, struct err *err)
{
	struct file_store *self = of(base);
	char folder[PATH_MAX];

	if (self->watch_fd >= 0)
		return self->watch_fd;
	if ((size_t)snprintf(folder, sizeof(folder), "%s", self->base.place) >= sizeof(folder))
		return err_set_at(err, -ENAMETOOLONG, self->base.place, 0, 0, "path too long");
	self->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (self->watch_fd < 0)
		return err_set(err, -errno, "inotify: %s", strerror(errno));
	if (inotify_add_watch(self->watch_fd, dirname(folder), IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE) <
	    0) {
		int r = -errno;

		closep(&self->watch_fd);
		return err_set_at(err, r, folder, 0, 0, "cannot watch: %s", strerror(-r));
	}
	return self->watch_fd;
}

static bool file_watch_changed(struct store *base)
{
	struct file_store *self = of(base);
	char events[4096];
	struct stat now;

	while (self->watch_fd >= 0 && read(self->watch_fd, events, sizeof(events)) > 0)
		;
	if (stat(self->base.place, &now))
		now = (struct stat){.st_ino = 0};
	return now.st_ino != self->seen.st_ino || now.st_dev != self->seen.st_dev ||
	       now.st_size != self->seen.st_size || now.st_mtim.tv_sec != self->seen.st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != self->seen.st_mtim.tv_nsec;
}

static const struct store_ops file_ops = {
	.close = file_close,
	.visit = file_visit,
	.visit_named = file_visit_named,
	.commit = file_commit,
	.remove = file_remove,
	.state_load = file_state_load,
	.state_save = file_state_save,
	.change_mode_cap = store_file_change_mode_cap,
	.status_load = store_file_status_load,
	.status_save = store_file_status_save,
	.status_place = store_file_status_place,
	.watch_fd = file_watch_fd,
	.watch_changed = file_watch_changed,
};

int store_open_file(const char *path, bool is_writer, struct store **ret, struct err *err)
{
	struct file_store *self = calloc(1, sizeof(*self));
	CLEANUP(store_closep) struct store *base = (struct store *)self;
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	*self = (struct file_store){.base = {.ops = &file_ops, .is_writer = is_writer}, .lock_fd = -1, .watch_fd = -1};
	base->place = strdup(path);
	if (!base->place || asprintf(&base->state_place, "%s.state", path) < 0) {
		base->state_place = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	r = is_writer ? store_lock(self, err) : 0;
	if (r)
		return r;
	*ret = TAKE_PTR(base);
	return 0;
}
