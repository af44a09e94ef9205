/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* engine: one cycle of the recommender: load the state; read each part of closed time that is due, fold it into runs,
 * compute profiles, commit them, save the state; then the same for the open time, without the state.
 *
 * Profiles are committed before the state that says "this part is done": a crash in between repeats one part and
 * changes nothing, because runs have stable uids. Memory does not grow with the number of parts. A cycle that cannot
 * read Prometheus leaves profiles and histories as they are. Profiles and histories of workloads without a run for
 * recommender.keep are deleted after a complete cycle. One thread. */
#include "config/config.h"
#include "engine/collect.h"
#include "engine/curves.h"
#include "engine/endings.h"
#include "engine/learn.h"
#include "engine/learn_names.h"
#include "engine/notice.h"
#include "engine/shapes.h"
#include "evidence/evidence.h"
#include "store/store.h"

/** Reports the nodes of the cluster, if the caller knows them better than the reader: appends one shape for each node
 * and accelerator resource.
 * @return 0; 1: not known (yet), node shapes stay as they are; -ENOMEM. */
typedef int engine_nodes_fn(void *context, struct shapes *ret);

/** Whether people want a namespace to be left out, whatever Prometheus has of it. UNKNOWN: not known yet. Called often:
 * cost constant. */
enum engine_left_out { ENGINE_LEARNED, ENGINE_LEFT_OUT, ENGINE_LEFT_OUT_UNKNOWN };
typedef enum engine_left_out engine_left_out_fn(void *context, const char *namespace_name);

/** The pods of the last call of collect_pods_fn are in the store now. */
typedef void engine_pods_done_fn(void *context, int64_t now_ms);

/** The parts that are missing after a partial cycle. */
enum engine_partial {
	ENGINE_PARTIAL_METRIC,	 /* a metric that memtamer cannot work without */
	ENGINE_PARTIAL_ANSWER,	 /* Prometheus marked an answer as incomplete */
	ENGINE_PARTIAL_READING,	 /* reading ended early: deadline, query too heavy, no answer */
	ENGINE_PARTIAL_NODES,	 /* the nodes are not known */
	ENGINE_PARTIAL_IGNORED,	 /* it is not known which namespaces are left out */
	ENGINE_PARTIAL_DELETION, /* objects of old workloads could not be deleted */
	ENGINE_PARTIAL_CAP,	 /* a namespace with too much harm could not be capped */
	ENGINE_PARTIAL_COUNT_,
};
extern const char *const engine_partial_names[ENGINE_PARTIAL_COUNT_];

struct engine {
	const struct config *config;
	struct store *store; /* opened for writing; borrowed */
	struct evidence_reader *reader;
	collect_progress_fn *progress; /* may be NULL */
	void *progress_context;
	engine_nodes_fn *nodes; /* NULL: the reader is asked */
	void *nodes_context;
	engine_left_out_fn *left_out; /* NULL: no namespace is */
	void *left_out_context;
	collect_pods_fn *pods; /* NULL: pods are only known from the reader */
	engine_pods_done_fn *pods_done;
	void *pods_context;
	notice_fn *notice; /* may be NULL */
	void *notice_context;
	struct diagnoser diagnoser; /* next is NULL: none */
	/* Called between two queries of a cycle, which may take minutes: the caller may run a quick cycle there. May be
	 * NULL. */
	void (*between)(void *context);
	void *between_context;
	struct learn_names names; /* object names of all profiles */
	struct curves curves;	  /* which curves were asked for */
	struct split split;	  /* sizes of windows that are too heavy */
	/* Caps that we set. Complete and quick cycles share them: a quick cycle may run in the middle of a complete
	 * one. */
	struct namespace_caps caps;
	bool has_new_caps; /* not saved in the collector's state yet */
	/* The pods of open runs at a watermark, if the store had no room for them. */
	struct strbuf kept_table;
	int64_t kept_at_ms;
	struct notices notices; /* not reported yet, because the commit failed */
	struct endings endings;
	bool has_settled; /* once since the start: engine_settle is done */
	/* When every workload was last sized with this configuration, and runs of workloads without news were settled:
	 * once a day. 0: not since the start. */
	int64_t sized_all_ms;
};

/** The result of one cycle. */
struct engine_result {
	/* n_runs: runs found; n_workloads: workloads known, in a quick cycle those that were read */
	size_t n_runs, n_workloads;
	/* n_profiles_changed: a profile counts each time it is written, which is once for each closed part and once for
	 * the open time */
	size_t n_profiles_changed, n_removed, n_queries, n_series;
	size_t days_done, days_total;
	bool has_read; /* a part of closed time or the open time was read */
	int64_t n_samples, duration_ms;
	size_t harms[HARM_COUNT_]; /* harmed runs by kind of harm, without those known before */
	struct capped capped;	   /* namespaces with a modeCap */
	bool is_partial;	   /* something was not read, or only in part: see `why` */
	char why[640];
	unsigned int partial; /* bits of enum engine_partial */
	struct gaps gaps;     /* known after reading */
	char warning[240]; /* a warning of every answer that is ignored (collect_warnings.h), and since when; or "" */
	int reading;	   /* how reading ended: 0, an enum evidence_condition, -errno */
};

/** Frees what the engine keeps between cycles. It does not free what the caller set. */
void engine_release(struct engine *self);
/** Runs a complete cycle. Cost: reads all profiles, the histories of the workloads found (once a day all histories),
 * and Prometheus since the watermark.
 * @return 0 (see is_partial); an enum evidence_condition: Prometheus could not be asked; -errno: the store or memory.
 */
int engine_cycle(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
/** Runs a quick cycle: learns from watched pods alone, and only from runs that changed. It does not ask the reader and
 * does not change the collector's state, except for new caps. Cost: the number of runs that changed.
 * @return 0; 1: pods are not known yet, or nothing changed; -errno: the store or memory. */
int engine_quick(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
/** Reads why one run failed, and puts it into its profiles. It is a change of its own, because requests for logs take
 * time: call it when no sizes wait. Cost: that of the diagnoser, and the pods of one run.
 * @return 0; 1: there is no run to read about, or no cycle has written it yet; -errno: the store or memory. */
int engine_diagnose(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
/** Sets runs to "unknown" that were running when the previous process ended and whose pods do not exist any more. It
 * does this once after the start; engine_cycle calls it, and if it fails the next cycle tries again. */
void engine_settle(struct engine *self, int64_t now_ms);
