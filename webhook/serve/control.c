/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control.h"

#include "base/io.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "serve/control_cluster.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Delay after an event, because a certificate and its key are two files. */
#define EVENTS_MS 30
#define CHECK_MS  (2 * TIME_SECOND_MS)
/* Shortest time between two trims, which walk through the whole heap. */
#define TRIM_MS (10 * TIME_SECOND_MS)
/* So many connections fewer leave much free memory, too: some 50 KiB each. */
#define TRIM_CONNECTIONS 64

static void fill_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP);
}

int control_block_signals(struct err *err)
{
	sigset_t signals;
	int r;

	fill_signals(&signals);
	r = pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (r || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_set(err, r ? -r : -errno, "cannot set signals");
	return 0;
}

static void watch_folder(struct control *self, const char *file)
{
	char folder[PATH_MAX];

	if (!file || (size_t)snprintf(folder, sizeof(folder), "%s", file) >= sizeof(folder))
		return;
	/* a folder that cannot be watched is still checked every two seconds */
	if (self->watch_fd >= 0 && inotify_add_watch(self->watch_fd, dirname(folder),
						     IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE) < 0)
		log_event(LOG_DEBUG, "folder not watched", "path", folder, NULL);
}

static void watch_folders(struct control *self)
{
	const struct webhook_config *config = &control_state_config(&self->state)->webhook;

	watch_folder(self, self->config_path);
	watch_folder(self, config->cert_file);
	watch_folder(self, config->key_file);
	watch_folder(self, config->client_ca_file);
}

int control_init(struct control *self, struct serve *serve, const char *path, struct config *take_config,
		 struct err *err)
{
	sigset_t signals;

	*self = (struct control){.config_path = path, .signal_fd = -1, .watch_fd = -1};
	if (control_state_init(&self->state, serve, take_config, err))
		return -ENOMEM;
	self->config_seen = control_config_hash(path);
	fill_signals(&signals);
	self->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (self->signal_fd < 0)
		return err_set(err, -errno, "cannot wait for signals: %s", strerror(errno));
	/* All programs of one user on a node share a small number of these (fs.inotify.max_user_instances). */
	self->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (self->watch_fd < 0)
		log_event(LOG_WARN, "inotify is not available; changed files are detected within seconds", "error",
			  strerror(errno), NULL);
	watch_folders(self);
	return control_open_source(self, err);
}

void control_release(struct control *self)
{
	control_source_close(&self->source);
	control_state_release(&self->state);
	closep(&self->signal_fd);
	closep(&self->watch_fd);
}

static void drain_events(struct control *self)
{
	char events[4096];

	while (read(self->watch_fd, events, sizeof(events)) > 0)
		;
	if (self->source.store)
		store_watch_changed(self->source.store);
	if (!self->events_due_ms)
		self->events_due_ms = time_monotonic_ms() + EVENTS_MS;
}

static void check_all(struct control *self)
{
	self->events_due_ms = 0;
	self->check_due_ms = time_monotonic_ms() + CHECK_MS;
	control_check_config(self);
	watch_folders(self);
	control_state_check_certificates(&self->state);
	if (self->source.store)
		control_check_store(self, false);
}

/* The next pending signal; 0: none. */
static int next_signal(struct control *self)
{
	struct signalfd_siginfo info;

	return read(self->signal_fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

/* Handles pending signals. @return true: end. */
static bool handle_signals(struct control *self)
{
	int number;

	while ((number = next_signal(self))) {
		if (number != SIGHUP)
			return true;
		log_event(LOG_INFO, "loading everything again", NULL);
		control_forget(self);
		check_all(self);
		if (self->source.store)
			control_check_store(self, true);
	}
	return false;
}

static bool have_connections_gone(struct control *self)
{
	size_t n = http_server_connections(self->state.serve->server);
	bool have_gone = n + TRIM_CONNECTIONS <= self->most_connections;

	self->most_connections = have_gone ? n : MAX(n, self->most_connections);
	return have_gone;
}

/* Frees states without users. That leaves much free memory in the heap, which is trimmed. */
static void collect(struct control *self)
{
	struct serve *serve = self->state.serve;
	bool have_gone = have_connections_gone(self);
	int64_t now_ms = time_monotonic_ms();

	if (current_state_collect(serve->current) || atomic_exchange(&serve->has_freed_much, false) || have_gone)
		self->state.needs_trim = true;
	if (!self->state.needs_trim || (self->trim_ms && now_ms < self->trim_ms + TRIM_MS))
		return;
	self->state.needs_trim = false;
	self->trim_ms = now_ms;
	malloc_trim(0);
}

/* Waits for an event, at most until `until_ms`. */
static void wait_for(struct control *self, struct pollfd *fds, size_t n_fds, int64_t until_ms)
{
	int64_t wait_ms = MAX(0, until_ms - time_monotonic_ms());

	if (self->source.cluster)
		control_cluster_poll(self->source.cluster, fds, n_fds, wait_ms);
	else
		poll(fds, n_fds, (int)MIN(wait_ms, INT_MAX));
}

void control_run(struct control *self)
{
	bool is_over = false;

	self->check_due_ms = time_monotonic_ms() + CHECK_MS;
	while (!is_over) {
		struct pollfd fds[] = {
			{.fd = self->signal_fd, .events = POLLIN},
			{.fd = self->watch_fd, .events = POLLIN},
			{.fd = self->source.store ? store_watch_fd(self->source.store, NULL) : -1, .events = POLLIN}};
		int64_t until_ms = self->events_due_ms ? MIN(self->events_due_ms, self->check_due_ms)
						       : self->check_due_ms;

		wait_for(self, fds, ARRAY_LEN(fds), until_ms);
		if (fds[1].revents || fds[2].revents)
			drain_events(self);
		if (time_monotonic_ms() >= until_ms)
			check_all(self);
		is_over = handle_signals(self);
		collect(self);
	}
}

/* Serves for `ms`, or until another signal. */
static void serve_on(struct control *self, int64_t ms)
{
	int64_t until_ms = time_monotonic_ms() + ms;

	while (time_monotonic_ms() < until_ms) {
		struct pollfd signals = {.fd = self->signal_fd, .events = POLLIN};
		int number;

		wait_for(self, &signals, 1, until_ms);
		number = next_signal(self);
		if (number && number != SIGHUP)
			return;
		collect(self);
	}
}

void control_drain(struct control *self)
{
	const struct webhook_config *config = &control_state_config(&self->state)->webhook;
	struct serve *serve = self->state.serve;

	atomic_store(&serve->is_draining, true);
	log_event(LOG_INFO, "draining", "ms", log_i64(config->drain_ms), NULL);
	http_server_drain_start(serve->server);
	serve_on(self, config->drain_ms);
	if (http_server_drain_finish(serve->server, config->request_timeout_ms))
		log_event(LOG_WARN, "requests were still unanswered when the server stopped", "requests",
			  log_i64(http_server_in_flight(serve->server)), NULL);
}
