/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* render: a decision as JSON Patch, warnings and annotations. The patch sets only leaf keys, adds absent parents,
 * escapes JSON Pointers and removes nothing. Applying it twice changes nothing, also with a newer snapshot: if the
 * decision annotation matches the pod's values, there is no patch. Any thread. Cost: linear in the sizes and
 * findings. */
#include "base/strbuf.h"
#include "policy/decide.h"

/** Writes an RFC 6902 array into `buf`; nothing if there is nothing to patch. It contains only `add`, and `replace` of
 * existing paths; never remove or test. @return the sticky status of `buf`; RENDER_NO_ROOM: nothing is written, because
 * the API server would reject the object for the length of its annotations with ours (LIMIT_ANNOTATIONS_BYTES). */
enum { RENDER_NO_ROOM = 1 };
int render_patch(const struct decide_input *input, const struct decision *decision, struct arena *arena,
		 struct strbuf *buf) ATTR_NODISCARD;
/** Makes warnings for kubectl, in the arena: `memtamer: container "pytorch": no memory limit; set to 96Gi (...)`. At
 * most LIMIT_WARNINGS of LIMIT_WARNING_CHARS ASCII characters, most important first. The same input gives the same
 * text. @return 0 or -ENOMEM. */
int render_warnings(const struct decide_input *input, const struct decision *decision, struct arena *arena,
		    const char *const **ret_items, size_t *ret_n) ATTR_NODISCARD;
