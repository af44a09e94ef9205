/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* announce: writes notices as Events on the topmost owners of pods, which it looks up among the watched pods. A notice
 * about a namespace becomes an Event on the profile memtamer-namespace. Threads: the client's. */
#include "engine/notice.h"
#include "kube/kube_events.h"
#include "pods/pods.h"

struct announce {
	struct kube_events *events; /* NULL: no Events are written */
	struct pods *pods;	    /* NULL: the owners' uids are not known, so no Event is written for them */
};

/** Writes one Event. If no watched pod has the owner, the owner is gone and nothing is written. `events` must be set.
 * Cost: the number of watched pods. @return 0; -ENOMEM. */
int announce_notice(struct announce *self, const struct notice *notice, struct err *err) ATTR_NODISCARD;
