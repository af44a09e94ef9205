/* SPDX-License-Identifier: Apache-2.0 */
/* Whose curve a run has: that of the rank with the greatest peak. Adding ranks up would make a step where one ends. */
#include "runs/fold_internal.h"

#include <stdio.h>

void fold_note_widest(struct run_summary *summary, const struct pod_table *table, const struct member *member,
		      const struct pod_container *container)
{
	struct run_widest *widest = &summary->widest;
	int64_t step_ms = container->step_ms ? container->step_ms : table->step_ms;

	if (container->peak_bytes <= widest->peak_bytes || member->end_ms == INT64_MAX)
		return;
	*widest = (struct run_widest){.peak_bytes = container->peak_bytes,
				      .start_ms = member->begin_ms,
				      .end_ms = member->end_ms,
				      .step_ms = step_ms};
	if (container->first_ms && !container->is_first_coarse)
		widest->start_ms = MAX(widest->start_ms, container->first_ms - step_ms);
	if (container->last_ms && !container->is_last_coarse)
		widest->end_ms = MIN(widest->end_ms, container->last_ms + 1);
	snprintf(widest->pod, sizeof(widest->pod), "%s", member->pod->name);
}
