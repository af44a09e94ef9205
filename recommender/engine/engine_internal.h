/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* engine_internal: what whole and quick cycles share. */
#include "engine/engine.h"
#include "engine/learn.h"

/** Found runs of which a curve would be news. */
struct wanted_curves {
	VEC(struct found_run *) runs; /* of collect */
};
/** After `learn` has learned all that was found. 0 or -ENOMEM. */
int engine_want_curves(const struct learn *learn, struct collect *collect, struct wanted_curves *ret) ATTR_NODISCARD;
/** Read them, and put what came into histories and profiles: a second, smaller change of the store, so that what a slow
 *  source has to tell of runs that are over keeps nothing waiting. `wanted` may be empty. */
int engine_learn_curves(struct engine *self, const struct collect *collect, struct wanted_curves *wanted,
			struct engine_result *ret, struct err *err) ATTR_NODISCARD;

/** Something was missing: makes the cycle partial. The first reason is told. */
void engine_note(struct engine_result *ret, enum engine_partial what, const char *why);
/** The state of the collector; `ret` is empty before, and has no caps: these are the engine's, unless it knows newer
 *  ones. */
int engine_load_state(struct engine *self, struct collector_state *ret, struct err *err) ATTR_NODISCARD;
/** With the engine's caps. */
int engine_save_state(struct engine *self, const struct collector_state *state, struct err *err) ATTR_NODISCARD;
/** After learn_commit, whatever became of it: harm and notices that `learn` found are moved to what is to be told, and
 *  namespaces that were harmed to those that are due. 0 or -ENOMEM. */
int engine_keep_untold(struct engine *self, struct learn *learn) ATTR_NODISCARD;
/** Cap namespaces that are due. @param is_quick  as in engine_follow. @return 0 or -ENOMEM. */
int engine_check_caps(struct engine *self, struct learn *learn, bool is_quick,
		      struct engine_result *ret) ATTR_NODISCARD;
/** All that was found is in the store now: count its harm, tell of it, and cap namespaces where it went too far.
 *  @param is_quick  where there is harm, the state is loaded, and saved with new caps; else the caller does so.
 *  @return 0 or -ENOMEM. */
int engine_follow(struct engine *self, struct learn *learn, bool is_quick, struct engine_result *ret) ATTR_NODISCARD;
