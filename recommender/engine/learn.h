/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn: found runs -> histories -> size_base -> profiles, as one change of the store. Idempotent: the same runs again
 * change nothing, also after a crash between the commit and the saving of the collector's state. */
#include "config/config.h"
#include "engine/collect.h"
#include "store/store.h"

struct learned {
	struct profile *profile; /* as it shall be written; NULL: as it was */
	struct profile *before;	 /* what the store had; NULL: none */
	struct history *history;
	size_t n_runs; /* found in this cycle */
	bool is_new;
	bool has_changed_history;
};

struct learn {
	const struct config *config;
	struct store *store;
	int64_t now_ms;
	/* Also size workloads anew that no run was found of (the policy may have changed). */
	bool is_sizing_all;

	VEC(struct learned) items;	/* workloads with found runs, or with a new size */
	VEC(struct profile *) profiles; /* of the store, until they find their history */
	VEC(struct node_shape) shapes;	/* of the store */
	struct strmap profile_index;	/* "namespace/name" */
	struct strmap key_index;	/* "namespace key role container" -> number of found runs' workload + 1 */
	VEC(char *) texts;		/* keys of the indexes */
	size_t n_profiles_changed, n_workloads;
};

/** Make histories and profiles of the found runs. Reads the store, writes nothing. */
int learn_runs(struct learn *self, const struct found_run *runs, size_t n, struct err *err) ATTR_NODISCARD;
/** Write what changed, with these shapes that are new or changed. Nothing is written when nothing changed. */
int learn_commit(struct learn *self, const struct node_shape *shapes, size_t n_shapes, struct err *err) ATTR_NODISCARD;
void learn_release(struct learn *self);

/* learn_history.c */
/** Put a run into a history. `ret_changed` is set (never cleared) when the history is now another one. */
int learn_history_run(struct history *history, const struct run_summary *summary, bool *ret_changed,
		      struct err *err) ATTR_NODISCARD;
/** Count runs by the day they started, from the listed runs. */
int learn_history_days(struct history *history) ATTR_NODISCARD;

/* learn_profile.c */
/** Size a history. `ret` NULL when that changes nothing about `before`. A decision is noted in the history. */
int learn_profile(const struct config *config, struct history *history, const struct profile *before, int64_t now_ms,
		  struct profile **ret, struct err *err) ATTR_NODISCARD;
