/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect_read: reads one window into the table of pods. What Prometheus refuses is split by namespaces and then by
 * time (split.h), and what cannot be read at all is noted as a gap (gaps.h). One thread. */
#include "engine/collect.h"

/** Reads all of a window. On failure the table may contain a part of it.
 * @param ret_is_partial  whether an answer was incomplete.
 * @return 0: what is missing is in passed gaps; EVIDENCE_TOO_HEAVY: all is read but parts that failed and are not
 * passed yet; in both cases the pods that existed in what is missing are marked. Another enum evidence_condition;
 * -errno. */
int collect_read(struct collect *self, const struct evidence_window *window, bool *ret_is_partial,
		 struct err *err) ATTR_NODISCARD;
