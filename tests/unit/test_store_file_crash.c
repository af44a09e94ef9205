/* SPDX-License-Identifier: Apache-2.0 */
/* Writers that cannot finish, on a full disk or killed: the file is the old one or the new one, whole. */
#include "store_file_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_disk_keeps_the_old_file),
		cmocka_unit_test(kill_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
