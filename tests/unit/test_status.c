/* SPDX-License-Identifier: Apache-2.0 */
/* When status says that something is wrong or not known, and in which words. */
#include "support/test.h"

#include "base/str.h"
#include "base/timefmt.h"
#include "report/status.h"

#include <stdlib.h>
#include <string.h>

#define NOW_MS ((int64_t)1793607300000)

struct status_row {
	const char *result, *webhook;
	int64_t age_ms, silent_after_ms;
	bool is_partial;
	const char *words, *no_words; /* NULL: none */
};

static const struct status_row rows[] = {
	{"done", "reached", TIME_MINUTE_MS, 0, false, "Webhook     reached", "as of"},
	{"done", "not-asked", TIME_MINUTE_MS, 0, false, "Webhook     not tested", NULL},
	{"done", "failed-open", TIME_MINUTE_MS, 0, true, "Webhook     not reached by the API server", NULL},
	{"done", "not-configured", TIME_MINUTE_MS, 0, true, "Webhook     not configured: there is no", NULL},
	{"done", "refused", TIME_MINUTE_MS, 0, true, "Webhook     not known: the API server refused", NULL},
	{"done", "timed-out", TIME_MINUTE_MS, 0, true, "Webhook     not known: the API server did not answer", NULL},
	{"done", "no-server", TIME_MINUTE_MS, 0, true, "Webhook     not known: the recommender did not reach", NULL},
	{"done", "of-tomorrow", TIME_MINUTE_MS, 0, true, "Webhook     not known: no cycle has recorded it", NULL},
	{"done", "", TIME_MINUTE_MS, 0, true, "Webhook     not known: no cycle has recorded it", NULL},
	{"partial", "reached", TIME_MINUTE_MS, 0, true, NULL, NULL},
	/* who promises to go on */
	{"done", "reached", TIME_HOUR_MS, TIME_HOUR_MS, false, NULL, "has written nothing"},
	{"done", "reached", -TIME_DAY_MS, TIME_HOUR_MS, false, NULL, "has written nothing"},
	{"done", "reached", TIME_HOUR_MS + 1, TIME_HOUR_MS, true, "The recommender has written nothing since 2026-",
	 NULL},
	{"done", "reached", 12 * TIME_DAY_MS, TIME_HOUR_MS, true, "Webhook     as of 2026-", NULL},
	/* and who does not: run --once, or an older version */
	{"done", "not-asked", 12 * TIME_DAY_MS, 0, false, "Webhook     not tested", "has written nothing"},
};

static struct status status_of(const struct status_row *row)
{
	return (struct status){.now_ms = NOW_MS,
			       .from_ms = NOW_MS - 14 * TIME_DAY_MS,
			       .is_asked = true,
			       .has_cycle = true,
			       .cycle = {.time_ms = NOW_MS - row->age_ms,
					 .silent_after_ms = row->silent_after_ms,
					 .version = "0.1.0",
					 .mode = "raise",
					 .result = row->result,
					 .why = "",
					 .webhook = row->webhook}};
}

static void what_is_wrong_or_not_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct status status = status_of(&rows[i]);
		char *text = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);

		assert_non_null(out);
		assert_int_equal(status_print(&status, out), 0);
		assert_int_equal(fclose(out), 0);
		if (status_is_partial(&status) != rows[i].is_partial ||
		    (rows[i].words && !strstr(text, rows[i].words)) ||
		    (rows[i].no_words && strstr(text, rows[i].no_words)))
			fail_msg("row %zu: partial %d: %s", i, status_is_partial(&status), text);
		free(text);
	}
}

static void an_ignored_warning_is_shown(void **state)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(MIB);
	struct status status = status_of(&(struct status_row){.result = "done", .webhook = "reached"});
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	status.cycle.warning = "since noon: store-3";
	status.cycle.retry_after_ms = 20 * TIME_MINUTE_MS;
	assert_non_null(out);
	assert_int_equal(status_print(&status, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "Prometheus warns in every answer since noon: store-3; the warning is ignored\n"));
	assert_non_null(strstr(text, "the next one begins 20m after the last one\n"));
	assert_false(status_is_partial(&status));
	assert_int_equal(status_render_json(&status, &json), 0);
	assert_non_null(strstr(strbuf_text(&json), "\"warning\":\"since noon: store-3\""));
	free(text);
}

static void hung_gangs_are_shown(void **state)
{
	static const struct hung_list hung = {.items = {{.namespace_name = "ml",
							 .owner = "Job/train",
							 .pod = "train-0",
							 .died_ms = NOW_MS - TIME_HOUR_MS,
							 .n_dead = 1,
							 .n_pods = 7,
							 .accelerators_milli = 56000,
							 .command = "kubectl delete job/train -n ml"}},
					      .n_items = 1,
					      .n = 2,
					      .accelerators_milli = 57000};
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(MIB);
	struct status status = status_of(&(struct status_row){.result = "done", .webhook = "reached"});
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	status.cycle.hung = &hung;
	assert_non_null(out);
	assert_int_equal(status_print(&status, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(
		text, "Hung gangs  2, in which a rank is dead; they hold 57 accelerators; the first of "
		      "them:\n  ml Job/train: pod train-0 was OOM-killed at 2026-11-02T07:15:00Z; "
		      "running pods: 7, with 56 accelerators\n    if they do not go on without it: kubectl delete "
		      "job/train -n ml\n"));
	assert_int_equal(status_render_json(&status, &json), 0);
	assert_non_null(
		strstr(strbuf_text(&json), "\"hungGangs\":{\"count\":2,\"acceleratorsMilli\":57000,\"items\":["));
	assert_non_null(strstr(strbuf_text(&json), "\"command\":\"kubectl delete job/train -n ml\""));
	free(text);
}

static void silence_is_in_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		const struct status status = status_of(&rows[i]);
		bool is_silent = rows[i].silent_after_ms && rows[i].age_ms > rows[i].silent_after_ms;

		assert_int_equal(status_render_json(&status, &text), 0);
		assert_non_null(strstr(strbuf_text(&text), is_silent ? "\"isSilent\":true" : "\"isSilent\":false"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_or_not_known),
		cmocka_unit_test(an_ignored_warning_is_shown),
		cmocka_unit_test(hung_gangs_are_shown),
		cmocka_unit_test(silence_is_in_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
