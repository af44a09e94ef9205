/* SPDX-License-Identifier: Apache-2.0 */
#include "report/status.h"

#include "base/timefmt.h"
#include "evidence/query.h"
#include "report/output.h"
#include "report/report_commands.h"

#include <errno.h>
#include <stdio.h>

#define WINDOW_MS    (14 * TIME_DAY_MS)
#define ASK_MS	     (15 * TIME_SECOND_MS)
#define STATUS_BYTES (16 * MIB)

/* Everything that a status borrows from. */
struct asking {
	struct knowledge knowledge;
	struct evidence_reader *reader;
	struct status status;
};

static void asking_release(struct asking *self)
{
	query_reader_freep(&self->reader);
	arena_release(&self->status.arena);
	knowledge_release(&self->knowledge);
}

/* ---- the store ---- */

static void read_cycle(struct asking *self)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_STATUS_BYTES);
	struct status *status = &self->status;
	struct store *store = self->knowledge.access.store;
	struct err err = ERR_INIT;
	char why[sizeof(err.where) + sizeof(err.msg)], place[300];
	int r = store_status_load(store, &text, &err);

	if (!r)
		r = cycle_status_decode(strbuf_text(&text), text.len, &status->arena, &status->cycle, &err);
	status->has_cycle = !r;
	store_status_place(store, place, sizeof(place));
	if (r > 0)
		snprintf(status->cycle_unknown, sizeof(status->cycle_unknown),
			 "there is no %s: no cycle has ended yet, or memtamer runs elsewhere", place);
	else if (r)
		snprintf(status->cycle_unknown, sizeof(status->cycle_unknown), "%s cannot be read: %s", place,
			 err_text(&err, why, sizeof(why)));
}

/* ---- Prometheus ---- */

static int ask(struct asking *self, struct err *err)
{
	const struct config *config = self->knowledge.config;
	const struct query_config query = {.prometheus = &config->prometheus,
					   .namespaces = config->recommender.namespaces,
					   .excluded_namespaces = config->policy.excluded_namespaces};
	int r = query_reader_new(&query, &self->reader, err);

	if (r)
		return r;
	query_reader_deadline(self->reader, time_monotonic_ms() + MIN(ASK_MS, config->prometheus.timeout_ms));
	return self->reader->detect(self->reader, self->status.from_ms, self->status.now_ms, err);
}

static void find_metrics(struct asking *self, bool has_config)
{
	struct status *status = &self->status;
	struct err err = ERR_INIT;
	char why[sizeof(err.where) + sizeof(err.msg)];

	if (has_config && !ask(self, &err)) {
		status->is_asked = true;
		status->findings = self->reader->findings;
		status->n_findings = self->reader->n_findings;
		return;
	}
	if (has_config)
		snprintf(status->metrics_unknown, sizeof(status->metrics_unknown), "%s%s",
			 err.code == EVIDENCE_MIXED ? "" : "Prometheus was not reached: ",
			 err_text(&err, why, sizeof(why)));
	else
		snprintf(status->metrics_unknown, sizeof(status->metrics_unknown),
			 "without --config the address of Prometheus is not known");
	status->findings = status->cycle.findings;
	status->n_findings = status->cycle.n_findings;
}

/* Whether the metric is present, or a run has the value at `offset` from another source. */
static bool is_seen(const struct asking *self, const char *metric, size_t offset)
{
	for (size_t i = 0; i < self->status.n_findings; i++)
		if (self->status.findings[i].is_present && streq(self->status.findings[i].metric, metric))
			return true;
	for (size_t i = 0; i < self->knowledge.items.n; i++) {
		const struct history *history = self->knowledge.items.items[i].history;

		for (size_t k = 0; history && k < history->runs.n; k++)
			if (*(const int64_t *)((const char *)&history->runs.items[k] + offset))
				return true;
	}
	return false;
}

/* ---- results ---- */

static int replay_all(struct asking *self, struct err *err)
{
	struct status *status = &self->status;
	const struct replay_scope scope = {.config = self->knowledge.config,
					   .knowledge = &self->knowledge,
					   .from_ms = status->from_ms,
					   .now_ms = status->now_ms,
					   .knows_limits = status->knows_limits,
					   .knows_requests = status->knows_requests};
	struct replay_world *world = NULL;
	int r = replay_open(&scope, &world, err);

	for (size_t i = 0; i < self->knowledge.items.n && !r; i++)
		r = replay_history(world, &self->knowledge.items.items[i], &status->replay, err);
	replay_free(world);
	return r;
}

static void count_workloads(struct asking *self)
{
	struct status *status = &self->status;

	for (size_t i = 0; i < self->knowledge.items.n; i++) {
		const struct known *known = &self->knowledge.items.items[i];
		struct ignored ignored = {.known = known};

		status->n_workloads += !!known->history;
		if (known_is_ignored(&self->knowledge, known, ignored.why)) {
			if (status->n_ignored < STATUS_IGNORED)
				status->ignored[status->n_ignored] = ignored;
			status->n_ignored++;
		}
	}
	status->n_bad = self->knowledge.n_bad;
	status->min_runs = self->knowledge.config->policy.sizing.min_runs;
}

static int compute(struct asking *self, struct err *err)
{
	struct status *status = &self->status;

	count_workloads(self);
	status->knows_limits = is_seen(self, "kube_pod_container_resource_limits", offsetof(struct run, limit_bytes));
	status->knows_requests = is_seen(self, "kube_pod_container_resource_requests",
					 offsetof(struct run, request_bytes));
	if (coverage_compute(&self->knowledge, status->from_ms, status->now_ms, &status->coverage))
		return err_set(err, -ENOMEM, "out of memory");
	status->has_containers = knowledge_has_containers(&self->knowledge);
	status->n_riskiest = riskiest_find(&self->knowledge, status->from_ms, status->now_ms, status->knows_limits,
					   status->riskiest);
	return replay_all(self, err);
}

static int show(const struct cli_args *args, const struct status *status)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(STATUS_BYTES);

	if (!output_is_object(args))
		return status_print(status, stdout);
	if (status_render_json(status, &text))
		return text.status;
	return output_print_object(args, &text);
}

static int status_run(const struct cli_args *args)
{
	CLEANUP(asking_release)
	struct asking self = {
		.knowledge = KNOWLEDGE_INIT,
		.status = {.now_ms = time_now_ms(), .arena = ARENA_INIT(MIB)},
	};
	struct err err = ERR_INIT;
	int code;

	self.status.from_ms = self.status.now_ms - WINDOW_MS;
	self.knowledge.reads_all = self.knowledge.keeps_store = true;
	self.knowledge.own_namespace = cli_get(args, "memtamer-namespace");
	if (!self.knowledge.own_namespace && !cli_get(args, "config"))
		self.knowledge.own_namespace = "memtamer";
	code = knowledge_load(args, NULL, &self.knowledge);
	if (code)
		return code;
	self.status.namespace_name = self.knowledge.namespace_name;
	read_cycle(&self);
	knowledge_read_shapes(&self.knowledge);
	store_access_release(&self.knowledge.access);
	find_metrics(&self, cli_get(args, "config"));
	if (!compute(&self, &err) && show(args, &self.status))
		err_set(&err, -ENOMEM, "out of memory");
	if (err.code)
		return cli_fail(args, &err, EXIT_DEPENDENCY);
	return status_is_partial(&self.status) ? EXIT_FINDINGS : EXIT_CLEAN;
}

static const struct cli_option status_options[] = {
	KNOWLEDGE_OPTIONS_ALL,
	OUTPUT_OPTION("table|json|yaml", "table"),
	{"memtamer-namespace", 0, CLI_STRING, "NAMESPACE",
	 "Namespace of memtamer (default: as --config says; without it, memtamer)", NULL},
	{.name = NULL},
};

const struct cli_command status_command = {
	.name = "status",
	.help = "Show memtamer's health, its coverage, and what it would have done",
	.example = "-n ml-team",
	.options = status_options,
	.run = status_run,
};
