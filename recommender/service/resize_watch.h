/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_watch: connects resizes (resize/resize_scan.h) with what they read: the watched pods, Prometheus by the reader
 * of the cycles, and histories for the usual duration of runs. Main thread. */
#include "evidence/evidence.h"
#include "store/store.h"

struct config;
struct resize_watch;
struct replica;

/** All arguments are borrowed and must live as long. @return 0; -ENOMEM. */
int resize_watch_new(const struct config *config, struct replica *replica, struct evidence_reader *reader,
		     struct store *store, struct resize_watch **ret, struct err *err) ATTR_NODISCARD;
/** NULL is allowed. */
void resize_watch_free(struct resize_watch *self);
/** Requests resizes of containers that were OOM-killed. Call it after a cycle, as profiles may contain new kills.
 * Failures are logged. */
void resize_watch_kills(struct resize_watch *self);
/** Sets the deadline of the current or next cycle. resize_watch_ramps sets a deadline of its own for its queries and
 * then restores this one. */
void resize_watch_deadline(struct resize_watch *self, int64_t deadline_ms);
/** If it is due, requests resizes of containers whose use approaches their limit. Takes some seconds at most. Failures
 * are logged; a repeated failure once. */
void resize_watch_ramps(struct resize_watch *self);
/** When resize_watch_ramps is due next, by time_monotonic_ms(); INT64_MAX: never. */
int64_t resize_watch_next_ms(const struct resize_watch *self);
