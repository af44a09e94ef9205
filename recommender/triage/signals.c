/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/signals.h"

#include "base/steps.h"
#include "triage/dcgm.h"

/* Sources of the wordings: PyTorch c10/cuda/CUDACachingAllocator.cpp 1.0 to 2.9 (also XPU, NPU, MLU, HIP), TensorFlow
 * and XLA bfc_allocator.cc, gpu_executor, BufferAssignment; Paddle's allocators; NCCL checks.h and alloc.h; the
 * kernel's mm/oom_kill.c and mm/memcontrol.c 3.10 to 6.x; the kubelet's eviction manager; torchrun; Slurm; Ray. */
const struct signal signals[SIGNAL_COUNT_] = {
	[SIGNAL_XID] = {"xid", "xid (|dcgm_fi_dev_xid_errors|dcgm_exp_xid_errors_count|detected xid ", dcgm_read_xid,
			"the driver reports an error of the GPU"},
	[SIGNAL_GPU_ECC] =
		{"gpu-ecc",
		 "uncorrectable ecc|ecc_uncorrectable|eccuncorrectable|double bit ecc|uncorrectable nvlink|"
		 "uncorrectable hardware error|cuda_error_contained|nvlink or a hardware error|" DCGM_ECC_WORDS,
		 dcgm_read_ecc, "memory or a link of the GPU is damaged"},
	[SIGNAL_GPU_LOST] = {"gpu-lost",
			     "fallen off the bus|gpu is lost|gpu_is_lost|gpu access blocked by the operating system|"
			     "unable to determine the device handle|rminitadapter failed|rm_init_adapter failed",
			     NULL, "the GPU does not answer any more"},
	[SIGNAL_GPU_RESET] = {"gpu-reset", "gpu reset begin", NULL, "the driver of AMD resets a GPU that hangs"},
	[SIGNAL_ROW_REMAP] = {"row-remap", "row remap|row-remap|remapped rows|page retirement|" DCGM_REMAP_WORDS,
			      dcgm_read_remap, "rows of the GPU's memory were replaced or wait for it"},
	[SIGNAL_GPU_ECC_PAST] = {"gpu-ecc-past", "dcgm_fi_dev_ecc_dbe_agg_total", dcgm_read_ecc_past,
				 "memory of the GPU was damaged at some time in its life, perhaps before the run"},
	[SIGNAL_DEVICE_UNHEALTHY] = {"device-unhealthy", DCGM_SYSTEMS, dcgm_read_unhealthy,
				     "the kubelet or a health agent calls a device of the pod or node unhealthy"},
	[SIGNAL_KERNEL_INVOKED] = {"kernel-invoked", "invoked oom-killer", read_kernel_invoked,
				   "the kernel looks for a process to kill"},
	[SIGNAL_KERNEL_CUT] = {"kernel-cut",
			       "out_of_memory+0x|out_of_memory.cold+|mem_cgroup_oom_synchronize+|__alloc_pages_",
			       read_kernel_frame, "the kernel looks for a process to kill, and its report is cut"},
	[SIGNAL_KERNEL_LIMIT_OF] = {"kernel-limit-of", "as a result of limit of|memory limit reached of cgroup",
				    read_kernel_limit_of, "which cgroup was at its limit"},
	[SIGNAL_KERNEL_USAGE] = {"kernel-usage", "memory: usage ", read_kernel_usage, "use and limit of the cgroup"},
	[SIGNAL_KERNEL_STATS] = {"kernel-stats", "memory cgroup stats for ", read_kernel_stats,
				 "what the memory of the cgroup was used for"},
	[SIGNAL_KERNEL_TABLE] = {"kernel-table", "oom_score_adj name", NULL, "the tasks that the kernel chose from"},
	[SIGNAL_KERNEL_HUGEPAGES] = {"kernel-hugepages", "hugepages_total=", read_kernel_hugepages,
				     "memory that only huge pages may use"},
	[SIGNAL_KERNEL_RAM] = {"kernel-ram", " pages ram", read_kernel_ram, "memory of the node"},
	[SIGNAL_KERNEL_CONSTRAINT] = {"kernel-constraint", "oom-kill:constraint=", read_kernel_constraint,
				      "where the limit was that the kernel kills for"},
	[SIGNAL_KERNEL_KILL] = {"kernel-kill",
				"killed process|kill process|no killable processes|"
				"not syncing: out of memory|deadlocked on memory",
				read_kernel_kill, "the kernel killed a process for want of memory"},
	[SIGNAL_OOM_KILLED] = {"oomkilled",
			       "oomkilled|oom killed|killed due to memory usage|memory.oom.group "
			       "set|container_oom_events_total|oom_kill|"
			       "container init was oom-killed| container oom ",
			       read_oom_killed, "the runtime reports an OOM kill in the container"},
	[SIGNAL_OOM_NOTED] = {"oom-noted",
			      "taskoom event|oom received|oom event received|killed by the oom killer|"
			      "result 'oom-kill'|due to oom|out-of-memory and exited",
			      read_oom_noted, "the runtime or systemd saw an OOM kill in the container's cgroup"},
	[SIGNAL_OOM_REAPED] = {"oom-reaped", "oom_reaper: reaped|killed by the oom killer|result 'oom-kill'",
			       read_oom_reaped,
			       "the kernel killed a process for want of memory; whose limit it was, "
			       "the line does not say"},
	[SIGNAL_SYSTEM_OOM] = {"system-oom", "system oom encountered", NULL, "the kubelet saw the node out of memory"},
	[SIGNAL_OOM_COUNTED] = {"oom-counted", NULL, NULL,
				"the kernel killed a task in the container's cgroup, by cAdvisor's counter"},
	[SIGNAL_NODE_KILL] = {"node-kill", NULL, NULL,
			      "the node's kernel killed a task in a cgroup about when the container ended"},
	[SIGNAL_SLURM] = {"slurm",
			  "oom-kill event|oom_kill event|exceeded job memory limit|exceeded step memory limit|"
			  "exceeded memory limit|cgroup out-of-memory handler|srun: error: |out_of_me",
			  read_slurm, "Slurm reports a kill at the job's memory limit"},
	[SIGNAL_SLURM_FIGURES] = {"slurm-figures", "memory utilized: |memory efficiency: |minmemorynode=|reqmem|maxrss",
				  read_slurm_figures, "what a job of Slurm asked for and used"},
	[SIGNAL_JOB_LIMIT] = {"job-limit", "exceed|gone over|term_memlimit|after reaching", read_job_limit,
			      "a scheduler ended the job at its memory limit"},
	[SIGNAL_YARN] =
		{"yarn",
		 "by yarn for exceeding|running beyond physical memory limits|running beyond virtual memory limits|"
		 "running beyond the 'physical' memory|running beyond the 'virtual' memory",
		 read_yarn, "YARN killed a container at its memory limit"},
	[SIGNAL_DASK] = {"dask", "% memory budget", read_dask,
			 "Dask's nanny killed a worker at its share of the memory, not the kernel"},
	[SIGNAL_RAY] = {"ray",
			"killed due to the node running low on memory|killed due to memory pressure|"
			"killed by ray's memory monitor|memory on the node (ip|rayoutofmemoryerror: more than",
			NULL, "Ray's own monitor killed a worker, not the kernel"},
	[SIGNAL_OOMD] = {"systemd-oomd", "systemd-oomd", read_killer, "systemd-oomd killed a cgroup, not the kernel"},
	[SIGNAL_EARLYOOM] = {"earlyoom", "earlyoom|: badness ", read_earlyoom,
			     "earlyoom killed a process, not the kernel"},
	[SIGNAL_LOW_MEMORY] = {"low-memory",
			       "to the victim|invoking oom killer|kill -term|memavailable|mem avail|badness: ",
			       read_low_memory,
			       "a killer for the whole machine killed a process, or shows that memory is short"},
	[SIGNAL_TALOS] = {"talos", "oom controller triggered|sending sigkill to cgroup", NULL,
			  "the OOM controller of Talos killed a cgroup, not the kernel"},
	[SIGNAL_EVICTED_MEMORY] = {"evicted-memory",
				   "low on resource: memory|evicted due to memory|must evict pod(s) to reclaim|"
				   "had condition: [memorypressure|had conditions: [memorypressure",
				   read_evicted_memory,
				   "the kubelet evicted the pod because its node ran out of memory"},
	[SIGNAL_EVICTED_STORAGE] = {"evicted-storage",
				    "low on resource: ephemeral-storage|local ephemeral storage|ephemeral local "
				    "storage|usage of emptydir volume|"
				    "low on resource: nodefs|low on resource: imagefs|must evict pod(s) to reclaim|"
				    "had condition: [diskpressure|had conditions: [diskpressure",
				    read_evicted_storage, "the kubelet evicted the pod for its disk use"},
	[SIGNAL_DISRUPTED] = {"disrupted", NULL, NULL, "the pod was stopped from outside, as Kubernetes says"},
	[SIGNAL_PROBE_KILLED] = {"probe-killed",
				 "failed liveness probe, will be|failed startup probe, will be|"
				 ":container failed liveness probe",
				 NULL, "the kubelet killed the container for a failed probe"},
	[SIGNAL_SHM] = {"shm",
			"bus error|insufficient shared memory|out of shared memory|/dev/shm|shared memory object|"
			"shared memory segment|</torch_|shared memory manager|posix_fallocate",
			read_shm, "/dev/shm is full"},
	[SIGNAL_SEMAPHORE] = {"semaphore", "multiprocessing.semlock", NULL,
			      "Python makes a semaphore, which is a file in /dev/shm"},
	[SIGNAL_WORKER_KILLED] = {"worker-killed", "is killed by signal: killed|exited unexpectedly with exit code: -9",
				  NULL, "a DataLoader worker got SIGKILL"},
	[SIGNAL_CHILD_KILLED] = {"child-killed",
				 "exit code|exitcode|exit_code|signal 9|sigkill|signal: 9|srun: error: |: line |"
				 "return code = -9|return code -9|exits with return code = -9|status=9/kill",
				 read_child_killed, "a child got SIGKILL; the signal does not say from whom"},
	[SIGNAL_WORKER_LOST] = {"worker-lost",
				"killedworker|terminatedworkererror|brokenprocesspool|"
				"process pool was terminated abruptly|all those workers died|"
				"subprocesses has abruptly died|) exited unexpectedly|"
				"worker unexpectedly exits with a connection error",
				read_worker_lost, "a worker of a pool died; why, the line does not say"},
	[SIGNAL_SHELL_KILLED] = {"shell-killed", "killed|terminated by signal 9", read_shell_killed,
				 "a shell or `time` says that the program got SIGKILL, not from whom"},
	[SIGNAL_CHILD_BUS] = {"child-bus", "exit code|exitcode|exit_code|exit status|sigbus|signal 7|srun: error: ",
			      read_child_bus, "a child got SIGBUS: often a full /dev/shm"},
	[SIGNAL_STATUS_UNKNOWN] = {"status-unknown", NULL, NULL,
				   "the kubelet does not say how the container ended, and made its code up"},
	[SIGNAL_EXIT_137] = {"exit-137",
			     "exit code|exitcode|exit_code|exit status|code=137|returned 137|exited with 137|with code "
			     "137",
			     read_exit_137, "process 1 got SIGKILL; the code does not say from whom"},
	[SIGNAL_EXIT_CODE] = {"exit-code", NULL, NULL, "the container failed; the code does not say why"},
	[SIGNAL_REFUSED] =
		{"refused",
		 "you tried to allocate|alloc of size|"
		 "memoryerror|unable to allocate|bad_alloc|cannot allocate memory|can't allocate memory|"
		 "std::bad_array_new|java heap space|allocator cpu|allocator mklcpu|allocator gpu_host_bfc|"
		 "failed to cuda host alloc|pinned memory|pinned host memory|"
		 "bytes on host|failed to malloc|outofmemoryerror|errno 12]|"
		 "posix_memalign|memory allocation of|allocatememory|cpuallocator|not enough memory: you tried|"
		 "hostalloc|mallochost|hostmalloc|allochost|hostregister|memory, malloc failed|memory, realloc failed|"
		 "memory, calloc failed|: memory exhausted|virtual memory exhausted|winerror 1455|vector memory|"
		 "out_of_host_memory|outofhostmemory|"
		 "cannot allocate vector|javascript heap out of memory|runtime: out of memory|"
		 "fatal error: out of memory|native memory allocation (|(errno=12)|" XLA_CPU,
		 read_refused, "the host refused memory; nobody was killed"},
	[SIGNAL_PINNING] = {"pinning", "pin_memory=true|.pin_memory(", read_pinning,
			    "the call pins memory of the host"},
	[SIGNAL_OVERCOMMIT_REFUSED] = {"overcommit-refused", "not enough memory for the allocation",
				       read_overcommit_refused, "the kernel refused memory to a process"},
	[SIGNAL_GPU_OOM] =
		{"gpu-oom",
		 "out of memory|outofmemory|out_of_memory|out_of_device_memory|outofdevicememory|status_memory_error|"
		 "requested amount of gpu memory|"
		 "oom when allocating|alloc_failed|allocation_failed|tried to allocate|cuda runtime error (2)|"
		 "exceed allowed memory|(2 vs. 0)|(0 vs. 2)|gpu video memory|enough gpu memory|enough video memory|"
		 "alloc device memory|allocate device memory|"
		 "errormemoryallocation|failed to allocate request|failed to cuda |pt_devmem|"
		 "cannot allocate|trying to allocate|out of gpu memory|attempting to allocate|"
		 "attempting to reserve|allocation of size|requested bytes of|requested buffer of size|"
		 "stored in kv cache|kv cache is needed|for the cache blocks|desired gpu memory utilization|"
		 "leave no gpu memory|not enough memory. please try|no executable batch size|enforce allocating|"
		 "out of device memory|get_temporary_buffer failed|allocation error on worker|bad_alloc: cuda|"
		 "bad_alloc: rmm|memory_allocation_failure|rt_memory_allocation|mem_object_allocation",
		 read_gpu_oom, "an allocation on the GPU failed"},
	[SIGNAL_GPU_DETAIL] = {"gpu-detail",
			       "total capac|is free|already allocated|reserved in total|memory in use|by pytorch|"
			       "limit:|inuse:|memory_limit_:|tried to allocate|but unallocated|currently allocated  |"
			       "requested  |device limit  |free (according to cuda)|total allocation:",
			       read_gpu_detail, "figures that belong to the failed allocation"},
	[SIGNAL_GPU_SAMPLE] = {"gpu-sample",
			       "allocated=|reserved=|allocated memory|gpu reserved memory|memory_allocated|"
			       "memory_reserved|allocated:|reserved:|cuda allocated|gpu allocated|ib reserved |"
			       "mem_alloc=|gpu_mem=|max_mem: |max_mem=| mem=",
			       read_gpu_sample, "GPU memory as the program itself reports it"},
	[SIGNAL_GPU_DEVICE] = {"gpu-device",
			       "total memory:|totalmemory:|free memory:|freememory:|devicememorysize:|mb memory",
			       read_gpu_device, "the GPU's memory, and what was free before the program used it"},
	[SIGNAL_DCGM_MEMORY] = {"dcgm-memory", "dcgm_fi_dev_fb_used|dcgm_fi_dev_fb_free", dcgm_read_memory,
				"memory of a GPU that is in use or free, as dcgm-exporter reports it"},
	[SIGNAL_GPU_ZOMBIE] = {"gpu-zombie", "no running processes found", read_smi_only,
			       "memory of a GPU is in use that no process holds"},
	[SIGNAL_GPU_SHARED] = {"gpu-shared", NULL, NULL, "several processes compute on one GPU, by nvidia-smi"},
	[SIGNAL_GPU_FRACTION] = {"gpu-fraction", "set_per_process_memory_fraction|per_process_gpu_memory_fraction",
				 NULL, "the process limits its own GPU memory"},
	[SIGNAL_RETRY] = {"retry",
			  "retry|skipping|skipped|recover|caught|reducing batch|reduced batch|smaller batch|halving|"
			  "falling back|trying again|handled|batch size|batch-size",
			  read_retry, "the program caught the error and went on"},
	[SIGNAL_NO_FAILURE] = {"no-failure", "that this is not a failure", NULL,
			       "an allocation failed, and the caller of the allocator went on without it"},
	[SIGNAL_TESTS_PASSED] = {"tests-passed", " passed in | passed, |100% tests passed", read_tests_passed,
				 "a test run ended without a failure: errors in it were made on purpose"},
	[SIGNAL_KERNEL_SCRATCH] = {"kernel-scratch",
				   "memory space vmem|memory space smem|out of resource: shared memory|"
				   "out of resources: shared memory|uses too much shared data",
				   NULL, "one kernel needs more on-chip memory than the chip has"},
	[SIGNAL_DEVICE_ASSERT] = {"device-assert", "device-side assert triggered|cudaerrorassert|, thread: [",
				  read_device_assert, "a kernel of the program asserted"},
	[SIGNAL_ILLEGAL_ACCESS] = {"illegal-access",
				   "illegal memory access|illegal_address|illegal instruction was encountered|"
				   "misaligned address|unspecified launch failure|page fault (src_id",
				   NULL, "a kernel of the program used a wrong address"},
	[SIGNAL_COLLECTIVE_TIMEOUT] = {"collective-timeout",
				       "collective operation timeout|watchdog caught collective|nccl timeout|"
				       "ncclsystemerror|ncclremoteerror|ncclinternalerror|connection closed by peer|"
				       "connection closed by remote peer|failed : broken pipe|"
				       "connection reset by peer|timed out initializing process group|"
				       "heartbeat monitor timed out|nccl communicator was aborted",
				       NULL, "other ranks wait for one that is gone"},
	[SIGNAL_DISK_FULL] = {"disk-full", "no space left on device|enough space on the disk|. unexpected pos ",
			      read_disk_full, "a file system is full"},
	[SIGNAL_DISK_QUOTA] = {"disk-quota", "disk quota exceeded", read_disk_full,
			       "the quota of a user or a project is used up"},
	[SIGNAL_FILES_LIMIT] = {"files-limit", "too many open files|items of ancdata", NULL,
				"the process has as many files open as it may"},
	[SIGNAL_PIDS_LIMIT] = {"pids-limit", "fork rejected by pids controller|rlimit_nproc ", NULL,
			       "a cgroup or a user has as many processes and threads as it may"},
	[SIGNAL_SHM_ERROR] = {"shm-error", "/dev/shm/|shared memory segment|shared memory object", read_shm_error,
			      "a file of shared memory could not be used, for another reason than its size"},
	[SIGNAL_SEGFAULT] = {"segfault",
			     "segmentation fault|segfault at|sigsegv|exit code|exitcode|exit_code|exit status",
			     read_segfault, "the program used an address that it does not have"},
	[SIGNAL_HEAP_CORRUPTION] = {"heap-corruption",
				    "double free or corruption|double free detected|corrupted size vs|"
				    "corrupted double-linked list|free(): invalid|malloc(): invalid|malloc(): memory "
				    "corruption|realloc(): invalid|munmap_chunk(): invalid|stack smashing detected|"
				    "buffer overflow detected|attempt to free invalid pointer",
				    NULL, "the program wrote over memory that is not its own"},
	[SIGNAL_PREEMPTED] = {"preempted",
			      "spot interruption|spot instance interruption|spot termination|interruption notice|"
			      "termination notice|to be interrupted|preempt|node "
			      "shutdown|nodeshutdown|terminationbykubelet|deletionbytaintmanager",
			      read_preempted, "the pod was stopped from outside"},
	[SIGNAL_NOT_STARTED] = {"not-started",
				"failedscheduling|nodes are available: |imagepullbackoff|errimagepull|invalidimagename|"
				"failed to pull image|back-off pulling image|manifest unknown|pull access denied|"
				"podunschedulable|createcontainer|failed to create containerd task|"
				"failed to create shim task|runc create failed",
				read_not_started, "a container never ran"},
	[SIGNAL_TERMINATED] = {"terminated",
			       "sigterm|received signal 15|received 15 death|got signal: 15| cancelled at |"
			       "signal: terminated|exit code|exitcode|exit_code|exit status|"
			       "deadlineexceeded|due to time limit|received a shutdown signal|deleted at request of",
			       read_terminated, "the program was asked to end"},
	[SIGNAL_TIME_LIMIT] = {"time-limit", "due to time limit", NULL, "Slurm ended the job at its time limit"},
	[SIGNAL_LIBRARY] = {"library",
			    "cudnn_status_not_initialized|cublas_status_not_initialized|"
			    "cudnn_status_internal_error|cufft_internal_error|"
			    "unable to find a valid cudnn algorithm|unable to find an engine to execute",
			    NULL, "a library of the GPU failed, for want of memory or for another reason"},
	[SIGNAL_DRIVER] = {"driver",
			   "driver version is insufficient|found no nvidia driver|nvidia driver on your system|"
			   "no cuda-capable device|forward compatibility was attempted|no kernel image is available",
			   NULL, "the driver of the GPU is missing, too old, or does not know the GPU"},
	[SIGNAL_NAN_LOSS] = {"nan-loss",
			     "stopping training|loss became infinite or nan|minimum loss scale reached|"
			     "loss scale already at minimum|loss returned in `training_step` is nan",
			     read_nan_loss, "the loss is no number any more, and the program stopped itself"},
	[SIGNAL_SERVER_LIMIT] = {"server-limit", "max_locks_per_transaction|used memory > 'maxmemory'",
				 read_server_limit, "a database is at a limit of its own settings"},
	[SIGNAL_MEMORY_ERROR] = {"memory-error", "error:|exception:|error(|what():|exhaustederror|" MEMORY_SHORT_WORDS,
				 read_memory_error, "an error about memory, in words that are not known"},
	[SIGNAL_EXCEPTION] = {"exception",
			      "error:|exception:|error(|what():|exited with exit code|core dumped|interrupt|"
			      "exitcode:|exitcode  :|exitcode :|traceback (most recent|assertion|"
			      "failed building wheel for|no matching distribution found for",
			      read_exception, "an ordinary error"},
	[SIGNAL_DONE] = {"done",
			 "training complete|training finished|finished training|training done|train done|"
			 "training has completed|training run complete|successfully completed|training ended|"
			 "trainer.fit` stopped: `max_|'train_runtime':|***** train metrics *****",
			 NULL, "the run says that it is done"},
	[SIGNAL_EXIT_ZERO] = {"exit-zero", "exit code|exitcode|exit_code|exit status", read_exit_zero,
			      "the job ended with code 0"},
	[SIGNAL_COMPLETED] = {"completed", "succeeded|\"exitcode\": 0|\"exitcode\":0", read_completed,
			      "the pod or a container ended well"},
	[SIGNAL_SERVING] = {"serving", "server is listening|application startup complete|uvicorn running on", NULL,
			    "a server has started"},
	[SIGNAL_OOM_DENIED] = {"oom-denied", "oomkilled", read_oom_denied,
			       "the runtime says that the container was not killed at its memory limit"},
	[SIGNAL_PEAK] = {"peak", NULL, NULL, "how much memory the container used at most, by Prometheus"},
	[SIGNAL_RECORDED] = {"recorded", NULL, NULL, "what the recommender has recorded of the workload's runs"},
	[SIGNAL_CLIMB] = {"climb", NULL, NULL,
			  "the use of memory rose from the start of the container to its limit, by Prometheus"},
	[SIGNAL_MEMORY_VOLUME] = {"memory-volume", NULL, NULL,
				  "files in a volume of the pod are memory and count against its limit"},
	[SIGNAL_DATASET] = {"dataset", NULL, NULL,
			    "the data set that an annotation of the pod names is larger than the memory limit"},
	[SIGNAL_NODE_PRESSURE] = {"node-pressure", NULL, NULL, "the node says that it is short of memory or disk"},
	[SIGNAL_RESIZE_PENDING] = {"resize-pending", NULL, NULL, "a resize of the pod had not been done"},
	[SIGNAL_STRICT_OVERCOMMIT] = {"strict-overcommit", NULL, NULL,
				      "the node refuses memory beyond a fixed sum (vm.overcommit_memory is 2)"},
	[SIGNAL_STEP] = {"step", "step|iter|epoch|it/s|s/it| - eta: ", read_step, "the run came this far"},
	[SIGNAL_EPOCH] = {"epoch", "epoch", read_epoch, "the run came to this epoch"},
	[SIGNAL_RATE] = {"rate",
			 "it/s|s/it|tokens/s|tok/s|tokens_per_s|tokens per second|samples/s|samples_per_s|"
			 "samples per second|images/s|img/s",
			 read_rate, "the run's throughput"},
	[SIGNAL_RSS] = {"rss", " rss|rss=|rss_|rss:", read_rss,
			"resident memory on the host, as the program reports it"},
	[SIGNAL_CGROUP_PEAK] = {"cgroup-peak", "memory.peak|max_usage_in_bytes", read_cgroup_peak,
				"the greatest use of the cgroup"},
	[SIGNAL_STARTING] = {"starting",
			     "loading checkpoint shards|load_tensors|loading model|loading weights|"
			     "loading safetensors|graph capturing|capturing cuda graphs|building model|/initializer/|"
			     "initializing model",
			     NULL, "the run was still being built"},
	[SIGNAL_LOADING] = {"loading", "into memory|into ram|" LOADING_WORDS, read_loading,
			    "data is read, as a whole where the line says so"},
	[SIGNAL_OFFLOAD] = {"offload",
			    "deepspeedcpuadam|cpu offload: true|cpu_offload: true|cpu_offload=true|offload_optimizer|"
			    "arithmetic capability",
			    read_offload, "optimizer states are kept in host memory"},
	[SIGNAL_CHECKPOINT] = {"checkpoint", "checkpoint|ckpt", read_checkpoint, "a checkpoint was written"},
	[SIGNAL_SNAPSHOT] = {"snapshot", "snapshot|memory profile", read_snapshot, "a memory snapshot was written"},
	[SIGNAL_TORCH_VERSION] = {"torch-version", "torch", read_torch_version, "the version of PyTorch"},
	[SIGNAL_SETTING] = {"setting",
			    "alloc_conf|expandable_segments|max_split_size_mb|garbage_collection_threshold|"
			    "cuda_malloc_async|xla_python_client_allocator|gradient_checkpointing|"
			    "gradient checkpointing|activation_checkpointing|activation checkpointing|use_reentrant|"
			    "full_shard|zero_optimization_stage|zero stage|zero3|mounted at /dev/shm",
			    read_setting, "a setting of the tables of levers is in force"},
	[SIGNAL_NUMBER] =
		{"number",
		 "batch_size|batch-size|seq_length|seq-length|max_seq_len|max-seq-len|num_workers|num-workers|"
		 "prefetch_factor|prefetch-factor|accumulation_steps|accumulation-steps|accumulation steps|"
		 "batch size per device",
		 read_number, "a number that a lever would change"},
};

bool signal_read(enum signal_id signal, struct line *line, struct reading *ret)
{
	const struct signal *row = &signals[signal];

	STEPS(line->n);
	reading_init(ret);
	line->at = row->words ? text_find(line->lower, row->words) : NULL;
	if (!line->at)
		return false;
	return row->read ? row->read(line, ret) : !is_mention(line, line->at);
}
