/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm's accounting says of a job: seff, sacct and scontrol. */
#include "support/test.h"

#include "triage_fixture.h"

#define MIB_OF(n) ((int64_t)(n) << 20)

#define SEFF(memory)                                                                                                   \
	"Job ID: 1234567\nCluster: della\nUser/Group: alice/ml\nState: OUT_OF_MEMORY (exit code 0)\nNodes: 2\n"        \
	"Cores per node: 8\nCPU Utilized: 00:10:31\nMemory Utilized: 31.50 GB\n" memory
#define SACCT_HEAD                                                                                                     \
	"JobID           JobName      State ExitCode     ReqMem     MaxRSS \n"                                         \
	"------------ ---------- ---------- -------- ---------- ---------- \n"

static void accounts_are_read(void **state)
{
	static const struct {
		const char *name, *text;
		enum kind kind;
		int64_t limit, used; /* MiB; -1: not known */
	} rows[] = {
		{"seff", SEFF("Memory Efficiency: 98.44% of 32.00 GB\n"), KIND_CONTAINER_LIMIT, 32768, 32256},
		{"seff, several nodes", SEFF("Memory Efficiency: 98.44% of 32.00 GB (16.00 GB/node)\n"),
		 KIND_CONTAINER_LIMIT, 16384, 32256},
		{"seff of a job that failed otherwise",
		 "Job ID: 7\nState: FAILED (exit code 1)\nMemory Utilized: 31.50 GB\n", KIND_UNKNOWN, -1, -1},
		{"sacct",
		 SACCT_HEAD "1234567           train OUT_OF_ME+    0:125        32G            \n"
			    "1234567.bat+      batch OUT_OF_ME+    0:125             33521664K \n"
			    "1234567.ext+     extern  COMPLETED      0:0                  884K \n",
		 KIND_CONTAINER_LIMIT, 32768, 32736},
		{"sacct of old versions",
		 SACCT_HEAD "1234567           train OUT_OF_ME+    0:125       32Gn            \n",
		 KIND_CONTAINER_LIMIT, 32768, -1},
		{"sacct, memory of each core",
		 SACCT_HEAD "1234567           train OUT_OF_ME+    0:125        4Gc            \n",
		 KIND_CONTAINER_LIMIT, -1, -1},
		{"sacct -P",
		 "JobID|JobName|State|ReqMem|MaxRSS\n1234567_3|train|OUT_OF_MEMORY|32G|\n"
		 "1234567_3.batch|batch|OUT_OF_MEMORY||33521664K\n",
		 KIND_CONTAINER_LIMIT, 32768, 32736},
		{"sacct, a job with the word in its name", "7  train_out_of_memory OUT_OF_ME+    0:125\n",
		 KIND_CONTAINER_LIMIT, -1, -1},
		{"sacct without memory", "7               train OUT_OF_ME+    0:125\n", KIND_CONTAINER_LIMIT, -1, -1},
		{"sacct of a job that is done",
		 SACCT_HEAD "7                 train  COMPLETED      0:0        32G 9G\n", KIND_UNKNOWN, -1, -1},
		{"scontrol",
		 "JobId=7 JobName=train\n   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)\n"
		 "   MinCPUsNode=1 MinMemoryNode=32G MinTmpDiskNode=0\n",
		 KIND_CONTAINER_LIMIT, 32768, -1},
		{"the state of a CUDA call", "7 CUDA_ERROR_OUT_OF_MEMORY\n", KIND_TRUE_OOM, -1, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = decide("job.txt", INPUT_LOG, rows[i].text);
		const int64_t *bytes = triage->verdict.figures.bytes;

		test_row(rows[i].name);
		assert_int_equal(triage->verdict.kind, rows[i].kind);
		if (rows[i].kind == KIND_CONTAINER_LIMIT) {
			assert_string_equal(triage->verdict.cause, "slurm");
			assert_null(facts_first(&triage->facts, SIGNAL_GPU_OOM));
		}
		assert_int_equal(bytes[FIGURE_LIMIT], rows[i].limit < 0 ? FIGURE_NONE : MIB_OF(rows[i].limit));
		assert_int_equal(bytes[FIGURE_USAGE], rows[i].used < 0 ? FIGURE_NONE : MIB_OF(rows[i].used));
		end(triage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accounts_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
