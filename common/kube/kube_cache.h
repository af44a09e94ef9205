/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_cache: which objects a reflector has reported, so that a new list shows which have been deleted since. Two
 * objects with one 64-bit hash would count as one: of a million objects, one pair in 37 million such sets. An object
 * takes 40 bytes, and unless `forgets_names`, its names. Threads: belongs to one thread. Cost: constant time, for a
 * sweep linear in the objects. */
#include "base/hashtable.h"
#include "kube/kube_object.h"

#include <stdint.h>

struct kube_cache {
	struct hashtable objects;
	bool forgets_names;
};

enum kube_cache_change { KUBE_CACHE_NEW, KUBE_CACHE_CHANGED, KUBE_CACHE_SAME };

void kube_cache_release(struct kube_cache *self);
/** Records that an object was seen in round `mark`; only whether two rounds in a row are the same counts. @return a
 *  kube_cache_change; -ENOMEM. */
int kube_cache_put(struct kube_cache *self, const struct kube_object *object, uint32_t mark) ATTR_NODISCARD;
/** @return whether the cache contained the object. */
bool kube_cache_remove(struct kube_cache *self, const char *namespace, const char *name);
bool kube_cache_has(const struct kube_cache *self, const char *namespace, const char *name);
/** Removes the objects that were not seen in round `mark` and calls `gone` for each (without json), unless names are
 *  forgotten. @return the number of removed objects. */
size_t kube_cache_sweep(struct kube_cache *self, uint32_t mark,
			void (*gone)(void *context, const struct kube_object *object), void *context);
