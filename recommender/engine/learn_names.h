/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn_names: remembers between cycles which object a workload's key leads to, so that a quick cycle reads the objects
 * of a few workloads by name instead of all profiles. It is a hint: an object that is read by such a name is used only
 * if its aliases contain the key. Cost: constant time; 16 bytes a key and one name a profile. One thread. */
#include "base/arena.h"

#include <stdint.h>

struct learn_name {
	uint64_t hash; /* of namespace, key, role and container; 0: free */
	const char *name;
};

struct learn_names {
	struct learn_name *slots;
	size_t n, capacity; /* capacity 0 or a power of two */
	struct arena arena; /* object names */
	const char *last;   /* the object name that was copied last; NULL: none */
	bool is_whole;	    /* all profiles were read since it was emptied */
};

/** Empties the table and frees its memory. */
void learn_names_release(struct learn_names *self);
/** Sets the object name of a key. `joined` is namespace, key, role and container joined to one text. The name is
 * copied, unless the key has it or it was copied last: so the keys of a profile share one copy. @return 0 or -ENOMEM.
 */
int learn_names_put(struct learn_names *self, const char *joined, const char *name) ATTR_NODISCARD;
/** The object name of a key. NULL: not known. */
const char *learn_names_get(const struct learn_names *self, const char *joined);
