/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn.h"

/* Whether a run that started after the failure has completed. */
static bool is_overtaken(const struct history *history, int64_t failed_ms)
{
	for (size_t i = 0; history && i < history->runs.n; i++)
		if (history->runs.items[i].outcome == OUTCOME_COMPLETED && history->runs.items[i].start_ms > failed_ms)
			return true;
	return false;
}

/* A result that is older than that in the store is of an earlier attempt. One of the same time is the same result, as
 * after a restart, unless more could be read than before. */
static bool is_old(const struct diagnosed *now, const struct diagnosis *before)
{
	return before && now->diagnosis.time_ms <= before->time_ms &&
	       !(now->is_again && now->diagnosis.time_ms == before->time_ms);
}

static const struct diagnosis *add_failure(const struct learned *item, const struct diagnosis *before,
					   struct diagnosis *buf)
{
	const struct diagnosed *now = item->diagnosed;

	if (!now || is_old(now, before) || is_overtaken(item->history, now->diagnosis.time_ms))
		return before;
	*buf = now->diagnosis;
	diagnosis_follow(buf, before, now->has_setting);
	return buf;
}

/* Prometheus, which cycles read anyway, knows kills that the pod's status does not show. */
static const struct diagnosis *add_counted(const struct learned *item, const struct diagnosis *known,
					   struct diagnosis *buf)
{
	const struct run *run = item->lost ? &item->lost->run : NULL;

	if (!run || !diagnosis_kind_of(known, run))
		return known;
	*buf = *known;
	diagnosis_add_counted(buf, run);
	return buf;
}

const struct diagnosis *learn_diagnosis(const struct learned *item, struct diagnosis *buf)
{
	const struct diagnosis *known = add_failure(item, item->before ? item->before->diagnosis : NULL, buf);
	struct diagnosis_success success;

	known = add_counted(item, known, buf);
	if (!known || !item->completed)
		return known;
	success = (struct diagnosis_success){
		.run = item->completed->run.name,
		.start_ms = item->completed->run.start_ms,
		.end_ms = item->completed->run.start_ms + item->completed->run.duration_ms,
		.has_setting = item->completed->has_setting,
	};
	return diagnosis_after(known, &success, buf) ? buf : NULL;
}
