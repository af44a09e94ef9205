/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* state: the collector's state, stored beside the profiles: the time up to which closed time was read, what it says of
 * the pods of open runs, the namespaces that were capped for harm, the windows that could not be read, since when
 * Prometheus has warned, and how reading goes on where it did not get ahead. It is one line of JSON, followed by the
 * encoded table of pods:
 *
 *   {"apiVersion": .., "kind": "CollectorState", "watermark": RFC 3339, "historyFrom": .., "openFrom": ..,
 *    "tableFormat": 2, "caps": [..], "gaps": [..], "warnedSince": .., "warnedFrom": .., "partMs": .., "partSince": ..,
 *    "stuckAt": .., "stuckCycles": ..}
 *
 * The table may be left out, and is ignored if its format is not known (version 0.1 wrote JSON): then the days since
 * `openFrom` have to be read again. Members that are missing are empty, or 0. Size: below 16 KiB, about 100 bytes for
 * each cap, and for each pod of an open run what pod_table_encode says. One thread. */
#include "base/strbuf.h"
#include "engine/caps.h"
#include "engine/gaps.h"

struct collector_state {
	int64_t watermark_ms;	    /* all time before it has been read; 0: nothing yet */
	int64_t history_from_ms;    /* where reading began */
	int64_t open_from_ms;	    /* start of the oldest pod in the table, at most watermark_ms */
	struct strbuf table;	    /* pod_table_encode at watermark_ms; empty: not known, or no pods */
	struct namespace_caps caps; /* only while encoding and decoding; otherwise the engine has them */
	struct gaps gaps;
	/* collect_warnings.h: since when every answer has had a warning, and the start of the runs of the days that
	 * were accepted with one; 0: no warnings, or no such days. */
	int64_t warned_since_ms, warned_from_ms;
	/* collect_parts.h: the longest window of closed time, and since when; 0: a day. Where reading ended early, and
	 * in how many cycles in a row. */
	int64_t part_ms, part_since_ms, stuck_at_ms, stuck_cycles;
};

#define COLLECTOR_STATE_INIT                                                                                           \
	{                                                                                                              \
		.table = STRBUF_INIT(LIMIT_COLLECTOR_BYTES)                                                            \
	}

void collector_state_release(struct collector_state *self);
/** Makes reading begin again with the day of `from_ms`, if that day was read, or with that of `oldest_ms`, the first
 * day of the history. */
void collector_state_read_again(struct collector_state *self, int64_t from_ms, int64_t oldest_ms);
/** Writes text and bytes. @return the sticky status of `buf`. */
int collector_state_encode(const struct collector_state *self, struct strbuf *buf);
/** Reads what collector_state_encode, or version 0.1, wrote into `ret`, which must be empty. No bytes give an empty
 * state. @return 0; -EINVAL; -ENOMEM. */
int collector_state_decode(const char *text, size_t n, struct collector_state *ret, struct err *err) ATTR_NODISCARD;
