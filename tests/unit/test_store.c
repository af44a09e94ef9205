/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a folder of its own for each test ---- */

struct place {
	char folder[64], path[96];
};

static void place_init(struct place *place)
{
	snprintf(place->folder, sizeof(place->folder), "/tmp/test_store.XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof(place->path), "%s/profiles.json", place->folder);
}

/* Number of files in the folder whose name holds `part`. */
static int count_files(const char *folder, const char *part, bool wants_unlink)
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

static void place_release(struct place *place)
{
	count_files(place->folder, "", true);
	assert_int_equal(rmdir(place->folder), 0);
}

static void write_text(const char *path, const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, n), 0);
	close(fd);
}

static char *read_text(const char *path)
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

static struct store *open_store(const struct place *place, bool is_writer)
{
	struct store *store = NULL;
	struct err err = ERR_INIT;

	if (store_open_file(place->path, is_writer, &store, &err))
		fail_msg("%s: %s", err.where, err.msg);
	return store;
}

/* ---- objects ---- */

static struct profile *make_profile(int i, int64_t revision)
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
				.spec = {.quantile_permille = -1, .buffer_permille = -1},
				.parent = {.request_bytes = 8 << 20, .limit_bytes = 12 << 20, .runs = 7}};
	struct profile *profile;

	snprintf(name, sizeof(name), "bert-%05d-0123456789", i);
	snprintf(key, sizeof(key), "Job/bert-%05d", i);
	profile = profile_dup(&draft);
	assert_non_null(profile);
	return profile;
}

static struct history *make_history(int i, int64_t generation, int n_runs)
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
static int commit_generation(struct store *store, int n, int64_t generation, int n_runs, struct err *err)
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

static void commit(struct store *store, int n, int64_t generation)
{
	struct err err = ERR_INIT;

	if (commit_generation(store, n, generation, 2, &err))
		fail_msg("%s: %s", err.where, err.msg);
}

static int load(struct store *store, struct snapshot **ret, struct err *err)
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

static void note(struct found *found, char kind)
{
	size_t n = strlen(found->order);

	if (n + 1 < sizeof(found->order) && (n == 0 || found->order[n - 1] != kind))
		found->order[n] = kind;
}

static int on_profile(void *context, struct profile *take_profile, struct err *err)
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

static int on_history(void *context, struct history *take_history, struct err *err)
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

static int on_shape(void *context, const struct node_shape *shape, struct err *err)
{
	struct found *found = context;

	(void)shape;
	(void)err;
	note(found, 'S');
	found->shapes++;
	return 0;
}

static int visit(struct store *store, struct found *found, struct err *err)
{
	struct store_visitor visitor = {
		.context = found, .profile = on_profile, .history = on_history, .shape = on_shape};

	return store_visit(store, &visitor, err);
}

/* ---- tests ---- */

static void missing_file_is_an_empty_store(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1000);
	struct snapshot *snapshot = NULL;
	struct found found = {0};
	struct err err = ERR_INIT;
	struct place place;

	(void)state;
	place_init(&place);
	store = open_store(&place, false);
	assert_int_equal(load(store, &snapshot, &err), 0);
	assert_int_equal(snapshot_profile_count(snapshot), 0);
	snapshot_unref(snapshot);
	assert_int_equal(visit(store, &found, &err), 0);
	assert_int_equal(found.profiles + found.histories + found.shapes, 0);
	assert_int_equal(store_state_load(store, &text, &err), 1);
	assert_int_equal(count_files(place.folder, "profiles.json", false), 0);
	place_release(&place);
}

static void what_is_committed_is_read(void **state)
{
	CLEANUP(store_closep) struct store *writer = NULL, *reader = NULL;
	struct snapshot *snapshot = NULL;
	struct found found = {0};
	struct err err = ERR_INIT;
	struct place place;
	size_t n;

	(void)state;
	place_init(&place);
	writer = open_store(&place, true);
	commit(writer, 5, 3);
	reader = open_store(&place, false);
	assert_int_equal(load(reader, &snapshot, &err), 0);
	assert_int_equal(snapshot_profile_count(snapshot), 5);
	assert_int_equal(snapshot_profile(snapshot, "ml", "Job/bert-00003", "worker", "pytorch")->parent.limit_bytes,
			 12 << 20);
	assert_int_equal(snapshot_node_shapes(snapshot, &n)->accelerators, 8);
	assert_int_equal(n, 1);
	snapshot_unref(snapshot);
	assert_int_equal(visit(reader, &found, &err), 0);
	assert_int_equal(found.profiles, 5);
	assert_int_equal(found.histories, 5);
	assert_int_equal(found.revision, 3);
	assert_int_equal(found.start_ms, 1793607300003);
	assert_string_equal(found.order, "SPH");
	found = (struct found){.stop_after = 2};
	assert_int_equal(visit(reader, &found, &err), 7);
	assert_non_null(strstr(err.msg, "enough"));
	assert_int_equal(found.profiles, 2);
	place_release(&place);
}

static void commit_keeps_the_rest_byte_for_byte(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	/* Written by hand: odd spacing, a field of a newer version, both of which a decoder would lose. */
	static const char kept[] =
		"{ \"apiVersion\" : \"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\", \"metadata\":{\"namespace\":"
		"\"ml\",\"name\":\"by-hand\"},\"spec\":{\"pinLimit\":\"4Gi\",\"newer\":[1,{\"a\":\"}]\\\"\"}]} }";
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *again = NULL;
	char file[1024];
	struct place place;

	(void)state;
	place_init(&place);
	snprintf(file, sizeof(file), "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n%s\n]}\n", kept);
	write_text(place.path, file, strlen(file));
	store = open_store(&place, true);
	commit(store, 3, 1);
	text = read_text(place.path);
	assert_non_null(strstr(text, kept));
	commit(store, 3, 1);
	again = read_text(place.path);
	assert_string_equal(again, text); /* the same change twice is the same file */
	commit(store, 5, 2);
	free(TAKE_PTR(again));
	again = read_text(place.path);
	assert_non_null(strstr(again, kept));
	place_release(&place);
}

static void one_writer_many_readers(void **state)
{
	CLEANUP(store_closep) struct store *writer = NULL, *second = NULL, *reader = NULL;
	struct err err = ERR_INIT;
	struct place place;

	(void)state;
	place_init(&place);
	writer = open_store(&place, true);
	assert_int_equal(store_open_file(place.path, true, &second, &err), -EWOULDBLOCK);
	assert_null(second);
	assert_true(strlen(err.msg) > 0);
	reader = open_store(&place, false);
	store_close(TAKE_PTR(writer));
	second = open_store(&place, true);
	commit(second, 1, 1);
	place_release(&place);
}

/* Reading fails, committing refuses, and the file is what it was. An object of ours with a bad field is no torn file:
 * a commit keeps its bytes for a person to mend. */
static void assert_refused(const struct place *place, const char *text, size_t n, bool is_ours, struct err *ret_err)
{
	CLEANUP(store_closep) struct store *store = open_store(place, true);
	CLEANUP(freep) char *after = NULL;
	struct snapshot *snapshot = NULL;
	struct err err = ERR_INIT;

	write_text(place->path, text, n);
	assert_int_equal(load(store, &snapshot, ret_err), -EINVAL);
	assert_int_equal(commit_generation(store, 1, 9, 1, &err), is_ours ? 0 : -EINVAL);
	after = read_text(place->path);
	if (is_ours)
		return;
	assert_int_equal(strlen(after), n);
	assert_memory_equal(after, text, n);
	assert_int_equal(count_files(place->folder, "profiles.json.", false), 1); /* the lock */
}

static void torn_file_is_refused_and_kept(void **state)
{
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;
	struct place place;
	struct store *store;
	size_t n, refused = 0;

	(void)state;
	place_init(&place);
	store = open_store(&place, true);
	commit(store, 3, 1);
	store_close(store);
	text = read_text(place.path);
	n = strlen(text);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	for (size_t cut = 0; cut < n; cut += cut < 200 || n - cut < 200 ? 1 : 37) {
		assert_refused(&place, text, cut, false, &err);
		refused++;
	}
	print_message("  %zu cuts refused\n", refused);
	/* A whole file again is taken again. */
	write_text(place.path, text, strlen(text));
	store = open_store(&place, true);
	commit(store, 3, 2);
	store_close(store);
	place_release(&place);
}

#define LIST(items) "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" items "]}"
#define HEAD(kind)  "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"a\"}"

static void foreign_file_is_refused_and_kept(void **state)
{
	static const struct {
		const char *name, *text, *says; /* a word that the error must hold */
	} rows[] = {
		{"empty file", "", "byte 0"},
		{"plain text", "These are not the profiles you are looking for.\n", "byte 0"},
		{"YAML", "apiVersion: v1\nkind: List\nitems: []\n", "byte 0"},
		{"array", "[]", "byte 0"},
		{"empty object", "{}", "byte"},
		{"ConfigMap", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{}}", "byte"},
		{"List of ConfigMaps", LIST("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}"), "byte"},
		{"List of another version", "{\"apiVersion\":\"v2\",\"kind\":\"List\",\"items\":[]}", "byte"},
		{"object of another version",
		 LIST("{\"apiVersion\":\"memtamer.io/v9\",\"kind\":\"MemoryProfile\",\"metadata\":{\"name\":\"a\"}}"),
		 "byte"},
		{"unknown kind of ours", LIST(HEAD("MemoryDream") "}"), "byte"},
		{"items no array", "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":{}}", "byte"},
		{"item no object", LIST("7"), "byte"},
		{"bad field", LIST(HEAD("MemoryProfile") ",\"spec\":{\"floor\":\"1Gb\"}}"), "spec.floor"},
		{"bad item behind a good one", LIST(HEAD("NodeShape") "}," HEAD("NodeShape") ",\"spec\":5}"), "spec"},
		{"text behind", LIST("") " x", "byte"},
		{"second value", LIST("") LIST(""), "byte"},
		{"comma at the end", LIST(HEAD("NodeShape") "},"), "byte"},
		{"no comma", LIST(HEAD("NodeShape") "}" HEAD("NodeShape") "}"), "byte"},
		{"brackets that do not match", LIST(HEAD("NodeShape") ",\"spec\":{]}"), "byte"},
	};
	struct place place;

	(void)state;
	place_init(&place);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = ERR_INIT;
		char text[700];

		test_row(rows[i].name);
		assert_refused(&place, rows[i].text, strlen(rows[i].text), strstarts(rows[i].says, "spec"), &err);
		err_text(&err, text, sizeof(text));
		if (!strstr(text, rows[i].says))
			fail_msg("\"%s\" does not say \"%s\"", text, rows[i].says);
		assert_non_null(strstr(text, place.path));
	}
	place_release(&place);
}

/* The fast way over histories must not mistake a file that somebody has broken into other lines. */
static void histories_on_many_lines_are_read(void **state)
{
	static const char file[] = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" HEAD(
		"MemoryHistory") ",\n\"spec\":{\"runs\":[{\"uid\":\"a\"},\n{\"uid\":\"b\"}]}},"
				 "\n" HEAD("MemoryHistory") "}\n," HEAD("MemoryProfile") ",\"sp"
											 "ec\":"
											 "{\"fl"
											 "oor\""
											 ":\"1G"
											 "i\"}}"
											 "\n]}";
	CLEANUP(store_closep) struct store *store = NULL;
	struct snapshot *snapshot = NULL;
	struct err err = ERR_INIT;
	struct place place;

	(void)state;
	place_init(&place);
	write_text(place.path, file, strlen(file));
	store = open_store(&place, false);
	if (load(store, &snapshot, &err))
		fail_msg("%s: %s", err.where, err.msg);
	assert_int_equal(snapshot_profile_count(snapshot), 1);
	assert_int_equal(snapshot_profile_by_name(snapshot, "", "a")->spec.floor_bytes, 1 << 30);
	snapshot_unref(snapshot);
	place_release(&place);
}

static void readers_do_not_write(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct err err = ERR_INIT;
	struct place place;

	(void)state;
	place_init(&place);
	store = open_store(&place, false);
	assert_int_equal(commit_generation(store, 1, 1, 1, &err), -EACCES);
	assert_int_equal(store_state_save(store, "{}", 2, &err), -EACCES);
	assert_int_equal(count_files(place.folder, "", false), 0);
	place_release(&place);
}

static void deep_nesting_is_refused(void **state)
{
	static char text[200000];
	struct err err = ERR_INIT;
	struct place place;
	int n;

	(void)state;
	place_init(&place);
	n = snprintf(text, sizeof(text),
		     "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" HEAD("NodeShape") ",\"x\":");
	memset(text + n, '[', sizeof(text) - (size_t)n - 1);
	assert_refused(&place, text, sizeof(text) - 1, false, &err);
	place_release(&place);
}

/* ---- full disk ---- */

/* In a child whose files may not grow beyond `max` bytes: exits 0 when the commit failed as it should. */
static int commit_with_full_disk(const struct place *place, rlim_t max)
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = {max, max};
		struct store *store = NULL;
		struct err err = ERR_INIT;
		int r;

		signal(SIGXFSZ, SIG_IGN);
		if (store_open_file(place->path, true, &store, &err) || setrlimit(RLIMIT_FSIZE, &limit))
			_exit(10);
		r = commit_generation(store, 50, 2, 2, &err);
		_exit(r == -EFBIG && err.msg[0] ? 0 : 11);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 12;
}

static void full_disk_keeps_the_old_file(void **state)
{
	static const rlim_t maxima[] = {0, 1, 4096, 20000};
	CLEANUP(freep) char *before = NULL;
	struct place place;
	struct store *store;

	(void)state;
	place_init(&place);
	store = open_store(&place, true);
	commit(store, 50, 1);
	store_close(store);
	before = read_text(place.path);
	assert_true(strlen(before) > 20000);
	for (size_t i = 0; i < ARRAY_LEN(maxima); i++) {
		CLEANUP(freep) char *after = NULL;

		assert_int_equal(commit_with_full_disk(&place, maxima[i]), 0);
		after = read_text(place.path);
		assert_string_equal(after, before);
		assert_int_equal(count_files(place.folder, "", false), 2); /* the file and its lock */
	}
	place_release(&place);
}

/* ---- kill -9 ---- */

#define KILL_ROUNDS   40
#define KILL_PROFILES 30

/* Commit generation after generation: profiles and histories first, then the state that stands for them; tell each. */
static void commit_for_ever(const struct place *place, int64_t generation, int out)
{
	struct store *store = NULL;
	struct err err = ERR_INIT;
	char text[64];

	if (store_open_file(place->path, true, &store, &err))
		_exit(1);
	for (;; generation++) {
		int n = snprintf(text, sizeof(text), "{\"generation\":%lld}", (long long)generation);

		if (commit_generation(store, KILL_PROFILES, generation, 2, &err) ||
		    store_state_save(store, text, (size_t)n, &err))
			_exit(2);
		if (write(out, "x", 1) != 1)
			_exit(3);
	}
}

/* Let a child commit a few times, then kill it somewhere in the next one. */
static void run_and_kill(const struct place *place, int64_t generation, unsigned int delay_us)
{
	int pipe_fds[2], status;
	pid_t pid;
	char byte;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipe_fds[0]);
		commit_for_ever(place, generation, pipe_fds[1]);
	}
	close(pipe_fds[1]);
	for (int i = 0; i < 2; i++) /* wait for two whole commits */
		assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	usleep(delay_us); /* not to wait for anything: to hit another moment of a commit each time */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	close(pipe_fds[0]);
}

static int64_t state_generation(struct store *store)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1000);
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct err err = ERR_INIT;
	int64_t generation = -1;

	if (store_state_load(store, &text, &err))
		fail_msg("state: %s", err.msg);
	assert_int_equal(json_parse(strbuf_text(&text), text.len, 8, &object, &err), 0);
	assert_int_equal(json_get_int64(object, "", "generation", &generation, &err), 0);
	return generation;
}

static void kill_loses_nothing(void **state)
{
	int64_t last = 0;
	struct place place;

	(void)state;
	place_init(&place);
	for (int round = 0; round < KILL_ROUNDS; round++) {
		CLEANUP(store_closep) struct store *store = NULL;
		struct found found = {0};
		struct err err = ERR_INIT;
		int64_t collected;

		run_and_kill(&place, last + 1, (unsigned int)(round * 7919 % 4000));
		store = open_store(&place, true);
		if (visit(store, &found, &err))
			fail_msg("%s: %s", err.where, err.msg);
		assert_int_equal(found.profiles, KILL_PROFILES);
		assert_int_equal(found.histories, KILL_PROFILES);
		assert_true(found.revision >= last + 2);
		assert_int_equal(found.start_ms, 1793607300000 + found.revision);
		collected = state_generation(store);
		assert_true(collected == found.revision || collected == found.revision - 1);
		last = found.revision;
	}
	print_message("  %lld generations\n", (long long)last);
	{
		struct store *store = open_store(&place, true);

		commit(store, 1, last + 1);
		store_close(store);
	}
	/* Halves that the killed ones left behind do not pile up. */
	assert_in_range(count_files(place.folder, "", false), 3, 4);
	place_release(&place);
}

/* ---- collector state ---- */

static void state_comes_back(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 * MIB);
	static const char json[] = "{\"watermark\":\"2026-11-01T00:00:00Z\",\"open\":[1,2]}";
	struct err err = ERR_INIT;
	struct place place;
	char path[128];

	(void)state;
	place_init(&place);
	store = open_store(&place, true);
	assert_int_equal(store_state_load(store, &text, &err), 1);
	assert_int_equal(store_state_save(store, json, strlen(json), &err), 0);
	assert_int_equal(store_state_load(store, &text, &err), 0);
	assert_string_equal(strbuf_text(&text), json);
	snprintf(path, sizeof(path), "%s.state", place.path);
	write_text(path, json, strlen(json) - 5);
	strbuf_clear(&text);
	assert_int_equal(store_state_load(store, &text, &err), -EINVAL);
	assert_non_null(strstr(err.where, "profiles.json.state"));
	write_text(path, "", 0);
	strbuf_clear(&text);
	assert_int_equal(store_state_load(store, &text, &err), -EINVAL);
	place_release(&place);
}

/* ---- watching ---- */

/* Wait until the descriptor is readable, then ask whether the file changed; events of other files are passed over. */
static bool wait_for_change(struct store *store, int fd)
{
	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

		if (poll(&poll_fd, 1, 20000) != 1)
			return false;
		if (store_watch_changed(store))
			return true;
	}
}

static void reload(struct store *store)
{
	struct snapshot *snapshot = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(load(store, &snapshot, &err), 0);
	snapshot_unref(snapshot);
}

static void watch_notices(void **state)
{
	CLEANUP(store_closep) struct store *watcher = NULL, *writer = NULL;
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;
	struct place place;
	char other[128];
	int fd;

	(void)state;
	place_init(&place);
	watcher = open_store(&place, false);
	fd = store_watch_fd(watcher, &err);
	assert_true(fd >= 0);
	store_watch_changed(watcher);
	assert_false(store_watch_changed(watcher));
	writer = open_store(&place, true);
	commit(writer, 2, 1); /* creation */
	assert_true(wait_for_change(watcher, fd));
	assert_true(store_watch_changed(watcher)); /* until it is read */
	reload(watcher);
	assert_false(store_watch_changed(watcher));
	commit(writer, 2, 2); /* rename */
	assert_true(wait_for_change(watcher, fd));
	reload(watcher);
	text = read_text(place.path);
	write_text(place.path, text, strlen(text) - 1); /* in place */
	assert_true(wait_for_change(watcher, fd));
	reload(watcher);
	snprintf(other, sizeof(other), "%s/other", place.folder);
	write_text(other, "x", 1);
	assert_false(store_watch_changed(watcher));
	assert_int_equal(unlink(place.path), 0);
	assert_true(wait_for_change(watcher, fd));
	place_release(&place);
}

/* ---- size ---- */

static void many_profiles(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct snapshot *snapshot = NULL;
	struct err err = ERR_INIT;
	struct place place;
	struct stat stat_buf;
	int64_t start_ms;

	(void)state;
	place_init(&place);
	store = open_store(&place, true);
	start_ms = time_monotonic_ms();
	assert_int_equal(commit_generation(store, 10000, 1, 12, &err), 0);
	print_message("  commit of 10,000 profiles with histories: %lld ms\n",
		      (long long)(time_monotonic_ms() - start_ms));
	assert_int_equal(stat(place.path, &stat_buf), 0);
	start_ms = time_monotonic_ms();
	assert_int_equal(load(store, &snapshot, &err), 0);
	print_message("  load for admission: %lld ms, file of %.1f MB\n", (long long)(time_monotonic_ms() - start_ms),
		      (double)stat_buf.st_size / 1e6);
	assert_int_equal(snapshot_profile_count(snapshot), 10000);
	snapshot_unref(snapshot);
	start_ms = time_monotonic_ms();
	commit(store, 1, 2);
	print_message("  commit of one changed profile: %lld ms\n", (long long)(time_monotonic_ms() - start_ms));
	assert_int_equal(load(store, &snapshot, &err), 0);
	assert_int_equal(snapshot_profile_count(snapshot), 10000);
	snapshot_unref(snapshot);
	place_release(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_file_is_an_empty_store),
		cmocka_unit_test(what_is_committed_is_read),
		cmocka_unit_test(commit_keeps_the_rest_byte_for_byte),
		cmocka_unit_test(one_writer_many_readers),
		cmocka_unit_test(torn_file_is_refused_and_kept),
		cmocka_unit_test(foreign_file_is_refused_and_kept),
		cmocka_unit_test(histories_on_many_lines_are_read),
		cmocka_unit_test(readers_do_not_write),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(full_disk_keeps_the_old_file),
		cmocka_unit_test(kill_loses_nothing),
		cmocka_unit_test(state_comes_back),
		cmocka_unit_test(watch_notices),
		cmocka_unit_test(many_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
