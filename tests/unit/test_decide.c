/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of decide() over random pods and profiles. The golden cases hold the words; here is what must never break.
 */
#include "decide_fixture.h"

#include "../golden/json_patch.h"

#include <errno.h>
#include <stdio.h>

enum { ROUNDS = 3000, NODE_GI = 512 };

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t z = (*state ^ (*state >> 30)) * 0xbf58476d1ce4e5b9u;

	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int64_t pick(uint64_t *state, int64_t n)
{
	return (int64_t)(next_random(state) % (uint64_t)n);
}

static bool chance(uint64_t *state, int percent)
{
	return pick(state, 100) < percent;
}

static const char *random_size(uint64_t *state, char buf[32], int64_t max_mi)
{
	int64_t mi = 1 + pick(state, max_mi);

	if (chance(state, 50))
		snprintf(buf, 32, "%lldMi", (long long)mi);
	else
		snprintf(buf, 32, "%lldGi", (long long)(1 + mi / 1024));
	return buf;
}

static void add_amounts(uint64_t *state, struct strbuf *buf, const char *name, int64_t max_mi, bool wants_memory)
{
	char text[32];

	strbuf_addf(buf, "\"%s\":{\"x\":\"1\"", name);
	if (wants_memory)
		strbuf_addf(buf, ",\"memory\":\"%s\"", random_size(state, text, max_mi));
	if (chance(state, 40))
		strbuf_addf(buf, ",\"cpu\":\"%d\"", 4);
	if (chance(state, 30))
		strbuf_addf(buf, ",\"ephemeral-storage\":\"%s\"", random_size(state, text, 20000));
	if (name[0] == 'l' && chance(state, 80))
		strbuf_addf(buf, ",\"nvidia.com/gpu\":\"%d\"", 1 + (int)pick(state, 8));
	strbuf_adds(buf, "}");
}

static void add_container(uint64_t *state, struct strbuf *buf, const char *name, const char *extra)
{
	bool has_request = chance(state, 50), has_limit = chance(state, 60);

	strbuf_addf(buf, "{\"name\":\"%s\",\"image\":\"i:1\"%s", name, extra);
	if (chance(state, 85)) {
		strbuf_adds(buf, ",\"resources\":{");
		if (has_request)
			add_amounts(state, buf, "requests", 100 * 1024, chance(state, 70));
		if (has_request && has_limit)
			strbuf_adds(buf, ",");
		if (has_limit)
			add_amounts(state, buf, "limits", 400 * 1024, chance(state, 70));
		strbuf_adds(buf, "}");
	}
	strbuf_adds(buf, "}");
}

static void random_pod(uint64_t *state, struct strbuf *buf)
{
	static const char *const marks[] = {"", "\"kueue.x-k8s.io/queue-name\":\"q\",",
					    "\"memtamer.io/critical\":\"true\","};

	strbuf_clear(buf);
	strbuf_addf(buf,
		    "{\"metadata\":{\"generateName\":\"train-\",\"labels\":{%s\"memtamer.io/training\":\"true\","
		    "\"batch.kubernetes.io/job-name\":\"train\"}",
		    marks[pick(state, 3)]);
	if (chance(state, 85))
		strbuf_adds(buf, ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
				 "\"train\",\"uid\":\"u\",\"controller\":true}]");
	strbuf_adds(buf, "},\"spec\":{\"containers\":[");
	add_container(state, buf, "main", "");
	if (chance(state, 30)) {
		strbuf_adds(buf, ",");
		add_container(state, buf, "side", "");
	}
	strbuf_adds(buf, "]");
	if (chance(state, 20)) {
		strbuf_adds(buf, ",\"initContainers\":[");
		add_container(state, buf, "init", chance(state, 50) ? ",\"restartPolicy\":\"Always\"" : "");
		strbuf_adds(buf, "]");
	}
	if (chance(state, 10))
		strbuf_adds(buf, ",\"resources\":{\"limits\":{\"memory\":\"200Gi\",\"cpu\":\"8\"}}");
	if (chance(state, 20))
		strbuf_adds(buf, ",\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}},"
				 "{\"name\":\"s\",\"emptyDir\":{\"medium\":\"Memory\"}}]");
	strbuf_adds(buf, "}}");
}

static struct recommendation random_recommendation(uint64_t *state)
{
	struct recommendation rec = {.runs = (int32_t)pick(state, 20), .confidence = (uint8_t)pick(state, 4)};

	rec.whole_runs = rec.runs;
	rec.buffer_permille = 50 + (int32_t)pick(state, 300);
	rec.peak_bytes = (1 + pick(state, 200 * 1024)) * MI + pick(state, MI);
	rec.median_bytes = rec.peak_bytes / (1 + pick(state, 4));
	rec.limit_bytes = rec.peak_bytes / 1000 * (1000 + rec.buffer_permille);
	rec.request_bytes = chance(state, 20) ? rec.limit_bytes : rec.median_bytes;
	if (chance(state, 20)) {
		rec.proven_bytes = rec.peak_bytes / 2 * (1 + pick(state, 3));
		rec.limit_bytes = MAX(rec.limit_bytes, 2 * rec.proven_bytes);
		rec.oom_kills = 1;
	}
	if (chance(state, 40)) {
		rec.ephemeral_peak_bytes = (1 + pick(state, 20000)) * MI;
		rec.ephemeral_request_bytes = rec.ephemeral_peak_bytes / 2;
		rec.ephemeral_limit_bytes = rec.ephemeral_peak_bytes * 5 / 4;
	}
	if (chance(state, 15))
		rec.flags = (uint8_t)pick(state, 32);
	return rec;
}

static void random_policy(uint64_t *state, struct policy *policy)
{
	policy->mode = (enum mode)(MODE_OBSERVE + pick(state, 5));
	if (policy->mode > MODE_ENFORCE) /* the rung with the most to go wrong comes twice */
		policy->mode = MODE_ENFORCE;
	policy->sizing.no_history = (enum no_history)pick(state, 3);
	for (int i = 0; i < CHECK_COUNT_; i++)
		if (chance(state, 10))
			policy->actions[i] = (enum check_action)pick(state, ACTION_COUNT_);
}

struct round {
	struct decide_fixture fixture;
	struct recommendation rec;
	bool has_history, is_complete;
	uint64_t seed;
};

static void round_init(struct round *self, uint64_t seed, struct strbuf *text)
{
	uint64_t state = seed;

	*self = (struct round){.seed = seed};
	random_pod(&state, text);
	self->rec = random_recommendation(&state);
	self->has_history = chance(&state, 80);
	self->is_complete = chance(&state, 50);
	fixture_init(&self->fixture, strbuf_text(text),
		     fixture_snapshot(self->has_history ? &self->rec : NULL, NODE_GI * GI, self->is_complete));
	random_policy(&state, &self->fixture.policy);
	fixture_decide(&self->fixture);
}

static bool is_plain(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return n > 0 && n <= LIMIT_WARNING_CHARS;
}

static void check_words(struct decide_fixture *f)
{
	const char *const *items;
	size_t n;

	for (size_t i = 0; i < f->decision.n_findings; i++) {
		assert_true(is_plain(f->decision.findings[i].text));
		assert_true(f->decision.findings[i].pointer[0] == '/');
		assert_true(f->decision.findings[i].action == ACTION_WARN ||
			    f->decision.findings[i].action == ACTION_PATCH);
		assert_true(i == 0 || f->decision.findings[i].check >= f->decision.findings[i - 1].check);
	}
	assert_int_equal(render_warnings(&f->input, &f->decision, &f->arena, &items, &n), 0);
	assert_true(n <= LIMIT_WARNINGS);
	for (size_t i = 0; i < n; i++)
		assert_true(is_plain(items[i]) && strstarts(items[i], "memtamer: "));
}

static const struct k8s_amount *written(const struct size_change *size, enum size_field field)
{
	const struct k8s_resources *resources = &size->container->resources;

	return &(field == SIZE_LIMIT ? resources->limits : resources->requests)[size->resource];
}

/* What would stand there without us: a request that is not written is made of the limit. 0: nothing. */
static int64_t bytes_before(const struct size_change *size)
{
	const struct k8s_amount *amount = written(size, size->field);

	if (!amount->text)
		amount = written(size, SIZE_LIMIT);
	return amount->text ? amount->value : 0;
}

static void check_ladder(const struct round *self)
{
	const struct decision *decision = &self->fixture.decision;
	bool is_queued = k8s_label_get(&self->fixture.pod.labels, "kueue.x-k8s.io/queue-name") != NULL;

	for (size_t i = 0; i < decision->n_sizes; i++) {
		const struct size_change *size = &decision->sizes[i];
		bool is_default = streq(size->rule, "default");
		int64_t before = bytes_before(size);

		assert_true(size->resource == K8S_MEMORY || size->resource == K8S_EPHEMERAL_STORAGE);
		assert_true(decision->mode > MODE_OBSERVE);
		assert_int_equal(size->has_from, written(size, size->field)->text != NULL);
		assert_int_equal(size->from_bytes, size->has_from ? before : 0);
		assert_true(size->to_bytes > 0 && (size->to_bytes != before || is_default));
		assert_true(!before || decision->mode >= MODE_RAISE);
		assert_true(size->to_bytes > before || is_default || decision->mode == MODE_ENFORCE);
		/* A step down is at most a quarter. */
		assert_true(size->to_bytes >= before / 4 * 3);
		assert_false(is_queued && size->field == SIZE_REQUEST && !is_default);
		assert_true(size->reason[0] && size->rule[0]);
		for (size_t k = 0; k < i; k++)
			assert_false(decision->sizes[k].container == size->container &&
				     decision->sizes[k].resource == size->resource &&
				     decision->sizes[k].field == size->field);
	}
}

static bool is_orderly(const struct k8s_pod *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		for (int r = K8S_MEMORY; r <= K8S_EPHEMERAL_STORAGE; r++) {
			const struct k8s_amount *request = &pod->containers[i].resources.requests[r];
			const struct k8s_amount *limit = &pod->containers[i].resources.limits[r];

			if (request->text && limit->text && request->value > limit->value)
				return false;
		}
	return true;
}

static void check_nodes(const struct round *self, const struct k8s_pod *before, const struct k8s_pod *after)
{
	const struct decision *decision = &self->fixture.decision;

	if (!self->is_complete || !decision->ask.resource[0] || decision->ask.count > 8)
		return;
	for (size_t i = 0; i < decision->n_sizes; i++)
		if (decision->sizes[i].resource == K8S_MEMORY &&
		    decision->sizes[i].to_bytes > bytes_before(&decision->sizes[i]))
			assert_true(decision->sizes[i].to_bytes <= NODE_GI * GI);
	if (k8s_pod_effective_request(before, K8S_MEMORY) <= NODE_GI * GI)
		assert_true(k8s_pod_effective_request(after, K8S_MEMORY) <= NODE_GI * GI);
}

/* Apply the patch as the API server would, then ask again: the answer must be "nothing left to do". */
static void check_patch(struct round *self)
{
	struct decide_fixture *f = &self->fixture;
	CLEANUP(strbuf_release)
	struct strbuf patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES), again = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	struct k8s_pod before = f->pod;
	CLEANUP(json_putp) struct json_object *operations = NULL;
	bool was_orderly;

	assert_int_equal(render_patch(&f->input, &f->decision, &f->arena, &patch), 0);
	fixture_decide(f);
	assert_int_equal(render_patch(&f->input, &f->decision, &f->arena, &again), 0);
	assert_string_equal(strbuf_text(&patch), strbuf_text(&again));
	if (!patch.len) {
		assert_int_equal(f->decision.n_sizes, 0);
		return;
	}
	assert_null(strstr(strbuf_text(&patch), "/cpu\""));
	k8s_pod_default(&before);
	was_orderly = is_orderly(&before);
	check_nodes(self, &before, &before);
	assert_int_equal(json_parse(strbuf_text(&patch), patch.len, 16, &operations, NULL), 0);
	assert_int_equal(json_patch_apply(f->object, operations), 0);
	fixture_decode(f);
	k8s_pod_default(&f->pod);
	assert_true(k8s_pod_qos(&f->pod) >= k8s_pod_qos(&before));
	assert_true(is_orderly(&f->pod) || !was_orderly);
	check_nodes(self, &before, &f->pod);
	fixture_decide(f);
	assert_int_equal(f->decision.n_sizes, 0);
	assert_int_equal(render_patch(&f->input, &f->decision, &f->arena, &again), 0);
	assert_string_equal(strbuf_text(&again), "");
}

static void random_pods_keep_the_rules(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	size_t n_sized = 0, n_lowered = 0, n_patched_modes = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct round self;

		round_init(&self, seed, &text);
		assert_null(self.fixture.decision.skip);
		n_sized += self.fixture.decision.n_sizes > 0;
		n_patched_modes += self.fixture.decision.mode >= MODE_RAISE;
		for (size_t i = 0; i < self.fixture.decision.n_sizes; i++)
			n_lowered += self.fixture.decision.sizes[i].to_bytes <
				     bytes_before(&self.fixture.decision.sizes[i]);
		check_words(&self.fixture);
		check_ladder(&self);
		check_patch(&self);
		fixture_release(&self.fixture);
	}
	/* The generator must reach what it is to test. */
	assert_true(n_sized > ROUNDS / 4);
	assert_true(n_lowered > ROUNDS / 50);
	assert_true(n_patched_modes > ROUNDS / 4);
}

static bool is_usable(const struct recommendation *rec)
{
	return rec->confidence >= CONFIDENCE_MEDIUM;
}

/* More use, with the recommendation that goes with it, never makes a smaller limit. */
static void more_use_never_means_less_limit(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS / 3; seed++) {
		struct round self;
		struct recommendation more;
		int64_t before, after;

		round_init(&self, seed, &text);
		before = fixture_final_limit(&self.fixture);
		if (self.has_history) {
			more = self.rec;
			more.peak_bytes += more.peak_bytes / 3;
			more.limit_bytes += more.limit_bytes / 3;
			snapshot_unref(self.fixture.snapshot);
			self.fixture.snapshot = fixture_snapshot(&more, NODE_GI * GI, self.is_complete);
			self.fixture.input.snapshot = self.fixture.snapshot;
			fixture_decide(&self.fixture);
			/* Where the node ends, a raise may turn into a warning; and no limit is no smaller one: that
			 * of the GPU share is not added where a run used more. */
			after = fixture_final_limit(&self.fixture);
			assert_true(after >= before || (!after && !is_usable(&more)));
		}
		fixture_release(&self.fixture);
	}
}

/* Whatever the arena allows, the answer is whole or -ENOMEM. */
static void memory_runs_out(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct round self;
		size_t max = 0;
		int r = -ENOMEM, fails = 0;

		round_init(&self, seed, &text);
		while (r) {
			struct arena arena = ARENA_INIT(max);
			struct err err = ERR_INIT;
			struct decision decision = {.n_sizes = 77};

			r = decide(&self.fixture.input, &arena, &decision, &err);
			assert_true(r == 0 || r == -ENOMEM);
			assert_int_equal(err.code, r);
			assert_int_equal(decision.n_sizes, r ? 77 : self.fixture.decision.n_sizes);
			assert_true(r || decision.n_findings == self.fixture.decision.n_findings);
			fails += r != 0;
			max += 24;
			arena_release(&arena);
		}
		assert_true(fails > 3);
		fixture_release(&self.fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_pods_keep_the_rules),
		cmocka_unit_test(more_use_never_means_less_limit),
		cmocka_unit_test(memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
