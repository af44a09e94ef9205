/* SPDX-License-Identifier: Apache-2.0 */
/* engine_follow: what follows when runs have been learned from. */
#include "engine/engine_internal.h"

#include "base/limits.h"

#include <errno.h>
#include <stdio.h>

void engine_note(struct engine_result *ret, enum engine_partial what, const char *why)
{
	ret->is_partial = true;
	ret->partial |= 1U << what;
	if (!ret->why[0])
		snprintf(ret->why, sizeof(ret->why), "%s", why);
}

/* Ours are newer when they could not be saved. */
static void take_caps(struct engine *self, struct collector_state *state)
{
	if (self->has_new_caps) {
		caps_release(&state->caps);
		return;
	}
	vec_release(&self->caps.items);
	self->caps.items = state->caps.items; /* who is due is not in the state */
	state->caps = (struct namespace_caps){.items = VEC_INIT};
}

int engine_load_state(struct engine *self, struct collector_state *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	int r = store_state_load(self->store, &text, err);

	if (r < 0)
		return r;
	r = collector_state_decode(strbuf_text(&text), text.len, ret, err);
	if (r)
		err_wrap(err, "collector state %s (remove it to read all history again)",
			 store_state_place(self->store));
	else
		take_caps(self, ret);
	return r;
}

int engine_save_state(struct engine *self, const struct collector_state *state, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	struct collector_state whole = *state;
	int r;

	whole.caps = self->caps;
	if (collector_state_encode(&whole, &text))
		return err_set(err, text.status, "the state of open runs is larger than %zu MiB",
			       LIMIT_COLLECTOR_BYTES / MIB);
	r = store_state_save(self->store, strbuf_text(&text), text.len, err);
	self->has_new_caps &= r != 0;
	return r;
}

/* Between two whole cycles: only harm is worth reading the state for. */
static int check_caps_now(struct engine *self, struct learn *learn, size_t *ret_capped, struct err *err)
{
	struct collector_state state = COLLECTOR_STATE_INIT;
	int r;

	r = engine_load_state(self, &state, err);
	if (r) {
		collector_state_release(&state);
		return r;
	}
	r = caps_check(&self->caps, learn, &self->has_new_caps, ret_capped, err);
	if (self->has_new_caps) {
		int saved = engine_save_state(self, &state, r ? &(struct err)ERR_INIT : err);

		r = r ? r : saved;
	}
	collector_state_release(&state);
	return r;
}

static void tell(const struct engine *self, const struct notice *notices, size_t n)
{
	for (size_t i = 0; i < n && self->notice; i++)
		self->notice(self->notice_context, &notices[i]);
}

int engine_check_caps(struct engine *self, struct learn *learn, bool is_quick, struct engine_result *ret)
{
	struct err err = ERR_INIT;
	int r = is_quick ? check_caps_now(self, learn, &ret->n_capped, &err)
			 : caps_check(&self->caps, learn, &self->has_new_caps, &ret->n_capped, &err);

	tell(self, learn->notices.items, learn->notices.n);
	if (r)
		engine_note(ret, ENGINE_PARTIAL_CAP, err.msg);
	return r == -ENOMEM ? r : 0;
}

int engine_follow(struct engine *self, struct learn *learn, bool is_quick, struct engine_result *ret)
{
	/* Checking reads all histories: what could not be checked before waits for a whole cycle. */
	bool is_checked = !is_quick || self->untold_harms.n || learn->harmed.items.n;

	for (size_t i = 0; i < self->untold_harms.n; i++)
		ret->harms[self->untold_harms.items[i].harm]++;
	tell(self, self->untold.items, self->untold.n);
	self->untold_harms.n = self->untold.n = 0;
	return is_checked ? engine_check_caps(self, learn, is_quick, ret) : 0;
}
