/* SPDX-License-Identifier: Apache-2.0 */
/* evidence_join: adds watched pods to a window before it is read. A reader then also asks for the memory of pods that
 * metrics alone do not identify as training pods, and stores it under their uids. */
#include "evidence/evidence.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

static bool is_one_of(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (streq(names[i], name))
			return true;
	return n == 0;
}

/* Whether the pod ran in the window; a pod that has not started has used nothing. */
static bool was_there(const struct pod *pod, const struct evidence_window *window)
{
	return pod->start_ms > 0 && pod->start_ms < window->end_ms &&
	       (!pod->completion_ms || pod->completion_ms >= window->start_ms);
}

/* Copies what the API server reported. */
static int join_pod(struct evidence_batch *self, const struct pod *from)
{
	struct pod *to = evidence_pod_put(self, from->namespace_name, from->name, from->uid);
	struct pod copy = *from;
	int r = to ? 0 : -ENOMEM;

	if (r)
		return r;
	copy.labels = to->labels;
	copy.containers = to->containers;
	copy.is_name_shared = to->is_name_shared;
	copy.labels.n = copy.containers.n = 0;
	*to = copy;
	for (size_t i = 0; i < from->labels.n && !r; i++)
		r = vec_push(&to->labels, from->labels.items[i]);
	for (size_t i = 0; i < from->containers.n && !r; i++)
		r = vec_push(&to->containers, from->containers.items[i]);
	return r ? r : pod_set_own_texts(&self->pods, to);
}

int evidence_join(struct evidence_batch *self, const struct evidence_batch *watched, const char *const *namespaces,
		  size_t n)
{
	int r = 0;

	for (size_t i = 0; i < watched->pods.n && !r; i++) {
		const struct pod *pod = watched->pods.items[i];

		if (was_there(pod, &self->window) && is_one_of(namespaces, n, pod->namespace_name))
			r = join_pod(self, pod);
	}
	return r;
}
