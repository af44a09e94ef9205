/* SPDX-License-Identifier: Apache-2.0 */
/* decide_mode: which mode applies to a pod. The namespace's label replaces the configured mode. The pod's annotation,
 * modeCap of the profile memtamer-namespace and of the workload's own profiles, and the kind of pod can only lower it;
 * an unknown value of label or annotation means at most `observe`. A bare pod gets at most `fill`, unless its
 * annotation says raise or enforce. docs/TRUST.md has the same as a table, which a test reads. */
#include "policy/decide/decide_internal.h"

#include "base/str.h"
#include "k8s/keys.h"
#include "k8s/kinds.h"
#include "policy/render.h"

static void lower_to(struct pod_mode *ret, enum mode mode, const char *why)
{
	if (ret->mode <= mode)
		return;
	ret->mode = mode;
	ret->why = why;
}

static void cap_at_observe(struct pod_mode *ret, const char *why, const char *short_why)
{
	if (!ret->kind_why)
		ret->kind_why = short_why;
	lower_to(ret, MODE_OBSERVE, why);
}

static void by_namespace(const struct pod_facts *self, struct pod_mode *ret)
{
	const char *text = self->namespace ? self->namespace->mode : NULL;
	int mode = text ? mode_parse(text) : -1;

	if (!text)
		return;
	if (mode < 0) {
		cap_at_observe(ret, "unknown value of namespace label " KEY_MODE, "unknown mode of namespace");
		return;
	}
	ret->mode = (enum mode)mode;
	ret->why = "namespace label " KEY_MODE;
}

static void lower_to_cap(struct pod_mode *ret, const struct profile *profile, const char *why, const char *why_invalid)
{
	int cap = profile && profile->spec->mode_cap[0] ? mode_parse(profile->spec->mode_cap) : -1;

	if (cap >= 0)
		lower_to(ret, (enum mode)cap, profile->spec->invalid ? why_invalid : why);
}

/* There is one mode for the whole pod: if its containers have profiles of their own, the lowest cap applies to all. */
static void by_caps(const struct pod_facts *self, struct pod_mode *ret)
{
	lower_to_cap(ret,
		     snapshot_profile_by_name(self->input->snapshot, self->pod.namespace_name, PROFILE_OF_NAMESPACE),
		     "modeCap of profile memtamer-namespace", "invalid spec of profile memtamer-namespace");
	for (size_t i = 0; i < self->n_items; i++) {
		const struct sized *item = &self->items[i];
		bool is_own = item->profile && snapshot_is_own_spec(item->profile);
		const struct profile *const words[] = {item->decided, is_own ? item->profile : NULL};

		for (size_t k = 0; k < ARRAY_LEN(words); k++)
			lower_to_cap(ret, words[k], "modeCap of the workload's profile",
				     "invalid spec of the workload's profile");
	}
}

static void by_pod(const struct pod_facts *self, struct pod_mode *ret)
{
	const char *text = k8s_label_get(&self->pod.annotations, KEY_MODE);
	int mode = text ? mode_parse(text) : -1;

	if (!text)
		return;
	if (mode < 0) {
		cap_at_observe(ret, "unknown value of pod annotation " KEY_MODE, "unknown " KEY_MODE);
		return;
	}
	ret->is_bare_granted = self->is_bare && mode >= MODE_RAISE;
	lower_to(ret, (enum mode)mode, "pod annotation " KEY_MODE);
}

static bool has_key_prefix(const struct k8s_labels *labels, const char *prefix)
{
	for (size_t i = 0; i < labels->n; i++)
		if (strstarts(labels->items[i].key, prefix))
			return true;
	return false;
}

static bool has_any_key(const struct k8s_labels *labels, const char *const *keys)
{
	for (; *keys; keys++)
		if (k8s_label_get(labels, *keys))
			return true;
	return false;
}

static bool is_any_of(const char *text, const char *const *names)
{
	for (; text && *names; names++)
		if (streq(text, *names))
			return true;
	return false;
}

static bool labels_say_queued(const struct k8s_labels *labels)
{
	for (size_t i = 0; i < labels->n; i++)
		if (kind_is_queue_label(labels->items[i].key))
			return true;
	return false;
}

/* Another system has counted the pod's requests, often before the pod was created. Not every version of Kueue marks the
 * pods of a Job that it counts. */
static bool is_queued(const struct pod_facts *self)
{
	static const char *const schedulers[] = {"volcano",  "kai-scheduler",	"runai-scheduler",
						 "yunikorn", "koord-scheduler", "slurm-bridge-scheduler",
						 NULL};
	static const char *const annotations[] = {"scheduling.k8s.io/group-name", "pod-group-name",
						  "kueue.x-k8s.io/workload", "gang.scheduling.koordinator.sh/name",
						  NULL};
	const struct decide_input *input = self->input;

	return labels_say_queued(&self->pod.labels) || has_any_key(&self->pod.annotations, annotations) ||
	       is_any_of(self->pod.scheduler_name, schedulers) || self->pod.has_workload_ref || input->is_root_queued ||
	       (self->owner && self->owner->is_queued) || streq(input->root_group, "batch.volcano.sh");
}

/* Ray writes its memory limit into the container's command line when the pod is created. */
static bool is_ray(const struct pod_facts *self)
{
	static const char *const keys[] = {"ray.io/cluster", "ray.io/is-ray-node", "ray.io/node-type", NULL};

	return has_any_key(&self->pod.labels, keys) || streq(self->input->root_group, "ray.io");
}

/* Spark computes the memory limit of a pod from its application's settings, and gives the JVM a part of it. */
static bool is_spark(const struct pod_facts *self)
{
	static const char *const keys[] = {"spark-role", "spark-app-selector", "sparkoperator.k8s.io/app-name", NULL};

	return has_any_key(&self->pod.labels, keys) || streq(self->input->root_group, "sparkoperator.k8s.io");
}

/* GKE Autopilot and EKS Fargate create the node for the pod: there, sizes cost money and are rounded by the
 * platform. */
static bool is_sized_by_platform(const struct pod_facts *self)
{
	static const char *const classes[] = {"Accelerator", "Balanced",       "Performance", "Scale-Out",
					      "autopilot",   "autopilot-spot", NULL};
	static const char *const fargate[] = {"fargate-scheduler", NULL};
	const char *compute_class = k8s_label_get(&self->pod.node_selector, "cloud.google.com/compute-class");

	return has_key_prefix(&self->pod.annotations, "autopilot.gke.io/") || is_any_of(compute_class, classes) ||
	       k8s_label_get(&self->pod.labels, "eks.amazonaws.com/fargate-profile") ||
	       streq(k8s_label_get(&self->pod.node_selector, "eks.amazonaws.com/compute-type"), "fargate") ||
	       is_any_of(self->pod.scheduler_name, fargate);
}

static void by_kind(const struct pod_facts *self, struct pod_mode *ret)
{
	/* A VerticalPodAutoscaler in the snapshot says which containers it sizes; the annotation does not. */
	if (decide_has_unknown_vpa(self))
		cap_at_observe(ret, "sized by a VerticalPodAutoscaler", "a VPA sizes it");
	if (is_sized_by_platform(self))
		cap_at_observe(ret, "GKE Autopilot or EKS Fargate chooses the node by the pod's size",
			       "the platform sizes it");
	ret->is_template_only = is_ray(self) && self->input->is_template_patched;
	if (is_ray(self) && !ret->is_template_only)
		cap_at_observe(ret, "Ray writes the memory limit into its command line", "Ray fixes it at start");
	if (is_spark(self))
		cap_at_observe(ret, "Spark computes the memory limit from its application's settings", "Spark sets it");
	if (self->is_bare && !ret->is_bare_granted)
		lower_to(ret, MODE_FILL, "bare pod: existing values are not changed");
}

/* A bare pod that is created again from its own YAML has the annotation of its predecessor, and no owner by which the
 * two could be distinguished. Such a decision is valid only until the profile has a newer revision. */
static bool is_outdated(const struct pod_facts *self)
{
	const struct profile *profile = self->profile;

	return self->is_bare && profile && self->said.has_mode && self->said.head.revision < profile->revision;
}

struct pod_mode decide_mode(const struct pod_facts *self)
{
	struct pod_mode ret = {.mode = self->policy->mode, .why = "config"};

	by_namespace(self, &ret);
	by_pod(self, &ret);
	by_caps(self, &ret);
	by_kind(self, &ret);
	decide_queue(self, is_queued(self), &ret);
	ret.is_settled = !self->input->is_offline && self->is_said_held && self->said.n && !is_outdated(self);
	/* Values from an earlier round of this admission stay in the annotation, even if another webhook has changed
	 * them since: a kill at such a size must be counted. */
	ret.is_annotated = ret.mode > MODE_OFF && self->is_said_own &&
			   (self->said.n || (self->said.has_mode && self->said.head.mode == ret.mode));
	return ret;
}
