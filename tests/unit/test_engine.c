/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/io.h"
#include "base/timefmt.h"
#include "engine/engine.h"
#include "engine/shapes.h"
#include "engine_fixture.h"
#include "learned_digest.h"
#include "store/store_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A week of a nightly training, one try of which is killed and one crosses midnight, and a gang. */
static const struct fake_pod world[] = {
	{"n-1-a", "u1", "Job", "n-1", "CronJob", "n", .start_min = 100, .end_min = 220, DONE, .limit_mib = 400,
	 .request_mib = 400, .usual_mib = 100, .peak_mib = 150, .rss_mib = 150, .peak_after_min = 90},
	{"n-2-a", "u2", "Job", "n-2", "CronJob", "n", .start_min = 1540, .end_min = 1600, .ends = END_FAILED,
	 .container_ends = END_OOM_KILLED, .limit_mib = 160, .request_mib = 160, .usual_mib = 100, .peak_mib = 159,
	 .rss_mib = 159, .peak_after_min = 59},
	{"n-2-b", "u3", "Job", "n-2", "CronJob", "n", .start_min = 1605, .end_min = 1700, DONE, .limit_mib = 400,
	 .request_mib = 400, .usual_mib = 110, .peak_mib = 170, .rss_mib = 170, .peak_after_min = 30},
	{"n-3-a", "u4", "Job", "n-3", "CronJob", "n", .start_min = 4300, .end_min = 4400, DONE, .limit_mib = 400,
	 .request_mib = 400, .usual_mib = 105, .peak_mib = 155, .rss_mib = 155, .peak_after_min = 80},
	{"n-4-a", "u5", "Job", "n-4", "CronJob", "n", .start_min = 5800, .end_min = 5900, DONE, .limit_mib = 400,
	 .request_mib = 400, .usual_mib = 100, .peak_mib = 140, .rss_mib = 140, .peak_after_min = 8},
	{"t-master-0", "u6", "PyTorchJob", "t", .start_min = 3000, .end_min = 4500, DONE, .usual_mib = 500,
	 .peak_mib = 900, .rss_mib = 900, .peak_after_min = 1400},
	{"t-worker-0", "u7", "PyTorchJob", "t", .start_min = 3001, .end_min = 4499, DONE, .usual_mib = 400,
	 .peak_mib = 800, .rss_mib = 800, .peak_after_min = 20},
	{"r-x", "u8", "Job", "r", .start_min = 8600, .usual_mib = 50, .peak_mib = 60, .rss_mib = 60,
	 .peak_after_min = 3},
};
#define WORLD_DAYS 6
#define NOW_MS	   (FAKE_EPOCH_MS + WORLD_DAYS * FAKE_DAY_MS + 3 * TIME_HOUR_MS)

static void setup(struct place *place)
{
	place_open(place, world, ARRAY_LEN(world), (WORLD_DAYS + 1) * FAKE_DAY_MS);
}

static void read_whole(const char *path, struct strbuf *ret)
{
	strbuf_clear(ret);
	assert_int_equal(io_read_file(path, ret, NULL), 0);
}

static void digest_of(struct place *place, struct strbuf *ret)
{
	CLEANUP(store_closep) struct store *store = NULL;

	*ret = (struct strbuf)STRBUF_INIT(16 * MIB);
	assert_int_equal(store_open_file(place->path, false, &store, NULL), 0);
	learned_digest(store, ret);
}

static void count_end(void *context, const struct notice *notice)
{
	*(size_t *)context += notice->kind == NOTICE_END && streq(notice->owner, "Job/n-4");
}

static void the_end_of_a_run_is_told_by_the_next_cycle(void **state)
{
	static const struct {
		const char *name;
		int64_t first_min, next_min;
		bool is_on, is_partial;
		size_t n;
	} rows[] = {
		{"it ended between them", 5890, 5905, true, false, 1},
		{"they are off", 5890, 5905, false, false, 0},
		{"the first cycle reads it", 5905, 5910, true, false, 0},
		{"it is not read whole", 5890, 5905, true, true, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(store_closep) struct store *store = NULL;
		struct engine_result result;
		struct place place;
		size_t n_told = 0;
		struct engine engine = {.notice = count_end, .notice_context = &n_told};

		test_row(rows[i].name);
		setup(&place);
		place.config->recommender.run_events = rows[i].is_on;
		assert_int_equal(store_open_file(place.path, true, &store, NULL), 0);
		engine.config = place.config;
		engine.reader = &place.reader.base;
		engine.store = store;
		assert_int_equal(
			engine_cycle(&engine, FAKE_EPOCH_MS + rows[i].first_min * TIME_MINUTE_MS, &result, NULL), 0);
		assert_int_equal(n_told, 0);
		place.reader.is_partial = rows[i].is_partial;
		assert_int_equal(
			engine_cycle(&engine, FAKE_EPOCH_MS + rows[i].next_min * TIME_MINUTE_MS, &result, NULL), 0);
		assert_int_equal(n_told, rows[i].n);
		engine_release(&engine);
		store_closep(&store);
		place_remove(&place);
	}
}

static void runs_become_profiles_once(void **state)
{
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
	struct recommendation rec = {0};
	const struct store_visitor visitor = {.context = &rec, .profile = find_cron};
	CLEANUP(store_closep) struct store *store = NULL;
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_false(result.is_partial);
	assert_int_equal(result.n_runs, 6);
	assert_int_equal(result.n_workloads, 4);
	read_whole(place.path, &first);
	assert_int_equal(store_open_file(place.path, false, &store, NULL), 0);
	assert_int_equal(store_visit(store, &visitor, NULL), 0);
	assert_int_equal(rec.runs, 4);
	assert_int_equal(rec.whole_runs, 4);
	assert_int_equal(rec.oom_kills, 1);
	assert_int_equal(rec.peak_bytes, 170 * FAKE_MIB);
	assert_int_equal(rec.proven_bytes, 160 * FAKE_MIB);

	/* Again: closed days are not asked any more, and nothing is written. */
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(place.reader.n_reads, 1);
	assert_int_equal(place.reader.read_ms[0], FAKE_EPOCH_MS + WORLD_DAYS * FAKE_DAY_MS);
	assert_int_equal(result.n_profiles_changed, 0);
	read_whole(place.path, &second);
	assert_string_equal(strbuf_text(&first), strbuf_text(&second));
	store_closep(&store);
	place_remove(&place);
}

static void a_crash_before_the_watermark_repeats_nothing(void **state)
{
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	read_whole(place.path, &first);
	assert_int_equal(unlink(place.state_path), 0);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(place.reader.n_reads, WORLD_DAYS + 2);
	assert_int_equal(result.n_profiles_changed, 0);
	read_whole(place.path, &second);
	assert_string_equal(strbuf_text(&first), strbuf_text(&second));
	place_remove(&place);
}

static void undisturbed(struct strbuf *ret)
{
	struct engine_result result;
	struct place place;

	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	digest_of(&place, ret);
	place_remove(&place);
}

/* Interrupted at each read, then done again: the same is learned as without. */
static void an_outage_at_any_point_loses_nothing(void **state)
{
	static const int statuses[] = {EVIDENCE_UNREACHABLE, EVIDENCE_STOPPED, -EPROTO};
	struct strbuf expected;

	(void)state;
	undisturbed(&expected);
	for (int at = 1; at <= WORLD_DAYS + 2; at++)
		for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
			struct engine_result result;
			struct strbuf found;
			struct place place;
			int r;

			setup(&place);
			place.reader.fail_from_read = at;
			place.reader.fail_status = statuses[i];
			r = cycle_at(&place, NOW_MS, &result);
			if (at == 1 && statuses[i] != EVIDENCE_STOPPED) {
				assert_int_equal(r, EVIDENCE_UNREACHABLE);
				assert_int_equal(access(place.path, F_OK), -1);
			} else {
				assert_int_equal(r, 0);
				assert_true(result.is_partial);
				assert_string_equal(result.why, "made up");
			}
			place.reader.fail_from_read = 0;
			assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
			assert_false(result.is_partial);
			digest_of(&place, &found);
			assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
			strbuf_release(&found);
			place_remove(&place);
		}
	strbuf_release(&expected);
}

/* A first reading that is killed at each window goes on with the day that was being read. */
static void a_kill_loses_at_most_one_day(void **state)
{
	struct strbuf expected;

	(void)state;
	undisturbed(&expected);
	for (int at = 1; at <= WORLD_DAYS + 2; at++) {
		struct engine_result result;
		struct strbuf found;
		struct place place;
		int status;
		pid_t child;

		setup(&place);
		place.reader.kill_at_read = at;
		child = fork();
		assert_true(child >= 0);
		if (!child)
			_exit(cycle_at(&place, NOW_MS, &result));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		place.reader.kill_at_read = 0;
		assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
		assert_int_equal(place.reader.n_reads, WORLD_DAYS + 2 - (at - 1));
		digest_of(&place, &found);
		assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
		strbuf_release(&found);
		place_remove(&place);
	}
	strbuf_release(&expected);
}

static int find_aggregate(void *context, struct history *take_history, struct err *err)
{
	(void)err;
	*(struct history_aggregate *)context = take_history->aggregate;
	history_free(take_history);
	return 0;
}

/* A run of days among more short ones than a history lists: when reading ends in its middle, the short ones must not
 * push it out before it was heard of. */
static void a_long_run_is_not_overtaken(void **state)
{
	struct history_aggregate aggregate = {.runs = 0};
	const struct store_visitor visitor = {.context = &aggregate, .history = find_aggregate};
	CLEANUP(store_closep) struct store *store = NULL;
	struct fake_pod pods[41];
	char names[ARRAY_LEN(pods)][16];
	struct engine_result result;
	struct place place;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		snprintf(names[i], sizeof(names[i]), "n-%zu", i);
		pods[i] = (struct fake_pod){names[i], names[i],		"Job",		names[i], "CronJob", "n",
					    DONE,     .usual_mib = 100, .peak_mib = 150};
		pods[i].start_min = 1440 + (int64_t)i * 100;
		pods[i].end_min = pods[i].start_min + 60;
	}
	pods[0].start_min = 10;
	pods[0].end_min = 7500;
	pods[0].peak_mib = 200; /* not so far above the others that they speak against it */
	setup(&place);
	fake_reader_init(&place.reader, pods, ARRAY_LEN(pods));
	place.reader.fail_from_read = 6;
	place.reader.fail_status = EVIDENCE_STOPPED;
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_true(result.is_partial);
	place.reader.fail_from_read = 0;
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(store_open_file(place.path, false, &store, NULL), 0);
	assert_int_equal(store_visit(store, &visitor, NULL), 0);
	assert_int_equal(aggregate.runs, ARRAY_LEN(pods));
	assert_int_equal(aggregate.whole_runs, ARRAY_LEN(pods));
	assert_int_equal(aggregate.peak.bytes, 200 * FAKE_MIB);
	store_closep(&store);
	place_remove(&place);
}

/* Two Jobs of one CronJob run at the same time, and their names differ only after what a history has room for. */
static void runs_with_long_names_stay_apart(void **state)
{
	char names[2][160];
	struct fake_pod pods[ARRAY_LEN(names)];
	struct engine_result result;
	struct place place;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		memset(names[i], 'n', sizeof(names[i]) - 1);
		names[i][sizeof(names[i]) - 2] = (char)('1' + i);
		names[i][sizeof(names[i]) - 1] = '\0';
		pods[i] = world[0];
		pods[i].name = pods[i].uid = pods[i].owner_name = names[i];
		pods[i].end_min += (int64_t)i;
	}
	setup(&place);
	fake_reader_init(&place.reader, pods, ARRAY_LEN(pods));
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(result.n_runs, ARRAY_LEN(names));
	assert_int_equal(cron_of(&place).runs, ARRAY_LEN(names));
	place_remove(&place);
}

static int find_active(void *context, struct history *take_history, struct err *err)
{
	size_t *n = context;

	(void)err;
	for (size_t i = 0; i < take_history->runs.n; i++)
		*n += take_history->runs.items[i].outcome == OUTCOME_RUNNING;
	history_free(take_history);
	return 0;
}

static size_t active_runs(struct place *place)
{
	CLEANUP(store_closep) struct store *store = NULL;
	size_t n = 0;
	const struct store_visitor visitor = {.context = &n, .history = find_active};

	assert_int_equal(store_open_file(place->path, false, &store, NULL), 0);
	assert_int_equal(store_visit(store, &visitor, NULL), 0);
	return n;
}

/* Prometheus lost the pod that ran, before the day was closed, and its workload does not run again. As long as nobody
 * answers, nothing is known of it either. */
static void a_run_that_is_never_heard_of_again_ends(void **state)
{
	static const struct {
		const char *name;
		int64_t later_ms;
		int status;
		size_t active;
	} rows[] = {
		{"within a day", TIME_DAY_MS - 2 * TIME_HOUR_MS, 0, 1},
		{"after a day", TIME_DAY_MS + TIME_HOUR_MS, 0, 0},
		{"nothing was read since", 3 * TIME_DAY_MS, EVIDENCE_UNREACHABLE, 1},
	};
	static const struct fake_pod lost = {"l-x",
					     "u9",
					     "Job",
					     "l",
					     .start_min = WORLD_DAYS * 1440 + 60,
					     .usual_mib = 50,
					     .peak_mib = 60,
					     .rss_mib = 60,
					     .peak_after_min = 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(store_closep) struct store *store = NULL;
		struct engine_result result;
		struct engine engine;
		struct place place;

		test_row(rows[i].name);
		setup(&place);
		assert_int_equal(store_open_file(place.path, true, &store, NULL), 0);
		engine = (struct engine){.config = place.config, .reader = &place.reader.base, .store = store};
		fake_reader_init(&place.reader, &lost, 1);
		assert_int_equal(engine_cycle(&engine, NOW_MS, &result, NULL), 0);
		assert_int_equal(active_runs(&place), 1);
		fake_reader_init(&place.reader, world, 1);
		place.reader.detect_status = rows[i].status;
		assert_int_equal(engine_cycle(&engine, NOW_MS + rows[i].later_ms, &result, NULL), rows[i].status);
		assert_int_equal(active_runs(&place), rows[i].active);
		engine_release(&engine);
		store_closep(&store);
		place_remove(&place);
	}
}

/* A file is written and read as a whole in each cycle. */
static void workloads_without_a_run_for_long_leave_the_file(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	place.reader.n_pods--; /* without the run that still runs */
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	place.reader.n_pods = 0;
	assert_int_equal(cycle_at(&place, NOW_MS + 179 * TIME_DAY_MS, &result), 0);
	assert_int_equal(result.n_removed, 0);
	assert_int_equal(result.n_workloads, 3);
	assert_int_equal(cycle_at(&place, NOW_MS + 181 * TIME_DAY_MS, &result), 0);
	assert_int_equal(result.n_removed, 3);
	assert_int_equal(cycle_at(&place, NOW_MS + 182 * TIME_DAY_MS, &result), 0);
	assert_int_equal(result.n_workloads + result.n_removed, 0);
	place_remove(&place);
}

static void nothing_reachable_changes_nothing(void **state)
{
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	read_whole(place.path, &first);
	place.reader.detect_status = EVIDENCE_UNREACHABLE;
	assert_int_equal(cycle_at(&place, NOW_MS + FAKE_DAY_MS, &result), EVIDENCE_UNREACHABLE);
	read_whole(place.path, &second);
	assert_string_equal(strbuf_text(&first), strbuf_text(&second));
	place_remove(&place);
}

/* As that of a node that has just booted: days are closed before they have begun, and read all the same. */
static void a_clock_that_was_ahead_costs_nothing(void **state)
{
	CLEANUP(strbuf_release) struct strbuf found = STRBUF_INIT(0);
	struct strbuf expected;
	struct engine_result result;
	struct place place;

	(void)state;
	undisturbed(&expected);
	setup(&place);
	place.reader.n_pods = 0;
	assert_int_equal(cycle_at(&place, NOW_MS + 3 * FAKE_DAY_MS, &result), 0);
	place.reader.n_pods = ARRAY_LEN(world);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	digest_of(&place, &found);
	assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
	strbuf_release(&expected);
	place_remove(&place);
}

static void cycles_every_few_hours_learn_what_one_does(void **state)
{
	struct strbuf expected, found;
	struct engine_result result;
	struct place place;

	(void)state;
	undisturbed(&expected);
	setup(&place);
	/* The world looks back as far every time, so that nothing begins before the first window. */
	for (int64_t now_ms = FAKE_EPOCH_MS + 5 * TIME_HOUR_MS; now_ms < NOW_MS; now_ms += 7 * TIME_HOUR_MS)
		assert_int_equal(cycle_at(&place, now_ms, &result), 0);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	digest_of(&place, &found);
	assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
	strbuf_release(&found);
	strbuf_release(&expected);
	place_remove(&place);
}

/* ---- a state without the pods of open runs ---- */

/* Within the run `t`, which began the day before. */
#define MIDDLE_MS (FAKE_EPOCH_MS + 3 * FAKE_DAY_MS + 60 * TIME_MINUTE_MS)

static void set_state(struct place *place, const char *text)
{
	CLEANUP(store_closep) struct store *store = NULL;

	assert_int_equal(store_open_file(place->path, true, &store, NULL), 0);
	assert_int_equal(store_state_save(store, text, strlen(text), NULL), 0);
}

/* Other versions write the pods in another form. Their days are read again, and nothing else. */
static void a_state_of_another_version_loses_nothing(void **state)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{"0.1",
		 "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"CollectorState\",\"watermark\":"
		 "\"2024-10-07T00:00:00Z\",\"historyFrom\":\"2024-10-03T00:00:00Z\",\"caps\":[],\"table\":{\"stepMs\":"
		 "60000,\"pods\":[\n{\"namespace\":\"ml\",\"name\":\"t-master-0\",\"uid\":\"u6\",\"start_ms\":"
		 "1728180000000,\"seen_from_ms\":1728172800000,\"labels\":{},\"containers\":[]},\n{\"namespace\":"
		 "\"ml\","
		 "\"name\":\"t-worker-0\",\"uid\":\"u7\",\"seen_from_ms\":1728180060000,\"labels\":{},\"containers\":[]"
		 "}]}}\n"},
		{"another form",
		 "{\"kind\":\"CollectorState\",\"watermark\":\"2024-10-07T00:00:00Z\",\"historyFrom\":"
		 "\"2024-10-03T00:00:00Z\",\"openFrom\":\"2024-10-06T02:00:00Z\",\"tableFormat\":99,\"caps\":[]}\nabc"},
		{"damaged",
		 "{\"kind\":\"CollectorState\",\"watermark\":\"2024-10-07T00:00:00Z\",\"historyFrom\":"
		 "\"2024-10-03T00:00:00Z\",\"openFrom\":\"2024-10-06T02:00:00Z\",\"tableFormat\":2,\"caps\":[]}\nabc"},
		{"without pods",
		 "{\"kind\":\"CollectorState\",\"watermark\":\"2024-10-07T00:00:00Z\",\"historyFrom\":"
		 "\"2024-10-03T00:00:00Z\",\"openFrom\":\"2024-10-06T02:00:00Z\",\"tableFormat\":2,\"caps\":[]}\n"},
	};
	struct strbuf expected;

	(void)state;
	undisturbed(&expected);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct engine_result result;
		struct strbuf found;
		struct place place;

		test_row(rows[i].name);
		setup(&place);
		assert_int_equal(cycle_at(&place, MIDDLE_MS, &result), 0);
		set_state(&place, rows[i].text);
		assert_int_equal(cycle_at(&place, MIDDLE_MS, &result), 0);
		assert_int_equal(place.reader.n_reads, 2);
		assert_int_equal(place.reader.read_ms[0], FAKE_EPOCH_MS + 2 * FAKE_DAY_MS);
		assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
		assert_int_equal(place.reader.read_ms[0], FAKE_EPOCH_MS + 3 * FAKE_DAY_MS);
		digest_of(&place, &found);
		assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
		strbuf_release(&found);
		place_remove(&place);
	}
	strbuf_release(&expected);
}

static int refuse_pods(struct store *self, const char *text, size_t n, struct err *err)
{
	CLEANUP(store_closep) struct store *plain = NULL;

	if (text[n - 1] != '\n')
		return err_set(err, -E2BIG, "made up");
	assert_int_equal(store_open_file(store_place(self), false, &plain, NULL), 0);
	return plain->ops->state_save(self, text, n, err);
}

/* The process that could not save them goes on without reading anything again; the next one reads their days. */
static void open_runs_without_room_in_the_state_are_read_again_after_a_restart(void **state)
{
	CLEANUP(strbuf_release) struct strbuf found = STRBUF_INIT(0);
	struct store *store = NULL;
	struct store_ops ops;
	struct strbuf expected;
	struct engine_result result;
	struct place place;

	(void)state;
	undisturbed(&expected);
	setup(&place);
	assert_int_equal(store_open_file(place.path, true, &store, NULL), 0);
	ops = *store->ops;
	ops.state_save = refuse_pods;
	store->ops = &ops;
	for (int process = 0; process < 2; process++) {
		struct engine engine = {.config = place.config, .reader = &place.reader.base, .store = store};

		place.reader.n_reads = 0;
		for (int i = 0; i < 3; i++)
			assert_int_equal(engine_cycle(&engine, MIDDLE_MS + i * TIME_MINUTE_MS, &result, NULL), 0);
		/* first all of the history, then the day in which `t` began; the open day in each cycle */
		assert_int_equal(place.reader.n_reads, process ? 1 + 3 : WORLD_DAYS + 1 + 3);
		if (process)
			assert_int_equal(place.reader.read_ms[0], FAKE_EPOCH_MS + 2 * FAKE_DAY_MS);
		engine_release(&engine);
	}
	store_close(store);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(place.reader.read_ms[0], FAKE_EPOCH_MS + 2 * FAKE_DAY_MS);
	digest_of(&place, &found);
	assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
	strbuf_release(&expected);
	place_remove(&place);
}

static int count_whole(void *context, struct history *take_history, struct err *err)
{
	int *n = context;

	(void)err;
	for (size_t i = 0; i < take_history->runs.n; i++)
		*n += take_history->runs.items[i].is_whole;
	history_free(take_history);
	return 0;
}

static int whole_runs(struct place *place)
{
	int n = 0;
	const struct store_visitor visitor = {.context = &n, .history = count_whole};
	CLEANUP(store_closep) struct store *store = NULL;

	assert_int_equal(store_open_file(place->path, false, &store, NULL), 0);
	assert_int_equal(store_visit(store, &visitor, NULL), 0);
	return n;
}

static void partial_answers_are_lower_bounds(void **state)
{
	struct engine_result result;
	struct place place;
	int known;

	(void)state;
	setup(&place);
	place.reader.is_partial = true;
	/* Only the open time: a closed day waits for a whole answer. */
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + 5 * TIME_HOUR_MS, &result), 0);
	assert_true(result.is_partial);
	if (access(place.path, F_OK) == 0)
		assert_int_equal(whole_runs(&place), 0);

	/* A partial answer about a run that is known whole does not replace it. */
	place.reader.is_partial = false;
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + 5 * TIME_HOUR_MS, &result), 0);
	known = whole_runs(&place);
	assert_int_equal(known, 1);
	place.reader.is_partial = true;
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + 6 * TIME_HOUR_MS, &result), 0);
	assert_int_equal(whole_runs(&place), known);
	place_remove(&place);
}

static void a_partial_closed_day_is_asked_again(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + 5 * TIME_HOUR_MS, &result), 0);
	place.reader.is_partial = true;
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + FAKE_DAY_MS + TIME_HOUR_MS, &result), 0);
	assert_true(result.is_partial);
	place.reader.is_partial = false;
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + FAKE_DAY_MS + 2 * TIME_HOUR_MS, &result), 0);
	assert_int_equal(place.reader.read_ms[0], FAKE_EPOCH_MS);
	place_remove(&place);
}

/* A store that is gone for good: after a day in which no answer was without a warning, what was read with warnings is
 * read again and counts, and so does what is read from then on, until an answer is without one. */
static void a_warning_of_every_answer_is_ignored_after_a_day(void **state)
{
	const int64_t later_ms = NOW_MS + FAKE_DAY_MS;
	struct strbuf expected, found;
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, later_ms, &result), 0);
	digest_of(&place, &expected);
	place_remove(&place);
	setup(&place);
	place.reader.is_partial = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cycle_at(&place, NOW_MS + i * FAKE_DAY_MS / 2, &result), 0);
		assert_true(result.is_partial);
		assert_string_equal(result.warning, "");
		assert_int_equal(whole_runs(&place), 0);
	}
	assert_int_equal(cycle_at(&place, later_ms, &result), 0);
	assert_false(result.is_partial);
	assert_non_null(strstr(result.warning, "store-3 is away"));
	digest_of(&place, &found);
	assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
	/* The days are read again only once. */
	assert_int_equal(cycle_at(&place, later_ms + TIME_MINUTE_MS, &result), 0);
	assert_int_equal(place.reader.n_reads, 1);
	assert_false(result.is_partial);
	/* The store is back when some hours close, and away again later. */
	place.reader.is_partial = false;
	assert_int_equal(cycle_at(&place, later_ms + 4 * TIME_HOUR_MS, &result), 0);
	assert_string_equal(result.warning, "");
	place.reader.is_partial = true;
	assert_int_equal(cycle_at(&place, later_ms + 4 * TIME_HOUR_MS + TIME_MINUTE_MS, &result), 0);
	assert_true(result.is_partial);
	strbuf_release(&found);
	strbuf_release(&expected);
	place_remove(&place);
}

/* An outage of some hours at a time is no property of the source. */
static void one_answer_without_a_warning_is_enough(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	for (int i = 0; i < 8; i++) {
		place.reader.is_partial = i % 3 > 0;
		assert_int_equal(cycle_at(&place, NOW_MS + i * FAKE_DAY_MS / 3, &result), 0);
		assert_int_equal(result.is_partial, i % 3 > 0);
	}
	place_remove(&place);
}

/* Windows are halved until the source can bear them; figures of peaks and runs stay the same. */
static void too_heavy_windows_are_halved(void **state)
{
	struct recommendation whole = {0}, halved = {0};
	struct engine_result result;

	(void)state;
	/* Then they are too large for our own memory, and at last for our caps. */
	for (int round = 0; round < 4; round++) {
		const struct store_visitor visitor = {.context = round ? &halved : &whole, .profile = find_cron};
		CLEANUP(store_closep) struct store *store = NULL;
		struct place place;

		setup(&place);
		place.reader.heavy_above_ms = round % 2 ? FAKE_DAY_MS / 2 : 0;
		place.reader.heavy_status = round == 3 ? -E2BIG : 0;
		place.reader.full_above_ms = round == 2 ? FAKE_DAY_MS / 2 : 0;
		assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
		assert_false(result.is_partial);
		assert_int_equal(store_open_file(place.path, false, &store, NULL), 0);
		assert_int_equal(store_visit(store, &visitor, NULL), 0);
		store_closep(&store);
		place_remove(&place);
		if (!round)
			continue;
		assert_int_equal(halved.peak_bytes, whole.peak_bytes);
		assert_int_equal(halved.whole_runs, whole.whole_runs);
		assert_int_equal(halved.limit_bytes, whole.limit_bytes);
	}
}

/* A source that answers six hours at most is asked for more only at first, and again a day later. */
static void refused_sizes_are_remembered(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct engine_result result;
	struct engine engine;
	struct place place;

	(void)state;
	setup(&place);
	place.reader.heavy_above_ms = FAKE_DAY_MS / 4;
	assert_int_equal(store_open_file(place.path, true, &store, NULL), 0);
	engine = (struct engine){.config = place.config, .reader = &place.reader.base, .store = store};
	/* Seven closed days of four parts and the open hours; three refusals on the first day. */
	assert_int_equal(engine_cycle(&engine, NOW_MS, &result, NULL), 0);
	assert_false(result.is_partial);
	assert_int_equal(place.reader.n_reads, 7 * 4 + 1 + 3);
	assert_int_equal(cron_of(&place).whole_runs, 4);
	/* The closed day is over after 21.5 hours: four parts without a refusal. */
	place.reader.n_reads = 0;
	assert_int_equal(engine_cycle(&engine, NOW_MS + FAKE_DAY_MS - 150 * TIME_MINUTE_MS, &result, NULL), 0);
	assert_int_equal(place.reader.n_reads, 4 + 1);
	/* A day later everything is forgotten, and the source is faster. */
	place.reader.n_reads = 0;
	place.reader.heavy_above_ms = 0;
	assert_int_equal(engine_cycle(&engine, NOW_MS + 2 * FAKE_DAY_MS, &result, NULL), 0);
	assert_int_equal(place.reader.n_reads, 1 + 1);
	engine_release(&engine);
	store_closep(&store);
	place_remove(&place);
}

/* One window that cannot be read does not make the others small. */
static void sizes_that_were_answered_are_asked_for(void **state)
{
	struct split split = {.since_ms = 0};
	const struct split_part bad = {1000, FAKE_DAY_MS, "a", 16}, other = {1000, FAKE_DAY_MS, "q", 16};
	const struct split_part hour = {1000, TIME_HOUR_MS, "a", 16}, large = {1000, FAKE_DAY_MS, "a", 40};

	(void)state;
	split_begin(&split, 5000);
	split_note_refusal(&split, &bad, 5000);
	split_note_refusal(&split, &bad, 6000);
	assert_false(split_is_heavy(&split, &other));
	split_note_refusal(&split, &other, 6000);
	assert_true(split_is_heavy(&split, &other));
	assert_true(split_is_heavy(&split, &large));
	assert_false(split_is_heavy(&split, &hour));
	assert_false(split_is_heavy(&split, &(struct split_part){1000, FAKE_DAY_MS, "a", 7}));
	split_note_answer(&split, &bad);
	assert_false(split_is_heavy(&split, &other));
	split_note_refusal(&split, &bad, 6000);
	split_note_refusal(&split, &other, 6000);
	split_begin(&split, 6000 + SPLIT_KEPT_MS);
	assert_false(split_is_heavy(&split, &other));
}

/* The minutes after midnight are read before the day that they follow is closed. What the day says of a run must not
 * replace its end. */
static void a_closed_day_does_not_undo_an_end(void **state)
{
	static const struct fake_pod pods[] = {
		{"n-1-a", "u1", "Job", "n-1", "CronJob", "n", .start_min = 1380, .end_min = 1445, .ends = END_FAILED,
		 .container_ends = END_OOM_KILLED, .limit_mib = 160, .request_mib = 160, .usual_mib = 100,
		 .peak_mib = 159, .rss_mib = 159, .peak_after_min = 59},
	};
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	fake_reader_init(&place.reader, pods, ARRAY_LEN(pods));
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + FAKE_DAY_MS + 10 * TIME_MINUTE_MS, &result), 0);
	assert_int_equal(cron_of(&place).oom_kills, 1);
	place.reader.fail_from_read = 2;
	place.reader.fail_status = EVIDENCE_STOPPED;
	assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + FAKE_DAY_MS + 20 * TIME_MINUTE_MS, &result), 0);
	assert_int_equal(result.days_done, 1);
	assert_int_equal(cron_of(&place).oom_kills, 1);
	place_remove(&place);
}

/* Ten minutes of the first day fail, in the run n-1. After some cycles the rest is learned, and when they can be read,
 * they are. */
static void a_window_that_cannot_be_read_is_passed_over(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	place.reader.bad_from_min = 150;
	place.reader.bad_until_min = 160;
	place.reader.bad_status = EVIDENCE_TOO_HEAVY;
	for (int64_t i = 1; i < GAP_FAILURES; i++) {
		assert_int_equal(cycle_at(&place, NOW_MS + i * 1000, &result), 0);
		assert_true(result.is_partial);
		assert_true(result.days_done < result.days_total);
		assert_int_equal(gaps_passed(&result.gaps), 0);
	}
	assert_int_equal(cycle_at(&place, NOW_MS + GAP_FAILURES * 1000, &result), 0);
	assert_false(result.is_partial);
	assert_int_equal(result.days_done, result.days_total);
	assert_int_equal(gaps_passed(&result.gaps), 1);
	assert_int_equal(result.gaps.n, 1);
	assert_string_equal(result.gaps.items[0].namespace_name, "ml");
	assert_true(result.gaps.items[0].start_ms <= FAKE_EPOCH_MS + 150 * TIME_MINUTE_MS);
	assert_true(result.gaps.items[0].end_ms >= FAKE_EPOCH_MS + 160 * TIME_MINUTE_MS);
	assert_true(result.gaps.items[0].end_ms - result.gaps.items[0].start_ms < 30 * TIME_MINUTE_MS);
	assert_int_equal(cron_of(&place).runs, 4);
	assert_int_equal(cron_of(&place).whole_runs, 3);

	/* Nothing is asked about it until a day later, after all else and when the deadline passes; a day later it is
	 * answered, and the next cycle reads the days again. */
	assert_int_equal(cycle_at(&place, NOW_MS + TIME_HOUR_MS, &result), 0);
	assert_int_equal(place.reader.n_reads, 1);
	place.reader.fail_from_read = 3;
	place.reader.fail_status = EVIDENCE_STOPPED;
	assert_int_equal(cycle_at(&place, NOW_MS + TIME_DAY_MS + TIME_MINUTE_MS, &result), 0);
	assert_int_equal(place.reader.n_reads, 3);
	assert_int_equal(place.reader.read_ms[2], result.gaps.items[0].start_ms);
	assert_false(result.is_partial);
	assert_int_equal(gaps_passed(&result.gaps), 1);
	place.reader.fail_from_read = 0;
	place.reader.bad_until_min = 0;
	place.config->prometheus.history_ms += 4 * FAKE_DAY_MS;
	assert_int_equal(cycle_at(&place, NOW_MS + 2 * TIME_DAY_MS + 2 * TIME_MINUTE_MS, &result), 0);
	assert_int_equal(result.gaps.n, 0);
	assert_int_equal(cycle_at(&place, NOW_MS + 2 * TIME_DAY_MS + 3 * TIME_MINUTE_MS, &result), 0);
	assert_int_equal(cron_of(&place).runs, 4);
	assert_int_equal(cron_of(&place).whole_runs, 4);
	place_remove(&place);
}

/* A source that refuses everything has no gaps: nothing is passed over. */
static void a_source_that_refuses_everything_is_waited_for(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	place.reader.fail_from_read = 1;
	place.reader.fail_status = EVIDENCE_TOO_HEAVY;
	for (int64_t i = 0; i < 2 * GAP_FAILURES; i++) {
		assert_int_equal(cycle_at(&place, NOW_MS + i * 1000, &result), EVIDENCE_UNREACHABLE);
		assert_int_equal(result.days_done, 0);
		assert_int_equal(result.gaps.n, 0);
	}
	place.reader.fail_from_read = 0;
	assert_int_equal(cycle_at(&place, NOW_MS + TIME_MINUTE_MS, &result), 0);
	assert_int_equal(cron_of(&place).whole_runs, 4);
	place_remove(&place);
}

/* A window that fails once is read in the next cycle, and not counted any more. */
static void a_window_that_failed_once_is_no_gap(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	place.reader.bad_from_min = 150;
	place.reader.bad_until_min = 160;
	place.reader.bad_status = EVIDENCE_TOO_HEAVY;
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(result.gaps.n, 1);
	place.reader.bad_until_min = 0;
	assert_int_equal(cycle_at(&place, NOW_MS + 1000, &result), 0);
	assert_false(result.is_partial);
	assert_int_equal(result.gaps.n, 0);
	assert_int_equal(cron_of(&place).whole_runs, 4);
	place_remove(&place);
}

/* Gaps of a time when the clock was ahead are forgotten, as they would never be asked for again. */
static void gaps_of_the_future_are_forgotten(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	place.reader.bad_from_min = 150;
	place.reader.bad_until_min = 160;
	place.reader.bad_status = EVIDENCE_TOO_HEAVY;
	for (int64_t i = 0; i < GAP_FAILURES; i++)
		assert_int_equal(cycle_at(&place, NOW_MS + i * 1000, &result), 0);
	assert_int_equal(gaps_passed(&result.gaps), 1);
	assert_int_equal(cycle_at(&place, NOW_MS - TIME_DAY_MS, &result), 0);
	assert_int_equal(result.gaps.n, 1);
	assert_int_equal(gaps_passed(&result.gaps), 0);
	place_remove(&place);
}

/* The list of gaps has an end; what does not fit enlarges its neighbour. */
static void gaps_are_joined_when_there_are_many(void **state)
{
	CLEANUP(json_putp) struct json_object *root = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct gaps gaps = {.n = 0}, again;

	(void)state;
	for (int64_t i = 0; i < 3 * LIMIT_READING_GAPS; i++) {
		struct gap gap = {
			.start_ms = i * 20000, .end_ms = i * 20000 + 10000, .tried_ms = 1000, .why = "a \"b\""};
		const struct gap *has;

		snprintf(gap.namespace_name, sizeof(gap.namespace_name), "ns-%d", (int)(i % 3));
		has = gaps_note(&gaps, &gap);
		assert_true(has->start_ms <= gap.start_ms && has->end_ms >= gap.end_ms);
		assert_true(gap_has_namespace(has, gap.namespace_name));
		assert_true(gaps.n <= LIMIT_READING_GAPS);
	}
	assert_int_equal(gaps_passed(&gaps), 0);
	/* Many namespaces at one time are one gap. */
	gaps.n = 0;
	for (int i = 0; i < 20; i++) {
		struct gap gap = {.start_ms = 1000, .end_ms = 2000, .tried_ms = 1000};

		snprintf(gap.namespace_name, sizeof(gap.namespace_name), "ns-%d", i);
		(void)gaps_note(&gaps, &gap);
	}
	assert_int_equal(gaps.n, 1);
	assert_string_equal(gaps.items[0].namespace_name, "");
	assert_int_equal(gaps.items[0].failures, 1);
	strbuf_addc(&text, '{');
	gaps_encode(&gaps, &text);
	strbuf_addc(&text, '}');
	assert_int_equal(json_parse(strbuf_text(&text), text.len, 8, &root, NULL), 0);
	assert_int_equal(gaps_decode(root, &again, NULL), 0);
	assert_int_equal(again.n, 1);
	assert_memory_equal(&again.items[0], &gaps.items[0], sizeof(gaps.items[0]));
}

static void a_foreign_state_is_refused_and_kept(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(io_write_file_atomic(place.state_path, "{\"mine\": 1}", 11, 0644, NULL), 0);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), -EINVAL);
	read_whole(place.state_path, &text);
	assert_string_equal(strbuf_text(&text), "{\"mine\": 1}");
	place_remove(&place);
}

struct leaving_out {
	enum engine_left_out ml;
};

static enum engine_left_out leave_out(void *context, const char *namespace_name)
{
	const struct leaving_out *self = context;

	return self->ml == ENGINE_LEFT_OUT_UNKNOWN || streq(namespace_name, "ml") ? self->ml : ENGINE_LEARNED;
}

/* From a namespace that people want to be left out nothing is learned, also not from a run that was open before; what
 * was learned stays. While it is not known which they are, nothing is read. */
static void a_namespace_that_is_left_out_is_not_learned_from(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(strbuf_release) struct strbuf before, after;
	struct leaving_out leaving_out = {.ml = ENGINE_LEFT_OUT_UNKNOWN};
	struct engine_result result;
	struct place place;
	struct engine engine = {.left_out = leave_out, .left_out_context = &leaving_out};

	(void)state;
	setup(&place);
	assert_int_equal(store_open_file(place.path, true, &store, NULL), 0);
	engine.config = place.config;
	engine.reader = &place.reader.base;
	engine.store = store;
	assert_int_equal(engine_cycle(&engine, NOW_MS, &result, NULL), 0);
	assert_int_equal(result.partial, 1U << ENGINE_PARTIAL_IGNORED);
	assert_non_null(strstr(result.why, "memtamer.io/ignore"));
	assert_int_equal(place.reader.n_reads, 0);
	leaving_out.ml = ENGINE_LEFT_OUT;
	assert_int_equal(engine_cycle(&engine, NOW_MS - FAKE_DAY_MS, &result, NULL), 0);
	assert_true(place.reader.n_reads > 0);
	assert_int_equal(result.n_runs + result.n_profiles_changed, 0);
	/* The last run is open at this time, in the state too. */
	leaving_out.ml = ENGINE_LEARNED;
	assert_int_equal(engine_cycle(&engine, NOW_MS, &result, NULL), 0);
	assert_true(result.n_profiles_changed > 0);
	digest_of(&place, &before);
	leaving_out.ml = ENGINE_LEFT_OUT;
	assert_int_equal(engine_cycle(&engine, NOW_MS + FAKE_DAY_MS, &result, NULL), 0);
	assert_int_equal(result.n_runs + result.n_profiles_changed, 0);
	digest_of(&place, &after);
	assert_string_equal(strbuf_text(&before), strbuf_text(&after));
	engine_release(&engine);
	store_closep(&store);
	place_remove(&place);
}

static void nodes_alike_are_one_shape(void **state)
{
	struct evidence_node items[] = {
		{"a", "nvidia_com_gpu", 8, 1000 * (int64_t)GIB, 200 * (int64_t)GIB, "H100", ""},
		{"b", "nvidia_com_gpu", 8, 999 * (int64_t)GIB, 190 * (int64_t)GIB, "H100", ""},
		{"c", "nvidia_com_gpu", 8, 500 * (int64_t)GIB, 200 * (int64_t)GIB, "H100", ""},
		{"d", "nvidia_com_mig_1g_5gb", 7, 500 * (int64_t)GIB, 200 * (int64_t)GIB, "", ""},
		{"e", "", 0, 64 * (int64_t)GIB, 100 * (int64_t)GIB, "", "m5.large"},
	};
	struct evidence_nodes nodes = {.items = {.items = items, .n = ARRAY_LEN(items)}};
	struct shapes shapes = {.items = VEC_INIT}, again = {.items = VEC_INIT};

	(void)state;
	assert_int_equal(shapes_of_nodes(&nodes, NULL, 0, NOW_MS, &shapes), 0);
	assert_int_equal(shapes.items.n, 4);
	assert_string_equal(shapes.items.items[0].name, "8x-h100-999gi");
	assert_string_equal(shapes.items.items[0].resource, "nvidia.com/gpu");
	assert_int_equal(shapes.items.items[0].memory_bytes, 999 * (int64_t)GIB);
	assert_int_equal(shapes.items.items[0].ephemeral_bytes, 190 * (int64_t)GIB);
	assert_string_equal(shapes.items.items[2].resource, "nvidia.com/mig-1g.5gb");
	assert_string_equal(shapes.items.items[3].resource, "");
	/* Known shapes are no news until a day later. */
	assert_int_equal(shapes_of_nodes(&nodes, shapes.items.items, shapes.items.n, NOW_MS + 1, &again), 0);
	assert_int_equal(again.items.n, 0);
	assert_int_equal(shapes_of_nodes(&nodes, shapes.items.items, shapes.items.n, NOW_MS + FAKE_DAY_MS, &again), 0);
	assert_int_equal(again.items.n, 4);
	vec_release(&shapes.items);
	vec_release(&again.items);
}

static struct node_shape seen_shape(const char *resource, const char *product, int64_t count, int64_t devices,
				    int64_t parts, int64_t memory_bytes)
{
	struct node_shape shape = {
		.accelerators = count, .devices = devices, .parts = parts, .memory_bytes = memory_bytes};

	snprintf(shape.resource, sizeof(shape.resource), "%s", resource);
	snprintf(shape.product, sizeof(shape.product), "%s", product);
	return shape;
}

/* However many slices each node offers, they are one shape; what else would have the same name is told apart. */
static void nodes_cut_into_slices_are_one_shape(void **state)
{
	const char *const mig = "nvidia.com/mig-1g.10gb";
	struct node_shape items[] = {
		seen_shape("nvidia.com/gpu", "H100", 8, 0, 0, 1000 * (int64_t)GIB),
		seen_shape("nvidia.com/gpu", "H100", 4, 8, 8, 1000 * (int64_t)GIB),
		seen_shape("nvidia.com/gpu", "H100", 6, 8, 8, 999 * (int64_t)GIB),
		seen_shape(mig, "H100", 28, 8, 64, 1000 * (int64_t)GIB),
		seen_shape(mig, "H100", 14, 8, 64, 1000 * (int64_t)GIB),
		seen_shape("nvidia.com/gpu", "H100", 40, 4, 40, 1000 * (int64_t)GIB),
		seen_shape("", "", 0, 0, 0, (int64_t)(2 * GIB)),
		seen_shape("", "", 0, 0, 0, (int64_t)(2 * GIB + 512 * MIB)),
		seen_shape("", "", 0, 0, 0, 0), /* nothing known of it */
	};
	static const char *const names[] = {"8x-h100-1000gi",  "6x-h100-999gi", "28x-h100-mig-1g-10gb-1000gi",
					    "40x-h100-1000gi", "0x-cpu-2gi",	"0x-cpu-2gi-2"};
	struct shapes seen = {.items = {.items = items, .n = ARRAY_LEN(items)}};
	struct shapes shapes = {.items = VEC_INIT}, again = {.items = VEC_INIT};

	(void)state;
	assert_int_equal(shapes_find_news(&seen, NULL, 0, NOW_MS, &shapes), 0);
	assert_int_equal(shapes.items.n, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_string_equal(shapes.items.items[i].name, names[i]);
		assert_int_equal(shapes.items.items[i].last_seen_ms, NOW_MS);
	}
	assert_int_equal(shapes.items.items[2].accelerators, 28);
	assert_int_equal(shapes.items.items[2].parts, 64);
	/* The node that offered most is gone: nothing has changed, and its name stays. */
	items[3] = items[4];
	assert_int_equal(shapes_find_news(&seen, shapes.items.items, shapes.items.n, NOW_MS + 1, &again), 0);
	assert_int_equal(again.items.n, 0);
	items[4].accelerators = 35;
	assert_int_equal(shapes_find_news(&seen, shapes.items.items, shapes.items.n, NOW_MS + 1, &again), 0);
	assert_int_equal(again.items.n, 1);
	assert_string_equal(again.items.items[0].name, names[2]);
	assert_int_equal(again.items.items[0].accelerators, 35);
	vec_release(&shapes.items);
	vec_release(&again.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_run_is_told_by_the_next_cycle),
		cmocka_unit_test(runs_become_profiles_once),
		cmocka_unit_test(a_crash_before_the_watermark_repeats_nothing),
		cmocka_unit_test(an_outage_at_any_point_loses_nothing),
		cmocka_unit_test(a_kill_loses_at_most_one_day),
		cmocka_unit_test(a_long_run_is_not_overtaken),
		cmocka_unit_test(runs_with_long_names_stay_apart),
		cmocka_unit_test(a_run_that_is_never_heard_of_again_ends),
		cmocka_unit_test(workloads_without_a_run_for_long_leave_the_file),
		cmocka_unit_test(nothing_reachable_changes_nothing),
		cmocka_unit_test(a_clock_that_was_ahead_costs_nothing),
		cmocka_unit_test(cycles_every_few_hours_learn_what_one_does),
		cmocka_unit_test(a_state_of_another_version_loses_nothing),
		cmocka_unit_test(open_runs_without_room_in_the_state_are_read_again_after_a_restart),
		cmocka_unit_test(partial_answers_are_lower_bounds),
		cmocka_unit_test(a_partial_closed_day_is_asked_again),
		cmocka_unit_test(a_warning_of_every_answer_is_ignored_after_a_day),
		cmocka_unit_test(one_answer_without_a_warning_is_enough),
		cmocka_unit_test(too_heavy_windows_are_halved),
		cmocka_unit_test(refused_sizes_are_remembered),
		cmocka_unit_test(sizes_that_were_answered_are_asked_for),
		cmocka_unit_test(a_closed_day_does_not_undo_an_end),
		cmocka_unit_test(a_window_that_cannot_be_read_is_passed_over),
		cmocka_unit_test(a_source_that_refuses_everything_is_waited_for),
		cmocka_unit_test(a_window_that_failed_once_is_no_gap),
		cmocka_unit_test(gaps_of_the_future_are_forgotten),
		cmocka_unit_test(gaps_are_joined_when_there_are_many),
		cmocka_unit_test(a_foreign_state_is_refused_and_kept),
		cmocka_unit_test(a_namespace_that_is_left_out_is_not_learned_from),
		cmocka_unit_test(nodes_alike_are_one_shape),
		cmocka_unit_test(nodes_cut_into_slices_are_one_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
