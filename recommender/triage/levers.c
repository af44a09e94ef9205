/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/levers.h"

/* Data that is read as a whole: the remedy is not more memory. */
#define LEVERS_LOAD_EVERYTHING(kind)                                                                                   \
	{(kind),                                                                                                       \
	 "load-everything",                                                                                            \
	 FRAMEWORK_NONE,                                                                                               \
	 "Stream or memory-map the data instead of loading it all",                                                    \
	 "load_dataset(..., streaming=True), numpy.load(file, mmap_mode='r') or pyarrow.memory_map(file)",             \
	 "the memory grows with the data set; the cost is reading it again in each epoch, and GPUs that wait for "     \
	 "it"},                                                                                                        \
	{                                                                                                              \
		(kind), "load-everything", FRAMEWORK_NONE, "Then see what it costs: GPUs that wait for data are idle", \
			"DCGM_FI_PROF_GR_ENGINE_ACTIVE, or nvidia-smi --query-gpu=utilization.gpu --format=csv -l 5",  \
			"if the use of the GPU falls, add DataLoader workers and prefetch_factor, or a faster disk "   \
			"for the data"                                                                                 \
	}

/* What a run without such a cause can do little with comes before a higher limit, which heals none of them. */
#define LEVERS_OF_HOST_CAUSES(kind)                                                                                    \
	{(kind),                                                                                                       \
	 "leak",                                                                                                       \
	 FRAMEWORK_NONE,                                                                                               \
	 "Find what grows from step to step, and let it go",                                                           \
	 "tracemalloc.start(); print(tracemalloc.take_snapshot().statistics('lineno')[:10]) every few hundred steps",  \
	 "resident memory only grows; a higher limit only delays the end"},                                            \
		{(kind),                                                                                               \
		 "leak",                                                                                               \
		 FRAMEWORK_NONE,                                                                                       \
		 "Let DataLoader workers end with their epoch",                                                        \
		 "persistent_workers=False",                                                                           \
		 "what a worker keeps, such as caches of the data set, is freed when it ends"},                        \
		LEVERS_LOAD_EVERYTHING(kind),                                                                          \
		{(kind),                                                                                               \
		 "offload",                                                                                            \
		 FRAMEWORK_NONE,                                                                                       \
		 "Keep the optimizer out of host memory",                                                              \
		 "offload_optimizer: {device: nvme, nvme_path: /local_nvme}, or none",                                 \
		 "offload to the CPU takes at least 12 bytes for each parameter, and buffers on top"},                 \
		{(kind),                                                                                               \
		 "offload",                                                                                            \
		 FRAMEWORK_NONE,                                                                                       \
		 "Or budget for it: compute what it needs before the run",                                             \
		 "deepspeed.runtime.zero.stage3.estimate_zero3_model_states_mem_needs_all_live(model, "                \
		 "num_gpus_per_node=N)",                                                                               \
		 "the states of all ranks of a node add up in its memory"},                                            \
		{(kind),                                                                                               \
		 "checkpoint",                                                                                         \
		 FRAMEWORK_NONE,                                                                                       \
		 "Write the checkpoint in shards",                                                                     \
		 "StateDictType.SHARDED_STATE_DICT with torch.distributed.checkpoint.save()",                          \
		 "a full state dict gathers the whole model in the memory of one process"},                            \
		{(kind),                                                                                               \
		 "checkpoint",                                                                                         \
		 FRAMEWORK_NONE,                                                                                       \
		 "Else gather it on one rank only",                                                                    \
		 "FullStateDictConfig(offload_to_cpu=True, rank0_only=True)",                                          \
		 "without rank0_only each rank of a node holds a copy of the whole model"},                            \
	{                                                                                                              \
		(kind), "checkpoint", FRAMEWORK_NONE, "Or let one rank of a node write at a time",                     \
			"torch.save() for one local rank after the other, with dist.barrier() between them",           \
			"the copies of all ranks are then not in memory together"                                      \
	}

#define LEVER_CHECKPOINTING(framework, setting)                                                                        \
	{                                                                                                              \
		KIND_TRUE_OOM, NULL, (framework), "Turn on activation checkpointing", (setting),                       \
			"activations are computed again instead of kept, at about a third more time"                   \
	}
#define LEVER_SHARDING(framework, setting)                                                                             \
	{                                                                                                              \
		KIND_TRUE_OOM, NULL, (framework), "Shard more", (setting),                                             \
			"each rank then holds a part of optimizer, gradients and weights"                              \
	}

const struct lever levers[] = {
	/* GPU: true OOM */
	{KIND_TRUE_OOM, "process-limit", FRAMEWORK_TORCH, "Raise the limit that the process sets for itself",
	 "torch.cuda.set_per_process_memory_fraction(1.0)",
	 "the GPU has memory that the process does not allow itself"},
	{KIND_TRUE_OOM, "process-limit", FRAMEWORK_TENSORFLOW, "Raise the limit that the process sets for itself",
	 "gpu_options.per_process_gpu_memory_fraction=1.0",
	 "the GPU has memory that the process does not allow itself"},
	{KIND_TRUE_OOM, "process-limit", FRAMEWORK_MPS, "Close other programs, or raise the limit of PyTorch on Metal",
	 "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0",
	 "PyTorch stops at a share of the memory that CPU and GPU have together; without a limit the system may fail"},
	{KIND_TRUE_OOM, "leak", FRAMEWORK_NONE, "Stop what grows from step to step", "loss_sum += loss.item()",
	 "tensors that keep their graph are never freed; every other lever only delays the end"},
	{KIND_TRUE_OOM, "start-check", FRAMEWORK_NONE, "Take less of the GPU, or free it", "gpu_memory_utilization=F/C",
	 "the engine starts only if this share of the whole GPU is free, so it must be below what is free now"},
	{KIND_TRUE_OOM, "kv-cache", FRAMEWORK_NONE, "Serve shorter sequences, or let the engine take more of the GPU",
	 "max_model_len=N gpu_memory_utilization=0.95",
	 "the KV cache of one sequence must fit into what weights and activations leave"},
	{KIND_TRUE_OOM, "start-check", FRAMEWORK_NONE, "Split the model over more GPUs", "tensor_parallel_size=2",
	 "each GPU then holds a part of the weights"},
	{KIND_TRUE_OOM, "kv-cache", FRAMEWORK_NONE, "Split the model over more GPUs", "tensor_parallel_size=2",
	 "each GPU then holds a part of the weights and of the KV cache"},
	{KIND_TRUE_OOM, "gap", FRAMEWORK_TORCH, "Let segments grow in place", "{conf}=expandable_segments:True",
	 "much of what the allocator had reserved was unallocated: if it was in pieces, no smaller batch is needed"},
	{KIND_TRUE_OOM, NULL, FRAMEWORK_NONE, "Halve the micro-batch and double gradient accumulation",
	 "per_device_train_batch_size=B/2 gradient_accumulation_steps=2*A",
	 "activations shrink with the micro-batch, and the optimizer sees the same batch"},
	{KIND_TRUE_OOM, NULL, FRAMEWORK_NONE, "Shorten or bucket the sequences",
	 "max_seq_length=S/2 group_by_length=True", "activations grow with the longest sequence of a batch"},
	LEVER_CHECKPOINTING(FRAMEWORK_TORCH, "torch.utils.checkpoint.checkpoint(fn, x, use_reentrant=False)"),
	LEVER_CHECKPOINTING(FRAMEWORK_MPS, "torch.utils.checkpoint.checkpoint(fn, x, use_reentrant=False)"),
	LEVER_CHECKPOINTING(FRAMEWORK_JAX, "jax.checkpoint(fn), which is also jax.remat"),
	LEVER_CHECKPOINTING(FRAMEWORK_TENSORFLOW, "tf.recompute_grad(fn)"),
	LEVER_CHECKPOINTING(FRAMEWORK_PADDLE, "paddle.distributed.fleet.utils.recompute(fn, x)"),
	LEVER_SHARDING(FRAMEWORK_TORCH, "FSDP FULL_SHARD, or DeepSpeed zero_optimization.stage: 2, then 3"),
	LEVER_SHARDING(FRAMEWORK_JAX,
		       "jax.device_put(params, jax.sharding.NamedSharding(mesh, PartitionSpec('fsdp')))"),
	LEVER_SHARDING(FRAMEWORK_PADDLE,
		       "paddle.distributed.sharding.group_sharded_parallel(model, optimizer, level='p_g_os')"),
	{KIND_TRUE_OOM, NULL, FRAMEWORK_JAX, "Let XLA take more of the GPU", "XLA_PYTHON_CLIENT_MEM_FRACTION=0.92",
	 "XLA takes only 75 % of the GPU unless it is told otherwise"},
	{KIND_TRUE_OOM, NULL, FRAMEWORK_NONE, "Use a GPU with more memory",
	 "nodeSelector: nvidia.com/gpu.product: <a product with more memory>",
	 "nothing else helps if the smallest step does not fit"},
	{KIND_TRUE_OOM, NULL, FRAMEWORK_NONE, "Use a larger slice, and shard over its chips",
	 "nodeSelector: cloud.google.com/gke-tpu-topology: <a topology with more chips>",
	 "each chip then holds a smaller part; nothing else helps if the smallest step does not fit"},
	/* GPU: fragmentation */
	{KIND_FRAGMENTATION, NULL, FRAMEWORK_TENSORFLOW, "Use CUDA's own pool", "TF_GPU_ALLOCATOR=cuda_malloc_async",
	 "its pool maps free pages together"},
	{KIND_FRAGMENTATION, NULL, FRAMEWORK_JAX, "Use CUDA's own pool", "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
	 "its pool maps free pages together"},
	{KIND_FRAGMENTATION, NULL, FRAMEWORK_TORCH, "Let segments grow in place", "{conf}=expandable_segments:True",
	 "freed stretches of 20 MiB and more are mapped together again, smaller pieces are not"},
	{KIND_FRAGMENTATION, NULL, FRAMEWORK_TORCH, "Do not split large blocks", "{conf}=max_split_size_mb:128",
	 "blocks above this size are kept whole for large requests"},
	{KIND_FRAGMENTATION, NULL, FRAMEWORK_TORCH, "Give unused blocks back earlier",
	 "{conf}=garbage_collection_threshold:0.8,max_split_size_mb:128",
	 "blocks that were not used for long are freed before the GPU is full; it works only where the process also "
	 "limits itself with set_per_process_memory_fraction(0.95)"},
	/* GPU: co-tenant */
	{KIND_CO_TENANT, "zombie", FRAMEWORK_NONE, "End the process that still holds the GPU",
	 "fuser -v /dev/nvidia*   # on the node, which shows its number; then kill -9 PID",
	 "nvidia-smi does not list a process of another container, or one that is dying"},
	{KIND_CO_TENANT, "zombie", FRAMEWORK_NONE, "If nothing holds it, reset the GPU",
	 "nvidia-smi --gpu-reset -i INDEX", "the driver then frees what it lost; no process may use the GPU meanwhile"},
	{KIND_CO_TENANT, LEVER_NO_CAUSE, FRAMEWORK_NONE, "End the process that holds the GPU, or wait for it",
	 "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
	 "the memory is held outside of this job; no change of the job frees it"},
	{KIND_CO_TENANT, LEVER_NO_CAUSE, FRAMEWORK_TORCH, "Put each rank on its own GPU",
	 "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))",
	 "ranks that forget it all hold a context or a model on GPU 0"},
	{KIND_CO_TENANT, LEVER_NO_CAUSE, FRAMEWORK_NONE, "Ask for a whole GPU", "resources: limits: nvidia.com/gpu: 1",
	 "pods that share a GPU have no limit of its memory each"},
	/* the card */
	{KIND_GPU_FAULT, NULL, FRAMEWORK_NONE, "Take the node out of service", "kubectl cordon NODE",
	 "the next job would fail on the same GPU"},
	{KIND_GPU_FAULT, NULL, FRAMEWORK_NONE, "Drain it",
	 "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data", "other pods on the GPU are at risk"},
	{KIND_GPU_FAULT, NULL, FRAMEWORK_NONE, "Reset or replace the GPU",
	 "nvidia-smi --gpu-reset -i INDEX; dcgmi diag -r 3",
	 "row remapping needs a reset; a GPU that fails the diagnosis goes back to its maker"},
	{KIND_GPU_FAULT, NULL, FRAMEWORK_NONE, "Reset or replace the GPU",
	 "amd-smi reset --gpureset --gpu INDEX; amd-smi bad-pages --gpu INDEX",
	 "a GPU that still counts uncorrectable errors after the reset goes back to its maker"},
	{KIND_GPU_FAULT, NULL, FRAMEWORK_NONE,
	 "Resume from the last good checkpoint, with fewer ranks if no GPU is spare", "torchrun --nnodes=N-1",
	 "the job's settings are not at fault and need no change"},
	/* limits of containers and pods */
	{KIND_CONTAINER_LIMIT, "slurm", FRAMEWORK_NONE, "Ask Slurm for more memory", "#SBATCH --mem={double}",
	 "the need is above the limit that was reached; at most double it at a time"},
	{KIND_CONTAINER_LIMIT, "job-limit", FRAMEWORK_NONE, "Ask the scheduler for more memory",
	 "{double}: bsub -M (LSF), qsub -l mem= (PBS), qsub -l h_vmem= (Grid Engine), request_memory= (HTCondor)",
	 "the need is above the limit that was reached; at most double it at a time"},
	{KIND_CONTAINER_LIMIT, "docker", FRAMEWORK_NONE, "Raise the limit once, to at most twice the old one",
	 "docker run --memory {double}", "a kill proves only that more than the limit was needed"},
	{KIND_CONTAINER_LIMIT, "systemd", FRAMEWORK_NONE,
	 "Raise the limit of the unit once, to at most twice the old one",
	 "systemctl set-property UNIT MemoryMax={double}", "a kill proves only that more than the limit was needed"},
	{KIND_CONTAINER_LIMIT, "yarn", FRAMEWORK_NONE, "Ask YARN for more memory beside the heap",
	 "spark.executor.memoryOverhead", "Python and native libraries take their memory beside the Java heap"},
	{KIND_CONTAINER_LIMIT, "dask", FRAMEWORK_NONE, "Give each worker of Dask more memory",
	 "dask worker --nworkers N/2 --memory-limit {double}",
	 "the budget is each worker's share of the memory: with half the workers it is twice as large"},
	{KIND_CONTAINER_LIMIT, "shm", FRAMEWORK_NONE, "Count shared memory in the limit, or use less of it",
	 "emptyDir: {medium: Memory, sizeLimit: S} with S inside the memory limit",
	 "files in /dev/shm count against the limit"},
	{KIND_CONTAINER_LIMIT, "page-cache", FRAMEWORK_NONE, "Write to disk as fast as data comes",
	 "os.fsync after each file, or write in parts; a faster volume",
	 "pages that wait to be written cannot be dropped, and count against the limit"},
	{KIND_CONTAINER_LIMIT, "loader-workers", FRAMEWORK_NONE, "Use fewer DataLoader workers",
	 "num_workers=W/2 prefetch_factor=2", "each worker copies the pages of Python objects that it touches"},
	{KIND_CONTAINER_LIMIT, "loader-workers", FRAMEWORK_NONE, "Keep the data set in arrays, not in lists of objects",
	 "numpy.memmap or pyarrow tables", "reading an object changes its reference count, and so copies its page"},
	{KIND_UNKNOWN, "child-killed", FRAMEWORK_NONE, "Prove the kill first",
	 "container_oom_events_total, which triage --config FILE reads, or the kernel log of the node",
	 "SIGKILL alone does not say who sent it"},
	LEVERS_OF_HOST_CAUSES(KIND_CONTAINER_LIMIT),
	{KIND_CONTAINER_LIMIT, NULL, FRAMEWORK_NONE, "Raise the limit once, to at most twice the old one",
	 "resources: limits: memory: {double}", "a kill proves only that more than the limit was needed"},
	{KIND_CONTAINER_LIMIT, "child-killed", FRAMEWORK_NONE, "Use fewer DataLoader workers, if the child was one",
	 "num_workers=W/2 prefetch_factor=2", "each worker copies the pages of Python objects that it touches"},
	{KIND_CONTAINER_LIMIT, LEVER_NO_CAUSE, FRAMEWORK_NONE, "Stream the data instead of loading it all",
	 "streaming=True, or memory-mapped files",
	 "a job that reads its whole data set needs more memory with each new data set"},
	LEVERS_OF_HOST_CAUSES(KIND_POD_LIMIT),
	{KIND_POD_LIMIT, NULL, FRAMEWORK_NONE, "Raise the pod's limit, or that of the container which grew",
	 "spec: resources: limits: memory: {double}", "sidecars and memory-backed volumes count in the pod's limit"},
	{KIND_POD_LIMIT, NULL, FRAMEWORK_NONE, "Limit memory-backed volumes",
	 "emptyDir: {medium: Memory, sizeLimit: S}", "their files count as memory of the pod"},
	/* the node */
	{KIND_NODE_OOM, "hugepages", FRAMEWORK_NONE, "Reserve fewer huge pages", "vm.nr_hugepages=N",
	 "memory for huge pages is lost to everything else"},
	{KIND_NODE_OOM, "mempolicy", FRAMEWORK_NONE, "Let the task use all NUMA nodes",
	 "numactl --interleave=all, or no cpuset.mems", "only the allowed NUMA nodes were full"},
	{KIND_NODE_OOM, "ray-memory-monitor", FRAMEWORK_NONE, "Run fewer tasks of Ray at a time",
	 "@ray.remote(memory=BYTES)", "Ray places tasks by what they say that they need"},
	{KIND_NODE_OOM, "ray-memory-monitor", FRAMEWORK_NONE, "Find who held the memory",
	 "the processes that Ray's message lists; ray memory",
	 "the task that was killed is often not the one that grew"},
	{KIND_NODE_OOM, "systemd-oomd", FRAMEWORK_NONE, "Find who held the memory",
	 "journalctl -u systemd-oomd; oomctl",
	 "it kills the cgroup that waited most for memory, which may not have grown"},
	{KIND_NODE_OOM, "node-allocatable", FRAMEWORK_NONE, "Raise the requests to what the pods really use",
	 "resources: requests: memory: <peak>", "together they use more than the node may give to pods"},
	LEVERS_OF_HOST_CAUSES(KIND_NODE_OOM),
	{KIND_NODE_OOM, NULL, FRAMEWORK_NONE, "Find who held the memory",
	 "the table of tasks in the kernel log; kubectl top pod -A",
	 "the task that was killed is often not the one that grew"},
	{KIND_NODE_OOM, NULL, FRAMEWORK_NONE, "Give every pod of the node a memory request and limit",
	 "resources: {requests: {memory: R}, limits: {memory: L}}", "pods without a limit may take the whole node"},
	{KIND_NODE_OOM, NULL, FRAMEWORK_NONE, "Reserve memory for the system",
	 "kubelet: systemReserved, evictionHard: memory.available",
	 "the kubelet can then evict a pod before the kernel kills a task"},
	/* refused */
	{KIND_ALLOCATION_REFUSED, "heap-limit", FRAMEWORK_NONE, "Raise the heap's own limit",
	 "-Xmx, spark.executor.memory, or --max-old-space-size of Node.js",
	 "such a heap ends before the container's limit"},
	LEVERS_LOAD_EVERYTHING(KIND_ALLOCATION_REFUSED),
	{KIND_ALLOCATION_REFUSED, "pinned-memory", FRAMEWORK_NONE, "Pin less memory",
	 "pin_memory=False, or fewer workers", "pinned pages cannot be swapped or reclaimed"},
	{KIND_ALLOCATION_REFUSED, "overcommit", FRAMEWORK_NONE, "Let the kernel give what the node has",
	 "sysctl -w vm.overcommit_memory=1 on a Kubernetes node, =0 elsewhere; to last, in /etc/sysctl.d",
	 "with 2 the sum of what may be committed is fixed, whether it is used or not"},
	{KIND_ALLOCATION_REFUSED, NULL, FRAMEWORK_NONE, "Look at the limits of the process", "ulimit -v; ulimit -l",
	 "an address space limit refuses long before memory is short"},
	{KIND_ALLOCATION_REFUSED, NULL, FRAMEWORK_NONE, "Look at the overcommit setting",
	 "sysctl vm.overcommit_memory: 1 on a Kubernetes node, 0 elsewhere",
	 "with 2 the kernel refuses what it could give, at half of the memory by default"},
	{KIND_ALLOCATION_REFUSED, LEVER_NO_CAUSE, FRAMEWORK_NONE, "Read the data in batches",
	 "numpy.memmap, chunksize=N, streaming=True", "one array of this size is rarely needed as a whole"},
	/* evictions */
	{KIND_EVICTED_MEMORY, "refused-at-admission", FRAMEWORK_NONE, "Give the pod a memory request",
	 "resources: requests: memory: <peak>",
	 "the scheduler then chooses a node that has it, and pods with a request "
	 "are let in under memory pressure"},
	{KIND_EVICTED_MEMORY, NULL, FRAMEWORK_NONE, "Raise the request to what the job really uses",
	 "resources: requests: memory: <peak>", "pods above their request are evicted first"},
	{KIND_EVICTED_MEMORY, NULL, FRAMEWORK_NONE, "Make the pod Guaranteed",
	 "requests equal to limits for cpu and memory", "a Guaranteed pod is never above its request"},
	{KIND_EVICTED_STORAGE, "volume-limit", FRAMEWORK_NONE, "Raise the size of the volume",
	 "emptyDir: {sizeLimit: {double}}", "the emptyDir was at its own limit"},
	{KIND_EVICTED_STORAGE, NULL, FRAMEWORK_NONE, "Find what writes",
	 "du -x -d 2 / | sort -n | tail, in the container", "logs, caches and checkpoints are the usual ones"},
	{KIND_EVICTED_STORAGE, NULL, FRAMEWORK_NONE, "Move it to a volume",
	 "persistentVolumeClaim, or a generic ephemeral volume", "a volume has its own size and does not count"},
	{KIND_EVICTED_STORAGE, NULL, FRAMEWORK_NONE, "Else ask for the space",
	 "resources: {requests: {ephemeral-storage: S}, limits: {ephemeral-storage: S}}",
	 "the scheduler then chooses a node that has it"},
	/* not for memory */
	{KIND_NOT_OOM, "disk-full", FRAMEWORK_NONE, "Free the file system that the line names, or give it more",
	 "df -h; df -i; du -x -d 2 PATH | sort -n | tail", "old checkpoints, caches and logs are the usual ones"},
	{KIND_NOT_OOM, "files-limit", FRAMEWORK_NONE, "Let the process open more files, or share tensors by file names",
	 "ulimit -n 65536; torch.multiprocessing.set_sharing_strategy('file_system')",
	 "each tensor that a worker hands over keeps a file open"},
	{KIND_NOT_OOM, "segfault", FRAMEWORK_NONE, "Find the native code that failed",
	 "python -X faulthandler train.py; ulimit -c unlimited", "it prints the Python lines that called it"},
	{KIND_NOT_OOM, "device-assert", FRAMEWORK_NONE, "Find the index or label that is out of range",
	 "CUDA_LAUNCH_BLOCKING=1, or the same batch on the CPU", "the error is otherwise reported at a later call"},
	/* shared memory */
	{KIND_SHM_TOO_SMALL, NULL, FRAMEWORK_NONE, "Mount a larger /dev/shm",
	 "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}], mounted at /dev/shm",
	 "the default is 64 MiB; what is written counts against the memory limit"},
	{KIND_SHM_TOO_SMALL, NULL, FRAMEWORK_NONE, "Or put less into it", "num_workers=W/2 prefetch_factor=2",
	 "each worker keeps its batches in shared memory"},
	{KIND_SHM_TOO_SMALL, NULL, FRAMEWORK_NONE, "Or do not use it",
	 "torch.multiprocessing.set_sharing_strategy('file_system'), num_workers=0", "slower, but without a volume"},
};
const size_t n_levers = ARRAY_LEN(levers);

const struct advice levers_avoid[] = {
	{KIND_TRUE_OOM, "Do not call torch.cuda.empty_cache() in the loop: it frees no tensor and costs time."},
	{KIND_TRUE_OOM, "Do not resume with the same settings: the run meets the same step again."},
	{KIND_FRAGMENTATION, "Do not cut the batch: the GPU has room, and the run only becomes slower."},
	{KIND_FRAGMENTATION, "Do not call torch.cuda.empty_cache() in the loop: it hides the cause and costs time."},
	{KIND_CO_TENANT, "Do not change the job: its own need fits on a free GPU."},
	{KIND_GPU_FAULT, "Do not change batch or model: the job is not at fault."},
	{KIND_CONTAINER_LIMIT, "Do not rely on restartPolicy OnFailure: the container restarts with the same limit."},
	{KIND_CONTAINER_LIMIT, "Do not set oom_score_adj=-1000 or --oom-kill-disable: the node dies instead."},
	{KIND_NODE_OOM, "Do not set oom_score_adj=-1000: another task of the node dies instead."},
	{KIND_ALLOCATION_REFUSED, "Do not set vm.overcommit_memory=2 on a Kubernetes node."},
	{KIND_SHM_TOO_SMALL, "Do not raise only the memory limit: /dev/shm has its own size."},
};
const size_t n_levers_avoid = ARRAY_LEN(levers_avoid);

const struct advice levers_next[] = {
	{KIND_TRUE_OOM, LEVER_STOP},
	{KIND_TRUE_OOM,
	 "nvidia-smi --query-compute-apps=pid,used_memory --format=csv   # that nobody else holds the GPU"},
	{KIND_FRAGMENTATION, LEVER_STOP},
	{KIND_FRAGMENTATION,
	 "print(torch.cuda.memory_summary())   # in the next run: reserved minus allocated must not grow"},
	{KIND_CO_TENANT,
	 "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv   # on the node"},
	{KIND_GPU_FAULT, "dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER   # on the node"},
	{KIND_GPU_FAULT, "dmesg -T | grep -i amdgpu; amd-smi metric --ecc; amd-smi bad-pages   # on the node"},
	{KIND_CONTAINER_LIMIT, TRIAGE_POD_COMMAND "   # the limit that was reached, and the log before"},
	{KIND_CONTAINER_LIMIT, "dmesg -T | grep -A40 'invoked oom-killer'   # on the node: who held the memory"},
	{KIND_POD_LIMIT, "kubectl top pod POD --containers"},
	{KIND_NODE_OOM, "dmesg -T | grep -A60 'invoked oom-killer'   # on the node"},
	{KIND_NODE_OOM, "kubectl describe node NODE"},
	{KIND_ALLOCATION_REFUSED,
	 "ulimit -a; cat /proc/sys/vm/overcommit_memory; grep Commit /proc/meminfo   # in the container"},
	{KIND_EVICTED_MEMORY,
	 "kubectl describe node NODE; kubectl get events -n NAMESPACE --field-selector reason=Evicted"},
	{KIND_EVICTED_STORAGE, "kubectl get events -n NAMESPACE --field-selector reason=Evicted"},
	{KIND_SHM_TOO_SMALL, "df -h /dev/shm; ls -l /dev/shm   # in the container"},
	{KIND_NOT_OOM, "Read the quoted line: memory is not the reason."},
	{KIND_UNKNOWN, TRIAGE_POD_COMMAND "   # status, events and logs of the pod, and conditions of its node"},
	{KIND_UNKNOWN, "kubectl logs POD --previous --all-containers >pod.log; kubectl memtamer triage --log pod.log"},
	{KIND_UNKNOWN, "dmesg -T >dmesg.txt; memtamer-recommender triage --dmesg dmesg.txt   # on the node"},
	{KIND_UNKNOWN, "nvidia-smi -q   # on the node: ECC errors, row remapping, processes"},
};
const size_t n_levers_next = ARRAY_LEN(levers_next);
