/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn_merge: two findings of one run. A run is found again and again, each time by those who still know of it:
 * Prometheus, which knows use and forgets pods; the API server, which knows ends, limits and decisions, and knows
 * nothing of use. What one of them does not say does not undo what the other one said. Merging the same again changes
 * nothing. */
#include "runs/fold.h"

/** Is `found` the run `known`, or a further attempt of it: same name, and at the same time, or begun soon after an
 *  attempt that did not complete? */
bool learn_is_one_run(const struct run *known, const struct run *found);
/** The API server itself told of it: it says who chose its sizes. */
bool learn_is_watched(const struct run *run);
/** Where `run` has no figure of its accelerators' activity, that of another finding of it stands. */
void learn_keep_activity(struct run *run, const struct run *other);
/** Of another finding of the run: nothing else tells of a curve. */
void learn_keep_curve(struct run *run, const struct run *other);
/** What both say together. */
struct run learn_merge(const struct run *known, const struct run_summary *found);
