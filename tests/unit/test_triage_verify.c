/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a fix holds: logs of a crash and of the run after it, and what the checks answer. */
#include "support/test.h"

#include "base/json.h"
#include "triage/verify.h"

#include <stdlib.h>

#define PIECES                                                                                                         \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 " \
	"GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 79.00 GiB memory in use. Of "   \
	"the allocated memory 60.00 GiB is allocated by PyTorch, and 18.00 GiB is reserved by PyTorch but "            \
	"unallocated. If reserved but unallocated memory is large try setting "                                        \
	"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"
#define FULL                                                                                                           \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 " \
	"GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 79.00 GiB memory in use. Of "   \
	"the allocated memory 77.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but "             \
	"unallocated.\n"
#define SHARED                                                                                                         \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 " \
	"GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 39.00 GiB memory in use. Of "   \
	"the allocated memory 38.00 GiB is allocated by PyTorch, and 0.50 GiB is reserved by PyTorch but "             \
	"unallocated.\n"

/* tqdm's bars, which carriage returns separate. */
#define BAR_AT_1240                                                                                                    \
	" 24%|##4       | 1200/5000 [14:48<46:54,  1.35it/s]\r 25%|##4       | 1240/5000 [15:18<46:25,  1.35it/s]\n"
#define BARS_TO_1500                                                                                                   \
	" 29%|##9       | 1450/5000 [18:35<45:30,  1.30it/s]\r 30%|###       | 1500/5000 [19:14<44:52,  1.30it/s]\n"
#define EXPANDABLE		    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
#define SAMPLE(allocated, reserved) "step 1300: allocated=" #allocated "GiB reserved=" #reserved "GiB\n"
#define FLAT8                                                                                                          \
	SAMPLE(50, 58)                                                                                                 \
	SAMPLE(50, 60)                                                                                                 \
	SAMPLE(52, 60) SAMPLE(50, 60) SAMPLE(51, 60) SAMPLE(50, 60) SAMPLE(52, 60) SAMPLE(50, 60)
#define GROWING8                                                                                                       \
	SAMPLE(50, 51)                                                                                                 \
	SAMPLE(50, 53)                                                                                                 \
	SAMPLE(50, 55) SAMPLE(50, 57) SAMPLE(50, 60) SAMPLE(50, 62) SAMPLE(50, 65) SAMPLE(50, 68)
#define SAVED	  "Saving model checkpoint to /ckpt/checkpoint-1400\n"
#define PEAK(gib) "peak_reserved=" #gib " GiB\n"

#define SMI_HEAD                                                                                                       \
	"| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"                \
	"| N/A   52C    P0             301W / 700W |   62000MiB / 81920MiB |    100%      Default |\n"                 \
	"|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |\n"
#define SMI_ONE SMI_HEAD "|    0   N/A  N/A      4321      C   python3                                     61990MiB |\n"
#define SMI_OTHERS                                                                                                     \
	SMI_ONE "|    0   N/A  N/A      9876      C   /usr/bin/vllm                               40000MiB |\n"
#define SMI_CARDS                                                                                                      \
	SMI_ONE "|    1   N/A  N/A      4322      C   python3                                     61990MiB |\n"
#define SMI_Q                                                                                                          \
	"GPU 00000000:3B:00.0\n    FB Memory Usage\n        Total : 81920 MiB\n        Used : 62000 MiB\n"             \
	"    Processes\n        Process ID : 4321\n            Type : C\n            Name : python3\n"
#define SMI_Q_OTHERS SMI_Q "        Process ID : 9876\n            Type : C\n            Name : vllm\n"

#define CSV_CARD                                                                                                       \
	"timestamp, name, uuid, memory.total [MiB], memory.used [MiB]\n"                                               \
	"2026/11/02 08:00:00.123, NVIDIA H100 80GB HBM3, GPU-1, 81920 MiB, 62000 MiB\n"
#define CSV_FULL "name, memory.used [MiB], memory.total [MiB]\nNVIDIA H100 80GB HBM3, 80000, 81920\n"
#define CSV_ONE	 "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-1, 4321, python3, 61990 MiB\n"
#define CSV_AGAIN                                                                                                      \
	CSV_ONE "GPU-1, 4321, python3, 61990 MiB\nGPU-2, 4322, python3, 61990 MiB\nGPU-1, 4321, python3, 61991 MiB\n"
#define CSV_OTHERS CSV_ONE "GPU-1, 9876, /usr/bin/vllm, 40000 MiB\n"
#define CSV_TIMES                                                                                                      \
	"timestamp, gpu_bus_id, pid, used_gpu_memory [MiB]\n"                                                          \
	"2026/11/02 08:00:00.123, 00000000:3B:00.0, 4321, 61990 MiB\n"                                                 \
	"2026/11/02 08:00:05.123, 00000000:3B:00.0, 4399, 61990 MiB\n"
#define CSV_NO_CARD "pid, process_name, used_gpu_memory [MiB]\n4321, python3, 61990 MiB\n9876, vllm, 4000 MiB\n"

static struct triage *read_run(const char *log, const char *smi)
{
	struct triage *triage = malloc(sizeof(*triage));

	assert_non_null(triage);
	assert_int_equal(triage_init(triage), 0);
	assert_int_equal(facts_read_bytes(&triage->facts, "run.log", INPUT_LOG, log, strlen(log)), 0);
	if (smi)
		assert_int_equal(facts_read_bytes(&triage->facts, "smi.txt", INPUT_SMI, smi, strlen(smi)), 0);
	triage_decide(triage);
	return triage;
}

static void end(struct triage *triage)
{
	triage_release(triage);
	free(triage);
}

/* What `triage -o json` prints of a crash, read back. */
static void read_crash(const char *log, struct crash *ret)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);
	struct triage *triage = read_run(log, NULL);
	struct err err = ERR_INIT;

	assert_int_equal(triage_json(triage, &json), 0);
	if (crash_read("crash.json", strbuf_text(&json), json.len, ret, &err))
		fail_msg("%s: %s", err.where, err.msg);
	end(triage);
}

static void answers_of(const struct verification *verification, char ret[VERIFY_COUNT_ + 1])
{
	for (int i = 0; i < VERIFY_COUNT_; i++)
		ret[i] = "?yn"[verification->checks[i].answer];
	ret[VERIFY_COUNT_] = '\0';
}

static void expect(const char *name, const struct verification *verification, enum verify_outcome outcome,
		   const char *answers, const char *next)
{
	char got[VERIFY_COUNT_ + 1];

	answers_of(verification, got);
	if (verification->outcome != outcome || !streq(got, answers))
		fail_msg("%s: %s %s: %s", name, verify_outcome_names[verification->outcome], got, verification->why);
	if (next && !strstr(strbuf_text(&verification->next), next))
		fail_msg("%s: next: %s", name, strbuf_text(&verification->next));
}

/* ---- the GPU ---- */

/* Use and free memory of a GPU in MiB. */
#define DCGM(gpu, used, free_)                                                                                         \
	"DCGM_FI_DEV_FB_FREE{gpu=\"" gpu "\"} " free_ "\nDCGM_FI_DEV_FB_USED{gpu=\"" gpu "\"} " used "\n"

/* The answers in the order of the checks: lever, step, checkpoint, peak, gap, co-tenant, throughput. */
static const struct gpu_row {
	const char *name, *crash, *run, *smi;
	enum verify_outcome outcome;
	const char *answers, *next; /* a part of the next steps; NULL: not tested */
} gpu_rows[] = {
	{"all is well", BAR_AT_1240 PIECES, EXPANDABLE FLAT8 SAVED BARS_TO_1500 PEAK(62.5), SMI_ONE, VERIFY_HELD,
	 "yyyyyyy", NULL},
	{"sampled before the step of the crash", BAR_AT_1240 PIECES,
	 "step 10: allocated=2GiB reserved=3GiB\n" BARS_TO_1500, NULL, VERIFY_TOO_EARLY, "?y????y", NULL},
	{"settings below a folder of checkpoints", BAR_AT_1240 PIECES,
	 "Config saved to /ckpt/r1/config.yaml\nwandb: Run data is saved locally in /ckpt/r1/wandb/run-7\n" BARS_TO_1500
		 PEAK(62.5),
	 NULL, VERIFY_HELD, "?y?y??y", NULL},
	{"peak at 90 %", BAR_AT_1240 PIECES, BARS_TO_1500 PEAK(72), NULL, VERIFY_HELD, "?y?y??y", NULL},
	{"peak above 90 %", BAR_AT_1240 PIECES, EXPANDABLE BARS_TO_1500 PEAK(73), NULL, VERIFY_DID_NOT_HOLD, "yy?n??y",
	 "max_split_size_mb:128"},
	{"only allocated memory", BAR_AT_1240 PIECES, BARS_TO_1500 "max_memory_allocated=60GiB\n", NULL,
	 VERIFY_TOO_EARLY, "?y????y", "peak_reserved="},
	{"allocated memory above 90 %", BAR_AT_1240 PIECES, BARS_TO_1500 "max_memory_allocated=75GiB\n", NULL,
	 VERIFY_DID_NOT_HOLD, "?y?n??y", NULL},
	{"not that far yet", BAR_AT_1240 PIECES, BAR_AT_1240 PEAK(60), NULL, VERIFY_TOO_EARLY, "???y??y",
	 "passed-step:"},
	{"nothing is known", BAR_AT_1240 PIECES, "hello\n", NULL, VERIFY_TOO_EARLY, "???????", "peak-below:"},
	{"the same again", BAR_AT_1240 PIECES, BAR_AT_1240 PIECES, NULL, VERIFY_DID_NOT_HOLD, "?nn???y",
	 "First lever of the list, unless it was applied already: Let segments grow"},
	{"the same again with the first lever", BAR_AT_1240 PIECES, EXPANDABLE BAR_AT_1240 PIECES, NULL,
	 VERIFY_DID_NOT_HOLD, "ynn???y", "Next lever: Do not split large blocks"},
	{"the same again, later", BAR_AT_1240 PIECES, EXPANDABLE SAVED BARS_TO_1500 PIECES, NULL, VERIFY_DID_NOT_HOLD,
	 "yyy???y", "max_split_size_mb"},
	{"the checkpoint was being written", BAR_AT_1240 PIECES, EXPANDABLE BARS_TO_1500 SAVED PIECES, NULL,
	 VERIFY_DID_NOT_HOLD, "yyn???y", NULL},
	{"the checkpoint is the last thing", BAR_AT_1240 PIECES, EXPANDABLE BARS_TO_1500 SAVED "Training complete\n",
	 NULL, VERIFY_HELD, "yyy???y", NULL},
	{"the last lever", BAR_AT_1240 PIECES,
	 "PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8,max_split_size_mb:128\n" BAR_AT_1240 PIECES, NULL,
	 VERIFY_DID_NOT_HOLD, "ynn???y", "No lever of the list is left"},
	{"the lever was there before", EXPANDABLE BAR_AT_1240 PIECES, EXPANDABLE BARS_TO_1500 PEAK(60), NULL,
	 VERIFY_DID_NOT_HOLD, "ny?y??y", NULL},
	{"another value", BAR_AT_1240 PIECES, "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync\n" BARS_TO_1500 PEAK(60),
	 NULL, VERIFY_DID_NOT_HOLD, "ny?y??y", "expandable_segments:True"},
	{"the hint of a message is no setting", BAR_AT_1240 FULL, BARS_TO_1500 PIECES, NULL, VERIFY_DID_NOT_HOLD,
	 "?yn???y", "First lever for fragmentation: Let segments grow"},
	{"activation checkpointing", BAR_AT_1240 FULL,
	 "gradient_checkpointing=True,\n"
	 " 30%|###       | 1500/5000 [19:14<44:52,  1.01it/s]\n" PEAK(60),
	 NULL, VERIFY_HELD, "yy?y??n", "Turn activation checkpointing off again"},
	{"a tenth slower", BAR_AT_1240 FULL, " 30%|###       | 1500/5000 [19:14<44:52,  1.22it/s]\n" PEAK(60), NULL,
	 VERIFY_HELD, "?y?y??y", NULL},
	{"seconds for a step", BAR_AT_1240 FULL, " 30%|###       | 1500/5000 [19:14<44:52,  1.50s/it]\n" PEAK(60), NULL,
	 VERIFY_HELD, "?y?y??n", "lost throughput"},
	{"tokens count more than steps", "step 1240 1.35 it/s 3000 tokens/s\n" FULL,
	 "step 1500 0.70 it/s 3100 tokens/s\n" PEAK(60), NULL, VERIFY_HELD, "?y?y??y", NULL},
	{"twice as many steps, half of them", BAR_AT_1240 FULL,
	 " 20%|##        | 2000/10000 [19:14<44:52,  2.60it/s]\n" PEAK(60), NULL, VERIFY_TOO_EARLY, "???y???", NULL},
	{"twice as many steps, further", BAR_AT_1240 FULL,
	 " 30%|###       | 3000/10000 [19:14<44:52,  2.60it/s]\n" PEAK(60), NULL, VERIFY_HELD, "?y?y???", NULL},
	{"a later epoch", "Epoch 3 step 900\n" FULL, "Epoch 2 step 950\nEpoch 4 step 10\n" PEAK(60), NULL, VERIFY_HELD,
	 "?y?y???", NULL},
	{"an earlier epoch with more steps", "Epoch 3 step 900\n" FULL, "Epoch 2 step 950\n" PEAK(60), NULL,
	 VERIFY_TOO_EARLY, "???y???", NULL},
	{"steps that begin anew, without epochs", "step 800\nstep 950\nstep 10\nstep 900\n" FULL, "step 910\n" PEAK(60),
	 NULL, VERIFY_TOO_EARLY, "???y???", NULL},
	{"resumed from a checkpoint", "Epoch 1 step 900\n" FULL, "Epoch 1 step 850\nEpoch 1 step 990\n" PEAK(60), NULL,
	 VERIFY_HELD, "?y?y???", NULL},
	{"done", BAR_AT_1240 FULL, "5000/5000 [1:02:14<00:00,  1.34it/s]\nTraining complete\n", NULL, VERIFY_HELD,
	 "?y????y", NULL},
	{"done, without a step", BAR_AT_1240 FULL, "Training complete\n", NULL, VERIFY_HELD, "?y?????", NULL},
	{"done before that step", BAR_AT_1240 FULL, "10/5000 [0:10<00:00,  1.34it/s]\nTraining complete\n", NULL,
	 VERIFY_TOO_EARLY, "??????y", NULL},
	{"an ordinary error is no answer", BAR_AT_1240 FULL, "step 3\nValueError: bad label\n", NULL, VERIFY_TOO_EARLY,
	 "???????", NULL},
	{"a faulty card is no answer", BAR_AT_1240 FULL, "step 3\nNVRM: Xid (PCI:0000:65:00): 79, pid=1\n", NULL,
	 VERIFY_TOO_EARLY, "???????", "kubectl cordon"},
	{"a gap that grows", BAR_AT_1240 PIECES, EXPANDABLE GROWING8 BARS_TO_1500, NULL, VERIFY_DID_NOT_HOLD, "yy?yn?y",
	 NULL},
	{"a gap of few samples", BAR_AT_1240 PIECES, SAMPLE(50, 52) SAMPLE(50, 60) SAMPLE(50, 68) BARS_TO_1500, NULL,
	 VERIFY_HELD, "?y?y??y", NULL},
	{"others on the card", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), SMI_OTHERS, VERIFY_DID_NOT_HOLD, "?y?y?ny",
	 "End the process that holds the GPU"},
	{"two processes are no proof", BAR_AT_1240 FULL, BARS_TO_1500 PEAK(60), SMI_OTHERS, VERIFY_HELD, "?y?y??y",
	 NULL},
	{"others hold a quarter", BAR_AT_1240 FULL, BARS_TO_1500 PEAK(38), SMI_OTHERS, VERIFY_DID_NOT_HOLD, "?y?y?ny",
	 NULL},
	{"one process on each card", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), SMI_CARDS, VERIFY_HELD, "?y?y?yy",
	 NULL},
	{"one process, of -q", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), SMI_Q, VERIFY_HELD, "?y?y?yy", NULL},
	{"others, of -q", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), SMI_Q_OTHERS, VERIFY_DID_NOT_HOLD, "?y?y?ny",
	 NULL},
	{"one process, of CSV", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), CSV_ONE, VERIFY_HELD, "?y?y?yy", NULL},
	{"others, of CSV", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), CSV_OTHERS, VERIFY_DID_NOT_HOLD, "?y?y?ny", NULL},
	{"others hold a quarter, of CSV", BAR_AT_1240 FULL, BARS_TO_1500 PEAK(38), CSV_CARD CSV_OTHERS,
	 VERIFY_DID_NOT_HOLD, "?y?y?ny", NULL},
	{"a list of CSV again and again", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), CSV_AGAIN, VERIFY_HELD, "?y?y?yy",
	 NULL},
	{"one process after the other, of CSV", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), CSV_TIMES, VERIFY_HELD,
	 "?y?y?yy", NULL},
	{"CSV without the cards", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), CSV_NO_CARD, VERIFY_HELD, "?y?y??y", NULL},
	{"the card in use, of CSV", BAR_AT_1240 FULL, BARS_TO_1500, CSV_CARD, VERIFY_TOO_EARLY, "?y????y",
	 "peak_reserved="},
	{"a full card, of CSV without units", BAR_AT_1240 FULL, BARS_TO_1500, CSV_FULL, VERIFY_DID_NOT_HOLD, "?y?n??y",
	 NULL},
	{"the card in use, by dcgm-exporter", BAR_AT_1240 FULL, BARS_TO_1500,
	 DCGM("1", "3", "81000") DCGM("0", "60000", "21559"), VERIFY_TOO_EARLY, "?y????y", "peak_reserved="},
	{"a full card, by dcgm-exporter", BAR_AT_1240 FULL, BARS_TO_1500, DCGM("0", "79000", "2559"),
	 VERIFY_DID_NOT_HOLD, "?y?n??y", NULL},
	{"a smaller batch", "--batch-size 32\n" BAR_AT_1240 FULL,
	 "Namespace(batch_size=16, lr=0.1)\n" BARS_TO_1500 PEAK(60), NULL, VERIFY_HELD, "yy?y??y", NULL},
	{"the same batch", "--batch-size 32\n" BAR_AT_1240 FULL, "--batch-size 32\n" BARS_TO_1500 PEAK(60), NULL,
	 VERIFY_HELD, "?y?y??y", NULL},
	{"a larger batch", "--batch-size 32\n" BAR_AT_1240 FULL, "--batch-size 64\n" BARS_TO_1500 PEAK(60), NULL,
	 VERIFY_HELD, "?y?y??y", NULL},
	{"another batch size", "--batch-size 256\n" BAR_AT_1240 FULL,
	 "--per_device_train_batch_size=16 --eval_batch_size=8\n" BARS_TO_1500 PEAK(60), NULL, VERIFY_HELD, "?y?y??y",
	 NULL},
	{"fewer workers are no lever of a full card", "num_workers: 8\n" BAR_AT_1240 FULL,
	 "num_workers: 2\n" BARS_TO_1500 PEAK(60), NULL, VERIFY_HELD, "?y?y??y", NULL},
	{"a smaller batch was not enough", "per_device_train_batch_size=32\n" BAR_AT_1240 FULL,
	 "per_device_train_batch_size=16\n" BAR_AT_1240 FULL, NULL, VERIFY_DID_NOT_HOLD, "ynn???y",
	 "Next lever: Shorten or bucket the sequences"},
	{"shorter sequences come further in the list", "batch_size=32, max_seq_length=4096\n" BAR_AT_1240 FULL,
	 "batch_size=16, max_seq_length=2048\n" BAR_AT_1240 FULL, NULL, VERIFY_DID_NOT_HOLD, "ynn???y",
	 "Next lever: Turn on activation checkpointing"},
	{"two cards, of -q", BAR_AT_1240 SHARED, BARS_TO_1500 PEAK(60), SMI_Q SMI_Q, VERIFY_HELD, "?y?y?yy", NULL},
};

static void gpu(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(gpu_rows); i++) {
		const struct gpu_row *row = &gpu_rows[i];
		struct verification verification;
		struct triage *triage;
		struct crash crash;

		read_crash(row->crash, &crash);
		triage = read_run(row->run, row->smi);
		triage->crash = &crash;
		verify_init(&verification, triage);
		expect(row->name, &verification, row->outcome, row->answers, row->next);
		verify_release(&verification);
		end(triage);
	}
}

/* ---- the host ---- */

#define LIMIT_CRASH                                                                                                    \
	"{\"apiVersion\":\"triage.memtamer.io/v1alpha1\",\"kind\":\"container-limit\",\"cause\":null,\"step\":40,"     \
	"\"figures\":{\"limit_bytes\":1073741824},\n\"levers\":[{\"order\":1,\"action\":\"Raise the limit\",\"setting" \
	"\":\"resources: limits: memory: "                                                                             \
	"2048Mi\"},{\"order\":2,\"action\":\"Stream\",\"setting\":\"streaming=True\"}]}"

static const struct host_row {
	const char *name, *run;
	int64_t limit_bytes;
	enum verify_outcome outcome;
	const char *answers, *next;
} host_rows[] = {
	{"a higher limit, and a peak below", "step 60\nmemory.peak 1181116006\n", (int64_t)2 << 30, VERIFY_HELD,
	 "yy?y???", NULL},
	{"a peak near the limit", "step 60\nmemory.peak 2040109465\n", (int64_t)2 << 30, VERIFY_DID_NOT_HOLD, "yy?n???",
	 "Next lever: Stream: streaming=True"},
	{"the same limit", "step 60\nmemory.max_usage_in_bytes: 429496729\n", (int64_t)1 << 30, VERIFY_HELD, "?y?y???",
	 NULL},
	{"beyond the old limit, and the new one is not known", "step 60\nmemory.peak 2040109465\n", FIGURE_NONE,
	 VERIFY_TOO_EARLY, "?y?????", "cat /sys/fs/cgroup/memory.peak"},
	{"one process is not all", "step 60\nrss 0.5 GB\n", (int64_t)2 << 30, VERIFY_TOO_EARLY, "yy?????", NULL},
	{"one process is too much", "step 60\nrss_gib=1.95\n", (int64_t)2 << 30, VERIFY_DID_NOT_HOLD, "yy?n???", NULL},
};

static void host(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(host_rows); i++) {
		const struct host_row *row = &host_rows[i];
		struct triage *triage = malloc(sizeof(*triage));
		struct verification verification;
		struct crash crash;

		assert_int_equal(crash_read("crash.json", LIMIT_CRASH, strlen(LIMIT_CRASH), &crash, NULL), 0);
		assert_true(triage && triage_init(triage) == 0);
		triage->facts.origin.limit_bytes = row->limit_bytes;
		assert_int_equal(facts_read_bytes(&triage->facts, "run.log", INPUT_LOG, row->run, strlen(row->run)), 0);
		triage_decide(triage);
		triage->crash = &crash;
		verify_init(&verification, triage);
		expect(row->name, &verification, row->outcome, row->answers, row->next);
		verify_release(&verification);
		end(triage);
	}
}

/* What was read is the crash itself: nothing follows from it. */
static void crash_itself(void **state)
{
	struct triage *triage = read_run(BAR_AT_1240 PIECES, NULL);
	struct verification verification;
	struct crash crash;

	(void)state;
	read_crash(BAR_AT_1240 PIECES, &crash);
	triage->crash = &crash;
	triage->is_crash = true;
	verify_init(&verification, triage);
	assert_int_equal(verification.outcome, VERIFY_TOO_EARLY);
	assert_non_null(strstr(strbuf_text(&verification.next), "Start the run again"));
	verify_release(&verification);
	end(triage);
}

/* ---- the answer ---- */

static void line_of_each_figure(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB), markdown = text, json = text;
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct triage *triage = read_run("a|b\n" EXPANDABLE SAVED BARS_TO_1500 PEAK(62.5), NULL);
	struct verification verification;
	struct crash crash;

	(void)state;
	read_crash(BAR_AT_1240 PIECES, &crash);
	triage->crash = &crash;
	verify_init(&verification, triage);
	assert_int_equal(verify_text(&verification, &text), 0);
	assert_int_equal(verify_markdown(&verification, &markdown), 0);
	assert_int_equal(verify_json(&verification, &json), 0);
	for (size_t i = 0; i < 4; i++) {
		static const char *const parts[] = {"expandable_segments:True (run.log:2)",
						    "at step 1240 of 5000 (run.log:4)",
						    "/ckpt/checkpoint-1400 (run.log:3)",
						    "62.50 GiB of 80.00 GiB (78 %), as of the crash (run.log:5)"};

		if (!strstr(strbuf_text(&text), parts[i]))
			fail_msg("%s: %s", parts[i], strbuf_text(&text));
	}
	assert_non_null(
		strstr(strbuf_text(&markdown), "| reached-checkpoint | yes | /ckpt/checkpoint-1400 | run.log:3 |"));
	assert_int_equal(json_parse(strbuf_text(&json), json.len, 16, &answer, NULL), 0);
	assert_string_equal(json_object_get_string(json_member(answer, "verdict")), "held");
	assert_int_equal(json_object_array_length(json_member(answer, "checks")), VERIFY_COUNT_);
	verify_release(&verification);
	end(triage);
}

/* ---- the crash ---- */

static void bad_crashes(void **state)
{
	static const struct {
		const char *text, *where, *msg;
	} rows[] = {
		{"", "c.json:1", "empty JSON text"},
		{"{\n\"apiVersion\":\n", "c.json:3", "ends early"},
		{"{\n\"a\": nope}", "c.json:2", "at byte"},
		{"[]", "c.json:1", "apiVersion is \"\""},
		{"{}", "c.json:1", "apiVersion is \"\""},
		{"{\n\n\"apiVersion\": \"triage.memtamer.io/v9\"}", "c.json:3", "triage.memtamer.io/v9"},
		{"{\"apiVersion\": \"triage.memtamer.io/v1alpha1\"}", "c.json:1", "no `kind`"},
		{"{\"apiVersion\": \"triage.memtamer.io/v1alpha1\",\n\"kind\": \"not-oom\"}", "c.json:2",
		 "kind is \"not-oom\""},
		{"{\"apiVersion\": \"triage.memtamer.io/v1alpha1\",\n\"kind\": 5}", "c.json:1", "no `kind`"},
		{"{\"apiVersion\": \"triage.memtamer.io/v1alpha1\", \"kind\": \"true-oom\"} x", "c.json:1",
		 "unexpected character"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct crash crash = {.source = "as before"};
		struct err err = ERR_INIT;

		if (crash_read("c.json", rows[i].text, strlen(rows[i].text), &crash, &err) != -EINVAL ||
		    !streq(err.where, rows[i].where) || !strstr(err.msg, rows[i].msg))
			fail_msg("%s: %s: %s", rows[i].text, err.where, err.msg);
		assert_string_equal(crash.source, "as before");
	}
}

/* Members of another type or beyond all bounds are not known. */
static void odd_members(void **state)
{
	static const char text[] =
		"{\"apiVersion\":\"triage.memtamer.io/v1alpha1\",\"kind\":\"true-oom\",\"cause\":7,\"step\":\"9\","
		"\"figures\":{\"capacity_bytes\":-1,\"free_bytes\":9223372036854775807,\"tried_bytes\":4096},"
		"\"progress\":[1],\"settings\":[1,null,\"full-shard\"],\"numbers\":{\"batch_size\":-3,\"num_workers\":"
		"\"8\",\"seq_length\":9223372036854775807},\"levers\":[1,{\"setting\":5}],\"new\":{}}";
	struct crash crash;

	(void)state;
	assert_int_equal(crash_read("c.json", text, strlen(text), &crash, NULL), 0);
	assert_string_equal(crash.cause, "");
	assert_int_equal(crash.furthest.step, STEP_NONE);
	assert_int_equal(crash.figures.bytes[FIGURE_CAPACITY], FIGURE_NONE);
	assert_int_equal(crash.figures.bytes[FIGURE_FREE], FIGURE_NONE);
	assert_int_equal(crash.figures.bytes[FIGURE_TRIED], 4096);
	assert_true(crash.has_setting[SETTING_FULL_SHARD] && !crash.has_setting[SETTING_SHM]);
	for (int i = 0; i < NUMBER_COUNT; i++)
		assert_int_equal(crash.numbers[i], NUMBER_NONE);
	assert_int_equal(crash.n_levers, 2);
	assert_string_equal(crash.levers[1].setting, "");
}

#define JAX_FULL                                                                                                       \
	"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 " \
	"bytes."

static void made_of_a_diagnosis(void **state)
{
	struct figures figures;
	struct crash crash;

	(void)state;
	figures_init(&figures);
	assert_int_equal(crash_make("fragmentation", "", "PYTORCH_ALLOC_CONF", "", &figures, &crash), 0);
	assert_int_equal(crash.n_levers, 3);
	assert_string_equal(crash.levers[0].setting, "PYTORCH_ALLOC_CONF=expandable_segments:True");
	assert_int_equal(crash_make("true-oom", "leak", "", "", &figures, &crash), 0);
	assert_string_equal(crash.levers[0].setting, "loss_sum += loss.item()");
	figures_set(&figures, FIGURE_LIMIT, (int64_t)1 << 30);
	assert_int_equal(
		crash_make("true-oom", "", "",
			   "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total "
			   "capacity; 58.10 GiB already allocated)",
			   &figures, &crash),
		0);
	for (size_t i = 0; i < crash.n_levers; i++)
		assert_null(strstr(crash.levers[i].setting, "nvidia"));
	assert_int_equal(crash_make("true-oom", "", "", JAX_FULL, &figures, &crash), 0);
	for (size_t i = 0; i < crash.n_levers; i++)
		assert_null(strstr(crash.levers[i].setting, "torch"));
	assert_int_equal(crash_make("container-limit", "", "", "", &figures, &crash), 0);
	assert_string_equal(crash.levers[0].setting, "resources: limits: memory: 2048Mi");
	assert_int_equal(crash.figures.bytes[FIGURE_LIMIT], (int64_t)1 << 30);
	assert_int_equal(crash_make("not-oom", "", "", "", &figures, &crash), -EINVAL);
	assert_int_equal(crash_make("", "", "", "", &figures, &crash), -EINVAL);
}

/* ---- numbers ---- */

static void numbers(void **state)
{
	static const struct {
		const char *line, *key; /* NULL: no number */
		int64_t value;
	} rows[] = {
		{"python train.py --batch-size 32 --lr 0.1", "batch_size", 32},
		{"--batch-size=32", "batch_size", 32},
		{"-batch_size 32", "batch_size", 32},
		{"{'batch_size': 32, 'lr': 0.1}", "batch_size", 32},
		{"\"per_device_train_batch_size\": 8,", "per_device_train_batch_size", 8},
		{"per_device_train_batch_size=8,", "per_device_train_batch_size", 8},
		{"\"train_micro_batch_size_per_gpu\": 4", "train_micro_batch_size_per_gpu", 4},
		{"--micro-batch-size 4", "micro_batch_size", 4},
		{"--dataloader_num_workers 6", "dataloader_num_workers", 6},
		{"--num-workers 0", "num_workers", 0},
		{"prefetch_factor=2)", "prefetch_factor", 2},
		{"--seq-length 8192", "seq_length", 8192},
		{"batch_size='16'", "batch_size", 16},
		{"  instantaneous batch size per device = 8", "per_device_train_batch_size", 8},
		{"  gradient accumulation steps = 4", "gradient_accumulation_steps", 4},
		{"  total train batch size (w. parallel, distributed & accumulation) = 64", NULL, 0},
		{"  micro_batch_size ................................ 4", "micro_batch_size", 4},
		{"  gradient_accumulation_steps .. 2", "gradient_accumulation_steps", 2},
		{"batch_size=.5", NULL, 0},
		{"eval_batch_size=32", NULL, 0},
		{"--eval-batch-size 32", NULL, 0},
		{"val.batch_size=32", NULL, 0},
		{"batch_size=0.5", NULL, 0},
		{"batch_size=32k", NULL, 0},
		{"batch_size=2*16", NULL, 0},
		{"batch_size=auto", NULL, 0},
		{"batch_size", NULL, 0},
		{"batch_size=", NULL, 0},
		{"batch_size=99999999999", NULL, 0},
		{"batch_sizes=32", NULL, 0},
		{"", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t values[NUMBER_COUNT];

		test_row(rows[i].line);
		numbers_init(values);
		assert_int_equal(numbers_read(rows[i].line, values), rows[i].key != NULL);
		for (int k = 0; k < NUMBER_COUNT; k++) {
			bool is_it = rows[i].key && streq(number_rows[k].key, rows[i].key);

			assert_int_equal(values[k], is_it ? rows[i].value : NUMBER_NONE);
		}
	}
}

/* ---- the trend ---- */

static void trends(void **state)
{
	static const struct {
		const char *name;
		int n, slope, noise, start;
		bool want;
	} rows[] = {
		{"few samples", 7, 100, 0, 0, false},	      {"flat", 1000, 0, 0, 500, false},
		{"noise", 1000, 0, 200, 500, false},	      {"grows", 1000, 10, 0, 500, true},
		{"grows with noise", 1000, 10, 200, 0, true}, {"grows less than the margin", 100, 1, 0, 0, false},
		{"falls", 1000, -1, 0, 5000, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct trend trend = {0};

		for (int k = 0; k < rows[i].n; k++)
			trend_add(&trend,
				  rows[i].start + (int64_t)k * rows[i].slope + (k * 7919 % 11) * rows[i].noise / 11);
		if (trend_is_growing(&trend, 100) != rows[i].want)
			fail_msg("%s", rows[i].name);
	}
}

/* A run that only grows until it is warm. */
static void warm_run(void **state)
{
	struct trend trend = {0};

	(void)state;
	for (int64_t i = 0; i < 1000; i++)
		trend_add(&trend, MIN(i, (int64_t)200) * 100);
	assert_false(trend_is_growing(&trend, 100));
	assert_int_equal(trend.n, 1000);
	assert_int_equal(trend.last, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpu),
		cmocka_unit_test(host),
		cmocka_unit_test(crash_itself),
		cmocka_unit_test(line_of_each_figure),
		cmocka_unit_test(bad_crashes),
		cmocka_unit_test(odd_members),
		cmocka_unit_test(made_of_a_diagnosis),
		cmocka_unit_test(numbers),
		cmocka_unit_test(trends),
		cmocka_unit_test(warm_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
