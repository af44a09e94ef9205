/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is a file of manifests for `memtamer-webhook review`: with -o yaml, what is printed parses, and printed from
 * that it is the same again; without a change it is the file. With -o json it is JSON. */
#include "base/json.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "fuzz/fuzz_cost.h"
#include "fuzz_text.h"
#include "review/review_command.h"
#include "yaml/yaml_tree.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char store_text[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":"
	"\"MemoryProfile\",\"metadata\":{\"namespace\":\"default\",\"name\":\"train-0123456789\"},\"spec\":{},"
	"\"status\":{\"workload\":\"Job/train\",\"role\":\"\",\"container\":\"c1\",\"aliases\":[\"Pod/train\"],"
	"\"revision\":1,\"updated\":\"2026-11-02T08:15:00Z\",\"recommendation\":{\"request\":\"8Gi\",\"limit\":"
	"\"12Gi\","
	"\"median\":\"8Gi\",\"p95\":\"10Gi\",\"peak\":\"10Gi\",\"runs\":14,\"wholeRuns\":14,\"confidence\":\"high\"}}}]"
	"}";

struct path {
	char text[64];
};

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* A file in memory, and its path. */
static int file_of(const char *text, size_t n, struct path *ret)
{
	int fd = memfd_create("manifest", MFD_CLOEXEC);

	require(fd >= 0 && (n == 0 || write(fd, text, n) == (ssize_t)n), "a file in memory");
	snprintf(ret->text, sizeof(ret->text), "/proc/self/fd/%d", fd);
	return fd;
}

/* An alias may stand for all of the text, and each TrainJob is reviewed with all of its runtime. */
static uint64_t most_steps(const char *text, size_t n)
{
	bool has_product = n && (memchr(text, '*', n) || memmem(text, n, "TrainJob", strlen("TrainJob")));

	return COST_MANIFEST_STEPS(has_product ? LIMIT_YAML_NODES : n);
}

/* @return the exit code; `ret` is standard output. Errors go nowhere: a sanitizer writes to the descriptor. */
static int review(const char *text, size_t n, const char *mode, const char *format, struct strbuf *ret)
{
	static struct path store;
	const struct cli_command commands[] = {review_command, {0}};
	const struct cli_program program = {"memtamer-webhook", "", commands, NULL, NULL};
	struct path manifest;
	FILE *out = stdout, *errors = stderr;
	char *written = NULL;
	size_t n_written = 0;
	int fd = file_of(text, n, &manifest), code;

	if (!*store.text)
		(void)file_of(store_text, sizeof(store_text) - 1, &store);
	{
		char *argv[] = {(char[]){"memtamer-webhook"},
				(char[]){"review"},
				(char[]){"--store"},
				store.text,
				(char[]){"-m"},
				(char *)(uintptr_t)mode,
				(char[]){"-o"},
				(char *)(uintptr_t)format,
				manifest.text,
				NULL};

		stdout = open_memstream(&written, &n_written);
		stderr = fopen("/dev/null", "w");
		require(stdout && stderr, "streams");
		cost_begin();
		code = cli_main(&program, 9, argv);
		fuzz_cost_end_within(n, most_steps(text, n));
		fclose(stdout);
		fclose(stderr);
		stdout = out;
		stderr = errors;
	}
	close(fd);
	require(strbuf_add(ret, written, n_written) == 0, "output of a bounded length");
	free(written);
	return code;
}

static void check_yaml(const char *text, size_t n, const char *mode)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(256 * MIB);
	CLEANUP(strbuf_release) struct strbuf once = STRBUF_INIT(64 * MIB), twice = STRBUF_INIT(64 * MIB);
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	if (review(text, n, mode, "yaml", &once) > 1)
		return;
	/* JSON values that stay as they are may have characters that YAML does not have, or that break its lines. */
	if (once.len && yaml_tree_parse_lenient(once.text, once.len, "out", &arena, &documents, &err)) {
		require(strstr(err.msg, "control characters are not allowed") || has_unicode_break(text, n),
			"what is printed parses");
		return;
	}
	require(!streq(mode, "observe") || once.len == 0 || (once.len == n && memcmp(once.text, text, n) == 0),
		"what needs no change is printed as it is");
	require(review(strbuf_text(&once), once.len, mode, "yaml", &twice) <= 1, "what is printed is reviewed");
	require(streq(strbuf_text(&once), strbuf_text(&twice)), "a patched manifest is not patched again");
}

static void check_json(const char *text, size_t n, const char *mode)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * MIB);
	CLEANUP(json_putp) struct json_object *json = NULL;

	(void)review(text, n, mode, "json", &out);
	require(json_parse(strbuf_text(&out), out.len, 64, &json, NULL) == 0, "-o json is JSON");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const modes[] = {"enforce", "raise", "fill", "observe"};
	const char *text = (const char *)data + 1, *mode;

	if (!size)
		return 0;
	setenv("KUBECONFIG", "/nonexistent", 1);
	mode = modes[data[0] % ARRAY_LEN(modes)];
	check_yaml(text, size - 1, mode);
	check_json(text, size - 1, mode);
	return 0;
}
