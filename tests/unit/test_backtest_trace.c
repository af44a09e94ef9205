/* SPDX-License-Identifier: Apache-2.0 */
/* A trace directory: what its two files say, and that everything else in them is an error with file and line. */
#include "support/test.h"

#include "backtest/csv.h"
#include "backtest/trace.h"
#include "base/gzip.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define HEADS_RUNS   "run,workload,start_unix,duration_s,limit_bytes,outcome\n"
#define RUN_A	     "a,w,1000,10,0,completed\n"
#define HEADS_SERIES "run,t_s,bytes\n"
#define MI	     ((int64_t)MIB)

struct folder {
	char path[64];
};

static void folder_init(struct folder *self)
{
	snprintf(self->path, sizeof(self->path), "/tmp/test_trace.XXXXXX");
	assert_non_null(mkdtemp(self->path));
}

static void folder_release(const struct folder *self)
{
	static const char *const names[] = {"runs.csv", "series.csv", "series.csv.gz"};
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", self->path, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(self->path), 0);
}

static void put_bytes(const struct folder *self, const char *name, const char *bytes, size_t n)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", self->path, name);
	assert_int_equal(io_write_file_atomic(path, bytes, n, 0600, NULL), 0);
}

static void put(const struct folder *self, const char *name, const char *text)
{
	put_bytes(self, name, text, strlen(text));
}

static void names_numbers_and_times_are_read(void **state)
{
	struct trace trace = TRACE_INIT;
	struct folder folder;
	const struct trace_run *run;

	(void)state;
	folder_init(&folder);
	/* Columns in another order, one that is unknown, a byte order mark, quotes, CRLF, an empty line. */
	put(&folder, "runs.csv",
	    "\xef\xbb\xbfworkload,run,note,duration_s,start_unix,role,limit_bytes,outcome\r\n"
	    "\"v, \"\"x\"\"\",late,-,10,2000.25,worker,,failed\r\n\r\n"
	    "\"v, \"\"x\"\"\",early,-,10.5,1000,worker,1073741824,\r\n"
	    "\"v, \"\"x\"\"\",other,-,10,1500,master,0,oom-killed");
	/* late: 4 s of 100Mi, 4 s of 300Mi, 2 s of 200Mi; the median is the value of the 5th second: 200Mi. */
	put(&folder, "series.csv",
	    "run,t_s,bytes\nlate,0,104857600\nlate,4,314572800\nlate,8.0,209715200\n"
	    "other,3,1048576\nearly,0,1048576\nearly,11,3145728\nearly,11,2097152\n");
	assert_int_equal(trace_read(&trace, folder.path, NULL, NULL, NULL), 0);
	assert_int_equal(trace.runs.n, 3);
	assert_int_equal(trace.workloads.n, 2);
	assert_int_equal(trace.n_samples, 7);
	assert_string_equal(trace.workloads.items[0].name, "v, \"x\"\nworker");
	assert_int_equal(trace.workloads.items[0].n, 2);

	run = &trace.runs.items[0]; /* by start */
	assert_string_equal(run->name, "early");
	assert_int_equal(run->limit_bytes, GIB);
	assert_int_equal(run->duration_ms, 10500);
	assert_int_equal(run->outcome, OUTCOME_COMPLETED);
	assert_int_equal(run->peak_bytes, 3 * MI); /* also of a row at the end */
	assert_true(run->use_gibh > 10.49 / 1024 / 3600 && run->use_gibh < 10.51 / 1024 / 3600);

	run = &trace.runs.items[1];
	assert_string_equal(run->name, "late");
	assert_int_equal(run->start_ms, 2000250);
	assert_int_equal(run->limit_bytes, 0);
	assert_int_equal(run->outcome, OUTCOME_FAILED);
	assert_int_equal(run->peak_bytes, 300 * MI);
	assert_true(run->use_gibh > 1999.9 / 1024 / 3600 && run->use_gibh < 2000.1 / 1024 / 3600);
	assert_true(run->median_bytes > 198 * MI && run->median_bytes < 202 * MI);

	run = &trace.runs.items[2]; /* its first value holds from the start */
	assert_int_equal(run->use.total_weight, 10000);
	trace_release(&trace);
	folder_release(&folder);
}

static void a_killed_run_needs_at_least_its_limit(void **state)
{
	struct trace trace = TRACE_INIT;
	struct folder folder;

	(void)state;
	folder_init(&folder);
	put(&folder, "runs.csv", HEADS_RUNS "a,w,1000,10,1073741824,oom-killed\n");
	put(&folder, "series.csv", HEADS_SERIES "a,0,1048576\n");
	assert_int_equal(trace_read(&trace, folder.path, NULL, NULL, NULL), 0);
	assert_int_equal(trace.runs.items[0].peak_bytes, GIB);
	trace_release(&trace);
	folder_release(&folder);
}

static void gzip_says_the_same_as_plain_text(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MIB);
	struct trace trace = TRACE_INIT;
	struct folder folder;

	(void)state;
	folder_init(&folder);
	put(&folder, "runs.csv", HEADS_RUNS "a,w,1000,100000,,\n");
	strbuf_adds(&text, HEADS_SERIES);
	for (int i = 0; i < 30000; i++) /* more than one buffer */
		strbuf_addf(&text, "a,%d,%d\n", i, 1000 + i);
	assert_int_equal(gzip_pack(text.text, text.len, GZIP_USUAL, &packed), 0);
	put_bytes(&folder, "series.csv.gz", packed.text, packed.len);
	assert_int_equal(trace_read(&trace, folder.path, NULL, NULL, NULL), 0);
	assert_int_equal(trace.n_samples, 30000);
	assert_int_equal(trace.runs.items[0].peak_bytes, 30999);
	trace_release(&trace);
	folder_release(&folder);
}

struct bad {
	const char *name, *runs, *series, *want;
};

/* Reads the folder and expects an error. */
static void check_bad(const struct folder *folder, const char *want)
{
	struct trace trace = TRACE_INIT;
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int r = trace_read(&trace, folder->path, NULL, NULL, &err);

	err_text(&err, text, sizeof(text));
	if (r >= 0 || !strstr(text, want))
		print_message("  got %d: %s\n", r, text);
	assert_true(r < 0);
	assert_non_null(strstr(text, want));
	trace_release(&trace);
}

static void bad_files_are_refused_with_their_line(void **state)
{
	static const struct bad rows[] = {
		{"empty file", "", HEADS_SERIES, "runs.csv:1: the file is empty"},
		{"no runs", HEADS_RUNS, HEADS_SERIES, "runs.csv:1: there are no runs"},
		{"column missing", "run,workload,start_unix\n", HEADS_SERIES,
		 "runs.csv:1: column duration_s is missing"},
		{"column twice", "run,run,workload,start_unix,duration_s\n", "",
		 "runs.csv:1: column run is there twice"},
		{"field missing", HEADS_RUNS "a,w,1000\n", "", "runs.csv:2: the row has 3 fields, the header has 6"},
		{"field too many", HEADS_RUNS "a,w,1000,10,0,completed,x\n", "", "runs.csv:2: the row has 7 fields"},
		{"quote without end", HEADS_RUNS "\"a,w,1000,10,0,completed\n", "", "runs.csv:2: a quoted field"},
		{"text after a quote", HEADS_RUNS "\"a\"b,w,1000,10,0,\n", "", "runs.csv:2: a quoted field"},
		{"empty workload", HEADS_RUNS "a,,1000,10,0,\n", "", "runs.csv:2: the name of the workload is empty"},
		{"empty run", HEADS_RUNS ",w,1000,10,0,\n", "", "runs.csv:2: the name of the run is empty"},
		{"control characters", HEADS_RUNS "a\x1b[2J,w,1000,10,0,\n", "",
		 "runs.csv:2: the name of the run is not"},
		{"not UTF-8", HEADS_RUNS "a,\xff,1000,10,0,\n", "", "runs.csv:2: the name of the workload is not"},
		{"run twice", HEADS_RUNS RUN_A "b,w,1000,10,0,\n" RUN_A, "", "runs.csv:4: run a was in line 2 already"},
		{"negative start", HEADS_RUNS "a,w,-1,10,0,\n", "", "runs.csv:2: start_unix is not between"},
		{"start in ms", HEADS_RUNS "a,w,1700000000000,10,0,\n", "", "runs.csv:2: start_unix is not between"},
		{"start that overflows", HEADS_RUNS "a,w,99999999999999999999,10,0,\n", "", "runs.csv:2: start_unix"},
		{"start in words", HEADS_RUNS "a,w,monday,10,0,\n", "",
		 "runs.csv:2: start_unix is not a decimal number"},
		{"no duration", HEADS_RUNS "a,w,1000,0,0,\n", "", "runs.csv:2: duration_s is not between"},
		{"absurd duration", HEADS_RUNS "a,w,1000,1000000000,0,\n", "", "runs.csv:2: duration_s is not between"},
		{"exponent", HEADS_RUNS "a,w,1e9,10,0,\n", "", "runs.csv:2: start_unix is not a decimal number"},
		{"negative limit", HEADS_RUNS "a,w,1000,10,-5,\n", "", "runs.csv:2: limit_bytes is not between"},
		{"unknown outcome", HEADS_RUNS "a,w,1000,10,0,fine\n", "", "runs.csv:2: outcome is not"},
		{"still running", HEADS_RUNS "a,w,1000,10,0,running\n", "", "runs.csv:2: outcome is not"},
		{"empty series", HEADS_RUNS RUN_A, "", "series.csv:1: the file is empty"},
		{"run without rows", HEADS_RUNS "b,w,1000,10,0,\n" RUN_A, HEADS_SERIES "a,0,5\n",
		 "runs.csv:2: run b has no rows"},
		{"unknown run", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,5\nb,0,5\n",
		 "series.csv:3: run b is not in runs.csv"},
		{"rows apart", HEADS_RUNS RUN_A "b,w,1000,10,0,\n", HEADS_SERIES "a,0,5\nb,0,5\na,2,5\n",
		 "series.csv:4: the rows of run a are not together"},
		{"time falls", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,5\na,4,5\na,2,5\n", "series.csv:4: t_s falls"},
		{"row twice", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,5\na,4,5\na,4,5\n",
		 "series.csv:4: run a has two rows for this t_s"},
		{"negative time", HEADS_RUNS RUN_A, HEADS_SERIES "a,-1,5\n", "series.csv:2: t_s is not between"},
		{"after the end", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,5\na,12,5\n",
		 "series.csv:3: t_s is after the end"},
		{"negative bytes", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,-5\n", "series.csv:2: bytes is not between"},
		{"absurd bytes", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,1125899906842625\n",
		 "series.csv:2: bytes is not between"},
		{"bytes in words", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,nan\n",
		 "series.csv:2: bytes is not a decimal number"},
		{"bytes missing", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,\n",
		 "series.csv:2: bytes is not a decimal number"},
		{"no memory used", HEADS_RUNS RUN_A, HEADS_SERIES "a,0,0\na,5,0\n", "series.csv:3: run a"},
	};
	struct folder folder;

	(void)state;
	folder_init(&folder);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].name);
		put(&folder, "runs.csv", rows[i].runs);
		put(&folder, "series.csv", rows[i].series);
		check_bad(&folder, rows[i].want);
	}
	folder_release(&folder);
}

static void files_that_cannot_be_read_are_refused(void **state)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(MIB);
	static const char series[] = HEADS_SERIES "a,0,5\na,1,6\n";
	static const char nul[] = HEADS_SERIES "a,0,5\0\n";
	struct folder folder;

	(void)state;
	folder_init(&folder);
	check_bad(&folder, "runs.csv: No such file");
	put(&folder, "runs.csv", HEADS_RUNS RUN_A);
	check_bad(&folder, "series.csv: No such file");
	put_bytes(&folder, "series.csv", nul, sizeof(nul) - 1);
	check_bad(&folder, "series.csv:2: the line has a NUL byte");
	for (size_t i = 0; i < LIMIT_TRACE_LINE_BYTES + 10; i++)
		strbuf_addc(&line, 'x');
	put(&folder, "series.csv", strbuf_text(&line));
	check_bad(&folder, "series.csv:1: a line is longer than");
	assert_int_equal(gzip_pack(series, sizeof(series) - 1, GZIP_USUAL, &packed), 0);
	put_bytes(&folder, "series.csv", packed.text, packed.len);
	check_bad(&folder, "series.csv:1: the file is gzip");
	put(&folder, "series.csv.gz", series);
	check_bad(&folder, "has both series.csv and series.csv.gz");
	put(&folder, "series.csv", "");
	folder_release(&folder);
}

/* Cut anywhere, a gzip is an error, also if all of its text was there and only the checksum is missing. */
static void a_truncated_gzip_is_refused(void **state)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MIB);
	static const char series[] = HEADS_SERIES "a,0,5\na,1,6\na,2,7\n";
	struct folder folder;

	(void)state;
	folder_init(&folder);
	put(&folder, "runs.csv", HEADS_RUNS RUN_A);
	assert_int_equal(gzip_pack(series, sizeof(series) - 1, GZIP_USUAL, &packed), 0);
	for (size_t n = 0; n < packed.len; n++) {
		put_bytes(&folder, "series.csv.gz", packed.text, n);
		check_bad(&folder, "series.csv.gz:");
	}
	packed.text[packed.len - 6] ^= 1; /* the checksum */
	put_bytes(&folder, "series.csv.gz", packed.text, packed.len);
	check_bad(&folder, "the gzip is damaged");
	folder_release(&folder);
}

/* Every run takes 1000 s.
 * figures: median 100Mi, p95 200Mi, peak 400Mi: 500 s x 100 + 450 s x 200 + 50 s x 400 = 160,000 Mi s
 * curve: 16 points of 100Mi and 16 of 400Mi: 500 s x 100 + 500 s x 400 = 250,000 Mi s
 * killed: it was killed at 300Mi and 500Mi, and used 290Mi; its need is at least 500Mi
 * running, and a run without figures: left out */
static void histories_are_taken_from_above(void **state)
{
	static const struct {
		const char *uid;
		struct run run;
		int64_t want_peak_mib;
		double want_mib_s;
	} rows[] = {
		{"figures",
		 {.median_bytes = 100, .p95_bytes = 200, .peak_bytes = 400, .outcome = OUTCOME_COMPLETED},
		 400,
		 160000},
		{"curve",
		 {.median_bytes = 100,
		  .p95_bytes = 400,
		  .peak_bytes = 400,
		  .n_curve = 32,
		  .outcome = OUTCOME_COMPLETED},
		 400,
		 250000},
		{"killed",
		 {.median_bytes = 290,
		  .p95_bytes = 290,
		  .peak_bytes = 290,
		  .n_killed_limits = 2,
		  .outcome = OUTCOME_OOM_KILLED},
		 500,
		 950 * 290 + 50 * 500},
		{"no median", {.peak_bytes = 100, .outcome = OUTCOME_FAILED}, 100, 100000},
		{"running",
		 {.median_bytes = 100, .p95_bytes = 100, .peak_bytes = 100, .outcome = OUTCOME_RUNNING},
		 0,
		 0},
		{"no figures", {.outcome = OUTCOME_COMPLETED}, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(history_freep) struct history *history = history_new("ns", "w");
		struct trace trace = TRACE_INIT;
		struct run run = rows[i].run;
		double got;

		test_row(rows[i].uid);
		assert_non_null(history);
		run.start_ms = 1000;
		run.duration_ms = 1000000;
		run.is_whole = run.outcome == OUTCOME_COMPLETED;
		run.median_bytes *= MI;
		run.p95_bytes *= MI;
		run.peak_bytes *= MI;
		run.killed_limits[0] = 500 * MI;
		run.killed_limits[1] = 300 * MI;
		for (int k = 0; k < run.n_curve; k++)
			run.curve_max[k] = (k < 16 ? 100 : 400) * MI;
		assert_int_equal(history_add_run(history, &run), 0);
		assert_int_equal(trace_add_history(&trace, history), 0);
		assert_int_equal(trace.workloads.n, 1);
		assert_int_equal(trace.runs.n, rows[i].want_peak_mib > 0);
		if (trace.runs.n) {
			got = trace.runs.items[0].use_gibh * 1024 * 3600;
			assert_int_equal(trace.runs.items[0].peak_bytes, rows[i].want_peak_mib * MI);
			assert_int_equal(trace.runs.items[0].use.total_weight, 1000000);
			assert_true(got > rows[i].want_mib_s - 1 && got < rows[i].want_mib_s + 1);
		}
		trace_release(&trace);
	}
}

static void decimals_are_read_in_thousandths(void **state)
{
	static const struct {
		const char *text;
		int want_r;
		int64_t want;
	} rows[] = {
		{"0", 0, 0},
		{"12", 0, 12000},
		{"1.5", 0, 1500},
		{".25", 0, 250},
		{"3.", 0, 3000},
		{"-1", -ERANGE, 0},
		{"1.23456", 0, 1234},
		{"", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"1.2.3", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"0x1", -EINVAL, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"9223372036854775807", -ERANGE, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t value = 0;

		test_row(rows[i].text);
		assert_int_equal(csv_milli(str_c(rows[i].text), 0, INT64_MAX, &value), rows[i].want_r);
		assert_int_equal(value, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_numbers_and_times_are_read),
		cmocka_unit_test(a_killed_run_needs_at_least_its_limit),
		cmocka_unit_test(gzip_says_the_same_as_plain_text),
		cmocka_unit_test(bad_files_are_refused_with_their_line),
		cmocka_unit_test(files_that_cannot_be_read_are_refused),
		cmocka_unit_test(a_truncated_gzip_is_refused),
		cmocka_unit_test(histories_are_taken_from_above),
		cmocka_unit_test(decimals_are_read_in_thousandths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
