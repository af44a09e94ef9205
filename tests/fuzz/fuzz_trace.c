/* SPDX-License-Identifier: Apache-2.0 */
/* Any two files are a trace or are refused with a message. The input is runs.csv up to the first NUL byte, and
 * series.csv after it; it is compressed data if its first byte is that of gzip. Of what is read, every run has a peak
 * and use for its whole duration, and no rule gives it a limit of 0. */
#include "backtest/backtest.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/fuzz_trace.XXXXXX";
static char paths[3][64]; /* runs.csv, series.csv, series.csv.gz */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void remove_folder(void)
{
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		unlink(paths[i]);
	rmdir(folder);
}

static void make_folder(void)
{
	static const char *const names[] = {"runs.csv", "series.csv", "series.csv.gz"};

	if (paths[0][0])
		return;
	if (!mkdtemp(folder))
		abort();
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, names[i]);
	atexit(remove_folder);
}

static void put(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
}

static void check_run(void *context, const struct rule_run *run, bool is_cold)
{
	(void)context;
	(void)is_cold;
	if (run->given.limit_bytes <= 0 || run->given.request_bytes <= 0 ||
	    run->last_limit_bytes < run->run->peak_bytes)
		abort();
}

static void check_trace(const struct trace *trace)
{
	struct policy policy;

	policy_default(&policy);
	for (size_t i = 0; i < trace->runs.n; i++)
		if (trace->runs.items[i].peak_bytes <= 0 ||
		    trace->runs.items[i].use.total_weight != trace->runs.items[i].duration_ms)
			abort();
	for (size_t i = 0; i < trace->workloads.n * n_rules * WALK_VARIANT_COUNT_; i++)
		if (walk_workload(trace, &trace->workloads.items[i / n_rules / WALK_VARIANT_COUNT_], rules[i % n_rules],
				  (enum walk_variant)(i / n_rules % WALK_VARIANT_COUNT_), &policy.sizing, check_run,
				  NULL))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
	size_t n = nul ? (size_t)(nul - data) : size, n_series = nul ? size - n - 1 : 0;
	bool is_gzip = n_series && nul[1] == 0x1f;
	struct trace trace = TRACE_INIT;
	struct err err = ERR_INIT;
	int r;

	make_folder();
	unlink(paths[is_gzip ? 1 : 2]);
	put(paths[0], data, n);
	put(paths[is_gzip ? 2 : 1], nul ? nul + 1 : data, n_series);
	r = trace_read(&trace, folder, NULL, NULL, &err);
	if (!r)
		check_trace(&trace);
	else if (!err.msg[0])
		abort();
	trace_release(&trace);
	return 0;
}
