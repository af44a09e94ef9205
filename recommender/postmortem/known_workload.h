/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* known_workload: what the recommender has recorded of a workload's runs (status of its MemoryProfiles), as evidence of
 * a triage: the peak of complete runs, the limit that was killed, whether a leak is suspected, the last diagnosis and
 * the recommended limit. One request, which recorded_crash.h uses as well. */
#include "postmortem/postmortem.h"

#define KNOWN_PROFILES_MAX 8 /* roles and containers of the workload; further ones are not read */

struct known_profile {
	const char *name, *container; /* borrowed from the postmortem; "" */
	int64_t limit_bytes;	      /* recommended; FIGURE_NONE */
	bool is_leak;		      /* suspected */
};

struct known_workload {
	struct known_profile items[KNOWN_PROFILES_MAX];
	size_t n;
};

/** Fetches the profiles of the namespace once, and keeps them in self->profiles. @return 0; a kube_condition; -errno.
 */
int known_workload_fetch(struct postmortem *self, struct err *err) ATTR_NODISCARD;
/** A key of the workload, among all by which it was seen. */
bool known_workload_has_key(struct json_object *profile, const char *key);
/** Whether a profile is of the pods that were read, or of their owner. */
bool known_workload_is_of_run(const struct postmortem *self, struct json_object *profile);

/** Adds what is recorded of a workload to the facts; what cannot be read becomes a note. Before triage_decide().
 *  @param operand  KIND/NAME, as model/identity_meant.h takes it; NULL: that of the pods that were read.
 *  @return 0 or -ENOMEM. */
int known_workload_read(struct postmortem *self, const char *operand, struct known_workload *ret) ATTR_NODISCARD;
/** After triage_decide(): completes a kill at the limit of a container by what is recorded of it, if one profile is
 *  meant: the recommended limit, and `leak` as its cause if nothing else gave one. */
void known_workload_apply(struct postmortem *self, const struct known_workload *known);
