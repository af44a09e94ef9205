/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/crash.h"

#include "base/io.h"
#include "base/json.h"
#include "triage/triage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Depth of the answer of triage, with room for members that are added later. */
#define CRASH_DEPTH 16

static void crash_init(struct crash *self)
{
	*self = (struct crash){.furthest = {.epoch = EPOCH_NONE, .step = STEP_NONE, .n_steps = STEP_NONE},
			       .rate = FIGURE_NONE};
	figures_init(&self->figures);
	numbers_init(self->numbers);
}

/* Kinds that a change of memory can heal. */
static bool find_kind(const char *name, enum kind *ret)
{
	for (int i = 0; i < KIND_NOT_OOM; i++)
		if (streq(name, triage_kinds[i].name)) {
			*ret = (enum kind)i;
			return true;
		}
	return false;
}

/* ---- places in the text ---- */

struct text {
	const char *name;
	struct str all;
};

static size_t line_of(const struct text *text, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at && i < text->all.n; i++)
		line += text->all.p[i] == '\n';
	return line;
}

/* The line of the first member of this name; 1 if there is none. */
static size_t line_of_key(const struct text *text, const char *key)
{
	char quoted[64];
	int n = snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	const char *at = memmem(text->all.p, text->all.n, quoted, (size_t)n);

	return at ? line_of(text, (size_t)(at - text->all.p)) : 1;
}

/* The parser names the byte; people look for a line. */
static int fail_syntax(const struct text *text, int code, struct err *err)
{
	char msg[sizeof(err->msg)];
	const char *mark;
	size_t at;

	snprintf(msg, sizeof(msg), "%s", err->msg);
	mark = strstr(msg, " at byte ");
	at = mark ? strtoul(mark + strlen(" at byte "), NULL, 10) : 0;
	return err_set_at(err, code, text->name, line_of(text, at), 0, "%s; give what `triage -o json` printed", msg);
}

/* ---- members ---- */

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* A whole number from 0 on. */
static int64_t int_of(struct json_object *object, const char *key, int64_t fallback)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0
		       ? json_object_get_int64(value)
		       : fallback;
}

static size_t count(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static void take_figures(struct json_object *figures, struct crash *ret)
{
	for (int i = 0; i < FIGURE_COUNT_; i++) {
		int64_t bytes = int_of(figures, figure_rows[i].name, FIGURE_NONE);

		if (bytes != FIGURE_NONE && bytes <= FIGURE_MAX)
			ret->figures.bytes[i] = bytes;
	}
}

/* An answer of before `progress` was added has only the step. */
static void take_progress(struct json_object *answer, struct crash *ret)
{
	struct json_object *progress = json_member(answer, "progress");
	const char *unit = text_of(progress, "rate_unit");

	ret->furthest.epoch = int_of(progress, "epoch", EPOCH_NONE);
	ret->furthest.step = int_of(progress, "step", int_of(answer, "step", STEP_NONE));
	ret->furthest.n_steps = int_of(progress, "steps", STEP_NONE);
	ret->furthest.n_falls = (uint64_t)int_of(progress, "falls", 0);
	ret->furthest.number = ret->furthest.epoch != EPOCH_NONE || ret->furthest.step != STEP_NONE;
	for (int i = 0; i < RATE_COUNT_; i++)
		if (streq(unit, rate_names[i])) {
			ret->rate_unit = (enum rate_unit)i;
			ret->rate = int_of(progress, "rate_milli", FIGURE_NONE);
		}
}

static void take_settings(struct json_object *names, struct crash *ret)
{
	for (size_t k = 0; k < count(names); k++) {
		struct json_object *name = json_object_array_get_idx(names, k);

		for (int i = 0; i < SETTING_COUNT_ && json_object_is_type(name, json_type_string); i++)
			ret->has_setting[i] |= streq(json_object_get_string(name), settings[i].name);
	}
}

static void take_numbers(struct json_object *numbers, struct crash *ret)
{
	for (int i = 0; i < NUMBER_COUNT; i++) {
		int64_t value = int_of(numbers, number_rows[i].key, NUMBER_NONE);

		ret->numbers[i] = value <= NUMBER_MAX ? value : NUMBER_NONE;
	}
}

static void take_levers(struct json_object *levers_of, struct crash *ret)
{
	for (size_t i = 0; i < count(levers_of) && ret->n_levers < CRASH_LEVERS_MAX; i++) {
		struct json_object *item = json_object_array_get_idx(levers_of, i);
		struct crash_lever *lever = &ret->levers[ret->n_levers++];

		reading_copy(lever->action, sizeof(lever->action), text_of(item, "action"), "");
		reading_copy(lever->setting, sizeof(lever->setting), text_of(item, "setting"), "");
	}
}

static int take(const struct text *text, struct json_object *answer, struct crash *ret, struct err *err)
{
	const char *version = text_of(answer, "apiVersion"), *kind = text_of(answer, "kind");

	if (!streq(version, TRIAGE_API_VERSION))
		return err_set_at(err, -EINVAL, text->name, line_of_key(text, "apiVersion"), 0,
				  "apiVersion is \"%.60s\", not " TRIAGE_API_VERSION
				  ": give what `triage -o json` of this program printed",
				  version);
	if (!*kind)
		return err_set_at(err, -EINVAL, text->name, 1, 0,
				  "there is no `kind`: give what `triage -o json` printed of the crash");
	if (!find_kind(kind, &ret->kind))
		return err_set_at(err, -EINVAL, text->name, line_of_key(text, "kind"), 0,
				  "kind is \"%.60s\": only an end for memory or by a faulty GPU can be verified", kind);
	reading_copy(ret->cause, sizeof(ret->cause), text_of(answer, "cause"), "");
	take_figures(json_member(answer, "figures"), ret);
	take_progress(answer, ret);
	take_settings(json_member(answer, "settings"), ret);
	take_numbers(json_member(answer, "numbers"), ret);
	take_levers(json_member(answer, "levers"), ret);
	return 0;
}

int crash_read(const char *name, const char *text, size_t n, struct crash *ret, struct err *err)
{
	const struct text all = {name, {text, n}};
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct crash crash;
	int r = json_parse(text, n, CRASH_DEPTH, &answer, err);

	if (r)
		return fail_syntax(&all, r, err);
	crash_init(&crash);
	r = take(&all, answer, &crash, err);
	if (r)
		return r;
	snprintf(crash.source, sizeof(crash.source), "%s", name);
	*ret = crash;
	return 0;
}

int crash_read_file(const char *path, struct crash *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);
	int r = io_read_file(path, &buf, err);

	return r ? r : crash_read(path, strbuf_text(&buf), buf.len, ret, err);
}

/* ---- of a kind ---- */

static void add_lever(const struct lever *lever, const struct verdict *verdict, const char *variable, struct crash *ret)
{
	CLEANUP(strbuf_release) struct strbuf setting = STRBUF_INIT(4 * KIB);
	struct crash_lever *row = &ret->levers[ret->n_levers];
	const char *text;

	if (ret->n_levers == CRASH_LEVERS_MAX || lever_render(lever, verdict, NULL, &setting))
		return;
	ret->n_levers++;
	text = strbuf_text(&setting);
	reading_copy(row->action, sizeof(row->action), lever->action, "");
	if (*variable && strstarts(text, lever_variable(verdict)))
		snprintf(row->setting, sizeof(row->setting), "%s%.*s", variable, (int)sizeof(row->setting) - 64,
			 text + strlen(lever_variable(verdict)));
	else
		reading_copy(row->setting, sizeof(row->setting), text, "");
}

/* The line as the rules would have it. */
static int read_evidence(const char *evidence, struct fact *ret)
{
	struct line_buffer *buffer = calloc(1, sizeof(*buffer));
	struct line line;

	if (!buffer)
		return -ENOMEM;
	*ret = (struct fact){.signal = SIGNAL_GPU_OOM, .rank = RANK_NONE};
	reading_copy(ret->text, sizeof(ret->text), evidence, "");
	line_make((struct str){evidence, strlen(evidence)}, 1, buffer, &line);
	reading_init(&ret->reading);
	(void)signal_read(SIGNAL_GPU_OOM, &line, &ret->reading);
	free(buffer);
	return 0;
}

int crash_make(const char *kind, const char *cause, const char *variable, const char *evidence,
	       const struct figures *figures, struct crash *ret)
{
	struct verdict verdict = {.torch_version = -1, .rank = RANK_NONE, .step = STEP_NONE};
	struct fact fact;

	crash_init(ret);
	if (!find_kind(kind, &ret->kind))
		return -EINVAL;
	if (*evidence && ret->kind <= KIND_CO_TENANT) {
		if (read_evidence(evidence, &fact))
			return -ENOMEM;
		verdict.fact = &fact;
	}
	reading_copy(ret->cause, sizeof(ret->cause), cause, "");
	ret->figures = verdict.figures = *figures;
	verdict.kind = ret->kind;
	verdict.cause = *ret->cause ? ret->cause : NULL;
	for (size_t i = 0; i < n_levers; i++)
		if (lever_fits(&levers[i], &verdict))
			add_lever(&levers[i], &verdict, variable, ret);
	return 0;
}
