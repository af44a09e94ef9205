/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* reported: the hashes of the last REPORTED_KEPT things that were reported, so that each is reported once. One that is
 * older may be reported again. Start with all zeros. One thread. Cost: linear in REPORTED_KEPT. */
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORTED_KEPT 256

struct reported {
	uint64_t hashes[REPORTED_KEPT];
	size_t n; /* all that were added */
};

bool reported_has(const struct reported *self, uint64_t hash);
/** Adds a hash. @return false: it was there already. */
bool reported_add(struct reported *self, uint64_t hash);
/** Whether `why` differs from the message in `said`, where it is stored. Repeated failures are logged once. */
bool reported_is_new(char said[160], const struct err *why);
