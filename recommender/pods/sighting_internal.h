/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* sighting_internal: what the files of sighting.h share. */
#include "k8s/doc.h"
#include "pods/sighting.h"

/** What of a Pod is read beside what allow_pod keeps: times, node, status. */
extern const struct allow sighting_allow;

/** Add to `decision` what our resizes set since: sighting_resize.c. After decision and containers. 0 or -ENOMEM. */
int sighting_note_resizes(struct sighting *self, const char *text, size_t n) ATTR_NODISCARD;
/** A heap copy; NULL stands for "". 0 or -ENOMEM (unchanged). */
int sighting_text_set(char **text, const char *value) ATTR_NODISCARD;
int sighting_owner_set(struct sighting_owner *self, const char *api_version, const char *kind, const char *name,
		       const char *uid) ATTR_NODISCARD;
void sighting_owner_release(struct sighting_owner *self);
/** A container by its name; NULL: none, also when `self` is NULL. */
const struct sighting_container *sighting_container(const struct sighting *self, const char *name);

/** How the pod and its containers stand, by a Pod's metadata and status (a doc of sighting_allow). `self` has its
 *  containers. `now_ms` stands for times that are not told. */
void sighting_read_status(struct sighting *self, const struct k8s_pod *pod, const struct doc *doc,
			  const struct sighting *before, int64_t now_ms);
