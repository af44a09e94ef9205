/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn: adds found runs to histories, computes recommendations (size_base) and writes both as one change of the store.
 * Idempotent: learning the same runs again changes nothing, also after a crash between the commit and the saving of the
 * collector's state. One thread. */
#include "base/timefmt.h"
#include "config/config.h"
#include "engine/collect.h"
#include "engine/diagnose.h"
#include "engine/learn_names.h"
#include "engine/notice.h"
#include "model/slower.h"
#include "store/store.h"

struct learned {
	const char *namespace_name, *name; /* of its objects in the store */
	const char *moved_from;		   /* their name before a person's profile adopted them; NULL: unchanged */
	const struct profile *twin;	   /* another profile in the store with a key of this workload; NULL: none */
	struct profile *profile;	   /* to be written; NULL: unchanged */
	struct profile *before;		   /* the profile in the store; NULL: none */
	struct history *history;
	size_t n_runs;			   /* found in this cycle */
	const struct diagnosed *diagnosed; /* of a failed run; NULL: no news */
	const struct found_run *completed; /* the last found run that completed; NULL: none */
	const struct found_run *lost;	   /* the last found run in which only a counter shows a kill; NULL: none */
	bool is_new;
	bool has_changed_history;
	bool is_written;
	bool is_moving;	 /* its history was read under the old name */
	bool is_copied;	 /* `before` is a copy of the profile under the old name, and not in the store yet */
	bool has_more;	 /* the history under the old name has runs that the new one lacks: it is not deleted */
	bool is_adopted; /* its objects have the name of a person's profile that names the workload */
	bool is_stale;	 /* another writer changed it: read it and compute it again */
};

/** A profile that names a workload in its spec. */
struct learn_naming {
	const struct profile *profile;
	const struct profile *learned; /* a profile of a workload that it decides about; NULL: none is known */
	/* a profile that decides about the same workload before this one; NULL: none */
	const struct profile *beaten_by;
};

/** Conditions, with memory for their messages. */
struct learn_report {
	struct profile_report report;
	char messages[PROFILE_CONDITIONS][LIMIT_CONDITION_BYTES + 1];
};

/** The harm that a finding of a run shows, with the figures behind HARM_SLOWER. */
struct learned_news {
	uint8_t harm; /* bits of enum harm */
	struct slower slower;
	enum slower_by by;
};

/** What is known of the objects with one name. */
struct learn_object {
	struct profile *profile; /* of the store, borrowed; NULL: none */
	size_t item, naming;	 /* indexes of struct learn plus 1; 0: none */
};

/** What is read of the store. */
enum learn_reading {
	LEARN_READ_FOUND,    /* the objects that the found runs may belong to */
	LEARN_READ_PROFILES, /* all profiles, and the histories of workloads with found runs */
	LEARN_READ_ALL,	     /* all profiles and histories */
};

/* A run is found in each cycle while it runs. One that was not seen for this long has ended, and nobody knows how. */
#define LEARN_LOST_MS TIME_DAY_MS

struct learn;
/** Adds what is to be learned of a found run to the history of its workload. */
typedef int learn_add_fn(struct learn *self, struct learned *item, const struct found_run *found, struct err *err);

struct learn {
	const struct config *config;
	struct store *store;
	int64_t now_ms;
	/* For learn_all, if all existing pods were reported: watched runs that are stored as running, but were not
	 * found and were last seen before this time, have ended unobserved. 0: not all pods were reported. */
	int64_t settle_before_ms;
	int64_t lost_before_ms; /* other runs that are stored as running and were last seen before it; 0: not known */
	struct namespace_caps *caps; /* caps that we set; namespaces with harm become due in it; NULL: not known */
	/* Object names, kept between cycles, or NULL. Filled when all profiles are read. */
	struct learn_names *names;
	struct learn_names old_names; /* `names` before all profiles were read; may contain names of deleted profiles */

	enum learn_reading reading; /* set by the functions that learn; raised if more had to be read */
	learn_add_fn *add;

	VEC(struct learned) items;	/* workloads with found runs, or with a new size */
	VEC(struct profile *) profiles; /* profiles read from the store */
	VEC(struct node_shape) shapes;	/* node shapes of the store */
	VEC(struct learn_naming) namings;
	/* A snapshot of the profiles in `namings`. NULL: there are none, or not all profiles were read. */
	struct snapshot *naming;
	struct snapshot_builder *naming_builder;
	struct strmap objects;		   /* "namespace/name" -> struct learn_object, in the arena */
	struct strmap key_index;	   /* "namespace key role container" -> index of an item + 1 */
	struct arena arena;		   /* keys of the indexes, and names */
	const struct diagnosed *diagnosed; /* for learn_diagnosed */
	const struct found_run **runs;	   /* sorted by start */
	size_t n_runs;
	struct notices notices; /* to be reported, and harm to be counted, after the commit */
	size_t n_profiles_changed, n_workloads;
};

/** Computes histories and profiles from found runs, which must live as long as `self`. Reads the store and writes
 * nothing. Cost: reads all profiles, and the histories of workloads with found runs.
 * @return 0; -ENOMEM; as store_visit and store_visit_named. */
int learn_runs(struct learn *self, const struct found_run *runs, size_t n, struct err *err) ATTR_NODISCARD;
/** The same, and settles and sizes also all workloads without found runs, since the policy may have changed. Cost:
 * reads all profiles and histories. */
int learn_all(struct learn *self, const struct found_run *runs, size_t n, struct err *err) ATTR_NODISCARD;
/** Does the same as learn_runs. Cost: in a cluster, once `names` is complete, reads only the objects that the runs may
 * belong to. */
int learn_quick(struct learn *self, const struct found_run *runs, size_t n, struct err *err) ATTR_NODISCARD;
/** Adds only the curves of runs that are in histories already. Cost: as learn_quick. */
int learn_curves(struct learn *self, const struct found_run *runs, size_t n, struct err *err) ATTR_NODISCARD;
/** Puts what triage found about these runs, whose workloads are in the store, into their profiles. Cost: as
 * learn_quick. */
int learn_diagnosed(struct learn *self, const struct found_run *runs, size_t n, const struct diagnosed *diagnosed,
		    struct err *err) ATTR_NODISCARD;
/** Writes what changed, and these node shapes, which are new or changed. Objects that another writer changed meanwhile
 * are read and computed again, up to five times.
 * @return 0; -ENOMEM; as store_commit and store_remove. */
int learn_commit(struct learn *self, const struct node_shape *shapes, size_t n_shapes, struct err *err) ATTR_NODISCARD;
/** Frees what was read and computed, but not what the caller set. */
void learn_release(struct learn *self);

/* learn_known.c */
/** Reads what the store has about the items: names, profiles and histories. */
int learn_known(struct learn *self, struct err *err) ATTR_NODISCARD;
/** Reads the stale items again and discards what was computed for them. */
int learn_known_again(struct learn *self, struct err *err) ATTR_NODISCARD;

/* learn_index.c */
/** Whether all profiles of the store were read. */
bool learn_has_all_profiles(const struct learn *self);
/** Finds the item of a run by the run's keys. NULL: none. */
struct learned *learn_find(const struct learn *self, const struct found_run *run);
/** The workload with this key. NULL: none. */
struct learned *learn_find_key(const struct learn *self, const char *namespace_name, const char *key, const char *role,
			       const char *container);
/** Finds an item by a name of its objects, borrowed. NULL: none. */
struct learned *learn_find_name(const struct learn *self, const char *namespace_name, const char *name);
/** Makes all keys of a run lead to this item, unless they lead to another one. @return 0 or -ENOMEM. */
int learn_index_keys(struct learn *self, const struct found_run *run, size_t item) ATTR_NODISCARD;
/** Remembers the object names of the found runs' keys for later cycles. @return 0 or -ENOMEM. */
int learn_remember(struct learn *self) ATTR_NODISCARD;
/** The same for the keys of one profile. @return 0 or -ENOMEM. */
int learn_remember_profile(struct learn *self, const struct profile *profile) ATTR_NODISCARD;
/** Indexes the profile if its spec names a workload. @return 0 or -ENOMEM. */
int learn_index_naming(struct learn *self, struct profile *profile) ATTR_NODISCARD;
/** The profile of the store with this name, borrowed. NULL: none. */
struct profile *learn_profile_of(const struct learn *self, const char *namespace_name, const char *name);
/** The naming of this profile. NULL: it names no workload. */
struct learn_naming *learn_get_naming(const struct learn *self, const struct profile *profile);
/** Whether no later profile of this name was read. */
bool learn_is_current(const struct learn *self, const struct profile *profile);
/** Adds a profile of the store, and takes ownership in any case. @return 0 or -ENOMEM. */
int learn_index_profile(struct learn *self, struct profile *take_profile) ATTR_NODISCARD;
/** There is no profile of this name any more. */
void learn_index_no_profile(struct learn *self, const char *namespace_name, const char *name);
/** Sets the name of the item's objects. The item is still found by its earlier names. @return 0 or -ENOMEM. */
int learn_give_name(struct learn *self, struct learned *item, const char *namespace_name,
		    const char *name) ATTR_NODISCARD;
/** The object name that the keys of a run led to in an earlier cycle. NULL: not known. */
const char *learn_known_name(const struct learn *self, const struct found_run *run);
/** Sets err. @return -ENOMEM. */
int learn_no_memory(struct err *err);

/* learn_adopt.c */
/** Call it after all profiles were read. If a person's profile names the workload of an item, the item's results go to
 * that profile, together with what was learned under another name before, unless people decided something in the
 * profile of that name too. @return 0 or -ENOMEM. */
int learn_adopt(struct learn *self) ATTR_NODISCARD;
/** Call it after all profiles were read. Copies what was learned under the old names of adopted items to their new
 * profiles. @return 0 or -ENOMEM. */
int learn_move_profiles(struct learn *self) ATTR_NODISCARD;
/** Adds a history that was read under the item's name or its old name, and takes ownership. @return 0 or -ENOMEM. */
int learn_take_history(struct learned *item, struct history *take_history) ATTR_NODISCARD;
/** Call it after the commit. Deletes the objects under the old names. @return as store_remove. */
int learn_remove_moved(struct learn *self, struct err *err) ATTR_NODISCARD;

/* learn_history.c */
/** Adds a run to a history, or merges it with what the history has of it. Harm that was known before is kept.
 * @param ret_changed  set (never cleared) if the history changed. @param ret_news  harm that was not known before.
 * @return 0 or -ENOMEM. */
int learn_history_run(const struct config *config, struct history *history, const struct found_run *found,
		      bool *ret_changed, struct learned_news *ret_news, struct err *err) ATTR_NODISCARD;
/** Whether the run is whole, one of the newest whole runs of the history, and has no known shape. */
bool learn_history_wants_curve(const struct history *history, const struct run *run);
/** Adds the curve and the shape of a run to a history that wants it. @param ret_changed  set (never cleared) if the
 * history changed. @return 0 or -ENOMEM. */
int learn_history_curve(struct history *history, const struct run *run, bool *ret_changed,
			struct err *err) ATTR_NODISCARD;
/** The run as the history has it, borrowed; its start may be earlier. NULL: not in the list. */
const struct run *learn_history_find(const struct history *history, const struct run *run);
/** Sets runs to "unknown" that are stored as running: watched ones that were last seen before `before_ms` (all that
 * exist were found since; 0: none), and all that were last seen before `lost_before_ms` (0: none). A run that is found
 * again runs again. @return whether there were any. */
bool learn_history_settle(struct history *history, int64_t before_ms, int64_t lost_before_ms);

/* learn_decisions.c */
/** Records what was set in the pods of a run. @param ret_changed  set (never cleared) if the history changed. @return 0
 * or -ENOMEM. */
int learn_decisions(struct learn *self, struct history *history, const struct found_run *found,
		    bool *ret_changed) ATTR_NODISCARD;

/* learn_harm.c */
/** The harm that was found in a run, with the kinds that need the configuration and the history. `run` is the merged
 * run, since its end and its use may come from different sources at different times. */
struct learned_news learn_harm(const struct config *config, const struct history *history,
			       const struct found_run *found, const struct run *run);
/** Keeps a notice of each kind of new harm until the commit; roles and containers of a run share it. @return 0 or
 * -ENOMEM. */
int learn_harm_note(struct learn *self, const struct found_run *found, const struct learned_news *news) ATTR_NODISCARD;

/** If the history has harm of the last day, its namespace is due for a check. Called for all histories when all are
 * read. @return 0 or -ENOMEM. */
int learn_harm_look(struct learn *self, const struct history *history) ATTR_NODISCARD;

/* learn_diagnosis.c */
/** The diagnosis of the item's profile: that in the store (item->before), a newer one, or what a later run that
 * completed leaves of it. `buf`: memory for a new one. NULL: none. */
const struct diagnosis *learn_diagnosis(const struct learned *item, struct diagnosis *buf);

/* learn_profile.c */
/** Computes the profile of a history.
 * @param before  the profile in the store, or NULL.
 * @param diagnosis  of its last failed run; NULL: none.
 * @param reporter  adds conditions; NULL: none.
 * @param ret  NULL: nothing changed.
 * @return 0; -ENOMEM; as size_base. */
int learn_profile(const struct config *config, const struct history *history, const struct profile *before,
		  const struct diagnosis *diagnosis, int64_t now_ms, const struct learn *reporter, struct profile **ret,
		  struct err *err) ATTR_NODISCARD;

/* learn_report.c */
/** Call it after all profiles were read. Finds which of the profiles that name a workload decide. Cost: one lookup for
 * each key of each profile. */
void learn_judge_namings(struct learn *self);
/** Computes the conditions of a profile that is to be written. `before`: as it was read; NULL: a new one. */
void learn_report(const struct learn *self, const struct profile *profile, const struct profile *before,
		  struct learn_report *ret);
/** Whether the spec changed since the status was written. */
bool learn_is_spec_new(const struct profile *profile);
/** Call it after all profiles were read and sizes were computed. Adds items for profiles whose conditions changed.
 * @return 0 or -ENOMEM. */
int learn_report_all(struct learn *self) ATTR_NODISCARD;
