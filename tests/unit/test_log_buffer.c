/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines when nobody reads them: no thread waits, what is lost is counted, and the end does not hang. */
#include "base/limits.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "program/log_buffer.h"
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define LINES	(4 * LOG_BUFFER_BYTES / 1024) /* of a KiB each: more than buffer and pipe together hold */

/* stderr as a pipe whose other end nobody reads, as yet. */
struct world {
	struct log_buffer *buffer;
	int reader, old_stderr;
};

static void set_up(struct world *world)
{
	struct err err = ERR_INIT;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	world->old_stderr = dup(STDERR_FILENO);
	world->reader = fds[0];
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	close(fds[1]);
	assert_int_equal(log_buffer_start(&world->buffer, &err), 0);
}

static void restore_stderr(const struct world *world)
{
	assert_true(dup2(world->old_stderr, STDERR_FILENO) >= 0);
	close(world->old_stderr);
}

static void *log_lines(void *context)
{
	char value[1025];

	(void)context;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (size_t i = 0; i < LINES / THREADS; i++)
		log_event(LOG_INFO, "line", "value", value, NULL);
	return NULL;
}

static void log_from_all_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_lines, NULL), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void *read_all(void *context)
{
	static struct strbuf text = STRBUF_INIT(16 * MIB);
	const struct world *world = context;
	char bytes[4096];
	ssize_t n;

	while ((n = read(world->reader, bytes, sizeof(bytes))) > 0)
		strbuf_add(&text, bytes, (size_t)n);
	return &text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

/* What the lines about dropped lines say together. */
static uint64_t reported(const char *text)
{
	uint64_t n = 0;

	for (; (text = strstr(text, "lines=")); text++)
		n += strtoull(text + strlen("lines="), NULL, 10);
	return n;
}

static void test_no_thread_waits_for_who_reads_the_log(void **state)
{
	struct world world;
	struct strbuf *text;
	uint64_t dropped;
	pthread_t reader;

	(void)state;
	set_up(&world);
	log_from_all_threads(); /* ends, though nobody has read anything */
	dropped = log_buffer_dropped(world.buffer);
	assert_true(dropped > 0 && dropped < LINES);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &world), 0);
	log_flush(60000);
	log_event(LOG_INFO, "last", NULL);
	log_buffer_stop(world.buffer, 60000);
	restore_stderr(&world);
	pthread_join(reader, (void **)&text);
	/* every line is there as a whole, or was dropped and reported */
	assert_int_equal(count(strbuf_text(text), "msg=line value=x"), LINES - dropped);
	assert_int_equal(count(strbuf_text(text), "x\n"), LINES - dropped);
	assert_int_equal(reported(strbuf_text(text)), dropped);
	assert_int_equal(count(strbuf_text(text), "msg=last\n"), 1);
	strbuf_release(text);
	close(world.reader);
}

/* In a process of its own, as a thread is left that waits for the reader. */
static void test_the_end_does_not_hang_on_an_unread_log(void **state)
{
	struct world world;
	pid_t child;
	int status;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		set_up(&world);
		log_from_all_threads();
		log_flush(1);
		log_buffer_stop(world.buffer, 1);
		log_event(LOG_INFO, "nobody will read this", NULL);
		_exit(7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_end_does_not_hang_on_an_unread_log),
		cmocka_unit_test(test_no_thread_waits_for_who_reads_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
