/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "model/run.h"
#include "model/sketch.h"

#include <errno.h>
#include <stdlib.h>

/* Within 1 % of the truth. */
static void assert_close(int64_t found, int64_t truth)
{
	double error = (double)found / (double)truth - 1;

	if (error < -0.01 || error > 0.01)
		fail_msg("%lld is not within 1 %% of %lld", (long long)found, (long long)truth);
}

static void every_magnitude_is_within_one_percent(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	for (int bit = 0; bit < 63; bit++) {
		for (int i = 0; i < 64; i++) {
			CLEANUP(sketch_release) struct sketch s = SKETCH_INIT;
			int64_t value;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			value = (int64_t)1 << bit | (int64_t)(random & (((uint64_t)1 << bit) - 1));
			assert_int_equal(sketch_add(&s, value, 1), 0);
			assert_close(sketch_quantile(&s, 0.5), value);
		}
	}
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void quantiles_match_sorting(void **state)
{
	CLEANUP(sketch_release) struct sketch s = SKETCH_INIT, half = SKETCH_INIT;
	static int64_t values[10001];
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		values[i] = 1 + (int64_t)(random >> 30);
		assert_int_equal(sketch_add(i % 2 ? &s : &half, values[i], 30000), 0);
	}
	assert_int_equal(sketch_merge(&s, &half), 0);
	qsort(values, ARRAY_LEN(values), sizeof(*values), compare);
	for (int q = 1; q < 100; q++)
		assert_close(sketch_quantile(&s, q / 100.0), values[q * 100]);
	assert_true(sketch_share_above(&s, values[5000]) > 0.48 && sketch_share_above(&s, values[5000]) < 0.52);
	assert_true(s.total_weight == (int64_t)ARRAY_LEN(values) * 30000);
}

static void weights_are_time(void **state)
{
	CLEANUP(sketch_release) struct sketch s = SKETCH_INIT;

	(void)state;
	assert_int_equal(sketch_quantile(&s, 0.5), 0);
	assert_int_equal(sketch_add(&s, 1000, 9000), 0);
	assert_int_equal(sketch_add(&s, 5000, 1000), 0);
	assert_int_equal(sketch_add(&s, 7000, 0), 0);
	assert_close(sketch_quantile(&s, 0.5), 1000);
	assert_close(sketch_quantile(&s, 0.9), 1000);
	assert_close(sketch_quantile(&s, 0.91), 5000);
	assert_close(sketch_quantile(&s, 1), 5000);
	assert_true(sketch_share_above(&s, 2000) == 0.1);
	assert_true(sketch_share_above(&s, 6000) == 0);
	assert_int_equal(sketch_add(&s, 0, 30000), 0);
	assert_int_equal(sketch_quantile(&s, 0.5), 0);
	assert_true(sketch_share_above(&s, 0) == 0.25);
	assert_true(sketch_share_above(&s, -1) == 1);
}

static void encoding_rows(void **state)
{
	static const struct {
		const char *name, *text;
		int r;
	} rows[] = {
		{"empty", "z0;", 0},
		{"zeros only", "z12;", 0},
		{"buckets", "z12;340:5000,2:100,1:9", 0},
		{"last bucket", "z0;3711:1", 0},
		{"no text", "", -EINVAL},
		{"no semicolon", "z12", -EINVAL},
		{"behind the last bucket", "z0;3712:1", -EINVAL},
		{"together behind the last", "z0;3711:1,1:1", -EINVAL},
		{"delta zero", "z0;5:1,0:1", -EINVAL},
		{"weight zero", "z0;5:0", -EINVAL},
		{"negative", "z0;5:-1", -EINVAL},
		{"leading zero", "z0;05:1", -EINVAL},
		{"trailing comma", "z0;5:1,", -EINVAL},
		{"trailing text", "z0;5:1x", -EINVAL},
		{"no weight", "z0;5:", -EINVAL},
		{"no colon", "z0;5", -EINVAL},
		{"weights beyond int64", "z9223372036854775807;5:1", -EINVAL},
		{"number beyond int64", "z0;5:9223372036854775808", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(sketch_release) struct sketch s = SKETCH_INIT;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1000);

		test_row(rows[i].name);
		assert_int_equal(sketch_decode(rows[i].text, &s), rows[i].r);
		if (rows[i].r)
			continue;
		assert_int_equal(sketch_encode(&s, &text), 0);
		assert_string_equal(strbuf_text(&text), rows[i].text);
	}
}

static void sums_stop_at_the_end(void **state)
{
	CLEANUP(sketch_release) struct sketch s = SKETCH_INIT;

	(void)state;
	assert_int_equal(sketch_add(&s, 100, INT64_MAX), 0);
	assert_int_equal(sketch_add(&s, 100, INT64_MAX), 0);
	assert_true(s.total_weight == INT64_MAX);
	assert_int_equal(sketch_quantile(&s, 0.5), 100);
}

static void need_leaves_out_page_cache(void **state)
{
	struct run run = {.peak_bytes = 1000, .peak_rss_bytes = 300, .peak_active_file_bytes = 600};

	(void)state;
	assert_int_equal(run_need_bytes(&run), 1000);
	run.is_cache_bound = true;
	assert_int_equal(run_need_bytes(&run), 400); /* 100 of shm count */
	run.peak_active_file_bytes = 900;
	assert_int_equal(run_need_bytes(&run), 300); /* never below rss */
	run.peak_rss_bytes = 2000;
	assert_int_equal(run_need_bytes(&run), 1000); /* never above the working set */
	assert_int_equal(run_killed_limit_max(&run), 0);
	run.n_killed_limits = 3;
	run.killed_limits[0] = 5;
	run.killed_limits[1] = 9;
	run.killed_limits[2] = -1;
	assert_int_equal(run_killed_limit_max(&run), 9);
}

static void outcomes_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < OUTCOME_COUNT_; i++) {
		assert_non_null(outcome_names[i]);
		assert_string_not_equal(outcome_names[i], "");
		for (int k = 0; k < i; k++)
			assert_string_not_equal(outcome_names[i], outcome_names[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_magnitude_is_within_one_percent),
		cmocka_unit_test(quantiles_match_sorting),
		cmocka_unit_test(weights_are_time),
		cmocka_unit_test(encoding_rows),
		cmocka_unit_test(sums_stop_at_the_end),
		cmocka_unit_test(need_leaves_out_page_cache),
		cmocka_unit_test(outcomes_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
