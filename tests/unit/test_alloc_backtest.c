/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while a trace is read and its rules are compared: -ENOMEM or the same figures, nothing leaked. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "backtest/backtest_print.h"
#include "base/gzip.h"
#include "base/io.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int read_and_compare(void *context, struct strbuf *ret)
{
	struct policy policy;
	const struct backtest_options options = {
		.rules = rules, .n_rules = n_rules, .sizing = &policy.sizing, .node_bytes = (int64_t)GIB};
	struct trace trace = TRACE_INIT;
	struct backtest backtest = BACKTEST_INIT;
	struct frontier_point points[FRONTIER_POINTS];
	int r = trace_read(&trace, context, NULL, NULL, NULL);

	policy_default(&policy);
	if (!r)
		r = backtest_run(&trace, &options, &backtest, NULL);
	if (!r)
		r = frontier_compute(&trace, points);
	if (!r)
		r = backtest_json(&backtest, &trace, ret);
	if (!r)
		r = backtest_plot(&backtest, points, ret);
	backtest_release(&backtest);
	trace_release(&trace);
	return r;
}

static void memory_for_a_backtest(void **state)
{
	CLEANUP(strbuf_release) struct strbuf runs = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf series = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MIB);
	char folder[] = "/tmp/test_trace.XXXXXX", path[2][64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path[0], sizeof(path[0]), "%s/runs.csv", folder);
	snprintf(path[1], sizeof(path[1]), "%s/series.csv.gz", folder);
	strbuf_adds(&runs, "run,workload,start_unix,duration_s\n");
	strbuf_adds(&series, "run,t_s,bytes\n");
	for (int i = 0; i < 7; i++) {
		strbuf_addf(&runs, "r%d,w,%d,60\n", i, 1000 + 100 * i);
		strbuf_addf(&series, "r%d,0,%d\nr%d,30,%d\n", i, 100000000 + i, i, 200000000);
	}
	assert_int_equal(gzip_pack(series.text, series.len, GZIP_USUAL, &packed), 0);
	assert_int_equal(io_write_file_atomic(path[0], runs.text, runs.len, 0600, NULL), 0);
	assert_int_equal(io_write_file_atomic(path[1], packed.text, packed.len, 0600, NULL), 0);
	assert_true(alloc_fail_each("backtest", read_and_compare, folder) > 50);
	unlink(path[0]);
	unlink(path[1]);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(memory_for_a_backtest)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
