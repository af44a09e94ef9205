/* SPDX-License-Identifier: Apache-2.0 */
/* The file store: what is committed is read, by whom, as bytes and as state; changes are noticed; and its speed. */
#include "store_file_fixture.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>

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
		cmocka_unit_test(readers_do_not_write),
		cmocka_unit_test(state_comes_back),
		cmocka_unit_test(watch_notices),
		cmocka_unit_test(many_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
