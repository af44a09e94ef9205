/* SPDX-License-Identifier: Apache-2.0 */
/* decide_text: the texts of a decision. A finding's text is: what is wrong; what is done about it (why). */
#include "policy/decide/decide_internal.h"

#include "base/limits.h"
#include "base/str.h"
#include "policy/size.h"
#include "policy/size/size_fit.h"
#include "policy/size_math.h"

#include <stdio.h>
#include <string.h>

enum { EXACT_CHARS = 9 };

/* A value that memtamer does not set may be too long to print exactly; then it is rounded up. */
const char *text_exact(int64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
	if (strlen(quantity_render_bytes(bytes, buf)) > EXACT_CHARS)
		quantity_render_human(bytes, buf);
	return buf;
}

bool is_set_later(const struct deciding *self)
{
	return self->input->subject == SUBJECT_TEMPLATE && !self->input->is_template_patched;
}

static bool is_printable(char c)
{
	return c >= 0x20 && c <= 0x7e;
}

const char *text_clean(struct arena *arena, const char *text, size_t max)
{
	size_t n = 0, keep;
	char *clean;

	while (n <= max && is_printable(text[n]))
		n++;
	if (n <= max && !text[n])
		return text;
	n = strlen(text);
	keep = n > max ? max - MIN(max, 3) : n;
	clean = arena_printf(arena, "%.*s%s", (int)keep, text, n > max ? "..." : "");
	for (char *p = clean; p && *p; p++)
		if (!is_printable(*p))
			*p = '?';
	return clean;
}

void text_cut(char *text, size_t max, char *word, size_t n, size_t least, bool is_middle)
{
	static const char mark[] = "...";
	const size_t n_mark = sizeof(mark) - 1;
	size_t over = MIN(strlen(text) - max, n - least), keep = n - over - n_mark, tail = is_middle ? keep / 2 : 0;

	memcpy(word + keep - tail, mark, n_mark);
	memmove(word + n - over - tail, word + n - tail, strlen(word + n - tail) + 1);
}

/* The longest word of a text. */
static char *longest_word(char *text, size_t *ret_n)
{
	static const char ends[] = " \"(),:;";
	char *longest = text;

	*ret_n = 0;
	for (char *p = text; *p; p += strspn(p, ends)) {
		size_t n = strcspn(p, ends);

		if (n > *ret_n) {
			longest = p;
			*ret_n = n;
		}
		p += n;
	}
	return longest;
}

void text_cut_names(char *text, size_t max)
{
	size_t n;
	char *word;

	while (strlen(text) > max && (word = longest_word(text, &n)) && n > TEXT_WORD_CHARS)
		text_cut(text, max, word, n, TEXT_WORD_CHARS, true);
}

const char *text_runs(const struct deciding *self, int64_t n)
{
	return arena_printf(self->arena, "%lld run%s", (long long)n, PLURAL(n));
}

static const struct k8s_amount *amount_of(const struct k8s_resources *resources, enum sized_resource resource, int f)
{
	return &(f == SIZE_LIMIT ? resources->limits : resources->requests)[sized_resource_of(resource)];
}

/* The origin of a value that is not written: values from LimitRanges and defaulting look as if the user had set
 * them. */
static const char *set_by(const struct sized *item, enum sized_resource resource, int f)
{
	bool is_written = amount_of(&item->container->resources, resource, f)->text;

	if (item->fields[resource][f].is_default)
		return " (by LimitRange)";
	return !is_written && f == SIZE_REQUEST && amount_of(&item->container->resources, resource, SIZE_LIMIT)->text
		       ? " (= limit)"
		       : "";
}

const char *text_value(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f)
{
	/* with defaults, which copy the limit as written */
	const struct k8s_container *container = &self->facts->pod.containers[item->after - self->after.containers];
	const char *text = amount_of(&container->resources, resource, f)->text;

	if (item->fields[resource][f].is_default || !text || !*text)
		return arena_printf(self->arena, "%s%s", EXACT(item->fields[resource][f].now_bytes),
				    set_by(item, resource, f));
	return arena_printf(self->arena, "%s%s", text_clean(self->arena, text, TEXT_VALUE_CHARS),
			    set_by(item, resource, f));
}

const char *text_final(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f)
{
	const struct field *field = &item->fields[resource][f];

	if (field->proposal.gate != GATE_OPEN)
		return text_value(self, item, resource, f);
	return arena_printf(self->arena, "%s", SET(field->proposal.to_bytes));
}

const char *text_missing(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f)
{
	const char *name = k8s_resource_names[sized_resource_of(resource)],
		   *field = f == SIZE_LIMIT ? "limit" : "request";

	if (item->fields[resource][f].is_zero)
		return arena_printf(self->arena, "%s %s is 0", name, field);
	return arena_printf(self->arena, "no %s %s", name, field);
}

/* People call "nvidia.com/gpu" GPUs, and slices and shares are parts of them; for all other resources the last part of
 * the name is used. */
const char *text_part(const struct deciding *self, const struct sized *item)
{
	const struct accelerator_ask *ask = &self->facts->ask;
	const char *slash = strrchr(ask->resource, '/'), *name = slash ? slash + 1 : ask->resource;
	bool is_gpu = streq(name, "gpu") || streq(name, "gpu.shared") || strstarts(name, "mig-");
	int64_t milli = item ? decide_part_of(item, self->facts->nodes.part_milli) : self->facts->nodes.part_milli;
	int64_t devices = self->facts->nodes.devices;

	if (milli % 1000 == 0)
		return arena_printf(self->arena, "%lld of %lld %s", (long long)(milli / 1000), (long long)devices,
				    is_gpu ? "GPUs" : text_clean(self->arena, name, LIMIT_NAME_PART_BYTES));
	return arena_printf(self->arena, "%lld.%02lld of %lld GPUs", (long long)(milli / 1000),
			    (long long)(milli % 1000 / 10), (long long)devices);
}

/* The reason why the limit differs from the recommendation. */
static const char *moved_by(const struct deciding *self, const struct sized *item)
{
	const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];

	if (limit->proposal.gate == GATE_NONE || limit->cap_why || limit->proposal.to_bytes == item->rec.limit_bytes)
		return "";
	if (limit->proposal.to_bytes < item->rec.limit_bytes)
		return ", largest node";
	if (limit->proposal.needs == MODE_ENFORCE)
		return arena_printf(self->arena, ", %s", text_step(self, item, SIZE_LIMIT));
	return ", at least the request";
}

const char *text_pin(const struct sized *item, int field)
{
	return item->by[field] == SIZE_BY_PIN_LIMIT ? "pinned by spec.pinLimit" : "pinned by spec.pinRequest";
}

int64_t text_step_from(const struct sized *item, int f)
{
	int64_t last = f == SIZE_LIMIT ? item->rec.last_limit_bytes : item->rec.last_request_bytes;

	return last == item->fields[SIZED_MEMORY][f].now_bytes ? 0 : last;
}

const char *text_step(const struct deciding *self, const struct sized *item, int f)
{
	int percent = self->policy->sizing.lower_max_permille / 10;
	int64_t from = text_step_from(item, f);

	if (from > 0)
		return arena_printf(self->arena, "%d %% below last run's %s", percent, EXACT(from));
	return arena_printf(self->arena, "max %d %% a run", percent);
}

/* How the recommended limit was computed. */
const char *text_why_limit(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;
	int64_t by_peak = size_round_up(size_scale_permille(rec->peak_bytes, 1000 + rec->buffer_permille));
	const char *runs = text_runs(self, rec->whole_runs), *peak = HUMAN(rec->peak_bytes);

	if (size_is_limit_by_pin(item))
		return text_pin(item, SIZE_LIMIT);
	if (item->by[SIZE_LIMIT] != SIZE_BY_RUNS && rec->whole_runs)
		return arena_printf(self->arena, "%s; peak %s of %s", size_by_names[item->by[SIZE_LIMIT]], peak, runs);
	if (size_is_raised_by_kill(item))
		return arena_printf(self->arena, "a run was OOM-killed at %s", EXACT(rec->proven_bytes));
	if (!rec->whole_runs)
		return arena_printf(self->arena, "a run reached %s", peak);
	if (rec->limit_bytes != by_peak)
		return arena_printf(self->arena, "peak %s of %s%s", peak, runs, moved_by(self, item));
	return arena_printf(self->arena, "peak %s of %s + %d %%%s", peak, runs, (rec->buffer_permille + 5) / 10,
			    moved_by(self, item));
}

const char *text_why_request(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;
	const char *what = "usage";

	if (size_is_pinned(item, SIZE_REQUEST))
		return text_pin(item, SIZE_REQUEST);
	if (rec->request_bytes == rec->limit_bytes ||
	    streq(item->fields[SIZED_MEMORY][SIZE_REQUEST].proposal.rule, "guaranteed"))
		return "equal to the limit";
	if (!rec->whole_runs)
		return "no complete run yet";
	if (rec->request_bytes == size_round_up(rec->median_bytes))
		what = "median";
	else if (rec->request_bytes == size_round_up(rec->p95_bytes))
		what = "p95 of peaks";
	return arena_printf(self->arena, "%s of %s", what, text_runs(self, rec->whole_runs));
}

static const char *text_no_lower_reason(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;

	if (size_is_below_proof(item, rec->limit_bytes))
		return "the ceiling is below observed use";
	if (rec->flags & REC_HARM)
		return "an earlier reduction did harm";
	if (rec->flags & REC_CACHE_BOUND)
		return "page cache fills the memory";
	if (rec->flags & REC_LEAK)
		return "memory leak suspected";
	if (rec->flags & REC_UNSTABLE)
		return "peaks of runs differ widely";
	if (!item->is_variant_known)
		return "new image, args or pod count";
	if (decide_is_small_world(self->facts, item))
		return "fewer pods than in past runs";
	if (rec->whole_runs < self->policy->sizing.lower_min_runs)
		return arena_printf(self->arena, "%d of %d complete runs needed", rec->whole_runs,
				    self->policy->sizing.lower_min_runs);
	return "recent OOM kill or changed workload";
}

static const char *evidence_words(const struct deciding *self, const struct sized *item, const struct field *field)
{
	if (!field->has && fit_is_held(item, REC_NO_LIMIT))
		return "; not set: a run was killed at a limit set by memtamer";
	if (!field->has && fit_is_held(item, REC_CACHE_BOUND))
		return "; not set: page cache hides what runs need";
	if (!field->has && streq(field->proposal.rule, "gpu-share"))
		return "; not set: runs used more than the share of the node";
	if (!field->has)
		return "; not set: the ceiling is below observed use";
	if (field->proposal.to_bytes > field->now_bytes)
		return "; not raised: pods of a raised size stayed pending";
	return arena_printf(self->arena, "; not lowered: %s", text_no_lower_reason(self, item));
}

static const char *outcome_open(const struct deciding *self, const struct field *field, const char *to, const char *why)
{
	const char *verb = is_set_later(self) ? "will be" : "set to";

	/* The user's next `kubectl apply` of a bare pod cannot change the value back. */
	if (self->facts->is_bare && field->has && !field->is_default)
		return arena_printf(self->arena, "; %s %s%s, re-apply fails", verb, to, field->cap_why ? why : "");
	return arena_printf(self->arena, "; %s %s%s", verb, to, why);
}

/* A size that is only suggested, because something else decides; a rule of the namespace may have reduced it. */
static const char *outcome_suggested(const struct deciding *self, const struct field *field, const char *to,
				     const char *why)
{
	return arena_printf(self->arena, "; %s suggested (%s%s%s)", to, why, field->cap_why ? ", " : "",
			    field->cap_why ? field->cap_why : "");
}

/* The outcome if a rule of the namespace prevents the change. */
static const char *outcome_prevented(const struct deciding *self, const struct field *field, const char *why)
{
	const char *verb = !field->has ? "set" : field->proposal.to_bytes > field->now_bytes ? "raised" : "lowered";

	return arena_printf(self->arena, "; not %s%s", verb, why);
}

const char *text_outcome(const struct deciding *self, const struct sized *item, const struct field *field,
			 const char *why)
{
	const struct proposal *proposal = &field->proposal;
	const char *to = SET(proposal->to_bytes), *mode = mode_names[proposal->needs];

	if (field->cap_why)
		why = field->cap_why;
	if (why && why[0])
		why = arena_printf(self->arena, " (%s)", why);
	if (!why)
		return NULL;
	switch (proposal->gate) {
	case GATE_OPEN:
		return outcome_open(self, field, to, why);
	case GATE_ACTION:
		return arena_printf(self->arena, "; %s suggested%s", to, why);
	case GATE_MODE:
		return arena_printf(self->arena, "; mode %s would set %s%s", mode, to, why);
	case GATE_BARE:
		return arena_printf(self->arena, "; annotation 'memtamer.io/mode: %s' sets %s%s", mode, to, why);
	case GATE_KIND:
		return outcome_suggested(self, field, to, item->vpa ? "a VPA sizes it" : self->mode->kind_why);
	case GATE_QUEUE:
		/* True before the queue counts the object and after it, so that both webhooks of an object say the
		 * same, and people see it once. */
		return outcome_suggested(self, field, to, "a queue counts it");
	case GATE_EVIDENCE:
		return evidence_words(self, item, field);
	case GATE_NODE:
		return arena_printf(self->arena, "; %s exceeds the largest node, %s", to,
				    HUMAN(self->facts->nodes.largest_memory_bytes));
	case GATE_LIMITS:
		return outcome_prevented(self, field, why);
	case GATE_NONE:
	case GATE_SETTLED:
		break;
	}
	return "";
}
