/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubectl.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS	10
#define NOT_FOUND	127 /* exit codes of a child that cannot execute kubectl, as in shells */
#define CANNOT_EXECUTE	126
#define SERVING		"Starting to serve"
#define INSTALL_KUBECTL "outside a pod, memtamer needs it (https://kubernetes.io/docs/tasks/tools/)"

/* What the context says: the server and, on the next line, the namespace, which may be empty. */
#define VIEW "jsonpath={.clusters[0].cluster.server}{\"\\n\"}{.contexts[0].context.namespace}"

/* State of a start, shared by both runs of kubectl. */
struct startup {
	const char *kubeconfig, *context;
	int64_t timeout_ms, deadline_ms; /* deadline_ms is by time_monotonic_ms */
	int signals;			 /* readable when a signal to terminate is pending */
	struct err *err;
};

static void close_files(struct kubectl_child *self)
{
	closep(&self->out);
	closep(&self->words);
}

/* @return the wait status; 0 if SIGCHLD is ignored, because the kernel keeps no status then. */
static int reap(struct kubectl_child *self)
{
	int status = 0;

	while (waitpid(self->pid, &status, 0) < 0 && errno == EINTR)
		;
	self->pid = 0;
	return status;
}

static void end_child(struct kubectl_child *self)
{
	if (self->pid) {
		/* both, because the child may not have its process group yet */
		kill(-self->pid, SIGKILL);
		kill(self->pid, SIGKILL);
		reap(self);
	}
	close_files(self);
}

/* Runs in the child. The child has its own process group, so that Ctrl-C does not end it: our last requests may need
 * the proxy. */
static void become_kubectl(const struct kubectl_child *self, pid_t parent, int out, char *const *arguments)
{
	sigset_t none;
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	sigemptyset(&none);
	if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || in < 0 ||
	    dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(self->words, STDERR_FILENO) < 0 ||
	    signal(SIGPIPE, SIG_DFL) == SIG_ERR || sigprocmask(SIG_SETMASK, &none, NULL))
		_exit(CANNOT_EXECUTE);
	execvp(arguments[0], arguments);
	_exit(errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE);
}

/* A memory file for kubectl's stderr. kubectl logs a line for each request that fails while the proxy runs; the file
 * cannot grow, so nobody has to read it. */
static int make_words(void)
{
	int fd = memfd_create("kubectl", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, LIMIT_KUBECTL_WORDS_BYTES) || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW)))
		closep(&fd);
	return fd;
}

/* Whether a line is a log line of the proxy, such as "E1123 15:04:05.123456 ...". It is about a request, whose answer
 * contains the same information. */
static bool is_log_line(const char *line, size_t n)
{
	return n > 5 && strchr("IWEF", line[0]) && strspn(line + 1, "0123456789") == 4 && line[5] == ' ';
}

/* Reads what kubectl wrote to stderr as one line. */
static void read_words(const struct kubectl_child *self, struct strbuf *ret)
{
	char text[LIMIT_KUBECTL_WORDS_BYTES + 1] = "", words[sizeof(text)];
	size_t n;

	if (pread(self->words, text, sizeof(text) - 1, 0) < 0)
		return;
	for (const char *line = text; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		if (!n || is_log_line(line, n))
			continue;
		if (ret->len)
			strbuf_addc(ret, ' ');
		str_to_line((struct str){line, n}, words, sizeof(words));
		strbuf_adds(ret, words);
	}
}

/* Explains why a run of kubectl has failed. @return -ENOPKG; -EINVAL. */
static int judge(const struct kubectl_child *self, int status, const char *what, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(2 * LIMIT_KUBECTL_WORDS_BYTES);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	read_words(self, &words);
	if (words.len)
		return err_set(err, -EINVAL, "%s: %s", what, strbuf_text(&words));
	if (code == NOT_FOUND || code == CANNOT_EXECUTE)
		return err_set(err, -ENOPKG, "kubectl %s: " INSTALL_KUBECTL,
			       code == NOT_FOUND ? "is not in PATH" : "cannot be executed");
	if (WIFSIGNALED(status))
		return err_set(err, -EINVAL, "%s was ended by signal %d", what, WTERMSIG(status));
	return err_set(err, -EINVAL, "%s ended with exit code %d", what, code);
}

static int start_child(const struct startup *startup, const char *const *more, struct kubectl_child *ret)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(LIMIT_KUBECTL_BYTES), context = path;
	const char *arguments[ARGUMENTS] = {"kubectl"};
	pid_t parent = getpid();
	int out[2], n = 1;

	if (startup->kubeconfig && *startup->kubeconfig && !strbuf_addf(&path, "--kubeconfig=%s", startup->kubeconfig))
		arguments[n++] = strbuf_text(&path);
	if (startup->context && *startup->context && !strbuf_addf(&context, "--context=%s", startup->context))
		arguments[n++] = strbuf_text(&context);
	while (*more)
		arguments[n++] = *more++;
	if (path.status || context.status)
		return err_set(startup->err, -ENOMEM, "out of memory");
	ret->words = make_words();
	if (ret->words < 0 || pipe2(out, O_CLOEXEC))
		return err_set(startup->err, -errno, "cannot run kubectl: %s", strerror(errno));
	ret->out = out[0];
	ret->pid = fork();
	if (!ret->pid)
		become_kubectl(ret, parent, out[1], (char *const *)(uintptr_t)arguments);
	close(out[1]);
	if (ret->pid > 0)
		return 0;
	ret->pid = 0;
	return err_set(startup->err, -errno, "cannot run kubectl: %s", strerror(errno));
}

/* Reads until the child has written `until` or closed its output. @return 0; 1 it closed its output; -ETIMEDOUT;
 * -EINTR; another -errno. */
static int read_output(const struct startup *startup, const struct kubectl_child *child, const char *until,
		       struct strbuf *ret)
{
	struct pollfd fds[] = {{.fd = child->out, .events = POLLIN}, {.fd = startup->signals, .events = POLLIN}};
	char bytes[4096];
	ssize_t n = 1;

	while (n && !(until && strstr(strbuf_text(ret), until))) {
		int64_t left_ms = startup->deadline_ms - time_monotonic_ms();

		if (left_ms <= 0)
			return err_set(startup->err, -ETIMEDOUT, "kubectl was not ready within %lld ms",
				       (long long)startup->timeout_ms);
		if (poll(fds, ARRAY_LEN(fds), (int)left_ms) < 0 && errno != EINTR)
			return err_set(startup->err, -errno, "cannot wait for kubectl");
		if (fds[1].revents)
			return err_set(startup->err, -EINTR, "interrupted");
		if (!fds[0].revents)
			continue;
		n = read(child->out, bytes, sizeof(bytes));
		if (n < 0 || strbuf_add(ret, bytes, (size_t)n))
			return err_set(startup->err, -EIO, "the output of kubectl cannot be read, or is too long");
	}
	return !n;
}

static int read_view(struct kubectl *self, const char *text, struct err *err)
{
	size_t n_server = strcspn(text, "\n");
	const char *namespace = text + n_server + (text[n_server] == '\n');

	if (!n_server)
		return err_set(err, -EINVAL, "kubectl config view: the context names no server");
	/* kubectl accepts "localhost:8080", too */
	if (asprintf(&self->server, "%s%.*s", memmem(text, n_server, "://", 3) ? "" : "http://", (int)n_server, text) <
	    0)
		self->server = NULL;
	self->namespace = strdup(*namespace ? namespace : "default");
	return self->server && self->namespace ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int view(const struct startup *startup, struct kubectl *self)
{
	static const char *const arguments[] = {"config", "view", "--minify", "-o", VIEW, NULL};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_KUBECTL_BYTES);
	struct kubectl_child child = {.out = -1, .words = -1};
	int r = start_child(startup, arguments, &child), status;

	if (!r)
		r = read_output(startup, &child, NULL, &text);
	if (r > 0) {
		status = reap(&child);
		r = status || !text.len ? judge(&child, status, "kubectl config view", startup->err)
					: read_view(self, strbuf_text(&text), startup->err);
	}
	end_child(&child);
	if (r && startup->err && strstr(startup->err->msg, "current-context"))
		err_wrap(startup->err, "no context is chosen: give --context, or use `kubectl config use-context`");
	return r;
}

/* Opens the socket by its path, which is then removed. Later connections use the path of the descriptor in /proc. */
static int serve_in(const struct startup *startup, const char *folder, struct kubectl *self)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB), option = text, path = text;
	const char *arguments[] = {"proxy", "--append-server-path", NULL, NULL};
	int r;

	strbuf_addf(&path, "%s/socket", folder);
	if (strbuf_addf(&option, "--unix-socket=%s", strbuf_text(&path)))
		return err_set(startup->err, -ENAMETOOLONG, "TMPDIR is too long");
	arguments[2] = strbuf_text(&option);
	r = start_child(startup, arguments, &self->proxy);
	if (!r)
		r = read_output(startup, &self->proxy, SERVING, &text);
	if (r > 0)
		r = judge(&self->proxy, reap(&self->proxy), "kubectl proxy", startup->err);
	if (!r && (self->socket_fd = open(strbuf_text(&path), O_PATH | O_CLOEXEC)) < 0)
		r = err_set(startup->err, -errno, "kubectl proxy has made no socket: %s", strerror(errno));
	if (!r)
		snprintf(self->socket, sizeof(self->socket), "/proc/self/fd/%d", self->socket_fd);
	unlink(strbuf_text(&path));
	return r;
}

static int serve(const struct startup *startup, struct kubectl *self)
{
	CLEANUP(strbuf_release) struct strbuf folder = STRBUF_INIT(4 * KIB);
	const char *parent = getenv("TMPDIR");
	int r;

	if (strbuf_addf(&folder, "%s/memtamer-XXXXXX", parent && *parent ? parent : "/tmp"))
		return err_set(startup->err, -ENAMETOOLONG, "TMPDIR is too long");
	if (!mkdtemp(folder.text))
		return err_set_at(startup->err, -errno, parent ? parent : "/tmp", 0, 0,
				  "cannot make a folder for the socket of kubectl: %s", strerror(errno));
	r = serve_in(startup, strbuf_text(&folder), self);
	rmdir(strbuf_text(&folder));
	return r;
}

static int start(struct startup *startup, struct kubectl *self)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
	sigset_t stops, before;
	int r;

	/* a program that has blocked a signal reads it itself later */
	sigemptyset(&stops);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!sigismember(&before, numbers[i]))
			sigaddset(&stops, numbers[i]);
	pthread_sigmask(SIG_BLOCK, &stops, NULL);
	startup->signals = signalfd(-1, &stops, SFD_CLOEXEC);
	r = startup->signals < 0 ? err_set(startup->err, -errno, "cannot make a signalfd") : view(startup, self);
	if (!r)
		r = serve(startup, self);
	closep(&startup->signals);
	/* a signal that arrived meanwhile takes effect here, when the socket's folder has been removed */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int kubectl_start(const char *kubeconfig, const char *context, int64_t timeout_ms, struct kubectl **ret,
		  struct err *err)
{
	struct startup startup = {.kubeconfig = kubeconfig,
				  .context = context,
				  .timeout_ms = timeout_ms,
				  .deadline_ms = time_monotonic_ms() + timeout_ms,
				  .err = err};
	struct kubectl *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->socket_fd = self->proxy.out = self->proxy.words = -1;
	r = start(&startup, self);
	if (r) {
		kubectl_stop(self);
		return r;
	}
	*ret = self;
	return 0;
}

void kubectl_stop(struct kubectl *self)
{
	if (!self)
		return;
	end_child(&self->proxy);
	closep(&self->socket_fd);
	free(self->server);
	free(self->namespace);
	free(self);
}

void kubectl_explain(struct kubectl *self, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(2 * LIMIT_KUBECTL_WORDS_BYTES);
	siginfo_t info = {.si_pid = 0};
	bool has_ended = waitid(P_PID, (id_t)self->proxy.pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;

	read_words(&self->proxy, &words);
	err_wrap(err, "kubectl proxy%s%s%s", has_ended ? " has ended" : "", words.len ? ": " : "", strbuf_text(&words));
}
