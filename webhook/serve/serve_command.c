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

#define OTHER_FILES 64 /* standard streams, store, watches, libraries */
#define FLUSH_MS    (1 * TIME_SECOND_MS)

static const struct cli_option options[] = {
	{"config", 0, CLI_STRING, "FILE", "Configuration file (YAML), reloaded when it changes", NULL},
	{"write-ca", 0, CLI_STRING, "FILE",
	 "Write the CA certificate that memtamer made to FILE (PEM), for clients to trust", NULL},
	{NULL, 0, CLI_FLAG, NULL, NULL, NULL},
};

/* Without these settings glibc raises the threshold to the largest review, and keeps blocks of that size. */
static void set_up_heap(void)
{
	mallopt(M_MMAP_THRESHOLD, (int)(256 * KIB));
	mallopt(M_TRIM_THRESHOLD, (int)(1 * MIB));
	mallopt(M_ARENA_MAX, 4);
}

/* The number of connections: as configured, or as the limit of open files allows, which is 1,024 on many systems. */
static unsigned int allowed_connections(int64_t wanted)
{
	struct rlimit limit;
	rlim_t files = HTTP_SOCKETS * (rlim_t)wanted + OTHER_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return (unsigned int)wanted;
	if (limit.rlim_cur < files) {
		limit.rlim_cur = MIN(files, limit.rlim_max);
		if (setrlimit(RLIMIT_NOFILE, &limit) && getrlimit(RLIMIT_NOFILE, &limit))
			return (unsigned int)wanted;
	}
	if (limit.rlim_cur >= files)
		return (unsigned int)wanted;
	files = MAX(limit.rlim_cur, 2 * OTHER_FILES);
	log_event(LOG_WARN, "fewer files may be open than webhook.connections needs", "limit", log_i64(limit.rlim_cur),
		  "connections", log_i64((files - OTHER_FILES) / HTTP_SOCKETS), NULL);
	return (unsigned int)(files - OTHER_FILES) / HTTP_SOCKETS;
}

static int start_server(struct serve *serve, const struct webhook_config *config, struct err *err)
{
	const struct http_server_config server = {
		.listen = config->listen,
		.threads = (unsigned int)config->threads,
		.connections = allowed_connections(config->connections),
		.idle_timeout_ms = config->idle_timeout_ms,
		.request_timeout_ms = config->request_timeout_ms,
		.buffers_total_bytes = LIMIT_REVIEWS_TOTAL_BYTES,
		.routes = serve_routes,
		.context = serve,
		.observe = serve_observe,
	};

	return http_server_start(&server, &serve->server, err);
}

static int write_ca(const struct control *control, const char *path, struct err *err)
{
	const char *pem = certificates_own_ca(control->state.certificates);

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

	if (!control_state_check_certificates(&control->state))
		return EXIT_DEPENDENCY; /* the log says why */
	r = write_ca(control, cli_get(args, "write-ca"), &err);
	if (r)
		return cli_fail(args, &err, r == -EINVAL ? EXIT_USAGE : EXIT_DEPENDENCY);
	if (control->source.store)
		control_check_store(control, true);
	log_event(LOG_INFO, "serving", "port", log_i64(http_server_port(control->state.serve->server)), "mode",
		  mode_names[control_state_config(&control->state)->policy.mode], NULL);
	control_run(control);
	control_drain(control);
	return EXIT_CLEAN;
}

/* Runs the server with the configuration; everything else is set up. */
static int serve_with(struct serve *serve, struct config *take_config, const struct cli_args *args)
{
	struct err err = ERR_INIT;
	struct control control;
	int code;

	if (start_server(serve, &take_config->webhook, &err)) {
		config_free(take_config);
		return cli_fail(args, &err, EXIT_DEPENDENCY);
	}
	if (control_init(&control, serve, cli_get(args, "config"), take_config, &err))
		code = cli_fail(args, &err, EXIT_USAGE);
	else
		code = serve_until_signal(&control, args);
	http_server_free(serve->server);
	control_release(&control);
	return code;
}

static int serve_logged(struct config *take_config, const struct cli_args *args)
{
	struct log_buffer *log = NULL;
	struct err err = ERR_INIT;
	struct serve serve;
	int code;

	if (control_block_signals(&err) || log_buffer_start(&log, &err) || serve_init(&serve, &err)) {
		config_free(take_config);
		code = cli_fail(args, &err, EXIT_DEPENDENCY);
	} else {
		serve.log_buffer = log;
		code = serve_with(&serve, take_config, args);
		serve_release(&serve);
	}
	if (code == EXIT_CLEAN)
		log_event(LOG_INFO, "ended", NULL);
	log_buffer_stop(log, FLUSH_MS);
	return code;
}

static int run(const struct cli_args *args)
{
	const char *path = cli_get(args, "config");
	struct config *config = NULL;
	struct err err = ERR_INIT;
	int level;

	if (!path)
		return cli_usage_error(args->command, "--config FILE is missing");
	if (config_load(path, &config, &err))
		return cli_fail(args, &err, EXIT_USAGE);
	level = log_level_parse(config->log.level);
	log_configure(level < 0 ? LOG_INFO : (enum log_level)level,
		      streq(config->log.format, "json") ? LOG_JSON : LOG_LOGFMT);
	set_up_heap();
	return serve_logged(config, args);
}

const struct cli_command serve_command = {
	.name = "serve",
	.help = "Serve admission reviews over HTTPS",
	.example = "--config memtamer.yaml --write-ca ca.pem",
	.options = options,
	.run = run,
};
