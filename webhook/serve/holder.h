/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* holder: the state that requests decide by, a snapshot and a configuration, swapped whole.
 * A request acquires both under a mutex that only copies pointers and counts, and releases them at its end. The control
 * thread swaps. A state that nobody uses any more is freed by holder_collect on the control thread, never in a request,
 * because freeing 100,000 profiles takes longer than a request may. */
#include "config/config.h"
#include "model/snapshot.h"

struct holder;
struct config_share;

/** One state; immutable. Valid until it is released. */
struct state {
	const struct snapshot *snapshot; /* never NULL */
	const struct config *config;	 /* never NULL */
};

struct holder *holder_new(void) ATTR_NODISCARD;
/** No request may be under way. NULL allowed. */
void holder_free(struct holder *self);
/** Any thread. NULL while there is no state yet (not ready). */
const struct state *holder_acquire(struct holder *self);
/** Any thread; NULL allowed. */
void holder_release(struct holder *self, const struct state *state);
/** Control thread: make this the state (takes the caller's reference of the snapshot, adds one to the configuration).
 *  @return 0 or -ENOMEM (the old one stays, the snapshot is dropped). */
int holder_swap(struct holder *self, struct snapshot *take_snapshot, struct config_share *config) ATTR_NODISCARD;
/** Control thread: free the states that are out of use. @return how many were freed. */
size_t holder_collect(struct holder *self);

/** A configuration shared by states; counted, freed with the last one. Control thread only. */
struct config_share *config_share_new(struct config *take_config) ATTR_NODISCARD;
void config_share_unref(struct config_share *self);
const struct config *config_share_get(const struct config_share *self);
