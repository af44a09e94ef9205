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
		{SIGNAL_JOB_LIMIT, true, "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit."},
		{SIGNAL_JOB_LIMIT, true, "=>> PBS: job killed: mem 38427376kb exceeded limit 33554432kb"},
		{SIGNAL_JOB_LIMIT, true, "Job exceeded a memory resource limit (vmem, pvmem, etc.). Job was aborted"},
		{SIGNAL_JOB_LIMIT, true, "job 3132467 exceeded MEM usage hard limit (2528 > 1126)"},
		{SIGNAL_JOB_LIMIT, true,
		 "job 4567 exceeds job hard limit \"h_vmem\" of queue \"all.q@n1\" (8592715776.00000 > "
		 "limit:8589934592.00000) - sending SIGKILL"},
		{SIGNAL_JOB_LIMIT, true,
		 "        Error from slot1_8@w1: Job has gone over memory limit of 16384 megabytes."},
		{SIGNAL_JOB_LIMIT, false,
		 "Error creating: pods \"job-1\" is forbidden: exceeded quota: a, requested: limits.memory=512Gi"},
		{SIGNAL_JOB_LIMIT, false, "qsub: Job exceeds queue resource limits MSG=cannot satisfy queue max mem"},
		{SIGNAL_JOB_LIMIT, false, "WARNING: memory of job 7 exceeds its soft limit"},
		{SIGNAL_JOB_LIMIT, false, "TERM_RUNLIMIT: job killed after reaching LSF run time limit."},
		{SIGNAL_LOW_MEMORY, true, "  Send SIGTERM to the victim; total response time: 2255 ms"},
		{SIGNAL_LOW_MEMORY, true, "Run the command: kill -TERM 12297"},
		{SIGNAL_LOW_MEMORY, true, "MemAvailable [0 MiB, 0.0 %] <= soft_threshold_min_mem [982 MiB, 10.0 %]"},
		{SIGNAL_LOW_MEMORY, false, "MemAvailable:   12345678 kB"},
		{SIGNAL_LOW_MEMORY, false, "+ kill -TERM 12297"},
		{SIGNAL_OOM_NOTED, true, "process within container db09e088 (name: \"a\") died due to OOM"},
		{SIGNAL_OOM_NOTED, true,
		 "The replica master 0 ran out-of-memory and exited with a non-zero status of 9(SIGKILL)"},
		{SIGNAL_OOM_NOTED, false, "container a died, probably due to OOM"},
		{SIGNAL_OOM_NOTED, false, "request 7 failed due to OOM"},
		{SIGNAL_SHM, true,
		 "ERROR:  could not resize shared memory segment \"/P.3\" to 16 bytes: No space left"},
		{SIGNAL_SHM, true,
		 "'Error while creating shared memory segment /dev/shm/nccl-T (size 3), error: No space"},
		{SIGNAL_SHM, true, "It is possible that dataloader's workers are out of shared memory."},
		{SIGNAL_SHM, false, "pg_dump: error: query failed: ERROR:  out of shared memory"},
		{SIGNAL_CHILD_KILLED, true, "a.service: Main process exited, code=killed, status=9/KILL"},
		{SIGNAL_TERMINATED, false, "a.service: Changed running -> stop-sigterm"},
		{SIGNAL_REFUSED, true, "OSError: [WinError 1455] The paging file is too small"},
		{SIGNAL_REFUSED, true, "    Error: vector memory exhausted (limit reached?)"},
		{SIGNAL_REFUSED, false, "the vector memory of the unit is 16 KiB"},
		{SIGNAL_REFUSED, true, "Error: cannot allocate vector of size 290.9 Mb"},
		{SIGNAL_REFUSED, true, "fatal error: runtime: out of memory"},
		{SIGNAL_REFUSED, true, "fatal error: out of memory"},
		{SIGNAL_REFUSED, false, "CUDA runtime: out of memory"},
		{SIGNAL_REFUSED, true,
		 "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"},
		{SIGNAL_REFUSED, true, "# Native memory allocation (mmap) failed to map 262144 bytes for committing"},
		{SIGNAL_REFUSED, true, "os::commit_memory(0x00007fc1b8917000, 262144, 0) failed; (errno=12)"},
		{SIGNAL_GPU_OOM, true, "F0903 syncedmem.cpp:56] Check failed: error == cudaSuccess (2 vs. 0)"},
		{SIGNAL_GPU_OOM, false, "F0903 common.cpp:56] Check failed: error == cudaSuccess (29 vs. 0)"},
		{SIGNAL_GPU_OOM, true, "dev 0 space Device size 1610612736 bytes (cudaMalloc error out of memory [2])"},
		{SIGNAL_GPU_OOM, true, "RuntimeError: There is not enough GPU video memory available!"},
		{SIGNAL_GPU_OOM, false, "There are not enough GPUs available"},
		{SIGNAL_GPU_OOM, true, "error: Insufficient Memory (8:kIOGPUCommandBufferCallbackErrorOutOfMemory)"},
		{SIGNAL_GPU_OOM, false, "(psycopg2.errors.OutOfMemory) out of shared memory"},
		{SIGNAL_GPU_OOM, true, "[TDRV:dmem_alloc] Failed to alloc DEVICE memory: 4194304"},
		{SIGNAL_GPU_OOM, true, "Last error: Failed to CUDA calloc async 1920 bytes"},
		{SIGNAL_GPU_OOM, true,
		 "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate`"},
		{SIGNAL_GPU_OOM, true,
		 "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"},
		{SIGNAL_GPU_OOM, true,
		 "{\"msg\": \"ray.exceptions.RayTaskError(OutOfMemoryError): CUDA out of memory. Tried to allocate "
		 "2.00 "
		 "GiB.\"}"},
		{SIGNAL_GPU_OOM, false,
		 "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."},
		{SIGNAL_GPU_ECC, true,
		 "a.cc:414] CUDA_ERROR_CONTAINED: Invalid access of peer GPU memory over nvlink or a hardware error"},
		{SIGNAL_SERVER_LIMIT, true, "HINT:  You might need to increase max_locks_per_transaction."},
		{SIGNAL_SERVER_LIMIT, false, "max_locks_per_transaction = 64"},
		{SIGNAL_COMPLETED, true, "Status:       Succeeded"},
		{SIGNAL_COMPLETED, true, "  \"phase\": \"Succeeded\","},
		{SIGNAL_COMPLETED, false, "phase 2: Succeeded"},
		{SIGNAL_COMPLETED, false, "status: request succeeded"},
		{SIGNAL_COMPLETED, false, "\"ExitCode\": 137"},
		{SIGNAL_MEMORY_ERROR, true, "worker 3: the arena failed: out of memory"},
		{SIGNAL_MEMORY_ERROR, false, "worker 3 failed, it may have run out of memory"},
		{SIGNAL_MEMORY_ERROR, false, "    ids = batch[\"error\"]  # avoids CUDA out of memory"},
		{SIGNAL_MEMORY_ERROR, false, "Started Userspace Out-Of-Memory (OOM) Killer."},
		{SIGNAL_MEMORY_ERROR, false, "error: out of memory, skipping the batch"},
		{SIGNAL_STEP, true, "  12/100 [==>...........................] - ETA: 3:59 - loss: 1.8528e-05"},
		{SIGNAL_STEP, true, "250/250 [==============================] - 91s 362ms/step - loss: 0.0213"},
		{SIGNAL_STEP, false, "ETA: 3/4 [ready] - eta: soon"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading reading;
		struct line line;

		line_make(str_c(rows[i].text), 2, &buffer, &line);
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
		{"words that are not known before an ordinary error", INPUT_LOG,
		 "the arena failed: out of memory\nKeyError: 'a'\n", KIND_UNKNOWN, NULL},
		{"words that are not known, and steps behind them", INPUT_LOG,
		 "step 1\nthe arena failed: out of memory\nstep 2\nstep 3\nKeyError: 'a'\n", KIND_NOT_OOM, "error"},
		{"words that are not known before SIGTERM", INPUT_LOG,
		 "the arena failed: out of memory\nReceived SIGTERM\n", KIND_UNKNOWN, NULL},
		{"words that are known in the log of a node", INPUT_DMESG,
		 "Memory cgroup out of memory: Killed process 9 (a) total-vm:1kB, anon-rss:1kB\n"
		 "NVRM: Xid (PCI:0000:65:00): 31, pid=7\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"no failure, wrapped, and an ordinary error", INPUT_LOG,
		 "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.59GiB. The\n caller indicates that this "
		 "is "
		 "not a failure, but\nKeyError: 'a'\n",
		 KIND_NOT_OOM, "error"},
		{"no failure, wrapped, before one that is", INPUT_LOG,
		 "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.59GiB. The\n caller indicates that this "
		 "is "
		 "not a failure, but\nAllocator (GPU_0_bfc) ran out of memory trying to allocate 3.90GiB.\n",
		 KIND_TRUE_OOM, NULL},
		{"a scheduler's kill and SIGTERM", INPUT_LOG,
		 "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 143.\n",
		 KIND_CONTAINER_LIMIT, "job-limit"},
		{"a signal to a victim without a word of memory", INPUT_LOG, "Send SIGTERM to the victim\n",
		 KIND_NOT_OOM, "terminated"},
		{"a signal to a victim beside what is available", INPUT_LOG,
		 "  Send SIGTERM to the victim\n  MemAvailable: 49.2 MiB, SwapFree: 1470.2 MiB\n", KIND_NODE_OOM,
		 "low-memory-killer"},
		{"nothing to kill at the limit of a cgroup", INPUT_DMESG,
		 "systemd invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=100\n"
		 "Out of memory and no killable processes...\n",
		 KIND_CONTAINER_LIMIT, NULL},
		{"nothing to kill on the node", INPUT_DMESG,
		 "systemd invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=100\n"
		 "Out of memory and no killable processes...\n"
		 "Kernel panic - not syncing: System is deadlocked on memory\n",
		 KIND_NODE_OOM, NULL},
		{"nothing to kill, in old words", INPUT_DMESG,
		 "Kernel panic - not syncing: Out of memory and no killable processes...\n", KIND_NODE_OOM, NULL},
		{"PostgreSQL's table of locks", INPUT_LOG,
		 "OperationalError: (psycopg2.errors.OutOfMemory) out of shared memory\n"
		 "HINT:  You might need to increase max_locks_per_transaction.\n",
		 KIND_NOT_OOM, "server-limit"},
		{"a container that ended well", INPUT_LOG,
		 "\"OOMKilled\": false,\n\"Dead\": false,\n\"ExitCode\": 0,\n", KIND_NOT_OOM, "completed"},
		{"one of several containers", INPUT_LOG, "\"exitCode\": 0,\n", KIND_UNKNOWN, NULL},
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
		 "[rank5]: RuntimeError: DataLoader worker (pid 125) is killed by signal: Killed.\n"
		 "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
		 "It was rank 2; before, rank 5 lost a worker.", "is the first that died"},
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
		{INPUT_LOG, "job killed: mem 38427376kb exceeded limit 33554432kb\n", "65536M: bsub -M (LSF)",
		 "<twice"},
		{INPUT_LOG, "Job has gone over memory limit of 16384 megabytes. Peak usage: 16328 megabytes.\n",
		 "\"usage_bytes\":17121148928", "<twice"},
		{INPUT_LOG,
		 "ValueError: Free memory on device cuda:1 (19.77/22.05 GiB) on startup is less than desired GPU "
		 "memory "
		 "utilization (0.9, 19.84 GiB). Decrease GPU memory utilization\n",
		 "gpu_memory_utilization=0.89", "gpu_memory_utilization=0.95"},
		{INPUT_DMESG, "Out of memory and no killable processes...\n", "found no task", "killed a task."},
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
