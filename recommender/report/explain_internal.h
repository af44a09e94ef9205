/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* explain_internal: the parts of `explain`. What prints does so to standard output. */
#include "base/strbuf.h"
#include "report/knowledge.h"

/** What will be set in a run like the last one. */
struct verdict {
	struct strbuf text; /* for people: "limit 768Mi -> 1600Mi in mode raise" */
	enum mode mode;	    /* the highest that the caps of workload and namespace allow */
	/* of the last run before memtamer changed it, and of the next one in that mode; 0: none, or no profile */
	int64_t request_from_bytes, request_to_bytes, limit_from_bytes, limit_to_bytes;
};

#define VERDICT_INIT                                                                                                   \
	{                                                                                                              \
		.text = STRBUF_INIT(4 * KIB)                                                                           \
	}

/** explain_verdict.c: decides about a pod like the last run's, with the caps of workload and namespace, and the nodes'
 * sizes. The labels of the namespace, its LimitRanges and quotas, and other containers are not considered. Release
 * ret->text in any case. @return 0; -ENOMEM. */
int explain_verdict(const struct knowledge *knowledge, const struct known *known, struct verdict *ret) ATTR_NODISCARD;
/** The recommended sizes in one line of YAML, to be pasted into a container. */
void explain_manifest(const struct knowledge *knowledge, const struct known *known);

/** explain_runs.c: the runs as a table, with all columns and whole names if `is_wide`. @return 0; -ENOMEM. */
int explain_runs(const struct history *history, bool is_wide) ATTR_NODISCARD;
/** How the use of the newest run with a curve developed. NULL: no run has one. */
enum { GROWTH_PARTS = 8 };
const struct run *explain_growth(const struct history *history, int64_t ret_permille[GROWTH_PARTS]);
void explain_print_growth(const struct history *history);

/** explain_json.c: all entries. @return 0; -ENOMEM. */
int explain_write_json(const struct knowledge *knowledge, struct strbuf *buf) ATTR_NODISCARD;
