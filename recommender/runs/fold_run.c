/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/fold_internal.h"

#include "base/hash.h"
#include "base/timefmt.h"
#include "policy/annotation.h"
#include "policy/decide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SUSPECT_PERMILLE = 950,	    /* an error so close to the limit may have been an OOM */
	NEAR_LIMIT_PERMILLE = 900,  /* the working set is at the limit */
	CACHE_NEED_PERMILLE = 750,  /* ... and no more than this of it is need */
	CACHE_SHARE_PERMILLE = 500, /* or page cache is half of it, wherever the limit is */
	RSS_ONLY_PERMILLE = 500,    /* without a figure for page cache: rss is at most half */
	EPHEMERAL_NEAR_PERMILLE = 800,
	WHOLE_SAMPLES = 3,
};

static bool is_share(int64_t part, int64_t whole, int permille)
{
	return whole > 0 && (__int128)part * 1000 >= (__int128)whole * permille;
}

/* Is the container's working set mostly page cache that the kernel could drop? */
static bool container_is_cache_bound(const struct pod_container *container)
{
	int64_t peak = container->peak_bytes, active = container->peak_active_file_bytes;
	int64_t need = MAX(container->peak_rss_bytes, peak - active);
	bool is_near = is_share(peak, container->limit_bytes, NEAR_LIMIT_PERMILLE);

	if (peak <= 0)
		return false;
	if (active > 0)
		return (is_near && !is_share(need, peak, CACHE_NEED_PERMILLE)) ||
		       is_share(active, peak, CACHE_SHARE_PERMILLE);
	return is_near && container->peak_rss_bytes > 0 &&
	       !is_share(container->peak_rss_bytes, peak, RSS_ONLY_PERMILLE);
}

/* The message says which resource, and no metric has it: what was near its end is the likelier cause. */
static enum outcome eviction(const struct pod *pod, const struct pod_container *container)
{
	int64_t bound = container->ephemeral_limit_bytes ? container->ephemeral_limit_bytes
							 : container->ephemeral_request_bytes;

	if (pod->ends & (END_EVICTED_MEMORY | END_EVICTED_EPHEMERAL))
		return pod->ends & END_EVICTED_MEMORY ? OUTCOME_EVICTED_MEMORY : OUTCOME_EVICTED_EPHEMERAL;
	if (is_share(pod->peak_ephemeral_bytes, container->ephemeral_limit_bytes, EPHEMERAL_NEAR_PERMILLE))
		return OUTCOME_EVICTED_EPHEMERAL;
	if (pod->peak_ephemeral_bytes > bound && container->peak_bytes <= container->request_bytes)
		return OUTCOME_EVICTED_EPHEMERAL;
	return OUTCOME_EVICTED_MEMORY;
}

static enum outcome failure(const struct pod_container *container)
{
	if (is_share(container->peak_bytes, container->limit_bytes, SUSPECT_PERMILLE) &&
	    !container_is_cache_bound(container))
		return OUTCOME_SUSPECTED_OOM;
	return OUTCOME_FAILED;
}

enum outcome member_outcome(const struct pod *pod, const struct pod_container *container, bool is_running)
{
	unsigned int ends = container->ends;

	if (pod->ends & END_EVICTED)
		return eviction(pod, container);
	if (pod->ends & END_PREEMPTED)
		return OUTCOME_PREEMPTED;
	if (pod->ends & END_SUCCEEDED)
		return OUTCOME_COMPLETED;
	if (is_running)
		return OUTCOME_RUNNING;
	if (ends & END_OOM_KILLED)
		return OUTCOME_OOM_KILLED;
	if (pod->ends & END_DELETED)
		return OUTCOME_DELETED;
	if (ends & END_ERROR)
		return failure(container);
	if (ends & END_COMPLETED)
		return OUTCOME_COMPLETED;
	if (ends & END_OOM_RESTARTED)
		return OUTCOME_OOM_KILLED;
	if (pod->ends & END_FAILED || ends & END_ERROR_RESTARTED)
		return failure(container);
	return pod->completion_ms ? OUTCOME_UNKNOWN : OUTCOME_DELETED;
}

/* May `next` be the next try of the rank that `member` was? */
static bool follows(const struct member *member, const struct member *next)
{
	if (!streq(member->identity.role, next->identity.role))
		return false;
	if (member->identity.rank >= 0 && next->identity.rank >= 0)
		return member->identity.rank == next->identity.rank;
	if (streq(member->pod->name, next->pod->name))
		return true;
	return member->end_ms <= next->begin_ms && member->outcome != OUTCOME_COMPLETED;
}

/* Fill in slot, try_number and is_last. */
static void group_assign_slots(struct group *group)
{
	int n_slots = 0;

	for (size_t i = 0; i < group->n; i++) {
		struct member *member = &group->members[i];

		member->slot = -1;
		member->try_number = 1;
		member->is_last = true;
		for (size_t k = 0; k < i && member->slot < 0; k++)
			if (group->members[k].is_last && follows(&group->members[k], member)) {
				member->slot = group->members[k].slot;
				member->try_number = group->members[k].try_number + 1;
				group->members[k].is_last = false;
			}
		if (member->slot < 0)
			member->slot = n_slots++;
	}
}

/* A summary under construction. */
struct summing {
	const struct group *group;
	const struct pod_table *table;
	const struct fold_options *options;
	struct run_summary *summary;
	int64_t begin_ms, end_ms;
	int restarts;
	bool is_whole, is_seen, is_watched;
	int n_exact; /* last-attempt containers with usage; exact figures only if one */
};

/* A limit may have been raised since the container was killed: who saw the kill knows better. */
static void add_killed_limits(struct run *run, const struct pod_container *container)
{
	int64_t limit = container->limit_bytes ? container->limit_bytes : -1;

	for (int i = 0; i < container->n_killed_limits; i++)
		run_add_killed_limit(run->killed_limits, &run->n_killed_limits, container->killed_limits[i]);
	if (!container->n_killed_limits && container->ends & (END_OOM_KILLED | END_OOM_RESTARTED))
		run_add_killed_limit(run->killed_limits, &run->n_killed_limits, limit);
}

/* Was its use seen from start to end? Pulling an image and waiting take time without samples, so a gap at the start is
 * allowed; short runs need most of their time covered. */
static bool is_seen(const struct summing *self, const struct member *member, const struct pod_container *container)
{
	int64_t duration_ms = member->end_ms - member->begin_ms, missing_ms = duration_ms - container->covered_ms;
	int64_t step_ms = container->step_ms ? container->step_ms : self->table->step_ms;
	int64_t allowed_ms = MAX(duration_ms / 5, MIN(5 * TIME_MINUTE_MS, duration_ms / 2));

	if (member->pod->is_partial || container->is_doubtful || container->samples < WHOLE_SAMPLES)
		return false;
	if (member->begin_ms < self->options->history_from_ms)
		return false;
	if (!container->is_last_coarse && container->last_ms < member->end_ms - 2 * step_ms - TIME_MINUTE_MS)
		return false;
	return missing_ms <= MAX(allowed_ms, 2 * step_ms);
}

static int outcome_rank(enum outcome outcome)
{
	static const enum outcome worst_first[] = {
		OUTCOME_RUNNING,	   OUTCOME_OOM_KILLED, OUTCOME_SUSPECTED_OOM, OUTCOME_EVICTED_MEMORY,
		OUTCOME_EVICTED_EPHEMERAL, OUTCOME_PREEMPTED,  OUTCOME_FAILED,	      OUTCOME_DELETED,
		OUTCOME_UNKNOWN,	   OUTCOME_COMPLETED};

	for (int i = 0; i < (int)ARRAY_LEN(worst_first); i++)
		if (worst_first[i] == outcome)
			return i;
	return ARRAY_LEN(worst_first);
}

/* A value that the annotation says was set, and that the container carries. */
static bool is_ours(const struct annotation_value *value, int64_t now_bytes)
{
	return value->is_set && value->to_bytes == now_bytes;
}

static int64_t own_bytes(const struct annotation_value *value, int64_t now_bytes)
{
	if (!is_ours(value, now_bytes))
		return now_bytes;
	return value->has_from ? value->from_bytes : 0;
}

/* Who chose the sizes, and what they were before. Only who has seen the pod itself can tell: an annotation that is not
 * there means that nobody changed anything. What the container does not carry was changed since, or the annotation was
 * copied with a manifest; then it is the user's. One rank that we changed makes the run ours. */
static void read_choice(struct run *run, const struct pod *pod, const struct pod_container *container)
{
	struct annotation annotation = {.revision = 0};
	struct annotation_container set = {0};
	const struct annotation_value *request = &set.values[SIZE_REQUEST][ANNOTATION_MEMORY];
	const struct annotation_value *limit = &set.values[SIZE_LIMIT][ANNOTATION_MEMORY];

	if (!pod->is_watched || run->chosen_by == CHOSEN_BY_MEMTAMER)
		return;
	run->chosen_by = CHOSEN_BY_USER;
	if (annotation_read(pod->decision, container->name, &annotation, &set) &&
	    (is_ours(request, container->request_bytes) || is_ours(limit, container->limit_bytes))) {
		run->chosen_by = CHOSEN_BY_MEMTAMER;
		run->mode = (int)annotation.mode;
		run->revision = annotation.revision;
	}
	run->own_request_bytes = own_bytes(request, container->request_bytes);
	run->own_limit_bytes = own_bytes(limit, container->limit_bytes);
}

static int add_last_attempt(struct summing *self, const struct member *member, const struct pod_container *container,
			    enum outcome outcome)
{
	struct run *run = &self->summary->run;

	run->ranks++;
	if (run->ranks == 1 || outcome_rank(outcome) < outcome_rank(run->outcome))
		run->outcome = outcome;
	run->limit_bytes = container->limit_bytes;
	run->request_bytes = container->request_bytes;
	run->accelerators_milli = container->accelerators_milli;
	if (run->ranks == 1 || container->peak_bytes < run->min_rank_peak_bytes)
		run->min_rank_peak_bytes = container->peak_bytes;
	self->is_seen &= is_seen(self, member, container);
	self->is_whole &= outcome == OUTCOME_COMPLETED;
	read_choice(run, member->pod, container);
	run->is_cache_bound |= container_is_cache_bound(container);
	fold_note_widest(self->summary, self->table, member, container);
	if (!container->n_parts)
		return 0;
	self->n_exact += container->n_parts;
	run->median_bytes = container->median_bytes;
	run->p95_bytes = container->p95_bytes;
	return sketch_merge(&self->summary->usage, &container->usage);
}

static int add_container(struct summing *self, const struct member *member, const struct pod_container *container)
{
	struct run *run = &self->summary->run;
	bool runs = member->end_ms == INT64_MAX;

	run->peak_bytes = MAX(run->peak_bytes, container->peak_bytes);
	run->peak_rss_bytes = MAX(run->peak_rss_bytes, container->peak_rss_bytes);
	run->peak_active_file_bytes = MAX(run->peak_active_file_bytes, container->peak_active_file_bytes);
	run->peak_ephemeral_bytes = MAX(run->peak_ephemeral_bytes, member->pod->peak_ephemeral_bytes);
	run->samples += container->samples;
	run->pending_ms = MAX(run->pending_ms, member->pod->pending_ms);
	self->is_watched |= member->pod->is_watched;
	self->restarts = MAX(self->restarts, container->restarts);
	add_killed_limits(run, container);
	fold_add_harm(self->summary, member, container);
	fold_add_activity(self->summary, member->pod);
	if (fold_add_decision(self->summary, member, container))
		return -ENOMEM;
	if (!member->is_last)
		return 0;
	return add_last_attempt(self, member, container, member_outcome(member->pod, container, runs));
}

/* By run key and start. A start known to the hour only is cut to it, so that later windows come to the same one. */
static void stamp(struct summing *self, bool is_exact)
{
	const struct member *first = &self->group->members[0];
	struct run *run = &self->summary->run;
	int64_t start_ms = is_exact ? self->begin_ms : self->begin_ms - self->begin_ms % TIME_HOUR_MS;
	uint64_t hash = HASH_STABLE_INIT;
	const char *name = strchr(first->identity.run_key, '/');

	hash = hash_stable_text(hash, first->pod->namespace_name);
	hash = hash_stable_text(hash, first->identity.run_key);
	hash = hash_stable(hash, &start_ms, sizeof(start_ms));
	snprintf(run->uid, sizeof(run->uid), "%016llx", (unsigned long long)hash);
	snprintf(run->name, sizeof(run->name), "%s", name ? name + 1 : first->identity.run_key);
}

static const char *source_of(const char *usage, bool has_usage, bool is_watched)
{
	if (!is_watched)
		return usage;
	if (!has_usage)
		return "pods";
	return streq(usage, "remote-read") ? "remote-read+pods" : "query+pods";
}

static void finish(struct summing *self, int attempts, int world_size, const char *image)
{
	struct run_summary *summary = self->summary;
	struct run *run = &summary->run;
	int64_t end_ms = self->end_ms == INT64_MAX ? self->options->now_ms : self->end_ms;

	run->start_ms = self->begin_ms;
	run->duration_ms = MAX(end_ms - self->begin_ms, 0);
	run->attempts = attempts + self->restarts;
	run->world_size = world_size;
	run->source = source_of(self->options->source, run->samples > 0, self->is_watched);
	summary->is_seen = self->is_seen && run->peak_bytes > 0;
	summary->is_watched = self->is_watched;
	run->is_whole = self->is_whole && summary->is_seen;
	run->is_quantile_exact = self->n_exact == 1;
	if (self->n_exact > 1) {
		run->median_bytes = sketch_quantile(&summary->usage, 0.5);
		run->p95_bytes = sketch_quantile(&summary->usage, 0.95);
	}
	identity_variant(image, NULL, 0, NULL, 0, world_size, run->variant);
	stamp(self, self->group->members[0].pod->start_ms > 0);
	summary->is_final = end_ms <= self->options->now_ms - FOLD_RETRY_MS;
}

/* Another role of the run was killed: what this one used is a lower bound. */
static bool has_other_failure(const struct group *group, const char *role)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct member *member = &group->members[i];

		if (member->is_last && !streq(member->identity.role, role) &&
		    (member->outcome == OUTCOME_OOM_KILLED || member->outcome == OUTCOME_FAILED ||
		     member->outcome == OUTCOME_SUSPECTED_OOM))
			return true;
	}
	return false;
}

/* It has not begun yet: no try so far. */
static bool is_waiting(const struct pod *pod)
{
	return pod->is_watched && !pod->start_ms;
}

static int summarise(const struct group *group, const struct member *first, const struct pod_container *model,
		     struct summing *self)
{
	struct run_summary *summary = self->summary;
	const char *role = first->identity.role;
	int world_size = 0, attempts = 0, r = 0;

	self->begin_ms = group->members[0].begin_ms;
	self->end_ms = self->begin_ms;
	self->is_whole = !has_other_failure(group, role);
	self->is_seen = true;
	*summary = (struct run_summary){.namespace_name = first->pod->namespace_name,
					.container = model->name,
					.identity = first->identity,
					.run = {.chosen_by = CHOSEN_BY_UNKNOWN, .mode = -1, .activity_permille = -1}};
	for (size_t i = 0; i < group->n && !r; i++) {
		const struct member *member = &group->members[i];

		world_size += member->is_last;
		self->end_ms = MAX(self->end_ms, member->end_ms);
		if (!streq(member->identity.role, role))
			continue;
		attempts = MAX(attempts, member->try_number - is_waiting(member->pod));
		for (size_t k = 0; k < member->pod->containers.n && !r; k++)
			if (streq(member->pod->containers.items[k].name, model->name))
				r = add_container(self, member, &member->pod->containers.items[k]);
	}
	finish(self, attempts, world_size, model->image);
	return r;
}

static bool is_known(const struct fold *fold, size_t from, const char *role, const char *container)
{
	for (size_t i = from; i < fold->summaries.n; i++)
		if (streq(fold->summaries.items[i].identity.role, role) &&
		    streq(fold->summaries.items[i].container, container))
			return true;
	return false;
}

int group_summarise(const struct group *group, const struct pod_table *table, const struct fold_options *options,
		    struct fold *ret)
{
	size_t from = ret->summaries.n;
	struct group slots = *group;
	int r = 0;

	group_assign_slots(&slots);
	for (size_t i = 0; i < group->n && !r; i++) {
		const struct member *member = &group->members[i];

		for (size_t k = 0; k < member->pod->containers.n && !r; k++) {
			const struct pod_container *container = &member->pod->containers.items[k];
			struct run_summary summary;
			struct summing self = {.group = group, .table = table, .options = options, .summary = &summary};

			if (is_known(ret, from, member->identity.role, container->name))
				continue;
			r = summarise(group, member, container, &self);
			r = r ? r : vec_push(&ret->summaries, summary);
			if (r)
				run_summary_release(&summary);
		}
	}
	return r;
}
