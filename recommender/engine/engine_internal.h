/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* engine_internal: functions shared by complete and quick cycles. */
#include "engine/engine.h"
#include "engine/learn.h"

/** Found runs whose curve is not known yet. */
struct wanted_curves {
	VEC(struct found_run *) runs; /* borrowed from a struct collect */
};
/** Collects the runs that want a curve. Call it after `learn` has learned all runs. @return 0 or -ENOMEM. */
int engine_want_curves(const struct learn *learn, struct collect *collect, struct wanted_curves *ret) ATTR_NODISCARD;
/** Reads the curves and commits them to histories and profiles. It is a second, smaller change of the store, so that a
 * slow source delays no sizes. `wanted` may be empty.
 * @return 0; -errno: the store or memory. */
int engine_learn_curves(struct engine *self, const struct collect *collect, struct wanted_curves *wanted,
			struct engine_result *ret, struct err *err) ATTR_NODISCARD;

/** Folds watched pods in a table of their own: nothing is read from Prometheus and nothing is kept. @return 0 or
 * -ENOMEM. */
int engine_fold_news(struct collect *found, struct evidence_batch *batch, struct err *err) ATTR_NODISCARD;

/** What every cycle of the engine learns with. Nothing is settled. */
struct learn engine_begin_learn(struct engine *self, int64_t now_ms);
/** Marks the cycle as partial. The first reason is the one that is reported. */
void engine_note(struct engine_result *ret, enum engine_partial what, const char *why);
/** Loads the collector's state into `ret`, which must be empty. The caps in it move to the engine, unless the engine
 * has newer ones; `ret` has none. */
int engine_load_state(struct engine *self, struct collector_state *ret, struct err *err) ATTR_NODISCARD;
/** Saves the state of `collect` with the engine's caps. */
int engine_save_state(struct engine *self, struct collect *collect, struct err *err) ATTR_NODISCARD;
/** Writes what was learned, with these node shapes (NULL: none), counts the changed profiles and the new harm, and
 * reports the notices. If the store fails, at most 1024 notices are kept for the next cycle.
 * @return 0; -ENOMEM; as learn_commit. */
int engine_commit(struct engine *self, struct learn *learn, const struct shapes *shapes, struct engine_result *ret,
		  struct err *err) ATTR_NODISCARD;
/** Caps namespaces that are due and reports the notices of `learn`. A failure makes the cycle partial. Only for cycles
 * that have read all profiles; the caller saves the state afterwards. @return 0 or -ENOMEM. */
int engine_check_caps(struct engine *self, struct learn *learn, struct engine_result *ret) ATTR_NODISCARD;
