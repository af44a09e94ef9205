/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* profile_spec: the spec of a MemoryProfile as JSON, which people write. Private to the layer model. */
#include "base/arena.h"
#include "model/codec.h"
#include "model/profile.h"

extern const struct codec_table profile_spec_table;

/** Decodes the member `spec` of an object that was created at `created_ms` (0: not known). A spec that cannot be read
 * or contradicts itself gives an invalid spec, whose texts are in `scratch`. @return 0; -EINVAL: not an object, or its
 * source text cannot be made; -ENOMEM. */
int profile_spec_decode(const struct doc *object, int64_t created_ms, struct arena *scratch, struct profile_spec *ret,
			struct err *err) ATTR_NODISCARD;
/** Appends the spec as a JSON object. NULL: an empty one. */
void profile_spec_encode(const struct profile_spec *self, struct strbuf *buf);
/** Whether both specs are equal. NULL: an empty one. */
bool profile_spec_same(const struct profile_spec *a, const struct profile_spec *b);
