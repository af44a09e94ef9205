/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* quick: when a quick cycle is due, and which pods a cycle gets. After the first change it waits 200 ms for others that
 * belong to it (ranks of a gang die together). After a quick cycle the next one waits four times as long as that one
 * took, at least one second and at most three; after a failure it waits five seconds. Main thread. */
#include "engine/engine.h"
#include "pods/pods.h"

struct service;

struct quick {
	struct service *service; /* NULL: pods are not watched */
	int64_t told_seq;	 /* sequence number of pods.h up to which changes are in the store */
	int64_t telling_seq;	 /* sequence number up to which the current cycle got changes */
	int64_t not_before_ms;	 /* monotonic */
	bool has_failed;	 /* the last quick cycle failed: retry */
};

/** A collect_pods_fn; `context` is a struct quick. */
int quick_pods(void *context, bool only_news, struct evidence_batch *batch);
/** An engine_pods_done_fn; `context` is a struct quick. */
void quick_written(void *context, int64_t now_ms);
/** When the next quick cycle is due, monotonic; INT64_MAX: nothing waits. */
int64_t quick_due_ms(const struct quick *self);
/** A cycle of either kind begins: it gets all changes up to now. */
void quick_begin(struct quick *self);
/** A quick cycle has ended. */
void quick_end(struct quick *self, int64_t took_ms, bool has_failed);
