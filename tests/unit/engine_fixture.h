/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* engine_fixture: cycles of the engine that read a made-up source into a store in a folder of its own. */
#include "support/test.h"

#include "engine/engine.h"
#include "fake_evidence.h"

#include <stdlib.h>
#include <unistd.h>

#define DONE .ends = END_SUCCEEDED, .container_ends = END_COMPLETED

struct place {
	char folder[64], path[96], state_path[96];
	struct config *config;
	struct fake_reader reader;
};

static inline void place_open(struct place *place, const struct fake_pod *pods, size_t n, int64_t history_ms)
{
	*place = (struct place){.folder = "/tmp/memtamer-engine-XXXXXX"};
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof(place->path), "%s/profiles.json", place->folder);
	snprintf(place->state_path, sizeof(place->state_path), "%s.state", place->path);
	place->config = config_new_default();
	assert_non_null(place->config);
	place->config->store.path = place->path;
	place->config->prometheus.history_ms = history_ms;
	fake_reader_init(&place->reader, pods, n);
}

static inline void place_remove(struct place *place)
{
	char path[128];

	unlink(place->path);
	unlink(place->state_path);
	snprintf(path, sizeof(path), "%s.lock", place->path);
	unlink(path);
	assert_int_equal(rmdir(place->folder), 0);
	config_free(place->config);
}

static inline int cycle_at(struct place *place, int64_t now_ms, struct engine_result *result)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct engine engine = {.config = place->config, .reader = &place->reader.base};
	struct err err = ERR_INIT;
	int r;

	assert_int_equal(store_open_file(place->path, true, &store, &err), 0);
	engine.store = store;
	place->reader.n_reads = 0;
	r = engine_cycle(&engine, now_ms, result, &err);
	engine_release(&engine);
	return r;
}

static inline int find_cron(void *context, struct profile *take_profile, struct err *err)
{
	struct recommendation *ret = context;

	(void)err;
	if (streq(take_profile->workload, "CronJob/n"))
		*ret = take_profile->parent;
	profile_free(take_profile);
	return 0;
}

/* What was learned of CronJob/n. */
static inline struct recommendation cron_of(struct place *place)
{
	struct recommendation ret = {0};
	const struct store_visitor visitor = {.context = &ret, .profile = find_cron};
	CLEANUP(store_closep) struct store *store = NULL;

	assert_int_equal(store_open_file(place->path, false, &store, NULL), 0);
	assert_int_equal(store_visit(store, &visitor, NULL), 0);
	return ret;
}
