/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* postmortem_internal: what the files of postmortem share. */
#include "postmortem/postmortem.h"

/** Fetches and parses an object. @return 0, the caller puts `ret`; a kube_condition; -errno. */
int postmortem_get(struct postmortem *self, const char *path, struct json_object **ret, struct err *err) ATTR_NODISCARD;
/** A name of a source that lives as long as `self`; "": out of memory. */
const char *postmortem_name(struct postmortem *self, const char *fmt, ...) ATTR_PRINTF(2, 3);
enum postmortem_part {
	POSTMORTEM_STATUS,
	POSTMORTEM_TAIL, /* also its logs */
	POSTMORTEM_ALL,	 /* also its events, node and series */
};

/** Reads so much of a pod, its status last. @return 0 or -ENOMEM. */
int postmortem_read_pod(struct postmortem *self, const struct ended_pod *pod, enum postmortem_part part) ATTR_NODISCARD;
/** Opens the source "event" and adds the events of an object. `pod` NULL: of the owner or of a pod that is gone.
 *  @return their number; <0: -ENOMEM. */
int postmortem_read_events(struct postmortem *self, const char *kind, const char *name, const struct ended_pod *pod);
/** Whether a request that ended so (0: well) may succeed later: there was no answer, or the server had no time. */
bool postmortem_may_succeed(int code);
/** After triage_decide(): where all data seems to be read into memory, says how large the volumes are that the pod
 *  mounts, with at most LIMIT_TRIAGE_CLAIMS requests. What cannot be read is noted. */
void postmortem_say_claims(struct postmortem *self, const struct ended_pod *pod);
/** Asks Prometheus for the containers of a pod. @return 0 or -ENOMEM. */
int postmortem_read_series(struct postmortem *self, const struct ended_pod *pod) ATTR_NODISCARD;
/** `pod` NULL: of the owner or of a pod that is gone. */
struct origin postmortem_origin(const struct ended_pod *pod);
/** "no right to read it", "it does not exist any more" or what the server said. */
const char *postmortem_reason(int code, const struct err *err);
