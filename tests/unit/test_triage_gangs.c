/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of many ranks: what is kept of their lines, which of them died first, and what to resume from. */
#include "support/test.h"

#include "base/strbuf.h"
#include "triage/groups.h"
#include "triage/triage.h"
#include "triage_fixture.h"

#include <stdlib.h>

#define OOM                                                                                                            \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 " \
	"GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 9.00 GiB memory in use. Of "    \
	"the allocated memory 5.00 GiB is allocated by PyTorch, and 3.50 GiB is reserved by PyTorch but "              \
	"unallocated.\n"
#define RANKS 1024
#define DEAD  1021

/* ---- what is kept ---- */

static const char *const described[] = {"PyTorch version 2.4.0\n", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n",
					"loading model\n",	   "saved checkpoint /ck/step_1\n",
					"retrying the batch\n",	   "a memory snapshot was saved to /tmp/oom.pickle\n"};
static const char *const followed[] = {"Watchdog caught collective operation timeout\n",
				       "RuntimeError: NCCL communicator was lost\n",
				       "Received SIGTERM, shutting down\n", "exitcode  : -9 (pid: 77)\n"};

struct gang_row {
	const char *name;
	bool is_followed; /* the other ranks report errors, before the dead one in the order of reading */
	bool has_files;	  /* one for each rank; else one with prefixes */
	bool is_caught;	  /* all ranks have met an error before */
	const char *left_out;
};

static void add_lines(struct strbuf *text, const struct gang_row *row, int rank, const char *line)
{
	char prefix[16] = "";

	if (!row->has_files)
		snprintf(prefix, sizeof(prefix), "[rank%d]: ", rank);
	/* Twice: the first and the last are kept. */
	strbuf_addf(text, "%s%s%s%s", prefix, line, prefix, line);
}

static void add_rank(struct strbuf *text, const struct gang_row *row, int rank)
{
	for (size_t i = 0; i < ARRAY_LEN(described); i++)
		add_lines(text, row, rank, described[i]);
	if (row->is_caught)
		add_lines(text, row, rank, "RuntimeError: CUDA error: device-side assert triggered\n");
	for (size_t i = 0; i < ARRAY_LEN(followed) && row->is_followed && rank != DEAD; i++)
		add_lines(text, row, rank, followed[i]);
	if (rank == DEAD)
		add_lines(text, row, rank, OOM);
}

static void read_gang(struct triage *triage, const struct gang_row *row)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * MIB);
	static char names[RANKS][32];

	for (int rank = 0; rank < RANKS; rank++) {
		add_rank(&text, row, rank);
		if (!row->has_files)
			continue;
		snprintf(names[rank], sizeof(names[rank]), "rank%d.log", rank);
		read_text(triage, names[rank], INPUT_LOG, strbuf_text(&text));
		strbuf_clear(&text);
	}
	if (!row->has_files)
		read_text(triage, "all.log", INPUT_LOG, strbuf_text(&text));
}

/* A rank of a large gang that ends for memory is found, whatever the others have said before. */
static void large_gangs(void **state)
{
	static const struct gang_row rows[] = {
		{"one log", false, false, false, "versions, settings and retries of single ranks"},
		{"a log each", false, true, false, "checkpoints"},
		{"one log, others follow", true, false, false, "errors and time-outs of single ranks"},
		{"a log each, others follow", true, true, false, "errors and time-outs of single files"},
		{"one log, others follow, asserts", true, false, true, "errors and time-outs of single ranks"},
		{"a log each, others follow, asserts", true, true, true, "errors and time-outs of single files"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = begin();

		read_gang(triage, &rows[i]);
		triage_decide(triage);
		if (triage->verdict.kind != KIND_FRAGMENTATION || triage->verdict.rank != DEAD)
			fail_msg("%s: %s, rank %d", rows[i].name, triage_kinds[triage->verdict.kind].name,
				 triage->verdict.rank);
		if (triage->facts.items.n > LIMIT_TRIAGE_FACTS)
			fail_msg("%s: %zu facts", rows[i].name, triage->facts.items.n);
		if (!strstr(strbuf_text(&triage->unseen), rows[i].left_out))
			fail_msg("%s: unseen: %s", rows[i].name, strbuf_text(&triage->unseen));
		end(triage);
	}
}

/* More ends than there is room for: of a file the first stays. */
static void all_ranks_end(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * MIB);
	struct triage *triage = begin();

	(void)state;
	for (int rank = 3 * RANKS; rank > 0; rank--)
		strbuf_addf(&text, "[rank%d]: " OOM "[rank%d]: " OOM "[rank%d]: MemoryError\n", rank, rank, rank);
	read_text(triage, "all.log", INPUT_LOG, strbuf_text(&text));
	triage_decide(triage);
	assert_int_equal(triage->verdict.kind, KIND_FRAGMENTATION);
	assert_int_equal(triage->verdict.rank, 3 * RANKS);
	assert_true(triage->facts.items.n <= LIMIT_TRIAGE_FACTS);
	assert_non_null(strstr(strbuf_text(&triage->unseen), "lines of single ranks between the first and the last"));
	end(triage);
}

/* A message that later lines complete stays the same fact when room is made behind it. */
static void room_is_made_within_a_message(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * MIB);

	(void)state;
	for (int n = 0; n < 5; n++) {
		struct triage *triage = begin();

		strbuf_clear(&text);
		/* The list is full at different lines. */
		for (int i = 0; i < LIMIT_TRIAGE_FACTS - n; i++)
			strbuf_addf(&text, "[rank%d]: torch 2.4.0\n", i);
		strbuf_adds(&text, "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB\n"
				   "PyTorch version 2.4.0\nloading model\n"
				   "(GPU 0; 10.00 GiB total capacity; 5.00 GiB already allocated;\n"
				   "1.00 MiB free; 9.00 GiB reserved in total by PyTorch)\n");
		read_text(triage, "a.log", INPUT_LOG, strbuf_text(&text));
		triage_decide(triage);
		if (triage->verdict.kind != KIND_FRAGMENTATION)
			fail_msg("%d: %s", n, triage_kinds[triage->verdict.kind].name);
		end(triage);
	}
}

/* ---- whether a run went on ---- */

static void lines_without_a_rank(void **state)
{
	static const struct {
		const char *name, *text;
		enum kind want;
	} rows[] = {
		{"the end", "[rank0]: step 1\n[rank0]: step 2\n[rank1]: step 2\n" OOM, KIND_FRAGMENTATION},
		{"others end their step", "[rank0]: step 1\n[rank1]: step 1\n" OOM "[rank0]: step 2\n[rank1]: step 2\n",
		 KIND_FRAGMENTATION},
		{"the run goes on", "[rank0]: step 1\n" OOM "[rank0]: step 2\n[rank0]: step 3\n", KIND_NOT_OOM},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = begin();

		read_text(triage, "a.log", INPUT_LOG, rows[i].text);
		triage_decide(triage);
		if (triage->verdict.kind != rows[i].want)
			fail_msg("%s: %s", rows[i].name, triage_kinds[triage->verdict.kind].name);
		end(triage);
	}
}

/* Each rank of a large gang is seen to go on. */
static void caught_by_all(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * MIB);
	struct triage *triage = begin();

	(void)state;
	for (int step = 0; step < 6; step++)
		for (int rank = 0; rank < RANKS; rank++) {
			strbuf_addf(&text, "[rank%d]: step %d\n", rank, step);
			if (step < 2)
				strbuf_addf(&text, "[rank%d]: " OOM, rank);
		}
	read_text(triage, "all.log", INPUT_LOG, strbuf_text(&text));
	triage_decide(triage);
	assert_string_equal(triage->verdict.cause, "oom-recovered");
	end(triage);
}

/* ---- which rank died first ---- */

/* In the name of each file is its rank; the message in it tried to allocate so many GiB as its rank. */
#define DIED(rank) "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " #rank ".00 GiB.\n"

static void first_death(void **state)
{
	static const struct {
		const char *name, *files[3];
		int want;
	} rows[] = {
		{"times", {"2026-11-20 10:00:31,000 " DIED(0), "2026-11-20 10:00:25,000 " DIED(1)}, 1},
		{"the last of three",
		 {"2026-11-20 10:00:31,000 " DIED(0), "2026-11-20 10:00:32,000 " DIED(1),
		  "2026-11-20 10:00:30,999 " DIED(2)},
		 2},
		{"the same time", {"2026-11-20 10:00:31 " DIED(0), "2026-11-20 10:00:31 " DIED(1)}, 0},
		{"no time", {DIED(0), DIED(1)}, 0},
		{"one without a time", {DIED(0), "2026-11-20 10:00:25 " DIED(1)}, 0},
		{"only other lines have times",
		 {"2026-11-20 10:00:31 torch 2.4.0\n" DIED(0), "2026-11-20 10:00:25 torch 2.4.0\n" DIED(1)},
		 0},
		{"with and without a zone", {"2026-11-20 10:00:31 " DIED(0), "2026-11-20T10:00:25Z " DIED(1)}, 0},
		{"zones", {"2026-11-20T10:00:31+00:00 " DIED(0), "[2026-11-20T11:00:30.5+0100] " DIED(1)}, 1},
		{"another day", {"2026/11/20 00:00:01.1 " DIED(0), "2026/11/19 23:59:59.1 " DIED(1)}, 1},
		{"a time that is none", {"2026-11-20 10:00:31 " DIED(0), "2026-13-40 10:00:25 " DIED(1)}, 0},
		{"a time in the message", {DIED(0), "job of 2026-11-20 10:00:25: " DIED(1)}, 0},
		{"a death behind a line without a time",
		 {"torch 2.4.0\n2026-11-20 10:00:31 " DIED(0), "torch 2.4.0\n2026-11-20 10:00:25 " DIED(1)},
		 1},
	};
	static const char *const names[] = {"rank0.log", "rank1.log", "rank2.log"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = begin();

		for (size_t k = 0; k < ARRAY_LEN(names) && rows[i].files[k]; k++)
			read_text(triage, names[k], INPUT_LOG, rows[i].files[k]);
		triage_decide(triage);
		if (triage->verdict.rank != rows[i].want ||
		    triage->verdict.figures.bytes[FIGURE_TRIED] != (int64_t)rows[i].want * (int64_t)GIB)
			fail_msg("%s: rank %d", rows[i].name, triage->verdict.rank);
		end(triage);
	}
}

/* An error of another file that is earlier explains why a rank waits. */
static void errors_before_others(void **state)
{
	struct triage *triage = begin();

	(void)state;
	read_text(
		triage, "rank0.log", INPUT_LOG,
		"2026-11-20 10:10:30,000 [E ProcessGroupNCCL.cpp:607] Watchdog caught collective operation timeout\n");
	read_text(triage, "rank1.log", INPUT_LOG, "2026-11-20 10:00:30,000 ValueError: bad label\n");
	triage_decide(triage);
	assert_string_equal(triage->verdict.rule->name, "exception");
	assert_int_equal(triage->verdict.rank, 1);
	end(triage);
}

/* ---- what to resume from ---- */

static void checkpoints(void **state)
{
	static const struct {
		const char *name, *text, *want; /* NULL: none */
	} rows[] = {
		{"saved", "step 10\nSaved checkpoint /ck/10\n" OOM, "/ck/10"},
		{"saved, then torn", "step 10\nSaved checkpoint /ck/10\nstep 20\nSaving checkpoint to /ck/20\n" OOM,
		 "/ck/10"},
		{"torn", "step 10\nSaving checkpoint to /ck/10\n" OOM, NULL},
		{"the run went on", "step 10\nSaving checkpoint to /ck/10\nstep 11\n" OOM, "/ck/10"},
		{"went on, then torn",
		 "step 10\nSaving checkpoint to /ck/10\nstep 20\nSaving checkpoint to /ck/20\nstep 30\n"
		 "Saving checkpoint to /ck/30\n" OOM,
		 "/ck/20"},
		{"said twice", "step 10\nSaving checkpoint to /ck/10\nSaved checkpoint /ck/10\n" OOM, "/ck/10"},
		{"the run went on only after its end",
		 "step 10\nSaving checkpoint to /ck/10\n" OOM "Traceback\nexitcode  : 1\nstep 1\n", NULL},
		{"parts of a torn one",
		 "step 5\nSaving model checkpoint to out/checkpoint-500\nstep 6\nstep 10\n"
		 "Saving model checkpoint to out/checkpoint-1000\n"
		 "Configuration saved in out/checkpoint-1000/config.json\n" OOM,
		 "out/checkpoint-500"},
		{"a folder of which a file was written",
		 "step 5\nSaved checkpoint ck/global_step5\nstep 10\n[Torch] Saving checkpoint "
		 "ck/global_step10/mp_rank_00.pt...\n[Torch] Saved checkpoint ck/global_step10/mp_rank_00.pt.\n" OOM,
		 "ck/global_step5"},
		{"planned", "Checkpoints will be saved to /ck/run\nstep 10\n" OOM, NULL},
		{"lines of several ranks",
		 "[rank0]: step 10\n[rank0]: Saving checkpoint to /ck/10\n[rank0]: step 20\n[rank1]: step 20\n"
		 "[rank1]: Saving checkpoint to /ck/20\n[rank1]: " OOM,
		 "/ck/10"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		struct triage *triage = begin();
		const struct fact *found;

		read_text(triage, "a.log", INPUT_LOG, rows[i].text);
		triage_decide(triage);
		found = triage->verdict.checkpoint;
		if (!streq(found ? found->reading.words : "none", rows[i].want ? rows[i].want : "none"))
			fail_msg("%s: %s", rows[i].name, found ? found->reading.words : "none");
		assert_int_equal(triage_text(triage, &text), 0);
		if (!strstr(strbuf_text(&text), "Resume from ") == (rows[i].want != NULL))
			fail_msg("%s: %s", rows[i].name, strbuf_text(&text));
		end(triage);
	}
}

/* ---- pods ---- */

static void add_pod(struct triage *triage, size_t group, const char *log, const char *status)
{
	struct reading reading;

	triage->facts.origin = (struct origin){.group = group, .rank = (int)group, .limit_bytes = FIGURE_NONE};
	if (log)
		read_text(triage, "log of pod/a container b", INPUT_LOG, log);
	assert_int_equal(facts_open(&triage->facts, "pod/a status"), 0);
	reading_init(&reading);
	reading.value = 1;
	facts_add(&triage->facts, SIGNAL_EXIT_CODE, &reading, status);
}

/* A pod whose log was not read explains less than one that is known to have waited. */
static void logs_that_were_not_read(void **state)
{
	struct triage *triage = begin();

	(void)state;
	add_pod(triage, 1, "Watchdog caught collective operation timeout\n", "exit code 1");
	add_pod(triage, 2, NULL, "exit code 1");
	add_pod(triage, 3, "hello\n", "exit code 1");
	assert_int_equal(groups_standing(&triage->facts, 1), STANDING_FOLLOWER);
	assert_int_equal(groups_standing(&triage->facts, 2), STANDING_UNREAD);
	assert_int_equal(groups_standing(&triage->facts, 3), STANDING_END);
	triage_decide(triage);
	assert_int_equal(triage->verdict.rank, 3);
	end(triage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_gangs),
		cmocka_unit_test(all_ranks_end),
		cmocka_unit_test(room_is_made_within_a_message),
		cmocka_unit_test(lines_without_a_rank),
		cmocka_unit_test(caught_by_all),
		cmocka_unit_test(first_death),
		cmocka_unit_test(errors_before_others),
		cmocka_unit_test(checkpoints),
		cmocka_unit_test(logs_that_were_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
