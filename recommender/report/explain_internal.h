/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* explain_internal: the parts of `explain`. All of them print to standard output. */
#include "report/knowledge.h"

#define PERCENT(permille) explain_percent((permille), (char[16]){0})

/** "12.5 %". @return `buf`. */
const char *explain_percent(int32_t permille, char buf[16]);

/** explain_verdict.c: ends the line with what will be set in a run like the last one, and in which modes. Limits of the
 * namespace, nodes and other containers are not considered. @return 0; -ENOMEM. */
int explain_verdict(const struct knowledge *knowledge, const struct known *known) ATTR_NODISCARD;
/** Why values are not lowered in any mode; NULL: they may be lowered. Static. */
const char *explain_not_lowered(const struct knowledge *knowledge, const struct known *known);
/** The recommended sizes in one line of YAML, to be pasted into a container. */
void explain_manifest(const struct knowledge *knowledge, const struct known *known);

/** explain_runs.c: @return 0; -ENOMEM. */
int explain_runs(const struct history *history) ATTR_NODISCARD;
/** How the use of the newest run with a curve developed: the greatest mean of each eighth. */
void explain_growth(const struct history *history);
