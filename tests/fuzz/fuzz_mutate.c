/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes behind the first are the review of a pod: read, decided and answered in the world that the first byte
 * chooses. */
#include "fuzz/fuzz_review.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct review_world *world;

	if (!size)
		return 0;
	world = world_of(data[0]);
	json_object_put(ask(world, ROUTE_MUTATE, (const char *)data + 1, size - 1));
	check_patch(world, ROUTE_MUTATE, (const char *)data + 1, size - 1);
	return 0;
}
