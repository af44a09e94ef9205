/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* quick_fixture: an engine on a store in a folder, what the API server tells it of pods, and what it has learned. */
#include "support/test.h"

#include "base/timefmt.h"
#include "engine/engine.h"
#include "fake_evidence.h"
#include "pods/sighting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW_MS (FAKE_EPOCH_MS + 30 * TIME_DAY_MS)

/* A pod of a Job as the API server would tell it, at some time of its life. Times are minutes after NOW_MS. */
struct told_pod {
	const char *name, *uid, *job;
	int start_min;
	const char *phase;
	const char *state; /* of its container; {min} is a time */
	int end_min;
	const char *limit; /* quantity; NULL: none */
	const char *annotations, *labels, *metadata;
	int restarts;
};

struct place {
	char folder[64], path[96], state_path[96];
	struct config *config;
	struct fake_reader reader;
	struct engine engine;
	struct store *store;
	VEC(struct sighting *) sightings;
	bool is_not_synced, is_half_known;
	int n_written;
	int64_t now_ms;
};

static inline void open_store(struct place *place)
{
	assert_int_equal(store_open_file(place->path, true, &place->store, NULL), 0);
	place->engine.store = place->store;
}

static inline int tell_pods(void *context, bool only_news, struct evidence_batch *batch)
{
	struct place *place = context;

	(void)only_news;
	if (place->is_not_synced)
		return 1;
	for (size_t i = 0; i < place->sightings.n; i++)
		assert_int_equal(sighting_tell(place->sightings.items[i], place->now_ms, batch), 0);
	batch->is_partial = place->is_half_known;
	return 0;
}

static inline void count_written(void *context, int64_t now_ms)
{
	struct place *place = context;

	(void)now_ms;
	place->n_written++;
}

static inline void setup(struct place *place)
{
	*place = (struct place){.folder = "/tmp/memtamer-quick-XXXXXX", .now_ms = NOW_MS};
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof(place->path), "%s/profiles.json", place->folder);
	snprintf(place->state_path, sizeof(place->state_path), "%s.state", place->path);
	place->config = config_new_default();
	assert_non_null(place->config);
	place->config->store.path = place->path;
	place->config->prometheus.history_ms = 2 * TIME_DAY_MS;
	fake_reader_init(&place->reader, NULL, 0);
	place->engine = (struct engine){.config = place->config,
					.reader = &place->reader.base,
					.pods = tell_pods,
					.pods_done = count_written,
					.pods_context = place};
	open_store(place);
}

/* The process dies: what it knew of pods is told anew, what is in the store stays. */
static inline void forget_pods(struct place *place)
{
	for (size_t i = 0; i < place->sightings.n; i++)
		sighting_free(place->sightings.items[i]);
	vec_release(&place->sightings);
}

static inline void restart(struct place *place)
{
	forget_pods(place);
	place->engine.has_settled = false;
	place->engine.sized_all_ms = 0;
	engine_release(&place->engine);
	store_close(place->store);
	open_store(place);
}

static inline void teardown(struct place *place)
{
	char path[128];

	forget_pods(place);
	engine_release(&place->engine);
	store_close(place->store);
	unlink(place->path);
	unlink(place->state_path);
	snprintf(path, sizeof(path), "%s.lock", place->path);
	unlink(path);
	assert_int_equal(rmdir(place->folder), 0);
	config_free(place->config);
}

static inline const char *time_text(int minutes, char buf[TIME_TEXT_BYTES])
{
	return time_render(NOW_MS + minutes * TIME_MINUTE_MS, buf);
}

static inline void render(const struct told_pod *pod, struct strbuf *buf)
{
	char start[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES];

	time_text(pod->start_min, start);
	time_text(pod->end_min, end);
	strbuf_addf(
		buf,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ml\",\"uid\":\"%s\",\"creationTimestamp\":\"%s\"%s,"
		"\"labels\":{\"memtamer.io/training\":\"true\"%s},\"annotations\":{%s},"
		"\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"%s\",\"uid\":\"j-%s\","
		"\"controller\":true}]},",
		pod->name, pod->uid, start, pod->metadata ? pod->metadata : "", pod->labels ? pod->labels : "",
		pod->annotations ? pod->annotations : "", pod->job, pod->job);
	strbuf_addf(buf, "\"spec\":{\"restartPolicy\":\"Never\",\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\","
			 "\"image\":\"trainer:1\",\"resources\":{");
	if (pod->limit)
		strbuf_addf(buf, "\"limits\":{\"memory\":\"%s\"},\"requests\":{\"memory\":\"%s\"}", pod->limit,
			    pod->limit);
	strbuf_addf(
		buf,
		"}}]},\"status\":{\"phase\":\"%s\",\"startTime\":\"%s\"%s,\"containerStatuses\":[{\"name\":\"main\","
		"\"restartCount\":%d,",
		pod->phase, streq(pod->state, "waiting") ? "" : start,
		streq(pod->state, "waiting") ? ",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
					       "\"message\":\"0/1 nodes are "
					       "available: 1 Insufficient memory.\"}]"
					     : "",
		pod->restarts);
	if (streq(pod->state, "waiting"))
		strbuf_addf(buf, "\"state\":{\"waiting\":{}}");
	else if (streq(pod->state, "running"))
		strbuf_addf(buf, "\"state\":{\"running\":{\"startedAt\":\"%s\"}}", start);
	else
		strbuf_addf(buf, "\"state\":{\"terminated\":{\"reason\":\"%s\",\"exitCode\":%d,\"finishedAt\":\"%s\"}}",
			    pod->state, streq(pod->state, "Completed") ? 0 : 137, end);
	strbuf_addf(buf, "}]}}");
	assert_int_equal(buf->status, 0);
}

/* The API server tells of a pod, again or for the first time. */
static inline void see(struct place *place, const struct told_pod *pod)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct arena arena = ARENA_INIT(MIB);
	struct sighting_look look = {.now_ms = place->now_ms};
	struct sighting *before = NULL, *now = NULL;
	struct err err = ERR_INIT;
	size_t at = 0;

	render(pod, &text);
	while (at < place->sightings.n && !streq(place->sightings.items[at]->uid, pod->uid))
		at++;
	if (at < place->sightings.n)
		before = place->sightings.items[at];
	look.before = before;
	if (sighting_read(strbuf_text(&text), text.len, &look, &arena, &now, &err))
		fail_msg("%s: %s", err.where, err.msg);
	assert_non_null(now);
	if (before) {
		sighting_free(before);
		place->sightings.items[at] = now;
	} else {
		assert_int_equal(vec_push(&place->sightings, now), 0);
	}
	arena_release(&arena);
}

static inline size_t quick(struct place *place)
{
	struct engine_result result;
	struct err err = ERR_INIT;
	int r = engine_quick(&place->engine, place->now_ms, &result, &err);

	if (r < 0)
		fail_msg("%s: %s", err.where, err.msg);
	return result.n_profiles_changed;
}

/* A whole cycle, with what Prometheus has. */
static inline size_t whole(struct place *place, const struct fake_pod *pods, size_t n)
{
	struct engine_result result;
	struct err err = ERR_INIT;

	place->reader.pods = pods;
	place->reader.n_pods = n;
	place->reader.n_reads = 0;
	if (engine_cycle(&place->engine, place->now_ms, &result, &err))
		fail_msg("%s: %s", err.where, err.msg);
	assert_false(result.is_partial);
	return result.n_profiles_changed;
}

/* ---- what was learned ---- */

struct known {
	int n_profiles, n_histories;
	struct recommendation recommendation;
	VEC(struct run) runs;
};

static inline int on_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct known *known = context;

	(void)err;
	known->n_profiles++;
	known->recommendation = take_profile->parent;
	profile_free(take_profile);
	return 0;
}

static inline int on_history(void *context, struct history *take_history, struct err *err)
{
	struct known *known = context;

	(void)err;
	known->n_histories++;
	for (size_t i = 0; i < take_history->runs.n; i++)
		assert_int_equal(vec_push(&known->runs, take_history->runs.items[i]), 0);
	history_free(take_history);
	return 0;
}

static inline void known_release(struct known *self)
{
	vec_release(&self->runs);
}

static inline struct known what_is_known(const struct place *place)
{
	struct known known = {.n_profiles = 0};
	const struct store_visitor visitor = {.context = &known, .profile = on_profile, .history = on_history};

	assert_int_equal(store_visit(place->store, &visitor, NULL), 0);
	return known;
}
