/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/decide.h"

#include "policy/decide_internal.h"

#include <errno.h>

static int decide_all(struct deciding *self)
{
	int r = decide_gather(self);

	if (r || self->ret->skip)
		return r;
	decide_mode(self);
	if (self->ret->mode == MODE_OFF) {
		self->ret->skip = "mode-off";
		return 0;
	}
	self->ret->awaits_owner = decide_awaits_owner(self);
	r = size_fit(self);
	return r ? r : decide_checks(self);
}

int decide(const struct decide_input *input, struct arena *arena, struct decision *ret, struct err *err)
{
	struct decision decision = {.mode = MODE_OFF, .mode_why = "", .ask = {.resource = ""}};
	struct deciding self = {.input = input, .policy = input->policy, .arena = arena, .ret = &decision};
	int r = decide_all(&self);

	/* Sentences are made of parts: one that could not be had would read "(null)". */
	if (!r && arena->has_failed)
		r = -ENOMEM;
	if (r)
		return err_set(err, r, "no memory left to decide about a pod");
	*ret = decision;
	return 0;
}
