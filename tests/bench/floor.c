/* SPDX-License-Identifier: Apache-2.0 */
/* floor: the least that an HTTPS webhook on libmicrohttpd can cost. Reads the body of every request and answers the
 * same 1.2 KB, with the server options that the real webhook uses. The benchmark measures the webhook against it.
 *
 * floor PORT CERT KEY; prints "ready" and serves until SIGTERM. */
#include "base/attr.h"
#include "base/err.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"

#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS	     2
#define IDLE_SECONDS 120
#define ANSWER_BYTES 1200

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_bytes, void **request)
{
	(void)url;
	(void)method;
	(void)version;
	(void)upload;
	if (!*request) {
		*request = context;
		return MHD_YES;
	}
	if (*upload_bytes) {
		*upload_bytes = 0;
		return MHD_YES;
	}
	return MHD_queue_response(connection, MHD_HTTP_OK, context);
}

static struct MHD_Response *fixed_response(void)
{
	char *text = malloc(ANSWER_BYTES);
	struct MHD_Response *response;

	if (!text)
		return NULL;
	memset(text, 'x', ANSWER_BYTES);
	response = MHD_create_response_from_buffer(ANSWER_BYTES, text, MHD_RESPMEM_MUST_FREE);
	if (response)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	return response;
}

static int read_pem(const char *path, struct strbuf *buf)
{
	struct err err = ERR_INIT;
	char line[700];
	int r = io_read_file(path, buf, &err);

	if (r)
		fprintf(stderr, "floor: %s\n", err_text(&err, line, sizeof(line)));
	return r;
}

static int serve(unsigned short port, const char *cert, const char *key)
{
	struct MHD_Response *response = fixed_response();
	struct MHD_Daemon *daemon;
	sigset_t signals;
	int number;

	if (!response)
		return 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	daemon = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_TLS, port, NULL, NULL, answer, response,
				  MHD_OPTION_THREAD_POOL_SIZE, THREADS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
				  MHD_OPTION_HTTPS_PRIORITIES, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2",
				  MHD_OPTION_HTTPS_MEM_CERT, cert, MHD_OPTION_HTTPS_MEM_KEY, key, MHD_OPTION_END);
	if (!daemon) {
		fprintf(stderr, "floor: cannot listen on port %u\n", port);
		MHD_destroy_response(response);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	sigwait(&signals, &number);
	MHD_stop_daemon(daemon);
	MHD_destroy_response(response);
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(strbuf_release) struct strbuf cert = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	CLEANUP(strbuf_release) struct strbuf key = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	char *end;
	unsigned long port;

	if (argc != 4) {
		fputs("usage: floor PORT CERT KEY\n", stderr);
		return 2;
	}
	port = strtoul(argv[1], &end, 10);
	if (*end || port == 0 || port > 65535 || read_pem(argv[2], &cert) || read_pem(argv[3], &key))
		return 2;
	return serve((unsigned short)port, strbuf_text(&cert), strbuf_text(&key));
}
