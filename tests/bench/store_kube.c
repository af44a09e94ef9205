/* SPDX-License-Identifier: Apache-2.0 */
/* store_kube: how long the store of a cluster takes, on the cluster of the kubeconfig. Makes a namespace's worth of
 * workloads with histories of 32 runs, changes them, reads them, and takes them away again.
 *
 * bench_store_kube NAMESPACE WORKLOADS prints a line for each step: what, how many objects, seconds, objects a second,
 * resident KiB. The namespace must be there and have nothing of ours in it. */
#include "base/timefmt.h"
#include "kube/kube_access.h"
#include "store/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

struct bench {
	struct store *store;
	const char *namespace_name;
	int n;
	size_t n_seen;
	int64_t begun_ms;
};

static void begin(struct bench *self)
{
	self->begun_ms = time_monotonic_ms();
	self->n_seen = 0;
}

static int end(const struct bench *self, const char *what, size_t n_objects, int r, const struct err *err)
{
	double seconds = (double)(time_monotonic_ms() - self->begun_ms) / 1000;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	if (r)
		fprintf(stderr, "%s: %s: %s\n", what, err->where, err->msg);
	else
		printf("%-34s %7zu objects %8.2f s %8.0f a second  %ld KiB resident at most\n", what, n_objects,
		       seconds, (double)n_objects / seconds, usage.ru_maxrss);
	return r;
}

static struct profile *make_profile(const struct bench *self, int i, int64_t revision)
{
	char name[48], key[48];
	const char *const aliases[] = {key};
	const char *const reasons[] = {"limit 1200Mi = peak 993Mi of 32 complete runs + 6 %",
				       "request 608Mi = median use over time"};
	const struct profile draft = {.namespace_name = self->namespace_name,
				      .name = name,
				      .workload = key,
				      .role = "worker",
				      .container = "pytorch",
				      .aliases = aliases,
				      .n_aliases = 1,
				      .reasons = reasons,
				      .n_reasons = 2,
				      .revision = revision,
				      .updated_ms = 1793607300000 + revision,
				      .parent = {.request_bytes = 600 << 20,
						 .limit_bytes = 1200 << 20,
						 .median_bytes = 600000000,
						 .p95_bytes = 990000001,
						 .peak_bytes = 999000001,
						 .runs = 32,
						 .whole_runs = 32,
						 .buffer_permille = 60,
						 .confidence = CONFIDENCE_HIGH}};

	snprintf(name, sizeof(name), "train-%06d-0123456789", i);
	snprintf(key, sizeof(key), "Job/train-%06d", i);
	return profile_dup(&draft);
}

static struct history *make_history(const struct bench *self, int i, int64_t revision)
{
	struct run run = {.mode = -1,
			  .source = "query",
			  .duration_ms = 3600000,
			  .outcome = OUTCOME_COMPLETED,
			  .attempts = 1,
			  .ranks = 8,
			  .world_size = 8,
			  .is_whole = true,
			  .samples = 240,
			  .request_bytes = 600 << 20,
			  .limit_bytes = 1200 << 20,
			  .median_bytes = 600000000};
	struct history *history;
	char name[48];

	snprintf(name, sizeof(name), "train-%06d-0123456789", i);
	history = history_new(self->namespace_name, name);
	for (int k = 0; history && k < LIMIT_HISTORY_RUNS; k++) {
		snprintf(run.uid, sizeof(run.uid), "0d9f0a8c-0000-4000-8000-%012d", k);
		snprintf(run.name, sizeof(run.name), "train-%06d-%02d", i, k);
		run.start_ms = 1793607300000 + revision + k * TIME_HOUR_MS;
		run.peak_bytes = 900000000 + k;
		if (history_add_run(history, &run)) {
			history_free(history);
			return NULL;
		}
	}
	return history;
}

static int commit(struct bench *self, int64_t revision, struct err *err)
{
	struct profile **profiles = calloc((size_t)self->n, sizeof(struct profile *));
	struct history **histories = calloc((size_t)self->n, sizeof(struct history *));
	const struct store_change change = {.profiles = (const struct profile *const *)profiles,
					    .n_profiles = (size_t)self->n,
					    .histories = histories,
					    .n_histories = (size_t)self->n};
	int r = 0;

	for (int i = 0; i < self->n; i++) {
		profiles[i] = make_profile(self, i, revision);
		histories[i] = make_history(self, i, revision);
	}
	begin(self);
	r = store_commit(self->store, &change, err);
	for (int i = 0; i < self->n; i++) {
		profile_free(profiles[i]);
		history_free(histories[i]);
	}
	free(profiles);
	free(histories);
	return r;
}

static int see_profile(void *context, struct profile *take_profile, struct err *err)
{
	(void)err;
	((struct bench *)context)->n_seen++;
	profile_free(take_profile);
	return 0;
}

static int see_history(void *context, struct history *take_history, struct err *err)
{
	(void)err;
	((struct bench *)context)->n_seen++;
	history_free(take_history);
	return 0;
}

static int steps(struct bench *self, struct store_name *names, struct err *err)
{
	const struct store_visitor profiles = {.context = self, .profile = see_profile};
	const struct store_visitor histories = {.context = self, .history = see_history};
	const size_t n = (size_t)self->n;
	size_t removed = 0;
	int r = commit(self, 1, err);

	if (end(self, "new: 3 writes a workload", 3 * n, r, err))
		return r;
	r = commit(self, 2, err);
	if (end(self, "changed: 2 writes a workload", 2 * n, r, err))
		return r;
	begin(self);
	r = store_visit(self->store, &profiles, err);
	if (end(self, "all profiles, listed", self->n_seen, r, err))
		return r;
	begin(self);
	r = store_visit(self->store, &histories, err);
	if (end(self, "all histories, listed", self->n_seen, r, err))
		return r;
	begin(self);
	r = store_visit_named(self->store, &histories, names, n / 10, err);
	if (end(self, "a tenth of the histories, by name", self->n_seen, r, err))
		return r;
	begin(self);
	r = store_remove(self->store, names, n, &removed, err);
	return end(self, "removed: 3 requests a workload", 3 * removed, r, err);
}

int main(int argc, char **argv)
{
	struct kube_access access = KUBE_ACCESS_INIT;
	struct bench bench = {.namespace_name = argc > 2 ? argv[1] : "",
			      .n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0};
	struct store_name *names = calloc((size_t)bench.n + 1, sizeof(*names));
	struct err err = ERR_INIT;
	int r;

	if (bench.n <= 0) {
		fprintf(stderr, "usage: bench_store_kube NAMESPACE WORKLOADS\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < bench.n; i++) {
		char *name = NULL;

		if (asprintf(&name, "train-%06d-0123456789", i) < 0)
			return 3;
		names[i] = (struct store_name){bench.namespace_name, name};
	}
	r = kube_access_open(NULL, NULL, "memtamer-bench", &access, &err);
	if (!r)
		r = store_open_kube(access.client, bench.namespace_name, true, &bench.store, &err);
	if (r)
		fprintf(stderr, "%s: %s\n", err.where, err.msg);
	else
		r = steps(&bench, names, &err);
	store_close(bench.store);
	kube_access_release(&access);
	for (int i = 0; i < bench.n; i++)
		free((char *)(uintptr_t)names[i].name);
	free(names);
	return r ? 3 : 0;
}
