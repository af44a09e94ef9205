/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/quota_pods.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Larger values are not plausible; sums of so many pods cannot overflow. */
#define USE_MAX ((int64_t)1 << 45)

struct pod {
	struct hashtable_node by_name;
	struct owner *controller; /* NULL: none */
	struct quota_use use;
	enum k8s_qos qos;
	bool has_deadline;
	char priority_class[];
};

static struct pod *find(const struct quota_pods *self, const char *name)
{
	struct hashtable_node *node = hashtable_find(&self->by_name, hashtable_hash(&name, 1));

	return node ? HASHTABLE_OBJECT(node, struct pod, by_name) : NULL;
}

static void drop(struct quota_pods *self, struct owners *owners, struct pod *pod)
{
	hashtable_remove(&self->by_name, &pod->by_name);
	if (pod->controller)
		owners_remove_pod(owners, pod->controller, &pod->use);
	free(pod);
}

static struct quota_use capped(const struct quota_use *use)
{
	struct quota_use ret = {.pods = 1};

	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			ret.amounts[f][r] = MIN(use->amounts[f][r], USE_MAX);
	return ret;
}

static bool is_same(const struct pod *pod, const struct quota_pod *object, const struct quota_use *use)
{
	const char *uid = pod->controller ? owner_uid(pod->controller) : "";

	return streq(uid, object->controller_uid) && memcmp(&pod->use, use, sizeof(*use)) == 0 &&
	       pod->qos == object->qos && pod->has_deadline == object->has_deadline &&
	       streq(pod->priority_class, object->priority_class);
}

static struct pod *add(struct quota_pods *self, const struct quota_pod *object)
{
	size_t size = strlen(object->priority_class) + 1;
	struct pod *pod = calloc(1, sizeof(*pod) + size);

	if (!pod)
		return NULL;
	pod->qos = object->qos;
	pod->has_deadline = object->has_deadline;
	memcpy(pod->priority_class, object->priority_class, size);
	if (hashtable_add(&self->by_name, &pod->by_name, hashtable_hash(&object->name, 1))) {
		free(pod);
		return NULL;
	}
	return pod;
}

int quota_pods_put(struct quota_pods *self, struct owners *owners, const struct quota_pod *object)
{
	struct quota_use use = capped(&object->use);
	struct pod *pod = find(self, object->name);

	if (pod && is_same(pod, object, &use))
		return 0;
	if (pod)
		drop(self, owners, pod);
	pod = add(self, object);
	if (!pod)
		return -ENOMEM;
	pod->use = use;
	if (*object->controller_uid) {
		pod->controller = owners_add_pod(owners, object->controller_uid, &use);
		if (!pod->controller) {
			drop(self, owners, pod);
			return -ENOMEM;
		}
	}
	return 1;
}

void quota_pods_remove(struct quota_pods *self, struct owners *owners, const char *name)
{
	struct pod *pod = find(self, name);

	if (pod)
		drop(self, owners, pod);
}

void quota_pods_release(struct quota_pods *self, struct owners *owners)
{
	for (struct hashtable_node *node = hashtable_next(&self->by_name, NULL), *next; node; node = next) {
		next = hashtable_next(&self->by_name, node);
		drop(self, owners, HASHTABLE_OBJECT(node, struct pod, by_name));
	}
	hashtable_release(&self->by_name);
}

struct quota_use quota_pods_used(const struct quota_pods *self, const struct k8s_quota *quota)
{
	struct quota_use sum = {.pods = 0};
	struct k8s_pod scoped = {.has_deadline = false}; /* the part of a pod that scopes are about */

	if (!k8s_quota_is_decidable(quota))
		return sum;
	for (struct hashtable_node *node = hashtable_next(&self->by_name, NULL); node;
	     node = hashtable_next(&self->by_name, node)) {
		const struct pod *pod = HASHTABLE_OBJECT(node, struct pod, by_name);

		STEPS(1);
		scoped.has_deadline = pod->has_deadline;
		scoped.priority_class = pod->priority_class;
		if (k8s_quota_matches_rest(quota, &scoped) && k8s_quota_matches_qos(quota, pod->qos))
			quota_use_add(&sum, &pod->use, 1);
	}
	return sum;
}
