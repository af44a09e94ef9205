/* SPDX-License-Identifier: Apache-2.0 */
#include "service/run_command.h"

#include "base/log.h"
#include "evidence/query.h"
#include "service/cycles.h"
#include "service/run_output.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define COMMAND "memtamer-recommender run"
/* How often a changed configuration is looked for while waiting. */
#define LOOK_MS (2 * TIME_SECOND_MS)
/* A new leader's first cycle waits so long for the list of nodes. */
#define NODES_MS (5 * TIME_SECOND_MS)

static int load_config(const char *path, struct config **ret, struct err *err)
{
	if (path)
		return config_load(path, ret, err);
	*ret = config_new_default();
	return *ret ? 0 : err_set(err, -ENOMEM, "no memory left");
}

static struct timespec mtime_of(const char *path)
{
	struct stat status;

	return path && stat(path, &status) == 0 ? status.st_mtim : (struct timespec){0};
}

static int run_once(struct session *self)
{
	struct engine_result result;
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int code = cycles_run(self, &result, &err);

	run_output_findings(self->reader, stderr);
	cycles_leave_record(self, &result, &err, code);
	if (code == EXIT_DEPENDENCY) {
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
		return code;
	}
	if (run_output_summary(self->access.store, &result, stdout, &err)) {
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
		return EXIT_DEPENDENCY;
	}
	if (code == EXIT_FINDINGS)
		fprintf(stderr, COMMAND ": partial data: %s\n", result.why);
	return code;
}

/* ---- for ever ---- */

static bool has_changed(struct session *self)
{
	struct timespec mtime = mtime_of(self->path);

	if (!self->path || (mtime.tv_sec == self->config_mtime.tv_sec && mtime.tv_nsec == self->config_mtime.tv_nsec))
		return false;
	self->config_mtime = mtime;
	return true;
}

/* A changed file becomes a new session; what cannot be read leaves the old one. After leadership was lost reader and
 * store begin anew. @return an exit code. */
static int refresh(struct session *self)
{
	struct config *config = self->config;
	struct err err = ERR_INIT;
	int code;

	if (has_changed(self)) {
		bool is_bad = config_load(self->path, &config, &err) != 0;

		metrics_count(self->metrics, METRIC_CONFIG_RELOADS, is_bad ? RELOAD_FAILED : RELOAD_OK, 0, 0);
		if (is_bad) {
			log_err(LOG_ERROR, "configuration is invalid, the old one stays", &err);
			config = self->config;
		} else {
			self->has_logged_missing = false;
			log_event(LOG_INFO, "configuration reloaded", "file", self->path, NULL);
		}
	}
	if (config == self->config && !atomic_load(&self->is_interrupted))
		return EXIT_CLEAN;
	code = session_reopen(self, config, &err);
	if (code)
		log_err(LOG_ERROR, "cannot go on", &err);
	return code;
}

/* Nodes and pods are listed since we lead, and a cycle without them would be a partial one. */
static void wait_for_nodes(struct session *self)
{
	int64_t end_ms = time_monotonic_ms() + NODES_MS;
	struct shapes seen = {.items = VEC_INIT};
	struct pods *pods = service_pods(self->service);

	while (service_has_nodes(self->service) && !session_is_stopping() && service_leads(self->service) &&
	       time_monotonic_ms() < end_ms &&
	       (service_nodes(self->service, &seen) > 0 || (pods && !pods_is_synced(pods))))
		service_wait(self->service, 50);
	vec_release(&seen.items);
	if (cycles_is_quick_due(self))
		cycles_quick(self); /* before the first whole one, which may read history for minutes */
}

/* Until the time has come, the configuration has changed, or whether we lead. */
static void wait_until(struct session *self, int64_t end_ms)
{
	bool led = service_leads(self->service);

	while (!session_is_stopping() && time_monotonic_ms() < end_ms && service_leads(self->service) == led &&
	       !atomic_load(&self->is_interrupted)) {
		struct timespec mtime = mtime_of(self->path);

		if (self->path &&
		    (mtime.tv_sec != self->config_mtime.tv_sec || mtime.tv_nsec != self->config_mtime.tv_nsec))
			return;
		if (cycles_is_quick_due(self))
			cycles_quick(self);
		if (led && self->resizes)
			resize_watch_ramps(self->resizes);
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
		wait_until(self, MAX(begun_ms + self->config->recommender.interval_ms,
				     time_monotonic_ms() + MIN(self->config->recommender.interval_ms, TIME_SECOND_MS)));
	}
	session_close(self); /* gives up the lease; a new leader goes on where this one stopped */
	log_event(LOG_INFO, "stopped", NULL);
	return EXIT_CLEAN;
}

static int run_run(const struct cli_args *args)
{
	bool is_once = cli_has(args, "once");
	struct session session = {
		.path = cli_get(args, "config"), .access = STORE_ACCESS_INIT, .between = cycles_between};
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int code;

	session.config_mtime = mtime_of(session.path);
	if (load_config(session.path, &session.config, &err)) {
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
		return EXIT_USAGE;
	}
	session_catch_signals();
	code = session_start(&session, is_once, &err);
	if (code)
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
	else
		code = is_once ? run_once(&session) : run_forever(&session);
	session_close(&session);
	metrics_free(session.metrics);
	return code;
}

static const struct cli_option run_options[] = {
	{"config", 0, CLI_STRING, "FILE", "configuration file", NULL},
	{"once", 0, CLI_FLAG, NULL, "one cycle, a summary, and the end", NULL},
	{.name = NULL},
};

const struct cli_command run_command = {
	.name = "run",
	.help = "learn from Prometheus what runs use and write profiles",
	.options = run_options,
	.run = run_run,
};
