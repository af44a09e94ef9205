/* SPDX-License-Identifier: Apache-2.0 */
/* decide_queue: which ClusterQueue of Kueue will count the sizes that we set.
 *
 * Kueue counts the templates of a Job, JobSet, PyTorchJob and similar objects when the object is created, after this
 * webhook has patched them. It counts a pod that is a workload of its own, or one of a group, after the pod was
 * created. In both cases it counts our sizes, so these may be whatever the ClusterQueue can ever admit
 * (size_limits_queue.c). If the queue is not known, or the pods were counted with their owner, requests are not
 * changed. */
#include "policy/decide/decide_internal.h"

#include "base/str.h"
#include "k8s/kinds.h"

#include <stdlib.h>

/* Kueue uses this queue for an object without one, if the namespace has a LocalQueue of this name. */
#define DEFAULT_QUEUE "default"

#define PODS_MAX ((int64_t)1 << 30)

static const struct queue_facts *find(const struct pod_facts *self, const char *name)
{
	return snapshot_queue(self->input->snapshot, self->pod.namespace_name, name ? name : DEFAULT_QUEUE);
}

/* Kueue ignores pods whose owner it counts: these are all kinds of training, and Jobs. */
static bool is_counted_with_owner(const struct k8s_pod *pod)
{
	const struct k8s_owner *owner = k8s_pod_controller(pod);
	const struct kind *kind = owner ? kind_find_api_version(owner->api_version, owner->kind) : NULL;

	if (k8s_label_get(&pod->labels, "kueue.x-k8s.io/podset") ||
	    k8s_label_get(&pod->annotations, "kueue.x-k8s.io/workload"))
		return true;
	return kind && !kind->has_argo_templates;
}

static int64_t pods_of_group(const struct k8s_pod *pod)
{
	const char *text = k8s_label_get(&pod->annotations, "kueue.x-k8s.io/pod-group-total-count");
	long long n = text ? strtoll(text, NULL, 10) : 1;

	return n < 1 || n > PODS_MAX ? PODS_MAX : (int64_t)n;
}

void decide_queue(const struct pod_facts *self, bool is_marked, struct pod_mode *ret)
{
	const struct decide_input *input = self->input;
	bool is_pod = input->subject == SUBJECT_POD;
	const char *name = is_pod ? k8s_label_get(&self->pod.labels, KIND_LABEL_QUEUE) : input->root_queue;
	bool is_counted_later = is_pod ? (name || self->is_bare) && !is_counted_with_owner(&self->pod)
				       : input->is_template_patched;

	ret->queue_pods = is_pod ? pods_of_group(&self->pod) : 1;
	if (is_counted_later && (name || !is_marked))
		ret->queue = find(self, name);
	ret->is_queued = is_marked && !ret->queue;
}
