/* SPDX-License-Identifier: Apache-2.0 */
/* What both kinds share, and the way to what they do not. */
#include "store/store_internal.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void store_release(struct store *self)
{
	free(self->place);
	free(self->state_place);
	free(self->namespace_name);
}

void store_close(struct store *self)
{
	if (self)
		self->ops->close(self);
}

void store_closep(struct store **self)
{
	store_close(*self);
	*self = NULL;
}

void store_set_bad(struct store *self, store_bad_fn *bad, void *context)
{
	self->bad = bad;
	self->bad_context = context;
}

void store_report_bad(const struct store *self, const struct err *why)
{
	if (self->bad)
		self->bad(self->bad_context, why);
}

/* Reports a profile whose spec is invalid; does nothing for others. */
static void report_spec(const struct store *self, const struct profile *profile)
{
	struct err why = {.code = STORE_SPEC_INVALID};

	if (!profile->spec || !profile->spec->invalid)
		return;
	snprintf(why.where, sizeof(why.where), "%s %s%s%s", store_item_kinds[ITEM_PROFILE], profile->namespace_name,
		 *profile->namespace_name ? "/" : "", profile->name);
	snprintf(why.msg, sizeof(why.msg), "%s", profile->spec->invalid);
	store_report_bad(self, &why);
}

void store_set_cancelled(struct store *self, store_cancelled_fn *cancelled, void *context)
{
	self->cancelled = cancelled;
	self->cancelled_context = context;
}

bool store_is_cancelled(const struct store *self)
{
	return self->cancelled && self->cancelled(self->cancelled_context);
}

int store_set_namespace(struct store *self, const char *namespace_name)
{
	char *copy = namespace_name ? strdup(namespace_name) : NULL;

	if (namespace_name && !copy)
		return -ENOMEM;
	free(self->namespace_name);
	self->namespace_name = copy;
	return 0;
}

const char *store_place(const struct store *self)
{
	return self->place;
}

const char *store_state_place(const struct store *self)
{
	return self->state_place;
}

static int check_writer(const struct store *self, struct err *err)
{
	return self->is_writer ? 0 : err_set_at(err, -EACCES, self->place, 0, 0, "the store was opened for reading");
}

bool store_wants(const struct store_visitor *visitor, enum store_item_kind kind)
{
	if (kind == ITEM_PROFILE)
		return visitor->profile || visitor->borrowed_profile;
	return kind == ITEM_SHAPE ? visitor->shape != NULL : visitor->history != NULL;
}

static int give_profile(const struct store_visitor *visitor, const struct profile *profile, struct err *err)
{
	struct profile *copy;

	if (visitor->borrowed_profile)
		return visitor->borrowed_profile(visitor->context, profile, err);
	copy = profile_dup(profile);
	return copy ? visitor->profile(visitor->context, copy, err) : err_set(err, -ENOMEM, "out of memory");
}

int store_give(const struct store *self, enum store_item_kind kind, struct str text,
	       const struct store_visitor *visitor, struct arena *scratch, bool *ret_is_read, struct err *err)
{
	struct history *history = NULL;
	struct profile_draft draft;
	struct node_shape shape;
	int r;

	arena_reset(scratch);
	if (kind == ITEM_SHAPE)
		r = node_shape_read(text.p, text.n, scratch, &shape, err);
	else if (kind == ITEM_PROFILE)
		r = profile_read(text.p, text.n, scratch, &draft, err);
	else
		r = history_read(text.p, text.n, scratch, &history, err);
	*ret_is_read = r == 0;
	if (r)
		return r;
	if (kind == ITEM_SHAPE)
		return visitor->shape(visitor->context, &shape, err);
	if (kind != ITEM_PROFILE)
		return visitor->history(visitor->context, history, err);
	report_spec(self, &draft.profile);
	return give_profile(visitor, &draft.profile, err);
}

static int put_profile(void *context, const struct profile *profile, struct err *err)
{
	struct profile plain = *profile;
	int r;

	profile_drop_unread(&plain, time_now_ms());
	r = snapshot_builder_put_copy(context, &plain);
	return r ? err_set(err, r, "out of memory") : 0;
}

static int put_shape(void *context, const struct node_shape *shape, struct err *err)
{
	int r = snapshot_builder_put_shape(context, shape);

	return r ? err_set(err, r, "out of memory") : 0;
}

int store_read_profiles(struct store *self, struct snapshot_builder *builder, struct err *err)
{
	const struct store_visitor visitor = {.context = builder, .borrowed_profile = put_profile, .shape = put_shape};

	return store_visit(self, &visitor, err);
}

int store_visit(struct store *self, const struct store_visitor *visitor, struct err *err)
{
	return self->ops->visit(self, visitor, err);
}

int store_visit_named(struct store *self, const struct store_visitor *visitor, const struct store_name *names, size_t n,
		      struct err *err)
{
	return n ? self->ops->visit_named(self, visitor, names, n, err) : 0;
}

int store_commit(struct store *self, const struct store_change *change, struct err *err)
{
	int r = check_writer(self, err);

	return r ? r : self->ops->commit(self, change, err);
}

int store_remove(struct store *self, const struct store_name *names, size_t n, size_t *ret_n, struct err *err)
{
	size_t ignored;
	int r = check_writer(self, err);

	ret_n = ret_n ? ret_n : &ignored;
	*ret_n = 0;
	return r || !n ? r : self->ops->remove(self, names, n, ret_n, err);
}

int store_state_load(struct store *self, struct strbuf *ret_text, struct err *err)
{
	return self->ops->state_load(self, ret_text, err);
}

int store_state_save(struct store *self, const char *text, size_t n, struct err *err)
{
	int r = check_writer(self, err);

	return r ? r : self->ops->state_save(self, text, n, err);
}

/* From the lowest on. */
static const char *const caps[] = {"off", "observe", "fill", "raise"};

/* What is none caps nothing: it is above all. */
static size_t height_of(const char *cap)
{
	size_t at = 0;

	while (at < ARRAY_LEN(caps) && !streq(cap, caps[at]))
		at++;
	return at;
}

bool store_cap_change(const struct store_cap *self, struct store_cap_words *words)
{
	const char *now = words->cap;

	if (self->act == CAP_RELEASE) {
		/* Of an undo that a person has ended by hand nothing stays. */
		bool is_ours = streq(now, self->mode), is_left = *words->before_undo != '\0';

		*words = (struct store_cap_words){is_ours ? words->before_undo : now, ""};
		return is_ours || is_left;
	}
	*words = (struct store_cap_words){self->mode, self->act == CAP_UNDO ? now : ""};
	return height_of(now) > height_of(self->mode);
}

static int change_cap(struct store *self, const struct store_cap *want, struct err *err)
{
	int r = check_writer(self, err);

	if (r)
		return r;
	if (height_of(want->mode) == ARRAY_LEN(caps))
		return err_set(err, -EINVAL, "\"%.20s\" caps no mode: expected off, observe, fill or raise",
			       want->mode);
	return self->ops->change_mode_cap(self, want, err);
}

int store_undo_mode_cap(struct store *self, const char *namespace_name, const char *name, const char *cap,
			struct err *err)
{
	return change_cap(self, &(struct store_cap){namespace_name, name, cap, CAP_UNDO}, err);
}

int store_release_mode_cap(struct store *self, const char *namespace_name, const char *name, const char *cap,
			   struct err *err)
{
	return change_cap(self, &(struct store_cap){namespace_name, name, cap, CAP_RELEASE}, err);
}

int store_lower_mode_cap(struct store *self, const char *namespace_name, const char *cap, struct err *err)
{
	return change_cap(self, &(struct store_cap){namespace_name, PROFILE_OF_NAMESPACE, cap, CAP_LOWER}, err);
}

int store_status_load(struct store *self, struct strbuf *ret_text, struct err *err)
{
	return self->ops->status_load(self, ret_text, err);
}

int store_status_save(struct store *self, const char *text, size_t n, struct err *err)
{
	int r = check_writer(self, err);

	if (!r && n > LIMIT_STATUS_BYTES)
		r = err_set(err, -E2BIG, "the status of a cycle is larger than %zu KiB", LIMIT_STATUS_BYTES / KIB);
	return r ? r : self->ops->status_save(self, text, n, err);
}

const char *store_status_place(const struct store *self, char *buf, size_t size)
{
	return self->ops->status_place(self, buf, size);
}

int store_watch_fd(struct store *self, struct err *err)
{
	return self->ops->watch_fd ? self->ops->watch_fd(self, err)
				   : err_set_at(err, -ENOTSUP, self->place, 0, 0, "this is not watched as a file");
}

bool store_watch_changed(struct store *self)
{
	return self->ops->watch_changed && self->ops->watch_changed(self);
}
