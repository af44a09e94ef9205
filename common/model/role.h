/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* role: which part a pod plays in its workload, and its index in it. Names come first, because both sides know names;
 * labels, which only admission is sure to have, say it where a name was cut or is not built that way. Private to the
 * layer model. */
#include "model/identity.h"

/** The owners of a pod as far as they are known, nearest first. Wider than identity_facts: labels add levels. */
struct owner_chain {
	struct identity_owner items[8];
	size_t n;
};

/** Fill role and rank. `pod_name` has its random suffix, real or as a placeholder. */
void role_find(const struct identity_facts *facts, const struct owner_chain *chain, const char *pod_name,
	       struct identity *ret);
/** Label or annotation of the pod; "" when absent or not known. */
const char *facts_label(const struct identity_facts *facts, const char *key);
const char *facts_annotation(const struct identity_facts *facts, const char *key);
