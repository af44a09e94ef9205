/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* vpa: what memtamer reads of a VerticalPodAutoscaler (autoscaling.k8s.io): of which workload it sets the memory, and
 * in which containers. The rules are those of its admission controller (v1.8). Pure; any thread. Cost of reading:
 * linear in the object. */
#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>

struct json_object;

struct k8s_vpa {
	const char *namespace_name, *name; /* "" if absent */
	uint64_t target;		   /* k8s_vpa_target() of spec.targetRef */
	int64_t created_ms;		   /* creationTimestamp; 0: absent or malformed */
	bool is_off;			   /* update mode Off: it changes no pods */
	/* Whether it sets the memory of containers; the opposite holds for those named in `others`. */
	bool sets_memory;
	const char *const *others;
	size_t n_others; /* at most LIMIT_VPA_POLICIES */
};

/** k8s_vpa_read reads an object from its text, k8s_vpa_decode from a json-c tree. Values of a wrong type, which the API
 * server rejects, count as absent, and so do names that are too long for it. Texts and the array are in the arena,
 * which is not reset.
 * @param namespace_name  of a manifest without one; borrowed.
 * @return 0; -EINVAL (malformed JSON; more than LIMIT_VPA_POLICIES container policies, or more values than a document
 * may have); -ENOMEM. */
int k8s_vpa_read(const char *text, size_t n, struct arena *arena, struct k8s_vpa *ret, struct err *err) ATTR_NODISCARD;
int k8s_vpa_decode(struct json_object *object, const char *namespace_name, struct arena *arena, struct k8s_vpa *ret,
		   struct err *err) ATTR_NODISCARD;

/** A copy in one block; free it with free(). NULL: out of memory. */
struct k8s_vpa *k8s_vpa_dup(const struct k8s_vpa *self) ATTR_NODISCARD;
/** Whether two of the same name are equal. Cost: linear in `others`. */
bool k8s_vpa_equal(const struct k8s_vpa *a, const struct k8s_vpa *b);
/** Whether it sets the memory of this container of spec.containers; it never changes init containers. Cost: linear in
 * `others`. */
bool k8s_vpa_sets_memory(const struct k8s_vpa *self, const char *container);

/** Hash of an object that owns pods, for comparison with the target of a VerticalPodAutoscaler. The API group is not
 * included: the admission controller compares kind and name, and targetRef.apiVersion is optional. Seeded for each
 * process; never 0. */
uint64_t k8s_vpa_target(const char *namespace_name, const char *kind, const char *name);
/** The hash of the object that created an owner of pods whose ownerReferences are not known, from the name that a
 * Deployment gives its ReplicaSets and a CronJob its Jobs ("train-28400000" of train). 0: the owner is of another
 * kind, or has another form of name. */
uint64_t k8s_vpa_target_of_maker(const char *namespace_name, const char *kind, const char *name);
