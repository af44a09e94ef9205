/* SPDX-License-Identifier: Apache-2.0 */
/* Single lines: which signals recognise them, which do not, and the figures that they give. */
#include "support/test.h"

#include "triage/signals.h"

#include <stdlib.h>

#define GI(hundredths) (((int64_t)(hundredths)*1073741824 + 50) / 100)
#define MI(hundredths) (((int64_t)(hundredths)*1048576 + 50) / 100)

static struct line_buffer buffer;

static bool read_line(enum signal_id signal, const char *text, struct reading *ret)
{
	struct line line;

	line_make(str_c(text), 2, &buffer, &line);
	return signal_read(signal, &line, ret);
}

static void lines_are_recognised(void **state)
{
	static const struct {
		enum signal_id signal;
		bool want;
		const char *text;
	} rows[] = {
		{SIGNAL_GPU_OOM, true,
		 "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity"},
		{SIGNAL_GPU_OOM, true,
		 "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."},
		{SIGNAL_GPU_OOM, true, "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB."},
		{SIGNAL_GPU_OOM, true, "RuntimeError: CUDA error: out of memory"},
		{SIGNAL_GPU_OOM, true,
		 "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"},
		{SIGNAL_GPU_OOM, true,
		 "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7406166528 bytes."},
		{SIGNAL_GPU_OOM, true,
		 "ResourceExhaustedError: OOM when allocating tensor with shape[16,112] and type float on "
		 "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"},
		{SIGNAL_GPU_OOM, true, "THCudaCheck FAIL file=THCStorage.cu line=58 error=2 : out of memory"},
		{SIGNAL_GPU_OOM, true, "cuda failed with error 2 out of memory. use CUDA_LAUNCH_BLOCKING=1"},
		{SIGNAL_GPU_OOM, false,
		 "My model reports \xe2\x80\x9c"
		 "cuda runtime error(2): out of memory\xe2\x80\x9d"},
		{SIGNAL_GPU_OOM, false, "cuda graph 2: out of memory pools"},
		{SIGNAL_GPU_OOM, false,
		 "cuda_driver.cc:802] failed to alloc 34359738368 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of "
		 "memory"},
		{SIGNAL_GPU_OOM, true, "node1:22:33 [0] NCCL WARN Cuda failure 2 'out of memory'"},
		{SIGNAL_GPU_OOM, true, "mxnet.base.MXNetError: cudaMalloc retry failed: out of memory"},
		{SIGNAL_GPU_OOM, true, "MemoryError: cuMemAlloc failed: out of memory"},
		{SIGNAL_REFUSED, false, "pycuda._driver.MemoryError: cuMemAlloc failed: out of memory"},
		{SIGNAL_REFUSED, true,
		 "cv2.error: OpenCV(5.0.0) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 4096 bytes "
		 "in function 'OutOfMemoryError'"},
		{SIGNAL_GPU_OOM, false, "JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 4096 bytes."},
		{SIGNAL_OFFLOAD, true,
		 "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}}"},
		{SIGNAL_OFFLOAD, true, "    \"offload_optimizer\": {\"device\":\"cpu\", \"pin_memory\": true}"},
		{SIGNAL_SHELL_KILLED, true, "Killed"},
		{SIGNAL_SHELL_KILLED, true, "[1]+  Killed                  python train.py"},
		{SIGNAL_SHELL_KILLED, true, "zsh: killed     python train.py"},
		{SIGNAL_SHELL_KILLED, true, "Command terminated by signal 9"},
		{SIGNAL_SHELL_KILLED, false, "Killed process 5 (python)"},
		{SIGNAL_SHELL_KILLED, false, "[ 12] killed 3 workers"},
		{SIGNAL_SHELL_KILLED, false, "the command is terminated by signal 9"},
		{SIGNAL_OFFLOAD, true, "Adam Optimizer #0 is created with AVX512 arithmetic capability."},
		{SIGNAL_OFFLOAD, true, "  offload_optimizer_device: cpu"},
		{SIGNAL_OFFLOAD, false, "  offload_optimizer_device: nvme"},
		{SIGNAL_OFFLOAD, false,
		 "{\"offload_optimizer\": {\"device\": \"none\"}, \"offload_param\": {\"device\": \"cpu\"}}"},
		{SIGNAL_GPU_SAMPLE, true, "step 10 loss 1.0 mem_alloc=21.00GiB"},
		{SIGNAL_GPU_SAMPLE, true, "iter: 19  total_loss: 1.2  lr: 0.01  max_mem: 3445M"},
		{SIGNAL_GPU_SAMPLE, true, "step=10 loss=1.0 mem=12.3GB"},
		{SIGNAL_GPU_SAMPLE, false, "job 5 cpu=8 mem=64G"},
		{SIGNAL_GPU_SAMPLE, true, "it 7 loss 1.0 allocated 3201 MiB reserved 4166 MiB"},
		{SIGNAL_GPU_SAMPLE, false, "allocated 3 GPUs, 2 GiB reserved for the system"},
		{SIGNAL_PINNING, true, "    buf = torch.empty(n, dtype=torch.uint8, pin_memory=True)"},
		{SIGNAL_PINNING, false, "    loader = DataLoader(data, batch_size=8, pin_memory=True)"},
		{SIGNAL_GPU_OOM, true, "rocm: hipMalloc failed: out of memory"},
		{SIGNAL_GPU_OOM, true, "ggml_vulkan: Device memory allocation of size 118497280 failed."},
		{SIGNAL_GPU_OOM, true, "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory"},
		{SIGNAL_GPU_OOM, true,
		 "[TRT] [E] 2: [virtualMemoryBuffer.cpp::resizePhysical::145] Error Code 2: OutOfMemory (no further "
		 "information)"},
		{SIGNAL_GPU_OOM, true,
		 "[TRT] [W] Requested amount of GPU memory (17179869184 bytes) could not be allocated. There may not "
		 "be "
		 "enough free memory for allocation to succeed."},
		{SIGNAL_GPU_OOM, true,
		 "[E] [TRT] ../rtSafe/safeRuntime.cpp (25) - Cuda Error in allocate: 2 (out of memory)"},
		{SIGNAL_GPU_OOM, true,
		 "MemoryError: Error allocating 33554432 bytes of device memory (out of memory). Driver report "
		 "21364736 "
		 "bytes free and 11715084288 bytes total"},
		{SIGNAL_REFUSED, false,
		 "MemoryError: Error allocating 33554432 bytes of device memory (out of memory)."},
		{SIGNAL_RETRY, true,
		 "[TRT] [W] Skipping tactic 8 due to insufficient memory on requested size of 17179869184 detected"},
		{SIGNAL_GPU_OOM, false, "cudaMalloc took 3 ms, no block was out of memory"},
		/* Memory of the host. */
		{SIGNAL_GPU_OOM, false, "cudaHostAlloc failed: out of memory"},
		{SIGNAL_REFUSED, true, "cudaHostAlloc failed: out of memory"},
		{SIGNAL_GPU_OOM, false, "hipHostMalloc failed: hipErrorOutOfMemory"},
		{SIGNAL_REFUSED, true, "hipHostMalloc failed: hipErrorOutOfMemory"},
		{SIGNAL_REFUSED, true, "CUDA error: out of memory in cudaMallocHost(&p, n)"},
		{SIGNAL_REFUSED, false, "pinned_use_cuda_host_register: calls cudaHostRegister"},
		{SIGNAL_GPU_OOM, false, "fatal: Out of memory, malloc failed (tried to allocate 272059101 bytes)"},
		{SIGNAL_REFUSED, true, "fatal: Out of memory, malloc failed (tried to allocate 272059101 bytes)"},
		{SIGNAL_REFUSED, true, "fatal: Out of memory, realloc failed"},
		{SIGNAL_XID, true,
		 "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot "
		 "Required)"},
		{SIGNAL_XID, false,
		 "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 "
		 "(None)"},
		{SIGNAL_GPU_OOM, true,
		 "Out of memory error on GPU 0. Cannot allocate 15.503906GB memory on GPU 0, 28.770508GB memory has "
		 "been allocated and available memory is only 10.815613GB."},
		{SIGNAL_GPU_OOM, false,
		 "W bfc_allocator.cc:243] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25GiB with "
		 "freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could be "
		 "performance gains"},
		{SIGNAL_GPU_OOM, false, "# RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"},
		{SIGNAL_SYSTEM_OOM, false, "+		errorMsg := \"System OOM encountered\""},
		{SIGNAL_GPU_OOM, true, "  what():  radix_sort: failed on 1st step: out of memory"},
		{SIGNAL_GPU_OOM, true,
		 "- Memory allocation error on worker 3: std::bad_alloc: RMM failure at: x.hpp:1"},
		{SIGNAL_REFUSED, false, "Memory allocation error on worker 3: std::bad_alloc: CUDA error at: x.hpp:1"},
		{SIGNAL_GPU_OOM, false, "The second time it was an OutOfMemoryError."},
		{SIGNAL_GPU_OOM, true, "torch.cuda.OutOfMemoryError: Allocation on device"},
		{SIGNAL_REFUSED, true, "java.lang.OutOfMemoryError: Metaspace"},
		{SIGNAL_SEGFAULT, true, "#  SIGSEGV (0xb) at pc=0x00007f0a, pid=7, tid=8"},
		{SIGNAL_SEGFAULT, true,
		 "This could be caused by a segmentation fault while calling the function or by an excessive memory "
		 "usage. The exit codes of the workers are {EXIT(1), SIGSEGV(-11)}"},
		{SIGNAL_SEGFAULT, false,
		 "This could be caused by a segmentation fault while calling the function or by an excessive memory "
		 "usage. The exit codes of the workers are {SIGSEGV(-11), SIGKILL(-9)}"},
		{SIGNAL_KERNEL_CUT, true, "[1.0]  mem_cgroup_out_of_memory+0xbb/0xd0"},
		{SIGNAL_KERNEL_CUT, false, "[1.0]  ? mem_cgroup_out_of_memory+0xbb/0xd0"},
		{SIGNAL_EXCEPTION, true, "Exception: the file has no header"},
		{SIGNAL_EXCEPTION, false, "Error:\"\","},
		{SIGNAL_EXCEPTION, true, "  what():  Capture must end on the same stream it began on."},
		{SIGNAL_EXCEPTION, false, "  what():  [PG 0 Rank 3] Process group watchdog thread terminated"},
		{SIGNAL_PREEMPTED, true, "EC2 Spot Instance Interruption Warning: terminate at 16:34"},
		{SIGNAL_PREEMPTED, false, "spot interruption handler is listening"},
		{SIGNAL_MEMORY_ERROR, true, "  what():  the pool has no memory left"},
		{SIGNAL_GPU_OOM, false, "    if \"CUDA out of memory\" in str(e):"},
		{SIGNAL_GPU_OOM, false, "INFO: if you see CUDA out of memory, reduce the batch size"},
		{SIGNAL_GPU_OOM, false, "report_tensor_allocations_upon_oom: true"},
		{SIGNAL_GPU_OOM, false, "Memory cgroup out of memory: Killed process 12 (python) total-vm:1kB"},
		{SIGNAL_GPU_OOM, false, "OOM when allocating tensor on /device:CPU:0 by allocator cpu"},
		{SIGNAL_GPU_OOM, false, "RESOURCE_EXHAUSTED: Received message larger than max (5 vs. 4)"},
		{SIGNAL_REFUSED, true, "MemoryError"},
		{SIGNAL_REFUSED, true,
		 "numpy.core._exceptions.MemoryError: Unable to allocate 5.00 GiB for an array with shape (1, 2)"},
		{SIGNAL_REFUSED, true, "terminate called after throwing an instance of 'std::bad_alloc'"},
		{SIGNAL_REFUSED, true, "OSError: [Errno 12] Cannot allocate memory"},
		{SIGNAL_REFUSED, true,
		 "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't allocate "
		 "memory: you tried to allocate 8589934592 bytes. Error code 12 (Cannot allocate memory)"},
		{SIGNAL_REFUSED, false, "except MemoryError:"},
		{SIGNAL_REFUSED, false, "Unable to allocate a worker for the task"},
		{SIGNAL_XID, true, "NVRM: Xid (PCI:0000:65:00): 79, pid=1234, GPU has fallen off the bus."},
		{SIGNAL_XID, false, "docs: NVRM: Xid (PCI:...) is explained here"},
		{SIGNAL_GPU_ECC, true, "RuntimeError: CUDA error: uncorrectable ECC error encountered"},
		{SIGNAL_GPU_ECC, true, "    Uncorrectable ECC errors : 2"},
		{SIGNAL_GPU_ECC, false, "when an uncorrectable ECC error is detected, the driver recovers from it"},
		{SIGNAL_GPU_ECC, false, "XID 48: This XID indicates an uncorrectable ECC error has occurred."},
		{SIGNAL_ROW_REMAP, true, "NVRM: Row Remapper: New row marked for remapping, reset gpu to activate."},
		{SIGNAL_ROW_REMAP, true, "Row remapping pending: Yes"},
		{SIGNAL_ROW_REMAP, false, "Remapped rows: none"},
		{SIGNAL_ROW_REMAP, false, "Row remapping replaces faulty rows of the memory by spare ones."},
		{SIGNAL_GPU_ECC, false, "    Uncorrectable ECC errors : 0"},
		{SIGNAL_XID, true, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",err_code=\"79\",pod=\"train-0\"} 79"},
		{SIGNAL_XID, true, "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\",window_size_in_ms=\"300000\",xid=\"94\"} 2"},
		{SIGNAL_XID, true, "|                | Detected XID 79 for GPU 0 Please consult the docum |"},
		{SIGNAL_XID, false, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\",err_code=\"0\",err_msg=\"No Error\"} 0"},
		{SIGNAL_XID, false, "DCGM_EXP_XID_ERRORS_COUNT{gpu=\"0\",window_size_in_ms=\"300000\",xid=\"94\"} 0"},
		{SIGNAL_XID, false, "DCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 9223372036854775792"},
		{SIGNAL_XID, false, "# HELP DCGM_FI_DEV_XID_ERRORS Value of the last XID error encountered."},
		{SIGNAL_GPU_ECC, true, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"0\"} 3"},
		{SIGNAL_GPU_ECC, false, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"0\"} 0"},
		{SIGNAL_GPU_ECC, false, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu=\"0\"} 2147483632"},
		{SIGNAL_GPU_ECC, true, "|       -> Memory system    | Failure                    |"},
		{SIGNAL_GPU_ECC, false, "|       -> Memory system    | Warning                    |"},
		{SIGNAL_GPU_ECC, false, "memory system: failure of the second channel"},
		{SIGNAL_GPU_ECC_PAST, true, "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL{gpu=\"0\"} 2"},
		{SIGNAL_ROW_REMAP, true, "DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu=\"0\"} 1"},
		{SIGNAL_ROW_REMAP, true, "DCGM_FI_DEV_ROW_REMAP_PENDING{gpu=\"0\"} 1"},
		{SIGNAL_ROW_REMAP, false, "DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu=\"1\"} 0"},
		{SIGNAL_ROW_REMAP, false,
		 "# HELP DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS Number of remapped rows: corrected"},
		{SIGNAL_ROW_REMAP, true, "| Page Retirement/Row Remap | Fail - GPU: 0              |"},
		{SIGNAL_ROW_REMAP, false, "| Page Retirement/Row Remap | Pass - GPU: 1              |"},
		{SIGNAL_DEVICE_UNHEALTHY, true, "|       -> NVLINK system    | Failure                    |"},
		{SIGNAL_DEVICE_UNHEALTHY, false, "|       -> NVLINK system    | Warning                    |"},
		{SIGNAL_DEVICE_UNHEALTHY, false, "the nvlink system: failure"},
		{SIGNAL_DEVICE_ASSERT, true, "RuntimeError: CUDA error: device-side assert triggered"},
		{SIGNAL_DEVICE_ASSERT, true,
		 "IndexKernel.cu:92: operator(): block: [7,0,0], thread: [64,0,0] Assertion `i < n` failed."},
		{SIGNAL_DEVICE_ASSERT, false, "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."},
		{SIGNAL_SHM, true,
		 "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared "
		 "memory (shm)."},
		{SIGNAL_SHM, true,
		 "Error: failed to extend /dev/shm/nccl-a to 9637888 bytes, error: No space left on device (28)"},
		{SIGNAL_SHM, false, "mounted tmpfs on /dev/shm"},
		{SIGNAL_CHILD_KILLED, true,
		 "failed (exitcode: -9) local_rank: 1 (pid: 1168) of binary: /usr/bin/python"},
		{SIGNAL_CHILD_KILLED, false,
		 "Unable to shutdown process 12 via SIGTERM, forcefully exiting via SIGKILL"},
		{SIGNAL_OOM_KILLED, true, "      Reason:       OOMKilled"},
		{SIGNAL_OOM_KILLED, false, "\"OOMKilled\": false,"},
		{SIGNAL_OOM_KILLED, false, "OOMKilled:false,"},
		{SIGNAL_OOM_KILLED, false, "\"OOMKilled\" : false"},
		{SIGNAL_OOM_KILLED, false, "oomKilled = false"},
		{SIGNAL_OOM_KILLED, true, "\"OOMKilled\" : true"},
		{SIGNAL_OOM_KILLED, true, "{\"OOMKilled\":false,\"reason\":\"OOMKilled\"}"},
		{SIGNAL_OOM_KILLED, true, "train-0   0/1     OOMKilled          3          5m"},
		{SIGNAL_OOM_KILLED, true, "train-0   0/1     Init:OOMKilled     3          5m"},
		{SIGNAL_OOM_KILLED, true, "[n0-0] terminated with exit code (137). Reason [OOMKilled]."},
		{SIGNAL_OOM_KILLED, true, "message: OOMKilled (exit code 137)"},
		{SIGNAL_OOM_KILLED, true, "pod train-0 was OOMKilled"},
		{SIGNAL_OOM_KILLED, false, "ask why a pod was OOMKilled"},
		{SIGNAL_OOM_KILLED, false,
		 "The `OOMKilled` reason comes from a counter of the cgroup (exit code 143)."},
		{SIGNAL_OOM_KILLED, false, "+                == \"OOMKilled\""},
		{SIGNAL_OOM_KILLED, false, "+  if state.terminated.reason == \"OOMKilled\""},
		{SIGNAL_EXIT_137, true, "      Exit Code:    137"},
		{SIGNAL_EXIT_137, true, "\"ExitCode\" : 137,"},
		{SIGNAL_EXIT_137, true, "[n0-0] terminated with exit code (137). Reason [Error]."},
		{SIGNAL_EXIT_137, false, "      Exit Code:    1370"},
		{SIGNAL_EXIT_137, false, "      Exit Code:    1"},
		{SIGNAL_TERMINATED, true, "      Exit Code:    143"},
		{SIGNAL_TERMINATED, true,
		 "2022-12-01T17:39:21.5137635Z ##[error]Process completed with exit code 143."},
		{SIGNAL_TERMINATED, false, "# exit code 143"},
		{SIGNAL_NOT_STARTED, true,
		 "Warning FailedScheduling  6m7s  default-scheduler  0/1 nodes are available: 1 Insufficient "
		 "nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming "
		 "pod."},
		{SIGNAL_PREEMPTED, false, "preemption: 0/1 nodes are available: 1 No preemption victims found"},
		{SIGNAL_PREEMPTED, false, "1 Pod is waiting for preemptible or free resource to appear"},
		{SIGNAL_PREEMPTED, true, "Preempted by pod 0b1e7a52-8d10 on node gpu-4"},
		{SIGNAL_EXCEPTION, true,
		 "FAILED tests/test_a.py::test_b - RuntimeError: CUDA error: invalid device ordinal"},
		{SIGNAL_TERMINATED, true,
		 "slurmstepd: error: *** STEP 6053.0 ON node20 CANCELLED AT 2024-04-23T12:18:08 ***"},
		{SIGNAL_TERMINATED, true, "api.SignalException: Process 293812 got signal: 15"},
		{SIGNAL_TERMINATED, false, "WARNING:api:Sending process 153929 closing signal SIGTERM"},
		{SIGNAL_OOM_KILLED, true,
		 "2019-05-04T18:05:45.01-05:00 container oom 29d72966e0beb17d9b0b9fbcb (image=a)"},
		{SIGNAL_OOM_KILLED, false, "to debug a container oom event, see below"},
		{SIGNAL_REFUSED, true,
		 "RuntimeError: [enforce fail at CPUAllocator.cpp:56] posix_memalign(&data, gAlignment, nbytes) == 0. "
		 "12 vs "
		 "0"},
		{SIGNAL_SEGFAULT, true, "      Exit Code:    139"},
		{SIGNAL_CHILD_BUS, true, "    \"exitCode\": 135,"},
		{SIGNAL_CHILD_KILLED, true, "2020-11-24 20:22:28.106 /bin/bash: line 27: 318 Killed sh start.sh"},
		{SIGNAL_CHILD_KILLED, true, "run.sh: line 4:  4711 Killed                  python3 train.py"},
		{SIGNAL_CHILD_KILLED, false, "notes: line 27: 318 killed-process rows"},
		{SIGNAL_CHILD_KILLED, true, "srun: error: c002: task 0: Killed"},
		{SIGNAL_CHILD_KILLED, false, "srun: error: c002: task 0: Terminated"},
		{SIGNAL_SLURM, true, "srun: error: c002: tasks 0-3: Out Of Memory"},
		{SIGNAL_SLURM, false, "srun: error: c002: task 0: Killed"},
		{SIGNAL_CHILD_BUS, true, "srun: error: c002: task 289: Bus error"},
		{SIGNAL_CHILD_KILLED, true, "  exitcode  : -9 (pid: 1168)"},
		{SIGNAL_EVICTED_MEMORY, true,
		 "The node was low on resource: memory. Threshold quantity: 100Mi, available: 97032Ki. Container "
		 "trainer was using 31Gi, request is 0, has larger consumption of memory."},
		{SIGNAL_EVICTED_STORAGE, true, "Usage of EmptyDir volume \"cache\" exceeds the limit \"1Gi\"."},
		{SIGNAL_EVICTED_STORAGE, true,
		 "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading reading;

		if (read_line(rows[i].signal, rows[i].text, &reading) != rows[i].want)
			fail_msg("%s: %s", signals[rows[i].signal].name, rows[i].text);
	}
}

/* The kubelet prints quantities as people wrote them, decimal ones too. */
static void the_kubelet_prints_quantities(void **state)
{
	static const struct {
		enum signal_id signal;
		const char *text;
		enum figure figure;
		int64_t want;
	} rows[] = {
		{SIGNAL_EVICTED_STORAGE, "Usage of EmptyDir volume \"cache\" exceeds the limit \"2G\". ", FIGURE_LIMIT,
		 2000000000},
		{SIGNAL_EVICTED_STORAGE, "Usage of EmptyDir volume \"cache\" exceeds the limit \"2Gi\". ", FIGURE_LIMIT,
		 2147483648},
		{SIGNAL_EVICTED_STORAGE, "Container trainer exceeded its local ephemeral storage limit \"500M\". ",
		 FIGURE_LIMIT, 500000000},
		{SIGNAL_EVICTED_STORAGE, "Container trainer exceeded its local ephemeral storage limit \"1e9\". ",
		 FIGURE_LIMIT, 1000000000},
		{SIGNAL_EVICTED_STORAGE,
		 "Pod ephemeral local storage usage exceeds the total limit of containers 1500M. ", FIGURE_LIMIT,
		 1500000000},
		{SIGNAL_EVICTED_MEMORY,
		 "The node was low on resource: memory. Threshold quantity: 1G, available: 97032Ki. Container trainer "
		 "was "
		 "using 31Gi, request is 20G, has larger consumption of memory.",
		 FIGURE_THRESHOLD, 1000000000},
		{SIGNAL_EVICTED_MEMORY,
		 "The node was low on resource: memory. Threshold quantity: 1G, available: 97032Ki. Container trainer "
		 "was "
		 "using 31Gi, request is 20G, has larger consumption of memory.",
		 FIGURE_REQUEST, 20000000000},
		{SIGNAL_EVICTED_MEMORY,
		 "The node was low on resource: memory. Container trainer was using 1536, which exceeds its request of "
		 "0. ",
		 FIGURE_USAGE, 1536},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading reading;

		assert_true(read_line(rows[i].signal, rows[i].text, &reading));
		if (reading.figures.bytes[rows[i].figure] != rows[i].want)
			fail_msg("%s: %lld", rows[i].text, (long long)reading.figures.bytes[rows[i].figure]);
	}
}

/* "# " begins a comment, but in the first line it is the title of a ticket. */
static void first_line_may_be_a_title(void **state)
{
	struct reading reading;
	struct line line;

	(void)state;
	for (uint64_t number = 1; number <= 2; number++) {
		line_make(str_c("# RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"), number, &buffer,
			  &line);
		assert_int_equal(signal_read(SIGNAL_GPU_OOM, &line, &reading), number == 1);
	}
}

/* A form without a word of its row would never be looked at. */
static void forms_contain_words(void **state)
{
	char form[128];

	(void)state;
	for (size_t i = 0; i < GPU_OOM_FORMS; i++)
		for (const char *at = gpu_oom_forms[i]; *at; at += strcspn(at, "|"), at += *at == '|') {
			reading_copy(form, sizeof(form), at, "|");
			if (!text_has(form, signals[SIGNAL_GPU_OOM].words))
				fail_msg("no word is in: %s", form);
		}
}

static void sizes_are_rounded(void **state)
{
	static const struct {
		int64_t bytes;
		const char *want;
	} rows[] = {
		{0, "0 bytes"},
		{1023, "1023 bytes"},
		{1024, "1.00 KiB"},
		{1073741823, "1.00 GiB"},
		{GI(838), "8.38 GiB"},
		{GI(235), "2.35 GiB"},
		{GI(12468), "124.68 GiB"},
		{MI(1), "10.24 KiB"},
		{FIGURE_MAX, "1024.00 TiB"},
		{FIGURE_ABSURD, "an absurd size"},
		{FIGURE_NONE, "unknown"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(FIGURE_TEXT(rows[i].bytes), rows[i].want);
}

static void variables_follow_the_message_and_the_device(void **state)
{
	static const struct {
		const char *text;
		enum variable want;
	} rows[] = {
		{"CUDA out of memory. Tried to allocate 1.00 GiB", VARIABLE_NONE},
		{"CUDA out of memory. Tried to allocate 1.00 GiB. try setting PYTORCH_ALLOC_CONF=a", VARIABLE_ANY},
		{"HIP out of memory. Tried to allocate 1.00 GiB", VARIABLE_HIP},
		{"HIP out of memory. Tried to allocate 1.00 GiB. try setting PYTORCH_CUDA_ALLOC_CONF=a", VARIABLE_CUDA},
		{"NPU out of memory. Tried to allocate 1.00 GiB (NPU 0; 60.97 GiB total capacity", VARIABLE_NPU},
		{"MLU out of memory. Tried to allocate 1.00 GiB", VARIABLE_MLU},
		{"XPU out of memory. Tried to allocate 1.00 GiB", VARIABLE_ANY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading reading;

		assert_true(read_line(SIGNAL_GPU_OOM, rows[i].text, &reading));
		if (reading.variable != rows[i].want)
			fail_msg("%s: %d", rows[i].text, (int)reading.variable);
	}
}

static void figures_are_read_by_label(void **state)
{
	static const struct {
		const char *text;
		enum figure figure;
		int64_t want;
	} rows[] = {
		{"Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 GiB already allocated; 9.28 GiB "
		 "free; 4.68 MiB cached)",
		 FIGURE_UNALLOCATED, MI(468)},
		{"Tried to allocate 2.00 GiB (GPU 0; 14.76 GiB total capacity; 8.77 GiB already allocated; 19.75 MiB "
		 "free; 13.71 GiB reserved in total by PyTorch)",
		 FIGURE_RESERVED, GI(1371)},
		{"GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including non-PyTorch memory, this "
		 "process has 20.81 GiB memory in use.",
		 FIGURE_CAPACITY, GI(2365)},
		{"GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including", FIGURE_FREE, GI(166)},
		{"of which 1.00 GiBis free.", FIGURE_FREE, GI(100)},
		{"Process 608946 has 14.91 GiB memory in use. Process 7 has 256.00 MiB memory in use. Including "
		 "non-PyTorch memory, this process has 4.41 GiB memory in use.",
		 FIGURE_OTHERS, GI(1491) + MI(25600)},
		{"Process 7 has 256.00 MiB memory in use. Including non-PyTorch memory, this process has 4.41 GiB "
		 "memory in use.",
		 FIGURE_PROCESS, GI(441)},
		{"3.00 GiB is reserved by PyTorch but unallocated", FIGURE_UNALLOCATED, GI(300)},
		{"1.66 GiB is free; 1.05 GiB allowed; 1.00 GiB", FIGURE_ALLOWED, GI(105)},
		{"this process has 17179869184.00 GiB memory in use", FIGURE_PROCESS, FIGURE_ABSURD},
		{"Failed to allocate request for 2.99GiB (3206250496B) on device ordinal 0", FIGURE_TRIED, 3206250496},
		{"Out of memory allocating 20029400304 bytes.", FIGURE_TRIED, 20029400304},
		{"Tried to allocate bytes", FIGURE_TRIED, FIGURE_NONE},
		{"Tried to allocate 1.00 GiB", FIGURE_CAPACITY, FIGURE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct figures figures;
		struct line line;

		line_make(str_c(rows[i].text), 1, &buffer, &line);
		figures_parse_gpu(line.lower, &figures);
		if (figures.bytes[rows[i].figure] != rows[i].want)
			fail_msg("%s: %s is %lld", rows[i].text, figure_rows[rows[i].figure].name,
				 (long long)figures.bytes[rows[i].figure]);
	}
}

static void positions_versions_and_paths_are_read(void **state)
{
	static const struct {
		enum signal_id signal;
		const char *text;
		int64_t value; /* -2: not recognised */
		const char *words;
	} rows[] = {
		{SIGNAL_STEP, "step 12 loss 0.5", 12, ""},
		{SIGNAL_STEP, "{'loss': 1.2, 'global_step': 40}", 40, ""},
		{SIGNAL_STEP, "Iteration 7/500", 7, ""},
		{SIGNAL_STEP, " 12%|xx  | 120/1000 [00:10<01:13, 12.0it/s]", 120, ""},
		{SIGNAL_STEP,
		 "Epoch 0/0  \xe2\x94\x81\xe2\x94\x81\xe2\x95\xb8      6/30 0:00:08 \xe2\x80\xa2 0:00:27 0.90it/s", 6,
		 ""},
		{SIGNAL_STEP, "pip \xe2\x94\x81\xe2\x94\x81 12.5/45.6 MB 10.2 MB/s", -2, ""},
		{SIGNAL_STEP, "{'loss': 1.2, 'epoch': 0.01}", -1, ""},
		{SIGNAL_STEP, "global_step=3.2e+4, consumed_samples=2.56e+7", -2, ""},
		{SIGNAL_STEP, "slurmstepd: error: Detected 2 oom-kill event(s) in step 3756240.batch cgroup.", -2, ""},
		{SIGNAL_STEP, "slurmstepd: error: *** STEP 494583.0 ON node1 CANCELLED", -2, ""},
		{SIGNAL_STEP, "saved at step 12.", 12, ""},
		{SIGNAL_STEP, "max_steps=1000 warmup_step=5", -2, ""},
		{SIGNAL_STEP, "gradient_accumulation_steps: 4", -2, ""},
		{SIGNAL_TORCH_VERSION, "PyTorch version 2.3.0+cu121", TORCH_VERSION(2, 3, 0), ""},
		{SIGNAL_TORCH_VERSION, "torch==2.9.1", TORCH_VERSION(2, 9, 1), ""},
		{SIGNAL_TORCH_VERSION, "torch.__version__ = 1.13.1", TORCH_VERSION(1, 13, 1), ""},
		{SIGNAL_TORCH_VERSION, "torch 2.9", TORCH_VERSION(2, 9, 0), ""},
		{SIGNAL_TORCH_VERSION, "import torch", -2, ""},
		{SIGNAL_CHECKPOINT, "Saving model checkpoint to ./out/checkpoint-500", -1, "./out/checkpoint-500"},
		{SIGNAL_CHECKPOINT, "loading checkpoint /data/x.pt", -2, ""},
		{SIGNAL_SNAPSHOT, "CUDA memory snapshot saved to /tmp/oom.pickle", -1, "/tmp/oom.pickle"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading reading;
		bool is_read = read_line(rows[i].signal, rows[i].text, &reading);

		if (is_read != (rows[i].value != -2) ||
		    (is_read && (reading.value != rows[i].value || strcmp(reading.words, rows[i].words) != 0)))
			fail_msg("%s: %d, %lld, \"%s\"", rows[i].text, is_read, (long long)reading.value,
				 reading.words);
	}
}

static void epochs_have_fractions(void **state)
{
	static const struct {
		const char *text;
		int64_t milli; /* -1: not said */
	} rows[] = {
		{"{'loss': 2.31, 'epoch': 0.02}", 20},
		{"{'loss': 2.31, 'epoch': 1.5}", 1500},
		{"{\"loss\": 2.31, \"epoch\": 12.3456}", 12345},
		{"{'train_loss': 2.31, 'epoch': 3.0}", 3000},
		{"{'loss': 2.31, 'epoch': 0.0}", 0},
		{"{'loss': 2.31, 'epoch': 1}", -1},
		{"{'loss': 2.31, 'epoch': 8.5e-05}", -1},
		{"{'epoch': 3.0, 'lr': 0.1}", -1},
		{"epoch 3.5 loss 2.31", -1},
		{"{'loss': 2.31, 'epoch': 1.}", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct reading reading;

		test_row(rows[i].text);
		assert_true(read_line(SIGNAL_EPOCH, rows[i].text, &reading));
		assert_int_equal(reading.total, rows[i].milli);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epochs_have_fractions),
		cmocka_unit_test(lines_are_recognised),
		cmocka_unit_test(the_kubelet_prints_quantities),
		cmocka_unit_test(first_line_may_be_a_title),
		cmocka_unit_test(forms_contain_words),
		cmocka_unit_test(variables_follow_the_message_and_the_device),
		cmocka_unit_test(sizes_are_rounded),
		cmocka_unit_test(figures_are_read_by_label),
		cmocka_unit_test(positions_versions_and_paths_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
