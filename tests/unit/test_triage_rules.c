/* SPDX-License-Identifier: Apache-2.0 */
/* Whole logs: which rule decides, at the thresholds and beside them, and what the answer contains. */
#include "support/test.h"

#include "base/strbuf.h"
#include "triage/triage.h"
#include "triage_fixture.h"

#include <stdlib.h>

/* A message of PyTorch 2.x with these amounts in MiB; O is what remains. */
static void message(char *buf, size_t size, int tried, int capacity, int free_, int process, int unallocated)
{
	snprintf(buf, size,
		 "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 MiB. GPU 0 has a total capacity "
		 "of "
		 "%d.00 MiB of which %d.00 MiB is free. Including non-PyTorch memory, this process has %d.00 MiB "
		 "memory in "
		 "use. Of the allocated memory %d.00 MiB is allocated by PyTorch, and %d.00 MiB is reserved by PyTorch "
		 "but "
		 "unallocated.\n",
		 tried, capacity, free_, process, process - unallocated, unallocated);
}

static void thresholds(void **state)
{
	static const struct {
		const char *name;
		int tried, capacity, free_, process, unallocated;
		enum kind want;
	} rows[] = {
		{"T > C", 1001, 1000, 0, 1000, 1000, KIND_TRUE_OOM},
		{"T = C", 1000, 1000, 0, 1000, 0, KIND_TRUE_OOM},
		{"U = T, U = 5 %", 50, 1000, 10, 990, 50, KIND_FRAGMENTATION},
		{"U < T", 51, 1000, 10, 990, 50, KIND_TRUE_OOM},
		{"U < 5 %", 1, 1000, 10, 990, 49, KIND_TRUE_OOM},
		{"O = 25 %", 100, 1000, 0, 750, 10, KIND_CO_TENANT},
		{"O < 25 %", 100, 1000, 1, 750, 10, KIND_TRUE_OOM},
		{"U large, O larger", 100, 1000, 0, 600, 300, KIND_CO_TENANT},
		{"U large, O equal", 100, 1000, 0, 600, 400, KIND_FRAGMENTATION},
		{"U large, O < 25 %", 100, 1000, 51, 700, 200, KIND_FRAGMENTATION},
		{"small request, full card", 1, 1000, 0, 1000, 0, KIND_TRUE_OOM},
		{"free beyond capacity", 1, 1000, 5000, 100, 0, KIND_UNKNOWN},
		{"process beyond capacity", 1, 1000, 0, 5000, 0, KIND_UNKNOWN},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage;

		message(text, sizeof(text), rows[i].tried, rows[i].capacity, rows[i].free_, rows[i].process,
			rows[i].unallocated);
		triage = decide("a.log", INPUT_LOG, text);
		if (triage->verdict.kind != rows[i].want)
			fail_msg("%s: %s", rows[i].name, triage_kinds[triage->verdict.kind].name);
		end(triage);
	}
}

#define FULL                                                                                                           \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 " \
	"GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 9.00 GiB memory in use. Of "    \
	"the "                                                                                                         \
	"allocated memory 8.50 GiB is allocated by PyTorch, and 0.10 GiB is reserved by PyTorch but unallocated.\n"

static void logs(void **state)
{
	static const struct {
		const char *name;
		enum input input;
		const char *text;
		enum kind want;
		const char *cause;
	} rows[] = {
		{"nothing", INPUT_LOG, "hello\nworld\n", KIND_UNKNOWN, NULL},
		{"empty", INPUT_LOG, "", KIND_UNKNOWN, NULL},
		{"step 0", INPUT_LOG, "step 0\n" FULL, KIND_TRUE_OOM, "static-sizing"},
		{"later", INPUT_LOG, "step 0 loss 1\nstep 1 loss 1\n" FULL, KIND_TRUE_OOM, "growth"},
		{"leak", INPUT_LOG,
		 "step 1 allocated=4.0GiB\nstep 2 allocated=5.0GiB\nstep 3 allocated=6.0GiB\nstep 4 "
		 "allocated=7.0GiB\n" FULL,
		 KIND_TRUE_OOM, "leak"},
		{"caught", INPUT_LOG, "step 5 loss 1\n" FULL "step 6 loss 1\nstep 7 loss 1\n", KIND_NOT_OOM,
		 "oom-recovered"},
		{"caught, then deadly", INPUT_LOG, "step 5\n" FULL "step 6\nstep 7\n" FULL, KIND_TRUE_OOM, "growth"},
		{"wrapped", INPUT_LOG,
		 "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB\n(GPU 0; 10.00 GiB total capacity; 5.00 "
		 "GiB "
		 "already allocated;\n1.00 MiB free; 9.00 GiB reserved in total by PyTorch)\n",
		 KIND_FRAGMENTATION, NULL},
		{"cut by another rank", INPUT_LOG,
		 "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total "
		 "capacity of 10.00 GiB of which [rank1]: step 8 loss=2\n1.00 GiB is free. Including non-PyTorch "
		 "memory, this process has 9.00 GiB memory in use. Of the allocated memory 5.00 GiB is allocated by "
		 "PyTorch, and 3.50 GiB is reserved by PyTorch but unallocated.\n",
		 KIND_FRAGMENTATION, NULL},
		{"cut, and a message of another rank below", INPUT_LOG,
		 "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total "
		 "capacity of 10.00 GiB of which\n[rank1]: 5.00 GiB is allocated by PyTorch, and 3.50 GiB is reserved "
		 "by "
		 "PyTorch but unallocated.\n",
		 KIND_TRUE_OOM, NULL},
		{"allowed", INPUT_LOG,
		 "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 10.00 GiB total capacity; 4.50 "
		 "GiB already "
		 "allocated; 5.00 GiB free; 5.00 GiB allowed; 4.60 GiB reserved in total by PyTorch)\n",
		 KIND_TRUE_OOM, "process-limit"},
		{"assert", INPUT_LOG, "RuntimeError: CUDA error: device-side assert triggered\n", KIND_NOT_OOM,
		 "device-assert"},
		{"error", INPUT_LOG, "Traceback (most recent call last):\nKeyError: 'x'\n", KIND_NOT_OOM, "error"},
		{"timeout", INPUT_LOG, "[rank1]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n",
		 KIND_NOT_OOM, "collective-timeout"},
		{"mention", INPUT_LOG, "oom_score_adj: 0\n# avoid CUDA out of memory here\n", KIND_UNKNOWN, NULL},
		{"worker", INPUT_LOG, "RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. \n",
		 KIND_UNKNOWN, "child-killed"},
		{"path that ends in brackets", INPUT_LOG, "saved checkpoint (step 5) [>] ) to\n", KIND_UNKNOWN, NULL},
		{"bus", INPUT_LOG,
		 "RuntimeError: DataLoader worker (pid 125) is killed by signal: Bus error. It is possible\n",
		 KIND_SHM_TOO_SMALL, "loader-workers"},
		{"reading data when the end came", INPUT_LOG, "Loading data: shard 22/40\nOOMKilled\n",
		 KIND_CONTAINER_LIMIT, "load-everything"},
		{"a table", INPUT_LOG, "pd.read_csv /data/all.csv\nOOMKilled\n", KIND_CONTAINER_LIMIT,
		 "load-everything"},
		{"data, then the model", INPUT_LOG, "Loading dataset\nLoading model weights\nOOMKilled\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"data, then steps", INPUT_LOG, "Loading data: shard 22/40\nstep 1\nOOMKilled\n", KIND_CONTAINER_LIMIT,
		 NULL},
		{"data, then much else", INPUT_LOG,
		 "Loading data\n1\n2\n3\n4\n5\n6\n7\n8\n9\n1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n1\nOOMKilled\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"bus error, as a shell without core files says", INPUT_LOG,
		 "bash: line 1: 12086 Bus error               python3 train.py\n", KIND_SHM_TOO_SMALL, NULL},
		{"bus error in a sentence", INPUT_LOG, "run.sh: line 12: a Bus error may follow\n", KIND_UNKNOWN, NULL},
		{"a program of GNU", INPUT_LOG,
		 "dd: memory exhausted by input buffer of size 1073741824 bytes (1.0 GiB)\n", KIND_ALLOCATION_REFUSED,
		 NULL},
		{"hardware first", INPUT_DMESG, FULL "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.\n",
		 KIND_GPU_FAULT, "lost"},
		{"application's XID", INPUT_DMESG, "NVRM: Xid (PCI:0000:65:00): 31, pid=7\n", KIND_NOT_OOM,
		 "xid-application"},
		{"container", INPUT_DMESG,
		 "python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=999\n"
		 "memory: usage 1048576kB, limit 1048576kB, failcnt 189\n"
		 "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/kubepods/"
		 "burstable/"
		 "pod8a3b7c1e-0000-1111-2222-333344445555/c0ffee,task_memcg=/kubepods/burstable/"
		 "pod8a3b7c1e-0000-1111-2222-333344445555/c0ffee,task=python,pid=966,uid=0\n"
		 "Memory cgroup out of memory: Killed process 966 (python) total-vm:2048kB, anon-rss:1024kB, "
		 "file-rss:0kB, "
		 "shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:999\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"pod", INPUT_DMESG,
		 "[1.5] "
		 "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/"
		 "kubepods.slice/"
		 "kubepods-burstable.slice/"
		 "kubepods-burstable-pod8a3b7c1e_0000_1111_2222_333344445555.slice,task_memcg=/x,task=a,"
		 "pid=1,uid=0\n",
		 KIND_POD_LIMIT, NULL},
		{"node, 3.10", INPUT_DMESG,
		 "Out of memory: Kill process 1221 (allocate) score 241 or sacrifice child\nKilled process 1221 "
		 "(allocate) "
		 "total-vm:1kB, anon-rss:1kB, file-rss:0kB\n",
		 KIND_NODE_OOM, NULL},
		{"container, 4.x", INPUT_DMESG,
		 "java invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=-998\n"
		 "Task in /kubepods/besteffort/pod1a/c1 killed as a result of limit of /kubepods/besteffort/pod1a/c1\n"
		 "memory: usage 1024kB, limit 1024kB, failcnt 1\n"
		 "Memory cgroup out of memory: Kill process 24572 (java) score 0 or sacrifice child\n"
		 "Killed process 24572 (java) total-vm:20kB, anon-rss:46kB, file-rss:1kB\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"policy", INPUT_DMESG,
		 "oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=0,cpuset=x,mems_allowed=0,task=a,pid=1,uid=0\n",
		 KIND_NODE_OOM, "mempolicy"},
		{"a check that failed", INPUT_LOG,
		 "Traceback (most recent call last):\nAssertionError: expected CUDA out of memory to be raised\n",
		 KIND_NOT_OOM, "error"},
		{"a shell's last word", INPUT_LOG, "step 400\nstep 500\nKilled\n", KIND_UNKNOWN, "child-killed"},
		{"a shell's last word behind SIGTERM", INPUT_LOG,
		 "step 5\nslurmstepd: error: *** JOB 5 ON n1 CANCELLED AT "
		 "2026-11-20T10:00:00 ***\nKilled\n",
		 KIND_NOT_OOM, "terminated"},
		{"not its last word", INPUT_LOG, "Killed\nstep 1\nstep 2\nstep 3\nstep 4\n", KIND_UNKNOWN, NULL},
		{"workers", INPUT_DMESG,
		 "python invoked oom-killer: gfp_mask=0xcc0\n"
		 "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
		 "[ 5.0] [    101]     0   101   100    2000    1        0           999 python\n"
		 "[ 5.0] [    102]     0   102   100    1000    1        0           999 python\n"
		 "[ 5.0] [    103]     0   103   100    1000    1        0           999 python\n"
		 "[ 5.0] [    104]     0   104   100    1000    1        0           999 python\n"
		 "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/kubepods/pod1/c,task_memcg=/kubepods/"
		 "pod1/c,"
		 "task=python,pid=101,uid=0\n"
		 "Memory cgroup out of memory: Killed process 101 (python) total-vm:1kB, anon-rss:4000kB, "
		 "file-rss:0kB\n",
		 KIND_CONTAINER_LIMIT, "loader-workers"},
		{"retired pages", INPUT_SMI, "    Retired Pages\n        Pending Page Blacklist : Yes\n",
		 KIND_GPU_FAULT, "row-remap"},
		{"remapped rows, none pending", INPUT_SMI, "    Remapped Rows\n        Pending : No\n", KIND_UNKNOWN,
		 NULL},
		{"XML: memory without a process", INPUT_SMI,
		 "<fb_memory_usage>\n<total>81920 MiB</total>\n<reserved>300 MiB</reserved>\n<used>70000 MiB</used>\n"
		 "</fb_memory_usage>\n<bar1_memory_usage>\n<total>1 MiB</total>\n<used>1 MiB</used>\n"
		 "</bar1_memory_usage>\n<processes>\n</processes>\n",
		 KIND_CO_TENANT, "zombie"},
		{"XML: memory of a process", INPUT_SMI,
		 "<fb_memory_usage>\n<total>81920 MiB</total>\n<used>70000 MiB</used>\n</fb_memory_usage>\n"
		 "<processes>\n<process_info>\n<pid>7</pid>\n</process_info>\n</processes>\n",
		 KIND_UNKNOWN, NULL},
		{"XML: an idle card", INPUT_SMI,
		 "<fb_memory_usage>\n<total>81920 MiB</total>\n<used>3 MiB</used>\n</fb_memory_usage>\n"
		 "<processes>\n</processes>\n",
		 KIND_UNKNOWN, NULL},
		{"CuPy 8", INPUT_LOG,
		 "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes (allocated so far: "
		 "12,373,894,656 bytes).\n",
		 KIND_TRUE_OOM, NULL},
		{"a column of CSV", INPUT_SMI, "name, remapped_rows.failure\nA100, 0\nA100, 1\n", KIND_GPU_FAULT,
		 "row-remap"},
		{"garbage after a timeout", INPUT_LOG,
		 "Watchdog caught collective operation timeout\nOutOfMemoryError: CUDA out of memory. Tried to "
		 "allocate "
		 "more than 1EB memory.\n",
		 KIND_NOT_OOM, "collective-timeout"},
		{"tests that fail", INPUT_LOG, FULL "===== 1 failed, 40 passed in 3.2s =====\n", KIND_TRUE_OOM, NULL},
		{"tests that pass, and a kill", INPUT_DMESG,
		 "Out of memory: Killed process 7 (python)\n===== 41 passed in 3.2s =====\n", KIND_NODE_OOM, NULL},
		{"others before TensorFlow began", INPUT_LOG,
		 "name: A totalMemory: 8.00GiB freeMemory: 1.00GiB\nOOM when allocating tensor with shape[16,112] and "
		 "type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n",
		 KIND_CO_TENANT, NULL},
		{"TensorFlow's limit far below the card", INPUT_LOG,
		 "pciBusID: 0 name: A deviceMemorySize: 8.00GiB\nOOM when allocating tensor with shape[16,112] and "
		 "type "
		 "float on /device:GPU:0 by allocator GPU_0_bfc\nStats:\nLimit:   1073741824\nInUse:   1000000000\n",
		 KIND_CO_TENANT, NULL},
		{"PyTorch's cudaMallocAsync", INPUT_LOG,
		 "RuntimeError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
		 "Currently allocated     : 10.00 GiB\nRequested               : 2.00 GiB\n"
		 "Device limit            : 24.00 GiB\nFree (according to CUDA): 1.00 GiB\n",
		 KIND_CO_TENANT, NULL},
		{"CuPy before 6", INPUT_LOG,
		 "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 1073741824 bytes (total 12373894656 "
		 "bytes)\n",
		 KIND_TRUE_OOM, NULL},
		{"a sidecar that was injected", INPUT_LOG, "sidecar injected; container a: reason OOMKilled\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"an injected fault", INPUT_LOG, "injecting fault: container a: reason OOMKilled\n", KIND_UNKNOWN,
		 NULL},
		{"pinned memory of the host", INPUT_LOG, "cudaHostAlloc failed: out of memory\n",
		 KIND_ALLOCATION_REFUSED, "pinned-memory"},
		{"the driver wants a reset", INPUT_DMESG,
		 "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
		 "Required)\n",
		 KIND_GPU_FAULT, "reset-required"},
		{"TensorRT leaves out what does not fit", INPUT_LOG,
		 "[TRT] [E] 2: [virtualMemoryBuffer.cpp::resizePhysical::145] Error Code 2: OutOfMemory (no further "
		 "information)\n[TRT] [W] Skipping tactic 8 due to insufficient memory on requested size of "
		 "17179869184\n",
		 KIND_NOT_OOM, "oom-recovered"},
		{"kernel's scratch", INPUT_LOG, "Ran out of memory in memory space vmem. Used 32.42M of 16.00M vmem.\n",
		 KIND_NOT_OOM, "kernel-scratch"},
		{"a search for a batch", INPUT_LOG, FULL "AutoBatch: Using batch-size 52 for CUDA:0\n", KIND_NOT_OOM,
		 "oom-recovered"},
		{"evicted", INPUT_LOG,
		 "The node was low on resource: memory. Container a was using 31Gi, request is 0\n",
		 KIND_EVICTED_MEMORY, "no-request"},
		{"evicted for its disk", INPUT_LOG, "Usage of EmptyDir volume \"cache\" exceeds the limit \"1Gi\". \n",
		 KIND_EVICTED_STORAGE, "volume-limit"},
		{"killed before it began", INPUT_LOG,
		 "OCI runtime create failed: container init was OOM-killed (memory limit too low?): unknown\n",
		 KIND_CONTAINER_LIMIT, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = decide("a.log", rows[i].input, rows[i].text);

		if (triage->verdict.kind != rows[i].want || !streq(triage->verdict.cause, rows[i].cause))
			fail_msg("%s: %s, %s, by %s", rows[i].name, triage_kinds[triage->verdict.kind].name,
				 triage->verdict.cause ? triage->verdict.cause : "no cause",
				 triage->verdict.rule->name);
		end(triage);
	}
}

#define BUS "DataLoader worker (pid 1) is killed by signal: Bus error. It is possible\n"

/* What the answer says besides the kind. */
static void sentences_name_what_is_known(void **state)
{
	static const struct {
		enum input input;
		const char *text, *want;
		enum confidence confidence;
	} rows[] = {
		{INPUT_DMESG,
		 "kernel: [ pid ] uid tgid total_vm rss pgtables_bytes swapents oom_score_adj name\n"
		 "kernel: [ 64320] 1011 64320 47586463 5345805 128630784 547757 0 yb-tserver\n"
		 "kernel: [ 69072] 1011 69072 602678 8365 360448 751 0 postgres\n"
		 "kernel: Out of memory: Killed process 69072 (postgres) total-vm:2484556kB, anon-rss:143224kB\n",
		 "The largest task, yb-tserver, held 20.39 GiB.", CONFIDENCE_HIGH},
		{INPUT_DMESG,
		 "Task in /docker/5929cf05bc9e killed as a result of limit of /docker/5929cf05bc9e\n"
		 "memory: usage 524288kB, limit 524288kB, failcnt 1620\n",
		 "A cgroup reached its memory limit, and the kernel killed a task. The limit was 512.00 MiB.",
		 CONFIDENCE_MEDIUM},
		{INPUT_LOG,
		 "XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has a total capacity of 5.65 GiB of which 5.65 "
		 "GiB is free.\n",
		 "4.66 GiB was refused although 5.65 GiB of the GPU's 5.65 GiB was free", CONFIDENCE_MEDIUM},
		{INPUT_LOG,
		 "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
		 "of "
		 "10.00 GiB of which\n",
		 "The GPU of 10.00 GiB refused 2.00 GiB; the message ends before its figures for free and reserved "
		 "memory, so that fragmentation and a co-tenant cannot be ruled out.",
		 CONFIDENCE_LOW},
		{INPUT_LOG,
		 "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; 9.00 GiB already "
		 "allocated; 1.00 GiB free;\n",
		 "refused 2.00 GiB while 1.00 GiB was free; the message ends before its figures for reserved memory",
		 CONFIDENCE_LOW},
		{INPUT_LOG, "./run.sh: line 3: 12345 Bus error (core dumped) python t.py\n",
		 "SIGBUS of a training process is most often", CONFIDENCE_LOW},
		{INPUT_LOG, "num_workers=8\n./run.sh: line 3: 12345 Bus error (core dumped) python t.py\n",
		 "Shared memory between the processes is full", CONFIDENCE_HIGH},
		{INPUT_LOG, "step 1 rss=1.0GiB\nstep 2 rss=2.0GiB\nstep 3 rss=3.0GiB\nKilled\n",
		 "does not say from whom. The resident memory that the program reports only grew, to 3.00 GiB (line 3)",
		 CONFIDENCE_LOW},
		{INPUT_LOG, "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
		 "The GPU ran out of memory: 2.00 GiB asked for; the figures that would tell", CONFIDENCE_LOW},
		{INPUT_LOG, "RuntimeError: CUDA error: out of memory\n", "the message has no figures", CONFIDENCE_LOW},
		/* What waits in /dev/shm. */
		{INPUT_LOG, "num_workers=16 prefetch_factor=8\n" BUS,
		 " keep up to 128 batches in /dev/shm: of 64.00 MiB that is 512.00 KiB each.", CONFIDENCE_HIGH},
		{INPUT_LOG, "num_workers=4\nvolume shm mounted at /dev/shm, sizeLimit 1Gi\n" BUS,
		 "num_workers=4 and prefetch_factor=2 keep up to 8 batches in /dev/shm: of 1.00 GiB that is 128.00 "
		 "MiB each.",
		 CONFIDENCE_HIGH},
		/* What the log says before or behind the message. */
		{INPUT_LOG,
		 "step 1 allocated=20.0GiB reserved=22.0GiB\nstep 2 allocated=20.0GiB reserved=36.0GiB\n"
		 "RuntimeError: CUDA error: out of memory\n",
		 "16.00 GiB of the 36.00 GiB that the process had reserved (44 %) were unallocated by line 2 of its "
		 "log: so these may be fragments",
		 CONFIDENCE_LOW},
		{INPUT_LOG, "step 1 allocated=20.0GiB reserved=20.5GiB\nRuntimeError: CUDA error: out of memory\n",
		 "The GPU ran out of memory: 20.00 GiB allocated; the figures", CONFIDENCE_LOW},
		{INPUT_LOG,
		 "Out of memory error on GPU 0. Cannot allocate 1.500000GB memory on GPU 0, 31.000000GB memory has "
		 "been "
		 "allocated and available memory is only 700.000000MB.\n",
		 ": 1.50 GiB asked for, 700.00 MiB free, 31.00 GiB allocated;", CONFIDENCE_MEDIUM},
		{INPUT_LOG,
		 "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
		 "7406166528 bytes.\nBufferAssignment stats:\n     preallocated temp allocation:    6.90GiB\n"
		 "                 total allocation:    8.46GiB\n",
		 ": 6.90 GiB asked for, 8.46 GiB needed by the whole program;", CONFIDENCE_MEDIUM},
		{INPUT_LOG,
		 "RuntimeError: Resource exhausted: Attempting to reserve 12.37G at the bottom of memory. That was not "
		 "possible. There are 6.48G free, 0B reserved, and 6.48G reservable.\n",
		 ": 12.37 GiB asked for, 6.48 GiB free;", CONFIDENCE_MEDIUM},
		/* Wordings that never say what is reserved, or say it in their own words. */
		{INPUT_LOG,
		 "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; 9.00 "
		 "GiB "
		 "already allocated; 1.00 GiB free; 20.00 MiB cached)\n",
		 "2.00 GiB was asked for on a GPU of 10.00 GiB, of which 1.00 GiB was free; 20.00 MiB",
		 CONFIDENCE_HIGH},
		{INPUT_LOG,
		 "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
		 "Currently allocated     : 22.50 GiB\nRequested               : 2.00 GiB\n"
		 "Device limit            : 24.00 GiB\nFree (according to CUDA): 1.00 GiB\n",
		 "2.00 GiB was asked for on a GPU of 24.00 GiB, of which 1.00 GiB was free.", CONFIDENCE_HIGH},
		{INPUT_LOG,
		 "Compilation failure: Ran out of memory in memory space hbm. Used 8.38G of 8.00G hbm. Exceeded hbm "
		 "capacity by 385.25M.\n",
		 "The program needs 8.38 GiB, which is more than the whole chip's 8.00 GiB.", CONFIDENCE_HIGH},
		{INPUT_LOG,
		 "MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 "
		 "GiB). Tried to allocate 292.50 MiB on private pool.\n",
		 "The process allows itself only 27.20 GiB, and 292.50 MiB more was asked for.", CONFIDENCE_HIGH},
		{INPUT_DMESG, "NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0\n",
		 "XID 144 (nvlink) and calls it nonfatal", CONFIDENCE_LOW},
		{INPUT_DMESG,
		 "NVRM: Xid (PCI:0000:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 0\n"
		 "NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n",
		 "XID 79, a fault of the GPU", CONFIDENCE_HIGH},
		{INPUT_LOG,
		 "The node was low on resource: ephemeral-storage. Container a was using 52Ki, which exceeds "
		 "its request of 0.\n",
		 "The node's disk was nearly full, and the kubelet chose this pod, which used 52.00 KiB.",
		 CONFIDENCE_HIGH},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = decide("a.log", rows[i].input, rows[i].text);

		if (!strstr(triage->verdict.why, rows[i].want) || triage->verdict.confidence != rows[i].confidence)
			fail_msg("%s: %s, %s", rows[i].text, triage->verdict.why,
				 triage_confidence_names[triage->verdict.confidence]);
		end(triage);
	}
}

/* Of many lines about steps only the last are read: each rank's step, and whether a run went on, stay right. */
static void long_runs(void **state)
{
	static const struct {
		const char *name;
		int n_before, n_after; /* steps of each rank, before and after rank 5's failure */
		enum kind want;
		int64_t step;
	} rows[] = {
		{"no step", 0, 0, KIND_TRUE_OOM, STEP_NONE},	     {"many steps", 5000, 0, KIND_TRUE_OOM, 4999},
		{"one step more", 5000, 1, KIND_TRUE_OOM, 4999},     {"two steps more", 5000, 2, KIND_NOT_OOM, 4999},
		{"many steps more", 5000, 5000, KIND_NOT_OOM, 4999},
	};
	enum { RANKS = 64 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * MIB);
		struct triage *triage;

		for (int step = 0; step < rows[i].n_before; step++)
			for (int rank = 0; rank < RANKS; rank++)
				strbuf_addf(&text, "[rank%d]: epoch 2 step %d loss 1.5\n", rank, step);
		strbuf_addf(&text, "[rank5]: " FULL);
		for (int step = 0; step < rows[i].n_after; step++)
			for (int rank = 0; rank < RANKS; rank++)
				strbuf_addf(&text, "[rank%d]: step %d loss 1.5\n", rank, rows[i].n_before + step);
		triage = decide("a.log", INPUT_LOG, strbuf_text(&text));
		if (triage->verdict.kind != rows[i].want || triage->facts.items.items[0].step != rows[i].step)
			fail_msg("%s: %s, step %lld", rows[i].name, triage_kinds[triage->verdict.kind].name,
				 (long long)triage->facts.items.items[0].step);
		end(triage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thresholds),
		cmocka_unit_test(logs),
		cmocka_unit_test(long_runs),
		cmocka_unit_test(sentences_name_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
