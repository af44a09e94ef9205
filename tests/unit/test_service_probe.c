/* SPDX-License-Identifier: Apache-2.0 */
/* What the probe makes of the API server's answers to its dry run. */
#include "service_fixture.h"

#include "base/attr.h"
#include "service/probe.h"

#include <signal.h>
#include <string.h>

#define CONFIG	     "GET /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/a0-memtamer "
#define PLAIN	     "{\"metadata\":{\"name\":\"memtamer-probe\"}}"
#define HOOKS(items) "{\"metadata\":{\"name\":\"a0-memtamer\"},\"webhooks\":[" items "]}"
#define OURS(more)   "{\"name\":\"probe.memtamer.io\",\"clientConfig\":{" more "}}"

static void on_probed(void *context, const struct probe_outcome *outcome)
{
	struct probe_outcome *seen = context;

	*seen = *outcome;
}

static void what_the_probe_makes_of_answers(void **state)
{
	static const struct {
		const char *name;
		struct fake_step dry_run, configuration;
		enum probe_result result;
		const char *words;
	} rows[] = {
		{"answered", {DRY_RUN, .body = MARKED}, {0}, PROBE_REACHED, "webhook-1 answered in"},
		{"no configuration",
		 {DRY_RUN, .body = PLAIN},
		 {CONFIG, .status = 404, .body = STATUS("404", "NotFound")},
		 PROBE_NOT_CONFIGURED,
		 "kill switch"},
		{"configuration for something else",
		 {DRY_RUN, .body = PLAIN},
		 {CONFIG, .body = HOOKS("{\"name\":\"pods.memtamer.io\"}")},
		 PROBE_NOT_CONFIGURED,
		 "no webhook named probe.memtamer.io"},
		{"called in vain",
		 {DRY_RUN, .body = PLAIN},
		 {CONFIG, .body = HOOKS(OURS("\"caBundle\":\"QQ==\""))},
		 PROBE_FAILED_OPEN,
		 "fails open: pods are created without memtamer"},
		{"no certificate yet",
		 {DRY_RUN, .body = PLAIN},
		 {CONFIG, .body = HOOKS(OURS(""))},
		 PROBE_FAILED_OPEN,
		 "has no caBundle yet"},
		{"why may not be asked",
		 {DRY_RUN, .body = PLAIN},
		 {CONFIG, .status = 403, .body = STATUS("403", "Forbidden")},
		 PROBE_FAILED_OPEN,
		 "cannot be read: forbidden: the words of the server"},
		{"odd object",
		 {DRY_RUN, .body = "{\"metadata\":{\"annotations\":[]}}"},
		 {CONFIG, .body = "{\"webhooks\":7}"},
		 PROBE_NOT_CONFIGURED,
		 "no webhook named"},
		{"forbidden",
		 {DRY_RUN, .status = 403, .body = STATUS("403", "Forbidden")},
		 {0},
		 PROBE_REFUSED,
		 "refused the dry run: forbidden: the words of the server"},
		{"in the way",
		 {DRY_RUN, .status = 409, .body = STATUS("409", "AlreadyExists")},
		 {0},
		 PROBE_REFUSED,
		 "is in the way in namespace memtamer"},
		{"broken patch",
		 {DRY_RUN, .status = 500, .body = STATUS("500", "InternalError")},
		 {0},
		 PROBE_REFUSED,
		 "the words of the server"},
		{"no answer", {DRY_RUN, .end = FAKE_HOLD}, {0}, PROBE_TIMED_OUT, "in time"},
		{"cut off", {DRY_RUN, .body = "{", .end = FAKE_CUT}, {0}, PROBE_NO_SERVER, "not reached"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fake_step steps[] = {rows[i].dry_run, rows[i].configuration, {.fits = NULL}};
		struct probe_outcome seen = {.result = PROBE_RESULT_COUNT_};
		struct world world;
		struct probe probe = {.namespace = "memtamer",
				      .configuration = "a0-memtamer",
				      .timeout_ms = rows[i].result == PROBE_TIMED_OUT ? 200 : 0,
				      .done = on_probed,
				      .context = &seen};

		test_row(rows[i].name);
		world_start(&world, steps);
		probe.client = world.client;
		probe_begin(&probe);
		while (seen.result == PROBE_RESULT_COUNT_)
			poll_once(&world);
		assert_int_equal(seen.result, rows[i].result);
		if (!strstr(seen.text, rows[i].words))
			fail_msg("\"%s\" is not in \"%s\"", rows[i].words, seen.text);
		assert_int_equal(fake_api_count(world.api, "\"memtamer.io/probe\":\"true\""), 1);
		assert_null(probe.call);
		world_stop(&world);
	}
}

static void a_cancelled_probe_is_silent(void **state)
{
	static const struct fake_step steps[] = {{DRY_RUN, .end = FAKE_HOLD}, {.fits = NULL}};
	struct probe_outcome seen = {.result = PROBE_RESULT_COUNT_};
	struct probe probe = {.namespace = "memtamer", .done = on_probed, .context = &seen};
	struct world world;

	(void)state;
	world_start(&world, steps);
	probe.client = world.client;
	probe_begin(&probe);
	while (!fake_api_count(world.api, DRY_RUN))
		poll_once(&world);
	probe_cancel(&probe);
	poll_once(&world);
	assert_int_equal(seen.result, PROBE_RESULT_COUNT_);
	world_stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_probe_makes_of_answers),
		cmocka_unit_test(a_cancelled_probe_is_silent),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
