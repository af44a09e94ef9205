/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* snapshot_fixture: building snapshots where memory does not run out. */
#include "support/test.h"

#include "model/snapshot.h"

static inline struct snapshot_builder *start(const struct snapshot *base)
{
	struct snapshot_builder *builder = snapshot_builder_new(base);

	assert_non_null(builder);
	return builder;
}

static inline struct snapshot *finish(struct snapshot_builder *builder)
{
	struct snapshot *snapshot = snapshot_builder_finish(builder, 42);

	assert_non_null(snapshot);
	return snapshot;
}
