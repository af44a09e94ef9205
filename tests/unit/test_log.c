/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines as they are written, and how often lines that clients can cause are. */
#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

/* What was written last, and how many lines. */
struct written {
	char line[2 * LIMIT_LOG_LINE_BYTES];
	size_t lines;
};

static void take_line(void *context, const char *line, size_t n)
{
	struct written *written = context;

	assert_true(n > 0 && n <= LIMIT_LOG_LINE_BYTES && line[n - 1] == '\n');
	memcpy(written->line, line, n);
	written->line[n] = '\0';
	written->lines++;
}

static int set_up(void **state)
{
	struct written *written = calloc(1, sizeof(*written));

	log_set_sink(&(struct log_sink){.context = written, .write = take_line});
	*state = written;
	return 0;
}

static int tear_down(void **state)
{
	log_set_sink(NULL);
	log_configure(LOG_INFO, LOG_LOGFMT);
	free(*state);
	return 0;
}

static void test_a_line_too_long_is_not_lost(void **state)
{
	static const enum log_format formats[] = {LOG_LOGFMT, LOG_JSON};
	static const char *const ends[] = {" fields=\"left out: the line is too long\"\n",
					   ",\"fields\":\"left out: the line is too long\"}\n"};
	struct written *written = *state;
	char *value = malloc(LIMIT_LOG_LINE_BYTES + 1);

	memset(value, 'x', LIMIT_LOG_LINE_BYTES);
	value[LIMIT_LOG_LINE_BYTES] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		log_configure(LOG_INFO, formats[i]);
		log_event(LOG_WARN, "something", "value", value, NULL);
		assert_int_equal(written->lines, i + 1);
		assert_non_null(strstr(written->line, "something"));
		assert_non_null(strstr(written->line, ends[i]));
	}
	free(value);
}

static void test_a_kind_of_line_cannot_flood_the_log(void **state)
{
	static const struct log_kind kind = {LOG_WARN, "refused", 3, TIME_HOUR_MS};
	struct written *written = *state;
	struct log_gate gate = {.full_ms = 0}, other = {.full_ms = 0};

	for (int i = 0; i < 10; i++)
		log_limited(&gate, &kind, "peer", "x", NULL);
	assert_int_equal(written->lines, 3);
	assert_null(strstr(written->line, "suppressed"));
	log_limited(&other, &kind, "peer", "y", NULL); /* each kind has a limit of its own */
	assert_int_equal(written->lines, 4);
	/* later the next line says how many are missing, and the one after it does not repeat that */
	atomic_store(&gate.full_ms, time_monotonic_ms());
	log_limited(&gate, &kind, "peer", "z", NULL);
	assert_int_equal(written->lines, 5);
	assert_non_null(strstr(written->line, " peer=z suppressed=7\n"));
	log_limited(&gate, &kind, "peer", "z", NULL);
	assert_null(strstr(written->line, "suppressed"));
}

static void test_lines_below_the_level_use_up_nothing(void **state)
{
	static const struct log_kind kind = {LOG_DEBUG, "looked", 1, TIME_HOUR_MS};
	struct written *written = *state;
	struct log_gate gate = {.full_ms = 0};

	log_limited(&gate, &kind, "a", "b", NULL);
	log_limited(&gate, &kind, "a", "b", NULL);
	log_configure(LOG_DEBUG, LOG_LOGFMT);
	log_limited(&gate, &kind, "a", "b", NULL);
	assert_int_equal(written->lines, 1);
	assert_null(strstr(written->line, "suppressed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_line_too_long_is_not_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_kind_of_line_cannot_flood_the_log, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines_below_the_level_use_up_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
