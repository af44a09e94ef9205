/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* engine: one cycle of the recommender: state -> read what is due -> runs -> profiles -> commit -> state.
 * Profiles are committed before the state that says "these days are done": a crash in between repeats work and changes
 * nothing, because runs have stable uids. A cycle that cannot read leaves the store as it is. In a cluster, what has
 * not run for recommender.keep is deleted after a whole cycle. One thread. */
#include "config/config.h"
#include "engine/collect.h"
#include "engine/curves.h"
#include "engine/learn.h"
#include "engine/learn_names.h"
#include "engine/notice.h"
#include "engine/shapes.h"
#include "evidence/evidence.h"
#include "store/store.h"

/** What nodes there are, by someone who knows better than the reader: one shape for each node and resource, appended.
 *  @return 0; 1 not known (yet): node shapes stay as they are; -ENOMEM. */
typedef int engine_nodes_fn(void *context, struct shapes *ret);

/** What the last call of collect_pods_fn told is in the store now. */
typedef void engine_pods_done_fn(void *context, int64_t now_ms);

/** What was missing in a partial cycle. */
enum engine_partial {
	ENGINE_PARTIAL_METRIC,	 /* one that nothing can be learned without */
	ENGINE_PARTIAL_ANSWER,	 /* Prometheus said that an answer is not whole */
	ENGINE_PARTIAL_READING,	 /* reading ended early: deadline, too heavy, no answer */
	ENGINE_PARTIAL_NODES,	 /* what nodes there are */
	ENGINE_PARTIAL_DELETION, /* objects of dead workloads could not be deleted */
	ENGINE_PARTIAL_CAP,	 /* a namespace that was harmed could not be capped */
	ENGINE_PARTIAL_COUNT_,
};
extern const char *const engine_partial_names[ENGINE_PARTIAL_COUNT_];

struct engine {
	const struct config *config;
	struct store *store; /* opened as writer */
	struct evidence_reader *reader;
	collect_progress_fn *progress; /* may be NULL */
	void *progress_context;
	engine_nodes_fn *nodes; /* NULL: the reader is asked */
	void *nodes_context;
	collect_pods_fn *pods; /* NULL: only the reader tells of pods */
	engine_pods_done_fn *pods_done;
	void *pods_context;
	notice_fn *notice; /* may be NULL */
	void *notice_context;
	/* Between two readings of a cycle, which may take minutes: a quick cycle may be run there. May be NULL. */
	void (*between)(void *context);
	void *between_context;
	struct learn_names names; /* of all profiles */
	struct curves curves;	  /* that were asked for */
	/* What is remembered of caps, for whole and quick cycles: the latter may come in the middle of the former. */
	struct namespace_caps caps;
	bool has_new_caps; /* they are not in the collector's state yet */
	/* Found, but not told: the commit failed, after these were written or before it. */
	VEC(struct learned_harm) untold_harms;
	VEC(struct notice) untold;
	bool has_settled;   /* since the start, with the pods that there are */
	bool has_sized_all; /* since the start, with this configuration */
	bool has_failed;    /* the last commit did, and may have left a history without its profile */
};

/** What one cycle did. */
struct engine_result {
	size_t n_runs, n_workloads; /* runs found; workloads known */
	size_t n_profiles_changed, n_removed, n_queries, n_series;
	size_t days_done, days_total;
	int64_t n_samples, duration_ms;
	size_t harms[HARM_COUNT_]; /* runs that were harmed, as far as it was not known before */
	size_t n_capped;	   /* namespaces with a modeCap; SIZE_MAX: not counted */
	bool is_partial;	   /* something was not read, or answered in part: `why` */
	char why[640];
	unsigned int partial; /* bits of enum engine_partial */
	int reading;	      /* how reading ended: 0, an enum evidence_condition, -errno */
};

/** Frees what cycles remember; not what it was given. */
void engine_release(struct engine *self);
/** @return 0 (see is_partial); EVIDENCE_UNREACHABLE: nothing could be asked; -errno: the store or memory. */
int engine_cycle(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
/** A quick cycle: from watched pods alone, and only of runs of which something is new. The reader is not asked, the
 *  collector's state stays as it is. @return 0; 1 nothing is known yet, or nothing is new; -errno: the store or memory.
 */
int engine_quick(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
/** Once since the start: what was running when the process before this one ended, and is not there any more, is unknown
 *  from now on. engine_cycle does so; what fails is tried again with the next one. */
void engine_settle(struct engine *self, int64_t now_ms);
