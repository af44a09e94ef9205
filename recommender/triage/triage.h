/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* triage: the answer to "what kind of out-of-memory was it, and what first?": the verdict on facts, the lines that it
 * quotes, and how it is printed. One thread. */
#include "base/strbuf.h"
#include "triage/facts.h"
#include "triage/levers.h"
#include "triage/rules.h"

#define TRIAGE_API_VERSION "triage.memtamer.io/v1alpha1"

/** The pod that the answer is about, for the commands in it; "": not known. */
struct triage_subject {
	char pod[LIMIT_NAME_BYTES + 1], namespace[LIMIT_NAMESPACE_BYTES + 1], node[LIMIT_NAME_BYTES + 1];
};

struct crash;

struct triage {
	struct facts facts;
	struct verdict verdict;
	struct triage_subject subject;
	struct strbuf unseen;	   /* what could not be seen, and what to collect next time: lines of text */
	struct strbuf next;	   /* what to do first, before the table's rows: lines of text */
	const struct crash *crash; /* that the run is compared with (verify.h), borrowed; NULL: none */
	bool is_crash;		   /* what was read is known to be the crash itself */
	const struct fact *evidence[LIMIT_TRIAGE_EVIDENCE]; /* the deciding one first, then in the order of reading */
	size_t n_evidence;
};

/** @return 0 or -ENOMEM; either way the caller calls triage_release. */
int triage_init(struct triage *self) ATTR_NODISCARD;
void triage_release(struct triage *self);
/** Decides on what was read into `facts` and chooses the evidence. */
void triage_decide(struct triage *self);
/** How far the rank that decides came, else the furthest one; NULL: no step or epoch was seen. */
const struct position *triage_progress(const struct triage *self);
/** Appends a line to `unseen` or `next`, without control characters. Lines that do not fit are dropped. */
void triage_note(struct strbuf *lines, const char *fmt, ...) ATTR_PRINTF(2, 3);
/** The next line of `unseen` or `next`. @return false after the last. */
bool triage_next_note(const char **at, struct str *ret);
/** Appends a command or setting with the names of the subject for POD and NODE. */
void triage_render_command(const struct triage *self, const char *text, struct strbuf *buf);
/* In the line of `next` with the command that frees what ranks hold that wait for a dead one. */
#define TRIAGE_HUNG "# gang-hung: "
/** Whether a row of levers_next is for the verdict; what was done already is not. */
bool triage_is_next(const struct triage *self, const struct advice *row);
/** Appends what to resume from. @return false: the kind is none of memory, or no checkpoint is known. */
bool triage_render_resume(const struct triage *self, struct strbuf *buf);
/** Whether ranks that did not die may still hold their GPUs: the log shows several, or pods of the job still run. */
bool triage_is_held(const struct triage *self);
/** Whether a line of `next` is a command that frees what is held. */
bool triage_is_stop(struct str line);
/** A kernel's cgroup path as words: "pod UID, container ID". @return whether it is of Kubernetes. */
bool triage_render_cgroup(const char *path, char *buf, size_t size);

/** These append the answer for people, as text of a dozen lines or as Markdown. @return the sticky status of `buf`. */
int triage_text(const struct triage *self, struct strbuf *buf);
int triage_markdown(const struct triage *self, struct strbuf *buf);
/** Appends the answer as JSON; docs/TRIAGE.md describes it. @return the sticky status of `buf`. */
int triage_json(const struct triage *self, struct strbuf *buf);
