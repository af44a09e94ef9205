/* SPDX-License-Identifier: Apache-2.0 */
/* engine_follow: what the engine does after a change is in the store: harm, notices, caps, state. */
#include "engine/engine_internal.h"

#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEPT_NOTICES = 1024 }; /* kept between cycles while commits fail */

struct learn engine_begin_learn(struct engine *self, int64_t now_ms)
{
	return (struct learn){.config = self->config,
			      .store = self->store,
			      .now_ms = now_ms,
			      .caps = &self->caps,
			      .names = &self->names};
}

void engine_note(struct engine_result *ret, enum engine_partial what, const char *why)
{
	ret->is_partial = true;
	ret->partial |= 1U << what;
	if (!ret->why[0])
		snprintf(ret->why, sizeof(ret->why), "%s", why);
}

/* The engine's caps are newer if they could not be saved. */
static void take_caps(struct engine *self, struct collector_state *state)
{
	if (self->has_new_caps) {
		caps_release(&state->caps);
		return;
	}
	vec_release(&self->caps.items);
	self->caps.items = state->caps.items; /* due namespaces are not in the state */
	state->caps = (struct namespace_caps){.items = VEC_INIT};
}

int engine_load_state(struct engine *self, struct collector_state *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	int r = store_state_load(self->store, &text, err);

	if (r < 0)
		return r;
	r = collector_state_decode(strbuf_text(&text), text.len, ret, err);
	if (r) {
		err_wrap(err, "collector state %s (remove it to read all history again)",
			 store_state_place(self->store));
		return r;
	}
	take_caps(self, ret);
	if (!ret->table.len && self->kept_table.len && self->kept_at_ms == ret->watermark_ms)
		r = strbuf_add(&ret->table, self->kept_table.text, self->kept_table.len);
	return r ? err_set(err, r, "no memory left") : 0;
}

static int save(struct engine *self, const struct collector_state *state, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);

	if (collector_state_encode(state, &text))
		return err_set(err, text.status, "the collector's state is larger than %zu MiB",
			       LIMIT_COLLECTOR_BYTES / MIB);
	return store_state_save(self->store, strbuf_text(&text), text.len, err);
}

/* Keeps the pods that the store has no room for, for the cycles until the next restart. */
static int keep_table(struct engine *self, const struct collector_state *state)
{
	strbuf_release(&self->kept_table);
	self->kept_table = (struct strbuf)STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	self->kept_at_ms = state->watermark_ms;
	return strbuf_add(&self->kept_table, strbuf_text(&state->table), state->table.len);
}

int engine_save_state(struct engine *self, struct collect *collect, struct err *err)
{
	const struct collector_state *state = &collect->state;
	struct collector_state whole = *state;
	int r;

	whole.caps = self->caps;
	r = save(self, &whole, err);
	if (r == -E2BIG) {
		whole.table = (struct strbuf)STRBUF_INIT(0);
		log_event(LOG_WARN,
			  "the collector's state has no room for all open runs; after a restart their days "
			  "are read again",
			  "error", err ? err->msg : "", NULL);
		r = keep_table(self, state);
		r = r ? err_set(err, r, "no memory left") : save(self, &whole, err);
	}
	if (r)
		return r;
	self->has_new_caps = collect->has_changed_state = false;
	return 0;
}

/* Reports all notices and empties the list. */
static void report(const struct engine *self, struct notices *notices)
{
	for (size_t i = 0; i < notices->n && self->notice; i++)
		self->notice(self->notice_context, &notices->items[i]);
	notices->n = 0;
}

int engine_check_caps(struct engine *self, struct learn *learn, struct engine_result *ret)
{
	struct err err = ERR_INIT;
	int r = caps_check(&self->caps, learn, &self->has_new_caps, &ret->capped, &err);

	report(self, &learn->notices);
	if (r)
		engine_note(ret, ENGINE_PARTIAL_CAP, err.msg);
	return r == -ENOMEM ? r : 0;
}

/* A later notice of the same subject replaces the earlier one among the first `n`. The subject stays new, as the
 * earlier notice was not reported. */
static int keep_notice(struct notices *kept, size_t n, const struct notice *notice)
{
	struct notice *same = notices_find(kept, n, notice);
	bool is_update = notice->is_update && (!same || same->is_update);

	if (!same)
		return vec_push(kept, *notice);
	*same = *notice;
	same->is_update = is_update;
	return 0;
}

/* A history is written before its profile. If the commit fails in between, the store has the harm and no later cycle
 * finds it as new. If the history was not written, the next cycle finds the same harm again. Therefore notices are
 * kept, and duplicates count once. */
static int keep_notices(struct engine *self, struct learn *learn)
{
	struct notices *kept = &self->notices;
	size_t n = MIN(kept->n, (size_t)KEPT_NOTICES);
	int r = 0;

	if (n < kept->n)
		memmove(kept->items, kept->items + kept->n - n, n * sizeof(*kept->items));
	kept->n = n;
	for (size_t i = 0; i < learn->notices.n && !r; i++)
		r = keep_notice(kept, n, &learn->notices.items[i]);
	learn->notices.n = 0;
	return r;
}

int engine_commit(struct engine *self, struct learn *learn, const struct shapes *shapes, struct engine_result *ret,
		  struct err *err)
{
	int r = learn_commit(learn, shapes ? shapes->items.items : NULL, shapes ? shapes->items.n : 0, err);

	if (keep_notices(self, learn))
		r = err_set(err, -ENOMEM, "no memory left");
	if (r)
		return r;
	ret->n_profiles_changed += learn->n_profiles_changed;
	for (size_t i = 0; i < self->notices.n; i++)
		if (self->notices.items[i].kind == NOTICE_HARM)
			ret->harms[self->notices.items[i].harm]++;
	report(self, &self->notices);
	return 0;
}
