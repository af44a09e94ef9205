/* SPDX-License-Identifier: Apache-2.0 */
#include "base/plain.h"
#include "triage/levers.h"
#include "triage/node_rules.h"
#include "triage/triage.h"

#include <stdio.h>

/* Text and Markdown have the same parts in the same order; a style says how they look. */
struct style {
	bool is_markdown;
	const char *item;   /* before an item */
	const char *quote;  /* around settings and lines */
	size_t quote_bytes; /* of a quoted line */
};

static const struct style style_text = {false, "  - ", "", 160};
static const struct style style_markdown = {true, "- ", "`", LIMIT_TRIAGE_EVIDENCE_BYTES - 1};

static void add_head(struct strbuf *buf, const struct style *style, const char *head)
{
	if (style->is_markdown)
		strbuf_addf(buf, "\n## %s\n\n", head);
	else
		strbuf_addf(buf, "%s\n", head);
}

/* A line that is too long is cut around the words of its signal. */
static void add_quoted(struct strbuf *buf, const struct style *style, const struct fact *fact)
{
	char part[LIMIT_TRIAGE_EVIDENCE_BYTES + 2 * sizeof("...")];

	text_excerpt(fact->text, signals[fact->signal].words, style->quote_bytes, part, sizeof(part));
	plain_clean(part);
	/* A backtick would end the quotation. */
	for (char *at = part; style->is_markdown && (at = strchr(at, '`'));)
		*at = '\'';
	strbuf_addf(buf, "%s%s%s", style->quote, part, style->quote);
}

static void add_where(const struct triage *self, struct strbuf *buf)
{
	const struct verdict *verdict = &self->verdict;
	char words[256];

	if (verdict->earlier)
		strbuf_addf(buf, "  It was rank %d; before, rank %d lost a worker.", verdict->rank,
			    verdict->earlier->rank);
	else if (verdict->rank != RANK_NONE)
		strbuf_addf(buf, "  Rank %d is the first that died%s.", verdict->rank,
			    verdict->n_ranks > 1 ? "; others followed" : "");
	if (verdict->step != STEP_NONE)
		strbuf_addf(buf, "%sThe last step before was %lld.", verdict->rank == RANK_NONE ? "  " : " ",
			    (long long)verdict->step);
	if (verdict->rank != RANK_NONE || verdict->step != STEP_NONE)
		strbuf_addc(buf, '\n');
	if (verdict->fact && triage_render_cgroup(verdict->fact->reading.words, words, sizeof(words)))
		strbuf_addf(buf, "  It was %s.\n", words);
	if (verdict->collateral)
		strbuf_adds(buf, "  Time-outs of other ranks are collateral: they waited for the dead one.\n");
	if (verdict->checkpoint && verdict->checkpoint->reading.words[0])
		strbuf_addf(buf, "  Last checkpoint: %s\n", PLAIN(verdict->checkpoint->reading.words));
	if (verdict->snapshot && verdict->snapshot->reading.words[0])
		strbuf_addf(buf, "  Memory snapshot: %s\n", PLAIN(verdict->snapshot->reading.words));
}

/* What could not be seen. */
static void add_gaps(const struct triage *self, struct strbuf *buf)
{
	const char *at = strbuf_text(&self->unseen);

	for (size_t i = 0; i < self->facts.sources.n; i++) {
		const struct source *source = &self->facts.sources.items[i];

		if (source->is_damaged)
			strbuf_addf(buf, "  %s ends early or is damaged; its rest was not read.\n",
				    PLAIN(source->name));
		if (!source->n_bytes && source->input != INPUT_STATUS)
			strbuf_addf(buf, "  %s is empty.\n", PLAIN(source->name));
	}
	for (struct str line; triage_next_note(&at, &line);)
		strbuf_addf(buf, "  %.*s\n", (int)line.n, line.p);
}

static void add_evidence(const struct triage *self, const struct style *style, struct strbuf *buf)
{
	if (self->n_evidence)
		add_head(buf, style, "Evidence");
	for (size_t i = 0; i < self->n_evidence && (i < 4 || style->is_markdown); i++) {
		const struct fact *fact = self->evidence[i];
		const struct source *source = &self->facts.sources.items[fact->source];

		strbuf_addf(buf, "%s%s", style->item, PLAIN(source->name));
		if (source->input == INPUT_STATUS)
			strbuf_adds(buf, ": ");
		else
			strbuf_addf(buf, ":%llu ", (unsigned long long)fact->number);
		add_quoted(buf, style, fact);
		strbuf_addc(buf, '\n');
	}
}

/* What holds memory or GPUs for nothing while people read: before everything else. */
static void add_first(const struct triage *self, const struct style *style, struct strbuf *buf)
{
	const char *at = strbuf_text(&self->next);

	if (!triage_is_held(self))
		return;
	add_head(buf, style, "First");
	for (struct str line; triage_next_note(&at, &line);)
		if (triage_is_stop(line))
			strbuf_addf(buf, "%s%.*s\n", style->item, (int)line.n, line.p);
	for (size_t i = 0; i < n_levers_next; i++)
		if (triage_is_next(self, &levers_next[i]) && streq(levers_next[i].text, LEVER_STOP)) {
			strbuf_adds(buf, style->item);
			lever_render_words(&self->verdict, LEVER_STOP, buf);
			strbuf_addc(buf, '\n');
		}
}

/* Levers that were in force and did not prevent the end. */
static void add_used(const struct triage *self, bool is_any_left, const struct style *style, struct strbuf *buf)
{
	size_t n = 0;

	for (size_t i = 0; i < n_levers; i++) {
		CLEANUP(strbuf_release) struct strbuf name = STRBUF_INIT(KIB);

		if (!lever_fits(&levers[i], &self->verdict) || !lever_render_used(&levers[i], &self->facts, &name))
			continue;
		if (!n && !is_any_left)
			add_head(buf, style, "What to do");
		strbuf_addf(buf, "%s%s",
			    n			 ? ", "
			    : style->is_markdown ? "\nIn force already: "
						 : "  In force already: ",
			    strbuf_text(&name));
		n++;
	}
	if (n)
		strbuf_addf(buf, "; %s did not prevent the end%s.\n", n == 1 ? "this" : "these",
			    is_any_left ? "" : ", and no lever of this kind is left");
}

static void add_levers(const struct triage *self, const struct style *style, struct strbuf *buf)
{
	int order = 0;

	for (size_t i = 0; i < n_levers; i++) {
		CLEANUP(strbuf_release) struct strbuf setting = STRBUF_INIT(4 * KIB);

		if (!lever_is_left(&levers[i], &self->verdict, &self->facts))
			continue;
		if (!order)
			add_head(buf, style, "What to do, in this order");
		strbuf_addf(buf, "%s%d. ", style->is_markdown ? "" : "  ", ++order);
		lever_render_words(&self->verdict, levers[i].action, buf);
		strbuf_addf(buf, ": %s", style->quote);
		lever_render(&levers[i], &self->verdict, &self->facts, &setting);
		triage_render_command(self, strbuf_text(&setting), buf);
		strbuf_addf(buf, "%s (", style->quote);
		lever_render_why(&levers[i], &self->verdict, buf);
		strbuf_adds(buf, ")\n");
	}
	add_used(self, order > 0, style, buf);
}

static void add_avoid(const struct verdict *verdict, const struct style *style, struct strbuf *buf)
{
	bool is_begun = false;

	for (size_t i = 0; i < n_levers_avoid; i++) {
		if (!lever_advice_fits(&levers_avoid[i], verdict))
			continue;
		if (!is_begun)
			add_head(buf, style, "What not to do");
		is_begun = true;
		strbuf_adds(buf, style->item);
		lever_render_words(verdict, levers_avoid[i].text, buf);
		strbuf_addc(buf, '\n');
	}
}

static void add_node(const struct triage *self, const struct style *style, struct strbuf *buf)
{
	bool is_begun = false;
	struct node_finding finding;

	for (size_t i = 0; i < n_node_rules; i++) {
		if (!node_find(&self->facts.node, i, &finding))
			continue;
		if (!is_begun)
			add_head(buf, style, self->facts.node.is_kubernetes ? "Node (of Kubernetes)" : "Node");
		is_begun = true;
		strbuf_addf(buf, "%s%s", style->item, finding.rule->name);
		if (finding.rule->harm != HARM_NONE)
			strbuf_addf(buf, " (harm: %s)", node_harm_names[finding.rule->harm]);
		plain_clean(finding.text);
		strbuf_addf(buf, ": %s", finding.text);
		if (finding.rule->action)
			strbuf_addf(buf, " Do: %s%s%s", style->quote, finding.rule->action, style->quote);
		strbuf_addc(buf, '\n');
	}
}

static void add_next(const struct triage *self, const struct style *style, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf resume = STRBUF_INIT(4 * KIB);
	const char *at = strbuf_text(&self->next);
	bool is_held = triage_is_held(self);

	add_head(buf, style, "Next");
	for (struct str line; triage_next_note(&at, &line);)
		if (!is_held || !triage_is_stop(line))
			strbuf_addf(buf, "%s%.*s\n", style->item, (int)line.n, line.p);
	for (size_t i = 0; i < n_levers_next; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB);

		if (!triage_is_next(self, &levers_next[i]) || (is_held && streq(levers_next[i].text, LEVER_STOP)))
			continue;
		strbuf_adds(buf, style->item);
		lever_render_words(&self->verdict, levers_next[i].text, &text);
		triage_render_command(self, strbuf_text(&text), buf);
		strbuf_addc(buf, '\n');
	}
	if (triage_render_resume(self, &resume))
		strbuf_addf(buf, "%s%s\n", style->item, strbuf_text(&resume));
}

static int render(const struct triage *self, const struct style *style, struct strbuf *buf)
{
	const struct verdict *verdict = &self->verdict;

	strbuf_addf(buf, style->is_markdown ? "# %s\n\n" : "%s: ", triage_kinds[verdict->kind].name);
	lever_render_words(verdict, triage_kinds[verdict->kind].meaning, buf);
	strbuf_addf(buf, style->is_markdown ? " (confidence: %s).\n" : " (confidence: %s)\n",
		    triage_confidence_names[verdict->confidence]);
	strbuf_addf(buf, "%s%s%s%s%s\n", style->is_markdown ? "\n" : "  ", verdict->why,
		    verdict->cause ? " Cause: " : "", verdict->cause ? verdict->cause : "", verdict->cause ? "." : "");
	add_where(self, buf);
	add_gaps(self, buf);
	add_first(self, style, buf);
	add_evidence(self, style, buf);
	add_levers(self, style, buf);
	add_avoid(verdict, style, buf);
	add_node(self, style, buf);
	add_next(self, style, buf);
	return buf->status;
}

int triage_text(const struct triage *self, struct strbuf *buf)
{
	return render(self, &style_text, buf);
}

int triage_markdown(const struct triage *self, struct strbuf *buf)
{
	return render(self, &style_markdown, buf);
}
