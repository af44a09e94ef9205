/* SPDX-License-Identifier: Apache-2.0 */
#include "pods.h"

#include "base/timefmt.h"
#include "engine/learn.h"
#include "k8s/keys.h"
#include "k8s/quantity.h"
#include "policy/decide.h"
#include "policy/render/render_internal.h"
#include "runs/fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE	 "ml"
#define WORKLOAD	 "sim"
#define CONTAINER	 "main"
#define DECIDE_BYTES	 (16 * MIB)
#define SCRAPE_MS	 ((int64_t)30 * 1000)
#define ANNOTATION_BYTES sizeof(((struct sim_pods *)NULL)->decision)

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

void sim_pods_init(struct sim_pods *self, const struct sim_run *run, int index)
{
	*self = (struct sim_pods){.run = *run, .index = index, .table = POD_TABLE_INIT};
	self->table.step_ms = SCRAPE_MS;
	self->table.is_step_fixed = true;
	self->run.ranks = MAX(run->ranks, 1);
	snprintf(self->job, sizeof(self->job), "train-%d", index);
	snprintf(self->image, sizeof(self->image), "registry/train:%d", run->image);
}

void sim_pods_release(struct sim_pods *self)
{
	pod_table_release(&self->table);
}

static int take_snapshot(struct sim_learner *self, int64_t now_ms, struct err *err)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct snapshot *snapshot;

	if (!builder)
		return no_memory(err);
	if (self->profile && snapshot_builder_put_copy(builder, self->profile)) {
		snapshot_builder_free(builder);
		return no_memory(err);
	}
	snapshot = snapshot_builder_finish(builder, now_ms);
	if (!snapshot)
		return no_memory(err);
	snapshot_unref(self->snapshot);
	self->snapshot = snapshot;
	return 0;
}

int sim_learner_init(struct sim_learner *self, enum mode mode, struct err *err)
{
	*self = (struct sim_learner){.config = config_new_default(), .arena = ARENA_INIT(DECIDE_BYTES)};
	self->history = history_new(NAMESPACE, WORKLOAD);
	if (!self->config || !self->history)
		return no_memory(err);
	free(self->history->container);
	self->history->container = strdup(CONTAINER);
	if (!self->history->container)
		return no_memory(err);
	self->config->policy.mode = mode;
	return take_snapshot(self, 0, err);
}

void sim_learner_release(struct sim_learner *self)
{
	config_free(self->config);
	history_free(self->history);
	profile_free(self->profile);
	snapshot_unref(self->snapshot);
	arena_release(&self->arena);
}

const struct recommendation *sim_recommended(const struct sim_learner *self, const struct sim_pods *pods)
{
	const struct profile *profile = self->profile;
	char variant[sizeof(profile->parent.variant)];

	identity_variant(pods->image, NULL, 0, NULL, 0, pods->run.ranks, variant);
	for (size_t i = 0; profile && i < profile->n_variants; i++)
		if (streq(profile->variants[i].variant, variant) &&
		    profile->variants[i].confidence >= CONFIDENCE_MEDIUM)
			return &profile->variants[i];
	return profile ? &profile->parent : NULL;
}

/* ---- the webhook ---- */

static void set_amount(struct k8s_amount *ret, bool *ret_has, int64_t bytes, char text[QUANTITY_TEXT_BYTES])
{
	if (!bytes)
		return;
	*ret_has = true;
	*ret = (struct k8s_amount){
		.text = quantity_render_bytes(bytes, text), .quantity = quantity_from_bytes(bytes), .value = bytes};
}

static void take_sizes(struct sim_pods *pods, const struct decision *decision)
{
	pods->request_bytes = pods->run.own_request_bytes;
	pods->limit_bytes = pods->run.own_limit_bytes;
	for (size_t i = 0; i < decision->n_sizes; i++) {
		const struct size_change *size = &decision->sizes[i];

		if (size->resource != K8S_MEMORY)
			continue;
		*(size->field == SIZE_LIMIT ? &pods->limit_bytes : &pods->request_bytes) = size->to_bytes;
	}
}

static int annotate(struct sim_pods *pods, const struct decision *decision, const struct k8s_pod *pod, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(ANNOTATION_BYTES - 1);

	pods->decision[0] = '\0';
	if (!decision->n_sizes)
		return 0;
	render_annotation(decision, pod, &text);
	if (text.status)
		return no_memory(err);
	snprintf(pods->decision, sizeof(pods->decision), "%s", strbuf_text(&text));
	return 0;
}

int sim_decide(struct sim_learner *self, struct sim_pods *pods, struct err *err)
{
	char texts[2][QUANTITY_TEXT_BYTES];
	struct k8s_label labels[] = {{KEY_TRAINING, "true"}, {KEY_WORKLOAD, WORKLOAD}};
	struct k8s_owner owner = {
		.api_version = "batch/v1", .kind = "Job", .name = pods->job, .uid = pods->job, .is_controller = true};
	struct k8s_extended extended = {.name = "nvidia.com/gpu", .count = 1};
	struct k8s_container container = {.type = K8S_CONTAINER_MAIN,
					  .name = CONTAINER,
					  .image = pods->image,
					  .restart_policy = "",
					  .resources = {.is_present = true, .extended = &extended, .n_extended = 1}};
	struct k8s_pod pod = {.namespace_name = NAMESPACE,
			      .name = "",
			      .generate_name = "train-",
			      .uid = "",
			      .labels = {.items = labels, .n = ARRAY_LEN(labels), .is_present = true},
			      .owners = &owner,
			      .n_owners = 1,
			      .priority_class = "",
			      .scheduler_name = "",
			      .restart_policy = "Never",
			      .containers = &container,
			      .n_containers = 1,
			      .n_main = 1};
	struct decide_input input = {.subject = SUBJECT_POD,
				     .namespace_name = NAMESPACE,
				     .replicas = pods->run.ranks,
				     .pod = &pod,
				     .snapshot = self->snapshot,
				     .policy = &self->config->policy,
				     .now_ms = pods->begin_ms};
	struct decision decision;
	int r;

	set_amount(&container.resources.requests[K8S_MEMORY], &container.resources.has_requests,
		   pods->run.own_request_bytes, texts[SIZE_REQUEST]);
	set_amount(&container.resources.limits[K8S_MEMORY], &container.resources.has_limits, pods->run.own_limit_bytes,
		   texts[SIZE_LIMIT]);
	arena_reset(&self->arena);
	r = decide(&input, &self->arena, &decision, err);
	if (r)
		return r;
	take_sizes(pods, &decision);
	return annotate(pods, &decision, &pod, err);
}

/* ---- the recommender ---- */

static int add_usage(const struct sim_pods *pods, struct evidence_batch *batch, const struct pod *pod,
		     struct pod_container *container)
{
	struct evidence_usage *usage = evidence_usage_put(batch, container, pod->name);

	if (!usage)
		return -ENOMEM;
	usage->samples = (pods->end_ms - pods->begin_ms) / SCRAPE_MS + 1;
	usage->first_ms = pods->begin_ms;
	usage->last_ms = pods->end_ms;
	usage->peak_bytes = usage->peak_rss_bytes = pods->peak_bytes;
	for (int i = 0; i < EVIDENCE_LADDER; i++)
		usage->ladder_bytes[i] = MIN(pods->run.usual_bytes, pods->peak_bytes);
	usage->ladder_seen = (1U << EVIDENCE_LADDER) - 1;
	return 0;
}

static int add_end(const struct sim_pods *pods, struct evidence_batch *batch, struct pod *pod,
		   struct pod_container *container)
{
	static const unsigned int pod_ends[] = {0,	    END_SUCCEEDED, END_FAILED, END_FAILED,
						END_FAILED, END_FAILED,	   END_FAILED};
	static const unsigned int container_ends[] = {
		0, END_COMPLETED, END_ERROR, END_OOM_KILLED, END_OOM_KILLED, END_ERROR, END_ERROR | END_OOM_EVENTS,
	};

	pod->completion_ms = pods->end_ms;
	pod->ends = pod_ends[pods->end];
	container->ends = container_ends[pods->end];
	if (container->ends & END_OOM_KILLED)
		run_add_killed_limit(container->killed_limits, &container->n_killed_limits,
				     pods->limit_bytes ? pods->limit_bytes : -1);
	return add_usage(pods, batch, pod, container);
}

static int add_pod(const struct sim_pods *pods, int rank, struct evidence_batch *batch)
{
	char name[64];
	struct pod *pod;
	struct pod_container *container;
	int r;

	snprintf(name, sizeof(name), "%s-%d%c", pods->job, pods->n_attempts, (char)('a' + rank));
	pod = evidence_pod_put(batch, NAMESPACE, name, name);
	container = pod ? pod_container_put(&batch->pods, pod, CONTAINER) : NULL;
	if (!container)
		return -ENOMEM;
	r = vec_push(&pod->labels, ((struct k8s_label){KEY_WORKLOAD, WORKLOAD}));
	pod->owner_kind = "Job";
	pod->owner_name = pods->job;
	pod->decision = pods->decision;
	pod->start_ms = pods->begin_ms;
	pod->is_owner_known = pod->is_training = true;
	pod->is_watched = pods->run.fate != SIM_HANGS;
	pod->is_alive = !pods->end;
	container->image = pods->image;
	container->request_bytes = pods->request_bytes;
	container->limit_bytes = pods->limit_bytes;
	container->accelerators_milli = 1000;
	return r || !pods->end ? r : add_end(pods, batch, pod, container);
}

static int add_window(struct sim_pods *pods, int64_t now_ms, struct err *err)
{
	const struct evidence_window window = {.start_ms = pods->begin_ms, .end_ms = now_ms + 1, .is_open = true};
	struct evidence_batch batch;
	int r = 0;

	evidence_batch_init(&batch, &window);
	for (int rank = 0; rank < pods->run.ranks && !r; rank++)
		r = add_pod(pods, rank, &batch);
	r = r ? no_memory(err) : pod_table_merge(&pods->table, &batch, err);
	evidence_batch_release(&batch);
	return r;
}

/* The curve of a whole run: it rises evenly until the end, or it is flat. */
static int learn_curve(struct sim_learner *self, const struct sim_pods *pods, struct found_run *found, struct err *err)
{
	bool has_changed = false;
	struct run *run = &found->run;

	if (!run->is_whole)
		return 0;
	run->n_curve = LIMIT_CURVE_POINTS;
	for (int i = 0; i < run->n_curve; i++)
		run->curve_max[i] = run->curve_mean[i] = pods->run.is_growing ? run->peak_bytes / run->n_curve * (i + 1)
									      : run->peak_bytes;
	run_judge_shape(run);
	return learn_history_curve(self->history, run, &has_changed, err);
}

static int learn_found(struct sim_learner *self, const struct sim_pods *pods, struct found_run *found, int64_t now_ms,
		       struct err *err)
{
	struct learned_news news;
	struct profile *profile = NULL;
	bool has_changed = false;
	int r = learn_history_run(self->config, self->history, found, &has_changed, &news, err);

	if (!r && !*self->history->workload) {
		free(self->history->workload);
		self->history->workload = strdup(found->identity.keys[0].text);
		r = self->history->workload ? 0 : no_memory(err);
	}
	r = r ? r : learn_curve(self, pods, found, err);
	r = r ? r : learn_profile(self->config, self->history, self->profile, NULL, now_ms, NULL, &profile, err);
	if (r || !profile)
		return r;
	profile_free(self->profile);
	self->profile = profile;
	return take_snapshot(self, now_ms, err);
}

int sim_learn(struct sim_learner *self, struct sim_pods *pods, int64_t now_ms, struct err *err)
{
	const struct fold_options options = {.now_ms = now_ms, .source = "query"};
	struct fold fold = {.is_open = NULL};
	int r = add_window(pods, now_ms, err);

	r = r ? r : fold_runs(&pods->table, &options, &fold, err);
	for (size_t i = 0; i < fold.runs.n && !r; i++)
		r = learn_found(self, pods, &fold.runs.items[i], now_ms, err);
	(void)learn_history_settle(self->history, 0, now_ms - LEARN_LOST_MS);
	fold_release(&fold);
	return r;
}
