/* SPDX-License-Identifier: Apache-2.0 */
#include "report/replay_internal.h"

#include "k8s/keys.h"
#include "k8s/quantity.h"

#include <errno.h>

#define WORKLOAD_LABEL "replayed"

static bool set_amount(struct arena *arena, int64_t bytes, struct k8s_amount *ret, bool *ret_has)
{
	char text[QUANTITY_TEXT_BYTES];

	if (!bytes)
		return true;
	*ret_has = true;
	*ret = (struct k8s_amount){.text = arena_strdup(arena, quantity_render_bytes(bytes, text)),
				   .quantity = quantity_from_bytes(bytes),
				   .value = bytes};
	return ret->text != NULL;
}

/* One container with one accelerator resource, under a Job: nothing else is recorded of a run's pod. */
struct minimal {
	struct k8s_label labels[2];
	struct k8s_owner owner;
	struct k8s_extended extended;
	struct k8s_container container;
	struct k8s_pod pod;
};

static int make_pod(struct minimal *self, const struct profile *profile, const struct run *run, struct arena *arena)
{
	struct k8s_resources *resources = &self->container.resources;

	*self = (struct minimal){
		.labels = {{KEY_TRAINING, "true"}, {KEY_WORKLOAD, WORKLOAD_LABEL}},
		.owner =
			{.api_version = "batch/v1", .kind = "Job", .name = run->name, .uid = "", .is_controller = true},
		.extended = {.name = "nvidia.com/gpu", .count = (run->accelerators_milli + 999) / 1000, .milli = 1000},
		.container = {.type = K8S_CONTAINER_MAIN,
			      .name = profile->container,
			      .image = "",
			      .restart_policy = ""},
	};
	resources->is_present = true;
	resources->extended = &self->extended;
	resources->n_extended = run->accelerators_milli > 0;
	if (!set_amount(arena, replay_own_request(run), &resources->requests[K8S_MEMORY], &resources->has_requests) ||
	    !set_amount(arena, replay_own_limit(run), &resources->limits[K8S_MEMORY], &resources->has_limits))
		return -ENOMEM;
	self->pod = (struct k8s_pod){.namespace_name = profile->namespace_name,
				     .name = run->name,
				     .generate_name = "",
				     .uid = "",
				     .labels = {.items = self->labels, .n = 2, .is_present = true},
				     .owners = &self->owner,
				     .n_owners = 1,
				     .priority_class = "",
				     .scheduler_name = "",
				     .restart_policy = "Never",
				     .containers = &self->container,
				     .n_containers = 1,
				     .n_main = 1};
	return 0;
}

static const struct recommendation *variant_of(const struct profile *profile, const char *variant)
{
	for (size_t i = 0; i < profile->n_variants; i++)
		if (streq(profile->variants[i].variant, variant))
			return &profile->variants[i];
	return NULL;
}

/* The pod has no image that selects a variant, so the run's variant replaces the parent's recommendation, as decide()
 * would select it. If no variant fits, the variants stay: the run then counts as different from them, and is not
 * lowered. */
static void settle_variant(struct profile *draft, const char *variant)
{
	const struct recommendation *own = variant_of(draft, variant);

	if (streq(draft->parent.variant, variant))
		draft->parent.variant[0] = '\0';
	if (!own)
		return;
	draft->n_variants = 0;
	if (own->confidence >= CONFIDENCE_MEDIUM) {
		draft->parent = *own;
		draft->parent.variant[0] = '\0';
		return;
	}
	draft->parent.limit_bytes = MAX(draft->parent.limit_bytes, own->limit_bytes);
	draft->parent.peak_bytes = MAX(draft->parent.peak_bytes, own->peak_bytes);
	draft->parent.flags |= REC_NO_LOWER;
}

/* The base snapshot with this one profile, under the key of the pod. */
static struct snapshot *snapshot_with(const struct replay_world *self, const struct profile *profile,
				      const struct run *run, const struct k8s_pod *pod)
{
	struct snapshot_builder *builder = snapshot_builder_new(self->base);
	struct profile draft = *profile;
	struct identity_facts facts;
	struct identity identity;
	const char *aliases[1];

	if (!builder)
		return NULL;
	identity_facts_of_pod(pod, profile->container, &facts);
	workload_identify(&facts, &identity);
	aliases[0] = draft.workload = identity.keys[0].text;
	draft.aliases = aliases;
	draft.n_aliases = 1;
	draft.role = identity.role;
	draft.n_reasons = 0;
	draft.n_previous = 0; /* a recommendation applies to the run if it was computed before the run was submitted */
	settle_variant(&draft, run->variant);
	if (snapshot_builder_put_copy(builder, &draft)) {
		snapshot_builder_free(builder);
		return NULL;
	}
	return snapshot_builder_finish(builder, run->start_ms);
}

static void take_size(const struct replay_world *self, const struct size_change *size, struct replay_outcome *ret)
{
	if (size->resource != K8S_MEMORY || (size->field == SIZE_REQUEST && !self->scope.knows_requests))
		return;
	ret->is_filled |= !size->has_from;
	ret->is_raised |= size->has_from && size->to_bytes > size->from_bytes;
	ret->is_lowered |= size->has_from && size->to_bytes < size->from_bytes;
	*(size->field == SIZE_LIMIT ? &ret->limit_bytes : &ret->request_bytes) = size->to_bytes;
	*(size->field == SIZE_LIMIT ? &ret->limit_cap : &ret->request_cap) = size->cap;
}

int replay_decide(struct replay_world *self, const struct profile *profile, const struct run *run,
		  struct replay_outcome *ret, struct err *err)
{
	struct minimal minimal;
	struct decision decision;
	struct decide_input input = {.subject = SUBJECT_POD,
				     .namespace_name = profile->namespace_name,
				     .replicas = 1,
				     .policy = &self->policy,
				     .now_ms = run->start_ms};
	struct snapshot *snapshot = NULL;
	int r;

	arena_reset(&self->arena);
	r = make_pod(&minimal, profile, run, &self->arena);
	if (!r && !(snapshot = snapshot_with(self, profile, run, &minimal.pod)))
		r = -ENOMEM;
	if (r)
		return err_set(err, r, "out of memory");
	input.pod = &minimal.pod;
	input.snapshot = snapshot;
	r = decide(&input, &self->arena, &decision, err);
	if (!r) {
		*ret = (struct replay_outcome){.skip = decision.skip,
					       .mode = decision.mode,
					       .mode_why = decision.mode_why,
					       .request_bytes = replay_own_request(run),
					       .limit_bytes = replay_own_limit(run)};
		for (size_t i = 0; i < decision.n_sizes && !decision.skip; i++)
			take_size(self, &decision.sizes[i], ret);
	}
	snapshot_unref(snapshot);
	return r;
}

int64_t replay_own_request(const struct run *run)
{
	return run->chosen_by == CHOSEN_BY_MEMTAMER ? run->own_request_bytes : run->request_bytes;
}

int64_t replay_own_limit(const struct run *run)
{
	return run->chosen_by == CHOSEN_BY_MEMTAMER ? run->own_limit_bytes : run->limit_bytes;
}
