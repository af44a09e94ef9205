/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect_read: reads one window into the table of pods. What Prometheus refuses is split by namespaces and then by
 * time (split.h), and what cannot be read at all is noted as a gap (gaps.h). One thread. */
#include "engine/collect.h"

/** Reads all of a window. On failure the table may contain a part of it.
 * @param ret_is_partial  whether an answer was incomplete.
 * @return 0: what is missing is in passed gaps, and the pods of the table are marked; EVIDENCE_TOO_HEAVY: parts failed
 * that are not passed yet; another enum evidence_condition; -errno. */
int collect_read(struct collect *self, const struct evidence_window *window, bool *ret_is_partial,
		 struct err *err) ATTR_NODISCARD;
