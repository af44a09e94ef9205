/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "unit/review_run.h"

#include "base/str.h"
#include "cli/cli.h"
#include "review/review_command.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char work[] = "/tmp/memtamer-review-XXXXXX";

void output_release(struct output *o)
{
	strbuf_release(&o->out);
	strbuf_release(&o->err);
}

static void read_back(FILE *file, struct strbuf *ret)
{
	char block[4096];
	size_t n;

	rewind(file);
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		strbuf_add(ret, block, n);
	fclose(file);
}

static bool says_mode(const char *const *words)
{
	for (; *words; words++)
		if (streq(*words, "-m") || streq(*words, "--config"))
			return true;
	return false;
}

/* `review` and the given words, in the work folder, with standard output and error caught. */
struct output review(const char *const *words)
{
	const struct cli_command commands[] = {review_command, {0}};
	const struct cli_program program = {"memtamer-webhook", "", commands, NULL, NULL};
	struct output o = {.out = STRBUF_INIT(64 * MIB), .err = STRBUF_INIT(MIB)};
	char *argv[16] = {(char[]){"memtamer-webhook"}, (char[]){"review"}};
	FILE *files[2] = {tmpfile(), tmpfile()};
	int argc = 2, saved[2] = {dup(1), dup(2)};

	if (!says_mode(words)) {
		assert_non_null(argv[argc++] = strdup("--mode"));
		assert_non_null(argv[argc++] = strdup("raise"));
	}
	for (; *words; words++)
		assert_non_null(argv[argc++] = strdup(*words));
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		dup2(fileno(files[i]), i + 1);
	o.code = cli_main(&program, argc, argv);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
	read_back(files[0], &o.out);
	read_back(files[1], &o.err);
	for (int i = 2; i < argc; i++)
		free(argv[i]);
	return o;
}

void write_n(const char *name, const char *text, size_t n)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, n, file), n);
	fclose(file);
}

void write_text(const char *name, const char *text)
{
	write_n(name, text, strlen(text));
}

int enter_work(void **state)
{
	(void)state;
	/* no cluster, whoever's machine this is */
	setenv("KUBECONFIG", "/nonexistent", 1);
	unsetenv("KUBERNETES_SERVICE_HOST");
	return !mkdtemp(work) || chmod(work, 0755) || chdir(work);
}

int leave_work(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", work);
	return chdir("/") || system(command);
}
