/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* verify: whether a fix holds: what is known of a new run, a decided triage, compared with the crash that was diagnosed
 * before. A table of checks, each answered yes, no or unknown with its figure and the line that has it; the outcome
 * follows from the answers. docs/TRIAGE.md is made from the table. Pure; cost: checks times facts. */
#include "triage/crash.h"
#include "triage/triage.h"

enum answer { ANSWER_UNKNOWN, ANSWER_YES, ANSWER_NO };
extern const char *const verify_answer_names[];

enum verify_outcome { VERIFY_TOO_EARLY, VERIFY_HELD, VERIFY_DID_NOT_HOLD };
extern const char *const verify_outcome_names[];

enum verify_id {
	VERIFY_LEVER,
	VERIFY_STEP,
	VERIFY_CHECKPOINT,
	VERIFY_PEAK,
	VERIFY_GAP,
	VERIFY_CO_TENANT,
	VERIFY_THROUGHPUT,
	VERIFY_COUNT_
};

struct verify_check {
	enum answer answer;
	char text[256];	 /* the figure in words */
	size_t source;	 /* of facts.sources; SIZE_MAX: no line has it */
	uint64_t number; /* of the line */
};

struct verification {
	const struct triage *triage; /* of the new run; borrowed */
	const struct crash *crash;   /* borrowed */
	struct verify_check checks[VERIFY_COUNT_];
	int lever; /* the furthest lever of the crash that the new run has, an index; -1: none is seen */
	enum verify_outcome outcome;
	char why[384];
	struct strbuf next; /* what to do, or to collect: lines of text */
};

struct verify_row {
	const char *name;
	void (*test)(const struct verification *self, struct verify_check *ret);
	const char *yes, *no; /* for people: when that is the answer */
	const char *collect;  /* what would tell, if the answer is unknown; NULL: nothing else */
};
extern const struct verify_row verify_rows[VERIFY_COUNT_];

/** Compares a decided triage with its `crash`. The caller calls verify_release. */
void verify_init(struct verification *self, const struct triage *triage);
void verify_release(struct verification *self);

/** These append the answer for people. @return the sticky status of `buf`. */
int verify_text(const struct verification *self, struct strbuf *buf);
int verify_markdown(const struct verification *self, struct strbuf *buf);
/** Appends the answer as JSON; docs/TRIAGE.md describes it. @return the sticky status of `buf`. */
int verify_json(const struct verification *self, struct strbuf *buf);

/* Tests of the rows, in verify_checks.c. They set what they know; the caller has set an unknown answer. */
void verify_lever(const struct verification *self, struct verify_check *ret);
void verify_step(const struct verification *self, struct verify_check *ret);
void verify_checkpoint(const struct verification *self, struct verify_check *ret);
void verify_peak(const struct verification *self, struct verify_check *ret);
void verify_gap(const struct verification *self, struct verify_check *ret);
void verify_co_tenant(const struct verification *self, struct verify_check *ret);
void verify_throughput(const struct verification *self, struct verify_check *ret);
/** The furthest lever of the crash's list that the new run has and the crash had not; -1: none is seen. `ret` gets what
 * shows it. */
int verify_find_lever(const struct verification *self, struct verify_check *ret);
/** Whether the new run ended for memory. */
bool verify_is_end(const struct verification *self);
/** Whether the new run says that it is done. */
bool verify_is_done(const struct verification *self);
