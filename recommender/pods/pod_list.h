/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_list: sightings by namespace and name, for watches of tens of thousands of pods. Not thread-safe: the caller
 * serialises access. Cost: constant time for get, add and take. */
#include "pods/sighting.h"

struct pod_list {
	struct hashtable table;
};

/** Frees the table and all sightings in it. */
void pod_list_release(struct pod_list *self);
/** Iterates over all sightings: NULL gives the first one, the last one gives NULL. */
struct sighting *pod_list_next(const struct pod_list *self, const struct sighting *sighting);
/** The sighting of this namespace and name, borrowed until it is taken. NULL: there is none. */
struct sighting *pod_list_get(const struct pod_list *self, const char *namespace_name, const char *name);
/** Adds a sighting, which the list then owns. The list must not contain its namespace and name.
 * @return 0; -ENOMEM (the caller still owns the sighting). */
int pod_list_add(struct pod_list *self, struct sighting *take_sighting) ATTR_NODISCARD;
/** Removes a sighting and gives it to the caller. NULL: there is none. */
struct sighting *pod_list_take(struct pod_list *self, const char *namespace_name, const char *name);
