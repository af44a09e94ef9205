/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/timefmt.h"
#include "fake_evidence.h"
#include "runs/fold.h"

#include <errno.h>
#include <stdlib.h>

/* What is expected of one run: the fields that matter to its case. */
struct expected {
	const char *key, *role;
	enum outcome outcome;
	int attempts, ranks, world_size;
	int64_t peak_mib, killed_mib; /* killed: greatest; -1: none */
	bool is_whole, is_cache_bound, is_final, has_lost_child;
	bool has_activity;
	int activity_permille;
};

#define MAX_PODS      6
#define WORLD_MINUTES ((int64_t)2 * 1440)
struct row {
	const char *name;
	struct fake_pod pods[MAX_PODS];
	struct expected expected[MAX_PODS];
};

#define JOB(name)    .owner_kind = "Job", .owner_name = (name)
#define TORCH(name)  .owner_kind = "PyTorchJob", .owner_name = (name)
#define DONE	     .ends = END_SUCCEEDED, .container_ends = END_COMPLETED
#define FAILED	     .ends = END_FAILED, .container_ends = END_ERROR
#define KILLED	     .ends = END_FAILED, .container_ends = END_OOM_KILLED
#define MEMORY(u, p) .usual_mib = (u), .peak_mib = (p), .rss_mib = (p), .peak_after_min = 5
#define ACTIVE(p)    .has_activity = true, .active_permille = (p)
#define WHOLE                                                                                                          \
	.outcome = OUTCOME_COMPLETED, .is_whole = true, .is_final = true, .attempts = 1, .ranks = 1, .world_size = 1

static const struct row rows[] = {
	{"one pod of a Job",
	 {{"a-x1", "u1", JOB("a"), .start_min = 10, .end_min = 70, DONE, .limit_mib = 100, MEMORY(50, 80)}},
	 {{"Job/a", "", WHOLE, .peak_mib = 80}}},
	{"a Job of a CronJob",
	 {{"c-29000000-x", "u1", JOB("c-29000000"), .root_kind = "CronJob", .root_name = "c", .start_min = 10,
	   .end_min = 70, DONE, .limit_mib = 100, MEMORY(50, 80)}},
	 {{"CronJob/c", "", WHOLE, .peak_mib = 80}}},
	{"a bare pod",
	 {{"train-3", "u1", .start_min = 10, .end_min = 70, DONE, .limit_mib = 100, MEMORY(50, 80)}},
	 {{"Pod/train", "", WHOLE, .peak_mib = 80}}},
	{"roles of a PyTorchJob are ranks of one run",
	 {{"t-master-0", "u1", TORCH("t"), .start_min = 10, .end_min = 70, DONE, MEMORY(50, 80)},
	  {"t-worker-0", "u2", TORCH("t"), .start_min = 10, .end_min = 70, DONE, MEMORY(40, 60)},
	  {"t-worker-1", "u3", TORCH("t"), .start_min = 11, .end_min = 69, DONE, MEMORY(40, 70)}},
	 {{"PyTorchJob/t", "master", .outcome = OUTCOME_COMPLETED, .attempts = 1, .ranks = 1, .world_size = 3,
	   .peak_mib = 80, .is_whole = true, .is_final = true},
	  {"PyTorchJob/t", "worker", .outcome = OUTCOME_COMPLETED, .attempts = 1, .ranks = 2, .world_size = 3,
	   .peak_mib = 70, .is_whole = true, .is_final = true}}},
	{"a completed run ends; the same name again is another run",
	 {{"t-master-0", "u1", TORCH("t"), .start_min = 10, .end_min = 70, DONE, MEMORY(50, 80)},
	  {"t-master-0", "u2", TORCH("t"), .start_min = 75, .end_min = 130, DONE, MEMORY(50, 90)}},
	 {{"PyTorchJob/t", "master", WHOLE, .peak_mib = 80}, {"PyTorchJob/t", "master", WHOLE, .peak_mib = 90}}},
	{"failed and tried again at once: attempts",
	 {{"a-x1", "u1", JOB("a"), .start_min = 10, .end_min = 70, KILLED, .limit_mib = 100, MEMORY(50, 99)},
	  {"a-x2", "u2", JOB("a"), .start_min = 71, .end_min = 80, KILLED, .limit_mib = 200, MEMORY(50, 180)},
	  {"a-x3", "u3", JOB("a"), .start_min = 82, .end_min = 150, DONE, .limit_mib = 400, MEMORY(50, 230)}},
	 {{"Job/a", "", .outcome = OUTCOME_COMPLETED, .attempts = 3, .ranks = 1, .world_size = 1, .peak_mib = 230,
	   .killed_mib = 200, .is_whole = true, .is_final = true}}},
	{"failed and tried again hours later: runs",
	 {{"a-x1", "u1", JOB("a"), .start_min = 10, .end_min = 70, FAILED, .limit_mib = 100, MEMORY(50, 60)},
	  {"a-x2", "u2", JOB("a"), .start_min = 101, .end_min = 170, DONE, .limit_mib = 100, MEMORY(50, 70)}},
	 {{"Job/a", "", .outcome = OUTCOME_FAILED, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 60,
	   .is_final = true},
	  {"Job/a", "", WHOLE, .peak_mib = 70}}},
	{"the second try of one rank while others run on",
	 {{"a-0-x", "u1", JOB("a"), .start_min = 10, .end_min = 200, DONE, MEMORY(50, 80)},
	  {"a-1-x", "u2", JOB("a"), .start_min = 10, .end_min = 60, FAILED, MEMORY(50, 60)},
	  {"a-1-y", "u3", JOB("a"), .start_min = 62, .end_min = 200, DONE, MEMORY(50, 70)}},
	 {{"Job/a", "", .outcome = OUTCOME_COMPLETED, .attempts = 2, .ranks = 2, .world_size = 2, .peak_mib = 80,
	   .is_whole = true, .is_final = true}}},
	{"one rank killed: the run's outcome, the others are lower bounds",
	 {{"t-master-0", "u1", TORCH("t"), .start_min = 10, .end_min = 70, DONE, .limit_mib = 100, MEMORY(50, 80)},
	  {"t-worker-0", "u2", TORCH("t"), .start_min = 10, .end_min = 60, KILLED, .limit_mib = 100, MEMORY(40, 97)},
	  {"t-worker-1", "u3", TORCH("t"), .start_min = 10, .end_min = 70, DONE, .limit_mib = 100, MEMORY(40, 70)}},
	 {{"PyTorchJob/t", "master", .outcome = OUTCOME_COMPLETED, .attempts = 1, .ranks = 1, .world_size = 3,
	   .peak_mib = 80, .is_final = true},
	  {"PyTorchJob/t", "worker", .outcome = OUTCOME_OOM_KILLED, .attempts = 1, .ranks = 2, .world_size = 3,
	   .peak_mib = 97, .killed_mib = 100, .is_final = true}}},
	{"killed without a limit: need is not known",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, KILLED, MEMORY(50, 80)}},
	 {{"Job/a", "", .outcome = OUTCOME_OOM_KILLED, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 80,
	   .killed_mib = -1, .is_final = true}}},
	{"killed, restarted in its pod, then completed",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_SUCCEEDED,
	   .container_ends = END_COMPLETED | END_OOM_RESTARTED, .restarts = 1, .limit_mib = 100, MEMORY(50, 99)}},
	 {{"Job/a", "", .outcome = OUTCOME_COMPLETED, .attempts = 2, .ranks = 1, .world_size = 1, .peak_mib = 99,
	   .killed_mib = 100, .is_whole = true, .is_final = true}}},
	{"an error at the limit is a suspected OOM",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, FAILED, .limit_mib = 100, MEMORY(50, 95)}},
	 {{"Job/a", "", .outcome = OUTCOME_SUSPECTED_OOM, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 95,
	   .is_final = true}}},
	{"a child was killed, and the first process failed",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_FAILED,
	   .container_ends = END_ERROR | END_OOM_EVENTS, .limit_mib = 100, MEMORY(50, 60)}},
	 {{"Job/a", "", .outcome = OUTCOME_SUSPECTED_OOM, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 60,
	   .is_final = true, .has_lost_child = true}}},
	{"a child was killed, and the first process ended well",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_SUCCEEDED,
	   .container_ends = END_COMPLETED | END_OOM_EVENTS, .limit_mib = 100, MEMORY(50, 60)}},
	 {{"Job/a", "", .outcome = OUTCOME_SUSPECTED_OOM, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 60,
	   .is_final = true, .has_lost_child = true}}},
	{"a kill that Kubernetes shows is counted once",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_SUCCEEDED,
	   .container_ends = END_COMPLETED | END_OOM_RESTARTED | END_OOM_EVENTS, .restarts = 1, .limit_mib = 100,
	   MEMORY(50, 99)}},
	 {{"Job/a", "", .outcome = OUTCOME_COMPLETED, .attempts = 2, .ranks = 1, .world_size = 1, .peak_mib = 99,
	   .killed_mib = 100, .is_whole = true, .is_final = true}}},
	{"far below the limit the node had no memory",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_SUCCEEDED,
	   .container_ends = END_COMPLETED | END_OOM_EVENTS, .limit_mib = 100, MEMORY(30, 49)}},
	 {{"Job/a", "", WHOLE, .peak_mib = 49}}},
	{"without a limit the node had no memory",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_SUCCEEDED,
	   .container_ends = END_COMPLETED | END_OOM_EVENTS, MEMORY(50, 60)}},
	 {{"Job/a", "", WHOLE, .peak_mib = 60}}},
	{"an error just below that is a failure",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, FAILED, .limit_mib = 100, MEMORY(50, 94)}},
	 {{"Job/a", "", .outcome = OUTCOME_FAILED, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 94,
	   .is_final = true}}},
	{"evicted",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_FAILED | END_EVICTED, .limit_mib = 100,
	   MEMORY(50, 60)}},
	 {{"Job/a", "", .outcome = OUTCOME_EVICTED_MEMORY, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 60,
	   .is_final = true}}},
	{"preempted",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .ends = END_FAILED | END_PREEMPTED, MEMORY(50, 60)}},
	 {{"Job/a", "", .outcome = OUTCOME_PREEMPTED, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 60,
	   .is_final = true}}},
	{"deleted without a word",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, .is_gone_silently = true, MEMORY(50, 60)}},
	 {{"Job/a", "", .outcome = OUTCOME_DELETED, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 60,
	   .is_final = true}}},
	{"still running",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, MEMORY(50, 60)}},
	 {{"Job/a", "", .outcome = OUTCOME_RUNNING, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 60}}},
	{"over midnight: peaks on both days count",
	 {{"a-x", "u1", JOB("a"), .start_min = 1000, .end_min = 2000, DONE, .usual_mib = 50, .peak_mib = 80,
	   .peak_after_min = 900}},
	 {{"Job/a", "", WHOLE, .peak_mib = 80}}},
	{"page cache fills the limit",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, DONE, .limit_mib = 100, .usual_mib = 95,
	   .peak_mib = 98, .rss_mib = 30, .active_file_mib = 66, .peak_after_min = 5}},
	 {{"Job/a", "", WHOLE, .peak_mib = 98, .is_cache_bound = true}}},
	{"need fills the limit",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, DONE, .limit_mib = 100, .usual_mib = 95,
	   .peak_mib = 98, .rss_mib = 80, .active_file_mib = 10, .peak_after_min = 5}},
	 {{"Job/a", "", WHOLE, .peak_mib = 98}}},
	{"accelerators: by samples, over ranks, roles apart",
	 {{"t-master-0", "u1", TORCH("t"), .start_min = 10, .end_min = 70, DONE, MEMORY(50, 80)},
	  {"t-worker-0", "u2", TORCH("t"), .start_min = 10, .end_min = 70, DONE, MEMORY(40, 60), ACTIVE(900)},
	  {"t-worker-1", "u3", TORCH("t"), .start_min = 10, .end_min = 40, DONE, MEMORY(40, 70), ACTIVE(300)}},
	 {{"PyTorchJob/t", "master", .outcome = OUTCOME_COMPLETED, .attempts = 1, .ranks = 1, .world_size = 3,
	   .peak_mib = 80, .is_whole = true, .is_final = true},
	  {"PyTorchJob/t", "worker", .outcome = OUTCOME_COMPLETED, .attempts = 1, .ranks = 2, .world_size = 3,
	   .peak_mib = 70, .is_whole = true, .is_final = true, .has_activity = true, .activity_permille = 700}}},
	{"accelerators: over attempts and midnight",
	 {{"a-x1", "u1", JOB("a"), .start_min = 1380, .end_min = 1400, KILLED, .limit_mib = 100, MEMORY(50, 99),
	   ACTIVE(0)},
	  {"a-x2", "u2", JOB("a"), .start_min = 1410, .end_min = 1490, DONE, .limit_mib = 400, MEMORY(50, 230),
	   ACTIVE(1000)}},
	 {{"Job/a", "", .outcome = OUTCOME_COMPLETED, .attempts = 2, .ranks = 1, .world_size = 1, .peak_mib = 230,
	   .killed_mib = 100, .is_whole = true, .is_final = true, .has_activity = true, .activity_permille = 800}}},
	{"accelerators that never had work",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 70, DONE, MEMORY(50, 80), ACTIVE(0)}},
	 {{"Job/a", "", WHOLE, .peak_mib = 80, .has_activity = true, .activity_permille = 0}}},
	{"over before it was seen",
	 {{"a-x", "u1", JOB("a"), .start_min = 10, .end_min = 11, KILLED, .limit_mib = 100, .has_no_samples = true}},
	 {{"Job/a", "", .outcome = OUTCOME_OOM_KILLED, .attempts = 1, .ranks = 1, .world_size = 1, .peak_mib = 0,
	   .killed_mib = 100, .is_final = true}}},
};

/* The world's pods in windows of so many minutes, up to two days. */
static void read_world(const struct row *row, int64_t window_min, struct pod_table *table)
{
	size_t n = 0;

	while (n < MAX_PODS && row->pods[n].name)
		n++;
	for (int64_t from = 0; from < WORLD_MINUTES; from += window_min) {
		struct evidence_window window = {.start_ms = FAKE_EPOCH_MS + from * TIME_MINUTE_MS,
						 .end_ms = FAKE_EPOCH_MS + (from + window_min) * TIME_MINUTE_MS,
						 .is_open = from + window_min >= WORLD_MINUTES};
		struct evidence_batch batch;

		evidence_batch_init(&batch, &window);
		fake_read(row->pods, n, &batch);
		assert_int_equal(pod_table_merge(table, &batch, NULL), 0);
		evidence_batch_release(&batch);
	}
}

static void check(const struct expected *expected, const struct found_run *found, bool is_last_window)
{
	const struct run *run = &found->run;

	(void)is_last_window;
	assert_string_equal(found->identity.keys[0].text, expected->key);
	assert_string_equal(found->identity.role, expected->role);
	assert_string_equal(outcome_names[run->outcome], outcome_names[expected->outcome]);
	assert_int_equal(run->attempts, expected->attempts);
	assert_int_equal(run->ranks, expected->ranks);
	assert_int_equal(run->world_size, expected->world_size);
	assert_int_equal(run->peak_bytes, expected->peak_mib * FAKE_MIB);
	assert_int_equal(run->n_killed_limits > 0, expected->killed_mib != 0);
	if (expected->killed_mib > 0)
		assert_int_equal(run_killed_limit_max(run), expected->killed_mib * FAKE_MIB);
	else if (expected->killed_mib < 0)
		assert_int_equal(run->killed_limits[0], -1);
	assert_int_equal(run->is_whole, expected->is_whole);
	assert_int_equal(run->is_cache_bound, expected->is_cache_bound);
	assert_int_equal(found->has_lost_child, expected->has_lost_child);
	assert_int_equal(run->activity_permille, expected->has_activity ? expected->activity_permille : -1);
	assert_int_equal(found->is_final, expected->is_final);
}

static void pods_become_runs(void **state)
{
	const int64_t windows_min[] = {WORLD_MINUTES, 1440, 240};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t w = 0; w < ARRAY_LEN(windows_min); w++) {
			struct pod_table table = POD_TABLE_INIT;
			struct fold fold = {.is_open = NULL};
			const struct fold_options options = {.now_ms = FAKE_EPOCH_MS + 2 * FAKE_DAY_MS,
							     .history_from_ms = FAKE_EPOCH_MS,
							     .source = "query"};
			size_t n = 0;

			test_row(rows[i].name);
			read_world(&rows[i], windows_min[w], &table);
			assert_int_equal(fold_runs(&table, &options, &fold, NULL), 0);
			while (n < MAX_PODS && rows[i].expected[n].key)
				n++;
			assert_int_equal(fold.runs.n, n);
			for (size_t k = 0; k < n; k++)
				check(&rows[i].expected[k], &fold.runs.items[k], w == 0);
			fold_release(&fold);
			pod_table_release(&table);
		}
}

/* Encoding and decoding between any two windows must make no difference: that is what a restart does. */
static void the_state_survives_a_restart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
		struct pod_table table = POD_TABLE_INIT, copy = POD_TABLE_INIT;

		test_row(rows[i].name);
		read_world(&rows[i], 1440, &table);
		assert_int_equal(pod_table_encode(&table, &first), 0);
		assert_int_equal(pod_table_decode(strbuf_text(&first), first.len, &copy), 0);
		assert_int_equal(pod_table_encode(&copy, &second), 0);
		assert_int_equal(first.len, second.len);
		assert_memory_equal(strbuf_text(&first), strbuf_text(&second), first.len);
		pod_table_release(&table);
		pod_table_release(&copy);
	}
}

static void uids_are_the_same_every_time(void **state)
{
	char uid[RUN_UID_BYTES] = "";

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct pod_table table = POD_TABLE_INIT;
		struct fold fold = {.is_open = NULL};
		/* The second time a day later, and seen in other windows. */
		const struct fold_options options = {.now_ms = FAKE_EPOCH_MS + (2 + round) * FAKE_DAY_MS,
						     .source = "query"};

		read_world(&rows[0], round ? 1440 : 240, &table);
		assert_int_equal(fold_runs(&table, &options, &fold, NULL), 0);
		if (round)
			assert_string_equal(fold.runs.items[0].run.uid, uid);
		memcpy(uid, fold.runs.items[0].run.uid, sizeof(uid));
		assert_true(uid[0] != '\0');
		fold_release(&fold);
		pod_table_release(&table);
	}
}

static void what_began_before_the_first_window_is_not_whole(void **state)
{
	struct pod_table table = POD_TABLE_INIT;
	struct fold fold = {.is_open = NULL};
	const struct fold_options options = {.now_ms = FAKE_EPOCH_MS + 2 * FAKE_DAY_MS,
					     .history_from_ms = FAKE_EPOCH_MS + 11 * TIME_MINUTE_MS,
					     .source = "query"};

	(void)state;
	read_world(&rows[0], 1440, &table);
	assert_int_equal(fold_runs(&table, &options, &fold, NULL), 0);
	assert_false(fold.runs.items[0].run.is_whole);
	fold_release(&fold);
	pod_table_release(&table);
}

/* What was told first came from somebody who tells only some labels; the API server tells all that there are. */
static void labels_of_a_watched_pod_replace_others(void **state)
{
	static const struct k8s_label told[] = {{"job-name", "a"}, {"memtamer.io/workload", "bert"}};
	const struct evidence_window window = {.start_ms = FAKE_EPOCH_MS, .end_ms = FAKE_EPOCH_MS + TIME_HOUR_MS};
	struct pod_table table = POD_TABLE_INIT;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct evidence_batch batch;
		struct pod *pod;

		evidence_batch_init(&batch, &window);
		pod = evidence_pod_put(&batch, "ml", "a", "u1");
		assert_non_null(pod);
		pod->start_ms = FAKE_EPOCH_MS;
		pod->is_training = true;
		pod->is_watched = i % 2 == 1;
		for (size_t k = 0; k < (pod->is_watched ? 2 : 1); k++)
			assert_int_equal(vec_push(&pod->labels, told[k]), 0);
		assert_int_equal(pod_table_merge(&table, &batch, NULL), 0);
		evidence_batch_release(&batch);
		assert_int_equal(table.pods.n, 1);
		assert_int_equal(table.pods.items[0]->labels.n, i == 0 ? 1 : 2);
	}
	assert_string_equal(table.pods.items[0]->labels.items[1].value, "bert");
	pod_table_release(&table);
}

/* Cut anywhere, or with any byte changed: refused or read, but never read beyond its end. */
static void damaged_state_is_refused(void **state)
{
	CLEANUP(strbuf_release) struct strbuf good = STRBUF_INIT(MIB);
	struct pod_table table = POD_TABLE_INIT;

	(void)state;
	read_world(&rows[0], 1440, &table);
	assert_int_equal(pod_table_encode(&table, &good), 0);
	pod_table_release(&table);
	for (size_t i = 0; i < good.len; i++) {
		char *cut = malloc(i + 1), *changed = malloc(good.len);
		int r;

		assert_true(cut && changed);
		memcpy(cut, good.text, i);
		memcpy(changed, good.text, good.len);
		assert_int_equal(pod_table_decode(cut, i, &table), -EINVAL);
		assert_int_equal(table.pods.n, 0);
		for (int bit = 0; bit < 8; bit++) {
			changed[i] = (char)((unsigned char)good.text[i] ^ 1U << bit);
			r = pod_table_decode(changed, good.len, &table);
			assert_true(r == 0 || r == -EINVAL);
			pod_table_release(&table);
		}
		free(cut);
		free(changed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_become_runs),
		cmocka_unit_test(the_state_survives_a_restart),
		cmocka_unit_test(uids_are_the_same_every_time),
		cmocka_unit_test(what_began_before_the_first_window_is_not_whole),
		cmocka_unit_test(labels_of_a_watched_pod_replace_others),
		cmocka_unit_test(damaged_state_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
