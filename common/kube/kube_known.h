/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_known: which objects a reflector has told of, so that a new list shows what has gone in between. An object is 16
 * bytes of hashes in a table that is two thirds full, and, unless `forgets_names`, its names on the heap: 100,000
 * objects are 2.4 MB without, about 10 MB with names. Threads: belongs to one thread. */
#include "kube/kube_object.h"

#include <stdint.h>

struct kube_known_slot;
struct kube_known {
	struct kube_known_slot *slots;
	char **names; /* of the slots: namespace, NUL, name; NULL: forgotten */
	size_t capacity, n;
	bool forgets_names;
};

enum kube_known_change { KUBE_KNOWN_NEW, KUBE_KNOWN_CHANGED, KUBE_KNOWN_SAME };

void kube_known_release(struct kube_known *self);
/** Note an object as seen in round `mark`; only whether two rounds in a row are the same counts. @return a
 *  kube_known_change; -ENOMEM. */
int kube_known_put(struct kube_known *self, const struct kube_object *object, uint32_t mark) ATTR_NODISCARD;
/** @return whether it was there. */
bool kube_known_remove(struct kube_known *self, const char *namespace, const char *name);
bool kube_known_has(const struct kube_known *self, const char *namespace, const char *name);
/** Remove what was not seen in round `mark`, telling each (without json), unless names are forgotten.
 *  @return how many have gone. */
size_t kube_known_sweep(struct kube_known *self, uint32_t mark,
			void (*gone)(void *context, const struct kube_object *object), void *context);
