/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/fold_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fold_release(struct fold *self)
{
	for (size_t i = 0; i < self->runs.n; i++)
		found_run_release(&self->runs.items[i]);
	vec_release(&self->runs);
	free(self->is_open);
	*self = (struct fold){.is_open = NULL};
}

static bool is_running(const struct pod *pod, int64_t now_ms)
{
	if (pod->completion_ms || pod->ends & (END_SUCCEEDED | END_FAILED))
		return false;
	return pod->is_alive || pod_last_ms(pod) >= now_ms - FOLD_GONE_MS;
}

static void member_fill(struct member *self, const struct pod *pod, size_t index, int64_t now_ms)
{
	const struct pod_container *main = fold_main_container(pod);
	bool runs = is_running(pod, now_ms);
	struct identity identity;

	fold_identify(pod, &identity);
	*self = (struct member){.pod = pod, .index = index, .rank = identity.rank, .begin_ms = pod_begin_ms(pod)};
	memcpy(self->run_key, identity.run_key, sizeof(self->run_key));
	memcpy(self->role, identity.role, sizeof(self->role));
	self->end_ms = runs ? INT64_MAX : pod->completion_ms ? pod->completion_ms : pod_last_ms(pod);
	self->end_ms = MAX(self->end_ms, self->begin_ms);
	self->outcome = main ? member_outcome(pod, main, runs) : runs ? OUTCOME_RUNNING : OUTCOME_UNKNOWN;
}

static int compare_keys(const struct member *a, const struct member *b)
{
	int r = strcmp(a->pod->namespace_name, b->pod->namespace_name);

	return r ? r : strcmp(a->run_key, b->run_key);
}

/* By run, then by start; names make the order deterministic. */
static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int r = compare_keys(a, b);

	if (r)
		return r;
	if (a->begin_ms != b->begin_ms)
		return a->begin_ms < b->begin_ms ? -1 : 1;
	r = strcmp(a->pod->name, b->pod->name);
	return r ? r : strcmp(a->pod->uid, b->pod->uid);
}

/* The state of the pods so far: when the last one ended, and whether the last attempt failed. */
struct progress {
	int64_t end_ms;
	bool has_failed; /* a pod of the last attempt did not complete */
};

static void progress_add(struct progress *self, const struct member *member)
{
	bool failed = member->outcome != OUTCOME_COMPLETED;

	/* Pods that ended before this one began were earlier attempts, whose outcome does not count any more. */
	self->has_failed = member->begin_ms >= self->end_ms ? failed : self->has_failed || failed;
	self->end_ms = MAX(self->end_ms, member->end_ms);
}

static bool begins_a_run(const struct progress *progress, const struct member *member)
{
	if (member->begin_ms < progress->end_ms)
		return false;
	return !progress->has_failed || member->begin_ms - progress->end_ms > FOLD_RETRY_MS;
}

static int fold_group(struct member *members, size_t n, const struct pod_table *table,
		      const struct fold_options *options, struct fold *ret)
{
	size_t from = 0;
	int r = 0;

	while (from < n && !r) {
		struct progress progress = {.end_ms = INT64_MIN};
		struct group group = {.members = members + from};
		bool is_final;

		progress_add(&progress, &members[from]);
		for (group.n = 1; from + group.n < n; group.n++) {
			if (begins_a_run(&progress, &members[from + group.n]))
				break;
			progress_add(&progress, &members[from + group.n]);
		}
		/* Completed runs wait too, as kube-state-metrics may report more of their pods. */
		is_final = progress.end_ms <= options->now_ms - FOLD_RETRY_MS;
		for (size_t i = 0; i < group.n; i++)
			ret->is_open[group.members[i].index] = !is_final;
		r = group_summarise(&group, table, options, ret);
		from += group.n;
	}
	return r;
}

int fold_runs(const struct pod_table *table, const struct fold_options *options, struct fold *ret, struct err *err)
{
	struct member *members = calloc(table->pods.n + 1, sizeof(*members));
	size_t from = 0, n = 0;
	int r = 0;

	ret->is_open = calloc(table->pods.n + 1, sizeof(*ret->is_open));
	if (!members || !ret->is_open)
		r = -ENOMEM;
	for (size_t i = 0; i < table->pods.n && !r; i++)
		member_fill(&members[n++], table->pods.items[i], i, options->now_ms);
	if (!r)
		qsort(members, n, sizeof(*members), compare_members);
	while (from < n && !r) {
		size_t to = from + 1;

		while (to < n && compare_keys(&members[from], &members[to]) == 0)
			to++;
		r = fold_group(members + from, to - from, table, options, ret);
		from = to;
	}
	free(members);
	return r ? err_set(err, r, "no memory left to fold %zu pods", table->pods.n) : 0;
}
