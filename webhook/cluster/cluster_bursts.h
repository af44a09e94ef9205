/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster_bursts: what quotas had left when a root owner began to make pods. While its pods come, a quota's use and
 * what pods hold are told by different watches and never fit together; what was left at the beginning is one figure for
 * all of them, on every replica: the state of the quota whose resourceVersion is the newest one not above that of the
 * owner. Resource versions of one API server are numbers that grow over all kinds (they are revisions of etcd; where a
 * kind is kept elsewhere, or a version is no number, there is no such state and the present one counts).
 * A few states of each quota are kept, since watches may be ahead of each other. Threads: belongs to one thread. */
#include "cluster/cluster_table.h"
#include "model/snapshot.h"

struct burst;

struct bursts {
	struct table spaces; /* namespaces with quotas */
	struct burst *first;
};

void bursts_release(struct bursts *self);
/** `version`: of the owner as it began; `heard_ms`: monotonic. `owner` is what bursts_put_quota tells of.
 *  @return NULL: no quota is known in the namespace, or memory is out. */
struct burst *bursts_begin(struct bursts *self, const char *namespace, uint64_t version, int64_t heard_ms,
			   void *owner) ATTR_NODISCARD;
/** NULL allowed. */
void bursts_end(struct bursts *self, struct burst *burst);
/** The quotas as they were; borrowed until the next call. */
const struct quota_base *burst_bases(const struct burst *self, size_t *ret_n);
/** How many pods were seen before it began. */
void burst_set_seen_before(struct burst *self, int64_t pods);
int64_t burst_seen_before(const struct burst *self);

typedef void bursts_changed_fn(void *context, void *owner, bool is_over);
/** A state of a quota. `changed` is told of owners for which it is a better one, and of those whose time is over.
 *  @return 0; -ENOMEM. */
int bursts_put_quota(struct bursts *self, const struct k8s_quota *quota, uint64_t version, int64_t now_ms,
		     bursts_changed_fn *changed, void *context) ATTR_NODISCARD;
/** `changed` is told of owners that had a state of it. */
void bursts_remove_quota(struct bursts *self, const char *namespace, const char *name, bursts_changed_fn *changed,
			 void *context);
/** A resourceVersion as a number; 0: it is none. */
uint64_t bursts_version(const char *text);
