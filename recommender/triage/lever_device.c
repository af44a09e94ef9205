/* SPDX-License-Identifier: Apache-2.0 */
/* The device of a verdict, and what it has for NVIDIA's commands and resources. */
#include "triage/levers.h"

const char *const device_names[DEVICE_COUNT_] = {
	[DEVICE_NVIDIA] = "NVIDIA", [DEVICE_AMD] = "AMD", [DEVICE_TPU] = "TPU",	  [DEVICE_NPU] = "Ascend",
	[DEVICE_MLU] = "Cambricon", [DEVICE_XPU] = "XPU", [DEVICE_HPU] = "Gaudi", [DEVICE_MPS] = "Apple",
};

/* Without regard to case, in the line that decided. */
static const struct {
	const char *word;
	enum device device;
} device_words[] = {
	{"amdgpu", DEVICE_AMD},
	{"hip out of memory", DEVICE_AMD},
	{"hip error", DEVICE_AMD},
	{"hiperror", DEVICE_AMD},
	{"rocm", DEVICE_AMD},
	{"rocblas", DEVICE_AMD},
	{"xla:tpu", DEVICE_TPU},
	{"memory space hbm", DEVICE_TPU},
	{"libtpu", DEVICE_TPU},
	{"NPU out of", DEVICE_NPU},
	{"MLU out of", DEVICE_MLU},
	{"xpu out of", DEVICE_XPU},
	{"hpu out of", DEVICE_HPU},
	{"mps backend", DEVICE_MPS},
	{"kIOGPU", DEVICE_MPS},
	{"pt_devmem", DEVICE_HPU},
	{"synhelper", DEVICE_HPU},
	{"habana", DEVICE_HPU},
	{"at the bottom of memory", DEVICE_TPU},
};

enum device lever_device(const struct verdict *verdict)
{
	static const enum device of_variable[VARIABLE_COUNT_] = {
		[VARIABLE_HIP] = DEVICE_AMD, [VARIABLE_NPU] = DEVICE_NPU, [VARIABLE_MLU] = DEVICE_MLU};
	const struct fact *fact = verdict->fact;

	if (fact && of_variable[fact->reading.variable] != DEVICE_NVIDIA)
		return of_variable[fact->reading.variable];
	for (size_t i = 0; fact && i < ARRAY_LEN(device_words); i++)
		if (strcasestr(fact->text, device_words[i].word))
			return device_words[i].device;
	return DEVICE_NVIDIA;
}

/* ---- words of texts ---- */

#define SAME  "" /* the device has the word as it is */
#define TORCH "torch.cuda."

/* What a device has for a word; NULL: nothing, so that a text with the word is not for this device. Of the rows whose
 * word begins at a place, the first one counts. */
static const struct word {
	const char *text, *on[DEVICE_COUNT_];
} words[] = {
	{"nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
	 {SAME, "amd-smi process", "tpu-info", "npu-smi info", "cnmon", "xpu-smi ps", "hl-smi", NULL}},
	{"nvidia-smi --query-compute-apps=pid,used_memory --format=csv",
	 {SAME, "amd-smi process", "tpu-info", "npu-smi info", "cnmon", "xpu-smi ps", "hl-smi", NULL}},
	{"nvidia-smi", {SAME}},
	{"dcgmi", {SAME}},
	{"grep -i xid", {SAME}},
	{"amd-smi", {[DEVICE_AMD] = SAME}},
	{"nvidia.com/gpu.product", {SAME, "amd.com/gpu.product-name"}},
	{"nvidia.com/gpu: 1",
	 {SAME, "amd.com/gpu: 1", NULL, "huawei.com/Ascend910: 1", "cambricon.com/mlu: 1", "gpu.intel.com/i915: 1",
	  "habana.ai/gaudi: 1", NULL}},
	{"cloud.google.com/gke-tpu-topology", {[DEVICE_TPU] = SAME}},
	/* Only XLA's clients for GPUs read these; XLA has cudaMallocAsync on NVIDIA only. */
	{"XLA_PYTHON_CLIENT_MEM_FRACTION", {SAME, SAME}},
	{"XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async", {SAME}},
	{"TF_GPU_ALLOCATOR=cuda_malloc_async", {SAME}},
	{"torch.cuda.memory_summary", {SAME, SAME, NULL, "torch.npu.memory_summary", "torch.mlu.memory_summary"}},
	{"torch.cuda.set_device",
	 {SAME, SAME, NULL, "torch.npu.set_device", "torch.mlu.set_device", "torch.xpu.set_device"}},
	/* PyTorch on ROCm keeps the name. */
	{TORCH, {SAME, SAME, NULL, "torch.npu.", "torch.mlu.", "torch.xpu.", NULL, "torch.mps."}},
	/* The noun. */
	{"GPU", {SAME, SAME, "TPU", "NPU", "MLU", SAME, "HPU", SAME}},
};

/* The row whose word begins here; NULL: none. */
static const struct word *find_word(const char *at)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstarts(at, words[i].text))
			return &words[i];
	return NULL;
}

bool device_has(enum device device, const char *text)
{
	while (*text) {
		const struct word *word = find_word(text);

		if (word && !word->on[device])
			return false;
		text += word ? strlen(word->text) : 1;
	}
	return true;
}

size_t device_render_word(enum device device, const char *at, struct strbuf *buf)
{
	const struct word *word = find_word(at);

	if (!word || !word->on[device])
		return 0;
	strbuf_adds(buf, *word->on[device] ? word->on[device] : word->text);
	return strlen(word->text);
}

/* ---- framework ---- */

/* Where the framework is not known, it is taken for PyTorch. */
enum framework lever_framework(const struct verdict *verdict)
{
	enum framework framework = verdict->fact ? verdict->fact->reading.framework : FRAMEWORK_NONE;

	return framework == FRAMEWORK_NONE || framework == FRAMEWORK_OTHER ? FRAMEWORK_TORCH : framework;
}

void lever_render_words(const struct verdict *verdict, const char *text, struct strbuf *buf)
{
	enum device device = lever_device(verdict);

	for (const char *at = text; *at;) {
		size_t n = device_render_word(device, at, buf);

		if (!n)
			strbuf_addc(buf, *at);
		at += n ? n : 1;
	}
}
