/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* gaps: the windows that Prometheus could not answer, however small the query was. A gap is counted once a cycle. After
 * GAP_FAILURES cycles it is passed: learning continues without it, and the runs that overlap it are not whole runs.
 * What fails of the same namespace in the day after a passed gap is passed at once. The list is a part of the
 * collector's state. It has at most LIMIT_READING_GAPS entries; neighbours are joined, so an entry may be larger than
 * what failed, never smaller. Pure. One thread. */
#include "base/json.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "evidence/evidence.h"

/** In how many cycles a gap must fail before it is passed. */
#define GAP_FAILURES 3

struct gap {
	int64_t start_ms, end_ms;			/* half-open interval */
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1]; /* "": all namespaces */
	int64_t open_from_ms;				/* reading from here finds all runs that overlap the gap */
	int64_t tried_ms;				/* time of the last cycle that asked for it */
	int64_t failures;				/* number of cycles in which it failed, up to GAP_FAILURES */
	char why[128];					/* the last error */
};

struct gaps {
	struct gap items[LIMIT_READING_GAPS];
	size_t n;
};

bool gap_is_passed(const struct gap *self);
/** Whether the gap concerns this namespace. */
bool gap_has_namespace(const struct gap *self, const char *namespace_name);
/** Counts a window that failed in the cycle at `failed->tried_ms`, or adds it. Entries of the same namespace that touch
 * it are joined with it. @return the entry that has it, valid until the next call. */
const struct gap *gaps_note(struct gaps *self, const struct gap *failed);
/** The number of entries that are passed. */
size_t gaps_passed(const struct gaps *self);
struct gaps gaps_only_passed(const struct gaps *self);
void gaps_remove(struct gaps *self, size_t index);
/** All of this time was read in the cycle at `now_ms`: removes the entries that begin in it, are not passed and did not
 * fail in this cycle. @return whether there were any. */
bool gaps_settle(struct gaps *self, int64_t start_ms, int64_t end_ms, int64_t now_ms);

/** Writes the member "gaps" of an object that has other members. @return the sticky status of `buf`. */
int gaps_encode(const struct gaps *self, struct strbuf *buf);
/** Reads the member "gaps" of `object`, as many entries as have room. No gaps if the member is absent. @return 0;
 * -EINVAL. */
int gaps_decode(struct json_object *object, struct gaps *ret, struct err *err) ATTR_NODISCARD;
