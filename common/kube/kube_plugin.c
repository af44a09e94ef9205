/* SPDX-License-Identifier: Apache-2.0 */
/* The child's life: started with posix_spawn in a process group of its own, read through pipes, watched through a
 * pidfd, so that nothing here ever waits. Its exit is its end, even if a grandchild holds the pipes open. */
#include "kube/kube_plugin.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/kube_plugin_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define STDERR_BYTES	 4096
#define SHORTEST_LIFE_MS (5 * TIME_SECOND_MS)

extern char **environ;

struct kube_plugin {
	const struct kubeconfig *kubeconfig;
	int64_t timeout_ms, deadline_ms;
	pid_t pid; /* 0: not running */
	int pidfd, out, problems;
	struct strbuf answer, complaint;
	bool has_credentials;
	struct kube_credentials credentials;
	struct kube_plugin_answer kept;
	unsigned int generation;
};

int kube_plugin_new(const struct kubeconfig *kubeconfig, int64_t timeout_ms, struct kube_plugin **ret, struct err *err)
{
	struct kube_plugin *self = calloc(1, sizeof(*self));

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->kubeconfig = kubeconfig;
	self->timeout_ms = timeout_ms;
	self->pidfd = self->out = self->problems = -1;
	self->answer = (struct strbuf)STRBUF_INIT(LIMIT_KUBE_PLUGIN_BYTES);
	self->complaint = (struct strbuf)STRBUF_INIT(STDERR_BYTES);
	*ret = self;
	return 0;
}

static void forget_answer(struct kube_plugin *self)
{
	if (self->answer.text)
		explicit_bzero(self->answer.text, self->answer.capacity);
	strbuf_clear(&self->answer);
	strbuf_clear(&self->complaint);
}

/* The child is gone or never was. */
static void clear_child(struct kube_plugin *self)
{
	closep(&self->pidfd);
	closep(&self->out);
	closep(&self->problems);
	self->pid = 0;
}

static void kill_child(struct kube_plugin *self)
{
	if (!self->pid)
		return;
	kill(-self->pid, SIGKILL);
	while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
		;
	clear_child(self);
}

void kube_plugin_free(struct kube_plugin *self)
{
	if (!self)
		return;
	kill_child(self);
	forget_answer(self);
	strbuf_release(&self->answer);
	strbuf_release(&self->complaint);
	kube_plugin_answer_release(&self->kept);
	free(self);
}

const struct kube_credentials *kube_plugin_credentials(const struct kube_plugin *self, int64_t now_ms)
{
	if (!self->has_credentials || (self->kept.expires_ms && now_ms >= self->kept.expires_ms))
		return NULL;
	return &self->credentials;
}

void kube_plugin_invalidate(struct kube_plugin *self, unsigned int generation)
{
	if (generation == self->generation)
		self->has_credentials = false;
}

bool kube_plugin_is_running(const struct kube_plugin *self)
{
	return self->pid != 0;
}

int64_t kube_plugin_deadline_ms(const struct kube_plugin *self)
{
	return self->deadline_ms;
}

/* The child's environment: ours, the plugin's, and what it is asked. The texts are borrowed. */
static char **make_environment(const struct kube_exec_config *exec, char *info)
{
	size_t n = 0, k = 0;
	char **all;

	while (environ && environ[n])
		n++;
	all = calloc(n + exec->n_env + 2, sizeof(*all));
	if (!all)
		return NULL;
	/* a later entry of the same name would be a second one: the plugin's go first and win */
	for (size_t i = 0; i < exec->n_env; i++)
		all[k++] = (char *)(uintptr_t)exec->env[i];
	all[k++] = info;
	for (size_t i = 0; i < n; i++) {
		size_t name = strcspn(environ[i], "=") + 1;
		bool is_replaced = strncmp(environ[i], info, name) == 0;

		for (size_t e = 0; e < exec->n_env && !is_replaced; e++)
			is_replaced = strncmp(environ[i], exec->env[e], name) == 0;
		if (!is_replaced)
			all[k++] = environ[i];
	}
	return all;
}

static char **make_arguments(const struct kube_exec_config *exec)
{
	char **all = calloc(exec->n_args + 2, sizeof(*all));

	if (!all)
		return NULL;
	all[0] = (char *)(uintptr_t)exec->command;
	for (size_t i = 0; i < exec->n_args; i++)
		all[i + 1] = (char *)(uintptr_t)exec->args[i];
	return all;
}

/* The program may have blocked signals (signalfd) and ignored SIGPIPE; a child starts as from a shell. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, ignored;
	int r;

	sigemptyset(&none);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	r = posix_spawnattr_setsigmask(attributes, &none);
	if (!r)
		r = posix_spawnattr_setsigdefault(attributes, &ignored);
	if (!r)
		r = posix_spawnattr_setpgroup(attributes, 0);
	if (!r)
		r = posix_spawnattr_setflags(attributes,
					     POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	return r;
}

static int set_files(posix_spawn_file_actions_t *actions, int out, int problems)
{
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	if (!r)
		r = posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
	return r ? r : posix_spawn_file_actions_adddup2(actions, problems, STDERR_FILENO);
}

/* 0 or a positive errno, as posix_spawn has it. */
static int spawn(struct kube_plugin *self, char **arguments, char **environment, int out, int problems)
{
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t actions;
	int r = posix_spawnattr_init(&attributes);

	if (r)
		return r;
	r = posix_spawn_file_actions_init(&actions);
	if (!r) {
		r = set_attributes(&attributes);
		if (!r)
			r = set_files(&actions, out, problems);
		if (!r)
			r = posix_spawnp(&self->pid, arguments[0], &actions, &attributes, arguments, environment);
		posix_spawn_file_actions_destroy(&actions);
	}
	posix_spawnattr_destroy(&attributes);
	return r;
}

static int spawn_with_pipes(struct kube_plugin *self, char **arguments, char **environment)
{
	int out[2] = {-1, -1}, problems[2] = {-1, -1}, r = 0;

	if (pipe2(out, O_CLOEXEC) || pipe2(problems, O_CLOEXEC) || fcntl(out[0], F_SETFL, O_NONBLOCK) ||
	    fcntl(problems[0], F_SETFL, O_NONBLOCK))
		r = errno;
	if (!r)
		r = spawn(self, arguments, environment, out[1], problems[1]);
	closep(&out[1]);
	closep(&problems[1]);
	self->out = out[0];
	self->problems = problems[0];
	if (r) {
		self->pid = 0;
		clear_child(self);
		return r;
	}
	self->pidfd = pidfd_open(self->pid, 0);
	/* no such process: it has ended already, and nobody waits for it (kube_plugin_step) */
	if (self->pidfd < 0 && errno != ESRCH) {
		r = errno;
		kill_child(self);
	}
	return r;
}

int kube_plugin_start(struct kube_plugin *self, struct err *err)
{
	const struct kube_exec_config *exec = self->kubeconfig->exec;
	CLEANUP(freep) char *info = NULL;
	CLEANUP(freep) char **environment = NULL;
	CLEANUP(freep) char **arguments = NULL;
	int r = kube_plugin_info(self->kubeconfig, &info, err);

	if (r)
		return r;
	environment = make_environment(exec, info);
	arguments = make_arguments(exec);
	if (!environment || !arguments)
		return err_set(err, -ENOMEM, "out of memory");
	forget_answer(self);
	r = spawn_with_pipes(self, arguments, environment);
	if (r == ENOENT || r == EACCES)
		return err_set(err, -r, "credential plugin %s %s%s%s", exec->command,
			       r == ENOENT ? "is not installed" : "cannot be run", exec->install_hint ? ": " : "",
			       exec->install_hint ? exec->install_hint : "");
	if (r)
		return err_set(err, -r, "cannot run the credential plugin %s: %s", exec->command, strerror(r));
	self->deadline_ms = time_monotonic_ms() + self->timeout_ms;
	return 0;
}

size_t kube_plugin_fds(const struct kube_plugin *self, struct pollfd *fds)
{
	const int all[] = {self->pidfd, self->out, self->problems};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i] >= 0)
			fds[n++] = (struct pollfd){.fd = all[i], .events = POLLIN};
	return n;
}

/* What is there now. A closed pipe is no longer waited for. */
static void drain(int *fd, struct strbuf *buf, bool keeps_start)
{
	char bytes[4096];

	while (*fd >= 0) {
		ssize_t n = read(*fd, bytes, sizeof(bytes));

		if (n > 0)
			strbuf_add(buf, bytes, keeps_start ? MIN((size_t)n, buf->max - buf->len) : (size_t)n);
		else if (n < 0 && errno == EAGAIN)
			return;
		else if (n == 0 || errno != EINTR)
			closep(fd);
	}
}

static void drain_all(struct kube_plugin *self)
{
	drain(&self->out, &self->answer, false);
	drain(&self->problems, &self->complaint, true);
}

/* ": first line of what it said" */
static void add_complaint(const struct kube_plugin *self, struct err *err)
{
	const char *text = strbuf_text(&self->complaint);
	size_t have = err ? strlen(err->msg) : 0, n = strcspn(text, "\r\n");

	if (err && n && have < sizeof(err->msg))
		snprintf(err->msg + have, sizeof(err->msg) - have, ": %.*s", (int)MIN(n, 200), text);
}

static int judge(struct kube_plugin *self, int wait_status, int64_t now_ms, struct err *err)
{
	const char *command = self->kubeconfig->exec->command;
	struct kube_plugin_answer answer = {0};
	int r;

	if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status)) {
		if (WIFEXITED(wait_status))
			err_set(err, -EACCES, "credential plugin %s failed with exit code %d", command,
				WEXITSTATUS(wait_status));
		else
			err_set(err, -EACCES, "credential plugin %s was ended by signal %d", command,
				WTERMSIG(wait_status));
		add_complaint(self, err);
		return -EACCES;
	}
	r = self->answer.status
		    ? err_set(err, self->answer.status, "its answer is longer than %zu bytes", LIMIT_KUBE_PLUGIN_BYTES)
		    : kube_plugin_parse(strbuf_text(&self->answer), self->answer.len,
					self->kubeconfig->exec->api_version, &answer, err);
	if (r) {
		err_wrap(err, "credential plugin %s", command);
		return r;
	}
	kube_plugin_answer_release(&self->kept);
	self->kept = answer;
	/* one that has expired already (clocks differ) is used all the same, or the plugin would run without end */
	if (answer.expires_ms)
		self->kept.expires_ms = MAX(answer.expires_ms, now_ms + SHORTEST_LIFE_MS);
	self->credentials = (struct kube_credentials){answer.token, answer.cert_pem, answer.key_pem,
						      ++self->generation};
	self->has_credentials = true;
	return 1;
}

int kube_plugin_step(struct kube_plugin *self, int64_t now_ms, struct err *err)
{
	siginfo_t info = {.si_pid = 0};
	int wait_status = 0, r;
	bool has_ended;

	if (!self->pid)
		return 0;
	/* where whoever started us ignores SIGCHLD, a child is gone when it ends: then its answer says how it went */
	has_ended = waitid(P_PID, (id_t)self->pid, &info, WEXITED | WNOHANG | WNOWAIT) ? errno == ECHILD : info.si_pid;
	if (!has_ended) {
		drain_all(self);
		if (time_monotonic_ms() < self->deadline_ms)
			return 0;
		kill_child(self);
		r = err_set(err, -ETIMEDOUT, "credential plugin %s did not answer within %lld ms",
			    self->kubeconfig->exec->command, (long long)self->timeout_ms);
		add_complaint(self, err);
		return r;
	}
	drain_all(self);
	while (waitpid(self->pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	clear_child(self);
	r = judge(self, wait_status, now_ms, err);
	forget_answer(self);
	return r;
}
