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

/* After an event: a certificate and its key come as two files. */
#define SETTLE_MS 30
#define LOOK_MS	  (2 * TIME_SECOND_MS)
/* Trimming walks through the whole heap: not for every snapshot of a busy cluster. */
#define TRIM_MS (10 * TIME_SECOND_MS)

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
	if (self->watch_fd >= 0 && inotify_add_watch(self->watch_fd, dirname(folder),
						     IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE) < 0)
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
	if (self->signal_fd < 0)
		return err_set(err, -errno, "cannot wait for signals: %s", strerror(errno));
	/* All programs of a node that run as one user share few of these (fs.inotify.max_user_instances). */
	self->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (self->watch_fd < 0)
		log_event(LOG_WARN, "no inotify; changes of files are seen within seconds", "error", strerror(errno),
			  NULL);
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
	control_cluster_free(self->cluster);
	closep(&self->signal_fd);
	closep(&self->watch_fd);
}

static void drain_events(struct control *self)
{
	char events[4096];

	while (read(self->watch_fd, events, sizeof(events)) > 0)
		;
	if (self->store)
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
	if (self->store)
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
		if (self->store)
			control_check_store(self, true);
	}
	return false;
}

/* Free what is out of use, on this thread. An old snapshot leaves a heap full of holes behind. */
static void collect(struct control *self)
{
	int64_t now_ms = time_monotonic_ms();

	if (holder_collect(self->serve->holder))
		self->needs_trim = true;
	if (!self->needs_trim || (self->trim_ms && now_ms < self->trim_ms + TRIM_MS))
		return;
	self->needs_trim = false;
	self->trim_ms = now_ms;
	malloc_trim(0);
}

/* Until something comes, at most until `until_ms`. */
static void wait_for(struct control *self, struct pollfd *fds, size_t n_fds, int64_t until_ms)
{
	int64_t wait_ms = MAX(0, until_ms - time_monotonic_ms());

	if (self->cluster)
		control_cluster_poll(self->cluster, fds, n_fds, wait_ms);
	else
		poll(fds, n_fds, (int)MIN(wait_ms, INT_MAX));
}

void control_run(struct control *self)
{
	bool is_over = false;

	self->look_ms = time_monotonic_ms() + LOOK_MS;
	while (!is_over) {
		struct pollfd fds[] = {{.fd = self->signal_fd, .events = POLLIN},
				       {.fd = self->watch_fd, .events = POLLIN},
				       {.fd = self->store ? store_watch_fd(self->store, NULL) : -1, .events = POLLIN}};
		int64_t until_ms = self->settle_ms ? MIN(self->settle_ms, self->look_ms) : self->look_ms;

		wait_for(self, fds, ARRAY_LEN(fds), until_ms);
		if (fds[1].revents || fds[2].revents)
			drain_events(self);
		if (time_monotonic_ms() >= until_ms)
			look(self);
		is_over = handle_signals(self);
		collect(self);
	}
}

/* As long as the configuration says, or until another signal. */
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
	const struct webhook_config *config = &config_share_get(self->config)->webhook;

	atomic_store(&self->serve->is_draining, true);
	log_event(LOG_INFO, "draining", "ms", log_i64(config->drain_ms), NULL);
	http_server_drain_start(self->serve->server);
	serve_on(self, config->drain_ms);
	if (http_server_drain_finish(self->serve->server, config->request_timeout_ms))
		log_event(LOG_WARN, "requests were still under way", "requests",
			  log_i64(http_server_in_flight(self->serve->server)), NULL);
}
