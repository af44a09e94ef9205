/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_file_fixture: a store in a file, in a folder of its own; workloads of one generation to commit to it, and what
 * a walk over it finds. */
#include "support/test.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a folder of its own for each test ---- */

struct place {
	char folder[64], path[96];
};

static inline void place_init(struct place *place)
{
	snprintf(place->folder, sizeof(place->folder), "/tmp/test_store.XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof(place->path), "%s/profiles.json", place->folder);
}

/* Number of files in the folder whose name holds `part`. */
static inline int count_files(const char *folder, const char *part, bool wants_unlink)
{
	DIR *dir = opendir(folder);
	char path[PATH_MAX];
	int n = 0;

	assert_non_null(dir);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (entry->d_name[0] == '.' || !strstr(entry->d_name, part))
			continue;
		n++;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (wants_unlink)
			unlink(path);
	}
	closedir(dir);
	return n;
}

static inline void place_release(struct place *place)
{
	count_files(place->folder, "", true);
	assert_int_equal(rmdir(place->folder), 0);
}

static inline void write_text(const char *path, const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, n), 0);
	close(fd);
}

static inline char *read_text(const char *path)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(256 * MIB);
	struct err err = ERR_INIT;
	char *text;

	if (io_read_file(path, &buf, &err))
		fail_msg("%s", err.msg);
	text = strdup(strbuf_text(&buf));
	assert_non_null(text);
	return text;
}

static inline struct store *open_store(const struct place *place, bool is_writer)
{
	struct store *store = NULL;
	struct err err = ERR_INIT;

	if (store_open_file(place->path, is_writer, &store, &err))
		fail_msg("%s: %s", err.where, err.msg);
	return store;
}

/* ---- objects ---- */

static inline struct profile *make_profile(int i, int64_t revision)
{
	char name[32], key[32];
	const char *aliases[] = {key};
	struct profile draft = {.namespace_name = i % 2 ? "ml" : "research",
				.name = name,
				.workload = key,
				.role = "worker",
				.container = "pytorch",
				.aliases = aliases,
				.n_aliases = 1,
				.revision = revision,
				.spec = &profile_spec_none,
				.parent = {.request_bytes = 8 << 20, .limit_bytes = 12 << 20, .runs = 7}};
	struct profile *profile;

	snprintf(name, sizeof(name), "bert-%05d-0123456789", i);
	snprintf(key, sizeof(key), "Job/bert-%05d", i);
	profile = profile_dup(&draft);
	assert_non_null(profile);
	return profile;
}

static inline struct history *make_history(int i, int64_t generation, int n_runs)
{
	char name[32];
	struct history *history;
	struct run run = {.mode = -1, .source = "query", .duration_ms = 60000, .outcome = OUTCOME_COMPLETED};

	snprintf(name, sizeof(name), "bert-%05d-0123456789", i);
	history = history_new(i % 2 ? "ml" : "research", name);
	assert_non_null(history);
	for (int k = 0; k < n_runs; k++) {
		snprintf(run.uid, sizeof(run.uid), "%d", k);
		snprintf(run.name, sizeof(run.name), "a \"quoted\" {name}, run [%d]\\", k);
		run.start_ms = 1793607300000 + generation + k * TIME_HOUR_MS;
		run.peak_bytes = 91912000001;
		run.limit_bytes = 105698800003;
		assert_int_equal(history_add_run(history, &run), 0);
	}
	return history;
}

/* Commit `n` profiles with their histories and one shape. */
static inline int commit_generation(struct store *store, int n, int64_t generation, int n_runs, struct err *err)
{
	struct profile **profiles = calloc((size_t)n, sizeof(struct profile *));
	struct history **histories = calloc((size_t)n, sizeof(struct history *));
	struct node_shape shape = {.name = "h100", .resource = "nvidia.com/gpu", .accelerators = 8};
	struct store_change change = {.profiles = (const struct profile *const *)profiles,
				      .n_profiles = (size_t)n,
				      .histories = histories,
				      .n_histories = (size_t)n,
				      .shapes = &shape,
				      .n_shapes = 1};
	int r;

	assert_true(profiles && histories);
	for (int i = 0; i < n; i++) {
		profiles[i] = make_profile(i, generation);
		histories[i] = make_history(i, generation, n_runs);
	}
	r = store_commit(store, &change, err);
	for (int i = 0; i < n; i++) {
		profile_free(profiles[i]);
		history_free(histories[i]);
	}
	free(profiles);
	free(histories);
	return r;
}

static inline void commit(struct store *store, int n, int64_t generation)
{
	struct err err = ERR_INIT;

	if (commit_generation(store, n, generation, 2, &err))
		fail_msg("%s: %s", err.where, err.msg);
}

static inline int load(struct store *store, struct snapshot **ret, struct err *err)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	int r;

	assert_non_null(builder);
	r = store_read_profiles(store, builder, err);
	if (r) {
		snapshot_builder_free(builder);
		return r;
	}
	*ret = snapshot_builder_finish(builder, 1);
	assert_non_null(*ret);
	return 0;
}

/* ---- what a walk over the store finds ---- */

struct found {
	int profiles, histories, shapes, stop_after;
	int64_t revision; /* of all profiles; -1 when they differ */
	int64_t start_ms; /* of all histories' first runs; -1 when they differ */
	char order[64];
};

static inline void note(struct found *found, char kind)
{
	size_t n = strlen(found->order);

	if (n + 1 < sizeof(found->order) && (n == 0 || found->order[n - 1] != kind))
		found->order[n] = kind;
}

static inline int on_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct found *found = context;

	note(found, 'P');
	if (found->profiles++ == 0)
		found->revision = take_profile->revision;
	else if (found->revision != take_profile->revision)
		found->revision = -1;
	profile_free(take_profile);
	if (found->stop_after && found->profiles == found->stop_after)
		return err_set(err, 7, "enough");
	return 0;
}

static inline int on_history(void *context, struct history *take_history, struct err *err)
{
	struct found *found = context;

	(void)err;
	note(found, 'H');
	if (found->histories++ == 0)
		found->start_ms = take_history->runs.items[0].start_ms;
	else if (found->start_ms != take_history->runs.items[0].start_ms)
		found->start_ms = -1;
	history_free(take_history);
	return 0;
}

static inline int on_shape(void *context, const struct node_shape *shape, struct err *err)
{
	struct found *found = context;

	(void)shape;
	(void)err;
	note(found, 'S');
	found->shapes++;
	return 0;
}

static inline int visit(struct store *store, struct found *found, struct err *err)
{
	struct store_visitor visitor = {
		.context = found, .profile = on_profile, .history = on_history, .shape = on_shape};

	return store_visit(store, &visitor, err);
}
