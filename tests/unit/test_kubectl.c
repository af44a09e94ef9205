/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to the API server: through kubectl (tests/support/kubectl/kubectl), and by the service account of a pod. */
#include "base/io.h"
#include "base/timefmt.h"
#include "fake_api.h"
#include "kube/kube_access.h"
#include "kube/kubectl.h"
#include "support/kubectl.h"
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PATIENCE_MS (120 * TIME_SECOND_MS)

static const struct fake_step steps[] = {{.fits = "GET /ok ", .body = "{\"x\":1}", .times = 100}, {0}};
static char folder[] = "/tmp/memtamer-kubectl-XXXXXX"; /* and what makes folders in TMPDIR makes them in there */
static char kubeconfig[96], search_path[4096];
static struct fake_api *api;

static void write_in(const char *name, const char *text)
{
	char path[160];
	struct err err = ERR_INIT;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(io_write_file_atomic(path, text, strlen(text), 0600, &err), 0);
}

static void remove_in(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(remove(path), 0);
}

static size_t files_in_folder(void)
{
	DIR *all = opendir(folder);
	size_t n = 0;

	assert_non_null(all);
	while (readdir(all))
		n++;
	closedir(all);
	return n - 2;
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static int set_up(void **state)
{
	(void)state;
	setenv("PATH", search_path, 1);
	unsetenv("FAKE_KUBECTL");
	unsetenv("KUBECONFIG");
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_PORT");
	return setenv("HOME", "/nonexistent", 1);
}

static int get(struct kube_client *client, const char *path, int64_t timeout_ms, struct err *err)
{
	const struct kube_request request = {.raw_path = path, .timeout_ms = timeout_ms};

	return kube_client_call(client, &request, NULL, err);
}

static void test_requests_go_through_the_proxy(void **state)
{
	(void)state;
	static const struct {
		const char *name, *context, *namespace;
	} rows[] = {
		{"the current context", NULL, "memtamer"},
		{"an empty name is none", "", "memtamer"},
		{"a context without a namespace", "bare", "default"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(kube_access_release) struct kube_access access = KUBE_ACCESS_INIT;
		struct err err = ERR_INIT;
		pid_t pid;

		test_row(rows[i].name);
		assert_int_equal(kube_access_open(kubeconfig, rows[i].context, "tester", &access, &err), 0);
		assert_string_equal(access.namespace, rows[i].namespace);
		assert_string_equal(access.server.url, fake_api_url(api));
		assert_int_equal(files_in_folder(), 1); /* the kubeconfig: the socket has no name any more */
		assert_int_equal(get(access.client, "/ok", 0, &err), 0);
		assert_int_equal(get(access.client, "/ok", 0, &err), 0);
		pid = access.server.kubectl->proxy.pid;
		assert_true(is_alive(pid));
		kube_access_release(&access);
		assert_false(is_alive(pid));
	}
	assert_int_equal(fake_api_count(api, "Host: localhost\r\n"), 2 * ARRAY_LEN(rows));
	assert_int_equal(fake_api_count(api, "User-Agent: tester\r\n"), 2 * ARRAY_LEN(rows));
	assert_int_equal(fake_api_count(api, "Authorization"), 0);
}

static void test_kubectl_that_does_not_serve(void **state)
{
	(void)state;
	static const struct {
		const char *name, *fault, *context, *path;
		int64_t timeout_ms;
		int code;
		const char *message;
	} rows[] = {
		{"not there", "", NULL, "/nonexistent", PATIENCE_MS, -ENOPKG,
		 "kubectl is not in PATH: outside a pod, memtamer needs it (https://kubernetes.io/docs/tasks/tools/)"},
		{"no such context", "", "nobody", NULL, PATIENCE_MS, -EINVAL,
		 "kubectl config view: error: cannot locate context nobody"},
		{"it refuses", "refuses", NULL, NULL, PATIENCE_MS, -EINVAL,
		 "kubectl proxy: error: invalid configuration: unable to read client-cert * of nobody"},
		{"it never listens", "hangs", NULL, NULL, 200, -ETIMEDOUT, "kubectl was not ready within 200 ms"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kubectl *kubectl = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		setenv("FAKE_KUBECTL", rows[i].fault, 1);
		setenv("PATH", rows[i].path ? rows[i].path : search_path, 1);
		assert_int_equal(kubectl_start(kubeconfig, rows[i].context, rows[i].timeout_ms, &kubectl, &err),
				 rows[i].code);
		assert_null(kubectl);
		assert_string_equal(err.msg, rows[i].message);
		assert_int_equal(files_in_folder(), 1);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	}
}

static void test_what_is_no_kubectl(void **state)
{
	(void)state;
	static const struct {
		const char *name, *script, *message;
	} rows[] = {
		{"silent", "exit 0", "kubectl config view ended with exit code 0"},
		{"no server", "echo; echo team", "kubectl config view: the context names no server"},
		{"killed", "kill -9 $$", "kubectl config view was ended by signal 9"},
		{"endless", "cat /dev/zero", "the output of kubectl cannot be read, or is too long"},
		{"only words", "echo 'W0101 00:00:00 x] y' >&2; echo 'what?' >&2; exit 127",
		 "kubectl config view: what?"},
		{"a server without scheme", "echo localhost:1", "kubectl proxy ended with exit code 0"},
	};
	char own[4200], script[512], file[96];

	snprintf(own, sizeof(own), "%s:%s", folder, search_path);
	snprintf(file, sizeof(file), "%s/kubectl", folder);
	setenv("PATH", own, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kubectl *kubectl = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", rows[i].script);
		write_in("kubectl", script);
		assert_int_equal(chmod(file, 0700), 0);
		assert_true(kubectl_start(kubeconfig, NULL, PATIENCE_MS, &kubectl, &err) < 0);
		if (strncmp(err.msg, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("%s", err.msg);
	}
	remove_in("kubectl");
}

static void test_requests_that_get_no_answer(void **state)
{
	(void)state;
	static const struct {
		const char *name, *fault;
		int64_t timeout_ms;
		int code;
		const char *message;
	} rows[] = {
		{"nobody is logged in", "login", 0, -ECONNREFUSED,
		 "kubectl proxy: getting credentials: exec: executable login failed with exit code 1  log in first"},
		{"it waits for a login", "waits", 300, -ETIMEDOUT,
		 "kubectl proxy: To sign in, enter the code ABC: timed out"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(kube_access_release) struct kube_access access = KUBE_ACCESS_INIT;
		struct err err = ERR_INIT;
		char url[128];

		test_row(rows[i].name);
		setenv("FAKE_KUBECTL", rows[i].fault, 1);
		assert_int_equal(kube_access_open(kubeconfig, NULL, NULL, &access, &err), 0);
		assert_int_equal(get(access.client, "/ok", rows[i].timeout_ms, &err), rows[i].code);
		snprintf(url, sizeof(url), "%s/ok", fake_api_url(api));
		assert_string_equal(err.where, url);
		if (strncmp(err.msg, rows[i].message, strlen(rows[i].message)) != 0)
			fail_msg("%s", err.msg);
	}
}

static void test_a_proxy_that_dies(void **state)
{
	(void)state;
	CLEANUP(kube_access_release) struct kube_access access = KUBE_ACCESS_INIT;
	struct err err = ERR_INIT;

	setenv("FAKE_KUBECTL", "dies", 1);
	assert_int_equal(kube_access_open(kubeconfig, NULL, NULL, &access, &err), 0);
	assert_true(get(access.client, "/ok", 0, &err) < 0);
	assert_non_null(strstr(err.msg, "fatal: the network is gone: "));
	/* its connections are closed a moment before it has ended */
	while (!strstr(err.msg, "kubectl proxy has ended: fatal: the network is gone: "))
		assert_true(get(access.client, "/ok", 0, &err) < 0);
	while (get(access.client, "/ok", 0, &err) != -ECONNREFUSED)
		assert_non_null(strstr(err.msg, "kubectl proxy has ended: "));
}

/* A shell's `trap '' CHLD` is inherited. */
static void test_an_ignored_signal(void **state)
{
	(void)state;
	CLEANUP(kube_access_release) struct kube_access access = KUBE_ACCESS_INIT;
	struct err err = ERR_INIT;

	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(kube_access_open(kubeconfig, NULL, NULL, &access, &err), 0);
	assert_int_equal(get(access.client, "/ok", 0, &err), 0);
	kube_access_release(&access);
	assert_int_equal(kube_access_open(kubeconfig, "nobody", NULL, &access, &err), -EINVAL);
	signal(SIGCHLD, SIG_DFL);
}

/* Of a process that is killed neither the proxy stays nor a file. */
static void test_a_crash_leaves_nothing(void **state)
{
	(void)state;
	pid_t child, proxy = 0;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	child = fork();
	if (!child) {
		struct kubectl *kubectl = NULL;

		if (!kubectl_start(kubeconfig, NULL, PATIENCE_MS, &kubectl, NULL) &&
		    write(fds[1], &kubectl->proxy.pid, sizeof(proxy)) > 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(read(fds[0], &proxy, sizeof(proxy)), sizeof(proxy));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(waitpid(proxy, NULL, 0), proxy); /* it would wait for ever for one that goes on */
	assert_int_equal(files_in_folder(), 1);
	close(fds[0]);
	close(fds[1]);
}

static volatile sig_atomic_t noted;

static void note_signal(int number)
{
	noted = number;
}

static void test_a_signal_during_the_start(void **state)
{
	(void)state;
	struct kubectl *kubectl = NULL;
	struct err err = ERR_INIT;
	sigset_t term, before, pending;
	pid_t sender;

	/* a program that reads its signals from a descriptor finds it there afterwards */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &term, &before), 0);
	raise(SIGTERM);
	assert_int_equal(kubectl_start(kubeconfig, NULL, PATIENCE_MS, &kubectl, &err), 0);
	assert_int_equal(sigpending(&pending), 0);
	assert_true(sigismember(&pending, SIGTERM));
	kubectl_stop(kubectl);
	kubectl = NULL;
	/* for one that has a handler it is an error */
	signal(SIGTERM, note_signal);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_int_equal(noted, SIGTERM);
	noted = 0;
	setenv("FAKE_KUBECTL", "hangs", 1);
	sender = fork();
	if (!sender) {
		while (files_in_folder() < 2)
			usleep(1000);
		_exit(kill(getppid(), SIGTERM));
	}
	assert_int_equal(kubectl_start(kubeconfig, NULL, PATIENCE_MS, &kubectl, &err), -EINTR);
	assert_null(kubectl);
	assert_int_equal(noted, SIGTERM);
	assert_int_equal(files_in_folder(), 1);
	assert_int_equal(waitpid(sender, NULL, 0), sender);
	signal(SIGTERM, SIG_DFL);
}

static void test_service_account(void **state)
{
	(void)state;
	struct kube_access access = {.arena = ARENA_INIT(4096), .namespace = "default"};
	struct err err = ERR_INIT;
	char path[96];

	assert_int_equal(kube_access_of_pod(folder, "fd00::1", "443", &access, &err), -ENOENT);
	assert_string_equal(err.where, folder);
	write_in("token", "abc\n");
	write_in("ca.crt", "x");
	assert_int_equal(kube_access_of_pod(folder, "10.0.0.1", "443", &access, &err), 0);
	assert_string_equal(access.server.url, "https://10.0.0.1:443");
	assert_string_equal(access.namespace, "default");
	write_in("namespace", "memtamer\n");
	assert_int_equal(kube_access_of_pod(folder, "fd00::1", "443", &access, &err), 0);
	assert_string_equal(access.server.url, "https://[fd00::1]:443");
	assert_string_equal(access.namespace, "memtamer");
	snprintf(path, sizeof(path), "%s/token", folder);
	assert_string_equal(access.server.token_file, path);
	kube_access_release(&access);
	remove_in("token");
	remove_in("ca.crt");
	remove_in("namespace");
}

static void test_which_way_is_taken(void **state)
{
	(void)state;
	struct err err = ERR_INIT;
	char list[256];
	const struct {
		const char *name, *path, *context, *environment, *home, *host;
		int code;
		const char *words; /* of the error */
	} rows[] = {
		{"nothing", NULL, NULL, NULL, NULL, NULL, -ENOENT, "give --kubeconfig"},
		{"a list of nothing", NULL, NULL, "/nonexistent::/dev/null", NULL, NULL, -ENOENT, "give --kubeconfig"},
		{"a path that is not there", "/nonexistent", NULL, NULL, NULL, NULL, -ENOENT, "cannot open"},
		{"a pod", NULL, NULL, NULL, NULL, "10.0.0.1", -ENOENT, "automountServiceAccountToken"},
		{"a pod with a kubeconfig", NULL, NULL, list, NULL, "10.0.0.1", 0, NULL},
		{"a list", NULL, NULL, list, NULL, NULL, 0, NULL},
		{"a path", kubeconfig, NULL, "/nonexistent", NULL, "10.0.0.1", 0, NULL},
		{"the home folder", NULL, NULL, NULL, folder, "10.0.0.1", 0, NULL},
		{"a context", NULL, "bare", NULL, NULL, "10.0.0.1", -EINVAL, "kubectl config view: error"},
	};
	CLEANUP(strbuf_release) struct strbuf content = STRBUF_INIT(1024);
	char text[700], kube[96];

	snprintf(list, sizeof(list), "/nonexistent::%s", kubeconfig);
	snprintf(kube, sizeof(kube), "%s/.kube", folder);
	assert_int_equal(mkdir(kube, 0700), 0);
	assert_int_equal(io_read_file(kubeconfig, &content, &err), 0);
	write_in(".kube/config", strbuf_text(&content));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(kube_access_release) struct kube_access access = KUBE_ACCESS_INIT;

		test_row(rows[i].name);
		set_up(NULL);
		if (rows[i].environment)
			setenv("KUBECONFIG", rows[i].environment, 1);
		if (rows[i].home)
			setenv("HOME", rows[i].home, 1);
		if (rows[i].host) {
			setenv("KUBERNETES_SERVICE_HOST", rows[i].host, 1);
			setenv("KUBERNETES_SERVICE_PORT", "443", 1);
		}
		assert_int_equal(kube_access_open(rows[i].path, rows[i].context, NULL, &access, &err), rows[i].code);
		if (rows[i].words && !strstr(err_text(&err, text, sizeof(text)), rows[i].words))
			fail_msg("%s", err.msg);
		assert_int_equal(!rows[i].code, access.server.kubectl != NULL);
	}
	remove_in(".kube/config");
	remove_in(".kube");
}

static void test_token_file_is_read_anew(void **state)
{
	(void)state;
	static const struct fake_step answers[] = {
		{.fits = "Bearer first\r\n", .body = "{}"}, {.fits = "Bearer second\r\n", .body = "{}"}, {0}};
	struct fake_api *own = fake_api_start(answers);
	char path[96];
	struct kube_server server = {.url = fake_api_url(own), .token_file = path};
	struct kube_client *client = NULL;
	struct err err = ERR_INIT;

	snprintf(path, sizeof(path), "%s/token", folder);
	assert_int_equal(kube_client_new(&server, NULL, &client, &err), 0);
	write_in("token", "first\n");
	assert_int_equal(get(client, "/x", 0, &err), 0);
	write_in("token", "second\n");
	assert_int_equal(get(client, "/x", 0, &err), 0);
	write_in("token", "a\nb\n");
	assert_int_equal(get(client, "/x", 0, &err), -EINVAL);
	assert_non_null(strstr(err.msg, path));
	remove_in("token");
	assert_int_equal(get(client, "/x", 0, &err), -ENOENT);
	kube_client_free(client);
	fake_api_free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_requests_go_through_the_proxy, set_up),
		cmocka_unit_test_setup(test_kubectl_that_does_not_serve, set_up),
		cmocka_unit_test_setup(test_what_is_no_kubectl, set_up),
		cmocka_unit_test_setup(test_requests_that_get_no_answer, set_up),
		cmocka_unit_test_setup(test_a_proxy_that_dies, set_up),
		cmocka_unit_test_setup(test_an_ignored_signal, set_up),
		cmocka_unit_test_setup(test_a_crash_leaves_nothing, set_up),
		cmocka_unit_test_setup(test_a_signal_during_the_start, set_up),
		cmocka_unit_test_setup(test_service_account, set_up),
		cmocka_unit_test_setup(test_which_way_is_taken, set_up),
		cmocka_unit_test_setup(test_token_file_is_read_anew, set_up),
	};
	sigset_t term;
	int r;

	if (!mkdtemp(folder))
		return 1;
	signal(SIGPIPE, SIG_IGN);
	use_fake_kubectl();
	snprintf(search_path, sizeof(search_path), "%s", getenv("PATH"));
	setenv("TMPDIR", folder, 1);
	/* its threads leave the signal to this one */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	api = fake_api_start(steps);
	sigprocmask(SIG_UNBLOCK, &term, NULL);
	snprintf(kubeconfig, sizeof(kubeconfig), "%s/kubeconfig-XXXXXX", folder);
	write_kubeconfig(kubeconfig, fake_api_url(api));
	r = cmocka_run_group_tests(tests, NULL, NULL);
	fake_api_free(api);
	unlink(kubeconfig);
	return rmdir(folder) || r;
}
