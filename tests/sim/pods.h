/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pods: the pods of one simulated run, as the webhook sizes them and as the recommender sees them. */
#include "sim.h"

#include "config/config.h"
#include "model/history.h"
#include "model/profile.h"
#include "model/snapshot.h"
#include "runs/pod_table.h"

/** How the present pod ends. */
enum sim_end {
	SIM_END_NONE,
	SIM_END_COMPLETED,
	SIM_END_FAILED,
	SIM_END_KILLED,
	SIM_END_UNSEEN, /* killed with little use in the samples: by a spike, or by the node */
	SIM_END_EXITED,
	SIM_END_LOST_CHILD,
};

struct sim_pods {
	struct sim_run run;
	int index;
	char job[32], image[32];
	struct pod_table table; /* all pods of the run so far */
	/* The present pod: */
	int n_attempts;
	int64_t begin_ms, end_ms;
	int64_t request_bytes, limit_bytes; /* 0: none */
	int64_t peak_bytes;		    /* its use until its end */
	enum sim_end end;
	char decision[2048]; /* the annotation that the webhook writes */
};

void sim_pods_init(struct sim_pods *self, const struct sim_run *run, int index);
void sim_pods_release(struct sim_pods *self);

/** What the recommender has learned of the workload, and what the webhook knows of that. */
struct sim_learner {
	struct config *config;
	struct history *history;
	struct profile *profile; /* NULL: none yet */
	struct snapshot *snapshot;
	struct arena arena; /* for one decision */
};

/** @return 0 or -ENOMEM. */
int sim_learner_init(struct sim_learner *self, enum mode mode, struct err *err);
void sim_learner_release(struct sim_learner *self);
/** What is recommended for the variant of a run, or for the workload. NULL: nothing yet. */
const struct recommendation *sim_recommended(const struct sim_learner *self, const struct sim_pods *pods);
/** Decides about the next pod of a run: sets its sizes and the annotation. @return 0 or -ENOMEM. */
int sim_decide(struct sim_learner *self, struct sim_pods *pods, struct err *err);
/** Learns from the pods of a run at `now_ms`; the present one runs if its end is SIM_END_NONE. @return 0 or -ENOMEM. */
int sim_learn(struct sim_learner *self, struct sim_pods *pods, int64_t now_ms, struct err *err);
