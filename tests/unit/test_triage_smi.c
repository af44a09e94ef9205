/* SPDX-License-Identifier: Apache-2.0 */
/* What only all of nvidia-smi's output shows: memory that no process holds, and processes that share a GPU. */
#include "support/test.h"

#include "triage/triage.h"

#include <stdlib.h>

#define TOP	  "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
#define GPU(i)	  "|   " #i "  NVIDIA A100-SXM4-80GB          On  | 00000000:0" #i ":00.0 Off |                    0 |\n"
#define USED(mib) "| N/A   52C    P0              71W / 300W |  " #mib "MiB / 81920MiB |    100%      Default |\n"
#define LIST                                                                                                           \
	"| Processes:                                                                              |\n"                \
	"|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |\n"
#define NONE "|  No running processes found                                                             |\n"
#define PROCESS(i, pid)                                                                                                \
	"|    " #i "   N/A  N/A      " #pid "      C   python3                                  60000MiB |\n"

#define Q(bus, used)                                                                                                   \
	"GPU 00000000:" #bus ":00.0\n    FB Memory Usage\n        Total : 81920 MiB\n        Used : " #used            \
	" MiB\n    BAR1 Memory Usage\n        Total : 131072 MiB\n        Used : 1 MiB\n"
#define Q_NONE	      "    Processes : None\n"
#define Q_PROCESS(id) "        Process ID : " #id "\n            Type : C\n"

#define XML(bus, used)                                                                                                 \
	"<gpu id=\"00000000:" #bus ":00.0\">\n<fb_memory_usage>\n<total>81920 MiB</total>\n<used>" #used               \
	" MiB</used>\n</fb_memory_usage>\n"
#define XML_PROCESS(id)                                                                                                \
	"<process_info>\n<gpu_instance_id>N/A</gpu_instance_id>\n<pid>" #id "</pid>\n<type>C</type>\n</"               \
	"process_info>\n"

#define CSV	 "index, uuid, memory.used [MiB], memory.total [MiB]\n"
#define CSV_APPS "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"

#define BARE "RuntimeError: CUDA error: out of memory\n"
#define FULL                                                                                                           \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 " \
	"GiB of which 0.10 GiB is free. Including non-PyTorch memory, this process has 9.90 GiB memory in use. Of "    \
	"the allocated memory 9.00 GiB is allocated by PyTorch, and 0.20 GiB is reserved by PyTorch but "              \
	"unallocated.\n"
#define CUT                                                                                                            \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 " \
	"GiB of which\n"

#define GIB_OF(mib) ((int64_t)(mib) * (int64_t)MIB)

static const struct row {
	const char *name, *log, *smi;
	enum kind kind;
	const char *cause;
	int64_t others;	 /* FIGURE_NONE: not tested */
	uint64_t number; /* of the line that shows it; 0: not tested */
} rows[] = {
	{"one of two GPUs, in the table", NULL, TOP GPU(0) USED(79151) GPU(1) USED(60000) LIST PROCESS(0, 4321),
	 KIND_CO_TENANT, "zombie", GIB_OF(60000), 5},
	{"the fullest of several", NULL, TOP GPU(0) USED(30000) GPU(1) USED(60000) GPU(2) USED(3) LIST NONE,
	 KIND_CO_TENANT, "zombie", GIB_OF(60000), 5},
	{"each GPU has a process", NULL,
	 TOP GPU(0) USED(79151) GPU(1) USED(60000) LIST PROCESS(0, 4321) PROCESS(1, 4322), KIND_UNKNOWN, NULL,
	 FIGURE_NONE, 0},
	{"numbers of GPUs that were chosen", NULL, TOP GPU(3) USED(79151) GPU(5) USED(60000) LIST PROCESS(5, 1),
	 KIND_CO_TENANT, "zombie", GIB_OF(79151), 3},
	{"less than a quarter", NULL, TOP GPU(0) USED(20000) LIST NONE, KIND_UNKNOWN, NULL, FIGURE_NONE, 0},
	{"a quarter", NULL, TOP GPU(0) USED(20480) LIST NONE, KIND_CO_TENANT, "zombie", GIB_OF(20480), 3},
	{"the wider table of newer drivers", NULL,
	 TOP GPU(0) "| N/A   47C    P0            116W /  700W |   62059MiB /  81559MiB |      0%      Default |\n" LIST
		 NONE,
	 KIND_CO_TENANT, "zombie", GIB_OF(62059), 3},
	{"a table without its list", NULL, TOP GPU(0) USED(60000), KIND_UNKNOWN, NULL, FIGURE_NONE, 0},
	{"without sizes of processes, as on Windows", NULL,
	 TOP GPU(0) USED(60000) LIST "|    0   N/A  N/A      1234    C+G   ...explorer.exe         N/A      |\n",
	 KIND_UNKNOWN, NULL, FIGURE_NONE, 0},
	{"before 450, without the columns of MIG", NULL,
	 TOP GPU(0) USED(60000) GPU(1) USED(60000) LIST "|    0      4321      C   python            5371MiB |\n",
	 KIND_CO_TENANT, "zombie", GIB_OF(60000), 5},
	{"a driver that cannot list", NULL,
	 TOP GPU(0) USED(60000) LIST "|    0                  Not Supported                                |\n",
	 KIND_UNKNOWN, NULL, FIGURE_NONE, 0},
	{"two tables, the process is gone in the second", NULL,
	 TOP GPU(0) USED(60000) LIST PROCESS(0, 1) TOP GPU(0) USED(50000) LIST NONE, KIND_CO_TENANT, "zombie",
	 GIB_OF(50000), 9},
	{"two tables of one process are no two", BARE,
	 TOP GPU(0) USED(60000) LIST PROCESS(0, 1) TOP GPU(0) USED(60000) LIST PROCESS(0, 1), KIND_TRUE_OOM, NULL,
	 FIGURE_NONE, 0},
	{"one of two GPUs, of -q", NULL, Q(07, 79000) "    Processes\n" Q_PROCESS(1) Q(08, 60000) Q_NONE,
	 KIND_CO_TENANT, "zombie", GIB_OF(60000), 0},
	{"the first of two GPUs, of -q", NULL, Q(07, 60000) Q_NONE Q(08, 79000) "    Processes\n" Q_PROCESS(1),
	 KIND_CO_TENANT, "zombie", GIB_OF(60000), 4},
	{"-q -d MEMORY lists no processes", NULL, Q(07, 60000), KIND_UNKNOWN, NULL, FIGURE_NONE, 0},
	{"one of two GPUs, of -q -x", NULL,
	 XML(07, 79000) "<processes>\n" XML_PROCESS(7) "</processes>\n</gpu>\n" XML(
		 08, 60000) "<processes>\n</processes>\n</gpu>\n",
	 KIND_CO_TENANT, "zombie", GIB_OF(60000), 0},
	{"CSV without a list of processes", NULL, CSV "0, GPU-1, 60000 MiB, 81920 MiB\n", KIND_UNKNOWN, NULL,
	 FIGURE_NONE, 0},
	{"CSV with an empty list", NULL, CSV "0, GPU-1, 60000 MiB, 81920 MiB\n" CSV_APPS, KIND_CO_TENANT, "zombie",
	 GIB_OF(60000), 2},
	{"one of two GPUs, of CSV", NULL,
	 CSV "0, GPU-1, 60000 MiB, 81920 MiB\n1, GPU-2, 50000 MiB, 81920 MiB\n" CSV_APPS
	     "GPU-1, 11, python, 60000 MiB\n",
	 KIND_CO_TENANT, "zombie", GIB_OF(50000), 3},
	{"the list of processes comes first", NULL,
	 CSV_APPS "GPU-1, 11, python, 60000 MiB\n" CSV
		  "0, GPU-1, 60000 MiB, 81920 MiB\n1, GPU-2, 50000 MiB, 81920 MiB\n",
	 KIND_CO_TENANT, "zombie", GIB_OF(50000), 5},
	{"lists that nothing joins", NULL,
	 "index, memory.used [MiB], memory.total [MiB]\n0, 60000 MiB, 81920 MiB\n" CSV_APPS
	 "GPU-1, 11, python, 60000 MiB\n",
	 KIND_UNKNOWN, NULL, FIGURE_NONE, 0},
	{"joined by the address", NULL,
	 "pci.bus_id, memory.used, memory.total\n00000000:07:00.0, 60000, 81920\n00000000:08:00.0, 70000, 81920\n"
	 "gpu_uuid, gpu_bus_id, pid\nGPU-1, 00000000:08:00.0, 11\n",
	 KIND_CO_TENANT, "zombie", GIB_OF(60000), 2},
	{"errors of CSV", NULL, "index, ecc.errors.uncorrected.volatile.total, remapped_rows.failure\n0, 3, No\n",
	 KIND_GPU_FAULT, "ecc", FIGURE_NONE, 2},
	{"errors of CSV with one column", NULL, "ecc.errors.uncorrected.volatile.total\n0\n3\n", KIND_GPU_FAULT, "ecc",
	 FIGURE_NONE, 3},
	{"CSV with one column, and no errors", NULL, "ecc.errors.uncorrected.volatile.total\n0\n0\n", KIND_UNKNOWN,
	 NULL, FIGURE_NONE, 0},
	{"rows of CSV", NULL, "index, ecc.errors.uncorrected.volatile.total, remapped_rows.failure\n0, 0, Yes\n",
	 KIND_GPU_FAULT, "row-remap", FIGURE_NONE, 2},
	{"two processes on one GPU", BARE, TOP GPU(0) USED(79000) LIST PROCESS(0, 1) PROCESS(0, 2), KIND_CO_TENANT,
	 NULL, FIGURE_NONE, 0},
	{"two processes on two GPUs", BARE, TOP GPU(0) USED(79000) GPU(1) USED(79000) LIST PROCESS(0, 1) PROCESS(1, 2),
	 KIND_TRUE_OOM, NULL, FIGURE_NONE, 0},
	{"two processes on instances of MIG", BARE,
	 TOP GPU(0) USED(79000) LIST "|    0    1    0         11      C   python          19000MiB |\n"
				     "|    0    2    0         12      C   python          19000MiB |\n",
	 KIND_TRUE_OOM, NULL, FIGURE_NONE, 0},
	{"two processes, of CSV", BARE, CSV_APPS "GPU-1, 11, python, 60000 MiB\nGPU-1, 12, vllm, 20000 MiB\n",
	 KIND_CO_TENANT, NULL, FIGURE_NONE, 0},
	{"two processes without an error", NULL, TOP GPU(0) USED(79000) LIST PROCESS(0, 1) PROCESS(0, 2), KIND_UNKNOWN,
	 NULL, FIGURE_NONE, 0},
	{"figures say more than a list", FULL, TOP GPU(0) USED(79000) LIST PROCESS(0, 1) PROCESS(0, 2), KIND_TRUE_OOM,
	 NULL, FIGURE_NONE, 0},
	{"a message that was cut says less", CUT, TOP GPU(0) USED(79000) LIST PROCESS(0, 1) PROCESS(0, 2),
	 KIND_CO_TENANT, NULL, FIGURE_NONE, 0},
	{"a cut message and a zombie", CUT, TOP GPU(0) USED(79000) LIST NONE, KIND_CO_TENANT, "zombie", GIB_OF(79000),
	 0},
};

static void outputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct triage *triage = malloc(sizeof(*triage));
		const struct verdict *verdict = &triage->verdict;

		assert_non_null(triage);
		assert_int_equal(triage_init(triage), 0);
		if (row->log)
			assert_int_equal(
				facts_read_bytes(&triage->facts, "a.log", INPUT_LOG, row->log, strlen(row->log)), 0);
		assert_int_equal(facts_read_bytes(&triage->facts, "smi.txt", INPUT_SMI, row->smi, strlen(row->smi)), 0);
		triage_decide(triage);
		if (verdict->kind != row->kind || !streq(verdict->cause, row->cause) ||
		    (row->others != FIGURE_NONE && verdict->figures.bytes[FIGURE_OTHERS] != row->others) ||
		    (row->number && (!verdict->fact || verdict->fact->number != row->number)))
			fail_msg("%s: %s, %s, line %llu", row->name, verdict->rule->name, verdict->why,
				 verdict->fact ? (unsigned long long)verdict->fact->number : 0ULL);
		triage_release(triage);
		free(triage);
	}
}

/* Both lines are quoted, and the answer does not say more than it knows. */
static void a_shared_gpu_is_quoted(void **state)
{
	static const char smi[] = TOP GPU(0) USED(79000) LIST PROCESS(0, 1) PROCESS(0, 2);
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
	struct triage *triage = malloc(sizeof(*triage));

	(void)state;
	assert_non_null(triage);
	assert_int_equal(triage_init(triage), 0);
	assert_int_equal(facts_read_bytes(&triage->facts, "a.log", INPUT_LOG, BARE, strlen(BARE)), 0);
	assert_int_equal(facts_read_bytes(&triage->facts, "smi.txt", INPUT_SMI, smi, strlen(smi)), 0);
	triage_decide(triage);
	assert_int_equal(triage->verdict.confidence, CONFIDENCE_LOW);
	assert_non_null(strstr(triage->verdict.why, "lists 2 processes that compute on one GPU"));
	assert_int_equal(triage_text(triage, &buf), 0);
	assert_non_null(strstr(strbuf_text(&buf), "a.log:1 RuntimeError: CUDA error: out of memory"));
	assert_non_null(strstr(strbuf_text(&buf), "smi.txt:7 |    0   N/A  N/A      2      C   python3"));
	triage_release(triage);
	free(triage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outputs),
		cmocka_unit_test(a_shared_gpu_is_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
