/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/signals.h"

#include <ctype.h>

/* Sources of the wordings: PyTorch c10/cuda/CUDACachingAllocator.cpp 1.0 to 2.9 (also XPU, NPU, MLU, HIP), TensorFlow
 * and XLA bfc_allocator.cc, gpu_executor, BufferAssignment; Paddle's allocators; NCCL checks.h and alloc.h; the
 * kernel's mm/oom_kill.c and mm/memcontrol.c 3.10 to 6.x; the kubelet's eviction manager; torchrun; Slurm; Ray. */
const struct signal signals[SIGNAL_COUNT_] = {
	[SIGNAL_XID] = {"xid", "xid (", read_xid, "the driver reports an error of a card"},
	[SIGNAL_GPU_ECC] = {"gpu-ecc",
			    "uncorrectable ecc|ecc_uncorrectable|eccuncorrectable|double bit ecc|uncorrectable nvlink|"
			    "uncorrectable hardware error",
			    read_ecc, "memory or a link of the card is damaged"},
	[SIGNAL_GPU_LOST] = {"gpu-lost",
			     "fallen off the bus|gpu is lost|gpu_is_lost|gpu access blocked by the operating system|"
			     "unable to determine the device handle",
			     NULL, "the card does not answer any more"},
	[SIGNAL_ROW_REMAP] = {"row-remap", "row remap|row-remap|remapped rows|page retirement", read_ecc,
			      "rows of the card's memory were replaced or wait for it"},
	[SIGNAL_KERNEL_INVOKED] = {"kernel-invoked", "invoked oom-killer", NULL,
				   "the kernel looks for a process to kill"},
	[SIGNAL_KERNEL_LIMIT_OF] = {"kernel-limit-of", "as a result of limit of|memory limit reached of cgroup",
				    read_kernel_limit_of, "which cgroup was at its limit"},
	[SIGNAL_KERNEL_USAGE] = {"kernel-usage", "memory: usage ", read_kernel_usage, "use and limit of the cgroup"},
	[SIGNAL_KERNEL_TABLE] = {"kernel-table", "oom_score_adj name", NULL, "the tasks that the kernel chose from"},
	[SIGNAL_KERNEL_HUGEPAGES] = {"kernel-hugepages", "hugepages_total=", read_kernel_hugepages,
				     "memory that only huge pages may use"},
	[SIGNAL_KERNEL_RAM] = {"kernel-ram", " pages ram", read_kernel_ram, "memory of the node"},
	[SIGNAL_KERNEL_CONSTRAINT] = {"kernel-constraint", "oom-kill:constraint=", read_kernel_constraint,
				      "where the limit was that the kernel kills for"},
	[SIGNAL_KERNEL_KILL] = {"kernel-kill", "killed process|kill process|no killable processes", read_kernel_kill,
				"the kernel killed a process for want of memory"},
	[SIGNAL_OOM_KILLED] = {"oomkilled", "oomkilled|memory.oom.group set|container_oom_events_total",
			       read_oom_killed, "the runtime reports an OOM kill in the container"},
	[SIGNAL_SYSTEM_OOM] = {"system-oom", "system oom encountered", NULL, "the kubelet saw the node out of memory"},
	[SIGNAL_SLURM] = {"slurm",
			  "oom-kill event|oom_kill event|exceeded job memory limit|exceeded step memory limit|"
			  "exceeded memory limit|cgroup out-of-memory handler",
			  NULL, "Slurm reports a kill at the job's memory limit"},
	[SIGNAL_RAY] = {"ray",
			"killed due to the node running low on memory|killed due to memory pressure|"
			"killed by ray's memory monitor|memory on the node (ip",
			NULL, "Ray's own monitor killed a worker, not the kernel"},
	[SIGNAL_OOMD] = {"systemd-oomd", "systemd-oomd", read_killer, "systemd-oomd killed a cgroup, not the kernel"},
	[SIGNAL_EARLYOOM] = {"earlyoom", "earlyoom", read_killer, "earlyoom killed a process, not the kernel"},
	[SIGNAL_EVICTED_MEMORY] = {"evicted-memory", "low on resource: memory|evicted due to memory",
				   read_evicted_memory,
				   "the kubelet evicted the pod because its node ran out of memory"},
	[SIGNAL_EVICTED_STORAGE] = {"evicted-storage",
				    "low on resource: ephemeral-storage|local ephemeral storage|ephemeral local "
				    "storage|usage of emptydir volume|"
				    "low on resource: nodefs|low on resource: imagefs",
				    read_evicted_storage, "the kubelet evicted the pod for its disk use"},
	[SIGNAL_SHM] = {"shm",
			"bus error|insufficient shared memory|out of shared memory|/dev/shm|shared memory object|"
			"</torch_|shared memory manager",
			read_shm, "/dev/shm is full"},
	[SIGNAL_WORKER_KILLED] = {"worker-killed", "is killed by signal: killed|exited unexpectedly with exit code: -9",
				  NULL, "a DataLoader worker got SIGKILL"},
	[SIGNAL_CHILD_KILLED] = {"child-killed",
				 "exitcode: -9|exitcode : -9|exit code: -9|exit code -9|signal 9|sigkill|signal: 9|"
				 "return code = -9|return code -9|exits with return code = -9",
				 read_child_killed, "a child got SIGKILL; the signal does not say from whom"},
	[SIGNAL_CHILD_BUS] = {"child-bus", "exitcode: -7|exitcode : -7|sigbus|signal 7|exit code: 135|exit code 135",
			      read_child_bus, "a child got SIGBUS: often a full /dev/shm"},
	[SIGNAL_EXIT_137] = {"exit-137",
			     "exit code: 137|exit code 137|exitcode: 137|exit status 137|exitcode\":137|"
			     "code=137|returned 137|exited with 137|with code 137",
			     read_exit_137, "process 1 got SIGKILL; the code does not say from whom"},
	[SIGNAL_REFUSED] = {"refused",
			    "memoryerror|unable to allocate|bad_alloc|cannot allocate memory|can't allocate memory|"
			    "std::bad_array_new|java heap space|allocator cpu|allocator mklcpu|allocator gpu_host_bfc|"
			    "failed to cuda host alloc|pinned memory|failed to malloc|outofmemoryerror|errno 12]|"
			    "memory allocation of|allocatememory",
			    read_refused, "the host refused memory; nobody was killed"},
	[SIGNAL_GPU_OOM] =
		{"gpu-oom",
		 "out of memory|outofmemory|out_of_memory|oom when allocating|alloc_failed|tried to allocate|"
		 "errormemoryallocation|failed to allocate request|failed to cuda malloc|pt_devmem|"
		 "cannot allocate|trying to allocate|out of gpu memory|attempting to allocate|"
		 "attempting to reserve",
		 read_gpu_oom, "an allocation on the GPU failed"},
	[SIGNAL_GPU_DETAIL] = {"gpu-detail",
			       "total capac|is free|already allocated|reserved in total|memory in use|by pytorch|"
			       "limit:|inuse:|memory_limit_:|tried to allocate|but unallocated",
			       read_gpu_detail, "figures that belong to the failed allocation"},
	[SIGNAL_GPU_SAMPLE] = {"gpu-sample",
			       "allocated=|reserved=|allocated memory|gpu reserved memory|memory_allocated|"
			       "memory_reserved|allocated:|reserved:",
			       read_gpu_sample, "GPU memory as the program itself reports it"},
	[SIGNAL_GPU_FRACTION] = {"gpu-fraction", "set_per_process_memory_fraction|per_process_gpu_memory_fraction",
				 NULL, "the process limits its own GPU memory"},
	[SIGNAL_RETRY] = {"retry",
			  "retry|skipping|skipped|recover|caught|reducing batch|reduced batch|smaller batch|halving|"
			  "falling back|trying again|handled",
			  read_retry, "the program caught the error and went on"},
	[SIGNAL_DEVICE_ASSERT] = {"device-assert", "device-side assert", NULL, "a kernel of the program asserted"},
	[SIGNAL_ILLEGAL_ACCESS] = {"illegal-access",
				   "illegal memory access|illegal_address|illegal instruction was encountered|"
				   "misaligned address",
				   NULL, "a kernel of the program used a wrong address"},
	[SIGNAL_COLLECTIVE_TIMEOUT] = {"collective-timeout",
				       "collective operation timeout|watchdog caught collective|nccl timeout|"
				       "ncclsystemerror|ncclremoteerror|ncclinternalerror|connection closed by peer|"
				       "connection reset by peer|timed out initializing process group|"
				       "heartbeat monitor timed out",
				       NULL, "other ranks wait for one that is gone"},
	[SIGNAL_DISK_FULL] = {"disk-full", "no space left on device|disk quota exceeded", read_disk_full,
			      "a file system is full"},
	[SIGNAL_SEGFAULT] = {"segfault",
			     "segmentation fault|segfault at|sigsegv|exitcode: -11|exit code: 139|exit code 139", NULL,
			     "the program used an address that it does not have"},
	[SIGNAL_PREEMPTED] = {"preempted",
			      "preempt|node shutdown|nodeshutdown|terminationbykubelet|deletionbytaintmanager", NULL,
			      "the pod was stopped from outside"},
	[SIGNAL_TERMINATED] = {"terminated",
			       "sigterm|received signal 15|signal: terminated|exit code: 143|exit code 143|"
			       "deadlineexceeded|due to time limit",
			       NULL, "the program was asked to end"},
	[SIGNAL_EXCEPTION] = {"exception",
			      "error:|exception:|error(|exited with exit code|core dumped|interrupt|"
			      "exitcode:|exitcode  :|exitcode :|traceback (most recent|assertion",
			      read_exception, "an ordinary error"},
	[SIGNAL_DONE] = {"done",
			 "training complete|training finished|finished training|training done|train done|"
			 "training has completed|training run complete|successfully completed|training ended",
			 NULL, "the run says that it is done"},
	[SIGNAL_STEP] = {"step", "step|iter|epoch|it/s|s/it", read_step, "the run came this far"},
	[SIGNAL_CHECKPOINT] = {"checkpoint", "checkpoint|ckpt", read_checkpoint, "a checkpoint was written"},
	[SIGNAL_SNAPSHOT] = {"snapshot", "snapshot|memory profile", read_snapshot, "a memory snapshot was written"},
	[SIGNAL_TORCH_VERSION] = {"torch-version", "torch", read_torch_version, "the version of PyTorch"},
};

void reading_init(struct reading *self)
{
	*self = (struct reading){.value = -1};
	figures_init(&self->figures);
}

void reading_copy(char *buf, size_t size, const char *text, const char *ends)
{
	size_t n = MIN(strcspn(text, ends), size - 1);

	memcpy(buf, text, n);
	buf[n] = '\0';
}

/* Words before the match that make a sentence of advice out of it. */
static bool is_advice(const char *lower, const char *at)
{
	char before[97];
	size_t n = MIN((size_t)(at - lower), sizeof(before) - 1);

	memcpy(before, at - n, n);
	before[n] = '\0';
	return text_has(before,
			"if you|to avoid|avoid |in case of|such as|e.g.|for example|prevent|may cause|might |"
			"could cause|can cause|would cause|risk of|handling of|handle |handles |will catch|catching |"
			"troubleshoot|how to|detection|monitor for|watch for|because of a|instead of|without |when you "
			"see|no more |fixes |fixed |fix ");
}

/* Lines of source code: in tracebacks, and where programs print their settings. */
static bool is_code(const char *body, const char *lower, const char *at)
{
	if (strncmp(body, "#", 1) == 0 || strncmp(body, "//", 2) == 0 || strncmp(body, "* ", 2) == 0 ||
	    strncmp(body, "> ", 2) == 0 || strncmp(body, ">>>", 3) == 0)
		return true;
	if (strncmp(body, "if ", 3) == 0 || strncmp(body, "elif ", 5) == 0 || strncmp(body, "except ", 7) == 0 ||
	    strncmp(body, "raise ", 6) == 0 || strncmp(body, "print(", 6) == 0 || strncmp(body, "def ", 4) == 0 ||
	    strncmp(body, "logger.", 7) == 0 || strncmp(body, "logging.", 8) == 0 || strncmp(body, "assert ", 7) == 0)
		return true;
	return text_has(lower, " in str(|\" in msg|.lower()|pytest|test_") && at > lower &&
	       (at[-1] == '"' || at[-1] == '\'');
}

bool is_mention(const struct line *line, const char *at)
{
	const char *body = line->lower + line->body;

	return is_code(body, line->lower, at) || is_advice(line->lower, at);
}
