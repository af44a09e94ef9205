/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks_size: values that are absent, too small or too large compared with what runs used. */
#include "policy/decide/decide_checks.h"

#include "base/str.h"

#include <errno.h>

/* Known figures if there is no size to set: "; not set yet (1 run, peak 3175Mi)", or the share of a node. */
static const char *figures(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;
	int64_t share = decide_part_of(item, self->facts->nodes.share_memory_bytes);

	if (rec->runs > 0 && rec->peak_bytes > 0)
		return arena_printf(self->arena, "; not set yet (%s, peak %s)", text_runs(self, rec->runs),
				    HUMAN(rec->peak_bytes));
	if (item->is_main && share > 0)
		return arena_printf(self->arena, "; no past runs, the share of %s is %s", text_part(self, item),
				    HUMAN(share));
	return item->is_main ? "; no past runs" : "";
}

/* If the outcome is long, the head of a sentence must be short. */
static bool is_outcome_long(const struct field *field)
{
	return field->cap_why || field->proposal.gate == GATE_BARE || field->proposal.gate == GATE_KIND ||
	       field->proposal.gate == GATE_QUEUE || field->proposal.gate == GATE_NODE;
}

static int64_t pod_limit(const struct deciding *self)
{
	const struct k8s_amount *limit = &self->facts->pod.resources.limits[K8S_MEMORY];

	return self->facts->pod.has_pod_resources && limit->text && !limit->is_invalid ? limit->value : 0;
}

static const char *proof(const struct deciding *self, const struct sized *item, int64_t limit)
{
	const struct field *field = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
	const struct recommendation *rec = &item->rec;
	bool is_killed = rec->proven_bytes > 0 && limit <= rec->proven_bytes && limit >= rec->peak_bytes;
	bool is_short = is_outcome_long(field) || field->is_default;

	if (!size_is_below_proof(item, limit))
		return arena_printf(self->arena, "%s pinned %s", field->cap_why ? "," : " is below",
				    SET(rec->limit_bytes));
	if (is_killed)
		return arena_printf(self->arena, ", %sOOM-killed at %s", is_short ? "" : "but a run was ",
				    EXACT(rec->proven_bytes));
	if (field->cap_why)
		return arena_printf(self->arena, ", peak %s", HUMAN(rec->peak_bytes));
	return arena_printf(self->arena, " is below peak %s%s%s", HUMAN(rec->peak_bytes), is_short ? "" : " of ",
			    is_short ? "" : text_runs(self, MAX(rec->whole_runs, 1)));
}

/* The sentence already contains the peak, the kill or the pin. */
static const char *why_raised(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;
	const struct proposal *proposal = &item->fields[SIZED_MEMORY][SIZE_LIMIT].proposal;

	if (proposal->gate != GATE_OPEN || size_is_limit_by_pin(item))
		return "";
	if (proposal->to_bytes < rec->limit_bytes)
		return "largest node";
	if (size_is_raised_by_kill(item) || (rec->proven_bytes > 0 && rec->proven_bytes >= rec->peak_bytes))
		return "";
	return arena_printf(self->arena, "peak + %d %%", (rec->buffer_permille + 5) / 10);
}

int check_limit_below_peak(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
		bool is_pod_level = !limit->has && item->is_main && pod_limit(self) > 0;
		int64_t bytes = is_pod_level ? pod_limit(self) : limit->now_bytes;
		const char *text = is_pod_level ? self->facts->pod.resources.limits[K8S_MEMORY].text
						: text_value(self, item, SIZED_MEMORY, SIZE_LIMIT);

		if ((!limit->has && !is_pod_level) || limit->is_invalid ||
		    (!size_is_below_proof(item, bytes) && !size_is_below_pin(item, bytes)) ||
		    (size_is_pinned(item, SIZE_LIMIT) && size_is_over(self, item, SIZE_LIMIT)))
			continue;
		r = finding_add_field(self, list, CHECK_MEMORY_LIMIT_BELOW_PEAK, item, SIZED_MEMORY, SIZE_LIMIT,
				      arena_printf(self->arena, "%smemory limit %s%s", is_pod_level ? "pod-level " : "",
						   text, proof(self, item, bytes)),
				      why_raised(self, item));
	}
	return r;
}

static const char *near_words(const struct deciding *self, const struct sized *item)
{
	const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
	const struct recommendation *rec = &item->rec;
	const char *value = text_value(self, item, SIZED_MEMORY, SIZE_LIMIT);
	bool is_short = is_outcome_long(limit) || limit->is_default;

	if (item->by[SIZE_LIMIT] == SIZE_BY_FLOOR || item->by[SIZE_LIMIT] == SIZE_BY_SPEC_FLOOR)
		return arena_printf(self->arena, "memory limit %s is below %s %s", value,
				    size_by_names[item->by[SIZE_LIMIT]], SET(rec->limit_bytes));
	if (size_is_raised_by_kill(item))
		return arena_printf(self->arena, "memory limit %s, %sOOM-killed at %s", value,
				    is_short ? "" : "but a run was ", EXACT(rec->proven_bytes));
	return arena_printf(self->arena, "memory limit %s%s peak %s%s%s", value, limit->cap_why ? "," : " is near",
			    HUMAN(rec->peak_bytes), is_short ? "" : " of ",
			    is_short ? "" : text_runs(self, MAX(rec->whole_runs, 1)));
}

int check_limit_near_peak(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];

		if (size_is_limit_by_pin(item) || !size_is_below(self, item, SIZE_LIMIT) ||
		    size_is_below_proof(item, item->fields[SIZED_MEMORY][SIZE_LIMIT].now_bytes))
			continue;
		r = finding_add_field(self, list, CHECK_MEMORY_LIMIT_NEAR_PEAK, item, SIZED_MEMORY, SIZE_LIMIT,
				      near_words(self, item), why_raised(self, item));
	}
	return r;
}

static bool is_besteffort(const struct deciding *self)
{
	const struct field *fields = self->items[0].fields[SIZED_MEMORY];

	/* A malformed amount counts as 0, but something else is meant. */
	return self->facts->qos == K8S_QOS_BEST_EFFORT && !fields[SIZE_LIMIT].is_invalid &&
	       !fields[SIZE_REQUEST].is_invalid;
}

static const char *why_share(const struct deciding *self, const struct sized *item)
{
	return arena_printf(self->arena, "90 %% of the share of %s", text_part(self, item));
}

static const char *why_request(const struct deciding *self, const struct sized *item)
{
	const char *rule = item->fields[SIZED_MEMORY][SIZE_REQUEST].proposal.rule;

	if (streq(rule, "gpu-share"))
		return why_share(self, item);
	return streq(rule, "no-history") ? "no past runs" : text_why_request(self, item);
}

int check_besteffort(const struct deciding *self, struct findings *list)
{
	const struct sized *item = &self->items[0];
	const char *missing;

	if (!is_besteffort(self))
		return 0;
	missing = text_missing(self, item, SIZED_MEMORY, SIZE_REQUEST);
	return finding_add_field(self, list, CHECK_BESTEFFORT_QOS, item, SIZED_MEMORY, SIZE_REQUEST,
				 arena_printf(self->arena, "%s (BestEffort)", missing), why_request(self, item));
}

int check_limit_missing(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct proposal *proposal = &item->fields[SIZED_MEMORY][SIZE_LIMIT].proposal;
		const char *missing, *why;

		if (item->fields[SIZED_MEMORY][SIZE_LIMIT].has || pod_limit(self) > 0 ||
		    (!item->is_main && !item->profile && !item->decided))
			continue;
		missing = text_missing(self, item, SIZED_MEMORY, SIZE_LIMIT);
		if (proposal->gate == GATE_NONE)
			missing = arena_printf(self->arena, "%s%s", missing, figures(self, item));
		why = streq(proposal->rule, "gpu-share") ? why_share(self, item) : text_why_limit(self, item);
		r = finding_add_field(self, list, CHECK_MEMORY_LIMIT_MISSING, item, SIZED_MEMORY, SIZE_LIMIT, missing,
				      why);
	}
	return r;
}

int check_request_missing(const struct deciding *self, struct findings *list)
{
	bool has_pod_request = self->facts->pod.has_pod_resources &&
			       k8s_amount_is_set(&self->facts->pod.resources.requests[K8S_MEMORY]);
	bool is_first_said = is_besteffort(self) && self->policy->actions[CHECK_BESTEFFORT_QOS] != ACTION_OFF;
	int r = 0;

	for (size_t i = is_first_said; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const char *missing;

		if (item->fields[SIZED_MEMORY][SIZE_REQUEST].has || has_pod_request ||
		    (!item->is_main && !item->profile && !item->decided))
			continue;
		missing = text_missing(self, item, SIZED_MEMORY, SIZE_REQUEST);
		if (item->fields[SIZED_MEMORY][SIZE_REQUEST].proposal.gate == GATE_NONE && !item->profile)
			missing = arena_printf(self->arena, "%s; no past runs", missing);
		r = finding_add_field(self, list, CHECK_MEMORY_REQUEST_MISSING, item, SIZED_MEMORY, SIZE_REQUEST,
				      missing, why_request(self, item));
	}
	return r;
}

int check_ephemeral_missing(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *request = &item->fields[SIZED_EPHEMERAL][SIZE_REQUEST];
		bool is_measured = item->is_usable && item->rec.ephemeral_request_bytes > 0;
		const char *missing;

		if (request->has || (!item->is_main && !is_measured))
			continue;
		missing = text_missing(self, item, SIZED_EPHEMERAL, SIZE_REQUEST);
		if (request->proposal.gate == GATE_NONE && !is_measured)
			missing = arena_printf(self->arena, "%s; disk use not measured", missing);
		r = finding_add_field(self, list, CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING, item, SIZED_EPHEMERAL,
				      SIZE_REQUEST, missing,
				      is_measured ? arena_printf(self->arena, "measured peak %s",
								 HUMAN(item->rec.ephemeral_peak_bytes))
						  : "disk use not measured");
	}
	return r;
}

static bool request_is_median(const struct sized *item)
{
	return !size_is_pinned(item, SIZE_REQUEST) && item->rec.request_bytes <= size_round_up(item->rec.median_bytes);
}

static const char *request_below_words(const struct deciding *self, const struct sized *item)
{
	const struct field *request = &item->fields[SIZED_MEMORY][SIZE_REQUEST];
	const char *value = text_value(self, item, SIZED_MEMORY, SIZE_REQUEST);
	bool is_median = request_is_median(item), is_short = !is_median || is_outcome_long(request);
	const char *what = size_is_pinned(item, SIZE_REQUEST) ? "pinned" : is_median ? "median" : "recommended";

	return arena_printf(self->arena, "memory request %s%s %s %s%s%s", value, request->cap_why ? "," : " is below",
			    what, is_median ? HUMAN(item->rec.median_bytes) : SET(item->rec.request_bytes),
			    is_short ? "" : " of ", is_short ? "" : text_runs(self, item->rec.whole_runs));
}

int check_request_below_median(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct proposal *proposal = &item->fields[SIZED_MEMORY][SIZE_REQUEST].proposal;

		if (!size_is_below(self, item, SIZE_REQUEST))
			continue;
		r = finding_add_field(self, list, CHECK_MEMORY_REQUEST_BELOW_MEDIAN, item, SIZED_MEMORY, SIZE_REQUEST,
				      request_below_words(self, item),
				      proposal->to_bytes < item->rec.request_bytes ? "its limit" : "");
	}
	return r;
}

/* A request that only keeps the pod out of BestEffort reserves nothing for the training. */
int check_request_token(const struct deciding *self, struct findings *list)
{
	enum { TOKEN_PART = 8 };
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *request = &item->fields[SIZED_MEMORY][SIZE_REQUEST];
		int64_t share = item->is_main ? decide_part_of(item, self->facts->nodes.share_memory_bytes) : 0;

		if (item->is_usable || self->facts->has_pod_memory || request->is_invalid ||
		    field_final(request) <= 0 || field_final(request) >= share / TOKEN_PART)
			continue;
		r = finding_add(self, list, CHECK_MEMORY_REQUEST_TOKEN, false, item->container,
				finding_pointer(self, item, SIZED_MEMORY, SIZE_REQUEST),
				arena_printf(self->arena, "memory request %s reserves little of %s, the share of %s",
					     text_final(self, item, SIZED_MEMORY, SIZE_REQUEST), HUMAN(share),
					     text_part(self, item)));
	}
	return r;
}

/* The sentence already contains what runs used. */
static const char *why_lowered(const struct deciding *self, const struct sized *item, int f)
{
	const struct recommendation *rec = &item->rec;
	const struct proposal *proposal = &item->fields[SIZED_MEMORY][f].proposal;

	if (proposal->gate != GATE_OPEN || size_is_pinned(item, f))
		return "";
	if (proposal->to_bytes > (f == SIZE_LIMIT ? rec->limit_bytes : rec->request_bytes))
		return text_step(self, item, f);
	return f == SIZE_LIMIT ? arena_printf(self->arena, "peak + %d %%", (rec->buffer_permille + 5) / 10) : "";
}

static const char *over_words(const struct deciding *self, const struct sized *item, int f)
{
	const struct field *field = &item->fields[SIZED_MEMORY][f];
	const char *value = text_value(self, item, SIZED_MEMORY, f);

	if (size_is_pinned(item, f))
		return arena_printf(self->arena, "memory %s %s is above pinned %s",
				    f == SIZE_LIMIT ? "limit" : "request", value,
				    SET(f == SIZE_LIMIT ? item->rec.limit_bytes : item->rec.request_bytes));
	if (f == SIZE_REQUEST)
		return arena_printf(self->arena, "memory request %s, but the median is %s", value,
				    HUMAN(item->rec.median_bytes));
	if (is_outcome_long(field) || field->proposal.gate == GATE_EVIDENCE || text_step_from(item, f) > 0)
		return arena_printf(self->arena, "memory limit %s, peak %s", value, HUMAN(item->rec.peak_bytes));
	return arena_printf(self->arena, "memory limit %s, but %s peaked at %s", value,
			    text_runs(self, item->rec.whole_runs), HUMAN(item->rec.peak_bytes));
}

int check_over_provisioned(const struct deciding *self, struct findings *list)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *fields = item->fields[SIZED_MEMORY];
		bool is_limit = size_is_over(self, item, SIZE_LIMIT);
		/* The request of a Guaranteed pod follows its limit, also upwards. */
		bool is_request = size_is_over(self, item, SIZE_REQUEST) &&
				  fields[SIZE_REQUEST].proposal.to_bytes <= fields[SIZE_REQUEST].now_bytes;
		int f = is_limit ? SIZE_LIMIT : SIZE_REQUEST;

		if (!item->is_usable || (!item->rec.whole_runs && !size_is_pinned(item, f)) ||
		    (!is_limit && !is_request))
			continue;
		r = finding_add_field(self, list, CHECK_MEMORY_OVER_PROVISIONED, item, SIZED_MEMORY, f,
				      over_words(self, item, f), why_lowered(self, item, f));
	}
	return r;
}
