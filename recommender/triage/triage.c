/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/triage.h"

#include "base/plain.h"
#include "base/utf8.h"
#include "triage/groups.h"
#include "triage/outside.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Lines of one signal that the answer quotes. */
#define QUOTED_OF_A_SIGNAL 3

int triage_init(struct triage *self)
{
	*self = (struct triage){.unseen = STRBUF_INIT(LIMIT_TRIAGE_NOTES_BYTES),
				.next = STRBUF_INIT(LIMIT_TRIAGE_NOTES_BYTES)};
	return facts_init(&self->facts);
}

void triage_release(struct triage *self)
{
	strbuf_release(&self->unseen);
	strbuf_release(&self->next);
	facts_release(&self->facts);
}

static int compare_order(const void *a, const void *b)
{
	const struct fact *const *one = a, *const *other = b;

	return ((*one)->order > (*other)->order) - ((*one)->order < (*other)->order);
}

static bool is_quoted(const struct triage *self, const struct fact *fact)
{
	size_t n = 0;

	for (size_t i = 0; i < self->n_evidence; i++) {
		if (self->evidence[i] == fact || streq(self->evidence[i]->text, fact->text))
			return true;
		n += self->evidence[i]->signal == fact->signal;
	}
	return n >= QUOTED_OF_A_SIGNAL;
}

/* The signals stand in the order of their weight. */
static void choose_evidence(struct triage *self)
{
	self->n_evidence = 0;
	if (self->verdict.fact)
		self->evidence[self->n_evidence++] = self->verdict.fact;
	for (int signal = 0; signal < SIGNAL_COUNT_; signal++)
		for (size_t i = 0; i < self->facts.items.n && self->n_evidence < ARRAY_LEN(self->evidence); i++) {
			const struct fact *fact = &self->facts.items.items[i];

			if ((int)fact->signal == signal && !is_quoted(self, fact))
				self->evidence[self->n_evidence++] = fact;
		}
	if (self->n_evidence > 1)
		qsort(self->evidence + 1, self->n_evidence - 1, sizeof(self->evidence[0]), compare_order);
}

static void note_forms(struct triage *self)
{
	for (size_t i = 0; i < self->facts.sources.n; i++) {
		const struct source *source = &self->facts.sources.items[i];

		if (source->packer)
			triage_note(&self->unseen, "%.500s was not read: it is compressed with %s; unpack it first.",
				    source->name, source->packer);
		else if (source->is_binary)
			triage_note(&self->unseen, "%.500s begins with binary data; only what of it is text was read.",
				    source->name);
		else if (source->is_smi && source->input == INPUT_LOG)
			triage_note(
				&self->unseen,
				"%.500s begins as the output of nvidia-smi does, and was read as a log: give it with "
				"--nvidia-smi.",
				source->name);
		else if (!source->is_smi && source->input == INPUT_SMI && source->n_bytes)
			triage_note(&self->unseen,
				    "%.500s has nothing that nvidia-smi or DCGM prints of a GPU: a log is given with "
				    "--log.",
				    source->name);
	}
}

static void note_missing(struct triage *self)
{
	const char *gaps[NODE_GAPS_MAX];
	size_t n = self->facts.node.is_given ? node_missing(&self->facts.node, gaps) : 0;

	for (size_t i = 0; i < n; i++)
		triage_note(&self->unseen, "%s", gaps[i]);
}

const struct position *triage_progress(const struct triage *self)
{
	const struct position *position = self->verdict.fact ? fact_position(&self->facts, self->verdict.fact) : NULL;

	return position && position->furthest.number ? position : facts_furthest(&self->facts);
}

/* What was left out when room was made, by how often. */
static void note_crowd(struct triage *self)
{
	static const char *const what[FACTS_CROWD_MAX + 1] = {
		"",
		"versions, settings and retries of single ranks",
		"versions, settings, retries, checkpoints, errors and time-outs of single ranks",
		"versions, settings, retries, checkpoints, errors and time-outs of single files",
		"lines of single ranks",
		"lines of single ranks and files",
	};
	const struct facts *facts = &self->facts;

	if (facts->n_left_out)
		triage_note(&self->unseen,
			    "The logs have more than %d telling lines: %llu %s left out, which are %s between the "
			    "first and the last.",
			    LIMIT_TRIAGE_FACTS, (unsigned long long)facts->n_left_out,
			    facts->n_left_out == 1 ? "was" : "were", what[facts->crowd]);
}

/* What the log of a node says of other pods and other times. */
static void note_outside(struct triage *self, const struct outside *outside)
{
	const struct reading *reading = &outside->foreign.reading;

	if (outside->n_foreign)
		triage_note(
			&self->unseen,
			"%s also reports OOM kills of tasks that are not of %s; they were left out, the last one in "
			"%s%s (%s).",
			self->facts.sources.items[outside->foreign.source].name,
			self->facts.lives.n == 1 ? "this pod" : "these pods", reading->uid[0] ? "pod " : "cgroup ",
			reading->uid[0] ? reading->uid : reading->words,
			reading->name[0] ? reading->name : "task unknown");
	if (outside->n_old)
		triage_note(
			&self->unseen,
			"%s also has lines about another time than that of the run; they were left out, the last one "
			"is: %.200s",
			self->facts.sources.items[outside->old.source].name, outside->old.text);
}

/* The rules say GPU of every device. */
static void name_device(struct verdict *verdict)
{
	CLEANUP(strbuf_release) struct strbuf why = STRBUF_INIT(2 * KIB);

	lever_render_words(verdict, verdict->why, &why);
	snprintf(verdict->why, sizeof(verdict->why), "%s", strbuf_text(&why));
}

void triage_decide(struct triage *self)
{
	struct outside outside;

	facts_order_by_time(&self->facts);
	outside_leave_out(&self->facts, &outside);
	note_outside(self, &outside);
	groups_decide(&self->facts, &self->verdict);
	name_device(&self->verdict);
	note_crowd(self);
	note_forms(self);
	note_missing(self);
	choose_evidence(self);
}

/* ---- notes and commands ---- */

void triage_note(struct strbuf *lines, const char *fmt, ...)
{
	char line[KIB];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	plain_clean(line);
	utf8_clean(line);
	if (lines->len + strlen(line) + 1 <= lines->max)
		strbuf_addf(lines, "%s\n", line);
}

bool triage_next_note(const char **at, struct str *ret)
{
	*ret = (struct str){*at, strcspn(*at, "\n")};
	*at += ret->n + ((*at)[ret->n] == '\n');
	return ret->n > 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_placeholder(const char *text, const char *at, const char *word)
{
	return strstarts(at, word) && (at == text || !is_word(at[-1])) && !is_word(at[strlen(word)]);
}

void triage_render_command(const struct triage *self, const char *text, struct strbuf *buf)
{
	const struct triage_subject *subject = &self->subject;

	for (const char *at = text; *at; at++) {
		if (subject->pod[0] && is_placeholder(text, at, "POD")) {
			strbuf_addf(buf, "%s -n %s", subject->pod, subject->namespace);
			at += strlen("POD") - 1;
		} else if (subject->pod[0] && is_placeholder(text, at, "NAMESPACE")) {
			strbuf_adds(buf, subject->namespace);
			at += strlen("NAMESPACE") - 1;
		} else if (subject->node[0] && is_placeholder(text, at, "NODE")) {
			strbuf_adds(buf, subject->node);
			at += strlen("NODE") - 1;
		} else {
			strbuf_addc(buf, *at);
		}
	}
}

/* Whether nothing speaks of other ranks. */
static bool is_alone(const struct triage *self)
{
	if (self->verdict.rank != RANK_NONE || self->verdict.collateral || self->facts.n_groups > 1)
		return false;
	for (size_t i = 0; i < self->facts.positions.n; i++)
		if (self->facts.positions.items[i].rank != RANK_NONE)
			return false;
	return true;
}

bool triage_is_next(const struct triage *self, const struct advice *row)
{
	return lever_advice_fits(row, &self->verdict) && !(streq(row->text, LEVER_STOP) && is_alone(self)) &&
	       !(self->subject.pod[0] && strstarts(row->text, TRIAGE_POD_COMMAND));
}

bool triage_render_resume(const struct triage *self, struct strbuf *buf)
{
	const struct verdict *verdict = &self->verdict;

	if (verdict->kind >= KIND_NOT_OOM || verdict->kind == KIND_GPU_FAULT || !verdict->checkpoint ||
	    !verdict->checkpoint->reading.words[0])
		return false;
	strbuf_addf(buf,
		    "Resume from %s, but only after a lever was applied: with the same settings the run ends so again.",
		    PLAIN(verdict->checkpoint->reading.words));
	return true;
}

static bool has_ranks(const struct facts *facts)
{
	int rank = RANK_NONE;

	for (size_t i = 0; i < facts->positions.n; i++) {
		int other = facts->positions.items[i].rank;

		if (other != RANK_NONE && rank != RANK_NONE && other != rank)
			return true;
		rank = other == RANK_NONE ? rank : other;
	}
	return false;
}

bool triage_is_held(const struct triage *self)
{
	const char *at = strbuf_text(&self->next);
	bool is_stopping = false;

	for (struct str line; triage_next_note(&at, &line);)
		is_stopping = is_stopping || triage_is_stop(line);
	for (size_t i = 0; i < n_levers_next; i++)
		if (levers_next[i].kind == self->verdict.kind && streq(levers_next[i].text, LEVER_STOP))
			return is_stopping || self->verdict.collateral || has_ranks(&self->facts);
	return is_stopping;
}

bool triage_is_stop(struct str line)
{
	return memmem(line.p, line.n, TRIAGE_HUNG, strlen(TRIAGE_HUNG)) != NULL;
}

bool triage_render_cgroup(const char *path, char *buf, size_t size)
{
	char uid[READING_UID_BYTES], id[80];
	const char *rest = cgroup_pod_uid(path, uid), *start;

	if (!rest)
		return false;
	start = strchr(rest, '/');
	if (!start) {
		snprintf(buf, size, "pod %s", uid);
		return true;
	}
	start++;
	/* cri-containerd-ID.scope, crio-ID.scope, docker-ID.scope, ID */
	for (const char *dash = strchr(start, '-'); dash; dash = strchr(dash + 1, '-'))
		start = dash + 1;
	reading_copy(id, sizeof(id), start, "./");
	if (strlen(id) > 12)
		id[12] = '\0';
	snprintf(buf, size, "pod %s, container %s", uid, id);
	return true;
}
