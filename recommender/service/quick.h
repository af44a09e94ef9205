/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* quick: when a quick cycle is due, and which pods cycles are told of. The first change waits a moment for others that
 * come with it (ranks of a gang die together); after a quick cycle the next one waits for as long as that took four
 * times over, three seconds at most. The main thread. */
#include "engine/engine.h"
#include "pods/pods.h"

struct service;

struct quick {
	struct service *service; /* NULL: there is nobody who watches pods */
	int64_t told_seq;	 /* of pods.h: what is in the store */
	int64_t telling_seq;	 /* what the cycle under way was told */
	int64_t not_before_ms;	 /* monotonic */
	bool has_failed;	 /* the last one did: it is tried again */
};

/** A collect_pods_fn with a quick as context. */
int quick_pods(void *context, bool only_news, struct evidence_batch *batch);
/** An engine_pods_done_fn. */
void quick_written(void *context, int64_t now_ms);
/** By the monotonic clock; INT64_MAX: nothing is waiting. */
int64_t quick_due_ms(const struct quick *self);
/** A cycle of either kind begins: changes up to now are its. */
void quick_begin(struct quick *self);
/** A quick cycle has ended. */
void quick_end(struct quick *self, int64_t took_ms, bool has_failed);
