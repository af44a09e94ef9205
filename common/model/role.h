/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* role: the role of a pod in its workload, and its index. Names are read first, because admission and metrics both know
 * them. Labels, which only admission always has, are used if a name was truncated or has another form. Private to the
 * layer model. Cost: linear in the names, and in the labels and annotations for each key of a fixed list. */
#include "model/identity.h"

/** The known owners of a pod, nearest first. Longer than in identity_facts, as labels add levels. */
struct owner_chain {
	struct identity_owner items[8];
	size_t n;
};

/** Sets role and rank. `pod_name` has its random suffix, or a placeholder for it. */
void role_find(const struct identity_facts *facts, const struct owner_chain *chain, const char *pod_name,
	       struct identity *ret);
/** A label or annotation of the pod; "": absent or not known. */
const char *facts_label(const struct identity_facts *facts, const char *key);
const char *facts_annotation(const struct identity_facts *facts, const char *key);
