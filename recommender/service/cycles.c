/* SPDX-License-Identifier: Apache-2.0 */
#include "service/cycles.h"

#include "base/log.h"
#include "evidence/query.h"
#include "service/run_output.h"

#include <math.h>

/* Events about kills in one pass, as quick cycles wait for it. */
#define KILLS_MAX 32

static void set_deadline(struct session *self)
{
	int64_t reads_ms = self->config->prometheus.deadline_ms, deadline_ms = time_monotonic_ms() + reads_ms;

	if (self->service)
		service_promise(self->service, reads_ms + SESSION_GRACE_MS);
	query_reader_deadline(self->reader, deadline_ms);
	if (self->resizes)
		resize_watch_deadline(self->resizes, deadline_ms);
}

int cycles_run(struct session *self, struct engine_result *result, struct err *err)
{
	int r;

	set_deadline(self);
	r = engine_cycle(&self->engine, time_now_ms(), result, err);
	run_output_progress_end();
	if (r)
		return EXIT_DEPENDENCY;
	return result->is_partial ? EXIT_FINDINGS : EXIT_CLEAN;
}

static void log_cycle(const struct engine_result *result, const struct err *err, int code)
{
	if (code == EXIT_DEPENDENCY)
		log_err(LOG_ERROR, "cycle failed, profiles are unchanged", err);
	else if (code == EXIT_FINDINGS)
		log_event(LOG_WARN, "cycle with partial data", "why", result->why, "runs", log_i64(result->n_runs),
			  "profiles_changed", log_i64(result->n_profiles_changed), NULL);
	else
		log_event(LOG_INFO, "cycle done", "runs", log_i64(result->n_runs), "workloads",
			  log_i64(result->n_workloads), "profiles_changed", log_i64(result->n_profiles_changed),
			  "queries", log_i64(result->n_queries), "duration_ms", log_i64(result->duration_ms), NULL);
}

static void count_harm(struct metrics *metrics, const struct engine_result *result)
{
	for (size_t i = 0; i < HARM_COUNT_; i++)
		metrics_add(metrics, METRIC_HARM, i, 0, 0, result->harms[i]);
	for (size_t i = 0; i < CAP_SETTER_COUNT_ && result->capped.is_counted; i++)
		metrics_put(metrics, METRIC_CAPPED, i, 0, 0, result->capped.n[i]);
}

static void count_reading(struct metrics *metrics, const struct engine_result *result)
{
	static const char *const conditions[] = {NULL, "too-heavy", "unreachable", "stopped", "mixed"};
	bool is_condition = result->reading > 0 && (size_t)result->reading < ARRAY_LEN(conditions);
	const char *condition = is_condition ? conditions[result->reading] : "other";

	metrics_set(metrics, METRIC_READING_GAPS, (double)gaps_passed(&result->gaps));
	metrics_add(metrics, METRIC_PROM_QUERIES, 0, 0, 0, result->n_queries);
	metrics_add(metrics, METRIC_PROM_SERIES, 0, 0, 0, result->n_series);
	metrics_add(metrics, METRIC_PROM_SAMPLES, 0, 0, 0, (uint64_t)MAX(result->n_samples, 0));
	if (result->reading)
		metrics_count(metrics, METRIC_PROM_ERRORS, service_metrics_label(METRIC_PROM_ERRORS, 0, condition), 0,
			      0);
	for (size_t i = 0; i < ENGINE_PARTIAL_COUNT_; i++)
		if (result->partial & 1U << i)
			metrics_count(metrics, METRIC_CYCLE_PARTIAL, i, 0, 0);
}

static void count_cycle(struct metrics *metrics, const struct engine_result *result, enum metric_cycle end)
{
	metrics_count(metrics, METRIC_CYCLES, end, 0, 0);
	metrics_observe_ns(metrics, METRIC_CYCLE_DURATION, result->duration_ms * 1000000);
	metrics_add(metrics, METRIC_PROFILES_WRITTEN, 0, 0, 0, result->n_profiles_changed);
	metrics_add(metrics, METRIC_OBJECTS_COLLECTED, 0, 0, 0, result->n_removed);
	count_harm(metrics, result);
	if (end == CYCLE_INTERRUPTED)
		return;
	count_reading(metrics, result);
	if (end == CYCLE_FAILED)
		return;
	metrics_set(metrics, METRIC_RUNS, (double)result->n_runs);
	metrics_set(metrics, METRIC_WORKLOADS, (double)result->n_workloads);
	if (end == CYCLE_DONE)
		metrics_set(metrics, METRIC_CYCLE_SUCCESS, (double)time_now_ms() / 1000);
}

void cycles_forget(struct session *self)
{
	metrics_set(self->metrics, METRIC_RUNS, NAN);
	metrics_set(self->metrics, METRIC_WORKLOADS, NAN);
	metrics_set(self->metrics, METRIC_READING_GAPS, NAN);
	metrics_remove(self->metrics, METRIC_CAPPED);
}

int64_t cycles_interval_ms(const struct session *self)
{
	int64_t interval_ms = self->config->recommender.interval_ms, max_ms = MAX(interval_ms, TIME_HOUR_MS);

	for (int i = 1; i < self->n_unread && interval_ms < max_ms; i++)
		interval_ms *= 2;
	return MIN(interval_ms, max_ms);
}

/* After how long without a record the recommender counts as stopped. In a cluster every cycle with a new result is
 * recorded, and all others every CYCLE_RECORD_MS. Some records may be missed, and a cycle may read until its deadline.
 * A file store is often read when the recommender does not run any more, so there is no such time. */
static int64_t silent_after_ms(const struct session *self)
{
	if (!self->service || !self->access.kube.client)
		return 0;
	return MAX(MAX(6 * self->config->recommender.interval_ms, 3 * CYCLE_RECORD_MS), 2 * cycles_interval_ms(self)) +
	       self->config->prometheus.deadline_ms;
}

void cycles_leave_record(struct session *self, const struct engine_result *result, const struct err *err, int code)
{
	static const char *const results[] = {
		[EXIT_CLEAN] = "done", [EXIT_FINDINGS] = "partial", [EXIT_DEPENDENCY] = "failed"};
	char said[sizeof(err->where) + sizeof(err->msg)];
	struct hung_list hung;
	const struct gaps passed = gaps_only_passed(&result->gaps);
	const struct cycle_status status = {
		.time_ms = time_now_ms(),
		.duration_ms = result->duration_ms,
		.silent_after_ms = silent_after_ms(self),
		.retry_after_ms = self->n_unread > 1 ? cycles_interval_ms(self) : 0,
		.version = MEMTAMER_VERSION,
		.mode = mode_names[self->config->policy.mode],
		.result = results[code],
		.why = code == EXIT_DEPENDENCY ? err_text(err, said, sizeof(said)) : result->why,
		.runs = (int64_t)result->n_runs,
		.workloads = (int64_t)result->n_workloads,
		.profiles_changed = (int64_t)result->n_profiles_changed,
		.days_done = (int64_t)result->days_done,
		.days_total = (int64_t)result->days_total,
		.webhook = replica_webhook(service_replica(self->service)),
		.watches_pods = self->engine.pods != NULL,
		.findings = self->reader->findings,
		.n_findings = self->reader->n_findings,
		.gaps = &passed,
		.hung = &hung,
		.warning = result->warning,
	};
	struct err why = ERR_INIT;

	replica_hung(service_replica(self->service), &hung);
	if (cycle_record_leave(&self->record, self->access.store, &status, time_monotonic_ms(), &why) < 0)
		log_err(LOG_WARN, "the result of the cycle could not be stored for `status`", &why);
}

/* Logged once for each configuration, as a missing metric does not appear by itself. */
static void log_missing(const struct evidence_reader *reader)
{
	for (size_t i = 0; i < reader->n_findings; i++)
		if (!reader->findings[i].is_present)
			log_event(LOG_INFO, "metric is missing", "metric", reader->findings[i].metric, "without_it",
				  reader->findings[i].without ? reader->findings[i].without : "nothing can be learned",
				  NULL);
}

void cycles_report_kills(struct session *self)
{
	struct replica *replica = service_replica(self->service);
	struct pods *pods = replica ? replica_pods(replica) : NULL;
	struct notice notice;
	int n = 0;

	self->has_more_kills = false;
	if (!pods)
		return;
	unraised_kills_begin(&self->kills, replica_worked_since_ms(replica));
	while (n < KILLS_MAX &&
	       unraised_kills_next(&self->kills, pods, self->access.store, &self->config->policy, &notice)) {
		replica_notify(replica, &notice);
		n++;
	}
	unraised_kills_end(&self->kills);
	self->has_more_kills = n == KILLS_MAX;
}

void cycles_whole(struct session *self)
{
	struct engine_result result = {.n_runs = 0};
	struct err err = ERR_INIT;
	int code = cycles_run(self, &result, &err);

	if (session_is_stopping())
		return;
	if (atomic_load(&self->is_interrupted) || !service_leads(self->service)) {
		atomic_store(&self->is_interrupted, true);
		log_event(LOG_WARN, "cycle ended before its next write: leadership was lost", NULL);
		count_cycle(self->metrics, &result, CYCLE_INTERRUPTED);
		return;
	}
	if (!self->has_logged_missing && code != EXIT_DEPENDENCY) {
		log_missing(self->reader);
		self->has_logged_missing = true;
	}
	self->n_unread = result.reading && !result.has_read ? MIN(self->n_unread + 1, INT16_MAX) : 0;
	log_cycle(&result, &err, code);
	cycles_leave_record(self, &result, &err, code);
	if (self->resizes)
		resize_watch_kills(self->resizes);
	cycles_report_kills(self);
	count_cycle(self->metrics, &result,
		    code == EXIT_CLEAN	    ? CYCLE_DONE
		    : code == EXIT_FINDINGS ? CYCLE_PARTIAL
					    : CYCLE_FAILED);
}

static bool may_go_on(const struct session *self)
{
	return !session_is_stopping() && !atomic_load(&self->is_interrupted) && service_leads(self->service);
}

/* ---- quick cycles ---- */

void cycles_quick(struct session *self)
{
	struct engine_result result = {.n_runs = 0};
	struct err err = ERR_INIT;
	enum metric_quick end;
	int r;

	service_promise(self->service, SESSION_GRACE_MS);
	quick_begin(&self->quick);
	r = engine_quick(&self->engine, time_now_ms(), &result, &err);
	quick_end(&self->quick, result.duration_ms, r < 0);
	if (r >= 0 && self->resizes)
		resize_watch_kills(self->resizes);
	cycles_report_kills(self); /* also after a failure: better with twice the limit than not at all */
	if (session_is_stopping() || r > 0)
		return;
	if (atomic_load(&self->is_interrupted) || !service_leads(self->service)) {
		atomic_store(&self->is_interrupted, true);
		end = QUICK_INTERRUPTED;
	} else if (r) {
		log_err(LOG_ERROR, "quick cycle failed, will retry", &err);
		end = QUICK_FAILED;
	} else {
		log_event(LOG_INFO, "quick cycle done", "runs", log_i64(result.n_runs), "profiles_changed",
			  log_i64(result.n_profiles_changed), "duration_ms", log_i64(result.duration_ms), NULL);
		end = QUICK_DONE;
	}
	metrics_count(self->metrics, METRIC_QUICK_CYCLES, end, 0, 0);
	count_harm(self->metrics, &result);
	metrics_observe_ns(self->metrics, METRIC_QUICK_DURATION, result.duration_ms * 1000000);
	metrics_add(self->metrics, METRIC_PROFILES_WRITTEN, 0, 0, 0, result.n_profiles_changed);
}

bool cycles_is_quick_due(struct session *self)
{
	return may_go_on(self) && quick_due_ms(&self->quick) <= time_monotonic_ms();
}

bool cycles_diagnose(struct session *self)
{
	struct engine_result result;
	struct err err = ERR_INIT;
	int r;

	if (!may_go_on(self))
		return false;
	service_promise(self->service, SESSION_GRACE_MS);
	self->diagnoser.written_seq = self->quick.told_seq;
	r = engine_diagnose(&self->engine, time_now_ms(), &result, &err);
	if (r < 0 && may_go_on(self))
		log_err(LOG_WARN, "why a run failed could not be stored, will retry", &err);
	count_harm(self->metrics, &result);
	metrics_add(self->metrics, METRIC_PROFILES_WRITTEN, 0, 0, 0, result.n_profiles_changed);
	return r == 0;
}

void cycles_between(void *context)
{
	struct session *self = context;

	if (cycles_is_quick_due(self))
		cycles_quick(self);
	if (self->resizes && may_go_on(self))
		resize_watch_ramps(self->resizes);
	(void)cycles_diagnose(self);
}
