/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes behind the first are the review of an object that makes pods, for /validate and for /templates. */
#include "fuzz/fuzz_review.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct review_world *world;
	struct json_object *answer;

	if (!size)
		return 0;
	world = world_of(data[0]);
	answer = ask(world, ROUTE_VALIDATE, (const char *)data + 1, size - 1);
	require(!answer || !json_member(json_member(answer, "response"), "patch"), "/validate does not patch");
	json_object_put(answer);
	check_patch(world, ROUTE_TEMPLATES, (const char *)data + 1, size - 1);
	return 0;
}
