/* SPDX-License-Identifier: Apache-2.0 */
#include "program/log_buffer.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The writer frees room in the buffer after each piece. */
#define PIECE_BYTES (16 * KIB)

struct log_buffer {
	pthread_t thread;
	pthread_mutex_t mutex; /* protects everything below */
	pthread_cond_t has_lines, is_written;
	bool is_stopping, has_ended;
	uint64_t dropped, unreported; /* dropped lines: in total, and since the last report */
	size_t first, n;	      /* index of the oldest byte; number of bytes */
	char bytes[LOG_BUFFER_BYTES];
};

static void copy_in(struct log_buffer *self, const char *line, size_t n)
{
	size_t at = (self->first + self->n) % LOG_BUFFER_BYTES, to_end = MIN(n, LOG_BUFFER_BYTES - at);

	memcpy(self->bytes + at, line, to_end);
	memcpy(self->bytes, line + to_end, n - to_end);
	self->n += n;
}

static void add_line(void *context, const char *line, size_t n)
{
	struct log_buffer *self = context;
	bool is_report = pthread_equal(pthread_self(), self->thread);

	pthread_mutex_lock(&self->mutex);
	/* the writer's report of dropped lines always fits */
	if (n + (is_report ? 0 : LIMIT_LOG_LINE_BYTES) > LOG_BUFFER_BYTES - self->n) {
		self->dropped++;
		self->unreported++;
	} else {
		copy_in(self, line, n);
		pthread_cond_signal(&self->has_lines);
	}
	pthread_mutex_unlock(&self->mutex);
}

/* Writes bytes to stderr; blocks while nobody reads. Bytes that cannot be written are lost. */
static void write_out(const char *bytes, size_t n)
{
	while (n) {
		ssize_t written = write(STDERR_FILENO, bytes, n);

		if (written >= 0) {
			bytes += written;
			n -= (size_t)written;
		} else if (errno == EAGAIN) {
			poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
		} else if (errno != EINTR) {
			return;
		}
	}
}

/* Writes a piece; the caller holds the mutex, which is released meanwhile. Only this thread removes bytes, so those
 * being written stay valid. */
static void write_piece(struct log_buffer *self)
{
	const char *bytes = self->bytes + self->first;
	size_t n = MIN(MIN(self->n, LOG_BUFFER_BYTES - self->first), PIECE_BYTES);

	pthread_mutex_unlock(&self->mutex);
	write_out(bytes, n);
	pthread_mutex_lock(&self->mutex);
	self->first = (self->first + n) % LOG_BUFFER_BYTES;
	self->n -= n;
}

/* Reports dropped lines; the caller holds the mutex, which is released meanwhile. */
static void report_dropped(struct log_buffer *self)
{
	uint64_t unreported = self->unreported;

	if (!unreported || LOG_BUFFER_BYTES - self->n < 2 * LIMIT_LOG_LINE_BYTES)
		return;
	self->unreported = 0;
	pthread_mutex_unlock(&self->mutex);
	log_event(LOG_WARN, "log lines dropped: stderr was not read fast enough", "lines", log_i64(unreported), NULL);
	pthread_mutex_lock(&self->mutex);
}

static void *writer_main(void *context)
{
	struct log_buffer *self = context;

	pthread_mutex_lock(&self->mutex);
	while (self->n || !self->is_stopping) {
		if (!self->n) {
			pthread_cond_wait(&self->has_lines, &self->mutex);
			continue;
		}
		write_piece(self);
		report_dropped(self);
		if (!self->n)
			pthread_cond_broadcast(&self->is_written);
	}
	self->has_ended = true;
	pthread_cond_broadcast(&self->is_written);
	pthread_mutex_unlock(&self->mutex);
	return NULL;
}

/* Waits until everything is written; the caller holds the mutex. */
static void wait_written(struct log_buffer *self, int64_t wait_ms)
{
	int64_t until_ms = time_monotonic_ms() + wait_ms;
	const struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
				       .tv_nsec = (long)(until_ms % 1000) * 1000000};

	while (self->is_stopping ? !self->has_ended : self->n > 0)
		if (pthread_cond_timedwait(&self->is_written, &self->mutex, &until) == ETIMEDOUT)
			return;
}

static void flush(void *context, int64_t wait_ms)
{
	struct log_buffer *self = context;

	pthread_mutex_lock(&self->mutex);
	wait_written(self, wait_ms);
	pthread_mutex_unlock(&self->mutex);
}

static void buffer_free(struct log_buffer *self)
{
	pthread_cond_destroy(&self->has_lines);
	pthread_cond_destroy(&self->is_written);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

int log_buffer_start(struct log_buffer **ret, struct err *err)
{
	struct log_buffer *self = calloc(1, sizeof(*self));
	pthread_condattr_t monotonic;
	sigset_t all, before;
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&self->mutex, NULL);
	pthread_cond_init(&self->has_lines, NULL);
	pthread_cond_init(&self->is_written, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* the thread inherits that */
	r = pthread_create(&self->thread, NULL, writer_main, self);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		buffer_free(self);
		return err_set(err, -r, "cannot start a thread: %s", strerror(r));
	}
	log_set_sink(&(struct log_sink){.context = self, .write = add_line, .flush = flush});
	*ret = self;
	return 0;
}

uint64_t log_buffer_dropped(struct log_buffer *self)
{
	uint64_t dropped;

	pthread_mutex_lock(&self->mutex);
	dropped = self->dropped;
	pthread_mutex_unlock(&self->mutex);
	return dropped;
}

void log_buffer_stop(struct log_buffer *self, int64_t wait_ms)
{
	bool has_ended;

	if (!self)
		return;
	pthread_mutex_lock(&self->mutex);
	self->is_stopping = true;
	pthread_cond_signal(&self->has_lines);
	wait_written(self, wait_ms);
	has_ended = self->has_ended;
	pthread_mutex_unlock(&self->mutex);
	if (!has_ended)
		return;
	pthread_join(self->thread, NULL);
	log_set_sink(NULL);
	buffer_free(self);
}
