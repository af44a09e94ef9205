/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons that somebody states in words: what counts as stated, what only mentions the words, and which of several
 * statements decides. */
#include "support/test.h"

#include "base/strbuf.h"
#include "triage/triage.h"
#include "triage_fixture.h"

#include <stdlib.h>

static struct line_buffer buffer;

static void lines_are_recognised(void **state)
{
	static const struct {
		enum signal_id signal;
		bool want;
		const char *text;
	} rows[] = {
		{SIGNAL_GPU_OOM, true,
		 "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."},
		{SIGNAL_GPU_OOM, true,
		 "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.7. "
		 "Raise "
		 "--mem-fraction-static above 0.773"},
		{SIGNAL_GPU_OOM, true,
		 "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"},
		{SIGNAL_GPU_OOM, true, "RuntimeError: No executable batch size found, reached zero."},
		{SIGNAL_GPU_OOM, false, "    raise RuntimeError(\"No executable batch size found, reached zero.\")"},
		{SIGNAL_GPU_OOM, false,
		 "RuntimeError: DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes"},
		{SIGNAL_GPU_OOM, false, "  you tried to allocate 37984010240 bytes"},
		{SIGNAL_GPU_OOM, false, "OutOfMemoryError: Container killed due to memory usage"},
		{SIGNAL_GPU_OOM, true,
		 "\t* 1 x RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::268435456 "
		 "(256)MB"},
		{SIGNAL_GPU_OOM, false, " * RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB is thrown"},
		{SIGNAL_REFUSED, true, "  you tried to allocate 37984010240 bytes"},
		{SIGNAL_REFUSED, true,
		 "# D:/a/src/result.cc:28: ValueOrDie called on an error: Out of memory: malloc of size 262144 failed"},
		{SIGNAL_REFUSED, false, "# Out of memory: malloc of size 262144 failed"},
		{SIGNAL_REFUSED, true, "#> Error: cannot allocate memory"},
		{SIGNAL_REFUSED, false, "malloc of size 128 has failed before"},
		{SIGNAL_MEMORY_ERROR, true, "ResourceExhaustedError:"},
		{SIGNAL_MEMORY_ERROR, true, "ValueError: the scratch buffer does not fit into memory"},
		{SIGNAL_MEMORY_ERROR, true, "RuntimeError: GPU\xe6\x98\xbe\xe5\xad\x98\xe4\xb8\x8d\xe8\xb6\xb3"},
		{SIGNAL_MEMORY_ERROR, false, "RuntimeError: CUDA error: an illegal memory access was encountered"},
		{SIGNAL_MEMORY_ERROR, false, "RuntimeError: unsupported memory format option Preserve"},
		{SIGNAL_MEMORY_ERROR, false, "RuntimeError: Some tensors share memory, this leads to copies"},
		{SIGNAL_MEMORY_ERROR, false, "TypeError: got an unexpected keyword argument 'pin_memory'"},
		{SIGNAL_MEMORY_ERROR, false, "ResourceExhaustedError: Received message larger than max (5 vs. 4)"},
		{SIGNAL_EXCEPTION, false, "ResourceExhaustedError:"},
		{SIGNAL_EXCEPTION, true, "RuntimeError: CUDA error: an illegal memory access was encountered"},
		{SIGNAL_EXCEPTION, true, "KeyError: 'memory_mode'"},
		{SIGNAL_EXCEPTION, true, "AttributeError: 'Config' object has no attribute 'memory'"},
		{SIGNAL_OOM_KILLED, true, "\"reason\": \"OOM Killed\","},
		{SIGNAL_OOM_KILLED, true, "pod_reason{container=\"a\",reason=\"OOMKilled\"} 1"},
		{SIGNAL_OOM_KILLED, true, "{container=\"a\",reason=\"OOMKilled\"} => 1 @[1700000000]"},
		{SIGNAL_OOM_KILLED, false, "pod_reason{container=\"a\",reason=\"OOMKilled\"} 0"},
		{SIGNAL_OOM_KILLED, false, "              reason=\"OOMKilled\","},
		{SIGNAL_OOM_KILLED, true, "\"Container died\" pod=\"ml/a\" reason=\"OOMKilled\""},
		{SIGNAL_OOM_KILLED, false, "    expr: pod_reason{reason=\"OOMKilled\"} == 1"},
		{SIGNAL_OOM_KILLED, false, "    expr: sum(pod_reason{reason=\"OOMKilled\"}) > 0"},
		{SIGNAL_OOM_KILLED, false,
		 "summary: 'Container {{ $labels.container }} was OOMKilled (exit code 137)'"},
		{SIGNAL_OOM_KILLED, false, "+ echo 'reason: OOMKilled'"},
		{SIGNAL_OOM_KILLED, false, "echo \"the pod was OOMKilled\""},
		{SIGNAL_OOM_KILLED, false, "Usage: why [--reason OOMKilled]"},
		{SIGNAL_OOM_KILLED, true, "OutOfMemoryError: Container killed due to memory usage"},
		{SIGNAL_OOM_NOTED, true,
		 "containerd[2388]: time=\"2023-10-12T19:00:20Z\" level=info msg=\"TaskOOM event "
		 "container_id:\\\"25a3\\\"\""},
		{SIGNAL_OOM_NOTED, true,
		 "systemd[1]: cri-containerd-25a3.scope: A process of this unit has been killed by the OOM killer."},
		{SIGNAL_OOM_NOTED, true, "systemd[1]: crio-25a3.scope: Failed with result 'oom-kill'."},
		{SIGNAL_OOM_NOTED, true, "conmon[812]: conmon 25a3b5b8d556 <ninfo>: OOM received"},
		{SIGNAL_OOM_NOTED, false, "classroom event received"},
		{SIGNAL_OOM_NOTED, false, "systemd[1]: train.service: Failed with result 'oom-kill'."},
		{SIGNAL_OOM_REAPED, true, "systemd[1]: train.service: Failed with result 'oom-kill'."},
		{SIGNAL_OOM_REAPED, true, "kernel: oom_reaper: reaped process 4254 (python3), now anon-rss:0kB"},
		{SIGNAL_DASK, true, "distributed.nanny - WARNING - Worker exceeded 95% memory budget.  Restarting"},
		{SIGNAL_DASK, true,
		 "distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:49477 (pid=59029) exceeded 95% memory "
		 "budget. "
		 "Restarting..."},
		{SIGNAL_DASK, false, "each worker has 95% memory budget"},
		{SIGNAL_PREEMPTED, false,
		 "Sequence group 42 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache "
		 "space."},
		{SIGNAL_PREEMPTED, false, "num_preempted=0 running=3"},
		{SIGNAL_PREEMPTED, false, "workers=4 preempted=0"},
		{SIGNAL_PREEMPTED, false, "pods 3, preempted: 0"},
		{SIGNAL_PREEMPTED, true,
		 "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2025-01-03 DUE TO PREEMPTION ***"},
		{SIGNAL_PREEMPTED, true, "Caught signal SIGUSR2 on node-1: this job is preempted."},
		{SIGNAL_PREEMPTED, true, "The TPU worker was preempted"},
		{SIGNAL_PROBE_KILLED, true, "Container trainer failed liveness probe, will be restarted"},
		{SIGNAL_PROBE_KILLED, false, "Liveness probe failed: HTTP probe failed with statuscode: 500"},
		{SIGNAL_DISK_FULL, false, "OSError: [Errno 122] Disk quota exceeded"},
		{SIGNAL_DISK_QUOTA, true, "OSError: [Errno 122] Disk quota exceeded"},
		{SIGNAL_FILES_LIMIT, true, "OSError: [Errno 24] Too many open files"},
		{SIGNAL_FILES_LIMIT, true, "RuntimeError: received 0 items of ancdata"},
		{SIGNAL_SHM_ERROR, true,
		 "NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl-a (size 9), error: No such "
		 "file or "
		 "directory (2)"},
		{SIGNAL_SHM_ERROR, false,
		 "NCCL WARN Error: failed to extend /dev/shm/nccl-a, error: No space left on device"},
		{SIGNAL_NAN_LOSS, true, "Loss is nan, stopping training"},
		{SIGNAL_NAN_LOSS, false, "early stopping training at epoch 3, loss is 0.2"},
		{SIGNAL_SEGFAULT, false,
		 "This could be caused by a segmentation fault while calling the function or by memory"},
		{SIGNAL_STEP, true, "  12/100 [==>...........................] - ETA: 3:59 - loss: 1.8528e-05"},
		{SIGNAL_STEP, true, "250/250 [==============================] - 91s 362ms/step - loss: 0.0213"},
		{SIGNAL_STEP, false, "ETA: 3/4 [ready] - eta: soon"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading reading;
		struct line line;

		line_make(str_c(rows[i].text), 1, &buffer, &line);
		if (signal_read(rows[i].signal, &line, &reading) != rows[i].want)
			fail_msg("%s: %s", signals[rows[i].signal].name, rows[i].text);
	}
}

#define DRIVER                                                                                                         \
	"cuda_driver.cc:789] failed to allocate 2.46G (2637627392 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out "  \
	"of memory\n"
#define NO_FAILURE                                                                                                     \
	"W bfc_allocator.cc:215] Allocator (GPU_0_bfc) ran out of memory trying to allocate 217.69MiB. The caller "    \
	"indicates that this is not a failure, but may mean that there could be performance gains\n"
#define KILLED_WORKER "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.\n"

static void logs(void **state)
{
	static const struct {
		const char *name;
		enum input input;
		const char *text;
		enum kind want;
		const char *cause;
	} rows[] = {
		{"caught by TensorFlow", INPUT_LOG,
		 DRIVER "250/250 [======] - 91s 362ms/step - loss: 0.0213\nTraining finished\n", KIND_NOT_OOM,
		 "oom-recovered"},
		{"not caught", INPUT_LOG, "240/250 [====>.] - ETA: 9s - loss: 0.0213\n" DRIVER, KIND_TRUE_OOM,
		 "growth"},
		{"an epoch and its step are one line of progress", INPUT_LOG,
		 "epoch 1 step 5 loss 1\n" DRIVER "epoch 2 step 6 loss 1\n", KIND_TRUE_OOM, "growth"},
		{"epochs are progress", INPUT_LOG, "Epoch 1/4\n" DRIVER "Epoch 2/4\nEpoch 3/4\n", KIND_NOT_OOM,
		 "oom-recovered"},
		{"a refusal that was survived", INPUT_LOG, "step 1\nMemoryError\nstep 2\nTraining complete\n",
		 KIND_NOT_OOM, "oom-recovered"},
		{"a refusal before the end", INPUT_LOG, "step 1\nMemoryError\nstep 2\n", KIND_ALLOCATION_REFUSED, NULL},
		{"no failure, and progress", INPUT_LOG,
		 "12/100 [=>.] - ETA: 3:59 - loss: 1.8\n" NO_FAILURE
		 "13/100 [=>.] - ETA: 3:59 - loss: 1.8\n14/100 [=>.] - ETA: 3:59 - loss: 1.8\n",
		 KIND_NOT_OOM, "oom-recovered"},
		{"no failure, and silence", INPUT_LOG, "12/100 [=>.] - ETA: 3:59 - loss: 1.8\n" NO_FAILURE,
		 KIND_UNKNOWN, NULL},
		{"the CPU allocator in two lines", INPUT_LOG,
		 "RuntimeError: DefaultCPUAllocator: not enough memory:\n  you tried to allocate 37984010240 bytes\n",
		 KIND_ALLOCATION_REFUSED, NULL},
		{"a cgroup in spite of its constraint", INPUT_DMESG,
		 "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/"
		 "a,"
		 "task=a.out,pid=9188,uid=0\n"
		 "Memory cgroup out of memory: Killed process 9188 (a.out) total-vm:14456kB, anon-rss:10324kB\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"a cgroup by the line of the kill alone", INPUT_DMESG,
		 "oom-kill:constraint=CONSTRAINT_NONE,task=a.out,pid=9188,uid=0\n"
		 "Memory cgroup out of memory: Killed process 9188 (a.out) total-vm:14456kB, anon-rss:10324kB\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"the node", INPUT_DMESG,
		 "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/a,"
		 "task=a.out,pid=9188,uid=0\n"
		 "Out of memory: Killed process 9188 (a.out) total-vm:14456kB, anon-rss:10324kB\n",
		 KIND_NODE_OOM, NULL},
		{"noted by the runtime", INPUT_DMESG,
		 "containerd[9]: msg=\"TaskOOM event container_id:\\\"25a3\\\"\"\n", KIND_CONTAINER_LIMIT, NULL},
		{"reaped", INPUT_DMESG, "oom_reaper: reaped process 4254 (python3), now anon-rss:0kB\n", KIND_NODE_OOM,
		 NULL},
		{"the kernel's own line before the reaper's", INPUT_DMESG,
		 "Memory cgroup out of memory: Killed process 4254 (python3) total-vm:1kB, anon-rss:1kB\n"
		 "oom_reaper: reaped process 4254 (python3), now anon-rss:0kB\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"a worker killed behind the end", INPUT_LOG,
		 "100%|##| 435/435 [10:00<00:00, 1.3s/it]\n" KILLED_WORKER "job finished with exit code 0\n",
		 KIND_NOT_OOM, "after-the-end"},
		{"a worker killed while the last checkpoint is written", INPUT_LOG,
		 "100%|##| 435/435 [10:00<00:00, 1.3s/it]\nSaving the model\n" KILLED_WORKER, KIND_UNKNOWN,
		 "child-killed"},
		{"a worker killed before the end", INPUT_LOG,
		 "99%|##| 434/435 [10:00<00:00, 1.3s/it]\n" KILLED_WORKER "cleanup job ended with exit code 0\n",
		 KIND_UNKNOWN, "child-killed"},
		{"dask", INPUT_LOG, "Worker exceeded 95% memory budget. Restarting\n", KIND_CONTAINER_LIMIT, "dask"},
		{"dask, and a good end", INPUT_LOG,
		 "Worker exceeded 95% memory budget. Restarting\nTraining complete\n", KIND_NOT_OOM, "completed"},
		{"KilledWorker alone", INPUT_LOG,
		 "distributed.scheduler.KilledWorker: ('a', <Worker 'tcp://1.2.3.4'>)\n", KIND_UNKNOWN, "child-killed"},
		{"a worker of joblib", INPUT_LOG,
		 "joblib.externals.loky.process_executor.TerminatedWorkerError: A worker process managed by the "
		 "executor was "
		 "unexpectedly terminated. This could be caused by a segmentation fault while calling the function or "
		 "by an "
		 "excessive memory usage causing the Operating System to kill the worker.\n",
		 KIND_UNKNOWN, "child-killed"},
		{"an unknown error about memory", INPUT_LOG,
		 "Traceback (most recent call last):\nResourceExhaustedError:\n", KIND_UNKNOWN, NULL},
		{"the same before a time-out", INPUT_LOG,
		 "ResourceExhaustedError:\nWatchdog caught collective operation timeout\n", KIND_UNKNOWN, NULL},
		{"Slurm's time limit", INPUT_LOG,
		 "slurmstepd: error: *** JOB 4 ON gpu07 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***\n",
		 KIND_NOT_OOM, "time-limit"},
		{"a hung job at its time limit", INPUT_LOG,
		 "Watchdog caught collective operation timeout\n"
		 "slurmstepd: error: *** JOB 4 ON gpu07 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***\n",
		 KIND_NOT_OOM, "collective-timeout"},
		{"Slurm kills what has not ended", INPUT_LOG,
		 "slurmstepd: error: *** JOB 4 ON gpu07 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***\n"
		 "srun: error: gpu07: tasks 0-3: Killed\n",
		 KIND_NOT_OOM, "time-limit"},
		{"a child killed before the time limit", INPUT_LOG,
		 "srun: error: gpu07: task 0: Killed\n"
		 "slurmstepd: error: *** JOB 4 ON gpu07 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***\n",
		 KIND_UNKNOWN, "child-killed"},
		{"quota", INPUT_LOG, "OSError: [Errno 122] Disk quota exceeded\n", KIND_NOT_OOM, "disk-quota"},
		{"files", INPUT_LOG, "OSError: [Errno 24] Too many open files\n", KIND_NOT_OOM, "files-limit"},
		{"a segment that is gone", INPUT_LOG,
		 "NCCL WARN Error while attaching to shared memory segment /dev/shm/nccl-a, error: No such file or "
		 "directory (2)\n",
		 KIND_NOT_OOM, "shm-error"},
		{"NaN", INPUT_LOG, "Loss is nan, stopping training\n", KIND_NOT_OOM, "nan-loss"},
		{"Lightning's end", INPUT_LOG, "`Trainer.fit` stopped: `max_epochs=10` reached.\n", KIND_NOT_OOM,
		 "completed"},
		{"a probe, in the events", INPUT_LOG,
		 "  Exit Code:    137\n  Normal  Killing  2m  kubelet  Container a failed liveness probe, will be "
		 "restarted\n",
		 KIND_NOT_OOM, "liveness-probe"},
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

/* Words that the answer has, and words that it must not have. */
static void answers_do_not_mislead(void **state)
{
	static const struct {
		enum input input;
		const char *text, *want, *want_not;
	} rows[] = {
		{INPUT_LOG,
		 "[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n"
		 "[rank4]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n",
		 "Ranks waited", "is the first that died"},
		{INPUT_LOG,
		 "[rank4]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n"
		 "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
		 "Rank 2 is the first that died.", "Rank 4"},
		{INPUT_LOG,
		 "[rank4]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n"
		 "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
		 "Time-outs of other ranks are collateral", "Rank 4 is"},
		{INPUT_LOG,
		 KILLED_WORKER "ConnectionResetError: [Errno 104] Connection reset by peer\n"
			       "Out of memory: Killed process 7 (pt_data_worker) total-vm:1kB, anon-rss:1kB\n",
		 "node-oom", "Time-outs of other ranks"},
		{INPUT_LOG,
		 "{\"levelname\": \"ERROR\", \"rank\": 2, \"exc_info\": \"RuntimeError: CUDA out of memory. Tried to "
		 "allocate 22.00 MiB.\"}\n",
		 "Rank 2 is the first that died.", "Rank 0"},
		{INPUT_LOG,
		 "{\"log\":\"{\\\"rank\\\": 3, \\\"msg\\\": \\\"RuntimeError: CUDA out of memory. Tried to allocate "
		 "22.00 MiB.\\\"}\\n\",\"stream\":\"stderr\"}\n",
		 "Rank 3 is the first that died.", "Rank 0"},
		{INPUT_LOG,
		 "{\"message\": \"config {\\\"rank\\\": 8}\", \"text\": \"RuntimeError: CUDA out of memory. Tried to "
		 "allocate 22.00 MiB.\"}\n",
		 "true-oom", "Rank 8"},
		{INPUT_DMESG,
		 "Memory cgroup out of memory: Kill process 4142 (python3) score 68 or sacrifice child\n"
		 "Killed process 4254 (worker) total-vm:11968kB, anon-rss:4288kB, file-rss:3972kB, shmem-rss:0kB\n",
		 "the kernel killed worker (process 4254, 4.19 MiB resident)", "process 4142,"},
		{INPUT_DMESG,
		 "Task in /kubepods/pod1/c1 killed as a result of limit of /kubepods/pod1\n"
		 "memory: usage 1024kB, limit 1024kB, failcnt 1\n"
		 "Memory cgroup out of memory: Kill process 28501 (java) score 1310 or sacrifice child\n"
		 "Killed process 28438 (java) total-vm:20255636kB, anon-rss:466160kB, file-rss:13684kB\n",
		 "the kernel killed java (process 28438, 455.23 MiB resident). The limit was 1.00 MiB.",
		 "process 28501,"},
		{INPUT_DMESG,
		 "Out of memory: Kill process 9 (a) score 68 or sacrifice child\n"
		 "Killed process 9 (a) total-vm:1kB, anon-rss:2048kB, file-rss:0kB\n"
		 "Killed process 10 (b) total-vm:1kB, anon-rss:1024kB, file-rss:0kB\n",
		 "the kernel killed a (process 9, 2.00 MiB resident)", "process 10,"},
		{INPUT_LOG, "\"OOMKilled\": false,\n\"ExitCode\": 137,\n", "`OOMKilled: false`", "from the OOM killer"},
		{INPUT_LOG,
		 "ValueError: Free memory on device cuda:1 (19.77/22.05 GiB) on startup is less than desired GPU "
		 "memory "
		 "utilization (0.9, 19.84 GiB). Decrease GPU memory utilization\n",
		 "gpu_memory_utilization=0.89", "gpu_memory_utilization=0.95"},
		{INPUT_LOG, "\"ExitCode\": 137,\n", "from the OOM killer", "`OOMKilled: false`"},
		{INPUT_LOG, "OSError: [Errno 24] Too many open files\n", "`ulimit -n`", "ordinary error"},
		{INPUT_LOG, "OSError: [Errno 122] Disk quota exceeded\n", "quota", "is full"},
		{INPUT_LOG,
		 "paddle.fluid.core.EnforceNotMet: enforce allocating <= available failed, 10513462067 > 1369702144\n",
		 "\"tried_bytes\":10513462067", "co-tenant:"},
		{INPUT_LOG,
		 "RuntimeError: DefaultCPUAllocator: not enough memory:\n  you tried to allocate 37984010240 bytes\n",
		 "\"tried_bytes\":37984010240", "co-tenant:"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(64 * KIB);
		struct triage *triage = decide("a.log", rows[i].input, rows[i].text);

		assert_int_equal(triage_text(triage, &buf), 0);
		assert_int_equal(triage_json(triage, &buf), 0);
		if (!strstr(strbuf_text(&buf), rows[i].want) || strstr(strbuf_text(&buf), rows[i].want_not))
			fail_msg("%s: %s", rows[i].want, strbuf_text(&buf));
		end(triage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_recognised),
		cmocka_unit_test(logs),
		cmocka_unit_test(answers_do_not_mislead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
