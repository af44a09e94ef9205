/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_watch: the main thread's part of resizes (resize/resize_scan.h) with what it asks: the pods that the service
 * watches, Prometheus by the reader of the cycles, and histories for how long runs usually take. */
#include "evidence/evidence.h"
#include "store/store.h"

struct config;
struct resize_watch;
struct service;

/** Everything is borrowed and must live as long. @return 0; -ENOMEM. */
int resize_watch_new(const struct config *config, struct service *service, struct evidence_reader *reader,
		     struct store *store, struct resize_watch **ret, struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void resize_watch_free(struct resize_watch *self);
/** Profiles may know of new kills: ask for what was killed. Failures are logged. */
void resize_watch_kills(struct resize_watch *self);
/** The deadline of the cycle that reads, also of the one before: a look has its own, and gives this one back to the
 *  reader. */
void resize_watch_deadline(struct resize_watch *self, int64_t deadline_ms);
/** When it is time, ask for what rises to its limit; takes some seconds at most. Failures are logged, the same once. */
void resize_watch_ramps(struct resize_watch *self);
/** When resize_watch_ramps wants to be called, by time_monotonic_ms(); INT64_MAX: never. */
int64_t resize_watch_next_ms(const struct resize_watch *self);
