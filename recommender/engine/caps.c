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

static const char harm_cap[] = "observe";

const char *const cap_setter_names[CAP_SETTER_COUNT_] = {[CAP_BY_PERSON] = "person", [CAP_BY_HARM] = "harm"};

static struct namespace_cap *find(const struct namespace_caps *self, const char *namespace_name)
{
	for (size_t i = 0; i < self->items.n; i++)
		if (streq(self->items.items[i].namespace_name, namespace_name))
			return &self->items.items[i];
	return NULL;
}

enum cap_setter caps_setter(const struct namespace_caps *self, const struct profile *profile)
{
	const struct namespace_cap *cap = find(self, profile->namespace_name);

	return cap && cap->is_set && streq(profile->spec->mode_cap, harm_cap) ? CAP_BY_HARM : CAP_BY_PERSON;
}

int caps_note_harm(struct namespace_caps *self, const char *namespace_name)
{
	struct due_namespace due;

	for (size_t i = 0; i < self->due.n; i++)
		if (streq(self->due.items[i].name, namespace_name))
			return 0;
	snprintf(due.name, sizeof(due.name), "%s", namespace_name);
	return vec_push(&self->due, due);
}

/* ---- which namespaces have a cap ---- */

static bool has_cap(const struct learn *learn, const char *namespace_name)
{
	const struct profile *profile = learn_profile_of(learn, namespace_name, PROFILE_OF_NAMESPACE);

	return profile && profile->spec->mode_cap[0];
}

/* Counts caps by who set them. `n_new`: caps that we set after the profiles were read. */
static void count_caps(const struct namespace_caps *self, const struct learn *learn, size_t n_new, struct capped *ret)
{
	*ret = (struct capped){.n = {[CAP_BY_HARM] = n_new}, .is_counted = true};
	for (size_t i = 0; i < learn->profiles.n; i++) {
		const struct profile *profile = learn->profiles.items[i];

		if (streq(profile->name, PROFILE_OF_NAMESPACE) && profile->spec->mode_cap[0])
			ret->n[caps_setter(self, profile)]++;
	}
}

/* If a person removed a cap that we set, runs that began before now do not count any more. */
static void note_lifted(struct namespace_caps *self, const struct learn *learn, bool *ret_changed)
{
	for (size_t i = 0; i < self->items.n; i++) {
		struct namespace_cap *cap = &self->items.items[i];

		if (!cap->is_set || has_cap(learn, cap->namespace_name))
			continue;
		cap->is_set = false;
		cap->since_ms = learn->now_ms;
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
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there are REMEMBERED items */
		memmove(self->items.items, self->items.items + 1, (REMEMBERED - 1) * sizeof(cap));
		self->items.n--;
	}
	return vec_push(&self->items, cap);
}

/* Counts the cap in `ret_n`, unless another recommender set it, which then reports it. */
static int cap_namespace(struct namespace_caps *self, struct learn *learn, const struct caps_count *count,
			 size_t *ret_n, struct err *err)
{
	struct notice notice;
	int r = store_lower_mode_cap(learn->store, count->namespace_name, harm_cap, err);

	if (r)
		return MIN(r, 0);
	++*ret_n;
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

/* A failure in one namespace does not stop the others; that namespace stays due. */
static int cap_all(struct namespace_caps *self, struct learn *learn, const struct caps_count *counts, size_t *ret_n,
		   struct err *err)
{
	size_t kept = 0;
	int first = 0;

	for (size_t i = 0; i < self->due.n; i++) {
		int r = first == -ENOMEM || first == -ECANCELED ? first : 0;

		if (!r && is_too_much(&counts[i]))
			r = cap_namespace(self, learn, &counts[i], ret_n, first ? NULL : err);
		if (r)
			self->due.items[kept++] = self->due.items[i];
		first = first ? first : r;
	}
	self->due.n = kept;
	return first;
}

/* A namespace that has a cap needs no check. */
static void drop_capped(struct namespace_caps *self, const struct learn *learn)
{
	size_t kept = 0;

	for (size_t i = 0; i < self->due.n; i++)
		if (!has_cap(learn, self->due.items[i].name))
			self->due.items[kept++] = self->due.items[i];
	self->due.n = kept;
}

static int check_due(struct namespace_caps *self, struct learn *learn, size_t *ret_n, struct err *err)
{
	CLEANUP(freep) struct caps_count *counts = calloc(self->due.n + 1, sizeof(*counts));
	int r;

	if (!counts)
		return learn_no_memory(err);
	for (size_t i = 0; i < self->due.n; i++) {
		const struct namespace_cap *known = find(self, self->due.items[i].name);

		counts[i] = (struct caps_count){.namespace_name = self->due.items[i].name,
						.from_ms = learn->now_ms - TIME_DAY_MS,
						.since_ms = known ? known->since_ms : 0,
						.runs = STRMAP_INIT};
	}
	r = caps_count(learn->store, counts, self->due.n, err);
	return r ? r : cap_all(self, learn, counts, ret_n, err);
}

void caps_release(struct namespace_caps *self)
{
	vec_release(&self->items);
	vec_release(&self->due);
}

int caps_check(struct namespace_caps *self, struct learn *learn, bool *ret_changed, struct capped *ret_capped,
	       struct err *err)
{
	size_t n_new = 0;
	int r;

	note_lifted(self, learn, ret_changed);
	drop_capped(self, learn);
	r = self->due.n ? check_due(self, learn, &n_new, err) : 0;
	*ret_changed |= n_new > 0;
	count_caps(self, learn, n_new, ret_capped);
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
