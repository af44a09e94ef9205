/* SPDX-License-Identifier: Apache-2.0 */
/* resize_scan_ramps: finds containers whose use approaches their limit. All running containers are copied out of the
 * table of pods and joined with their use. Only for the few that are close to their limit more is read: the figures of
 * earlier runs and, if a step is due, the use of all pods, beside which it must fit. */
#include "base/timefmt.h"
#include "model/identity.h"
#include "resize/resize_forecast.h"
#include "resize/resize_scan_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A step without effect is requested again after this time. */
#define AGAIN_MS (2 * TIME_MINUTE_MS)
/* For this time Prometheus returns the last sample of a series that has ended (look-back). */
#define STALE_MS (5 * TIME_MINUTE_MS)
/* Length of the ids of containerd, CRI-O and Docker. */
#define ID_CHARS 64

/* A running container that may be resized before a kill, copied from the table of pods. */
struct candidate {
	struct entry *entry;
	int64_t limit_bytes, start_ms;
	int64_t restarted_ms; /* 0: never restarted */
	char namespace_name[64], pod[256], uid[64], container[64], id[SIGHTING_ID_BYTES];
};

/* A step that is due. */
struct step {
	const struct candidate *candidate;
	struct resize_ask ask;
	int64_t used_bytes;
};

struct visiting {
	struct resize_scan *self;
	VEC(struct candidate) candidates;
	VEC(struct step) steps;
	int status;
};

/* ---- running containers ---- */

static bool visit_running(void *context, const struct sighting *pod)
{
	struct visiting *visiting = context;

	if (resize_scan_is_over(pod) || !*pod->node)
		return true;
	for (size_t i = 0; i < pod->containers.n && !visiting->status; i++) {
		const struct sighting_container *container = &pod->containers.items[i];
		struct entry *entry = resize_scan_entry(visiting->self, pod->uid, container->name);
		struct candidate candidate = {.entry = entry,
					      .limit_bytes = container->limit_bytes,
					      .start_ms = pod->start_ms ? pod->start_ms : pod->created_ms,
					      .restarted_ms = container->restarts ? container->started_ms : 0};

		if (!entry)
			visiting->status = -ENOMEM;
		/* While a resize is in progress, the next one cannot be judged. */
		if (!entry || !container->is_running || !container->limit_bytes ||
		    (container->live_limit_bytes && container->live_limit_bytes != container->limit_bytes))
			continue;
		snprintf(candidate.namespace_name, sizeof(candidate.namespace_name), "%s", pod->namespace_name);
		snprintf(candidate.pod, sizeof(candidate.pod), "%s", pod->name);
		snprintf(candidate.uid, sizeof(candidate.uid), "%s", pod->uid);
		snprintf(candidate.container, sizeof(candidate.container), "%s", container->name);
		snprintf(candidate.id, sizeof(candidate.id), "%s", container->id);
		visiting->status = vec_push(&visiting->candidates, candidate);
	}
	return !visiting->status;
}

/* ---- use ---- */

static int list_namespaces(const struct visiting *visiting, struct strmap *ret)
{
	int r = 0;

	for (size_t i = 0; i < visiting->candidates.n && !r; i++)
		r = strmap_put(ret, visiting->candidates.items[i].namespace_name, NULL);
	return r;
}

/* Above this number all namespaces are queried, as a long list of names makes a long query. */
#define NAMESPACES_MAX 64

static int ask_usage(const struct resize_scan *self, const struct visiting *visiting, int64_t now_ms, struct usage *ret,
		     struct err *err)
{
	struct strmap names = STRMAP_INIT;
	const char *list[NAMESPACES_MAX];
	size_t n = 0;
	int r = list_namespaces(visiting, &names);

	for (size_t i = 0; i < names.capacity && names.n <= NAMESPACES_MAX; i++)
		if (names.slots[i].key)
			list[n++] = names.slots[i].key;
	r = r ? err_set(err, r, "out of memory")
	      : self->config.usage(self->config.context, now_ms, self->config.window_ms, list, n, ret, err);
	strmap_release(&names);
	return r;
}

/* ---- approaching the limit ---- */

static bool is_of(const struct usage_row *row, const struct candidate *candidate)
{
	char uid[40];

	return row->working_set_bytes > 0 && streq(row->namespace_name, candidate->namespace_name) &&
	       streq(row->pod, candidate->pod) && streq(row->container, candidate->container) &&
	       (!evidence_cgroup_uid(row->cgroup, uid) || streq(uid, candidate->uid));
}

static bool names_container(const char *cgroup)
{
	for (size_t n; *cgroup; cgroup += n + (cgroup[n] != '\0')) {
		n = strspn(cgroup, "0123456789abcdef");
		if (n >= ID_CHARS)
			return true;
	}
	return false;
}

/* Whether a row belongs to the current start of the container: after a restart the series of the earlier one is
 * returned too. If the cgroup does not distinguish them, the first minutes are not judged. */
static bool is_of_life(const struct usage_row *row, const struct candidate *candidate, int64_t now_ms)
{
	if (*candidate->id && strstr(row->cgroup, candidate->id))
		return true;
	if (*candidate->id && names_container(row->cgroup))
		return false;
	return !candidate->restarted_ms || now_ms - candidate->restarted_ms >= STALE_MS;
}

/* Whether another step may be requested. */
static bool is_open(const struct entry *entry, const struct candidate *candidate, int64_t used, int64_t monotonic_ms)
{
	if (!entry->asked_from_bytes)
		return true;
	if (candidate->limit_bytes > entry->asked_from_bytes)
		return used > entry->asked_from_bytes;
	return monotonic_ms - entry->asked_ms >= AGAIN_MS;
}

static void identify(const struct sighting *pod, const char *container, struct identity *ret)
{
	const struct k8s_labels labels = {.items = pod->labels.items, .n = pod->labels.n, .is_present = true};
	const struct sighting_owner *const owners[] = {&pod->owner, &pod->root};
	struct identity_facts facts = {.namespace_name = pod->namespace_name,
				       .pod_name = pod->name,
				       .generate_name = "",
				       .labels = &labels,
				       .container = container};

	for (size_t i = 0; i < ARRAY_LEN(owners); i++)
		if (*owners[i]->kind && !(i && streq(owners[i]->uid, owners[0]->uid)))
			facts.owners[facts.n_owners++] = (struct identity_owner){NULL, owners[i]->kind,
										 owners[i]->name};
	workload_identify(&facts, ret);
}

/* Visits the table again, for the few containers close to their limit. */
struct finding {
	const struct candidate *candidate;
	struct resize_ask ask;
	struct identity identity;
	bool is_there;
};

static bool find_pod(void *context, const struct sighting *pod)
{
	struct finding *finding = context;

	if (!streq(pod->uid, finding->candidate->uid))
		return true;
	finding->ask = resize_scan_ask(RESIZE_KIND_BEFORE, pod, finding->candidate->container);
	identify(pod, finding->candidate->container, &finding->identity);
	finding->is_there = true;
	return false;
}

static void know_usual(const struct resize_scan *self, const struct finding *finding)
{
	const struct resize_workload workload = {.namespace_name = finding->ask.namespace_name,
						 .container = finding->ask.container,
						 .identity = &finding->identity};
	struct entry *entry = finding->candidate->entry;

	if (!entry->has_usual)
		self->config.usual(self->config.context, &workload, &entry->usual);
	entry->has_usual = true;
}

static bool is_near(const struct resize_trend *trend)
{
	return trend->slope_bytes_per_s > 0 &&
	       (__int128)trend->used_bytes * 1000 >= (__int128)trend->limit_bytes * RESIZE_NEAR_PERMILLE;
}

static void judge(const struct resize_scan *self, const struct candidate *candidate, const struct usage_row *row,
		  int64_t monotonic_ms, int64_t now_ms, struct visiting *visiting)
{
	struct resize_trend trend = {.limit_bytes = candidate->limit_bytes,
				     .used_bytes = usage_need_bytes(row),
				     .slope_bytes_per_s = usage_need_slope(row),
				     .ran_ms = MAX(now_ms - candidate->start_ms, 0)};
	struct finding finding = {.candidate = candidate};
	struct resize_forecast forecast;

	if (!row->has_slope || !is_near(&trend) ||
	    !is_open(candidate->entry, candidate, trend.used_bytes, monotonic_ms))
		return;
	self->config.visit(self->config.context, find_pod, &finding);
	if (!finding.is_there)
		return;
	know_usual(self, &finding);
	trend.usual_ms = candidate->entry->usual.duration_ms;
	trend.peak_bytes = candidate->entry->usual.peak_bytes;
	resize_forecast(&trend, &forecast);
	if (!forecast.is_due)
		return;
	finding.ask.want_bytes = forecast.want_bytes;
	visiting->status = vec_push(&visiting->steps, ((struct step){candidate, finding.ask, trend.used_bytes}));
}

static int order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int by_namespace = strcmp(x->namespace_name, y->namespace_name);

	return by_namespace ? by_namespace : strcmp(x->pod, y->pod);
}

/* Rows have no order; each looks up its pod in the sorted candidates. */
static void judge_all(const struct resize_scan *self, struct visiting *visiting, const struct usage *usage,
		      int64_t monotonic_ms, int64_t now_ms)
{
	struct candidate *items = visiting->candidates.items;
	size_t n = visiting->candidates.n;

	qsort(items, n, sizeof(*items), order);
	for (size_t i = 0; i < usage->rows.n && !visiting->status; i++) {
		const struct usage_row *row = usage->rows.items[i];
		size_t from = 0, to = n;

		while (from < to) {
			size_t middle = from + (to - from) / 2;
			int by_namespace = strcmp(items[middle].namespace_name, row->namespace_name);
			int by_pod = by_namespace ? by_namespace : strcmp(items[middle].pod, row->pod);

			if (by_pod < 0)
				from = middle + 1;
			else
				to = middle;
		}
		for (; from < n && streq(items[from].pod, row->pod) && !visiting->status; from++)
			if (is_of(row, &items[from]) && is_of_life(row, &items[from], now_ms))
				judge(self, &items[from], row, monotonic_ms, now_ms, visiting);
	}
}

/* ---- use of a node's pods ---- */

struct used_table {
	struct resize_used public;
	struct usage usage;
};

static void used_free(struct resize_used *used)
{
	struct used_table *self = (struct used_table *)used;

	strmap_release(&self->public.pods);
	usage_release(&self->usage);
	free(self);
}

/* If this fails, limits count as the use of other pods, which only leaves less room. */
static void publish_use(const struct resize_scan *self, int64_t now_ms)
{
	struct used_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return;
	table->public.free = used_free;
	usage_init(&table->usage);
	r = self->config.pod_usage(self->config.context, now_ms, &table->usage, NULL);
	for (size_t i = 0; i < table->usage.rows.n && !r; i++) {
		struct usage_row *row = table->usage.rows.items[i];
		const char *key = arena_printf(&table->usage.arena, "%s/%s", row->namespace_name, row->pod);

		r = key ? strmap_put(&table->public.pods, key, &row->working_set_bytes) : -ENOMEM;
	}
	if (r)
		used_free(&table->public);
	else
		self->config.set_used(self->config.context, &table->public);
}

/* ---- the scan ---- */

/* Requests that are not accepted (the queue is full, or we do not lead) are repeated by the next scan. Of two rows of
 * one container the second one finds its step closed by the first. @return 0; the first failure. */
static int post_steps(const struct visiting *visiting, int64_t monotonic_ms)
{
	const struct resize_scan_config *config = &visiting->self->config;
	int status = 0;

	for (size_t i = 0; i < visiting->steps.n; i++) {
		const struct step *step = &visiting->steps.items[i];
		struct entry *entry = step->candidate->entry;
		int r;

		if (!is_open(entry, step->candidate, step->used_bytes, monotonic_ms))
			continue;
		r = config->post(config->context, &step->ask);
		if (!r) {
			entry->asked_ms = monotonic_ms;
			entry->asked_from_bytes = step->candidate->limit_bytes;
		}
		if (!status)
			status = MIN(r, 0);
	}
	return status;
}

static int scan(struct resize_scan *self, struct visiting *visiting, int64_t monotonic_ms, int64_t now_ms,
		struct err *err)
{
	struct usage usage;
	int r;

	self->config.visit(self->config.context, visit_running, visiting);
	if (visiting->status)
		return err_set(err, visiting->status, "out of memory");
	resize_scan_sweep(self);
	if (!visiting->candidates.n)
		return 0;
	usage_init(&usage);
	r = ask_usage(self, visiting, now_ms, &usage, err);
	if (!r) {
		judge_all(self, visiting, &usage, monotonic_ms, now_ms);
		r = visiting->status ? err_set(err, visiting->status, "out of memory") : 0;
	}
	usage_release(&usage);
	if (r || !visiting->steps.n)
		return r;
	publish_use(self, now_ms);
	r = post_steps(visiting, monotonic_ms);
	return r ? err_set(err, r, "%s", r == -EAGAIN ? "too many resizes wait" : "out of memory") : 0;
}

int resize_scan_ramps(struct resize_scan *self, int64_t monotonic_ms, int64_t now_ms, struct err *err)
{
	struct visiting visiting = {.self = self};
	int r;

	if (monotonic_ms < resize_scan_next_ms(self))
		return 0;
	self->next_ms = monotonic_ms + self->config.look_ms;
	r = scan(self, &visiting, monotonic_ms, now_ms, err);
	vec_release(&visiting.candidates);
	vec_release(&visiting.steps);
	return r;
}

int64_t resize_scan_next_ms(const struct resize_scan *self)
{
	return self->config.mode < RESIZE_BEFORE_OOM ? INT64_MAX : self->next_ms;
}
