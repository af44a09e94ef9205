/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_scan_internal: what is remembered of containers, shared by resize_scan.c (kills) and resize_scan_ramps.c
 * (rising use), as both see every pod. */
#include "base/hashtable.h"
#include "base/vec.h"
#include "resize/resize_scan.h"

/* Requests that were made for one container. */
struct entry {
	struct hashtable_node by_key;	    /* hash of uid and container */
	int restarts_asked;		    /* restarts at the kill that was requested; -1: none */
	int64_t asked_ms, asked_from_bytes; /* of the last step before a kill; 0: none */
	struct resize_usual usual;
	bool is_there, has_usual;
};

struct resize_scan {
	struct resize_scan_config config;
	struct hashtable entries;
	int64_t next_ms; /* monotonic */
};

/** The entry of a container, which is added if it is missing, and marked as existing. Borrowed. NULL: out of memory. */
struct entry *resize_scan_entry(struct resize_scan *self, const char *uid, const char *container);
/** Call it after all pods were visited: removes entries of containers that were not marked, and clears the marks. */
void resize_scan_sweep(struct resize_scan *self);
/** Whether the pod has ended or is being deleted. */
bool resize_scan_is_over(const struct sighting *pod);
/** A request without an amount. */
struct resize_ask resize_scan_ask(enum resize_kind kind, const struct sighting *pod, const char *container);
