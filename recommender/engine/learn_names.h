/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn_names: which object a workload's key leads to, remembered from one cycle to the next, so that a quick cycle
 * asks for the objects of a few workloads by name instead of reading all profiles. A hint: what is read by such a name
 * still has to be the workload's by its aliases. 16 bytes a key and a name a profile. One thread. */
#include "base/vec.h"

#include <stdint.h>

struct learn_name {
	uint64_t hash; /* of namespace, key, role and container; 0: free */
	const char *name;
};

struct learn_names {
	struct learn_name *slots;
	size_t n, capacity; /* capacity 0 or a power of two */
	VEC(char *) texts;
	bool is_whole; /* all profiles were read since it was empty */
};

/** Empty it. */
void learn_names_release(struct learn_names *self);
/** A copy of an object's name that lives as long as the table. NULL: no memory. */
const char *learn_names_keep(struct learn_names *self, const char *name);
/** `joined`: namespace, key, role and container, put together. 0 or -ENOMEM. */
int learn_names_put(struct learn_names *self, const char *joined, const char *borrowed_name) ATTR_NODISCARD;
/** NULL: not known. */
const char *learn_names_get(const struct learn_names *self, const char *joined);
