/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect_gaps: how collect reads around windows that Prometheus cannot answer (gaps.h). One thread. */
#include "engine/collect.h"

/* Windows that are not longer than this are not split. */
#define COLLECT_SPLIT_UNTIL_MS ((int64_t)10 * 60 * 1000)

/** The namespaces of a read: `n` 0 means all that the reader knows. */
struct collect_namespaces {
	const char *const *items;
	size_t n;
};

/** These namespaces, or all that the reader knows if `n` is 0. */
struct collect_namespaces collect_namespaces_of(const struct collect *self,
						const struct collect_namespaces *namespaces);
/** The result of reading a batch: EVIDENCE_TOO_HEAVY in place of an error that says that the query, an answer or the
 * batch is larger than its cap, as a smaller window has room. */
int collect_result(int r, const struct evidence_batch *batch);
/** A passed gap of one of these namespaces that overlaps the window. NULL: none. */
const struct gap *collect_find_gap(const struct collect *self, const struct evidence_window *window,
				   const struct collect_namespaces *namespaces);
/** A gap of all namespaces that failed in this cycle and overlaps the window. NULL: none. */
const struct gap *collect_find_failed(const struct collect *self, const struct evidence_window *window);
/** Asks Prometheus a small query about the newest time. If it does not answer, it is down as a whole, and a window that
 * failed is no gap. Cost: one or two reads of ten minutes.
 * @param err  set if the deadline passed.
 * @return 0: it answers; EVIDENCE_STOPPED: the deadline passed, so nothing is known; EVIDENCE_UNREACHABLE. */
int collect_check_answered(struct collect *self, struct err *err) ATTR_NODISCARD;
/** Counts a window that could not be read for the reason in `why`. Logs a gap that is passed from now on.
 * @return whether the gap is passed. */
bool collect_note_gap(struct collect *self, const struct evidence_window *window,
		      const struct collect_namespaces *namespaces, const char *why);
/** Marks the pods of the table that existed in a gap that is passed or failed in this cycle: their figures are lower
 * bounds. */
void collect_mark_gaps(struct collect *self);
/** Call it before reading. Removes gaps that are older than the history or in the future. */
void collect_forget_gaps(struct collect *self);
/** Call it when all is read and learned, as it may take what is left of the deadline. Asks again for the passed gaps
 * that are due: each hour for a day, then once a day. Where all of the gap is answered now, it is removed, and in the
 * next cycle closed days are read again from the gap on. Cost: at most four gaps, and for each 32 reads and two for
 * each of its namespaces; the first part that fails ends it. */
void collect_retry_gaps(struct collect *self);
