/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_limits: no patch of ours may get a pod refused. size_limits.c finds what LimitRanges and ResourceQuotas refuse
 * of the pod with its sizes and did not refuse without them; size_limits_repair.c reduces or drops proposals until
 * nothing is left. */
#include "policy/size_fit.h"

enum breach_kind {
	BREACH_TOO_MUCH, /* field must lose `bytes` */
	BREACH_TOO_LITTLE,
	BREACH_RATIO,	/* the request must gain `bytes`, or the limit lose `limit_bytes` */
	BREACH_COUNTED, /* a quota that did not count the pod would, and refuses what it lacks */
};

struct breach {
	enum breach_kind kind;
	enum k8s_resource resource;
	int field;			    /* REQUEST or LIMIT */
	const struct k8s_container *within; /* of deciding.after; NULL: the pod as a whole */
	int64_t bytes, limit_bytes;
	const char *why; /* words, in the arena */
};

/** The first breach; false: none. */
bool limits_breach(const struct deciding *self, struct breach *ret);
/** One step against a breach; changes proposals, not `after`. */
void limits_repair(struct deciding *self, const struct breach *breach);
/** Shut all open proposals of memory (`is_all`: and of disk). */
void limits_drop_all(struct deciding *self, bool is_all, const char *why);
