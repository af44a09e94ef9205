/* SPDX-License-Identifier: Apache-2.0 */
/* micro: nanoseconds of CPU time of the steps of one admission, on the review that the benchmark posts.
 * Each step runs in batches; the fastest batch counts, because everything else on the machine only adds.
 *
 * micro REVIEW STORE prints one JSON line. */
#include "base/io.h"
#include "base/limits.h"
#include "k8s/quantity.h"
#include "k8s/review.h"
#include "policy/decide.h"
#include "policy/render.h"
#include "serve/admission.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define BATCHES 25
#define BATCH	400

struct bench {
	const struct strbuf *body;
	struct strbuf answer;
	struct snapshot *snapshot;
	struct policy policy;
	struct review review;
	struct k8s_pod pod;
	struct decide_input input;
	struct arena arena, scratch;
	struct config config;
	struct state state;
	struct metrics *metrics;
	struct client_log log;
	struct admission_scratch admission;
};

typedef int step_fn(struct bench *bench);

static int step_quantity(struct bench *bench)
{
	static const char *const texts[] = {"96Gi", "1500m", "0.5", "107374182400", "12e6", "64Mi", "100G", "1"};
	struct quantity quantity;
	int r = 0;

	(void)bench;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		r |= quantity_parse(texts[i], strlen(texts[i]), &quantity, NULL);
	return r;
}

static int step_read(struct bench *bench)
{
	struct review review;
	struct k8s_pod pod;

	arena_reset(&bench->scratch);
	return review_read_pod(bench->body->text, bench->body->len, &bench->scratch, &review, &pod, NULL);
}

static int step_decide(struct bench *bench)
{
	struct decision decision;

	arena_reset(&bench->scratch);
	return decide(&bench->input, &bench->scratch, &decision, NULL);
}

static int step_render(struct bench *bench)
{
	struct decision decision;
	const char *const *warnings;
	size_t n_warnings;
	int r;

	arena_reset(&bench->scratch);
	strbuf_clear(&bench->answer);
	r = decide(&bench->input, &bench->scratch, &decision, NULL);
	if (!r)
		r = render_patch(&bench->input, &decision, &bench->scratch, &bench->answer);
	if (!r)
		r = render_warnings(&bench->input, &decision, &bench->scratch, &warnings, &n_warnings);
	return r;
}

static int step_admission(struct bench *bench)
{
	const struct admission_world world = {
		.metrics = bench->metrics, .log = &bench->log, .state = &bench->state, .now_ms = bench->input.now_ms};
	struct err err = ERR_INIT;

	strbuf_clear(&bench->answer);
	return admission_review(&admission_mutate, &bench->admission, &world, bench->body->text, bench->body->len,
				&bench->answer, &err);
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int measure(struct bench *bench, step_fn *step, double *ret_ns)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < BATCHES; i++) {
		int64_t begin = cpu_ns(), spent;

		for (int j = 0; j < BATCH; j++)
			if (step(bench))
				return 1;
		spent = cpu_ns() - begin;
		best = spent < best ? spent : best;
	}
	*ret_ns = (double)best / BATCH;
	return 0;
}

/* Everything that a step needs from the steps before it. */
static int prepare(struct bench *bench, const char *store_path, struct err *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	int r = builder ? store_open_file(store_path, false, &store, err) : -1;

	if (!r)
		r = store_read_profiles(store, builder, err);
	if (r) {
		snapshot_builder_free(builder);
		return r;
	}
	bench->snapshot = snapshot_builder_finish(builder, 1);
	policy_default(&bench->policy);
	bench->policy.mode = MODE_ENFORCE;
	if (!bench->snapshot)
		return err_set(err, -1, "out of memory");
	r = review_read_pod(bench->body->text, bench->body->len, &bench->arena, &bench->review, &bench->pod, err);
	bench->input = (struct decide_input){.pod = &bench->pod,
					     .subject = SUBJECT_POD,
					     .namespace_name = bench->review.namespace_name,
					     .replicas = 1,
					     .snapshot = bench->snapshot,
					     .policy = &bench->policy,
					     .now_ms = 1793607300000};
	bench->config.policy = bench->policy;
	bench->state = (struct state){bench->snapshot, &bench->config};
	bench->metrics = metrics_new();
	admission_scratch_init(&bench->admission);
	return !r && !bench->metrics ? err_set(err, -1, "out of memory") : r;
}

static int run_steps(struct bench *bench)
{
	static const struct {
		const char *name;
		step_fn *step;
		int calls; /* of the thing measured in one step */
	} steps[] = {
		{"quantity_parse", step_quantity, 8},
		{"review_read_pod", step_read, 1},
		{"decide", step_decide, 1},
		{"decide + render", step_render, 1},
		{"admission_review (all of it)", step_admission, 1},
	};
	double ns = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (measure(bench, steps[i].step, &ns)) {
			fprintf(stderr, "micro: %s fails\n", steps[i].name);
			return 1;
		}
		printf("%s\"%s\":%.0f", i ? "," : "{", steps[i].name, ns / steps[i].calls);
	}
	printf(",\"review_bytes\":%zu,\"patch_bytes\":%zu}\n", bench->body->len, bench->answer.len);
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(LIMIT_REVIEW_BYTES);
	struct bench bench = {.body = &body,
			      .answer = STRBUF_INIT(LIMIT_RESPONSE_BYTES),
			      .arena = ARENA_INIT(4 * MIB),
			      .scratch = ARENA_INIT(4 * MIB)};
	struct err err = ERR_INIT;
	char line[700];
	int status = 1;

	if (argc != 3 || io_read_file(argv[1], &body, &err) || prepare(&bench, argv[2], &err))
		fprintf(stderr, "usage: micro REVIEW STORE\n%s\n", err_text(&err, line, sizeof(line)));
	else
		status = run_steps(&bench);
	snapshot_unref(bench.snapshot);
	metrics_free(bench.metrics);
	admission_scratch_release(&bench.admission);
	strbuf_release(&bench.answer);
	arena_release(&bench.arena);
	arena_release(&bench.scratch);
	return status;
}
