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

#define STATE_HEAD "memtamer-state v1"

static int store_lock(struct store *self, struct err *err)
{
	CLEANUP(freep) char *path = NULL;

	if (asprintf(&path, "%s.lock", self->path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	self->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (self->lock_fd < 0)
		return err_set_at(err, -errno, path, 0, 0, "cannot create: %s", strerror(errno));
	if (flock(self->lock_fd, LOCK_EX | LOCK_NB))
		return err_set_at(err, -errno, path, 0, 0,
				  errno == EWOULDBLOCK ? "another writer has the store" : "cannot lock");
	return 0;
}

int store_open_file(const char *path, bool is_writer, struct store **ret, struct err *err)
{
	CLEANUP(store_closep) struct store *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->lock_fd = self->watch_fd = -1;
	self->path = strdup(path);
	if (!self->path)
		return err_set(err, -ENOMEM, "out of memory");
	r = is_writer ? store_lock(self, err) : 0;
	if (r)
		return r;
	*ret = TAKE_PTR(self);
	return 0;
}

void store_close(struct store *self)
{
	if (!self)
		return;
	closep(&self->lock_fd);
	closep(&self->watch_fd);
	free(self->path);
	free(self);
}

void store_closep(struct store **self)
{
	store_close(*self);
	*self = NULL;
}

int store_open_data(struct store *self, int *ret_fd, struct err *err)
{
	int fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	self->seen = (struct stat){.st_ino = 0};
	*ret_fd = -1;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set_at(err, -errno, self->path, 0, 0, "cannot open: %s", strerror(errno));
	if (fstat(fd, &self->seen)) {
		int r = -errno;

		close(fd);
		return err_set_at(err, r, self->path, 0, 0, "cannot stat: %s", strerror(-r));
	}
	if (!S_ISREG(self->seen.st_mode)) {
		close(fd);
		return err_set_at(err, -EINVAL, self->path, 0, 0, "not a regular file");
	}
	*ret_fd = fd;
	return 0;
}

struct visiting {
	const struct store_visitor *visitor;
	struct store *store;
	struct snapshot_builder *builder; /* for admission: takes profiles instead of the visitor */
	struct arena scratch;		  /* of the item at hand */
};

static int visit_shape(struct visiting *self, const struct store_item *item, struct err *err)
{
	struct node_shape shape;
	int r = node_shape_read(item->text, item->n, &self->scratch, &shape, err);

	return r ? r : self->visitor->shape(self->visitor->context, &shape, err);
}

static int visit_profile(struct visiting *self, const struct store_item *item, struct err *err)
{
	struct profile_draft draft;
	struct profile *profile;
	int r = profile_read(item->text, item->n, &self->scratch, &draft, err);

	if (r)
		return r;
	if (self->builder) {
		draft.profile.n_reasons = 0; /* nobody there reads them */
		r = snapshot_builder_put_copy(self->builder, &draft.profile);
		return r ? err_set(err, r, "out of memory") : 0;
	}
	profile = profile_dup(&draft.profile);
	if (!profile)
		return err_set(err, -ENOMEM, "out of memory");
	return self->visitor->profile(self->visitor->context, profile, err);
}

static int visit_history(struct visiting *self, const struct store_item *item, struct err *err)
{
	struct history *history = NULL;
	int r = history_read(item->text, item->n, &self->scratch, &history, err);

	return r ? r : self->visitor->history(self->visitor->context, history, err);
}

static int visit_item(void *context, const struct store_item *item, struct err *err)
{
	static int (*const visits[ITEM_KIND_COUNT_])(struct visiting *, const struct store_item *,
						     struct err *) = {visit_shape, visit_profile, visit_history};
	struct visiting *self = context;
	int r;

	if (!item->text)
		return 0;
	arena_reset(&self->scratch);
	r = visits[item->kind](self, item, err);
	if (r)
		err_wrap(err, "%s: byte %lld: %s", self->store->path, (long long)item->offset,
			 store_item_kinds[item->kind]);
	return r;
}

static int visit(struct store *self, const struct store_visitor *visitor, struct snapshot_builder *builder,
		 struct err *err)
{
	CLEANUP(closep) int fd = -1;
	struct visiting visiting = {visitor, self, builder, ARENA_INIT(LIMIT_OBJECT_DOC_BYTES)};
	struct store_scan scan = {
		.wants = {visitor->shape != NULL, visitor->profile || builder, visitor->history != NULL},
		.may_repeat = builder != NULL, /* it takes an object twice */
		.context = &visiting,
		.item = visit_item,
	};
	int r = store_open_data(self, &fd, err);

	if (!r && fd >= 0)
		r = store_scan(fd, self->path, &scan, err);
	arena_release(&visiting.scratch);
	return r;
}

int store_visit(struct store *self, const struct store_visitor *visitor, struct err *err)
{
	return visit(self, visitor, NULL, err);
}

static int read_shape(void *context, const struct node_shape *shape, struct err *err)
{
	int r = snapshot_builder_put_shape(context, shape);

	return r ? err_set(err, r, "out of memory") : 0;
}

int store_read_profiles(struct store *self, struct snapshot_builder *builder, struct err *err)
{
	struct store_visitor visitor = {.context = builder, .shape = read_shape};

	return visit(self, &visitor, builder, err);
}

/* The collector's state has a head that tells whether the rest is whole: length and hash. */
static uint64_t state_hash(const char *text, size_t n)
{
	return hash_stable(HASH_STABLE_INIT, text, n);
}

int store_state_load(struct store *self, struct strbuf *ret_text, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf file = STRBUF_INIT(LIMIT_STORE_BYTES);
	CLEANUP(freep) char *path = NULL;
	char head[80];
	const char *text;
	size_t n;
	int r;

	if (asprintf(&path, "%s.state", self->path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = io_read_file(path, &file, err);
	if (r == -ENOENT)
		return 1;
	if (r)
		return r;
	text = memchr(strbuf_text(&file), '\n', file.len);
	text = text ? text + 1 : strbuf_text(&file);
	n = file.len - (size_t)(text - strbuf_text(&file));
	snprintf(head, sizeof(head), STATE_HEAD " %zu %016llx\n", n, (unsigned long long)state_hash(text, n));
	if (strlen(head) != file.len - n || memcmp(file.text, head, strlen(head)) != 0)
		return err_set_at(err, -EINVAL, path, 0, 0, "torn, or not the collector's state");
	return strbuf_add(ret_text, text, n) ? err_set_at(err, ret_text->status, path, 0, 0, "too long") : 0;
}

struct state {
	const char *text;
	size_t n;
};

static int write_state(const void *context, FILE *out)
{
	const struct state *self = context;

	fprintf(out, STATE_HEAD " %zu %016llx\n", self->n, (unsigned long long)state_hash(self->text, self->n));
	fwrite(self->text, 1, self->n, out);
	return 0; /* the caller asks ferror */
}

int store_state_save(struct store *self, const char *text, size_t n, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	struct state state = {text, n};

	if (asprintf(&path, "%s.state", self->path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return store_write_atomic(self, path, write_state, &state, err);
}

int store_watch_fd(struct store *self, struct err *err)
{
	char folder[PATH_MAX];

	if (self->watch_fd >= 0)
		return self->watch_fd;
	if ((size_t)snprintf(folder, sizeof(folder), "%s", self->path) >= sizeof(folder))
		return err_set_at(err, -ENAMETOOLONG, self->path, 0, 0, "path too long");
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

bool store_watch_changed(struct store *self)
{
	char events[4096];
	struct stat now;

	while (self->watch_fd >= 0 && read(self->watch_fd, events, sizeof(events)) > 0)
		;
	if (stat(self->path, &now))
		now = (struct stat){.st_ino = 0};
	return now.st_ino != self->seen.st_ino || now.st_dev != self->seen.st_dev ||
	       now.st_size != self->seen.st_size || now.st_mtim.tv_sec != self->seen.st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != self->seen.st_mtim.tv_nsec;
}
