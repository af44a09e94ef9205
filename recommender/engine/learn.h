/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn: found runs -> histories -> size_base -> profiles, as one change of the store. Idempotent: the same runs again
 * change nothing, also after a crash between the commit and the saving of the collector's state. */
#include "config/config.h"
#include "engine/collect.h"
#include "engine/learn_names.h"
#include "engine/notice.h"
#include "model/slower.h"
#include "store/store.h"

struct learned {
	const char *namespace_name, *name; /* of its objects in the store */
	struct profile *profile;	   /* as it shall be written; NULL: as it was */
	struct profile *before;		   /* what the store had; NULL: none */
	struct history *history;
	size_t n_runs; /* found in this cycle */
	bool is_new;
	bool has_changed_history;
	bool is_written;
	bool is_stale; /* someone else changed it: read again, compute anew */
};

/** One run and kind of harm that was not known before. */
struct learned_harm {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1];
	char uid[RUN_UID_BYTES];
	enum harm harm;
};

bool learned_harm_is_same(const struct learned_harm *a, const struct learned_harm *b);

/** What a finding of a run says of harm, and the figures behind "slower". */
struct learned_news {
	uint8_t harm; /* bits of enum harm */
	struct slower slower;
	enum slower_by by;
};

struct learn {
	const struct config *config;
	struct store *store;
	int64_t now_ms;
	/* Also size workloads anew that no run was found of (the policy may have changed): reads all histories. */
	bool is_sizing_all;
	/* Size those that runs were found of even if their histories stayed the same: an earlier commit failed
	 * half-way.
	 */
	bool is_sizing_found;
	/* All pods that there are were told of: watched runs that are said to run, and of which no run was found, have
	 * gone unseen. Reads all histories, too. */
	bool is_settling;
	/* Names of objects from cycle to cycle, or NULL: filled when all profiles are read. */
	struct learn_names *names;
	/* Where `names` is whole, only what the runs found may belong to is read. */
	bool is_quick;
	/* Of the runs found, which are known, only the curves are news. */
	bool is_of_curves;

	bool has_read_all; /* `profiles` are all that the store has */

	VEC(struct learned) items;	/* workloads with found runs, or with a new size */
	VEC(struct profile *) profiles; /* of the store, until they find their history */
	VEC(struct node_shape) shapes;	/* of the store */
	struct strmap profile_index;	/* "namespace/name" */
	struct strmap name_index;	/* "namespace/name" -> number of an item with found runs + 1 */
	struct strmap key_index;	/* "namespace key role container" -> the same */
	VEC(char *) texts;		/* keys of the indexes, and names */
	const struct found_run **runs;	/* by start */
	size_t n_runs;
	VEC(struct learned_harm) harms; /* to be counted once they are in the store */
	VEC(struct notice) notices;	/* to be told then */
	struct due_namespaces harmed;	/* within a day, as far as all histories were read */
	size_t n_profiles_changed, n_workloads;
};

/** Make histories and profiles of the found runs, which must live as long. Reads the store, writes nothing: profiles
 *  all, histories only of workloads that runs were found of, unless all are sized. */
int learn_runs(struct learn *self, const struct found_run *runs, size_t n, struct err *err) ATTR_NODISCARD;
/** Write what changed, with these shapes that are new or changed. Nothing is written when nothing changed. What someone
 *  else changed meanwhile is read again and computed anew. */
int learn_commit(struct learn *self, const struct node_shape *shapes, size_t n_shapes, struct err *err) ATTR_NODISCARD;
void learn_release(struct learn *self);

/* learn_known.c */
/** What the store knows of the items: their names, profiles and histories. */
int learn_known(struct learn *self, struct err *err) ATTR_NODISCARD;
/** The same again of the stale ones, which lose what was computed. */
int learn_known_again(struct learn *self, struct err *err) ATTR_NODISCARD;
/** By the keys of the run; NULL: none. */
struct learned *learn_find(const struct learn *self, const struct found_run *run);
struct learned *learn_find_name(const struct learn *self, const char *namespace_name, const char *name);
/** All keys of a run lead to this item from now on, unless they lead to another one. 0 or -ENOMEM. */
int learn_index_keys(struct learn *self, const struct found_run *run, size_t item) ATTR_NODISCARD;
/** The names that the keys of the found runs lead to, for the next cycles. 0 or -ENOMEM. */
int learn_remember(struct learn *self) ATTR_NODISCARD;
struct profile *learn_profile_of(const struct learn *self, const char *namespace_name, const char *name);
int learn_no_memory(struct err *err);

/* learn_history.c */
/** Put a run into a history, with what harm it came to (what was known stays). `ret_changed` is set (never cleared)
 *  when the history is now another one; `ret_news`: harm that was not known before. */
int learn_history_run(const struct config *config, struct history *history, const struct run_summary *summary,
		      bool *ret_changed, struct learned_news *ret_news, struct err *err) ATTR_NODISCARD;
/** Is it whole, of the newest of the history, and nothing known of its curve? */
bool learn_history_wants_curve(const struct history *history, const struct run *run);
/** Put the curve of a run, with what it says of its shape, into a history that wants it. */
int learn_history_curve(struct history *history, const struct run *run, bool *ret_changed,
			struct err *err) ATTR_NODISCARD;
/** A run as the history has it, which may have seen an earlier beginning of it; NULL: it is not listed. */
const struct run *learn_history_find(const struct history *history, const struct run *run);
/** Watched runs that are said to run at `now_ms` still run; those that ended before it without anybody seeing how are
 *  unknown from now on. @return whether there were any. */
bool learn_history_settle(struct history *history, int64_t now_ms);

/* learn_decisions.c */
/** Note what was set in the pods of a run. 0 or -ENOMEM. */
int learn_decisions(struct learn *self, struct history *history, const struct run_summary *summary,
		    bool *ret_changed) ATTR_NODISCARD;

/* learn_harm.c */
/** The harm of a run as it was found, with what only the configuration and its history tell: `run` is what is known of
 *  it altogether, since its end and its use may be told by different sources at different times. */
struct learned_news learn_harm(const struct config *config, const struct history *history,
			       const struct run_summary *summary, const struct run *run);
/** Keep for later what is new of a run; the run's uid as its history has it. 0 or -ENOMEM. */
int learn_harm_tell(struct learn *self, const struct found_run *run, const char *uid,
		    const struct learned_news *news) ATTR_NODISCARD;

/** A history of the store, where all are read: was its namespace harmed within a day? 0 or -ENOMEM. */
int learn_harm_look(struct learn *self, const struct history *history) ATTR_NODISCARD;

/* learn_profile.c */
/** Size a history. `ret` NULL when that changes nothing about `before`. */
int learn_profile(const struct config *config, const struct history *history, const struct profile *before,
		  int64_t now_ms, struct profile **ret, struct err *err) ATTR_NODISCARD;
