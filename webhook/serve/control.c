/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control.h"

#include "base/io.h"
#include "base/log.h"
#include "base/timefmt.h"

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

/* After an event: a certificate and its key come as two files. */
#define SETTLE_MS 30
#define LOOK_MS	  (2 * TIME_SECOND_MS)

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
	/* a folder that cannot be watched is looked into every two seconds all the same */
	if (inotify_add_watch(self->watch_fd, dirname(folder), IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE) <
	    0)
		log_event(LOG_DEBUG, "folder not watched", "path", folder, NULL);
}

static void watch_folders(struct control *self)
{
	const struct webhook_config *config = &config_share_get(self->config)->webhook;

	watch_folder(self, self->config_path);
	watch_folder(self, config->cert_file);
	watch_folder(self, config->key_file);
	watch_folder(self, config->client_ca_file);
}

int control_init(struct control *self, struct serve *serve, const char *path, struct config *take_config,
		 struct err *err)
{
	sigset_t signals;

	*self = (struct control){.serve = serve, .config_path = path, .signal_fd = -1, .watch_fd = -1};
	self->config = config_share_new(take_config);
	self->certificates = certificates_new(serve->server);
	if (!self->config || !self->certificates)
		return err_set(err, -ENOMEM, "out of memory");
	self->config_seen = control_config_hash(path);
	fill_signals(&signals);
	self->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	self->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (self->signal_fd < 0 || self->watch_fd < 0)
		return err_set(err, -errno, "cannot watch: %s", strerror(errno));
	watch_folders(self);
	return control_open_store(self, err);
}

void control_release(struct control *self)
{
	holder_collect(self->serve->holder);
	snapshot_unref(self->snapshot);
	config_share_unref(self->config);
	certificates_free(self->certificates);
	store_close(self->store);
	closep(&self->signal_fd);
	closep(&self->watch_fd);
}

static void drain_events(struct control *self)
{
	char events[4096];

	while (read(self->watch_fd, events, sizeof(events)) > 0)
		;
	store_watch_changed(self->store);
	if (!self->settle_ms)
		self->settle_ms = time_monotonic_ms() + SETTLE_MS;
}

static void look(struct control *self)
{
	self->settle_ms = 0;
	self->look_ms = time_monotonic_ms() + LOOK_MS;
	control_check_config(self);
	watch_folders(self);
	control_check_certificates(self);
	control_check_store(self, false);
}

/* The next signal that came, 0: none. */
static int next_signal(struct control *self)
{
	struct signalfd_siginfo info;

	return read(self->signal_fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

/* True: end. */
static bool handle_signals(struct control *self)
{
	int number;

	while ((number = next_signal(self))) {
		if (number != SIGHUP)
			return true;
		log_event(LOG_INFO, "loading everything anew", NULL);
		control_forget(self);
		look(self);
		control_check_store(self, true);
	}
	return false;
}

void control_run(struct control *self)
{
	bool is_over = false;

	self->look_ms = time_monotonic_ms() + LOOK_MS;
	while (!is_over) {
		struct pollfd fds[] = {{.fd = self->signal_fd, .events = POLLIN},
				       {.fd = self->watch_fd, .events = POLLIN},
				       {.fd = store_watch_fd(self->store, NULL), .events = POLLIN}};
		int64_t until_ms = self->settle_ms ? MIN(self->settle_ms, self->look_ms) : self->look_ms;

		poll(fds, ARRAY_LEN(fds), (int)MAX(0, until_ms - time_monotonic_ms()));
		if (fds[1].revents || fds[2].revents)
			drain_events(self);
		if (time_monotonic_ms() >= until_ms)
			look(self);
		is_over = handle_signals(self);
		/* an old snapshot leaves a heap full of holes behind */
		if (holder_collect(self->serve->holder))
			malloc_trim(0);
	}
}

/* As long as the configuration says, or until another signal. */
static void serve_on(struct control *self, int64_t ms)
{
	int64_t until_ms = time_monotonic_ms() + ms, left_ms;

	while ((left_ms = until_ms - time_monotonic_ms()) > 0) {
		struct pollfd signals = {.fd = self->signal_fd, .events = POLLIN};
		int number;

		poll(&signals, 1, (int)MIN(left_ms, INT_MAX));
		number = next_signal(self);
		if (number && number != SIGHUP)
			return;
	}
}

void control_drain(struct control *self)
{
	const struct webhook_config *config = &config_share_get(self->config)->webhook;

	atomic_store(&self->serve->is_draining, true);
	log_event(LOG_INFO, "draining", "ms", log_i64(config->drain_ms), NULL);
	http_server_drain_start(self->serve->server);
	serve_on(self, config->drain_ms);
	if (http_server_drain_finish(self->serve->server, config->request_timeout_ms))
		log_event(LOG_WARN, "requests were still under way", "requests",
			  log_i64(http_server_in_flight(self->serve->server)), NULL);
}
