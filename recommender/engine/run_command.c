/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run_command.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "engine/engine.h"
#include "engine/run_output.h"
#include "evidence/query.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define COMMAND "memtamer-recommender run"

/* Everything that a configuration stands behind. */
struct session {
	struct config *config;
	struct store *store;
	struct evidence_reader *reader;
	struct engine engine;
	struct timespec config_mtime;
	bool has_logged_missing;
};

/* For the signal handler: what to interrupt, and whether to stop. */
static struct evidence_reader *volatile interruptible;
static volatile sig_atomic_t is_stopping;

static void on_signal(int signal_number)
{
	struct evidence_reader *reader = interruptible;

	if (signal_number == SIGHUP)
		return;
	is_stopping = 1;
	if (reader)
		query_reader_interrupt(reader);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

static void session_close(struct session *self)
{
	interruptible = NULL;
	query_reader_freep(&self->reader);
	store_closep(&self->store);
	config_freep(&self->config);
}

static int load_config(const char *path, struct config **ret, struct err *err)
{
	if (path)
		return config_load(path, ret, err);
	*ret = config_new_default();
	return *ret ? 0 : err_set(err, -ENOMEM, "no memory left");
}

static void configure_log(const struct config *config)
{
	int level = log_level_parse(config->log.level);

	log_configure(level < 0 ? LOG_INFO : (enum log_level)level,
		      streq(config->log.format, "json") ? LOG_JSON : LOG_LOGFMT);
}

static struct timespec mtime_of(const char *path)
{
	struct stat status;

	return path && stat(path, &status) == 0 ? status.st_mtim : (struct timespec){0};
}

/* Takes the configuration. @return an exit code. */
static int session_open(struct session *self, struct config *take_config, struct err *err)
{
	struct query_config query = {.prometheus = &take_config->prometheus,
				     .namespaces = take_config->recommender.namespaces,
				     .excluded_namespaces = take_config->policy.excluded_namespaces};

	self->config = take_config;
	self->has_logged_missing = false;
	configure_log(take_config);
	if (take_config->store.kind != STORE_FILE) {
		err_set(err, -ENOTSUP, "store.kind: only \"file\" is supported");
		return EXIT_USAGE;
	}
	if (query_reader_new(&query, &self->reader, err))
		return EXIT_USAGE;
	if (store_open_file(take_config->store.path, true, &self->store, err))
		return EXIT_DEPENDENCY;
	interruptible = self->reader;
	self->engine = (struct engine){
		.config = take_config, .store = self->store, .reader = self->reader, .progress = run_output_progress};
	return EXIT_CLEAN;
}

/* @return an exit code. */
static int cycle(struct session *self, struct engine_result *result, struct err *err)
{
	int r;

	query_reader_deadline(self->reader, time_monotonic_ms() + self->config->prometheus.deadline_ms);
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

static int run_once(struct session *self)
{
	struct engine_result result;
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int code = cycle(self, &result, &err);

	run_output_findings(self->reader, stderr);
	if (code == EXIT_DEPENDENCY) {
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
		return code;
	}
	if (run_output_summary(self->store, &result, stdout, &err)) {
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
		return EXIT_DEPENDENCY;
	}
	if (code == EXIT_FINDINGS)
		fprintf(stderr, COMMAND ": partial data: %s\n", result.why);
	return code;
}

/* Until the next cycle is due. A signal ends the wait. */
static void wait_for_next(int64_t interval_ms)
{
	struct timespec timeout = {.tv_sec = interval_ms / 1000, .tv_nsec = interval_ms % 1000 * 1000000};
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	if (!is_stopping) {
		int signal_number = sigtimedwait(&signals, NULL, &timeout);

		if (signal_number == SIGTERM || signal_number == SIGINT)
			is_stopping = 1;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A changed file becomes a new session; what cannot be read leaves the old one. @return an exit code. */
static int reload(struct session *self, const char *path)
{
	struct timespec mtime = mtime_of(path);
	struct config *config = NULL;
	struct err err = ERR_INIT;

	if (!path || (mtime.tv_sec == self->config_mtime.tv_sec && mtime.tv_nsec == self->config_mtime.tv_nsec))
		return EXIT_CLEAN;
	self->config_mtime = mtime;
	if (config_load(path, &config, &err)) {
		log_err(LOG_ERROR, "configuration is invalid, the old one stays", &err);
		return EXIT_CLEAN;
	}
	session_close(self);
	log_event(LOG_INFO, "configuration reloaded", "file", path, NULL);
	if (session_open(self, config, &err) == EXIT_CLEAN)
		return EXIT_CLEAN;
	log_err(LOG_ERROR, "cannot go on with the new configuration", &err);
	return EXIT_DEPENDENCY;
}

/* Once for each configuration: what is not scraped does not come back every five minutes. */
static void log_missing(const struct evidence_reader *reader)
{
	for (size_t i = 0; i < reader->n_findings; i++)
		if (!reader->findings[i].is_present)
			log_event(LOG_INFO, "metric is missing", "metric", reader->findings[i].metric, "without_it",
				  reader->findings[i].without ? reader->findings[i].without : "nothing can be learned",
				  NULL);
}

static int run_forever(struct session *self, const char *path)
{
	while (!is_stopping) {
		struct engine_result result;
		struct err err = ERR_INIT;
		int code;

		code = reload(self, path);
		if (code)
			return code;
		code = cycle(self, &result, &err);
		if (is_stopping)
			break;
		if (!self->has_logged_missing && code != EXIT_DEPENDENCY) {
			log_missing(self->reader);
			self->has_logged_missing = true;
		}
		log_cycle(&result, &err, code);
		wait_for_next(self->config->recommender.interval_ms);
	}
	log_event(LOG_INFO, "stopped", NULL);
	return EXIT_CLEAN;
}

static int run_run(const struct cli_args *args)
{
	const char *path = cli_get(args, "config");
	struct session session = {.config_mtime = mtime_of(path)};
	struct config *config = NULL;
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int code;

	if (load_config(path, &config, &err)) {
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
		return EXIT_USAGE;
	}
	catch_signals();
	code = session_open(&session, config, &err);
	if (code)
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
	else
		code = cli_has(args, "once") ? run_once(&session) : run_forever(&session, path);
	session_close(&session);
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
