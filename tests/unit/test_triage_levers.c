/* SPDX-License-Identifier: Apache-2.0 */
/* Which levers an answer lists, in which order, and how exact their settings are. */
#include "support/test.h"

#include "base/strbuf.h"
#include "triage/levers.h"
#include "triage/triage.h"
#include "triage_fixture.h"

#include <stdlib.h>

#define MESSAGE(tried, capacity, free_, process, allocated, unallocated)                                               \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " tried                                         \
	" GiB. GPU 0 has a total capacity of " capacity " GiB of which " free_                                         \
	" GiB is free. Including non-PyTorch memory, this process has " process                                        \
	" GiB memory in use. Of the allocated memory " allocated " GiB is allocated by PyTorch, and " unallocated      \
	" GiB is reserved by PyTorch but unallocated.\n"
#define OLD_PIECES(device, end)                                                                                        \
	"RuntimeError: " device " out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.78 GiB total capacity; "      \
	"8.20 GiB already allocated; 200.75 MiB free; " end ")\n"
#define FULL   MESSAGE("2.00", "10.00", "0.10", "9.90", "9.00", "0.20")
#define PIECES MESSAGE("2.00", "10.00", "1.00", "9.00", "5.00", "3.50")

#define NPU_PIECES                                                                                                     \
	"RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 40.11 GiB "     \
	"already allocated; 500.00 MiB free; 59.80 GiB reserved in total by PyTorch)\n"

#define KILLED "OOMKilled\n"
#define CGROUP_KILL(path)                                                                                              \
	"python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"                            \
	"memory: usage 1048576kB, limit 1048576kB, failcnt 9\n"                                                        \
	"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=" path ",task_memcg=" path                     \
	",task=python,pid=503,uid=0\n"                                                                                 \
	"Memory cgroup out of memory: Killed process 503 (python) total-vm:12kB, anon-rss:3600kB, file-rss:0kB\n"

/* ---- order ---- */

#define EXPANDABLE_LEVER "Let segments grow"
#define SPLIT_LEVER	 "Do not split large blocks"
#define COLLECT_LEVER	 "Give unused blocks back"

/* The first lever, one that the answer has, and one that it has not; NULL: not tested. */
static const struct order_row {
	const char *name;
	enum input input;
	const char *text, *first, *has, *has_not;
} order_rows[] = {
	{"fragments", INPUT_LOG, PIECES, EXPANDABLE_LEVER, SPLIT_LEVER, "In force already"},
	{"the message of PyTorch up to 2.0", INPUT_LOG, OLD_PIECES("CUDA", "14.20 GiB reserved in total by PyTorch"),
	 SPLIT_LEVER, COLLECT_LEVER, "=expandable_segments"},
	{"the message of PyTorch up to 1.3", INPUT_LOG, OLD_PIECES("HIP", "6.00 GiB cached"), SPLIT_LEVER, NULL,
	 "=expandable_segments"},
	{"its version counts more", INPUT_LOG,
	 "torch 2.5.1\n" OLD_PIECES("CUDA", "14.20 GiB reserved in total by PyTorch"), EXPANDABLE_LEVER, NULL, NULL},
	{"another device has kept its form", INPUT_LOG,
	 "RuntimeError: NPU out of memory. Tried to allocate 1.00 GiB (NPU 0; 60.00 GiB total capacity; 40.00 GiB "
	 "already allocated; 100.00 MiB free; 59.00 GiB reserved in total by PyTorch)\n",
	 EXPANDABLE_LEVER, NULL, NULL},
	{"fragments with expandable segments", INPUT_LOG, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" PIECES,
	 SPLIT_LEVER, "In force already: expandable-segments; this did not prevent the end.", EXPANDABLE_LEVER},
	{"two settings in one line", INPUT_LOG,
	 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:256\n" PIECES, COLLECT_LEVER,
	 "In force already: expandable-segments, max-split-size; these did not prevent the end.", SPLIT_LEVER},
	{"a threshold alone says nothing of splits", INPUT_LOG,
	 "PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.6\n" PIECES, EXPANDABLE_LEVER, SPLIT_LEVER,
	 COLLECT_LEVER},
	{"all levers", INPUT_LOG,
	 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:256,garbage_collection_threshold:0."
	 "6\n" PIECES,
	 NULL, "these did not prevent the end, and no lever of this kind is left.", "in this order"},
	{"one process", INPUT_LOG, FULL, "Halve the micro-batch", NULL, LEVER_STOP},
	{"one rank of many", INPUT_LOG, "[rank3]: " FULL, "Halve the micro-batch", LEVER_STOP, NULL},
	{"rank and step in one line", INPUT_LOG, "[rank3]: step 5\n[rank3]: " FULL, "Halve the micro-batch",
	 "  Rank 3 is the first that died. The last step before was 5.\n", NULL},
	{"a figure in words", INPUT_LOG, MESSAGE("2.00", "8.00", "0.00", "17179869184.00", "7.20", "0.10"), NULL,
	 "what this process holds is an absurd size on a GPU of 8.00 GiB", "process_bytes"},
	{"evicted", INPUT_LOG, "The node was low on resource: memory. Container a was using 31Gi, request is 16Gi\n",
	 "Raise the request", "kubectl get events -n NAMESPACE --field-selector", NULL},
	{"a full disk", INPUT_LOG, "OSError: [Errno 28] No space left on device: '/data/x'\n", "Free the file system",
	 "du -x -d 2", NULL},
	{"a gap before a message without figures", INPUT_LOG,
	 "step 9 allocated=20.0GiB reserved=36.0GiB\nRuntimeError: CUDA error: out of memory\n", EXPANDABLE_LEVER,
	 "Halve the micro-batch", NULL},
	{"no gap before it", INPUT_LOG,
	 "step 9 allocated=20.0GiB reserved=20.5GiB\nRuntimeError: CUDA error: out of memory\n",
	 "Halve the micro-batch", "Shard more", EXPANDABLE_LEVER},
	{"switched off", INPUT_LOG, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False\n" PIECES, EXPANDABLE_LEVER,
	 NULL, "In force already"},
	{"a hint is no setting", INPUT_LOG,
	 "CUDA out of memory. try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" PIECES, EXPANDABLE_LEVER,
	 NULL, "In force already"},
	{"checkpointing and full sharding", INPUT_LOG, "gradient_checkpointing=True\nFSDP FULL_SHARD\n" FULL,
	 "Halve the micro-batch", "In force already: activation-checkpointing, full-shard; these", "Shard more"},
	{"ZeRO-3", INPUT_LOG, "[INFO] [config.py:1001:print]   zero_optimization_stage ...... 3\n" FULL,
	 "Halve the micro-batch", "In force already: full-shard; this", "Shard more"},
	{"ZeRO-1", INPUT_LOG, "[INFO] [config.py:1001:print]   zero_optimization_stage ...... 1\n" FULL,
	 "Halve the micro-batch", "Shard more", "In force already"},
	{"a batch of one", INPUT_LOG, "batch_size=1\n" FULL, "Shorten or bucket",
	 "In force already: batch_size=1; this", "Halve the micro-batch"},
	{"no workers", INPUT_LOG,
	 "num_workers=0\nDataLoader worker (pid 1) is killed by signal: Bus error. It is possible that dataloader's "
	 "workers are out of shared memory.\n",
	 "Mount a larger /dev/shm", "In force already: num_workers=0", "prefetch_factor=2"},
	{"a volume may be larger", INPUT_LOG,
	 "volume shm mounted at /dev/shm, sizeLimit 1Gi\nDataLoader worker (pid 1) is killed by signal: Bus error. It "
	 "is "
	 "possible that dataloader's workers are out of shared memory.\n",
	 "Mount a larger /dev/shm", NULL, "In force already"},
	{"a leak of the host", INPUT_LOG, "step 1 rss 2.0 GB\nstep 2 rss 3.0 GB\nstep 3 rss 4.0 GB\n" KILLED,
	 "Find what grows from step to step", "a higher limit only delays the end", "offload_optimizer"},
	{"data in memory as a whole", INPUT_LOG, "reading all shards into memory\n" KILLED,
	 "Stream or memory-map the data", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "offload_optimizer"},
	{"offload at the first step", INPUT_LOG, "{\"offload_optimizer\": {\"device\": \"cpu\"}}\nstep 1\n" KILLED,
	 "Keep the optimizer out of host memory", NULL, "streaming=True"},
	{"offload of a run that trains", INPUT_LOG, "{\"offload_optimizer\": {\"device\": \"cpu\"}}\nstep 9\n" KILLED,
	 "Raise the limit once", NULL, "Keep the optimizer"},
	{"offload", INPUT_LOG, "cpu_offload=true\n" KILLED, "Keep the optimizer out of host memory",
	 "estimate_zero3_model_states_mem_needs_all_live", "streaming=True"},
	{"a checkpoint", INPUT_LOG, "step 5\nSaving checkpoint to /ck/step_5\n" KILLED,
	 "Write the checkpoint in shards", "rank0_only=True", "streaming=True"},
	{"no cause", INPUT_LOG, "step 5\n" KILLED, "Raise the limit once", "streaming=True", "offload_optimizer"},
	{"a job of Slurm", INPUT_DMESG, CGROUP_KILL("/slurm/uid_1000/job_55"), "#SBATCH --mem=2048M", "grep -A40",
	 "kubectl"},
	{"a job of Slurm, by its own words", INPUT_LOG,
	 "slurmstepd: error: Detected 1 oom_kill event in StepId=1234.batch.\n", "#SBATCH --mem", NULL, "resources: "},
	{"a unit of systemd", INPUT_DMESG,
	 CGROUP_KILL("/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope"),
	 "systemctl set-property UNIT MemoryMax=2048M", "grep -A40", "restartPolicy"},
	{"a container of Podman", INPUT_DMESG, CGROUP_KILL("/machine.slice/libpod-0123456789abcdef.scope"),
	 "docker run --memory 2048M", "grep -A40", "restartPolicy"},
	{"an engine that serves does not start", INPUT_LOG,
	 "ValueError: Free memory on device cuda:0 (111.99/139.8 GiB) on startup is less than desired GPU memory "
	 "utilization (0.95, 132.81 GiB). Decrease GPU memory utilization or reduce GPU memory used by other "
	 "processes.\n",
	 "gpu_memory_utilization=0.80", "tensor_parallel_size=2", "micro-batch"},
	{"systemd-oomd kills", INPUT_DMESG,
	 "systemd-oomd[840]: Killed /user.slice/a.scope due to memory pressure for /user.slice being 60.00% > 50.00% "
	 "for "
	 "> 20s with reclaim activity\n",
	 "journalctl -u systemd-oomd; oomctl", "kubectl describe node", "invoked oom-killer"},
	{"a container of Docker", INPUT_DMESG, CGROUP_KILL("/system.slice/docker-0123456789abcdef.scope"),
	 "docker run --memory 2048M", "grep -A40", "restartPolicy"},
	{"a container of Docker in Kubernetes", INPUT_DMESG,
	 CGROUP_KILL("/kubepods/pod0b5e5c1d-0000-4000-8000-00000000000a/docker-0123456789abcdef.scope"),
	 "resources: limits: memory: 2048Mi", "restartPolicy", "docker run"},
	{"a sidecar", INPUT_LOG, "sidecar log-shipper: terminated, reason OOMKilled, exit code 137\n",
	 "<at most twice the old limit>   # of sidecar log-shipper", NULL, "streaming=True"},
	{"an array of a whole data set", INPUT_LOG,
	 "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 31.0 GiB for an array with shape (1, 2) and "
	 "data "
	 "type float64\n",
	 "Stream or memory-map the data", "ulimit -v", NULL},
};

static void levers_come_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(order_rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
		const struct order_row *row = &order_rows[i];
		struct triage *triage = decide("a.log", row->input, row->text);
		const char *text, *first, *end_of_line;

		assert_int_equal(triage_text(triage, &buf), 0);
		text = strbuf_text(&buf);
		first = strstr(text, "  1. ");
		end_of_line = first ? strchr(first, '\n') : NULL;
		if (row->first ? !first || !memmem(first, (size_t)(end_of_line - first), row->first, strlen(row->first))
			       : first != NULL)
			fail_msg("%s: the first lever is not %s: %s", row->name, row->first, text);
		if (row->has && !strstr(text, row->has))
			fail_msg("%s: no %s: %s", row->name, row->has, text);
		if (row->has_not && strstr(text, row->has_not))
			fail_msg("%s: %s: %s", row->name, row->has_not, text);
		end(triage);
	}
}

/* Text, Markdown and JSON list the same levers. */
static void all_formats_agree(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(order_rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB), json = STRBUF_INIT(MIB), markdown = json;
		struct triage *triage = decide("a.log", order_rows[i].input, order_rows[i].text);

		assert_int_equal(triage_text(triage, &text), 0);
		assert_int_equal(triage_markdown(triage, &markdown), 0);
		assert_int_equal(triage_json(triage, &json), 0);
		for (size_t k = 0; k < n_levers; k++) {
			char action[256], member[256];
			bool is_in_text;

			if (levers[k].kind != triage->verdict.kind)
				continue;
			snprintf(action, sizeof(action), ". %s: ", levers[k].action);
			snprintf(member, sizeof(member), "\"action\":\"%s\"", levers[k].action);
			is_in_text = strstr(strbuf_text(&text), action) != NULL;
			if (is_in_text != (strstr(strbuf_text(&json), member) != NULL) ||
			    is_in_text != (strstr(strbuf_text(&markdown), action) != NULL))
				fail_msg("%s: %s", order_rows[i].name, levers[k].action);
		}
		end(triage);
	}
}

/* ---- settings ---- */

static void settings_are_exact(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{FULL, "per_device_train_batch_size=B/2 gradient_accumulation_steps=2*A ("},
		{"per_device_train_batch_size=8 gradient_accumulation_steps=4\n" FULL,
		 "per_device_train_batch_size=4 gradient_accumulation_steps=8   # before: 8 and 4 ("},
		{"  Instantaneous batch size per device = 8\n  Gradient Accumulation steps = 2\n" FULL,
		 "per_device_train_batch_size=4 gradient_accumulation_steps=4   # before: 8 and 2 ("},
		/* The name is that of the log. */
		{"--micro-batch-size 8\n" FULL, ": micro_batch_size=4 gradient_accumulation_steps=2*A   # before: 8 ("},
		{"batch_size=9\n" FULL, ": batch_size=3 gradient_accumulation_steps=3*A   # before: 9 ("},
		{"batch_size=7\n" FULL, ": batch_size=3 gradient_accumulation_steps=2*A   # before: 7 ("},
		{"{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 1}\n" FULL,
		 ": train_micro_batch_size_per_gpu=1 gradient_accumulation_steps=2   # before: 2 and 1 ("},
		{"max_seq_length=4096\n" FULL, ": max_seq_length=2048 group_by_length=True   # before: 4096 ("},
		{FULL, ": max_seq_length=S/2 group_by_length=True ("},
		/* A setting that is pasted drops none that was in force, but the one that excludes it. */
		{"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512,roundup_power2_divisions:[256:1,>:4]\n" PIECES,
		 "CONF=expandable_segments:True,max_split_size_mb:512,roundup_power2_divisions:[256:1,>:4] ("},
		{"PYTORCH_CUDA_ALLOC_CONF='max_split_size_mb:512, expandable_segments:False'\n" PIECES,
		 "CONF=garbage_collection_threshold:0.8,max_split_size_mb:512,expandable_segments:False ("},
		{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" PIECES,
		 "CONF=max_split_size_mb:128   # without expandable_segments:True, whose blocks it leaves alone ("},
		{"num_workers=16 prefetch_factor=4\nDataLoader worker (pid 1) is killed by signal: Bus error. It is "
		 "possible that dataloader's workers are out of shared memory.\n",
		 ": num_workers=8 prefetch_factor=2   # before: 16 ("},
		{"The node was low on resource: memory. Container a was using 31Gi, request is 16Gi\n",
		 "resources: requests: memory: 35272Mi ("},
		{"Pod was evicted due to memory pressure: The node was low on resource: memory.\n",
		 "resources: requests: memory: <peak> ("},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
		struct triage *triage = decide("a.log", INPUT_LOG, rows[i].text);

		assert_int_equal(triage_text(triage, &buf), 0);
		if (!strstr(strbuf_text(&buf), rows[i].want))
			fail_msg("%s: %s", rows[i].want, strbuf_text(&buf));
		end(triage);
	}
}

/* What is to be known of a version is said only where the log has none. */
static void reasons_follow_the_version(void **state)
{
	static const struct {
		const char *text, *want;
		bool is_said;
	} rows[] = {
		{PIECES, "before PyTorch 2.1 the run ends at its start", true},
		{PIECES, "before PyTorch 1.12 the run ends at its start", true},
		{PIECES, "2.9.1", false},
		{"torch 2.4.1\n" PIECES, "before PyTorch", false},
		{"Set PYTORCH_ALLOC_CONF=x\n" PIECES, "before PyTorch 2.1", true},
		{NPU_PIECES, "before PyTorch", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB), json = text;
		struct triage *triage = decide("a.log", INPUT_LOG, rows[i].text);

		assert_int_equal(triage_text(triage, &text), 0);
		assert_int_equal(triage_json(triage, &json), 0);
		if ((strstr(strbuf_text(&text), rows[i].want) != NULL) != rows[i].is_said ||
		    (strstr(strbuf_text(&json), rows[i].want) != NULL) != rows[i].is_said)
			fail_msg("%s: %s", rows[i].want, strbuf_text(&text));
		end(triage);
	}
}

static void settings_follow_the_version(void **state)
{
	static const struct {
		const char *version, *want, *want_not;
	} rows[] = {
		{"torch 2.8.0\n", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", " PYTORCH_ALLOC_CONF"},
		{"torch 2.9.0\n", "PYTORCH_ALLOC_CONF=expandable_segments:True", "PYTORCH_CUDA_ALLOC_CONF="},
		/* It ignores the new name. */
		{"torch==2.9.1+cu128\n", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", " PYTORCH_ALLOC_CONF="},
		{"torch==2.10.0\n", "PYTORCH_ALLOC_CONF=expandable_segments:True", "PYTORCH_CUDA_ALLOC_CONF="},
		{"torch==2.9.1\nXPU out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 10.00 GiB "
		 "of "
		 "which 0 bytes is free. Of the allocated memory 5.00 GiB is allocated by PyTorch, and 4.00 GiB is "
		 "reserved "
		 "by PyTorch but unallocated.\n",
		 "PYTORCH_ALLOC_CONF=expandable_segments:True", "PYTORCH_CUDA_ALLOC_CONF="},
		{"", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", " PYTORCH_ALLOC_CONF"},
		/* Options that the version does not know would end the run at its start. */
		{"torch 2.1.0\n", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", " PYTORCH_ALLOC_CONF"},
		{"torch 2.0.1\n", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", "=expandable_segments"},
		{"torch==1.13.1\n", "PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold", "=expandable_segments"},
		{"torch==1.11.0\n", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", "=garbage_collection"},
		{"NPU out of memory. Tried to allocate 1.00 GiB (NPU 0; 60.00 GiB total capacity; 40.00 GiB already "
		 "allocated; 100.00 MiB free; 59.00 GiB reserved in total by PyTorch)\n",
		 "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True", "PYTORCH_CUDA_ALLOC_CONF=exp"},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
		struct triage *triage;

		snprintf(text, sizeof(text), "%s%s", rows[i].version, PIECES);
		triage = decide("a.log", INPUT_LOG, text);
		assert_int_equal(triage_text(triage, &buf), 0);
		if (!strstr(strbuf_text(&buf), rows[i].want) || strstr(strbuf_text(&buf), rows[i].want_not))
			fail_msg("%s: %s", rows[i].version, strbuf_text(&buf));
		end(triage);
	}
}

/* ---- device and framework ---- */

#define HIP_HELD                                                                                                       \
	"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 4.50 GiB. GPU 0 has a total capacity of 15.98 "  \
	"GiB of which 1.40 GiB is free. Of the allocated memory 1.26 GiB is allocated by PyTorch, and 152.50 MiB is "  \
	"reserved by PyTorch but unallocated.\n"
#define HIP_FULL                                                                                                       \
	"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.00 "  \
	"GiB of which 0.10 GiB is free. Of the allocated memory 9.60 GiB is allocated by PyTorch, and 0.20 GiB is "    \
	"reserved by PyTorch but unallocated.\n"
#define HELD(device)                                                                                                   \
	"RuntimeError: " device " out of memory. Tried to allocate 260.00 MiB (" device                                \
	" 0; 28.50 GiB total capacity; 10.24 GiB already allocated; 149.57 MiB free; 10.28 GiB reserved in total by "  \
	"PyTorch)\n"
#define TPU                                                                                                            \
	"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of "       \
	"memory in memory space hbm. Used 21.95G of 15.48G hbm.\n"
#define JAX                                                                                                            \
	"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "            \
	"8589934592 bytes.\n"
#define MPS                                                                                                            \
	"MPS backend out of memory (MPS allocated: 7.43 GB, other allocations: 24.46 GB, max allowed: 32.00 GB). "     \
	"Tried to allocate 129.21 MB on private pool.\n"
#define PADDLE                                                                                                         \
	"Out of memory error on GPU 0. Cannot allocate 98.000244MB memory on GPU 0, 6.000000GB memory has been "       \
	"allocated and available memory is only 0.000000B.\n"
#define ZOMBIE                                                                                                         \
	"| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"                \
	"|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |\n"                \
	"| N/A   31C    P0             65W /  400W |   61234MiB /  81920MiB |      0%      Default |\n"                \
	"|  No running processes found                                                             |\n"
#define AMDGPU                                                                                                         \
	"[92214.771022] amdgpu 0000:c6:00.0: amdgpu: {9} socket: 4, die: 0, 1 new uncorrectable hardware errors "      \
	"detected in umc block\n"

/* Each answer in text and JSON has all texts of `has`, and none of `has_not`; both are separated by '|'. */
static const struct device_row {
	enum input input;
	const char *text, *has, *has_not;
} device_rows[] = {
	{INPUT_LOG, FULL,
	 "nvidia.com/gpu.product|nvidia-smi --query|torch.cuda.empty_cache|FSDP FULL_SHARD|use_reentrant",
	 "amd-smi|amd.com|gke-tpu|jax.|paddle"},
	{INPUT_LOG, HIP_HELD, "amd-smi process|amd.com/gpu: 1|torch.cuda.set_device", "nvidia"},
	{INPUT_LOG, HIP_FULL, "amd.com/gpu.product-name: <a|torch.cuda.empty_cache|amd-smi process   # that", "nvidia"},
	{INPUT_DMESG, AMDGPU, "amd-smi reset --gpureset --gpu INDEX|grep -i amdgpu|kubectl drain",
	 "nvidia|dcgmi|grep -i xid"},
	{INPUT_DMESG, "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n",
	 "nvidia-smi --gpu-reset|dcgmi|grep -i xid", "amd"},
	{INPUT_LOG, HELD("NPU"), "npu-smi info|huawei.com/Ascend910: 1|torch.npu.set_device", "nvidia|torch.cuda"},
	{INPUT_LOG, HELD("XPU"), "xpu-smi ps|gpu.intel.com/i915: 1|torch.xpu.set_device", "nvidia|torch.cuda"},
	{INPUT_LOG, HELD("HPU"), "hl-smi|habana.ai/gaudi: 1", "nvidia|torch.cuda"},
	{INPUT_LOG, HELD("MLU"), "cnmon|cambricon.com/mlu: 1|torch.mlu.set_device", "nvidia|torch.cuda"},
	{INPUT_LOG, MPS, "PYTORCH_MPS_HIGH_WATERMARK_RATIO|use_reentrant|torch.mps.empty_cache",
	 "nvidia|torch.cuda|FSDP|nodeSelector"},
	{INPUT_LOG, TPU, "jax.checkpoint|jax.sharding|gke-tpu-topology|tpu-info",
	 "nvidia|torch|FSDP|XLA_PYTHON_CLIENT_MEM_FRACTION"},
	{INPUT_LOG, JAX, "jax.checkpoint|jax.sharding|nvidia.com/gpu.product|XLA_PYTHON_CLIENT_MEM_FRACTION",
	 "torch|FSDP|gke-tpu"},
	{INPUT_LOG,
	 "[rank0]: RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::6442450944 "
	 "(6144)MB\n",
	 "hl-smi|hold their HPUs", "nvidia|torch.cuda|GPU"},
	{INPUT_LOG,
	 "[rank1]: RuntimeError: Resource exhausted: Attempting to reserve 12.37G at the bottom of memory. That was "
	 "not "
	 "possible. There are 6.48G free, 0B reserved, and 6.48G reservable.\n",
	 "gke-tpu-topology|tpu-info|hold their TPUs", "nvidia|GPU"},
	{INPUT_SMI, ZOMBIE, "fuser -v /dev/nvidia*|nvidia-smi --gpu-reset", "set_device|nvidia.com/gpu: 1"},
	{INPUT_LOG, PADDLE, "fleet.utils.recompute|group_sharded_parallel|nvidia-smi", "torch|FSDP|jax."},
};

/* The first of `words` that `text` has (is_any) or has not; NULL: none. */
static const char *find_one(const char *text, const char *words, bool is_any, char *buf, size_t size)
{
	while (*words) {
		size_t n = strcspn(words, "|");

		snprintf(buf, size, "%.*s", (int)n, words);
		if ((strstr(text, buf) != NULL) == is_any)
			return buf;
		words += n + (words[n] == '|');
	}
	return NULL;
}

static void levers_are_those_of_the_device(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(device_rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
		const struct device_row *row = &device_rows[i / 2];
		struct triage *triage = decide("a.log", row->input, row->text);
		const char *text, *found;
		char one[256];

		assert_int_equal(i % 2 ? triage_json(triage, &buf) : triage_text(triage, &buf), 0);
		/* Without the evidence, which quotes the message. */
		text = strstr(strbuf_text(&buf), i % 2 ? "\"levers\"" : "What to do");
		assert_non_null(text);
		found = find_one(text, row->has, false, one, sizeof(one));
		if (found)
			fail_msg("%s: no %s: %s", row->text, found, text);
		found = find_one(text, row->has_not, true, one, sizeof(one));
		if (found)
			fail_msg("%s: %s: %s", row->text, found, text);
		end(triage);
	}
}

/* ---- what is held ---- */

static void what_is_held_comes_first(void **state)
{
	static const struct {
		const char *text;
		bool is_first;
	} rows[] = {
		{"step 1\n" FULL, false},
		{"[rank0]: step 1\n[rank1]: step 1\n[rank1]: " FULL, true},
		{"[rank1]: " FULL "[rank0]:[E] Watchdog caught collective operation timeout\n", true},
		{"[rank0]: step 1\n[rank1]: step 1\n[rank1]: " PIECES, true},
		{"[rank0]: step 1\n[rank1]: step 1\n[rank1]: ValueError: x\n", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
		struct triage *triage = decide("a.log", INPUT_LOG, rows[i].text);
		const char *text, *stop, *what;

		assert_int_equal(triage_text(triage, &buf), 0);
		text = strbuf_text(&buf);
		stop = strstr(text, LEVER_STOP);
		what = strstr(text, "What to do");
		if ((stop && stop < what) != rows[i].is_first || (stop && strstr(stop + 1, LEVER_STOP)))
			fail_msg("%s", text);
		if (rows[i].is_first)
			assert_non_null(strstr(text, "First\n  - Stop the whole job first"));
		end(triage);
	}
}

/* The command that postmortem/ has found comes first, too, and only once. */
static void the_command_comes_first(void **state)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
	struct triage *triage = decide("a.log", INPUT_LOG, KILLED);

	(void)state;
	triage_note(&triage->next, "kubectl delete job/a   " TRIAGE_HUNG "pod a is dead");
	triage_note(&triage->next, "another command");
	assert_int_equal(triage_text(triage, &buf), 0);
	assert_non_null(
		strstr(strbuf_text(&buf), "First\n  - kubectl delete job/a   # gang-hung: pod a is dead\nEvidence\n"));
	assert_non_null(strstr(strbuf_text(&buf), "Next\n  - another command\n"));
	end(triage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levers_come_in_order),	       cmocka_unit_test(all_formats_agree),
		cmocka_unit_test(settings_are_exact),	       cmocka_unit_test(reasons_follow_the_version),
		cmocka_unit_test(settings_follow_the_version), cmocka_unit_test(levers_are_those_of_the_device),
		cmocka_unit_test(what_is_held_comes_first),    cmocka_unit_test(the_command_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
