/* SPDX-License-Identifier: Apache-2.0 */
#include "service/resize_watch.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "config/config.h"
#include "evidence/query.h"
#include "evidence/query_usage.h"
#include "model/identity.h"
#include "resize/resize_scan.h"
#include "service/replica.h"
#include "service/reported.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The scrape interval of most installations, if none is configured. */
#define STEP_MS	     (30 * TIME_SECOND_MS)
#define LOOK_STEPS   4
#define LOOK_MAX_MS  (30 * TIME_SECOND_MS)
#define LOOK_MIN_MS  (2 * TIME_SECOND_MS)
#define WINDOW_STEPS 8
/* cAdvisor samples a container every 10 to 15 s, however often it is scraped. */
#define WINDOW_MIN_MS (1 * TIME_MINUTE_MS)
#define QUERY_MS      (10 * TIME_SECOND_MS)

struct resize_watch {
	struct replica *replica;
	struct evidence_reader *reader;
	struct store *store;
	struct resize_scan *scan;
	int64_t deadline_ms; /* deadline of the current cycle, for the reader */
	char said[160];
};

/* ---- what the scan reads ---- */

static void visit_pods(void *context, pods_visit_fn *visit, void *visit_context)
{
	struct resize_watch *self = context;
	struct pods *pods = replica_pods(self->replica);

	if (pods)
		pods_visit(pods, visit, visit_context);
}

static int usage(void *context, int64_t now_ms, int64_t window_ms, const char *const *namespaces, size_t n_namespaces,
		 struct usage *ret, struct err *err)
{
	struct resize_watch *self = context;

	query_reader_deadline(self->reader, time_monotonic_ms() + QUERY_MS);
	return query_usage(self->reader, now_ms, window_ms, namespaces, n_namespaces, ret, err);
}

static int pod_usage(void *context, int64_t now_ms, struct usage *ret, struct err *err)
{
	struct resize_watch *self = context;

	query_reader_deadline(self->reader, time_monotonic_ms() + QUERY_MS);
	return query_pod_usage(self->reader, now_ms, ret, err);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int take_history(void *context, struct history *take_history, struct err *err)
{
	int64_t durations[LIMIT_HISTORY_RUNS];
	struct resize_usual *ret = context;
	size_t n = 0;

	(void)err;
	for (size_t i = 0; i < take_history->runs.n && n < ARRAY_LEN(durations); i++)
		if (take_history->runs.items[i].outcome == OUTCOME_COMPLETED &&
		    take_history->runs.items[i].duration_ms > 0)
			durations[n++] = take_history->runs.items[i].duration_ms;
	if (!ret->peak_bytes)
		ret->peak_bytes = take_history->aggregate.peak.bytes;
	history_free(take_history);
	if (!n || ret->duration_ms)
		return 0;
	qsort(durations, n, sizeof(*durations), compare);
	ret->duration_ms = durations[n / 2];
	return 0;
}

/* Reads the history of the first key that has one. Histories under another name (aliases) are not found; then the end
 * of the run counts as unknown. */
static void usual(void *context, const struct resize_workload *workload, struct resize_usual *ret)
{
	struct resize_watch *self = context;
	const struct identity *identity = workload->identity;
	struct err err = ERR_INIT;

	for (size_t i = 0; i < identity->n_keys && !ret->duration_ms; i++) {
		char id[IDENTITY_ID_BYTES];
		const struct store_name name = {workload->namespace_name, id};
		const struct store_visitor visitor = {.context = ret, .history = take_history};

		identity_id(workload->namespace_name, identity->keys[i].text, identity->role, workload->container, id);
		if (store_visit_named(self->store, &visitor, &name, 1, &err))
			break;
	}
}

static int post(void *context, const struct resize_ask *ask)
{
	struct resize_watch *self = context;

	return replica_resize(self->replica, ask);
}

static void set_used(void *context, struct resize_used *take_used)
{
	struct resize_watch *self = context;

	replica_set_used(self->replica, take_used);
}

/* ---- start and stop ---- */

int resize_watch_new(const struct config *config, struct replica *replica, struct evidence_reader *reader,
		     struct store *store, struct resize_watch **ret, struct err *err)
{
	int64_t step_ms = config->prometheus.step_ms ? config->prometheus.step_ms : STEP_MS;
	struct resize_watch *self = calloc(1, sizeof(*self));
	const struct resize_scan_config scan = {
		.mode = config->policy.resize,
		.look_ms = MAX(MIN(LOOK_STEPS * step_ms, LOOK_MAX_MS), LOOK_MIN_MS),
		.window_ms = MAX(WINDOW_STEPS * step_ms, WINDOW_MIN_MS),
		.visit = visit_pods,
		.usage = usage,
		.pod_usage = pod_usage,
		.usual = usual,
		.post = post,
		.set_used = set_used,
		.context = self,
	};
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->replica = replica;
	self->reader = reader;
	self->store = store;
	r = resize_scan_new(&scan, &self->scan, err);
	if (r) {
		free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void resize_watch_free(struct resize_watch *self)
{
	if (self)
		resize_scan_free(self->scan);
	free(self);
}

void resize_watch_kills(struct resize_watch *self)
{
	struct err err = ERR_INIT;

	if (resize_scan_kills(self->scan, &err))
		log_err(LOG_WARN, "OOM-killed containers are not resized", &err);
}

void resize_watch_deadline(struct resize_watch *self, int64_t deadline_ms)
{
	self->deadline_ms = deadline_ms;
}

void resize_watch_ramps(struct resize_watch *self)
{
	struct err err = ERR_INIT;
	int64_t now_ms = time_monotonic_ms();
	int r;

	if (now_ms < resize_watch_next_ms(self))
		return;
	r = resize_scan_ramps(self->scan, now_ms, time_now_ms(), &err);
	if (!r)
		self->said[0] = '\0';
	else if (reported_is_new(self->said, &err))
		log_err(LOG_WARN, "containers near their memory limit are not resized before they are OOM-killed",
			&err);
	query_reader_deadline(self->reader, self->deadline_ms);
}

int64_t resize_watch_next_ms(const struct resize_watch *self)
{
	return resize_scan_next_ms(self->scan);
}
