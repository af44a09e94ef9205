/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resize.h"

#include "base/str.h"
#include "k8s/quantity.h"

#include <stdio.h>

const char *const resize_kind_names[RESIZE_KIND_COUNT_] = {
	[RESIZE_KIND_OOM] = "oom",
	[RESIZE_KIND_BEFORE] = "before",
};

const char *const resize_result_names[RESIZE_RESULT_COUNT_] = {
	[RESIZE_APPLIED] = "applied",	  [RESIZE_DEFERRED] = "deferred",     [RESIZE_INFEASIBLE] = "infeasible",
	[RESIZE_HELD_BACK] = "held-back", [RESIZE_REFUSED] = "refused",	      [RESIZE_UNSUPPORTED] = "unsupported",
	[RESIZE_GONE] = "gone",		  [RESIZE_UNANSWERED] = "unanswered",
};

void resize_manager_name(enum resize_kind kind, int64_t own_bytes, char ret[RESIZE_MANAGER_BYTES])
{
	char text[QUANTITY_TEXT_BYTES];

	snprintf(ret, RESIZE_MANAGER_BYTES, RESIZE_MANAGER "%s-%s", resize_kind_names[kind],
		 quantity_render_bytes(own_bytes, text));
}

bool resize_manager_parse(const char *name, enum resize_kind *ret_kind, int64_t *ret_own_bytes)
{
	struct quantity own;

	if (!name || !strstarts(name, RESIZE_MANAGER))
		return false;
	name += sizeof(RESIZE_MANAGER) - 1;
	for (int kind = 0; kind < RESIZE_KIND_COUNT_; kind++) {
		size_t n = strlen(resize_kind_names[kind]);

		if (strncmp(name, resize_kind_names[kind], n) != 0 || name[n] != '-')
			continue;
		name += n + 1;
		if (quantity_parse(name, strlen(name), &own, NULL) || quantity_value(&own) <= 0)
			return false;
		*ret_kind = (enum resize_kind)kind;
		*ret_own_bytes = quantity_value(&own);
		return true;
	}
	return false;
}
