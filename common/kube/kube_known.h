/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_known: which objects a reflector has told of, so that a new list shows what has gone in between. Holds name and
 * a hash of the resourceVersion only: about 80 bytes an object. Threads: belongs to one thread. */
#include "kube/kube_object.h"

#include <stdint.h>

struct kube_known_entry;
struct kube_known {
	struct kube_known_entry **buckets;
	size_t n_buckets, n;
};

enum kube_known_change { KUBE_KNOWN_NEW, KUBE_KNOWN_CHANGED, KUBE_KNOWN_SAME };

void kube_known_release(struct kube_known *self);
/** Note an object as seen in round `mark`. @return a kube_known_change; -ENOMEM. */
int kube_known_put(struct kube_known *self, const struct kube_object *object, uint32_t mark) ATTR_NODISCARD;
/** @return whether it was there. */
bool kube_known_remove(struct kube_known *self, const char *namespace, const char *name);
/** Remove what was not seen in round `mark`, telling each (without json). */
void kube_known_sweep(struct kube_known *self, uint32_t mark,
		      void (*gone)(void *context, const struct kube_object *object), void *context);
