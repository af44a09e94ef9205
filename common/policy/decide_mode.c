/* SPDX-License-Identifier: Apache-2.0 */
/* decide_mode: the ladder. config -> namespace label -> the pod's annotation, which can only go down, except that a
 * bare pod may ask for raise or enforce for itself -> modeCap of profile memtamer-namespace and of the workload's own
 * profiles, which nothing goes above: they stand for counted harm and for a person's undo. Then what the kind of pod
 * allows. */
#include "policy/decide_internal.h"

#include "base/str.h"
#include "policy/annotation.h"
#include "policy/render.h"

static void lower_to(struct decision *ret, enum mode mode, const char *why)
{
	if (ret->mode <= mode)
		return;
	ret->mode = mode;
	ret->mode_why = why;
}

static void by_namespace(struct deciding *self)
{
	int mode = self->facts && self->facts->mode ? mode_parse(self->facts->mode) : -1;

	if (mode < 0)
		return;
	self->ret->mode = (enum mode)mode;
	self->ret->mode_why = "namespace label memtamer.io/mode";
}

static void lower_to_cap(struct decision *ret, const struct profile *profile, const char *why)
{
	int cap = profile && profile->spec->mode_cap[0] ? mode_parse(profile->spec->mode_cap) : -1;

	if (cap >= 0)
		lower_to(ret, (enum mode)cap, why);
}

/* The mode is the pod's: where its containers have profiles of their own, the lowest cap counts for all. */
static void by_caps(struct deciding *self)
{
	lower_to_cap(self->ret,
		     snapshot_profile_by_name(self->input->snapshot, self->pod.namespace_name, PROFILE_OF_NAMESPACE),
		     "modeCap of profile memtamer-namespace");
	for (size_t i = 0; i < self->n_items; i++)
		lower_to_cap(self->ret, self->items[i].profile, "modeCap of the workload's profile");
}

static void by_pod(struct deciding *self)
{
	const char *text = k8s_label_get(&self->pod.annotations, ANNOTATION_MODE);
	int mode = text ? mode_parse(text) : -1;

	if (mode < 0)
		return;
	if (self->is_bare && mode >= MODE_RAISE && self->ret->mode > MODE_OFF) {
		self->is_bare_granted = true;
		self->ret->mode = (enum mode)mode;
		self->ret->mode_why = "pod annotation memtamer.io/mode";
		return;
	}
	lower_to(self->ret, (enum mode)mode, "pod annotation memtamer.io/mode");
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
	static const char *const keys[] = {"volcano.sh/queue-name",
					   "volcano.sh/job-name",
					   "kai.scheduler/queue",
					   "runai/queue",
					   "pod-group.scheduling.sigs.k8s.io",
					   "pod-group.scheduling.sigs.k8s.io/name",
					   "scheduling.x-k8s.io/pod-group",
					   NULL};

	return has_key_prefix(labels, "kueue.x-k8s.io/") || has_any_key(labels, keys);
}

/* Another system has counted the pod's requests, often before the pod was made. */
static bool is_queued(const struct deciding *self)
{
	static const char *const schedulers[] = {"volcano", "kai-scheduler", "runai-scheduler", "yunikorn", NULL};
	static const char *const annotations[] = {"scheduling.k8s.io/group-name", "pod-group-name", NULL};
	const struct decide_input *input = self->input;

	return labels_say_queued(&self->pod.labels) || has_any_key(&self->pod.annotations, annotations) ||
	       is_any_of(self->pod.scheduler_name, schedulers) ||
	       (input->root_labels && labels_say_queued(input->root_labels)) ||
	       streq(input->root_group, "batch.volcano.sh");
}

/* Ray writes its memory limit into the command line of the container when the pod is made. */
static bool is_ray(const struct deciding *self)
{
	static const char *const keys[] = {"ray.io/cluster", "ray.io/is-ray-node", "ray.io/node-type", NULL};

	return has_any_key(&self->pod.labels, keys) || streq(self->input->root_group, "ray.io");
}

/* GKE Autopilot and EKS Fargate make the node from the pod: sizes are money there, and rounded by the platform. */
static bool is_sized_by_platform(const struct deciding *self)
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

static void cap_by_kind(struct deciding *self, const char *why, const char *short_why)
{
	if (self->ret->mode > MODE_OBSERVE)
		self->kind_why = short_why;
	lower_to(self->ret, MODE_OBSERVE, why);
}

static void by_kind(struct deciding *self)
{
	self->asked_mode = self->ret->mode;
	if (k8s_label_get(&self->pod.annotations, "vpaUpdates"))
		cap_by_kind(self, "sized by a VerticalPodAutoscaler", "a VPA sizes it");
	if (is_sized_by_platform(self))
		cap_by_kind(self, "Autopilot or Fargate makes its node from the pod", "its platform sizes it");
	if (is_ray(self) && !self->input->is_template_patched)
		cap_by_kind(self, "Ray took the memory limit into its command line", "Ray was started with it");
	if (self->is_bare && !self->is_bare_granted)
		lower_to(self->ret, MODE_FILL, "bare pod: what its manifest says is not changed");
}

/* A bare pod that was made again from its own YAML carries the decision about the one before it, and no owner tells
 * the two apart. What runs have proved since then counts; within one admission nothing is proved. */
static bool is_outgrown(const struct deciding *self)
{
	const char *text = k8s_label_get(&self->input->pod->annotations, ANNOTATION_DECISION);
	const struct profile *profile = self->ret->profile;
	struct annotation annotation;

	if (!self->is_bare || !profile || !annotation_read(text, "", &annotation, NULL) ||
	    annotation.revision >= profile->revision)
		return false;
	for (size_t i = 0; i < self->n_items; i++) {
		const struct field *limit = &self->items[i].fields[SIZED_MEMORY][SIZE_LIMIT];

		if (limit->has && !limit->is_invalid && self->items[i].is_usable &&
		    size_is_below_proof(&self->items[i], limit->now_bytes))
			return true;
	}
	return false;
}

void decide_mode(struct deciding *self)
{
	self->ret->mode = self->policy->mode;
	self->ret->mode_why = "config";
	by_namespace(self);
	by_pod(self);
	by_caps(self);
	by_kind(self);
	self->is_queued = is_queued(self) && !self->input->is_template_patched;
	self->is_settled = self->input->subject == SUBJECT_POD && decision_is_settled(self->input->pod) &&
			   !is_outgrown(self);
}
