/* SPDX-License-Identifier: Apache-2.0 */
/* resize_plan_decide: calls decide() as if the pod were created now, with a snapshot made of the API server's objects,
 * less what the pod already uses of the quotas. */
#include "k8s/keys.h"
#include "k8s/limits.h"
#include "policy/render.h"
#include "resize/resize_plan_internal.h"

#include <errno.h>

/* ---- the snapshot ---- */

/* A quota counts the pod already: the amount that the pod uses is available to it. */
static int64_t freed(int64_t used, const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit)
{
	__int128 unit = k8s_bound_nano(resource, 1);
	__int128 held = k8s_pod_total(pod, resource, is_limit, true).nano / (unit ? unit : 1);

	return (int64_t)MAX((__int128)used - held, (__int128)0);
}

static void release_own(struct k8s_quota *quota, const struct k8s_pod *pod)
{
	if (!k8s_quota_matches(quota, pod))
		return;
	quota->pods.used = MAX(quota->pods.used - 1, 0);
	for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
		for (int f = 0; f < 2; f++)
			quota->amounts[f][r].used = freed(quota->amounts[f][r].used, pod, (enum k8s_resource)r, f == 1);
}

static int add_limits(const struct planning *self, struct snapshot_builder *builder, struct err *err)
{
	struct json_object *const lists[2] = {self->input->limit_ranges, self->input->quotas};
	int r = 0;

	for (int kind = 0; kind < 2; kind++)
		for (size_t i = 0; lists[kind] && i < json_object_array_length(lists[kind]) && !r; i++) {
			struct json_object *object = json_object_array_get_idx(lists[kind], i);
			struct k8s_limit_range range;
			struct k8s_quota quota;

			r = kind == 0 ? k8s_limit_range_decode(object, self->arena, &range, err)
				      : k8s_quota_decode(object, self->arena, &quota, err);
			if (r)
				break;
			range.namespace_name = quota.namespace_name = self->input->ask->namespace_name;
			if (kind == 1)
				release_own(&quota, &self->pod);
			r = kind == 0 ? snapshot_builder_put_limit_range(builder, &range)
				      : snapshot_builder_put_quota(builder, &quota);
		}
	return r;
}

static int add_vpas(const struct planning *self, struct snapshot_builder *builder)
{
	size_t n = self->input->vpas ? json_object_array_length(self->input->vpas) : 0, n_read = 0;
	struct k8s_vpa *items = arena_array(self->arena, n + 1, sizeof(*items));
	const struct k8s_vpa **list = arena_array(self->arena, n + 1, sizeof(struct k8s_vpa *));
	int r = items && list ? 0 : -ENOMEM;

	/* an autoscaler that cannot be read is skipped, as the webhook does */
	for (size_t i = 0; i < n && (!r || r == -EINVAL); i++) {
		r = k8s_vpa_decode(json_object_array_get_idx(self->input->vpas, i), "", self->arena, &items[n_read],
				   NULL);
		list[n_read] = &items[n_read];
		n_read += r == 0;
	}
	return r && r != -EINVAL ? r : snapshot_builder_set_vpas(builder, list, n_read);
}

/* Only this pod grows, so the quota is checked for it alone. The owner of its controller is known only by the
 * controller's name. */
static int add_owner(const struct planning *self, struct snapshot_builder *builder)
{
	const struct k8s_owner *controller = k8s_pod_controller(&self->pod);
	struct owner_facts facts = {.pods = 1};

	if (!controller)
		return 0;
	facts.uid = controller->uid;
	facts.parent_target = k8s_vpa_target_of_maker(self->input->ask->namespace_name, controller->kind,
						      controller->name);
	return snapshot_builder_put_owner(builder, &facts);
}

static int add_namespace(const struct planning *self, struct snapshot_builder *builder)
{
	struct json_object *labels = json_member(json_member(self->input->namespace_object, "metadata"), "labels");
	struct json_object *mode = json_member(labels, KEY_MODE);
	struct json_object *ignore = json_member(labels, KEY_IGNORE);
	struct namespace_facts facts = {
		.name = self->input->ask->namespace_name,
		.mode = mode ? json_object_get_string(mode) : NULL,
		.is_ignored = ignore && streq(json_object_get_string(ignore), "true"),
	};

	return snapshot_builder_put_namespace(builder, &facts);
}

/* Other containers keep their sizes, so only what people decided in their profiles counts (a modeCap applies to the
 * whole pod). With their recommendations they would reserve a part of the quota that they do not get here. */
static int add_profile(const struct planning *self, struct snapshot_builder *builder, const struct profile *profile)
{
	struct profile word = *profile;

	if (streq(profile->name, PROFILE_OF_NAMESPACE) || streq(profile->container, self->input->ask->container))
		return snapshot_builder_put_copy(builder, profile);
	word.parent = (struct recommendation){.confidence = CONFIDENCE_NONE};
	word.variants = NULL;
	word.n_variants = word.n_previous = 0;
	return snapshot_builder_put_copy(builder, &word);
}

/* Makes a snapshot of the namespace, with its profiles, or with `only` in place of the container's own. */
static int make_snapshot(const struct planning *self, const struct profile *only, struct snapshot **ret,
			 struct err *err)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	int r = builder ? add_namespace(self, builder) : -ENOMEM;

	for (size_t i = 0; i < self->input->n_profiles && !r; i++)
		if (!only || !streq(self->input->profiles[i]->container, self->input->ask->container))
			r = add_profile(self, builder, self->input->profiles[i]);
	if (!r && only)
		r = snapshot_builder_put_copy(builder, only);
	if (!r)
		r = add_limits(self, builder, err);
	if (!r)
		r = add_vpas(self, builder);
	if (!r)
		r = add_owner(self, builder);
	if (!r) {
		*ret = snapshot_builder_finish(TAKE_PTR(builder), self->input->now_ms);
		r = *ret ? 0 : -ENOMEM;
	}
	snapshot_builder_free(builder);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

/* ---- decisions ---- */

static int ask_decide(const struct planning *self, const struct snapshot *snapshot, struct decision *ret,
		      struct err *err)
{
	const struct decide_input input = {
		.pod = &self->pod,
		.subject = SUBJECT_POD,
		.namespace_name = self->input->ask->namespace_name,
		.replicas = 1,
		.snapshot = snapshot,
		.policy = &self->policy,
		.now_ms = self->input->now_ms,
	};

	return decide(&input, self->arena, ret, err);
}

int resize_plan_decide(const struct planning *self, struct decision *ret, struct snapshot **ret_snapshot,
		       struct err *err)
{
	int r = make_snapshot(self, NULL, ret_snapshot, err);

	return r ? r : ask_decide(self, *ret_snapshot, ret, err);
}

/* Makes a profile that recommends exactly this limit and says that less is proven too small. It keeps what people
 * decided, and whether the workload's own request has done harm. */
int resize_plan_decide_for(const struct planning *self, int64_t want, struct decision *ret,
			   struct snapshot **ret_snapshot, struct err *err)
{
	const struct identity *identity = &self->identity;
	struct profile draft = {.namespace_name = self->input->ask->namespace_name,
				.name = "memtamer-resize",
				.workload = identity->n_keys ? identity->keys[0].text : "",
				.role = identity->role,
				.container = self->input->ask->container,
				.spec = self->spec,
				.parent = {.confidence = CONFIDENCE_HIGH}};
	int r;

	draft.parent.limit_bytes = want;
	draft.parent.proven_bytes = self->container.limit_bytes;
	draft.parent.flags = self->profile ? self->profile->parent.flags & REC_NO_RAISE : 0;
	r = make_snapshot(self, &draft, ret_snapshot, err);
	return r ? r : ask_decide(self, *ret_snapshot, ret, err);
}

int64_t resize_plan_raised(const struct planning *self, const struct decision *decision, enum size_field field)
{
	int64_t now = field == SIZE_LIMIT ? self->container.limit_bytes : self->container.request_bytes;

	for (size_t i = 0; i < decision->n_sizes; i++) {
		const struct size_change *size = &decision->sizes[i];

		if (size->container == self->decoded && size->resource == K8S_MEMORY && size->field == field &&
		    size->has_from && size->to_bytes > now)
			return size->to_bytes;
	}
	return now;
}
