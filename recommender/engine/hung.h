/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* hung: gangs that hang: a rank has died for memory and does not come back, while other pods of the same run wait
 * for it and hold accelerators. The list is a part of the record of a cycle (report/cycle_status.h). Pure. */
#include "base/json.h"
#include "base/limits.h"
#include "base/strbuf.h"

/** How many gangs are listed, those that hang for longest; the others are only counted. */
#define HUNG_LISTED 16

/** Two of the kinds. */
#define HUNG_EVICTED_MEMORY  "evicted-memory"
#define HUNG_EVICTED_STORAGE "evicted-ephemeral-storage"

struct hung_gang {
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1];
	char owner[LIMIT_NAME_BYTES + 64]; /* "Job/train-7" */
	char pod[LIMIT_NAME_BYTES + 1];	   /* the dead rank; of several the one that died first */
	int64_t died_ms;		   /* when it died */
	char kind[32];		/* of its end, in the words of triage; "": an OOM kill, as the status of the pod says */
	int64_t n_dead, n_pods; /* dead ranks; pods that still run and hold accelerators */
	int64_t accelerators_milli;		   /* that these hold */
	char command[LIMIT_NAME_BYTES + 64 + 256]; /* frees them */
};

struct hung_list {
	struct hung_gang items[HUNG_LISTED];
	size_t n_items;
	int64_t n, accelerators_milli; /* of all gangs, also those not listed */
};

/** A number of accelerators in words: "8 accelerators", "1 accelerator", "0.5 accelerators". @return buf. */
#define HUNG_COUNT_BYTES 48
const char *hung_count(int64_t accelerators_milli, char buf[HUNG_COUNT_BYTES]);

/** How the named rank died, for people: "was OOM-killed", "ran out of memory (fragmentation)". @return buf. */
#define HUNG_DEATH_BYTES 80
const char *hung_death(const struct hung_gang *gang, char buf[HUNG_DEATH_BYTES]);

/** Writes the member "hungGangs" of an object that has other members. @return the sticky status of `buf`. */
int hung_encode(const struct hung_list *self, struct strbuf *buf);
/** Reads the member "hungGangs" of `object`, as many entries as have room. None if the member is absent. @return 0;
 * -EINVAL. */
int hung_decode(struct json_object *object, struct hung_list *ret, struct err *err) ATTR_NODISCARD;
