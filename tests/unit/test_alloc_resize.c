/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out where a resize begins: what was asked for is not lost. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "resize/resizer.h"

static void told(void *context, const struct resize_report *report)
{
	(void)context;
	(void)report;
	fail_msg("nothing was begun");
}

static void an_ask_waits_for_memory(void **state)
{
	const struct resizer_config config = {.report = told};
	const struct resize_ask ask = {.kind = RESIZE_KIND_OOM, .uid = "u1", .container = "main"};
	struct resizer *resizer;

	(void)state;
	assert_int_equal(resizer_new(&config, &resizer, NULL), 0);
	assert_int_equal(resizer_post(resizer, &ask), 0);
	alloc_fail_arm(1);
	resizer_turn(resizer);
	assert_true(alloc_fail_disarm());
	assert_int_equal(resizer_count(resizer), 1);
	resizer_free(resizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ask_waits_for_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
