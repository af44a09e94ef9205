/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* announce: notices as Events on the root owners of pods, found among the pods that are watched; a notice about a
 * namespace goes to its profile memtamer-namespace. Threads: the client's. */
#include "engine/notice.h"
#include "kube/kube_events.h"
#include "pods/pods.h"

struct announce {
	struct kube_events *events; /* NULL: none are written */
	struct pods *pods; /* NULL: owners' uids are not known, and `kubectl describe` does not show the event */
};

/** @return 0; -ENOMEM. */
int announce_notice(struct announce *self, const struct notice *notice, struct err *err) ATTR_NODISCARD;
