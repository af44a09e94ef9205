/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_scan_internal: what is remembered of containers, which resize_scan.c (kills) and resize_scan_ramps.c (what
 * rises) share, as both see every pod. */
#include "base/strmap.h"
#include "base/vec.h"
#include "resize/resize_scan.h"

/* What was asked for one container. */
struct entry {
	char key[132];			    /* uid/container */
	int restarts_asked;		    /* of the kill that was asked for; -1: none */
	int64_t asked_ms, asked_from_bytes; /* of the last step before a kill; 0: none */
	struct resize_usual usual;
	bool is_there, has_usual;
};

struct resize_scan {
	struct resize_scan_config config;
	VEC(struct entry *) entries;
	struct strmap by_key;
	int64_t next_ms; /* monotonic */
};

/** Of a container that is seen: it stays for another sweep. Borrowed; NULL: out of memory. */
struct entry *resize_scan_entry(struct resize_scan *self, const char *uid, const char *container);
/** After all pods were seen: of containers that are not there any more nothing is kept. @return 0; -ENOMEM. */
int resize_scan_sweep(struct resize_scan *self) ATTR_NODISCARD;
/** Has the pod ended, or does it end? */
bool resize_scan_is_over(const struct sighting *pod);
/** All but how much. */
struct resize_ask resize_scan_ask(enum resize_kind kind, const struct sighting *pod, const char *container);
