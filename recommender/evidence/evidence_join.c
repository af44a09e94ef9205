/* SPDX-License-Identifier: Apache-2.0 */
/* evidence_join: watched pods are put into a window before it is read, so that a reader asks for the use of pods that
 * metrics alone would not know to train, and files it under their uids. */
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

/* One that has not begun has used nothing. */
static bool was_there(const struct evidence_pod *pod, const struct evidence_window *window)
{
	return pod->start_ms > 0 && pod->start_ms < window->end_ms &&
	       (!pod->completion_ms || pod->completion_ms >= window->start_ms);
}

static int join_container(struct evidence_batch *self, struct evidence_pod *pod, const struct evidence_container *from)
{
	struct evidence_container *to = evidence_container_put(self, pod, from->name);
	struct evidence_container copy = *from;

	if (!to)
		return -ENOMEM;
	copy.name = to->name;
	copy.image = evidence_intern(self, from->image);
	memcpy(&copy.usage, &to->usage, sizeof(copy.usage));
	if (!copy.image)
		return -ENOMEM;
	*to = copy;
	return 0;
}

static int join_texts(struct evidence_batch *self, struct evidence_pod *to, const struct evidence_pod *from)
{
	to->owner_kind = evidence_intern(self, from->owner_kind);
	to->owner_name = evidence_intern(self, from->owner_name);
	to->root_kind = evidence_intern(self, from->root_kind);
	to->root_name = evidence_intern(self, from->root_name);
	to->decision = evidence_intern(self, from->decision);
	to->labels.n = 0;
	for (size_t i = 0; i < from->labels.n; i++) {
		struct k8s_label label = {from->labels.items[i].key,
					  evidence_intern(self, from->labels.items[i].value)};

		if (!label.value || vec_push(&to->labels, label))
			return -ENOMEM;
	}
	return to->owner_kind && to->owner_name && to->root_kind && to->root_name && to->decision ? 0 : -ENOMEM;
}

static int join_pod(struct evidence_batch *self, const struct evidence_pod *from)
{
	struct evidence_pod *to = evidence_pod_put(self, from->namespace_name, from->name, from->uid);
	int r = to ? join_texts(self, to, from) : -ENOMEM;

	if (r)
		return r;
	to->start_ms = from->start_ms;
	to->completion_ms = from->completion_ms;
	to->pending_ms = from->pending_ms;
	to->memory_wait_ms = from->memory_wait_ms;
	to->ends = from->ends;
	to->is_owner_known = to->is_training = to->is_watched = true;
	to->is_alive = from->is_alive;
	for (size_t i = 0; i < from->containers.n && !r; i++)
		r = join_container(self, to, &from->containers.items[i]);
	return r;
}

int evidence_join(struct evidence_batch *self, const struct evidence_batch *watched, const char *const *namespaces,
		  size_t n)
{
	int r = 0;

	for (size_t i = 0; i < watched->pods.n && !r; i++) {
		const struct evidence_pod *pod = watched->pods.items[i];

		if (was_there(pod, &self->window) && is_one_of(namespaces, n, pod->namespace_name))
			r = join_pod(self, pod);
	}
	return r;
}
