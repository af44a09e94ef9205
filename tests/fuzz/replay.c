/* SPDX-License-Identifier: Apache-2.0 */
/* replay: runs a fuzz target without a fuzzer: every file of the corpus as it is, cut short, and with a few bytes
 * changed. The changes come from a fixed seed: the same corpus makes the same inputs on every machine, and a failure is
 * found again. Inputs are handed over in a block of exactly their size, so that a sanitizer sees a read behind them.
 *
 * replay_NAME FILE|FOLDER...; an empty corpus is an error, because a replay of nothing cannot fail. */
#include "base/attr.h"
#include "base/err.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIANTS      20000 /* of a whole corpus: where it is large, its files vary among themselves */
#define CUTS	      64    /* at most, of one file */
#define CHANGES	      128
#define CORPUS_BYTES  (1 * MIB)
#define CHANGED_BYTES (16 * KIB) /* larger inputs are not varied: time */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t next_random(uint64_t *state)
{
	/* splitmix64 */
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void run_exact(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	if (size)
		memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static void run_cuts(const uint8_t *data, size_t size, size_t cuts)
{
	size_t step = size / cuts + 1;

	for (size_t n = 0; n < size; n += step)
		run_exact(data, n);
}

static void run_changes(uint8_t *data, size_t size, size_t changes)
{
	static const uint8_t telling[] = "\0\"\\{}[]:,-+.eEnum0987 \n\t\xff\xc0\x80";
	uint64_t state = size;

	for (size_t i = 0; size && i < changes; i++) {
		size_t at = next_random(&state) % size;
		uint64_t pick = next_random(&state);
		uint8_t before = data[at];

		if (pick & 1)
			data[at] ^= (uint8_t)(1u << ((pick >> 1) & 7));
		else
			data[at] = telling[(pick >> 1) % (sizeof(telling) - 1)];
		run_exact(data, size);
		/* Every other change stays: inputs drift away from the valid one. */
		if (i & 1)
			data[at] = before;
	}
}

/* `n` files are in its corpus. */
static int run_file(const char *path, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(CORPUS_BYTES);
	struct err err = ERR_INIT;
	char line[700];
	uint8_t *data;

	if (io_read_file(path, &text, &err)) {
		fprintf(stderr, "%s\n", err_text(&err, line, sizeof(line)));
		return 1;
	}
	/* A sanitizer's report does not say which input it was. */
	printf("%s\n", path);
	fflush(stdout);
	data = (uint8_t *)text.text;
	run_exact(data, text.len);
	if (text.len <= CHANGED_BYTES) {
		run_cuts(data, text.len, MAX(MIN((size_t)CUTS, VARIANTS / 3 / n), (size_t)1));
		run_changes(data, text.len, MAX(MIN((size_t)CHANGES, VARIANTS * 2 / 3 / n), (size_t)1));
	}
	return 0;
}

static int run_path(const char *path, size_t *count)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, NULL, alphasort), status = 0;

	if (n < 0) {
		(*count)++;
		return run_file(path, 1);
	}
	for (int i = 0; i < n; i++) {
		char file[4096];

		if (entries[i]->d_name[0] != '.') {
			snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
			status |= run_file(file, (size_t)n);
			(*count)++;
		}
		free(entries[i]);
	}
	free(entries);
	return status;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	int status = 0;

	for (int i = 1; i < argc; i++)
		status |= run_path(argv[i], &count);
	if (!count) {
		fprintf(stderr, "no inputs\n");
		return 1;
	}
	printf("%zu inputs and their changes\n", count);
	return status;
}
