/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* current_state: the snapshot and configuration used by requests, replaced together.
 *
 * A request acquires both under a mutex that only protects pointers and counts, and releases them at its end. Cost:
 * constant. The control thread replaces them. A state without users is freed by current_state_collect on the control
 * thread, never in a request, because freeing 100,000 profiles takes longer than a request may. */
#include "config/config.h"
#include "model/snapshot.h"

struct current_state;
struct config_share;

/** One state; immutable. Valid until current_state_release. */
struct state {
	const struct snapshot *snapshot; /* never NULL */
	const struct config *config;	 /* never NULL */
};

struct current_state *current_state_new(void) ATTR_NODISCARD;
/** No request may be under way. NULL is allowed. */
void current_state_free(struct current_state *self);
/** Any thread. NULL until the first state exists (not ready). Release it with current_state_release. */
const struct state *current_state_acquire(struct current_state *self);
/** Any thread; NULL is allowed. */
void current_state_release(struct current_state *self, const struct state *state);
/** Control thread: replaces the state. Takes the caller's reference of the snapshot and adds a reference to the
 *  configuration.
 *  @return 0; -ENOMEM the old state stays, the snapshot is released. */
int current_state_replace(struct current_state *self, struct snapshot *take_snapshot,
			  struct config_share *config) ATTR_NODISCARD;
/** Control thread: frees the states without users. @return how many. */
size_t current_state_collect(struct current_state *self);

/** A configuration shared by several states, with a reference count. config_share_new takes the configuration, also on
 *  failure (NULL: out of memory). Control thread only. */
struct config_share *config_share_new(struct config *take_config) ATTR_NODISCARD;
void config_share_unref(struct config_share *self);
const struct config *config_share_get(const struct config_share *self);
