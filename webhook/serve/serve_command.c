/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serve_command.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "serve/control.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define PROGRAM	    "memtamer-webhook serve"
#define OTHER_FILES 64 /* standard streams, store, watches, libraries */
/* The API server gives up at 2 s; news of an owner that is alive is some ms behind. */
#define HOLD_MS 300

static const struct cli_option options[] = {
	{"config", 0, CLI_STRING, "FILE", "the configuration (YAML); loaded again when it changes", NULL},
	{"write-ca", 0, CLI_STRING, "FILE", "write the CA that memtamer made (PEM), for clients to trust", NULL},
	{NULL, 0, CLI_FLAG, NULL, NULL, NULL},
};

static int complain(const struct err *err, int code)
{
	char text[sizeof(err->where) + sizeof(err->msg)];

	fprintf(stderr, PROGRAM ": %s\n", err_text(err, text, sizeof(text)));
	return code;
}

/* glibc would raise the threshold to the largest review seen and then keep such blocks. */
static void set_up_heap(void)
{
	mallopt(M_MMAP_THRESHOLD, (int)(256 * KIB));
	mallopt(M_TRIM_THRESHOLD, (int)(1 * MIB));
	mallopt(M_ARENA_MAX, 4);
}

/* Each connection is a file; many systems start programs with 1,024. */
static void raise_file_limit(int64_t connections)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)connections + OTHER_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = MIN(wanted, limit.rlim_max);
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < wanted)
		log_event(LOG_WARN, "fewer files may be open than webhook.connections needs", "limit",
			  log_i64(limit.rlim_cur), NULL);
}

static int start_server(struct serve *serve, const struct webhook_config *config, struct err *err)
{
	const struct http_server_config server = {
		.listen = config->listen,
		.threads = (unsigned int)config->threads,
		.connections = (unsigned int)config->connections,
		.idle_timeout_ms = config->idle_timeout_ms,
		.request_timeout_ms = config->request_timeout_ms,
		.bodies_total_bytes = LIMIT_REVIEWS_TOTAL_BYTES,
		/* well before the watchdog cuts the connection */
		.hold_timeout_ms = MIN(HOLD_MS, config->request_timeout_ms / 2),
		.routes = serve_routes,
		.context = serve,
		.observe = serve_observe,
	};

	return http_server_start(&server, &serve->server, err);
}

static int write_ca(const struct control *control, const char *path, struct err *err)
{
	const char *pem = certificates_own_ca(control->certificates);

	if (!path)
		return 0;
	if (!pem)
		return err_set(err, -EINVAL,
			       "--write-ca: the certificate comes from files or a Secret, so there is no own CA");
	return io_write_file_atomic(path, pem, strlen(pem), 0644, err);
}

static int serve_until_signal(struct control *control, const struct cli_args *args)
{
	struct err err = ERR_INIT;
	int r;

	if (!control_check_certificates(control))
		return EXIT_DEPENDENCY; /* said in the log */
	r = write_ca(control, cli_get(args, "write-ca"), &err);
	if (r)
		return complain(&err, r == -EINVAL ? EXIT_USAGE : EXIT_DEPENDENCY);
	if (control->store)
		control_check_store(control, true);
	metrics_set(control->serve->metrics, METRIC_START_TIME, (double)time_now_ms() / 1000);
	log_event(LOG_INFO, "serving", "port", log_i64(http_server_port(control->serve->server)), "mode",
		  mode_names[config_share_get(control->config)->policy.mode], NULL);
	control_run(control);
	control_drain(control);
	return EXIT_CLEAN;
}

static int serve_with(struct config *take_config, const struct cli_args *args)
{
	const char *path = cli_get(args, "config");
	struct err err = ERR_INIT;
	struct control control;
	struct serve serve;
	int code;

	if (control_block_signals(&err) || serve_init(&serve, &err)) {
		config_free(take_config);
		return complain(&err, EXIT_DEPENDENCY);
	}
	if (start_server(&serve, &take_config->webhook, &err)) {
		config_free(take_config);
		serve_release(&serve);
		return complain(&err, EXIT_DEPENDENCY);
	}
	if (control_init(&control, &serve, path, take_config, &err))
		code = complain(&err, EXIT_USAGE);
	else
		code = serve_until_signal(&control, args);
	http_server_free(serve.server);
	control_release(&control);
	serve_release(&serve);
	if (code == EXIT_CLEAN)
		log_event(LOG_INFO, "ended", NULL);
	return code;
}

static int run(const struct cli_args *args)
{
	const char *path = cli_get(args, "config");
	struct config *config = NULL;
	struct err err = ERR_INIT;
	int level;

	if (!path)
		return cli_usage_error(PROGRAM, "--config FILE is missing");
	if (config_load(path, &config, &err))
		return complain(&err, EXIT_USAGE);
	level = log_level_parse(config->log.level);
	log_configure(level < 0 ? LOG_INFO : (enum log_level)level,
		      streq(config->log.format, "json") ? LOG_JSON : LOG_LOGFMT);
	set_up_heap();
	raise_file_limit(config->webhook.connections);
	return serve_with(config, args);
}

const struct cli_command serve_command = {
	.name = "serve",
	.help = "serve admission reviews over HTTPS",
	.options = options,
	.run = run,
};
