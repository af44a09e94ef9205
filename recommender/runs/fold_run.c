/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/fold_internal.h"

#include "base/hash.h"
#include "base/timefmt.h"
#include "policy/annotation.h"
#include "policy/decide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WHOLE_SAMPLES 3

/* Whether `next` may be the next attempt of the rank of `member`. */
static bool follows(const struct member *member, const struct member *next)
{
	if (!streq(member->role, next->role))
		return false;
	if (member->rank >= 0 && next->rank >= 0)
		return member->rank == next->rank;
	if (streq(member->pod->name, next->pod->name))
		return true;
	return member->end_ms <= next->begin_ms && member->outcome != OUTCOME_COMPLETED;
}

/* Sets slot, try_number and is_last. */
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

/* A run under construction. */
struct summing {
	const struct group *group;
	const struct pod_table *table;
	const struct fold_options *options;
	struct found_run *found;
	int64_t end_ms;
	int restarts;
	int n_exact; /* containers of the last attempt with usage; with a single one the figures are exact */
};

/* Whether the use was observed from start to end. Pulling an image and waiting take time without samples, so a gap at
 * the start is allowed; short runs need most of their time covered. */
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

/* Whether a value of the annotation was set by us and is in force. If the annotation names the controller of the pod,
 * it was written for this pod: a different value was set by another system, such as a VerticalPodAutoscaler, and is not
 * the user's own either. The annotation of a bare pod may have been copied with a manifest and edited. */
static bool is_ours(const struct annotation *annotation, const struct annotation_value *value, int64_t now_bytes)
{
	return value->is_set && (annotation->has_owner || value->to_bytes == now_bytes);
}

static int64_t own_bytes(const struct annotation *annotation, const struct annotation_value *value, int64_t now_bytes)
{
	if (!is_ours(annotation, value, now_bytes))
		return now_bytes;
	return value->has_from ? value->from_bytes : 0;
}

/* Who chose the sizes, and the values before. Only the watch of pods shows it: a watched pod without an annotation has
 * its own values. If we changed one rank, the run counts as ours. */
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
	    (is_ours(&annotation, request, container->request_bytes) ||
	     is_ours(&annotation, limit, container->limit_bytes))) {
		run->chosen_by = CHOSEN_BY_MEMTAMER;
		run->mode = (int)annotation.mode;
		run->revision = annotation.revision;
	}
	run->own_request_bytes = own_bytes(&annotation, request, container->request_bytes);
	run->own_limit_bytes = own_bytes(&annotation, limit, container->limit_bytes);
}

static int add_last_attempt(struct summing *self, const struct member *member, const struct pod_container *container,
			    enum outcome outcome)
{
	struct run *run = &self->found->run;

	run->ranks++;
	if (run->ranks == 1 || outcome_rank(outcome) < outcome_rank(run->outcome))
		run->outcome = outcome;
	fold_add_last_figures(run, container);
	self->found->is_seen &= is_seen(self, member, container);
	self->found->has_lost_child |= container_has_lost_child(container);
	run->is_whole &= outcome == OUTCOME_COMPLETED;
	read_choice(run, member->pod, container);
	fold_note_widest(self->found, self->table, member, container);
	if (!container->n_parts)
		return 0;
	self->n_exact += container->n_parts;
	return sketch_merge(&self->found->usage, &container->sketch);
}

static int add_container(struct summing *self, const struct member *member, const struct pod_container *container)
{
	bool runs = member->end_ms == INT64_MAX;

	self->found->is_watched |= member->pod->is_watched;
	self->restarts = MAX(self->restarts, container->restarts);
	fold_add_figures(self->found, member->pod, container);
	fold_add_harm(self->found, member, container);
	if (fold_add_decision(self->found, member, container))
		return -ENOMEM;
	if (!member->is_last)
		return 0;
	return add_last_attempt(self, member, container, member_outcome(member->pod, container, runs));
}

/* Makes the uid from run key and start. A start that is known only to the hour is rounded down to it, so that later
 * windows give the same uid. */
static void stamp(struct summing *self, bool is_exact)
{
	const struct member *first = &self->group->members[0];
	struct run *run = &self->found->run;
	int64_t start_ms = is_exact ? run->start_ms : run->start_ms - run->start_ms % TIME_HOUR_MS;
	uint64_t hash = HASH_STABLE_INIT;
	const char *name = strchr(first->run_key, '/');

	hash = hash_stable_text(hash, first->pod->namespace_name);
	hash = hash_stable_text(hash, first->run_key);
	hash = hash_stable(hash, &start_ms, sizeof(start_ms));
	snprintf(run->uid, sizeof(run->uid), "%016llx", (unsigned long long)hash);
	identity_cut(name ? name + 1 : first->run_key, run->name, sizeof(run->name));
}

static const char *source_of(const char *usage, bool has_usage, bool is_watched)
{
	if (!is_watched)
		return usage;
	if (!has_usage)
		return "pods";
	return streq(usage, "remote-read") ? "remote-read+pods" : "query+pods";
}

static void finish(struct summing *self, const char *image)
{
	struct found_run *found = self->found;
	struct run *run = &found->run;
	int64_t end_ms = self->end_ms == INT64_MAX ? self->options->now_ms : self->end_ms;

	run->duration_ms = MAX(end_ms - run->start_ms, 0);
	run->attempts += self->restarts;
	run->source = source_of(self->options->source, run->samples > 0, found->is_watched);
	found->is_seen &= run->peak_bytes > 0;
	run->is_whole &= found->is_seen;
	run->is_quantile_exact = self->n_exact == 1;
	if (self->n_exact > 1) {
		run->median_bytes = sketch_quantile(&found->usage, 0.5);
		run->p95_bytes = sketch_quantile(&found->usage, 0.95);
	}
	identity_variant(image, NULL, 0, NULL, 0, run->world_size, run->variant);
	stamp(self, self->group->members[0].pod->start_ms > 0);
	found->is_final = end_ms <= self->options->now_ms - FOLD_RETRY_MS;
}

/* Whether another role of the run failed: then the use of this role is a lower bound. */
static bool has_other_failure(const struct group *group, const char *role)
{
	for (size_t i = 0; i < group->n; i++) {
		const struct member *member = &group->members[i];

		if (member->is_last && !streq(member->role, role) &&
		    (member->outcome == OUTCOME_OOM_KILLED || member->outcome == OUTCOME_FAILED ||
		     member->outcome == OUTCOME_SUSPECTED_OOM))
			return true;
	}
	return false;
}

/* The pod has not begun, so it is no attempt yet. */
static bool is_waiting(const struct pod *pod)
{
	return pod->is_watched && !pod->start_ms;
}

static int summarise(const struct group *group, const struct member *first, const struct pod_container *model,
		     struct summing *self)
{
	struct found_run *found = self->found;
	struct run *run = &found->run;
	const char *role = first->role;
	int r = 0;

	*found = (struct found_run){.is_main = fold_main_container(first->pod) == model,
				    .is_seen = true,
				    .run = {.start_ms = group->members[0].begin_ms,
					    .is_whole = !has_other_failure(group, role),
					    .chosen_by = CHOSEN_BY_UNKNOWN,
					    .mode = -1,
					    .activity_permille = -1}};
	fold_identify(first->pod, &found->identity);
	snprintf(found->namespace_name, sizeof(found->namespace_name), "%s", first->pod->namespace_name);
	snprintf(found->container, sizeof(found->container), "%s", model->name);
	self->end_ms = run->start_ms;
	for (size_t i = 0; i < group->n && !r; i++) {
		const struct member *member = &group->members[i];

		run->world_size += member->is_last;
		self->end_ms = MAX(self->end_ms, member->end_ms);
		if (!streq(member->role, role))
			continue;
		run->attempts = MAX(run->attempts, member->try_number - is_waiting(member->pod));
		for (size_t k = 0; k < member->pod->containers.n && !r; k++)
			if (streq(member->pod->containers.items[k].name, model->name))
				r = add_container(self, member, &member->pod->containers.items[k]);
	}
	finish(self, model->image);
	return r;
}

static bool is_known(const struct fold *fold, size_t from, const char *role, const char *container)
{
	for (size_t i = from; i < fold->runs.n; i++)
		if (streq(fold->runs.items[i].identity.role, role) && streq(fold->runs.items[i].container, container))
			return true;
	return false;
}

int group_summarise(const struct group *group, const struct pod_table *table, const struct fold_options *options,
		    struct fold *ret)
{
	size_t from = ret->runs.n;
	struct group slots = *group;
	int r = 0;

	group_assign_slots(&slots);
	for (size_t i = 0; i < group->n && !r; i++) {
		const struct member *member = &group->members[i];

		for (size_t k = 0; k < member->pod->containers.n && !r; k++) {
			const struct pod_container *container = &member->pod->containers.items[k];
			struct found_run found;
			struct summing self = {.group = group, .table = table, .options = options, .found = &found};

			if (is_known(ret, from, member->role, container->name))
				continue;
			r = summarise(group, member, container, &self);
			r = r ? r : vec_push(&ret->runs, found);
			if (r)
				found_run_release(&found);
		}
	}
	return r;
}

void found_run_release(struct found_run *self)
{
	sketch_release(&self->usage);
	vec_release(&self->decisions);
}

const struct pod_container *fold_main_container(const struct pod *pod)
{
	const struct pod_container *main = NULL;

	for (size_t i = 0; i < pod->containers.n; i++) {
		const struct pod_container *container = &pod->containers.items[i];

		if (!main || container->accelerators_milli > main->accelerators_milli ||
		    (container->accelerators_milli == main->accelerators_milli &&
		     container->peak_bytes > main->peak_bytes))
			main = container;
	}
	return main;
}

void fold_identify(const struct pod *pod, struct identity *ret)
{
	const struct pod_container *main = fold_main_container(pod);
	const struct k8s_labels labels = {
		.items = pod->labels.items, .n = pod->labels.n, .is_present = pod->labels.n > 0};
	struct identity_facts facts = {
		.namespace_name = pod->namespace_name,
		.pod_name = pod->name,
		.labels = pod->labels.n ? &labels : NULL,
		.container = main ? main->name : "",
	};

	if (*pod->owner_kind)
		facts.owners[facts.n_owners++] = (struct identity_owner){.kind = pod->owner_kind,
									 .name = pod->owner_name};
	if (*pod->owner_kind && *pod->root_kind)
		facts.owners[facts.n_owners++] = (struct identity_owner){.kind = pod->root_kind,
									 .name = pod->root_name};
	workload_identify(&facts, ret);
}
