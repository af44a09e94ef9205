/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* outbox: notices on their way from the main thread, which makes them, to the replica's, which sends them as Events.
 *
 * Pods of one owner come one after the other, and each changes the entry that the notice is about: so a notice waits a
 * moment, and of the same subject only the last one is told. What says more of one that was told already is not told
 * again. While nobody leads nothing is sent, and what waits for too long is forgotten. Any thread. */
#include "engine/notice.h"

#include <stdbool.h>
#include <stdint.h>

struct outbox;

/** NULL: no memory. */
struct outbox *outbox_new(void) ATTR_NODISCARD;
/** NULL allowed. */
void outbox_free(struct outbox *self);
/** Copy one in. Times are monotonic. What does not fit any more is forgotten, oldest first. */
void outbox_put(struct outbox *self, const struct notice *notice, int64_t now_ms);
/** Take the next that has waited long enough. @return false: there is none. */
bool outbox_take(struct outbox *self, int64_t now_ms, struct notice *ret);
#define OUTBOX_SETTLE_MS ((int64_t)3 * 1000)
/* The API server keeps Events for an hour; what happened longer ago would look like news. */
#define OUTBOX_KEPT_MS ((int64_t)60 * 60 * 1000)
#define OUTBOX_MAX     1024
