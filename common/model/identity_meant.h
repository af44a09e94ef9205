/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* identity_meant: which keys of workloads a person means by KIND/NAME. The kind is taken as kubectl takes it (Job, job,
 * jobs, jobs.batch) or may be left out. If no key is that, the suffix that runs append to the name is removed, as it is
 * for owners that are created for each run. The name is kept whole for kinds that recur (CronJob/nightly-2 is not
 * CronJob/nightly) and for keys of labels ("workload:bert-2"). Pure. */
#include "model/identity.h"

enum identity_match { IDENTITY_MATCH_NONE, IDENTITY_MATCH_STEM, IDENTITY_MATCH_EXACT };

struct identity_meant {
	const char *operand; /* borrowed */
	char stem[2 * IDENTITY_KEY_BYTES];
};

void identity_meant_init(struct identity_meant *ret, const char *operand);
/** Of several keys those with the greatest match are meant. */
enum identity_match identity_meant_match(const struct identity_meant *self, const char *key);
