/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"
#include "triage/levers.h"
#include "triage/node_rules.h"
#include "triage/triage.h"

#include <stdio.h>

static void add_int_or_null(struct strbuf *buf, const char *key, bool is_known, int64_t value)
{
	if (is_known)
		json_write_int(buf, key, value);
	else
		json_write_text(buf, key, NULL);
}

static void add_evidence(const struct triage *self, struct strbuf *buf)
{
	json_write_open(buf, "evidence", '[');
	for (size_t i = 0; i < self->n_evidence; i++) {
		const struct fact *fact = self->evidence[i];

		json_write_line(buf, 4);
		json_write_open(buf, NULL, '{');
		json_write_text(buf, "source", self->facts.sources.items[fact->source].name);
		json_write_int(buf, "line", (int64_t)fact->number);
		json_write_text(buf, "text", fact->text);
		json_write_text(buf, "signal", signals[fact->signal].name);
		add_int_or_null(buf, "rank", fact->rank != RANK_NONE, fact->rank);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

static void add_figures(const struct verdict *verdict, struct strbuf *buf)
{
	json_write_open(buf, "figures", '{');
	for (int i = 0; i < FIGURE_COUNT_; i++)
		if (verdict->figures.bytes[i] >= 0 && verdict->figures.bytes[i] <= FIGURE_MAX)
			json_write_int(buf, figure_rows[i].name, verdict->figures.bytes[i]);
	strbuf_addc(buf, '}');
}

static void add_rendered(const struct verdict *verdict, const char *key, const char *text, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf rendered = STRBUF_INIT(4 * KIB);

	lever_render_words(verdict, text, &rendered);
	json_write_text(buf, key, strbuf_text(&rendered));
}

static void add_levers(const struct triage *self, struct strbuf *buf)
{
	const struct verdict *verdict = &self->verdict;
	int order = 0;

	json_write_open(buf, "levers", '[');
	for (size_t i = 0; i < n_levers; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB), setting = text, why = text;

		if (!lever_is_left(&levers[i], verdict, &self->facts))
			continue;
		lever_render(&levers[i], verdict, &self->facts, &text);
		triage_render_command(self, strbuf_text(&text), &setting);
		json_write_line(buf, 4);
		json_write_open(buf, NULL, '{');
		json_write_int(buf, "order", ++order);
		add_rendered(verdict, "action", levers[i].action, buf);
		json_write_text(buf, "setting", strbuf_text(&setting));
		lever_render_why(&levers[i], verdict, &why);
		json_write_text(buf, "why", strbuf_text(&why));
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

static void add_avoid(const struct verdict *verdict, struct strbuf *buf)
{
	json_write_open(buf, "avoid", '[');
	for (size_t i = 0; i < n_levers_avoid; i++)
		if (lever_advice_fits(&levers_avoid[i], verdict))
			add_rendered(verdict, NULL, levers_avoid[i].text, buf);
	strbuf_addc(buf, ']');
}

/* The lines as items of the array that is open. */
static void add_notes(const struct strbuf *lines, struct strbuf *buf)
{
	const char *at = strbuf_text(lines);
	char text[KIB];

	for (struct str line; triage_next_note(&at, &line);) {
		str_to_line(line, text, sizeof(text));
		json_write_text(buf, NULL, text);
	}
}

static void add_next(const struct triage *self, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf resume = STRBUF_INIT(4 * KIB);

	json_write_open(buf, "next", '[');
	add_notes(&self->next, buf);
	for (size_t i = 0; i < n_levers_next; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB), command = text;

		if (!triage_is_next(self, &levers_next[i]))
			continue;
		lever_render_words(&self->verdict, levers_next[i].text, &text);
		triage_render_command(self, strbuf_text(&text), &command);
		json_write_text(buf, NULL, strbuf_text(&command));
	}
	if (triage_render_resume(self, &resume))
		json_write_text(buf, NULL, strbuf_text(&resume));
	strbuf_addc(buf, ']');
}

static void add_node(const struct triage *self, struct strbuf *buf)
{
	struct node_finding finding;

	json_write_open(buf, "node", '[');
	for (size_t i = 0; i < n_node_rules; i++) {
		if (!node_find(&self->facts.node, i, &finding))
			continue;
		json_write_line(buf, 4);
		json_write_open(buf, NULL, '{');
		json_write_text(buf, "name", finding.rule->name);
		json_write_text(buf, "harm", node_harm_names[finding.rule->harm]);
		json_write_text(buf, "text", finding.text);
		add_int_or_null(buf, "bytes", finding.bytes != FIGURE_NONE, finding.bytes);
		json_write_text(buf, "action", finding.rule->action);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

static void add_unseen(const struct triage *self, struct strbuf *buf)
{
	json_write_open(buf, "unseen", '[');
	add_notes(&self->unseen, buf);
	strbuf_addc(buf, ']');
}

static void add_inputs(const struct triage *self, struct strbuf *buf)
{
	json_write_open(buf, "inputs", '[');
	for (size_t i = 0; i < self->facts.sources.n; i++) {
		const struct source *source = &self->facts.sources.items[i];

		json_write_open(buf, NULL, '{');
		json_write_text(buf, "source", source->name);
		json_write_int(buf, "lines", (int64_t)source->n_lines);
		json_write_bool(buf, "damaged", source->is_damaged);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

/* What a later run is compared with. */
static void add_progress(const struct triage *self, struct strbuf *buf)
{
	const struct position *position = triage_progress(self);
	const struct furthest *furthest;

	if (!position) {
		json_write_text(buf, "progress", NULL);
		return;
	}
	furthest = &position->furthest;
	json_write_open(buf, "progress", '{');
	add_int_or_null(buf, "epoch", furthest->epoch != EPOCH_NONE, furthest->epoch);
	add_int_or_null(buf, "step", furthest->step != STEP_NONE, furthest->step);
	add_int_or_null(buf, "steps", furthest->n_steps != STEP_NONE, furthest->n_steps);
	json_write_int(buf, "falls", (int64_t)furthest->n_falls);
	add_int_or_null(buf, "rate_milli", position->rate.value != FIGURE_NONE, position->rate.value);
	json_write_text(buf, "rate_unit", position->rate.value != FIGURE_NONE ? rate_names[position->rate_unit] : NULL);
	strbuf_addc(buf, '}');
}

static void add_settings(const struct triage *self, struct strbuf *buf)
{
	json_write_open(buf, "settings", '[');
	for (int i = 0; i < SETTING_COUNT_; i++)
		if (facts_setting(&self->facts, (enum setting)i))
			json_write_text(buf, NULL, settings[i].name);
	strbuf_addc(buf, ']');
}

static void add_numbers(const struct triage *self, struct strbuf *buf)
{
	json_write_open(buf, "numbers", '{');
	for (int i = 0; i < NUMBER_COUNT; i++)
		if (self->facts.numbers[i].value != NUMBER_NONE)
			json_write_int(buf, number_rows[i].key, self->facts.numbers[i].value);
	strbuf_addc(buf, '}');
}

static const char *words_or_null(const struct fact *fact)
{
	return fact && fact->reading.words[0] ? fact->reading.words : NULL;
}

int triage_json(const struct triage *self, struct strbuf *buf)
{
	const struct verdict *verdict = &self->verdict;

	json_write_open(buf, NULL, '{');
	json_write_text(buf, "apiVersion", TRIAGE_API_VERSION);
	json_write_text(buf, "kind", triage_kinds[verdict->kind].name);
	json_write_text(buf, "cause", verdict->cause);
	json_write_text(buf, "confidence", triage_confidence_names[verdict->confidence]);
	json_write_text(buf, "rule", verdict->rule->name);
	json_write_text(buf, "why", verdict->why);
	add_int_or_null(buf, "rank", verdict->rank != RANK_NONE, verdict->rank);
	add_int_or_null(buf, "step", verdict->step != STEP_NONE, verdict->step);
	json_write_text(buf, "checkpoint", words_or_null(verdict->checkpoint));
	json_write_text(buf, "snapshot", words_or_null(verdict->snapshot));
	json_write_line(buf, 2);
	add_figures(verdict, buf);
	json_write_line(buf, 2);
	add_progress(self, buf);
	add_settings(self, buf);
	add_numbers(self, buf);
	json_write_line(buf, 2);
	add_evidence(self, buf);
	json_write_line(buf, 2);
	add_levers(self, buf);
	json_write_line(buf, 2);
	add_avoid(verdict, buf);
	add_next(self, buf);
	json_write_line(buf, 2);
	add_node(self, buf);
	json_write_line(buf, 2);
	add_unseen(self, buf);
	json_write_line(buf, 2);
	add_inputs(self, buf);
	return strbuf_adds(buf, "}\n");
}
