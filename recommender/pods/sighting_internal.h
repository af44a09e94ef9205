/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* sighting_internal: functions shared by the sighting_*.c files. */
#include "k8s/doc.h"
#include "pods/sighting.h"

/** The fields of a Pod that are read beside those of allow_pod: times, node, status. */
extern const struct allow sighting_allow;

/** Adds to `decision` what our resizes have set since (sighting_resize.c). Call it after decision and containers are
 * filled. `text` is the pod as JSON; one that cannot be parsed is ignored. @return 0 or -ENOMEM. */
int sighting_note_resizes(struct sighting *self, const char *text, size_t n) ATTR_NODISCARD;
/** Replaces `*text` by a heap copy of `value`; NULL stands for "". @return 0 or -ENOMEM (unchanged). */
int sighting_text_set(char **text, const char *value) ATTR_NODISCARD;
/** Sets all texts to heap copies; NULL stands for "". @return 0 or -ENOMEM (some texts may be set). */
int sighting_owner_set(struct sighting_owner *self, const char *api_version, const char *kind, const char *name,
		       const char *uid) ATTR_NODISCARD;
void sighting_owner_release(struct sighting_owner *self);
/** Finds a container by name, borrowed. NULL: there is none, or `self` is NULL. */
const struct sighting_container *sighting_container(const struct sighting *self, const char *name);

/** Reads the state of the pod and its containers from a Pod's metadata and status. `self` must have its containers.
 * @param doc  read with sighting_allow.
 * @param before  the previous sighting of the same pod, or NULL.
 * @param now_ms  used for times that are not reported. */
void sighting_read_status(struct sighting *self, const struct k8s_pod *pod, const struct doc *doc,
			  const struct sighting *before, int64_t now_ms);
