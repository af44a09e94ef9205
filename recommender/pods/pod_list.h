/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_list: sightings by namespace and name, for a watch that tells of tens of thousands: finding, adding and removing
 * one does not grow with their number. Open addressing with a seeded hash. One thread at a time. */
#include "pods/sighting.h"

struct pod_list {
	struct sighting **slots; /* owned; NULL: free */
	size_t n, capacity;	 /* capacity 0 or a power of two */
};

void pod_list_release(struct pod_list *self);
/** NULL: none. */
struct sighting *pod_list_get(const struct pod_list *self, const char *namespace_name, const char *name);
/** Add one of a name that is not there. 0; -ENOMEM (not taken). */
int pod_list_add(struct pod_list *self, struct sighting *take_sighting) ATTR_NODISCARD;
/** Put another in the place of one that is there, and give that back. */
struct sighting *pod_list_replace(struct pod_list *self, struct sighting *take_sighting);
/** Take one out; NULL: none. */
struct sighting *pod_list_take(struct pod_list *self, const char *namespace_name, const char *name);
