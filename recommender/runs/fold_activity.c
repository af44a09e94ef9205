/* SPDX-License-Identifier: Apache-2.0 */
/* What the accelerators of a run did: the mean over all samples, so that a long attempt counts for more than a short
 * one, and a pod with eight devices for more than one with two. */
#include "runs/fold_internal.h"

enum { ALL_PERMILLE = 1000 };

void fold_add_activity(struct run_summary *summary, const struct pod *pod)
{
	int64_t samples;

	if (pod->activity_samples <= 0)
		return;
	summary->activity_sum += pod->activity_sum;
	samples = summary->activity_samples += pod->activity_samples;
	summary->run.activity_permille = (int32_t)MIN((summary->activity_sum + samples / 2) / samples, ALL_PERMILLE);
}
