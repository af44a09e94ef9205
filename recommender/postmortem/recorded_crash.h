/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* recorded_crash: what the recommender has recorded of the last failed run of a workload (status.diagnosis of its
 * MemoryProfile), for the pods that a postmortem has read. One request. */
#include "postmortem/postmortem.h"
#include "triage/crash.h"

/** Of several profiles (roles, containers) that with the latest diagnosis counts. @return 0; POSTMORTEM_NOT_FOUND:
 * there is no diagnosis of memory; another kube_condition or -errno: the profiles cannot be read. */
int recorded_crash_read(struct postmortem *self, struct crash *ret, struct err *err) ATTR_NODISCARD;
/** Whether a pod that was read was created, or has failed, after the crash. true if its time is not known. */
bool recorded_crash_is_over(const struct postmortem *self, const struct crash *crash);
