/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* render: a decision as JSON Patch, warnings and annotations. Rules: DESIGN of the patch: leaf keys only, parents added
 * when absent, JSON Pointer escaping, nothing removed; applying twice changes nothing, also with a newer snapshot: a
 * decision annotation that matches the pod's values means no patch. */
#include "base/strbuf.h"
#include "policy/decide.h"

#define ANNOTATION_DECISION                                                                                            \
	"memtamer.io/decision" /* compact JSON: what was changed, from what, why, revision, runs                       \
				*/
#define ANNOTATION_MODE "memtamer.io/mode"

/** RFC 6902 array into `buf`, "" when there is nothing to patch. Only `add` and `replace` of seen paths; never remove
 *  or test. @return sticky status of buf. */
int render_patch(const struct decide_input *input, const struct decision *decision, struct arena *arena,
		 struct strbuf *buf) ATTR_NODISCARD;
/** Warnings as kubectl shows them: `memtamer: container "pytorch": no memory limit; set to 96Gi (...)`, at most
 *  LIMIT_WARNINGS of LIMIT_WARNING_CHARS ASCII characters, most important first, in the arena.
 *  Same input, same text. @return 0 or -ENOMEM. */
int render_warnings(const struct decide_input *input, const struct decision *decision, struct arena *arena,
		    const char *const **ret_items, size_t *ret_n) ATTR_NODISCARD;
/** Did another replica (or we, in an earlier round) already decide for exactly these values? */
bool decision_is_settled(const struct k8s_pod *pod);
/** Is the request that this container has one that a decision of ours set? */
bool decision_set_request(const struct k8s_pod *pod, const char *container, enum k8s_resource resource);
