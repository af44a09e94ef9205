/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* outbox: a queue of notices from the main thread, which makes them, to the replica's thread, which sends them as
 * Events.
 *
 * The pods of one owner arrive one after the other, and each updates the same entry of a history. A notice therefore
 * waits OUTBOX_SETTLE_MS; a later notice of the same subject replaces it. An update of a notice that was sent already
 * is dropped. While no replica leads, nothing is sent; notices older than OUTBOX_KEPT_MS are dropped. Any thread. Cost:
 * at most OUTBOX_MAX notices; each call is linear in them. */
#include "engine/notice.h"

#include <stdbool.h>
#include <stdint.h>

struct outbox;

/** NULL: out of memory. */
struct outbox *outbox_new(void) ATTR_NODISCARD;
/** NULL is allowed. */
void outbox_free(struct outbox *self);
/** Copies a notice into the queue. `now_ms`: monotonic. If the queue is full, the oldest notice is dropped. */
void outbox_put(struct outbox *self, const struct notice *notice, int64_t now_ms);
/** Removes the next notice that has waited long enough. `now_ms`: monotonic. @return false: there is none. */
bool outbox_take(struct outbox *self, int64_t now_ms, struct notice *ret);
#define OUTBOX_SETTLE_MS ((int64_t)3 * 1000)
/* The API server keeps Events for an hour; an Event about something older would be misleading. */
#define OUTBOX_KEPT_MS ((int64_t)60 * 60 * 1000)
#define OUTBOX_MAX     1024
