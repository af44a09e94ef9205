/* SPDX-License-Identifier: Apache-2.0 */
#include "model/diagnosis.h"

#include "base/str.h"
#include "k8s/quantity.h"
#include "model/run.h"

#include <stdio.h>

_Static_assert(DIAGNOSIS_RUN_BYTES == RUN_NAME_BYTES, "a diagnosis names a run");

#define COUNTER	    "container_oom_events_total"
#define MARGIN_PART 10 /* of the limit must be free for a fix to count: a tenth */

const char *const diagnosis_since_names[] = {"", "completed", "held"};

static bool is_about_memory(const struct diagnosis *self)
{
	return *self->kind && !streq(self->kind, "not-oom") && !streq(self->kind, "unknown");
}

static bool has_helped(const struct diagnosis *self)
{
	return streq(self->helped, DIAGNOSIS_HELPED);
}

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

static void set_counted(struct diagnosis *self, const char *confidence, const struct run *run)
{
	char peak[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES];

	str_copy(self->kind, sizeof(self->kind), "container-limit");
	str_copy(self->cause, sizeof(self->cause), "child-killed");
	str_copy(self->confidence, sizeof(self->confidence), confidence);
	snprintf(self->evidence, sizeof(self->evidence), COUNTER " rose; used at most %s of the limit of %s",
		 quantity_render_human(run->peak_bytes, peak), quantity_render_human(run->limit_bytes, limit));
	self->peak_bytes = run->peak_bytes;
	self->limit_bytes = run->limit_bytes;
}

void diagnosis_add_counted(struct diagnosis *self, const struct run *run)
{
	if (strstarts(self->evidence, COUNTER) || run->limit_bytes <= 0)
		return;
	if (streq(self->kind, "container-limit") && streq(self->cause, "child-killed"))
		set_counted(self, streq(self->confidence, "low") ? "medium" : "high", run);
	else if (streq(self->kind, "unknown"))
		set_counted(self, "low", run);
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
	if (!is_later && has_helped(self))
		return true;
	if (!success->has_setting || !diagnosis_wants_setting(self)) {
		ret->variable[0] = ret->helped[0] = '\0';
		return is_later && !has_helped(self) && is_about_memory(self);
	}
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

const char *diagnosis_kind_of(const struct diagnosis *self, const struct run *run)
{
	bool is_of_it = self && !has_helped(self) && streq(self->run, run->name) && run->start_ms <= self->time_ms;

	return is_of_it && *self->kind ? self->kind : NULL;
}

/* ---- what later runs say ---- */

/* An attempt of a run that completed may have been killed. */
static bool is_killed(const struct run *run)
{
	return run->n_killed_limits || run->outcome == OUTCOME_OOM_KILLED || run->outcome == OUTCOME_SUSPECTED_OOM ||
	       run->outcome == OUTCOME_EVICTED_MEMORY;
}

static bool has_margin(const struct run *run)
{
	int64_t need = run_need_bytes(run);

	return run->is_whole && need > 0 && need <= run->limit_bytes - run->limit_bytes / MARGIN_PART;
}

static enum diagnosis_since judge(const struct diagnosis *self, const struct run *run)
{
	bool is_of_limit = streq(self->kind, "container-limit") || streq(self->kind, "pod-limit");

	if (run->outcome != OUTCOME_COMPLETED)
		return SINCE_NOTHING;
	return is_of_limit && has_margin(run) ? SINCE_HELD : SINCE_COMPLETED;
}

enum diagnosis_since diagnosis_since(const struct diagnosis *self, const struct run *runs, size_t n,
				     const struct run **ret)
{
	enum diagnosis_since found = SINCE_NOTHING;

	*ret = NULL;
	if (!self || !is_about_memory(self) || has_helped(self))
		return found;
	for (size_t i = 0; i < n; i++) {
		enum diagnosis_since one = judge(self, &runs[i]);

		if (runs[i].start_ms <= self->time_ms || (one <= found && !is_killed(&runs[i])))
			continue;
		found = is_killed(&runs[i]) ? SINCE_NOTHING : one;
		*ret = found ? &runs[i] : NULL;
	}
	return found;
}

void diagnosis_set_evidence(struct diagnosis *self, const char *line)
{
	size_t n = 0;

	for (; line[n] && n < LIMIT_DIAGNOSIS_EVIDENCE_BYTES; n++)
		self->evidence[n] = line[n] >= ' ' && line[n] <= '~' ? line[n] : '?';
	self->evidence[n] = '\0';
}
