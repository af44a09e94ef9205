/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn_merge: merges two findings of one run. The same run is found many times, by two sources. Prometheus knows
 * memory use, but forgets pods. The API server knows ends, limits and decisions, but nothing of use. A source never
 * removes what only the other one knows. Merging the same finding again changes nothing. Pure. */
#include "runs/fold.h"

/** Whether `found` is the run `known` or a further attempt of it: they have the same name, and they overlap or `found`
 * began soon after an attempt that did not complete. */
bool learn_is_one_run(const struct run *known, const struct run *found);
/** Whether the API server reported the run: then it is known who chose its sizes. */
bool learn_is_watched(const struct run *run);
/** Merges what is known of a run with a new finding. The uid, the curve and the harm stay those of `known`; the caller
 * adds new harm. */
struct run learn_merge(const struct run *known, const struct found_run *found);
