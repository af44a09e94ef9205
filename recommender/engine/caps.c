/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/caps.h"

#include "base/timefmt.h"
#include "engine/caps_count.h"
#include "engine/learn.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 4096 };

static struct namespace_cap *find(struct namespace_caps *self, const char *namespace_name)
{
	for (size_t i = 0; i < self->items.n; i++)
		if (streq(self->items.items[i].namespace_name, namespace_name))
			return &self->items.items[i];
	return NULL;
}

/* ---- which caps stand ---- */

struct asked {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1];
	bool is_capped;
};

/* A quick cycle has read the profiles of its runs and no other one: of the namespaces that matter it asks. */
struct standing {
	const struct learn *learn;
	struct asked *asked; /* heap; NULL: all profiles are known */
	size_t n;
	struct strmap index; /* by namespace */
};

static void standing_release(struct standing *self)
{
	strmap_release(&self->index);
	free(self->asked);
}

static int on_standing(void *context, struct profile *take_profile, struct err *err)
{
	const struct standing *self = context;
	struct asked *asked = strmap_get(&self->index, take_profile->namespace_name);

	(void)err;
	if (asked)
		asked->is_capped = take_profile->spec->mode_cap[0] != '\0';
	profile_free(take_profile);
	return 0;
}

static int put_asked(struct standing *self, const char *namespace_name)
{
	struct asked *asked = &self->asked[self->n];

	if (strmap_has(&self->index, namespace_name))
		return 0;
	snprintf(asked->namespace_name, sizeof(asked->namespace_name), "%s", namespace_name);
	self->n++;
	return strmap_put(&self->index, asked->namespace_name, asked);
}

/* Those that are due, and those that we capped. */
static int put_all_asked(struct standing *self, const struct namespace_caps *caps)
{
	int r = 0;

	self->asked = calloc(caps->items.n + caps->due.items.n + 1, sizeof(*self->asked));
	if (!self->asked)
		return -ENOMEM;
	for (size_t i = 0; i < caps->due.items.n && !r; i++)
		r = put_asked(self, caps->due.items.items[i].name);
	for (size_t i = 0; i < caps->items.n && !r; i++)
		r = caps->items.items[i].is_set ? put_asked(self, caps->items.items[i].namespace_name) : 0;
	return r;
}

static int standing_read(struct standing *self, const struct namespace_caps *caps, struct err *err)
{
	const struct store_visitor visitor = {.context = self, .profile = on_standing};
	CLEANUP(freep) struct store_name *names = NULL;

	if (self->learn->has_read_all)
		return 0;
	if (put_all_asked(self, caps))
		return learn_no_memory(err);
	names = calloc(self->n + 1, sizeof(*names));
	if (!names)
		return learn_no_memory(err);
	for (size_t i = 0; i < self->n; i++)
		names[i] = (struct store_name){self->asked[i].namespace_name, PROFILE_OF_NAMESPACE};
	return store_visit_named(self->learn->store, &visitor, names, self->n, err);
}

static bool has_cap(const struct standing *self, const char *namespace_name)
{
	const struct profile *profile;
	const struct asked *asked;

	if (self->asked) {
		asked = strmap_get(&self->index, namespace_name);
		return asked && asked->is_capped;
	}
	profile = learn_profile_of(self->learn, namespace_name, PROFILE_OF_NAMESPACE);
	return profile && profile->spec->mode_cap[0];
}

static size_t count_caps(const struct learn *learn)
{
	size_t n = 0;

	for (size_t i = 0; i < learn->profiles.n; i++)
		n += streq(learn->profiles.items[i]->name, PROFILE_OF_NAMESPACE) &&
		     learn->profiles.items[i]->spec->mode_cap[0];
	return n;
}

/* A person took out what we had set: what was before that is over. */
static void note_lifted(struct namespace_caps *self, const struct standing *standing, bool *ret_changed)
{
	for (size_t i = 0; i < self->items.n; i++) {
		struct namespace_cap *cap = &self->items.items[i];

		if (!cap->is_set || has_cap(standing, cap->namespace_name))
			continue;
		cap->is_set = false;
		cap->since_ms = standing->learn->now_ms;
		*ret_changed = true;
	}
}

/* ---- capping ---- */

static int remember(struct namespace_caps *self, const char *namespace_name, int64_t now_ms)
{
	struct namespace_cap *known = find(self, namespace_name);
	struct namespace_cap cap = {.since_ms = now_ms, .is_set = true};

	snprintf(cap.namespace_name, sizeof(cap.namespace_name), "%s", namespace_name);
	if (known) {
		*known = cap;
		return 0;
	}
	if (self->items.n == REMEMBERED) {
		memmove(self->items.items, self->items.items + 1, (REMEMBERED - 1) * sizeof(cap));
		self->items.n--;
	}
	return vec_push(&self->items, cap);
}

/* @return 0; 1 somebody was faster, and that is theirs to tell; as store_lower_mode_cap. */
static int cap_namespace(struct namespace_caps *self, struct learn *learn, const struct caps_count *count,
			 struct err *err)
{
	struct notice notice;
	int r = store_lower_mode_cap(learn->store, count->namespace_name, "observe", err);

	if (r)
		return r;
	notice_of_cap(count->namespace_name, count->harmed + count->harmed_dropped, count->n + count->n_dropped,
		      &notice);
	if (remember(self, count->namespace_name, learn->now_ms) || vec_push(&learn->notices, notice))
		return learn_no_memory(err);
	return 0;
}

static bool is_too_much(const struct caps_count *count)
{
	int64_t harmed = count->harmed + count->harmed_dropped;

	return harmed >= CAPS_HARMED_RUNS && harmed * 1000 > (count->n + count->n_dropped) * CAPS_HARMED_PERMILLE;
}

static void keep_first(struct err *to, int *ret, const struct err *why, int r)
{
	if (*ret >= 0 && r < 0) {
		*to = *why;
		*ret = r;
	}
}

/* What fails in one namespace need not in another; it stays due. */
static int cap_all(struct namespace_caps *self, struct learn *learn, const struct caps_count *counts, size_t *ret_n,
		   struct err *err)
{
	size_t kept = 0;
	int first = 0;

	for (size_t i = 0; i < self->due.items.n; i++) {
		struct err why = ERR_INIT;
		int r = first == -ENOMEM || first == -ECANCELED ? first : 1;

		if (r == 1 && is_too_much(&counts[i])) {
			r = cap_namespace(self, learn, &counts[i], &why);
			*ret_n += r == 0;
		}
		if (r < 0)
			self->due.items.items[kept++] = self->due.items.items[i];
		keep_first(err, &first, &why, r);
	}
	self->due.items.n = kept;
	return first;
}

/* Where a cap stands there is nothing to be done. */
static void drop_capped(struct namespace_caps *self, const struct standing *standing)
{
	size_t kept = 0;

	for (size_t i = 0; i < self->due.items.n; i++)
		if (!has_cap(standing, self->due.items.items[i].name))
			self->due.items.items[kept++] = self->due.items.items[i];
	self->due.items.n = kept;
}

static int check_due(struct namespace_caps *self, struct learn *learn, size_t *ret_n, struct err *err)
{
	CLEANUP(freep) struct caps_count *counts = calloc(self->due.items.n + 1, sizeof(*counts));
	int r;

	if (!counts)
		return learn_no_memory(err);
	for (size_t i = 0; i < self->due.items.n; i++) {
		const struct namespace_cap *known = find(self, self->due.items.items[i].name);

		counts[i] = (struct caps_count){.namespace_name = self->due.items.items[i].name,
						.from_ms = learn->now_ms - TIME_DAY_MS,
						.since_ms = known ? known->since_ms : 0,
						.runs = STRMAP_INIT};
	}
	r = caps_count(learn->store, counts, self->due.items.n, err);
	return r ? r : cap_all(self, learn, counts, ret_n, err);
}

int due_put(struct due_namespaces *self, const char *name)
{
	struct due_namespace due;

	for (size_t i = 0; i < self->items.n; i++)
		if (streq(self->items.items[i].name, name))
			return 0;
	snprintf(due.name, sizeof(due.name), "%s", name);
	return vec_push(&self->items, due);
}

int caps_note_harm(struct namespace_caps *self, const struct learn *learn)
{
	int r = 0;

	for (size_t i = 0; i < learn->harms.n && !r; i++)
		r = due_put(&self->due, learn->harms.items[i].namespace_name);
	for (size_t i = 0; i < learn->harmed.items.n && !r; i++)
		r = due_put(&self->due, learn->harmed.items.items[i].name);
	return r;
}

void caps_release(struct namespace_caps *self)
{
	vec_release(&self->items);
	vec_release(&self->due.items);
}

int caps_check(struct namespace_caps *self, struct learn *learn, bool *ret_changed, size_t *ret_n, struct err *err)
{
	CLEANUP(standing_release) struct standing standing = {.learn = learn, .index = STRMAP_INIT};
	size_t n_new = 0;
	int r = standing_read(&standing, self, err);

	if (r)
		return r;
	note_lifted(self, &standing, ret_changed);
	drop_capped(self, &standing);
	r = self->due.items.n ? check_due(self, learn, &n_new, err) : 0;
	*ret_changed |= n_new > 0;
	if (learn->has_read_all)
		*ret_n = count_caps(learn) + n_new;
	return r;
}

/* ---- the state ---- */

int caps_encode(const struct namespace_caps *self, struct strbuf *buf)
{
	char text[TIME_TEXT_BYTES];

	strbuf_addc(buf, '[');
	for (size_t i = 0; i < self->items.n; i++) {
		const struct namespace_cap *cap = &self->items.items[i];

		strbuf_adds(buf, i ? ",{\"namespace\":" : "{\"namespace\":");
		strbuf_add_json_string(buf, cap->namespace_name);
		strbuf_addf(buf, ",\"since\":\"%s\",\"set\":%d}", time_render(cap->since_ms, text),
			    cap->is_set ? 1 : 0);
	}
	return strbuf_addc(buf, ']');
}

static int decode_cap(struct json_object *item, struct namespace_cap *ret, struct err *err)
{
	const char *name = "", *since = "";
	int64_t set = 0;
	int r = json_get_string(item, "state.caps", "namespace", &name, err);

	r = r < 0 ? r : json_get_string(item, "state.caps", "since", &since, err);
	r = r < 0 ? r : json_get_int64(item, "state.caps", "set", &set, err);
	if (r < 0)
		return r;
	if (!*name || strlen(name) > LIMIT_NAMESPACE_BYTES || time_parse(since, strlen(since), &ret->since_ms))
		return err_set(err, -EINVAL, "state.caps: no namespace, or no time");
	memcpy(ret->namespace_name, name, strlen(name) + 1);
	ret->is_set = set != 0;
	return 0;
}

int caps_decode(struct json_object *state, struct namespace_caps *ret, struct err *err)
{
	struct json_object *array;
	int r = json_get_array(state, "state", "caps", &array, err);

	for (size_t i = 0; !r && i < json_object_array_length(array) && i < REMEMBERED; i++) {
		struct namespace_cap cap = {.is_set = false};

		r = decode_cap(json_object_array_get_idx(array, i), &cap, err);
		if (!r && vec_push(&ret->items, cap))
			r = err_set(err, -ENOMEM, "no memory left");
	}
	return MIN(r, 0);
}
