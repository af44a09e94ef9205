/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* rotation_replica: one replica of the webhook in a world: what it sees, shows and writes, with the product's rules and
 * a second copy of what tls_secret_write.c and bundles.c do. `index` is the index in world->replicas. */
#include "rotation_world.h"

/** As a process that has just started, with all there is now seen. */
void replica_start(struct world *world, size_t index);
/** What the rules are asked with; its entries are borrowed from the world. */
void replica_view(const struct world *world, size_t index, struct rotation_view *view);

/** A version becomes known; an older one than it knows changes nothing. */
void replica_see_secret(struct world *world, size_t index, size_t version);
void replica_see_configuration(struct world *world, size_t index, size_t which, size_t version);
/** Anything from nothing to all that is new. */
void replica_see_some(struct world *world, size_t index);

/** Is a write of it under way? Then it decides nothing. */
bool replica_is_writing(const struct replica *replica);
/** Show a leaf if the rules allow it, decide, and send what was decided. */
void replica_look(struct world *world, size_t index);
/** A write reaches the server, if there is one in this slot. It counts only for the version that it was decided by. */
void replica_arrive(struct world *world, size_t index, size_t slot);
