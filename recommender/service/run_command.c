/* SPDX-License-Identifier: Apache-2.0 */
#include "service/run_command.h"

#include "base/log.h"
#include "evidence/query.h"
#include "program/log_buffer.h"
#include "service/cycles.h"
#include "service/run_output.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* How often the configuration file is checked while waiting. */
#define LOOK_MS	 (2 * TIME_SECOND_MS)
#define FLUSH_MS TIME_SECOND_MS

static struct timespec mtime_of(const char *path)
{
	struct stat status;

	return path && stat(path, &status) == 0 ? status.st_mtim : (struct timespec){0};
}

static int run_once(struct session *self, const struct cli_args *args)
{
	struct engine_result result;
	struct err err = ERR_INIT;
	int code = cycles_run(self, &result, &err);

	run_output_findings(self->reader, stderr);
	cycles_leave_record(self, &result, &err, code);
	if (code == EXIT_DEPENDENCY)
		return cli_fail(args, &err, result.reading == EVIDENCE_MIXED ? EXIT_USAGE : code);
	if (run_output_summary(self->access.store, &self->config->policy.sizing, &result, stdout, &err))
		return cli_fail(args, &err, EXIT_DEPENDENCY);
	if (code == EXIT_FINDINGS)
		fprintf(stderr, "%s: partial data: %s\n", args->command, result.why);
	return code;
}

/* ---- the loop ---- */

static bool has_changed(const struct session *self)
{
	struct timespec mtime = mtime_of(self->path);

	return mtime.tv_sec != self->config_mtime.tv_sec || mtime.tv_nsec != self->config_mtime.tv_nsec;
}

/* Reloads a changed configuration file; if it is invalid, the old configuration stays. Reopens reader and store after
 * leadership was lost. @return an exit code. */
static int refresh(struct session *self)
{
	struct config *config = self->config;
	struct err err = ERR_INIT;
	int code;

	if (has_changed(self)) {
		bool is_bad;

		self->config_mtime = mtime_of(self->path);
		is_bad = config_load(self->path, &config, &err) != 0;
		metrics_count(self->metrics, METRIC_CONFIG_RELOADS, is_bad ? RELOAD_FAILED : RELOAD_OK, 0, 0);
		if (is_bad) {
			log_err(LOG_ERROR, "configuration is invalid; the old one stays in use", &err);
			config = self->config;
		} else {
			self->has_logged_missing = false;
			self->n_unread = 0;
			log_event(LOG_INFO, "configuration reloaded", "file", self->path, NULL);
		}
	}
	if (config == self->config && !atomic_load(&self->is_interrupted))
		return EXIT_CLEAN;
	code = session_reopen(self, config, &err);
	if (code)
		log_err(LOG_ERROR, "cannot continue", &err);
	return code;
}

/* Waits until nodes, ignored namespaces and pods are listed, as a cycle without them would be partial. */
static void wait_for_nodes(struct session *self)
{
	int64_t end_ms = time_monotonic_ms() + SESSION_LIST_MS;
	struct shapes seen = {.items = VEC_INIT};
	struct replica *replica = service_replica(self->service);
	struct pods *pods = replica ? replica_pods(replica) : NULL;

	while (replica && !session_is_stopping() && replica_leads(replica) && time_monotonic_ms() < end_ms &&
	       (replica_shapes(replica, &seen) > 0 || replica_ignores(replica, "") == ENGINE_LEFT_OUT_UNKNOWN ||
		(pods && !pods_is_synced(pods))))
		service_wait(self->service, 50);
	vec_release(&seen.items);
	if (cycles_is_quick_due(self))
		cycles_quick(self); /* before the first complete cycle, which may read history for minutes */
}

/* Waits until `end_ms`, a changed configuration, or a change of leadership. */
static void wait_until(struct session *self, int64_t end_ms)
{
	bool led = service_leads(self->service);

	while (!session_is_stopping() && time_monotonic_ms() < end_ms && service_leads(self->service) == led &&
	       !atomic_load(&self->is_interrupted)) {
		if (has_changed(self))
			return;
		if (cycles_is_quick_due(self))
			cycles_quick(self);
		if (led && self->has_more_kills)
			cycles_report_kills(self);
		if (led && self->resizes)
			resize_watch_ramps(self->resizes);
		if (led && cycles_diagnose(self))
			continue;
		service_promise(self->service, LOOK_MS + SESSION_GRACE_MS);
		service_wait(
			self->service,
			MIN(MIN(end_ms, led ? quick_due_ms(&self->quick) : INT64_MAX) - time_monotonic_ms(), LOOK_MS));
	}
}

static int run_forever(struct session *self)
{
	bool led = false;

	while (!session_is_stopping()) {
		int64_t begun_ms = time_monotonic_ms();
		int code = refresh(self);

		if (code)
			return code;
		if (!service_leads(self->service)) {
			led = false;
			cycles_forget(self);
			wait_until(self, INT64_MAX);
			continue;
		}
		if (!led)
			wait_for_nodes(self);
		led = true;
		cycles_whole(self);
		wait_until(self, MAX(begun_ms + cycles_interval_ms(self),
				     time_monotonic_ms() + MIN(self->config->recommender.interval_ms, TIME_SECOND_MS)));
	}
	session_close(self); /* releases the Lease, so that a new leader can continue */
	log_event(LOG_INFO, "stopped", NULL);
	return EXIT_CLEAN;
}

static int run_session(struct session *self, bool is_once, const struct cli_args *args)
{
	struct err err = ERR_INIT;
	int code = session_start(self, is_once, &err);

	if (code)
		cli_complain(args, NULL, &err);
	else
		code = is_once ? run_once(self, args) : run_forever(self);
	session_close(self);
	metrics_free(self->metrics);
	return code;
}

static int run_run(const struct cli_args *args)
{
	bool is_once = cli_has(args, "once");
	struct session session = {
		.path = cli_get(args, "config"), .access = STORE_ACCESS_INIT, .between = cycles_between};
	struct err err = ERR_INIT;
	int code;

	session.config_mtime = mtime_of(session.path);
	if (config_load(session.path, &session.config, &err))
		return cli_fail(args, &err, EXIT_USAGE);
	session_catch_signals();
	/* the endpoint answers, and cycles run, though nobody reads stderr */
	if (!is_once && log_buffer_start(&session.log_buffer, &err)) {
		config_freep(&session.config);
		return cli_fail(args, &err, EXIT_DEPENDENCY);
	}
	code = run_session(&session, is_once, args);
	log_buffer_stop(session.log_buffer, FLUSH_MS);
	return code;
}

static const struct cli_option run_options[] = {
	{"config", 0, CLI_STRING, "FILE", "Configuration file", NULL},
	{"once", 0, CLI_FLAG, NULL, "Run one cycle, print a summary and exit", NULL},
	{.name = NULL},
};

const struct cli_command run_command = {
	.name = "run",
	.help = "Learn from Prometheus what runs use, and write profiles",
	.example = "--once --config memtamer.yaml",
	.options = run_options,
	.run = run_run,
};
