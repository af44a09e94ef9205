/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks_size: what is missing, too small or too large beside what runs used. */
#include "policy/decide_checks.h"

#include "base/str.h"

#include <errno.h>

/* "; 1 run so far: peak 3.1Gi" or the share of a node, where there is no size to speak of. */
static const char *figures(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;
	const char *runs = text_runs(self, rec->runs);

	if (!runs)
		return NULL;
	if (rec->runs > 0 && rec->peak_bytes > 0)
		return arena_printf(self->arena, "; %s so far: peak %s", runs, HUMAN(rec->peak_bytes));
	if (item->is_main && self->nodes.share_memory_bytes > 0)
		return arena_printf(self->arena, "; no past runs; the share of %s is %s", text_part(self),
				    HUMAN(self->nodes.share_memory_bytes));
	return item->is_main ? "; no past runs" : "";
}

static int64_t pod_limit(const struct deciding *self)
{
	const struct k8s_amount *limit = &self->pod.resources.limits[K8S_MEMORY];

	return self->pod.has_pod_resources && limit->text && !limit->is_invalid ? limit->value : 0;
}

static const char *proof(const struct deciding *self, const struct sized *item, int64_t limit)
{
	const struct field *field = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
	const struct recommendation *rec = &item->rec;
	bool is_killed = rec->proven_bytes > 0 && limit <= rec->proven_bytes && limit >= rec->peak_bytes;
	const char *runs;

	if (!size_is_below_proof(item, limit))
		return arena_printf(self->arena, "%s the pin %s", field->cap_why ? "," : " is below",
				    EXACT(rec->limit_bytes));
	/* The words for a rule of the namespace are long, as is the annotation that a bare pod needs; the line is not.
	 */
	if (field->cap_why)
		return arena_printf(self->arena, ", %s %s", is_killed ? "OOM-killed at" : "peak",
				    is_killed ? EXACT(rec->proven_bytes) : HUMAN(rec->peak_bytes));
	if (is_killed)
		return arena_printf(self->arena, " is not above %s, where a run was OOM-killed",
				    EXACT(rec->proven_bytes));
	if (field->proposal.gate == GATE_BARE)
		return arena_printf(self->arena, " is below the peak %s", HUMAN(rec->peak_bytes));
	runs = text_runs(self, MAX(rec->whole_runs, 1));
	return runs ? arena_printf(self->arena, " is below the peak %s of %s", HUMAN(rec->peak_bytes), runs) : NULL;
}

/* The peak is in the sentence already: what is added says only by how much. */
static const char *why_raised(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;

	if (size_is_limit_by_pin(item))
		return "pinned";
	if (item->fields[SIZED_MEMORY][SIZE_LIMIT].proposal.to_bytes < rec->limit_bytes)
		return "size of the node";
	if (rec->proven_bytes > 0 && rec->proven_bytes >= rec->peak_bytes)
		return "after an OOM kill";
	return arena_printf(self->arena, "+ %d%%", (rec->buffer_permille + 5) / 10);
}

int check_limit_below_peak(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
		bool is_pod_level = !limit->has && item->is_main && pod_limit(self) > 0;
		int64_t bytes = is_pod_level ? pod_limit(self) : limit->now_bytes;
		const char *said;

		if ((!limit->has && !is_pod_level) || limit->is_invalid || !item->profile ||
		    (!size_is_below_proof(item, bytes) && !size_is_below_pin(item, bytes)))
			continue;
		said = proof(self, item, bytes);
		if (!said)
			return -ENOMEM;
		r = finding_add_field(self, CHECK_MEMORY_LIMIT_BELOW_PEAK, item, SIZED_MEMORY, SIZE_LIMIT,
				      arena_printf(self->arena, "memory limit%s %s%s",
						   is_pod_level ? " of the pod" : "", EXACT(bytes), said),
				      why_raised(self, item));
	}
	return r;
}

int check_besteffort(struct deciding *self)
{
	const struct sized *item = &self->items[0];
	const struct proposal *proposal = &item->fields[SIZED_MEMORY][SIZE_REQUEST].proposal;
	bool is_patched = k8s_pod_qos(&self->after) != K8S_QOS_BEST_EFFORT;
	const char *words = is_set_later(self) ? "will be set to" : "set to";

	if (self->qos != K8S_QOS_BEST_EFFORT)
		return 0;
	/* What is not done about it is said by memory-request-missing. */
	return finding_add(self, CHECK_BESTEFFORT_QOS, is_patched, item->container,
			   finding_pointer(self, item, SIZED_MEMORY, SIZE_REQUEST),
			   proposal->gate == GATE_OPEN
				   ? arena_printf(self->arena,
						  "QoS class BestEffort, first to be evicted; memory request %s %s",
						  words, EXACT(proposal->to_bytes))
				   : "QoS class BestEffort, first to be evicted");
}

int check_limit_missing(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
		const char *why;

		if (limit->has || pod_limit(self) > 0 || (!item->is_main && !item->profile))
			continue;
		why = streq(limit->proposal.rule, "gpu-share") ? text_part(self) : text_why_limit(self, item);
		if (!why)
			return -ENOMEM;
		if (limit->proposal.gate == GATE_NONE)
			r = finding_add(self, CHECK_MEMORY_LIMIT_MISSING, false, item->container,
					finding_pointer(self, item, SIZED_MEMORY, SIZE_LIMIT),
					arena_printf(self->arena, "no memory limit%s", figures(self, item)));
		else
			r = finding_add_field(self, CHECK_MEMORY_LIMIT_MISSING, item, SIZED_MEMORY, SIZE_LIMIT,
					      "no memory limit", why);
	}
	return r;
}

int check_request_missing(struct deciding *self)
{
	bool has_pod_request = self->pod.has_pod_resources && self->pod.resources.requests[K8S_MEMORY].text;
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *request = &item->fields[SIZED_MEMORY][SIZE_REQUEST];
		const char *why;

		if (request->has || has_pod_request || (!item->is_main && !item->profile))
			continue;
		why = streq(request->proposal.rule, "no-history") ? "no past runs" : text_why_request(self, item);
		r = finding_add_field(self, CHECK_MEMORY_REQUEST_MISSING, item, SIZED_MEMORY, SIZE_REQUEST,
				      "no memory request", why);
	}
	return r;
}

int check_ephemeral_missing(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *request = &item->fields[SIZED_EPHEMERAL][SIZE_REQUEST];
		bool is_measured = item->is_usable && item->rec.ephemeral_request_bytes > 0;

		if (request->has || (!item->is_main && !is_measured))
			continue;
		r = finding_add_field(self, CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING, item, SIZED_EPHEMERAL,
				      SIZE_REQUEST, "no ephemeral-storage request",
				      is_measured ? arena_printf(self->arena, "measured use, peak %s",
								 HUMAN(item->rec.ephemeral_peak_bytes))
						  : "disk use not measured");
	}
	return r;
}

static const char *request_below_words(const struct deciding *self, const struct sized *item)
{
	const struct field *request = &item->fields[SIZED_MEMORY][SIZE_REQUEST];
	bool is_pinned = size_is_request_pinned(item);

	return arena_printf(self->arena, "memory request %s%s %s %s", EXACT(request->now_bytes),
			    request->cap_why ? "," : " is below the", is_pinned ? "pin" : "median",
			    is_pinned ? EXACT(item->rec.request_bytes) : HUMAN(item->rec.median_bytes));
}

int check_request_below_median(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *request = &item->fields[SIZED_MEMORY][SIZE_REQUEST];
		bool is_pinned = size_is_request_pinned(item), is_backed = item->is_usable && item->rec.whole_runs;
		const char *words, *why;

		if ((!is_backed && !is_pinned) || !size_is_below_median(self, item))
			continue;
		words = request_below_words(self, item);
		why = is_pinned ? "pinned" : text_runs(self, item->rec.whole_runs);
		if (!words || !why)
			return -ENOMEM;
		r = finding_add_field(self, CHECK_MEMORY_REQUEST_BELOW_MEDIAN, item, SIZED_MEMORY, SIZE_REQUEST, words,
				      request->proposal.to_bytes < item->rec.request_bytes ? "its limit" : why);
	}
	return r;
}

static const char *why_lowered(const struct deciding *self, const struct sized *item, int f)
{
	const struct recommendation *rec = &item->rec;
	int64_t want = f == SIZE_LIMIT ? rec->limit_bytes : rec->request_bytes;

	if (item->fields[SIZED_MEMORY][f].proposal.to_bytes > want)
		return "one step down";
	return f == SIZE_LIMIT ? arena_printf(self->arena, "+ %d%%", (rec->buffer_permille + 5) / 10) : "";
}

static const char *over_words(const struct deciding *self, const struct sized *item, int f)
{
	const struct field *field = &item->fields[SIZED_MEMORY][f];
	const char *runs = text_runs(self, item->rec.whole_runs);
	int64_t used = f == SIZE_LIMIT ? item->rec.peak_bytes : item->rec.median_bytes;

	if (!runs)
		return NULL;
	if (field->proposal.gate == GATE_BARE || field->cap_why)
		return arena_printf(self->arena, "memory %s %s, %s %s", f == SIZE_LIMIT ? "limit" : "request",
				    EXACT(field->now_bytes), f == SIZE_LIMIT ? "peak" : "median", HUMAN(used));
	return arena_printf(self->arena, "memory %s %s, but %s %s %s", f == SIZE_LIMIT ? "limit" : "request",
			    EXACT(field->now_bytes), runs, f == SIZE_LIMIT ? "peaked at" : "had a median of",
			    HUMAN(used));
}

int check_over_provisioned(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *fields = item->fields[SIZED_MEMORY];
		bool is_limit = size_is_over(self, fields[SIZE_LIMIT].now_bytes, item->rec.limit_bytes);
		/* That of a Guaranteed pod follows its limit, up too. */
		bool is_request = size_is_over(self, fields[SIZE_REQUEST].now_bytes, item->rec.request_bytes) &&
				  fields[SIZE_REQUEST].proposal.to_bytes <= fields[SIZE_REQUEST].now_bytes;
		int f = is_limit ? SIZE_LIMIT : SIZE_REQUEST;

		if (!item->is_usable || !item->rec.whole_runs || (!is_limit && !is_request))
			continue;
		r = finding_add_field(self, CHECK_MEMORY_OVER_PROVISIONED, item, SIZED_MEMORY, f,
				      over_words(self, item, f), why_lowered(self, item, f));
	}
	return r;
}
