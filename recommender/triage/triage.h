/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* triage: the answer to "what kind of out-of-memory was it, and what first?": the verdict on facts, the lines that it
 * quotes, and how it is printed. One thread. */
#include "base/strbuf.h"
#include "triage/facts.h"
#include "triage/rules.h"

#define TRIAGE_API_VERSION "triage.memtamer.io/v1alpha1"

struct triage {
	struct facts facts;
	struct verdict verdict;
	const struct fact *evidence[LIMIT_TRIAGE_EVIDENCE]; /* the deciding one first, then in the order of reading */
	size_t n_evidence;
};

/** @return 0 or -ENOMEM; either way the caller calls triage_release. */
int triage_init(struct triage *self) ATTR_NODISCARD;
void triage_release(struct triage *self);
/** Decides on what was read into `facts` and chooses the evidence. */
void triage_decide(struct triage *self);
/** A kernel's cgroup path as words: "pod UID, container ID". @return whether it is of Kubernetes. */
bool triage_render_cgroup(const char *path, char *buf, size_t size);

/** These append the answer for people, as text of a dozen lines or as Markdown. @return the sticky status of `buf`. */
int triage_text(const struct triage *self, struct strbuf *buf);
int triage_markdown(const struct triage *self, struct strbuf *buf);
/** Appends the answer as JSON; docs/TRIAGE.md describes it. @return the sticky status of `buf`. */
int triage_json(const struct triage *self, struct strbuf *buf);
