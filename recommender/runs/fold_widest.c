/* SPDX-License-Identifier: Apache-2.0 */
/* fold_widest: selects the rank that provides the curve of a run, the one with the greatest peak. The sum of all ranks
 * would drop when one of them ends. */
#include "runs/fold_internal.h"

#include <stdio.h>

void fold_note_widest(struct found_run *found, const struct pod_table *table, const struct member *member,
		      const struct pod_container *container)
{
	struct run_widest *widest = &found->widest;
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
