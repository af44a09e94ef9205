/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* quota_pods: the pods of one namespace that ResourceQuotas count, and what they use. The use of a pod is also added to
 * the sums of its owners (cluster_owners.h). One thread. Cost of a change: the length of the owner chain. */
#include "cluster/cluster_owners.h"
#include "k8s/limits.h"

struct quota_pods {
	struct hashtable by_name;
};

/** A pod that has not ended. */
struct quota_pod {
	const char *name, *controller_uid; /* controller_uid "": no controller */
	struct quota_use use;
	/* by these the scopes of a quota match */
	enum k8s_qos qos;
	bool has_deadline;
	const char *priority_class;
};

/** Adds or replaces a pod. @return 1; 0: it is as before; -ENOMEM. */
int quota_pods_put(struct quota_pods *self, struct owners *owners, const struct quota_pod *pod) ATTR_NODISCARD;
/** Removes the pod of this name, if there is one. */
void quota_pods_remove(struct quota_pods *self, struct owners *owners, const char *name);
/** Removes all pods and frees the table. */
void quota_pods_release(struct quota_pods *self, struct owners *owners);
/** What the pods that the quota counts use together; zeros if memtamer cannot decide which ones it counts
 * (k8s_quota_is_decidable). Cost: the number of pods. */
struct quota_use quota_pods_used(const struct quota_pods *self, const struct k8s_quota *quota);
