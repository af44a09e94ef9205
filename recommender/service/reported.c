/* SPDX-License-Identifier: Apache-2.0 */
#include "service/reported.h"

#include <stdio.h>
#include <string.h>

bool reported_has(const struct reported *self, uint64_t hash)
{
	for (size_t i = 0; i < REPORTED_KEPT && i < self->n; i++)
		if (self->hashes[i] == hash)
			return true;
	return false;
}

bool reported_add(struct reported *self, uint64_t hash)
{
	if (reported_has(self, hash))
		return false;
	self->hashes[self->n++ % REPORTED_KEPT] = hash;
	return true;
}

bool reported_is_new(char said[160], const struct err *why)
{
	if (strncmp(said, why->msg, 159) == 0)
		return false;
	snprintf(said, 160, "%.159s", why->msg);
	return true;
}
