/* SPDX-License-Identifier: Apache-2.0 */
/* When a pod that waits for room becomes overdue, also when the clock is set back. It is 08:00. */
#include "watched_pods_fixture.h"

#include "base/timefmt.h"
#include "service/overdue_pods.h"

#include <signal.h>

#define AFTER_MS (10 * TIME_MINUTE_MS)
#define WAITS                                                                                                          \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ml\",\"uid\":\"u\",\"resourceVersion\":\"1\","                  \
	"\"creationTimestamp\":\"2026-11-02T07:55:00Z\",\"labels\":{\"memtamer.io/training\":\"true\"}},\"spec\":{"    \
	"\"containers\":[{\"name\":\"main\",\"image\":\"i\"}]},\"status\":{\"phase\":\"Pending\",\"conditions\":[{"    \
	"\"type\":\"PodScheduled\",\"status\":\"False\",\"lastTransitionTime\":\"2026-11-02T07:55:00Z\","              \
	"\"message\":\"0/1 nodes are available: 1 Insufficient memory.\"}]}}"

static int64_t last_change(struct pods *pods)
{
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	struct evidence_batch batch;
	int64_t seq;

	evidence_batch_init(&batch, &window);
	assert_int_equal(pods_batch(pods, NOW_MS, 0, &batch, &seq), 0);
	evidence_batch_release(&batch);
	return seq;
}

static void a_pod_is_touched_when_it_becomes_overdue(void **state)
{
	static const struct fake_step steps[] = {
		{PODS, .body = LIST(WAITS)},
		{PODS, .body = "", .end = FAKE_HOLD},
		{.fits = NULL},
	};
	/* The time that the clock has when the turns begin. */
	static const int64_t rows[] = {NOW_MS, NOW_MS + TIME_DAY_MS};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct overdue_pods overdue;
		struct world world;
		struct pods *pods = start_pods(&world, steps);
		int64_t seq = last_change(pods);

		overdue_pods_start(&overdue, rows[i]);
		assert_true(overdue_pods_turn(&overdue, pods, AFTER_MS, 5000, rows[i]));
		assert_false(overdue_pods_turn(&overdue, pods, AFTER_MS, 5999, rows[i]));
		assert_true(overdue_pods_turn(&overdue, pods, AFTER_MS, 6000, NOW_MS));
		assert_true(overdue_pods_turn(&overdue, pods, AFTER_MS, 7000, NOW_MS + 5 * TIME_MINUTE_MS - 1));
		assert_false(pods_has_changes(pods, seq));
		assert_true(overdue_pods_turn(&overdue, pods, AFTER_MS, 8000, NOW_MS + 5 * TIME_MINUTE_MS));
		assert_true(pods_has_changes(pods, seq));
		seq = last_change(pods);
		assert_true(overdue_pods_turn(&overdue, pods, AFTER_MS, 9000, NOW_MS + 6 * TIME_MINUTE_MS));
		assert_false(pods_has_changes(pods, seq)); /* once */
		stop_pods(&world, pods);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_is_touched_when_it_becomes_overdue),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
