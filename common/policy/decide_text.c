/* SPDX-License-Identifier: Apache-2.0 */
/* decide_text: the words of a decision. A finding's text is: what is wrong; what comes of it (why). */
#include "policy/decide_internal.h"

#include "base/str.h"
#include "policy/size.h"
#include "policy/size_fit.h"
#include "policy/size_math.h"

#include <stdio.h>
#include <string.h>

enum { EXACT_CHARS = 9 };

/* quantity_render_human() rounds up to one decimal; a size that is set is said as it is set, unless that takes more
 * than nine characters. */
const char *text_exact(int64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
	int64_t unit = 1;

	while (unit <= bytes / 1024)
		unit *= 1024;
	if ((__int128)bytes * 10 % unit == 0 || strlen(quantity_render_bytes(bytes, buf)) > EXACT_CHARS)
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

const char *text_runs(const struct deciding *self, int64_t n)
{
	return arena_printf(self->arena, "%lld run%s", (long long)n, n == 1 ? "" : "s");
}

/* "nvidia.com/gpu" is what people call GPUs, and slices and shares are parts of them; everything else keeps its name's
 * last part. */
const char *text_part(const struct deciding *self)
{
	const struct accelerator_ask *ask = &self->ret->ask;
	const char *slash = strrchr(ask->resource, '/'), *name = slash ? slash + 1 : ask->resource;
	bool is_gpu = streq(name, "gpu") || streq(name, "gpu.shared") || strstarts(name, "mig-");
	int64_t milli = self->nodes.part_milli, devices = self->nodes.devices;

	if (milli % 1000 == 0)
		return arena_printf(self->arena, "%lld of %lld %s", (long long)(milli / 1000), (long long)devices,
				    is_gpu ? "GPUs" : text_clean(self->arena, name, 16));
	return arena_printf(self->arena, "%lld.%02lld of %lld GPUs", (long long)(milli / 1000),
			    (long long)(milli % 1000 / 10), (long long)devices);
}

/* What moved the limit away from the recommendation. */
static const char *moved_by(const struct sized *item)
{
	const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];

	if (limit->proposal.gate == GATE_NONE || limit->cap_why || limit->proposal.to_bytes == item->rec.limit_bytes)
		return "";
	if (limit->proposal.to_bytes < item->rec.limit_bytes)
		return ", size of the node";
	return limit->proposal.needs == MODE_ENFORCE ? ", one step down" : ", at least the request";
}

/* By what the recommended limit came about. */
const char *text_why_limit(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;
	int64_t by_peak = size_round_up(size_scale_permille(rec->peak_bytes, 1000 + rec->buffer_permille));
	const char *runs = text_runs(self, rec->whole_runs);

	if (!runs)
		return NULL;
	if (size_is_limit_by_pin(item))
		return arena_printf(self->arena, "pinned");
	if (rec->limit_bytes > by_peak && rec->proven_bytes > 0)
		return arena_printf(self->arena, "OOM-killed at %s", EXACT(rec->proven_bytes));
	if (!rec->whole_runs)
		return arena_printf(self->arena, "a run reached %s", HUMAN(rec->peak_bytes));
	if (rec->limit_bytes == self->policy->sizing.floor_limit_bytes && rec->limit_bytes > by_peak)
		return arena_printf(self->arena, "peak %s of %s, least size", HUMAN(rec->peak_bytes), runs);
	if (rec->limit_bytes != by_peak)
		return arena_printf(self->arena, "peak %s of %s%s", HUMAN(rec->peak_bytes), runs, moved_by(item));
	return arena_printf(self->arena, "peak %s of %s + %d%%%s", HUMAN(rec->peak_bytes), runs,
			    (rec->buffer_permille + 5) / 10, moved_by(item));
}

const char *text_why_request(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;
	const char *runs = text_runs(self, rec->whole_runs);
	const char *what = "use";

	if (!runs)
		return NULL;
	if (size_is_request_pinned(item))
		return arena_printf(self->arena, "pinned");
	if (rec->request_bytes == rec->limit_bytes ||
	    streq(item->fields[SIZED_MEMORY][SIZE_REQUEST].proposal.rule, "guaranteed"))
		return arena_printf(self->arena, "equal to the limit");
	if (!rec->whole_runs)
		return arena_printf(self->arena, "no whole run yet");
	if (rec->request_bytes == size_round_up(rec->median_bytes))
		what = "median";
	else if (rec->request_bytes == size_round_up(rec->p95_bytes))
		what = "p95 of peaks";
	return arena_printf(self->arena, "%s of %s", what, runs);
}

static const char *text_no_lower_reason(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;

	if (size_is_below_proof(item, rec->limit_bytes))
		return "the ceiling is below what runs used";
	if (rec->flags & REC_HARM)
		return "a lower size did harm";
	if (rec->flags & REC_CACHE_BOUND)
		return "page cache is at work";
	if (rec->flags & REC_LEAK)
		return "memory leaks";
	if (rec->flags & REC_UNSTABLE)
		return "peaks vary";
	if (!item->is_variant_known)
		return "new variant";
	if (decide_is_small_world(self, item))
		return arena_printf(self->arena, "fewer ranks than the %d of any run", (int)rec->min_ranks);
	if (rec->whole_runs < self->policy->sizing.lower_min_runs)
		return "too few runs";
	return "recent OOM or new variant";
}

static const char *evidence_words(const struct deciding *self, const struct sized *item, const struct field *field)
{
	if (!field->has && fit_is_held(item, REC_NO_LIMIT))
		return "; not set: killed at the limit that memtamer had set";
	if (!field->has && streq(field->proposal.rule, "gpu-share"))
		return "; not set: the share of the node is not above what runs used";
	if (!field->has)
		return "; not set: the ceiling is below what runs used";
	if (field->proposal.to_bytes > field->now_bytes)
		return "; not raised: found no room at the raised size";
	return arena_printf(self->arena, "; not lowered: %s", text_no_lower_reason(self, item));
}

static const char *outcome_open(const struct deciding *self, const struct field *field, const char *to, const char *why)
{
	bool is_replaced = self->is_bare && field->has && !field->is_default;

	/* What a rule of the namespace took away comes first: the line ends at 120 characters. */
	if (field->cap_why)
		return arena_printf(self->arena, "; %s %s%s%s", is_set_later(self) ? "will be" : "set to", to, why,
				    is_replaced ? ", next apply fails" : "");
	if (is_set_later(self))
		return arena_printf(self->arena, "; will be set to %s when pods are created%s", to, why);
	if (is_replaced)
		return arena_printf(self->arena, "; set to %s, next apply fails%s", to, why);
	return arena_printf(self->arena, "; set to %s%s%s", to, field->is_default ? " over the LimitRange default" : "",
			    why);
}

const char *text_outcome(const struct deciding *self, const struct sized *item, const struct field *field,
			 const char *why)
{
	const struct proposal *proposal = &field->proposal;
	const char *to = EXACT(proposal->to_bytes), *mode = mode_names[proposal->needs];

	if (field->cap_why)
		why = field->cap_why;
	if (proposal->gate == GATE_LIMITS)
		return arena_printf(self->arena, "; %s", why);
	if (why[0])
		why = arena_printf(self->arena, " (%s)", why);
	if (!why)
		return NULL;
	switch (proposal->gate) {
	case GATE_OPEN:
		return outcome_open(self, field, to, why);
	case GATE_ACTION:
		return arena_printf(self->arena, "; %s would fit%s", to, why);
	case GATE_MODE:
		return arena_printf(self->arena, "; mode %s would set %s%s", mode, to, why);
	case GATE_BARE:
		return arena_printf(self->arena, "; annotation memtamer.io/mode: %s sets %s", mode, to);
	case GATE_KIND:
		return arena_printf(self->arena, "; %s would fit, but %s%s", to, self->kind_why, why);
	case GATE_QUEUE:
		return arena_printf(self->arena, "; %s would fit, but a queue counted it%s", to, why);
	case GATE_EVIDENCE:
		return evidence_words(self, item, field);
	case GATE_NODE:
		return arena_printf(self->arena, "; %s does not fit a node of %s", to,
				    HUMAN(self->nodes.largest_memory_bytes));
	case GATE_LIMITS:
	case GATE_NONE:
	case GATE_SETTLED:
		break;
	}
	return "";
}
