/* SPDX-License-Identifier: Apache-2.0 */
/* diagnosis_codec: a diagnosis as JSON, a member of a MemoryProfile. */
#include "model/codec_internal.h"
#include "model/diagnosis.h"

static const char *const confidences[] = {"low", "medium", "high"};
static const char *const helped[] = {DIAGNOSIS_HELPED, DIAGNOSIS_HELPED_NOT};
/* Admission sets the variable that stands here, so it is one of these. */
static const char *const variables[] = {ALLOCATOR_VARIABLE, ALLOCATOR_VARIABLE_CUDA, ALLOCATOR_VARIABLE_HIP};

#define F(member, key, type, ...) CODEC_FIELD(struct diagnosis, member, key, type, __VA_ARGS__)
#define PLACE(member, key, help)                                                                                       \
	F(member, key, CODEC_INT64, help, .absent = DIAGNOSIS_NONE, .max = DIAGNOSIS_NUMBER_MAX)
static const struct codec_field diagnosis_fields[] = {
	F(kind, "kind", CODEC_TEXT, "What ended the run, in the words of `triage`."),
	F(cause, "cause", CODEC_TEXT, "Why, where that is known."),
	F(confidence, "confidence", CODEC_TEXT, "How sure that is.", CODEC_NAMES(confidences)),
	F(time_ms, "time", CODEC_TIME, "When the run ended."),
	F(run, "run", CODEC_TEXT, "The run; with helped `yes` the last one that completed."),
	F(evidence, "evidence", CODEC_TEXT, "The line of log or status that decided."),
	F(variable, "allocatorVariable", CODEC_TEXT,
	  "The variable that check `allocator` sets to `" ALLOCATOR_SETTING "`.", CODEC_NAMES(variables)),
	F(helped, "helped", CODEC_TEXT,
	  "Whether a run with that setting completed (`yes`), or ended by fragmentation or failed before one completed "
	  "(`no`: not set any more).",
	  CODEC_NAMES(helped)),
	PLACE(epoch, "epoch", "The furthest epoch in the log of the run that failed."),
	PLACE(step, "step", "The furthest step of that epoch, or of the run."),
	PLACE(n_steps, "steps", "Of how many steps, where the log says so."),
	F(tried_bytes, "tried", CODEC_BYTES, "GPU memory that the failed allocation asked for."),
	F(capacity_bytes, "capacity", CODEC_BYTES, "Memory of the GPU."),
	F(unallocated_bytes, "unallocated", CODEC_BYTES, "GPU memory that was reserved but unallocated."),
	F(others_bytes, "others", CODEC_BYTES, "GPU memory that other processes held."),
	F(peak_bytes, "peak", CODEC_BYTES, "What it used before its end: memory, or storage."),
	F(limit_bytes, "limit", CODEC_BYTES, "The limit that it ended at: of memory, or of storage."),
};
#undef PLACE
#undef F
const struct codec_table diagnosis_table = CODEC_TABLE(diagnosis_fields);

bool diagnosis_same(const struct diagnosis *a, const struct diagnosis *b)
{
	return a && b ? codec_same(&diagnosis_table, a, b) : a == b;
}
