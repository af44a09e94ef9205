/* SPDX-License-Identifier: Apache-2.0 */
#include "model/diagnosis.h"

#include "base/str.h"

void diagnosis_follow(struct diagnosis *self, const struct diagnosis *before, bool has_setting)
{
	bool is_about_setting = streq(self->kind, DIAGNOSIS_FRAGMENTATION) && *self->variable;
	/* Until a run with it has completed, the setting itself may be what ends the runs. */
	bool is_unproven = before && *before->variable && !*before->helped;

	if (!is_about_setting)
		str_copy(self->variable, sizeof(self->variable), before ? before->variable : NULL);
	if (has_setting && (is_about_setting || is_unproven))
		str_copy(self->helped, sizeof(self->helped), DIAGNOSIS_HELPED_NOT);
	else
		str_copy(self->helped, sizeof(self->helped), before && *self->variable ? before->helped : NULL);
}

/* Only what is known of the setting is left. */
static void forget_end(struct diagnosis *self)
{
	struct diagnosis left = DIAGNOSIS_INIT;

	str_copy(left.variable, sizeof(left.variable), self->variable);
	*self = left;
}

bool diagnosis_after(const struct diagnosis *self, const struct diagnosis_success *success, struct diagnosis *ret)
{
	bool is_later = success->start_ms > self->time_ms;

	*ret = *self;
	if (success->end_ms <= self->time_ms || (!is_later && !streq(success->run, self->run)))
		return true;
	/* The end of the run that is recorded here, which is known better now. */
	if (!is_later && streq(self->helped, DIAGNOSIS_HELPED))
		return true;
	if (!success->has_setting || !diagnosis_wants_setting(self))
		return false;
	if (!streq(self->kind, DIAGNOSIS_FRAGMENTATION))
		forget_end(ret);
	ret->time_ms = success->end_ms;
	str_copy(ret->run, sizeof(ret->run), success->run);
	str_copy(ret->helped, sizeof(ret->helped), DIAGNOSIS_HELPED);
	return true;
}

bool diagnosis_wants_setting(const struct diagnosis *self)
{
	return self && *self->variable && !streq(self->helped, DIAGNOSIS_HELPED_NOT);
}

const char *diagnosis_kind_of(const struct diagnosis *self, const char *run)
{
	return self && *self->kind && !streq(self->helped, DIAGNOSIS_HELPED) && streq(self->run, run) ? self->kind
												      : NULL;
}

void diagnosis_set_evidence(struct diagnosis *self, const char *line)
{
	size_t n = 0;

	for (; line[n] && n < LIMIT_DIAGNOSIS_EVIDENCE_BYTES; n++)
		self->evidence[n] = line[n] >= ' ' && line[n] <= '~' ? line[n] : '?';
	self->evidence[n] = '\0';
}
