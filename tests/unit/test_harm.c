/* SPDX-License-Identifier: Apache-2.0 */
/* The audit and harm: from annotations of pods to entries of a history, bits of a run, and a capped namespace. */
#include "learn_fixture.h"

#include "engine/caps.h"

#define SET(...) "{\"v\":1,\"mode\":\"enforce\",\"rev\":7,\"runs\":9,\"set\":[" __VA_ARGS__ "]}"
#define SET_OF(of, ...)                                                                                                \
	"{\"v\":1,\"of\":\"" of "\",\"mode\":\"enforce\",\"rev\":7,\"runs\":9,\"set\":[" __VA_ARGS__ "]}"
#define MEMORY(f, to) "{\"c\":\"main\",\"r\":\"memory\",\"f\":\"" f "\",\"to\":\"" to "\",\"rule\":\"peak+buffer\"}"
#define MEMORY_FROM(f, from, to)                                                                                       \
	"{\"c\":\"main\",\"r\":\"memory\",\"f\":\"" f "\",\"from\":\"" from "\",\"to\":\"" to                          \
	"\",\"rule\":\"median\",\"cap\":\"at most 25 % a run\"}"

/* ---- the fold ---- */

struct seen {
	const char *name, *decision;
	int64_t request_mib, limit_mib, peak_mib, killed_mib;
	unsigned int ends, container_ends;
	int64_t room_wait_ms, ephemeral_request_mib, ephemeral_limit_mib;
};

static void put(struct pod_table *table, const struct seen *seen)
{
	struct pod *pod = pod_set_add(&table->pods, "ml", seen->name, seen->name);
	struct pod_container container = {.name = "main", .image = "i"};

	assert_non_null(pod);
	pod->owner_kind = "Job";
	pod->owner_name = "train-7";
	pod->decision = seen->decision ? seen->decision : "";
	pod->start_ms = pod->seen_from_ms = NOW_MS - TIME_HOUR_MS;
	pod->completion_ms = seen->ends ? NOW_MS - TIME_MINUTE_MS : 0;
	pod->ends = seen->ends;
	pod->room_wait_ms = seen->room_wait_ms;
	pod->pending_ms = TIME_HOUR_MS; /* for whatever: a gate, accelerators */
	pod->is_alive = !seen->ends;
	container.request_bytes = seen->request_mib * MI;
	container.limit_bytes = seen->limit_mib * MI;
	container.ephemeral_request_bytes = seen->ephemeral_request_mib * MI;
	container.ephemeral_limit_bytes = seen->ephemeral_limit_mib * MI;
	container.peak_bytes = seen->peak_mib * MI;
	container.ends = seen->container_ends;
	if (seen->killed_mib)
		run_add_killed_limit(container.killed_limits, &container.n_killed_limits, seen->killed_mib * MI);
	assert_int_equal(vec_push(&pod->containers, container), 0);
}

static void fold_seen(const struct seen *seen, size_t n, struct pod_table *table, struct fold *fold)
{
	const struct fold_options options = {.now_ms = NOW_MS, .source = "pods"};

	for (size_t i = 0; i < n; i++)
		put(table, &seen[i]);
	assert_int_equal(fold_runs(table, &options, fold, NULL), 0);
	assert_int_equal(fold->runs.n, 1);
}

#define EVICTED		 .ends = END_FAILED | END_EVICTED | END_EVICTED_MEMORY, .container_ends = END_ERROR
#define EVICTED_FOR_DISK .ends = END_FAILED | END_EVICTED | END_EVICTED_EPHEMERAL
#define KILLED		 .ends = END_FAILED, .container_ends = END_OOM_KILLED
#define DISK_LIMIT(from)                                                                                               \
	"{\"c\":\"main\",\"r\":\"ephemeral-storage\",\"f\":\"limit\"," from "\"to\":\"1Gi\",\"rule\":\"peak+buffer\"}"

static void harm_is_what_we_took_or_added(void **state)
{
	static const struct {
		struct seen seen;
		unsigned int harm;
		int64_t waited_ms;
	} rows[] = {
		{{"lowered", SET(MEMORY_FROM("limit", "128Mi", "96Mi")), 64, 96, 96, 96, KILLED}, 1U << HARM_OOM, 0},
		{{"filled", SET(MEMORY("limit", "96Mi")), 64, 96, 96, 96, KILLED}, 1U << HARM_OOM, 0},
		{{"the source knows no limits of kills", SET(MEMORY("limit", "96Mi")), 64, 96, 96, 0, KILLED},
		 1U << HARM_OOM,
		 0},
		{{"raised since, in place", SET(MEMORY("limit", "96Mi")), 64, 192, 96, 96,
		  .container_ends = END_OOM_RESTARTED},
		 1U << HARM_OOM,
		 0},
		{{"filled, and scaled by a VerticalPodAutoscaler", SET_OF("j", MEMORY("limit", "96Mi")), 32, 48, 48, 48,
		  KILLED},
		 1U << HARM_OOM,
		 0},
		{{"filled, scaled, killed at a limit that is not known", SET_OF("j", MEMORY("limit", "96Mi")), 32, 48,
		  48, 0, KILLED},
		 1U << HARM_OOM,
		 0},
		{{"filled, scaled, not killed", SET_OF("j", MEMORY("limit", "96Mi")), 32, 48, 48, 0, .ends = END_FAILED,
		  .container_ends = END_ERROR},
		 0,
		 0},
		{{"a bare pod from copied YAML", SET_OF("", MEMORY("limit", "96Mi")), 32, 48, 48, 48, KILLED}, 0, 0},
		{{"raised by us", SET(MEMORY_FROM("limit", "64Mi", "96Mi")), 64, 96, 96, 96, KILLED}, 0, 0},
		{{"killed at its own", NULL, 64, 96, 96, 96, KILLED}, 0, 0},
		{{"copied yaml", SET(MEMORY("limit", "80Mi")), 64, 96, 96, 96, KILLED}, 0, 0},
		{{"of another container",
		  "{\"v\":1,\"mode\":\"raise\",\"set\":[{\"c\":\"x\",\"r\":\"memory\",\"f\":\"limit\","
		  "\"to\":\"96Mi\",\"rule\":\"oom\"}]}",
		  64, 96, 96, 96, KILLED},
		 0,
		 0},
		{{"hand-edited", "{\"v\":1,\"mode\":\"raise\",\"set\":{}}", 64, 96, 96, 96, KILLED}, 0, 0},
		{{"evicted", SET(MEMORY_FROM("request", "96Mi", "64Mi")), 64, 128, 80, 0, EVICTED},
		 1U << HARM_EVICTED,
		 0},
		{{"evicted, not measured", SET(MEMORY_FROM("request", "96Mi", "64Mi")), 64, 128, 0, 0, EVICTED},
		 1U << HARM_EVICTED,
		 0},
		{{"evicted below it", SET(MEMORY_FROM("request", "96Mi", "64Mi")), 64, 128, 50, 0, EVICTED}, 0, 0},
		{{"evicted, raised", SET(MEMORY_FROM("request", "32Mi", "64Mi")), 64, 128, 80, 0, EVICTED}, 0, 0},
		{{"evicted, edited since", SET(MEMORY_FROM("request", "96Mi", "64Mi")), 70, 128, 80, 0, EVICTED}, 0, 0},
		{{"evicted at a disk limit that we added", SET(DISK_LIMIT("")), 64, 128, 0, 0,
		  EVICTED_FOR_DISK | END_DISK_LIMIT, .ephemeral_limit_mib = 1024},
		 1U << HARM_EVICTED,
		 0},
		{{"evicted as the node's disk was full", SET(DISK_LIMIT("")), 64, 128, 0, 0, EVICTED_FOR_DISK,
		  .ephemeral_limit_mib = 1024},
		 0,
		 0},
		{{"evicted at its own disk limit", NULL, 64, 128, 0, 0, EVICTED_FOR_DISK | END_DISK_LIMIT,
		  .ephemeral_limit_mib = 1024},
		 0,
		 0},
		{{"evicted at a disk limit edited since", SET(DISK_LIMIT("")), 64, 128, 0, 0,
		  EVICTED_FOR_DISK | END_DISK_LIMIT, .ephemeral_limit_mib = 512},
		 0,
		 0},
		{{"waited", SET(MEMORY_FROM("request", "32Mi", "64Mi")), 64, 128, 0, 0,
		  .ends = END_UNSCHEDULABLE_MEMORY | END_SUCCEEDED, .room_wait_ms = 5000},
		 0,
		 5000},
		{{"waited, lowered", SET(MEMORY_FROM("request", "96Mi", "64Mi")), 64, 128, 0, 0,
		  .ends = END_UNSCHEDULABLE_MEMORY | END_SUCCEEDED, .room_wait_ms = 5000},
		 0,
		 0},
		{{"waited for disk, memory raised", SET(MEMORY_FROM("request", "32Mi", "64Mi")), 64, 128, 0, 0,
		  .ends = END_UNSCHEDULABLE_EPHEMERAL | END_SUCCEEDED, .room_wait_ms = 5000},
		 0,
		 0},
		{{"waited for disk, disk added",
		  SET("{\"c\":\"main\",\"r\":\"ephemeral-storage\",\"f\":\"request\",\"to\":\"1Gi\",\"rule\":\"no-"
		      "history\"}"),
		  64, 128, 0, 0, .ends = END_UNSCHEDULABLE_EPHEMERAL | END_SUCCEEDED, .room_wait_ms = 5000,
		  .ephemeral_request_mib = 1024},
		 0,
		 5000},
		{{"waited for memory, disk added",
		  SET("{\"c\":\"main\",\"r\":\"ephemeral-storage\",\"f\":\"request\",\"to\":\"1Gi\",\"rule\":\"no-"
		      "history\"}"),
		  64, 128, 0, 0, .ends = END_UNSCHEDULABLE_MEMORY | END_SUCCEEDED, .room_wait_ms = 5000,
		  .ephemeral_request_mib = 1024},
		 0,
		 0},
		{{"refused", SET(MEMORY_FROM("request", "32Mi", "64Mi")), 64, 128, 0, 0,
		  .ends = END_QUOTA | END_SUCCEEDED},
		 1U << HARM_QUOTA,
		 0},
		{{"refused, lowered", SET(MEMORY_FROM("request", "96Mi", "64Mi")), 64, 128, 0, 0,
		  .ends = END_QUOTA | END_SUCCEEDED},
		 0,
		 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pod_table table = POD_TABLE_INIT;
		struct fold fold = {.is_open = NULL};

		fold_seen(&rows[i].seen, 1, &table, &fold);
		if (fold.runs.items[0].run.harm != rows[i].harm ||
		    fold.runs.items[0].harm_waited_ms != rows[i].waited_ms)
			fail_msg("%s: harm %x", rows[i].seen.name, fold.runs.items[0].run.harm);
		if (rows[i].seen.ends & END_DISK_LIMIT)
			assert_int_equal(fold.runs.items[0].run.peak_ephemeral_bytes,
					 rows[i].seen.ephemeral_limit_mib * MI);
		fold_release(&fold);
		pod_table_release(&table);
	}
}

static void one_entry_for_each_set_of_values(void **state)
{
	static const struct seen seen[] = {
		{"a", SET(MEMORY("request", "64Mi") "," MEMORY_FROM("limit", "128Mi", "96Mi")), 64, 96, 50,
		 .killed_mib = 0},
		{"b", SET(MEMORY("request", "64Mi") "," MEMORY_FROM("limit", "128Mi", "96Mi")), 64, 96, 50,
		 .killed_mib = 0},
		{"c", SET(MEMORY("request", "64Mi") "," MEMORY_FROM("limit", "128Mi", "192Mi")), 64, 192, 50,
		 .killed_mib = 0},
		{"d", SET(MEMORY("request", "64Mi") "," MEMORY_FROM("limit", "128Mi", "96Mi")), 64, 100, 50,
		 .killed_mib = 0},
		{"e", NULL, 64, 96, 50, .killed_mib = 0},
	};
	struct pod_table table = POD_TABLE_INIT;
	struct fold fold = {.is_open = NULL};
	const struct history_decision *entries;

	(void)state;
	fold_seen(seen, ARRAY_LEN(seen), &table, &fold);
	entries = fold.runs.items[0].decisions.items;
	assert_int_equal(fold.runs.items[0].decisions.n, 3);
	assert_string_equal(entries[0].owner, "Job/train-7");
	assert_string_equal(entries[0].pod, "a");
	assert_int_equal(entries[0].pods, 2);
	assert_int_equal(entries[0].mode, MODE_ENFORCE);
	assert_int_equal(entries[0].revision, 7);
	assert_int_equal(entries[0].request_to_bytes, 64 * MI);
	assert_int_equal(entries[0].limit_from_bytes, 128 * MI);
	assert_int_equal(entries[0].limit_to_bytes, 96 * MI);
	assert_string_equal(entries[0].rule, "median");
	assert_string_equal(entries[0].cap, "at most 25 % a run");
	assert_int_equal(entries[1].limit_to_bytes, 192 * MI);
	/* the limit was changed by somebody else: only the request is ours */
	assert_int_equal(entries[2].limit_to_bytes, 0);
	assert_int_equal(entries[2].request_to_bytes, 64 * MI);
	fold_release(&fold);
	pod_table_release(&table);
}

/* ---- histories ---- */

static struct history_decision entry_of(int n, int pods)
{
	struct history_decision entry = {.time_ms = NOW_MS - TIME_HOUR_MS / 2 + n * 1000,
					 .pods = pods,
					 .mode = MODE_RAISE,
					 .revision = 7,
					 .limit_from_bytes = 64 * MI,
					 .limit_to_bytes = (96 + n) * MI,
					 .rule = "peak+buffer"};

	snprintf(entry.owner, sizeof(entry.owner), "Job/train-7");
	return entry;
}

static void entries_are_noted_once(void **state)
{
	struct found_run run;
	struct history *history;
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	make_run(&run, "ml", "train-7", 0, 0);
	for (int i = 0; i < 40; i++)
		assert_int_equal(vec_push(&run.decisions, entry_of(i, 8)), 0);
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(learn.notices.n, 40);
	assert_string_equal(learn.notices.items[0].owner, "Job/train-7");
	assert_string_equal(learn.notices.items[0].reason, "MemorySet");
	assert_string_equal(learn.notices.items[0].text,
			    "main: memory limit 96Mi (was 64Mi): peak+buffer, revision 7, 8 pods");
	learn_release(&learn);
	history = history_of(&place);
	assert_int_equal(history->decisions.n, LIMIT_HISTORY_DECISIONS);
	assert_int_equal(history->decisions.items[0].limit_to_bytes, (96 + 8) * MI);
	history_free(history);
	/* again, as after a restart: nothing is new, nor what has fallen out */
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(learn.notices.n, 0);
	assert_int_equal(learn.n_profiles_changed, 0);
	learn_release(&learn);
	/* more pods of an entry: counted, and said only as more of the same */
	run.decisions.items[39].pods = 12;
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(learn.notices.n, 1);
	assert_true(learn.notices.items[0].is_update);
	learn_release(&learn);
	run.decisions.items[39].pods = 3;
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(learn.notices.n, 0);
	learn_release(&learn);
	history = history_of(&place);
	assert_int_equal(history->decisions.items[LIMIT_HISTORY_DECISIONS - 1].pods, 12);
	history_free(history);
	vec_release(&run.decisions);
	teardown(&place);
}

/* The same Job deleted and made again, as every night: each time is an entry. */
static void an_owner_made_again_is_another_one(void **state)
{
	struct found_run run;
	struct history *history;
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	for (int night = 3; night >= 0; night--) {
		struct history_decision entry = entry_of(0, 1);

		make_run(&run, "ml", "train-7", night, 0);
		run.run.start_ms -= night * TIME_DAY_MS;
		entry.time_ms = run.run.start_ms - TIME_MINUTE_MS;
		assert_int_equal(vec_push(&run.decisions, entry), 0);
		learn_from(&place, &run, 1, &learn);
		learn_release(&learn);
		/* seen again when its first pod is gone, it is the same one */
		run.decisions.items[0].time_ms += TIME_HOUR_MS / 4;
		learn_from(&place, &run, 1, &learn);
		learn_release(&learn);
		vec_release(&run.decisions);
	}
	history = history_of(&place);
	assert_int_equal(history->decisions.n, 4);
	history_free(history);
	teardown(&place);
}

static void old_entries_make_no_event(void **state)
{
	struct found_run run;
	struct learn learn;
	struct place place;
	struct history_decision entry = entry_of(0, 1);

	(void)state;
	setup(&place);
	make_run(&run, "ml", "train-7", 0, 0);
	entry.time_ms = NOW_MS - 2 * TIME_HOUR_MS;
	assert_int_equal(vec_push(&run.decisions, entry), 0);
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(learn.notices.n, 0);
	learn_release(&learn);
	vec_release(&run.decisions);
	teardown(&place);
}

static void harm_is_counted_once(void **state)
{
	struct found_run run;
	struct history *history;
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	make_run(&run, "ml", "train-7", 0, 1U << HARM_OOM);
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(harms_of(&learn), 1);
	assert_int_equal(learn.notices.items[0].harm, HARM_OOM);
	assert_int_equal(learn.notices.n, 1);
	assert_true(learn.notices.items[0].is_warning);
	learn_release(&learn);
	/* once more, and one kind more; the first is not forgotten when it is not told again */
	run.run.harm = 0;
	run.harm_waited_ms = place.config->harm.pending_after_ms;
	run.run.duration_ms++;
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(harms_of(&learn), 1);
	assert_int_equal(learn.notices.items[0].harm, HARM_PENDING);
	learn_release(&learn);
	/* a worse finding of a run that is known better still brings its harm */
	run.run.is_whole = false;
	run.run.harm = 1U << HARM_QUOTA;
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(harms_of(&learn), 1);
	learn_release(&learn);
	history = history_of(&place);
	assert_int_equal(history->runs.items[0].harm, 1U << HARM_OOM | 1U << HARM_PENDING | 1U << HARM_QUOTA);
	assert_true(history->runs.items[0].is_whole);
	assert_int_equal(history->days.items[0].harms, 1);
	history_free(history);
	teardown(&place);
}

/* ---- the cap ---- */

static int find_cap(void *context, struct profile *take_profile, struct err *err)
{
	(void)err;
	if (streq(take_profile->name, PROFILE_OF_NAMESPACE))
		snprintf(context, 12, "%s", take_profile->spec->mode_cap);
	profile_free(take_profile);
	return 0;
}

static const char *cap_of(struct place *place, char ret[12])
{
	const struct store_visitor visitor = {.context = ret, .profile = find_cap};

	ret[0] = '\0';
	assert_int_equal(store_visit(place->store, &visitor, NULL), 0);
	return ret;
}

/* `n` runs of which the last `harmed` are harmed, one second apart, from `first` on. */
static void cap_after(struct place *place, struct namespace_caps *caps, int first, int n, int harmed, int64_t now_ms,
		      struct capped *ret_capped, bool *ret_changed)
{
	struct found_run *runs = calloc((size_t)n, sizeof(*runs));
	struct learn learn = {.config = place->config, .store = place->store, .now_ms = now_ms, .caps = caps};
	char job[32];

	for (int i = 0; i < n; i++) {
		snprintf(job, sizeof(job), "train%cbert", 'a' + (first + i) % 20);
		make_run(&runs[i], "ml", job, first + i, i >= n - harmed ? 1U << HARM_OOM : 0);
		runs[i].run.start_ms = now_ms - TIME_HOUR_MS + (first + i) * 1000;
		runs[i].run.duration_ms = 500;
	}
	*ret_changed = false;
	assert_int_equal(learn_runs(&learn, runs, (size_t)n, NULL), 0);
	assert_int_equal(learn_commit(&learn, NULL, 0, NULL), 0);
	assert_int_equal(caps_check(caps, &learn, ret_changed, ret_capped, NULL), 0);
	learn_release(&learn);
	free(runs);
}

static void too_much_harm_caps_a_namespace_once(void **state)
{
	struct namespace_caps caps = {.items = VEC_INIT};
	struct place place;
	bool is_changed;
	struct capped capped;
	char cap[12];

	(void)state;
	setup(&place);
	cap_after(&place, &caps, 0, 20, 2, NOW_MS, &capped, &is_changed);
	assert_string_equal(cap_of(&place, cap), ""); /* two are not three */
	assert_int_equal(capped.n[CAP_BY_HARM], 0);
	assert_false(is_changed);
	cap_after(&place, &caps, 20, 3, 1, NOW_MS + 1, &capped, &is_changed);
	assert_string_equal(cap_of(&place, cap), "observe");
	assert_int_equal(capped.n[CAP_BY_HARM], 1);
	assert_true(is_changed);
	/* A person takes it out: harm of runs that began before that does not set it again. */
	assert_int_equal(store_release_mode_cap(place.store, "ml", PROFILE_OF_NAMESPACE, "observe", NULL), 0);
	cap_after(&place, &caps, 23, 5, 5, NOW_MS + TIME_HOUR_MS / 2, &capped, &is_changed);
	assert_true(is_changed); /* it was noted */
	assert_int_equal(capped.n[CAP_BY_HARM], 0);
	assert_string_equal(cap_of(&place, cap), "");
	/* ... what begins later does */
	cap_after(&place, &caps, 28, 3, 3, NOW_MS + 3 * TIME_HOUR_MS, &capped, &is_changed);
	assert_string_equal(cap_of(&place, cap), "observe");
	caps_release(&caps);
	teardown(&place);
}

static void one_percent_is_not_too_much(void **state)
{
	struct namespace_caps caps = {.items = VEC_INIT};
	struct place place;
	bool is_changed;
	struct capped capped;
	char cap[12];

	(void)state;
	setup(&place);
	cap_after(&place, &caps, 0, 300, 3, NOW_MS, &capped, &is_changed);
	assert_string_equal(cap_of(&place, cap), "");
	cap_after(&place, &caps, 300, 1, 1, NOW_MS + 1, &capped, &is_changed);
	assert_string_equal(cap_of(&place, cap), "observe");
	caps_release(&caps);
	teardown(&place);
}

static void the_state_comes_back(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct namespace_caps caps = {.items = VEC_INIT}, again = {.items = VEC_INIT};
	const struct namespace_cap cap = {.namespace_name = "ml", .since_ms = NOW_MS, .is_set = true};
	struct json_object *object;

	(void)state;
	assert_int_equal(vec_push(&caps.items, cap), 0);
	strbuf_adds(&text, "{\"caps\":");
	caps_encode(&caps, &text);
	strbuf_addc(&text, '}');
	assert_int_equal(json_parse(text.text, text.len, 8, &object, NULL), 0);
	assert_int_equal(caps_decode(object, &again, NULL), 0);
	assert_int_equal(again.items.n, 1);
	assert_string_equal(again.items.items[0].namespace_name, "ml");
	assert_int_equal(again.items.items[0].since_ms, NOW_MS);
	assert_true(again.items.items[0].is_set);
	json_object_put(object);
	assert_int_equal(json_parse("{}", 2, 8, &object, NULL), 0);
	assert_int_equal(caps_decode(object, &again, NULL), 0); /* of an older release */
	json_object_put(object);
	assert_int_equal(json_parse("{\"caps\":[{}]}", 13, 8, &object, NULL), 0);
	assert_int_equal(caps_decode(object, &again, NULL), -EINVAL);
	json_object_put(object);
	caps_release(&caps);
	caps_release(&again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(harm_is_what_we_took_or_added),
		cmocka_unit_test(one_entry_for_each_set_of_values),
		cmocka_unit_test(entries_are_noted_once),
		cmocka_unit_test(an_owner_made_again_is_another_one),
		cmocka_unit_test(old_entries_make_no_event),
		cmocka_unit_test(harm_is_counted_once),
		cmocka_unit_test(too_much_harm_caps_a_namespace_once),
		cmocka_unit_test(one_percent_is_not_too_much),
		cmocka_unit_test(the_state_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
