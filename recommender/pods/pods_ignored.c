/* SPDX-License-Identifier: Apache-2.0 */
/* pods_ignored: pods of ignored namespaces. They are kept, as a watch reports a pod again only when it changes, but in
 * a list of their own, which nothing reads. */
#include "pods/pods_internal.h"

#include <errno.h>

int pods_keep_apart(struct pods *self, struct sighting *take_now)
{
	struct sighting *before = pod_list_take(&self->apart, take_now->namespace_name, take_now->name);
	int r = pod_list_add(&self->apart, take_now);

	sighting_free(before);
	return r;
}

/* With the mutex. Without memory a pod is forgotten until it changes. @return whether a pod was moved. */
static bool move(struct pods *self, struct pod_list *from, struct pod_list *to, const char *namespace_name)
{
	struct sighting *next;
	bool is_any = false;

	for (struct sighting *one = pod_list_next(from, NULL); one; one = next) {
		next = pod_list_next(from, one);
		if (!streq(one->namespace_name, namespace_name))
			continue;
		hashtable_remove(&from->table, &one->by_name);
		one->changed_seq = to == &self->live ? ++self->seq : 0;
		is_any = true;
		if (pod_list_add(to, one))
			sighting_free(one);
	}
	return is_any;
}

/* With the mutex. */
static void forget_gone(struct pods *self, const char *namespace_name)
{
	size_t kept = 0;

	for (size_t i = 0; i < self->gone.n; i++) {
		struct sighting *sighting = self->gone.items[i];

		if (streq(sighting->namespace_name, namespace_name))
			sighting_free(sighting);
		else
			self->gone.items[kept++] = sighting;
	}
	self->gone.n = kept;
}

void pods_set_ignored(struct pods *self, const char *namespace_name, bool is_ignored)
{
	bool is_back;

	pthread_mutex_lock(&self->mutex);
	if (is_ignored) {
		(void)move(self, &self->live, &self->apart, namespace_name);
		forget_gone(self, namespace_name);
	}
	is_back = !is_ignored && move(self, &self->apart, &self->live, namespace_name);
	pthread_mutex_unlock(&self->mutex);
	if (!is_back)
		return;
	kube_timer_set(self->client, &self->roots_timer, 0); /* owners were not asked for */
	if (self->config.changed)
		self->config.changed(self->config.context);
}
