/* SPDX-License-Identifier: Apache-2.0 */
/* Every line that clients can cause goes through the rate limit of its kind. */
#include "base/limits.h"
#include "base/timefmt.h"
#include "serve/routes.h"
#include "support/review_world.h"
#include "support/test.h"

#include <string.h>

#define TRAINER "{\"containers\":[{\"name\":\"trainer\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}"
#define REVIEW(group, kind, object)                                                                                    \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\",\"kind\":{"   \
	"\"group\":\"" group "\",\"version\":\"v1\",\"kind\":\"" kind "\"},\"namespace\":\"ml\",\"operation\":"        \
	"\"CREATE\",\"object\":" object "}}"
#define POD REVIEW("", "Pod", "{\"metadata\":{\"name\":\"a\"},\"spec\":" TRAINER "}")
#define BAD REVIEW("", "Pod", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[7]}}")
#define JOB                                                                                                            \
	REVIEW("batch", "Job",                                                                                         \
	       "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"template\":{"  \
	       "\"spec\":" TRAINER "}}}")

static const struct row {
	const char *name;
	enum client_line line;
	enum http_server_event_type event; /* without a review */
	enum review_route route;
	const char *review;
} rows[] = {
	{"a client certificate that is refused", LINE_CLIENT_REFUSED, HTTP_EVENT_CLIENT_REFUSED, ROUTE_COUNT_, NULL},
	{"a connection that took too long", LINE_SLOW_CLOSED, HTTP_EVENT_WATCHDOG_CLOSED, ROUTE_COUNT_, NULL},
	{"a connection closed for another", LINE_EVICTED, HTTP_EVENT_EVICTED, ROUTE_COUNT_, NULL},
	{"a handshake that ended", LINE_CONNECTION, HTTP_EVENT_HANDSHAKE_ENDED, ROUTE_COUNT_, NULL},
	{"a message of the library", LINE_CONNECTION, HTTP_EVENT_LIBRARY, ROUTE_COUNT_, NULL},
	{"a pod that cannot be read", LINE_NO_DECISION, HTTP_EVENT_ANSWERED, ROUTE_MUTATE, BAD},
	{"a pod that is patched", LINE_POD_PATCHED, HTTP_EVENT_ANSWERED, ROUTE_MUTATE, POD},
	{"a template that is patched", LINE_TEMPLATE_PATCHED, HTTP_EVENT_ANSWERED, ROUTE_TEMPLATES, JOB},
};

struct fixture {
	struct serve serve;
	struct review_world world;
};

static size_t n_lines;

/* Counts lines of the kind that the context names. */
static void take_line(void *context, const char *line, size_t n)
{
	const struct log_kind *kind = context;

	(void)n;
	n_lines += strstr(line, kind->message) != NULL;
}

static void cause(struct fixture *f, const struct row *row)
{
	const struct http_server_event event = {
		.type = row->event, .path = "other", .reason = "why", .peer = "127.0.0.1:4711"};
	struct err err = ERR_INIT;

	if (row->review)
		assert_int_equal(review_world_ask(&f->world, row->route, row->review, strlen(row->review), &err), 0);
	else
		serve_observe(&f->serve, &event);
}

static void test_no_line_passes_a_closed_gate(void **state)
{
	bool is_seen[CLIENT_LINE_COUNT_] = {false};
	struct err err = ERR_INIT;
	struct fixture f;

	(void)state;
	assert_int_equal(serve_init(&f.serve, &err), 0);
	assert_int_equal(review_world_init(&f.world, 0), 0);
	f.world.config.log.audit = true;
	log_configure(LOG_DEBUG, LOG_LOGFMT);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct client_log *log = rows[i].review ? &f.world.log : &f.serve.log;
		struct log_gate *gate = &log->gates[rows[i].line];
		struct log_kind kind = client_lines[rows[i].line];

		test_row(rows[i].name);
		log_set_sink(&(struct log_sink){.context = &kind, .write = take_line});
		*gate = (struct log_gate){.full_ms = 0};
		n_lines = 0;
		cause(&f, &rows[i]);
		assert_int_equal(n_lines, 1);
		atomic_store(&gate->full_ms, time_monotonic_ms() + TIME_DAY_MS);
		cause(&f, &rows[i]);
		assert_int_equal(n_lines, 1);
		assert_int_equal(atomic_load(&gate->suppressed), 1);
		is_seen[rows[i].line] = true;
	}
	log_set_sink(NULL);
	log_configure(LOG_INFO, LOG_LOGFMT);
	for (size_t i = 0; i < CLIENT_LINE_COUNT_; i++)
		if (!is_seen[i])
			fail_msg("no row for \"%s\"", client_lines[i].message);
	review_world_release(&f.world);
	serve_release(&f.serve);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_line_passes_a_closed_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
