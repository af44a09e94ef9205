/* SPDX-License-Identifier: Apache-2.0 */
/* decide_checks: one function a check, called through one table in the order of checks.def. A check reads facts and the
 * proposals of size_fit.c and adds findings; it decides no size. */
#include "policy/decide_internal.h"

#include "base/limits.h"
#include "base/str.h"
#include "policy/size_math.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 120, NAME_MAX_CHARS = 24, UNIT_RATIO = 100, SHM_ACCELERATORS_MILLI = 2000 };

static const char *pointer_of(const struct deciding *self, const struct sized *item, enum sized_resource resource,
			      int f)
{
	const struct k8s_resources *resources = &item->container->resources;
	bool has_map = f == SIZE_LIMIT ? resources->has_limits : resources->has_requests;
	const char *base = arena_printf(self->arena, "/spec/%s/%zu%s%s", k8s_container_array(item->container),
					item->container->index, resources->is_present ? "/resources" : "",
					!resources->is_present || !has_map ? ""
					: f == SIZE_LIMIT		   ? "/limits"
									   : "/requests");

	if (!base || !item->fields[resource][f].has)
		return base;
	return arena_printf(self->arena, "%s/%s", base, k8s_resource_names[sized_resource_of(resource)]);
}

/* What a check may do here: `deny` is for objects that make pods; a pod being created is never refused. */
static enum check_action action_of(const struct deciding *self, enum check_id check, bool is_patched)
{
	enum check_action action = self->policy->actions[check];

	if (action == ACTION_DENY && self->input->subject == SUBJECT_TEMPLATE && self->ret->mode >= MODE_FILL)
		return ACTION_DENY;
	return is_patched && action >= ACTION_PATCH ? ACTION_PATCH : ACTION_WARN;
}

static int add(struct deciding *self, enum check_id check, bool is_patched, const struct k8s_container *container,
	       const char *pointer, const char *text)
{
	struct decision *ret = self->ret;

	if (!pointer || !text)
		return -ENOMEM;
	text = text_clean(self->arena, text, TEXT_MAX);
	if (!text)
		return -ENOMEM;
	if (ret->n_findings == self->findings_capacity) {
		size_t more = self->findings_capacity ? 2 * self->findings_capacity : 8;
		struct finding *grown = arena_array(self->arena, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (ret->n_findings)
			memcpy(grown, ret->findings, ret->n_findings * sizeof(*grown));
		ret->findings = grown;
		self->findings_capacity = more;
	}
	ret->findings[ret->n_findings++] = (struct finding){check, action_of(self, check, is_patched), container,
							    pointer, text};
	ret->is_denied |= ret->findings[ret->n_findings - 1].action == ACTION_DENY;
	return 0;
}

/* A finding about one field, with what comes of it. */
static int add_field(struct deciding *self, enum check_id check, const struct sized *item, enum sized_resource resource,
		     int f, const char *head, const char *why)
{
	const struct field *field = &item->fields[resource][f];
	const char *outcome = why ? text_outcome(self, item, field, why) : NULL;

	if (!head || !outcome)
		return -ENOMEM;
	return add(self, check, field->proposal.gate == GATE_OPEN, item->container, pointer_of(self, item, resource, f),
		   arena_printf(self->arena, "%s%s", head, outcome));
}

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
	const struct recommendation *rec = &item->rec;
	const char *runs = text_runs(self, MAX(rec->whole_runs, 1));

	if (!runs)
		return NULL;
	if (rec->proven_bytes > 0 && limit <= rec->proven_bytes && limit >= rec->peak_bytes)
		return arena_printf(self->arena, "not above %s, where a run was OOM-killed", EXACT(rec->proven_bytes));
	return arena_printf(self->arena, "below the peak %s of %s", HUMAN(rec->peak_bytes), runs);
}

/* The peak is in the sentence already: what is added says only by how much. */
static const char *why_raised(const struct deciding *self, const struct sized *item)
{
	const struct recommendation *rec = &item->rec;

	if (item->profile->spec.pin_limit_bytes > 0)
		return "pinned";
	if (item->fields[SIZED_MEMORY][SIZE_LIMIT].proposal.to_bytes < rec->limit_bytes)
		return "size of the node";
	if (rec->proven_bytes > 0 && rec->proven_bytes >= rec->peak_bytes)
		return "after an OOM kill";
	return arena_printf(self->arena, "+ %d%%", (rec->buffer_permille + 5) / 10);
}

static int check_limit_below_peak(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *limit = &item->fields[SIZED_MEMORY][SIZE_LIMIT];
		bool is_pod_level = !limit->has && item->is_main && pod_limit(self) > 0;
		int64_t bytes = is_pod_level ? pod_limit(self) : limit->now_bytes;
		const char *said;

		if ((!limit->has && !is_pod_level) || limit->is_invalid || !item->profile ||
		    !size_is_below_proof(item, bytes))
			continue;
		said = proof(self, item, bytes);
		if (!said)
			return -ENOMEM;
		r = add_field(self, CHECK_MEMORY_LIMIT_BELOW_PEAK, item, SIZED_MEMORY, SIZE_LIMIT,
			      arena_printf(self->arena, "memory limit %s%s is %s", is_pod_level ? "of the pod " : "",
					   EXACT(bytes), said),
			      why_raised(self, item));
	}
	return r;
}

static int check_besteffort(struct deciding *self)
{
	const struct sized *item = &self->items[0];
	const struct proposal *proposal = &item->fields[SIZED_MEMORY][SIZE_REQUEST].proposal;
	bool is_patched = self->qos == K8S_QOS_BEST_EFFORT && k8s_pod_qos(&self->after) != K8S_QOS_BEST_EFFORT;
	const char *why = proposal->rule && proposal->rule[0] == 'n' ? "no past runs" : text_why_request(self, item);
	const char *outcome = why ? text_outcome(self, item, &item->fields[SIZED_MEMORY][SIZE_REQUEST], why) : NULL;

	if (self->qos != K8S_QOS_BEST_EFFORT)
		return 0;
	if (!outcome)
		return -ENOMEM;
	return add(self, CHECK_BESTEFFORT_QOS, is_patched, item->container,
		   pointer_of(self, item, SIZED_MEMORY, SIZE_REQUEST),
		   arena_printf(self->arena, "no cpu or memory request: first to be evicted%s%s",
				outcome[0] ? "; memory request" : "", outcome[0] == ';' ? outcome + 1 : outcome));
}

static int check_limit_missing(struct deciding *self)
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
			r = add(self, CHECK_MEMORY_LIMIT_MISSING, false, item->container,
				pointer_of(self, item, SIZED_MEMORY, SIZE_LIMIT),
				arena_printf(self->arena, "no memory limit%s", figures(self, item)));
		else
			r = add_field(self, CHECK_MEMORY_LIMIT_MISSING, item, SIZED_MEMORY, SIZE_LIMIT,
				      "no memory limit", why);
	}
	return r;
}

static int check_request_missing(struct deciding *self)
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
		r = add_field(self, CHECK_MEMORY_REQUEST_MISSING, item, SIZED_MEMORY, SIZE_REQUEST, "no memory request",
			      why);
	}
	return r;
}

static int check_ephemeral_missing(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *request = &item->fields[SIZED_EPHEMERAL][SIZE_REQUEST];
		bool is_measured = item->is_usable && item->rec.ephemeral_request_bytes > 0;

		if (request->has || (!item->is_main && !is_measured))
			continue;
		r = add_field(self, CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING, item, SIZED_EPHEMERAL, SIZE_REQUEST,
			      "no ephemeral-storage request",
			      is_measured ? arena_printf(self->arena, "measured use, peak %s",
							 HUMAN(item->rec.ephemeral_peak_bytes))
					  : "disk use not measured");
	}
	return r;
}

/* The limit of the main container, else the pod's request, against the share that goes with its accelerators. */
static int over_share(struct deciding *self, enum check_id check, enum sized_resource resource, int64_t share,
		      const char *what)
{
	const struct sized *item = &self->items[0];
	const struct field *fields = item->fields[resource];
	int64_t bar = size_scale_permille(share, self->policy->sizing.over_share_permille);
	int f = fields[SIZE_LIMIT].now_bytes > bar ? SIZE_LIMIT : SIZE_REQUEST;
	int64_t now = fields[SIZE_LIMIT].now_bytes;
	const char *part = text_part(self);

	if (f == SIZE_REQUEST)
		now = k8s_pod_effective_request(&self->pod, sized_resource_of(resource));
	if (share <= 0 || now <= bar)
		return 0;
	if (!part)
		return -ENOMEM;
	return add_field(self, check, item, resource, f,
			 arena_printf(self->arena, "%s %s %s exceeds the %s share of %s", what,
				      f == SIZE_LIMIT ? "limit" : "request", EXACT(now), HUMAN(share), part),
			 "");
}

static int check_over_share(struct deciding *self)
{
	return over_share(self, CHECK_MEMORY_OVER_GPU_SHARE, SIZED_MEMORY, self->nodes.share_memory_bytes, "memory");
}

static int check_ephemeral_over_share(struct deciding *self)
{
	return over_share(self, CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE, SIZED_EPHEMERAL,
			  self->nodes.share_ephemeral_bytes, "ephemeral-storage");
}

static int check_usage_over_share(struct deciding *self)
{
	const struct sized *item = &self->items[0];
	int64_t share = self->nodes.share_memory_bytes;
	const char *runs = text_runs(self, MAX(item->rec.whole_runs, 1)), *part = text_part(self);

	if (share <= 0 || item->rec.peak_bytes <= size_scale_permille(share, self->policy->sizing.over_share_permille))
		return 0;
	if (!runs || !part)
		return -ENOMEM;
	return add(self, CHECK_USAGE_OVER_GPU_SHARE, false, item->container,
		   pointer_of(self, item, SIZED_MEMORY, SIZE_LIMIT),
		   arena_printf(self->arena, "%s peaked at %s, above the %s share of %s", runs,
				HUMAN(item->rec.peak_bytes), HUMAN(share), part));
}

static int check_request_below_median(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *request = &item->fields[SIZED_MEMORY][SIZE_REQUEST];
		const char *runs = text_runs(self, item->rec.whole_runs);

		if (!runs)
			return -ENOMEM;
		if (!item->is_usable || !item->rec.whole_runs || !size_is_below_median(self, item))
			continue;
		r = add_field(self, CHECK_MEMORY_REQUEST_BELOW_MEDIAN, item, SIZED_MEMORY, SIZE_REQUEST,
			      arena_printf(self->arena, "memory request %s is below the median use %s",
					   EXACT(request->now_bytes), HUMAN(item->rec.median_bytes)),
			      request->proposal.to_bytes < item->rec.request_bytes ? "its limit" : runs);
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

static int check_over_provisioned(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct field *fields = item->fields[SIZED_MEMORY];
		bool is_limit = size_is_over(self, fields[SIZE_LIMIT].now_bytes, item->rec.limit_bytes);
		bool is_request = size_is_over(self, fields[SIZE_REQUEST].now_bytes, item->rec.request_bytes);
		int f = is_limit ? SIZE_LIMIT : SIZE_REQUEST;
		const char *runs = text_runs(self, item->rec.whole_runs);

		if (!runs)
			return -ENOMEM;
		if (!item->is_usable || !item->rec.whole_runs || (!is_limit && !is_request))
			continue;
		r = add_field(self, CHECK_MEMORY_OVER_PROVISIONED, item, SIZED_MEMORY, f,
			      arena_printf(self->arena, "memory %s %s, but %s %s %s", is_limit ? "limit" : "request",
					   EXACT(fields[f].now_bytes), runs, is_limit ? "peaked at" : "had a median of",
					   HUMAN(is_limit ? item->rec.peak_bytes : item->rec.median_bytes)),
			      why_lowered(self, item, f));
	}
	return r;
}

static int check_oom_history(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_items && !r; i++) {
		const struct sized *item = &self->items[i];
		const struct recommendation *rec = &item->rec;
		const char *runs = text_runs(self, MAX(rec->runs, rec->oom_kills));

		if (rec->oom_kills <= 0)
			continue;
		if (!runs)
			return -ENOMEM;
		r = add(self, CHECK_OOM_HISTORY, false, item->container,
			pointer_of(self, item, SIZED_MEMORY, SIZE_LIMIT),
			arena_printf(self->arena, "%d of %s OOM-killed%s%s", rec->oom_kills, runs,
				     rec->proven_bytes > 0 ? ", at a limit of up to " : "",
				     rec->proven_bytes > 0 ? EXACT(rec->proven_bytes) : ""));
	}
	return r;
}

static int unschedulable(struct deciding *self, enum sized_resource resource, int64_t largest)
{
	enum k8s_resource r = sized_resource_of(resource);
	int64_t effective = k8s_pod_effective_request(&self->after, r);

	if (largest <= 0 || effective <= largest)
		return 0;
	return add(self, CHECK_UNSCHEDULABLE_SIZE, false, NULL,
		   pointer_of(self, &self->items[0], resource, SIZE_REQUEST),
		   arena_printf(self->arena, "%s request %s of the pod is above the largest node%s, %s",
				k8s_resource_names[r], EXACT(effective), self->nodes.is_complete ? "" : " seen so far",
				HUMAN(largest)));
}

static int check_unschedulable(struct deciding *self)
{
	int r = unschedulable(self, SIZED_MEMORY, self->nodes.largest_memory_bytes);

	return r ? r : unschedulable(self, SIZED_EPHEMERAL, self->nodes.largest_ephemeral_bytes);
}

static const char *unit_trouble(const struct deciding *self, const struct sized *item, int f)
{
	const struct k8s_resources *resources = &item->container->resources;
	const struct k8s_amount *amount = f == SIZE_LIMIT ? &resources->limits[K8S_MEMORY]
							  : &resources->requests[K8S_MEMORY];
	const struct field *fields = item->fields[SIZED_MEMORY];
	size_t n = amount->text ? strlen(amount->text) : 0;
	const char *said = text_clean(self->arena, amount->text ? amount->text : "", NAME_MAX_CHARS);

	if (!n || amount->is_invalid)
		return "";
	if (!said)
		return NULL;
	if (amount->text[n - 1] == 'm')
		return arena_printf(self->arena, "memory %s %s is in thousandths of a byte; is %.*sM meant?",
				    f == SIZE_LIMIT ? "limit" : "request", said, (int)MIN(n - 1, 20), said);
	if (amount->value > 0 && amount->value < (int64_t)MIB)
		return arena_printf(self->arena, "memory %s %s is less than 1Mi; is the unit missing?",
				    f == SIZE_LIMIT ? "limit" : "request", said);
	if (f == SIZE_REQUEST && fields[SIZE_LIMIT].has && !fields[SIZE_LIMIT].is_invalid && amount->value > 0 &&
	    amount->value < fields[SIZE_LIMIT].now_bytes / UNIT_RATIO)
		return arena_printf(self->arena, "memory request %s next to a limit of %s; is the unit right?", said,
				    text_clean(self->arena, resources->limits[K8S_MEMORY].text, NAME_MAX_CHARS));
	return "";
}

static int check_unit(struct deciding *self)
{
	for (size_t i = 0; i < self->n_items; i++) {
		for (int f = 0; f < 2; f++) {
			const char *text = unit_trouble(self, &self->items[i], f);
			int r = 0;

			if (!text || text[0])
				r = add(self, CHECK_MEMORY_UNIT_SUSPICIOUS, false, self->items[i].container,
					pointer_of(self, &self->items[i], SIZED_MEMORY, f), text);
			if (r)
				return r;
		}
	}
	return 0;
}

static bool has_shm_mount(const struct k8s_container *container)
{
	for (size_t i = 0; i < container->n_mounts; i++)
		if (streq(container->mounts[i].path, "/dev/shm") || streq(container->mounts[i].path, "/dev/shm/"))
			return true;
	return false;
}

static int check_shm_small(struct deciding *self)
{
	const struct sized *item = &self->items[0];

	if (self->ret->ask.milli < SHM_ACCELERATORS_MILLI || has_shm_mount(item->container))
		return 0;
	return add(
		self, CHECK_SHM_SMALL, false, item->container,
		arena_printf(self->arena, "/spec/%s/%zu", k8s_container_array(item->container), item->container->index),
		arena_printf(self->arena, "%lld accelerators share 64Mi of /dev/shm; mount a memory emptyDir there",
			     (long long)(self->ret->ask.milli / 1000)));
}

static int add_volume(struct deciding *self, enum check_id check, size_t index, const char *what)
{
	const char *name = text_clean(self->arena, self->pod.volumes[index].name, NAME_MAX_CHARS);

	return add(self, check, false, NULL, arena_printf(self->arena, "/spec/volumes/%zu/emptyDir", index),
		   name ? arena_printf(self->arena, "volume \"%s\": %s", name, what) : NULL);
}

static int check_shm_unbounded(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < self->pod.n_volumes && !r; i++) {
		const struct k8s_volume *volume = &self->pod.volumes[i];

		if (volume->is_emptydir && volume->is_memory && !volume->size_limit.text)
			r = add_volume(self, CHECK_SHM_UNBOUNDED, i,
				       "memory emptyDir without sizeLimit may fill the memory limit");
	}
	return r;
}

/* Limits of ephemeral storage on all containers bound what volumes may take. */
static int check_emptydir_unbounded(struct deciding *self)
{
	bool is_bounded = true;
	int r = 0;

	for (size_t i = 0; i < self->n_items; i++)
		is_bounded &= self->items[i].container->type == K8S_CONTAINER_INIT ||
			      self->items[i].fields[SIZED_EPHEMERAL][SIZE_LIMIT].has;
	for (size_t i = 0; i < self->pod.n_volumes && !r && !is_bounded; i++) {
		const struct k8s_volume *volume = &self->pod.volumes[i];

		if (volume->is_emptydir && !volume->is_memory && !volume->size_limit.text)
			r = add_volume(self, CHECK_EMPTYDIR_UNBOUNDED, i,
				       "emptyDir without sizeLimit may fill the node's disk");
	}
	return r;
}

static int check_critical(struct deciding *self)
{
	const char *why;
	bool is_patched = k8s_pod_qos(&self->after) == K8S_QOS_GUARANTEED;

	if (!decide_is_critical(self, &why) || self->qos == K8S_QOS_GUARANTEED)
		return 0;
	return add(self, CHECK_CRITICAL_NOT_GUARANTEED, is_patched, NULL, "/spec",
		   arena_printf(self->arena, "critical pod (%s) is %s, not Guaranteed%s", why, k8s_qos_names[self->qos],
				!is_patched				   ? ""
				: self->input->subject == SUBJECT_TEMPLATE ? "; memory request will be set to the limit"
									   : "; memory request set to the limit"));
}

/* `is_size`: about values that an earlier round has settled. */
static const struct {
	int (*find)(struct deciding *self);
	bool is_size;
} table[CHECK_COUNT_] = {
	[CHECK_MEMORY_LIMIT_BELOW_PEAK] = {check_limit_below_peak, true},
	[CHECK_BESTEFFORT_QOS] = {check_besteffort, true},
	[CHECK_MEMORY_LIMIT_MISSING] = {check_limit_missing, true},
	[CHECK_MEMORY_REQUEST_MISSING] = {check_request_missing, true},
	[CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING] = {check_ephemeral_missing, true},
	[CHECK_MEMORY_OVER_GPU_SHARE] = {check_over_share, true},
	[CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE] = {check_ephemeral_over_share, true},
	[CHECK_USAGE_OVER_GPU_SHARE] = {check_usage_over_share, false},
	[CHECK_MEMORY_REQUEST_BELOW_MEDIAN] = {check_request_below_median, true},
	[CHECK_MEMORY_OVER_PROVISIONED] = {check_over_provisioned, true},
	[CHECK_OOM_HISTORY] = {check_oom_history, false},
	[CHECK_UNSCHEDULABLE_SIZE] = {check_unschedulable, false},
	[CHECK_MEMORY_UNIT_SUSPICIOUS] = {check_unit, false},
	[CHECK_SHM_SMALL] = {check_shm_small, false},
	[CHECK_SHM_UNBOUNDED] = {check_shm_unbounded, false},
	[CHECK_EMPTYDIR_UNBOUNDED] = {check_emptydir_unbounded, false},
	[CHECK_CRITICAL_NOT_GUARANTEED] = {check_critical, true},
};

int decide_checks(struct deciding *self)
{
	int r = 0;

	for (size_t i = 0; i < CHECK_COUNT_ && !r; i++)
		if (self->policy->actions[i] != ACTION_OFF && !(self->is_settled && table[i].is_size))
			r = table[i].find(self);
	return r;
}
