/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learn_fixture: a store in a folder, runs as they are found, and what is learned of them. */
#include "support/test.h"

#include "base/timefmt.h"
#include "engine/learn.h"
#include "runs/fold.h"

#include <stdlib.h>
#include <unistd.h>

#define MI     ((int64_t)MIB)
#define NOW_MS ((int64_t)20000 * TIME_DAY_MS + 12 * TIME_HOUR_MS)

struct place {
	char folder[64], path[96];
	struct config *config;
	struct store *store;
};

static inline void setup(struct place *self)
{
	*self = (struct place){.folder = "/tmp/memtamer-harm-XXXXXX"};
	assert_non_null(mkdtemp(self->folder));
	snprintf(self->path, sizeof(self->path), "%s/profiles.json", self->folder);
	self->config = config_new_default();
	assert_non_null(self->config);
	assert_int_equal(store_open_file(self->path, true, &self->store, NULL), 0);
}

static inline void teardown(struct place *self)
{
	char path[128];

	store_closep(&self->store);
	config_free(self->config);
	unlink(self->path);
	snprintf(path, sizeof(path), "%s.lock", self->path);
	unlink(path);
	assert_int_equal(rmdir(self->folder), 0);
}

static inline void make_run(struct found_run *ret, const char *namespace_name, const char *job, int n,
			    unsigned int harm)
{
	struct identity_facts facts = {.namespace_name = namespace_name, .pod_name = job, .container = "main"};

	*ret = (struct found_run){.container = "main", .is_main = true};
	snprintf(ret->namespace_name, sizeof(ret->namespace_name), "%s", namespace_name);
	facts.owners[facts.n_owners++] = (struct identity_owner){.kind = "Job", .name = job};
	workload_identify(&facts, &ret->identity);
	ret->run = (struct run){.start_ms = NOW_MS - TIME_HOUR_MS + n * 2 * TIME_MINUTE_MS,
				.duration_ms = TIME_MINUTE_MS,
				.attempts = 1,
				.ranks = 1,
				.world_size = 1,
				.mode = -1,
				.request_bytes = 64 * MI,
				.limit_bytes = 96 * MI,
				.peak_bytes = 80 * MI,
				.median_bytes = 60 * MI,
				.is_whole = true,
				.samples = 60,
				.outcome = OUTCOME_COMPLETED,
				.harm = (uint8_t)harm,
				.source = "pods"};
	snprintf(ret->run.uid, sizeof(ret->run.uid), "%s-%d", job, n);
	snprintf(ret->run.name, sizeof(ret->run.name), "%s", job);
	snprintf(ret->run.variant, sizeof(ret->run.variant), "0123456789");
}

static inline void learn_from(struct place *place, const struct found_run *runs, size_t n, struct learn *ret)
{
	struct err err = ERR_INIT;

	*ret = (struct learn){.config = place->config, .store = place->store, .now_ms = NOW_MS};
	assert_int_equal(learn_runs(ret, runs, n, &err), 0);
	assert_int_equal(learn_commit(ret, NULL, 0, &err), 0);
}

static inline int take_history(void *context, struct history *take_history, struct err *err)
{
	struct history **ret = context;

	(void)err;
	history_free(*ret);
	*ret = take_history;
	return 0;
}

static inline struct history *history_of(struct place *place)
{
	struct history *history = NULL;
	const struct store_visitor visitor = {.context = &history, .history = take_history};

	assert_int_equal(store_visit(place->store, &visitor, NULL), 0);
	assert_non_null(history);
	return history;
}

/* The number of notices of new harm. */
static inline size_t harms_of(const struct learn *learn)
{
	size_t n = 0;

	for (size_t i = 0; i < learn->notices.n; i++)
		n += learn->notices.items[i].kind == NOTICE_HARM;
	return n;
}
