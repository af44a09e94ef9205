/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/verify.h"

#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>

const char *const verify_answer_names[] = {"unknown", "yes", "no"};
const char *const verify_outcome_names[] = {"too-early", "held", "did-not-hold"};

const struct verify_row verify_rows[VERIFY_COUNT_] = {
	[VERIFY_LEVER] =
		{"lever-present", verify_lever,
		 "a lever of the list that was not there before: an allocator setting, activation checkpointing, "
		 "full sharding, a volume at /dev/shm, a higher limit, a larger GPU, or a smaller number of the same "
		 "name (batch size, sequence length, workers)",
		 "all levers of the list are values of the allocator's variable, and it has another value",
		 "echo \"PYTORCH_CUDA_ALLOC_CONF=$PYTORCH_CUDA_ALLOC_CONF\"   # at the start of the run, or "
		 "whatever setting was changed"},
	[VERIFY_STEP] = {"passed-step", verify_step,
			 "the run came further than the crash, by epoch and step, or is done where steps cannot be "
			 "compared; with another number of steps both the count and its share must be beyond the crash",
			 "the run ended for memory before that step",
			 "The log of the new run behind the step of the crash: let it run, and ask again."},
	[VERIFY_CHECKPOINT] = {"reached-checkpoint", verify_checkpoint,
			       "the log says that a checkpoint was written, or the run went on after the line that one "
			       "is being written",
			       "the run ended for memory before it wrote one",
			       "The log up to the first checkpoint of the new run."},
	[VERIFY_PEAK] = {"peak-below", verify_peak,
			 "GPU: the greatest reserved memory is at most 90 % of the GPU; limit of a container or pod: "
			 "memory.peak of the cgroup is at most 90 % of the limit",
			 "it is more; also if only allocated memory, nvidia-smi or the resident memory of one process "
			 "shows more",
			 "print(f\"peak_reserved={torch.cuda.max_memory_reserved() / 2**30:.2f} GiB\")   # GPU; for a "
			 "memory limit: echo memory.peak $(cat /sys/fs/cgroup/memory.peak)"},
	[VERIFY_GAP] = {"gap-not-growing", verify_gap,
			"in at least 8 samples, reserved minus allocated memory does not grow by more than 5 % of the "
			"GPU after the first quarter of the run",
			"it does",
			"print(f\"allocated={torch.cuda.memory_allocated() / 2**30:.2f} GiB "
			"reserved={torch.cuda.memory_reserved() / 2**30:.2f} GiB\")   # every few steps"},
	[VERIFY_CO_TENANT] = {"no-co-tenant", verify_co_tenant, "nvidia-smi lists one process on each GPU that is used",
			      "others hold at least 25 % of the GPU; memory is in use without a process; after a "
			      "co-tenant, a GPU has several processes",
			      "nvidia-smi >smi.txt   # on the node while the run trains; give it with --nvidia-smi"},
	[VERIFY_THROUGHPUT] = {"throughput", verify_throughput,
			       "tokens, samples or steps a second are at least 90 % of those of the crash",
			       "they are less; this decides nothing", NULL},
};

/* What to take back if a setting made the run slower. */
static const char *const rollbacks[SETTING_COUNT_] = {
	[SETTING_EXPANDABLE] = "Remove expandable_segments:True again",
	[SETTING_COLLECTION] = "Raise garbage_collection_threshold, or remove it again",
	[SETTING_MAX_SPLIT] = "Raise max_split_size_mb, or remove it again",
	[SETTING_CUDA_MALLOC_ASYNC] = "Remove TF_GPU_ALLOCATOR again",
	[SETTING_CUDA_ASYNC] = "Remove XLA_PYTHON_CLIENT_ALLOCATOR again",
	[SETTING_CHECKPOINTING] = "Turn activation checkpointing off again, at first for a part of the layers",
	[SETTING_FULL_SHARD] = "Shard less again (SHARD_GRAD_OP, ZeRO-2)",
};

/* ---- what is next ---- */

static void add_rollback(struct verification *self)
{
	const char *found = "Take back the lever that was applied last";

	for (int i = 0; i < SETTING_COUNT_; i++)
		if (rollbacks[i] && !self->crash->has_setting[i] &&
		    facts_setting(&self->triage->facts, (enum setting)i))
			found = rollbacks[i];
	triage_note(&self->next, "%s if the lost throughput (%s) is worth more, and try another lever.", found,
		    self->checks[VERIFY_THROUGHPUT].text);
}

/* The first lever of a kind, from the tables. */
static void add_lever_of_kind(struct verification *self, const struct verdict *verdict)
{
	for (size_t i = 0; i < n_levers; i++) {
		CLEANUP(strbuf_release) struct strbuf setting = STRBUF_INIT(4 * KIB);

		if (!lever_is_left(&levers[i], verdict, &self->triage->facts))
			continue;
		lever_render(&levers[i], verdict, &self->triage->facts, &setting);
		triage_note(&self->next, "First lever for %s: %s: %s", triage_kinds[verdict->kind].name,
			    levers[i].action, strbuf_text(&setting));
		return;
	}
}

static void add_next_lever(struct verification *self)
{
	const struct crash *crash = self->crash;
	size_t next = self->lever < 0 ? 0 : (size_t)self->lever + 1;

	if (next < crash->n_levers)
		triage_note(&self->next, "%s: %s: %s",
			    self->lever < 0 ? "First lever of the list, unless it was applied already" : "Next lever",
			    crash->levers[next].action, crash->levers[next].setting);
	else
		triage_note(&self->next,
			    "No lever of the list is left for %s; docs/TRIAGE.md has those of other kinds.",
			    triage_kinds[crash->kind].name);
}

static void add_collect(struct verification *self)
{
	for (int i = 0; i < VERIFY_COUNT_; i++)
		if (self->checks[i].answer == ANSWER_UNKNOWN && verify_rows[i].collect)
			triage_note(&self->next, "%s: %s", verify_rows[i].name, verify_rows[i].collect);
}

/* ---- the outcome ---- */

static enum verify_outcome conclude(struct verification *self, enum verify_outcome outcome, const char *why)
{
	snprintf(self->why, sizeof(self->why), "%s", why);
	return outcome;
}

/* Ends of the new run that decide alone. @return false: the checks decide. */
static bool decide_by_end(struct verification *self)
{
	const struct verdict *verdict = &self->triage->verdict;
	const char *now = triage_kinds[verdict->kind].name, *then = triage_kinds[self->crash->kind].name;

	self->outcome = VERIFY_DID_NOT_HOLD;
	if (self->triage->is_crash) {
		self->outcome = conclude(self, VERIFY_TOO_EARLY,
					 "What was read is the crash itself: no pod was created or failed after it.");
		triage_note(&self->next, "Start the run again with the lever, and ask again.");
	} else if (verdict->kind == self->crash->kind) {
		snprintf(self->why, sizeof(self->why), "The new run ended with %s again: %.240s", now, verdict->why);
		add_next_lever(self);
	} else if (verify_is_end(self)) {
		snprintf(self->why, sizeof(self->why), "After %s the new run ended with %s: %.240s", then, now,
			 verdict->why);
		add_lever_of_kind(self, verdict);
	} else if (verdict->kind == KIND_GPU_FAULT) {
		self->outcome = conclude(self, VERIFY_TOO_EARLY,
					 "The new run ended with a faulty GPU, which says nothing about the fix.");
		add_lever_of_kind(self, verdict);
	} else {
		return false;
	}
	return true;
}

static void name_failed(struct verification *self)
{
	size_t n = (size_t)snprintf(self->why, sizeof(self->why), "The answer is no to");

	for (int i = 0; i < VERIFY_THROUGHPUT; i++)
		if (self->checks[i].answer == ANSWER_NO && n < sizeof(self->why))
			n += (size_t)snprintf(self->why + n, sizeof(self->why) - n, " %s (%.80s)", verify_rows[i].name,
					      self->checks[i].text);
}

static void decide_by_checks(struct verification *self)
{
	const struct verify_check *checks = self->checks;
	bool has_passed = checks[VERIFY_STEP].answer == ANSWER_YES, is_any_no = false;

	for (int i = 0; i < VERIFY_THROUGHPUT; i++)
		is_any_no = is_any_no || checks[i].answer == ANSWER_NO;
	if (is_any_no) {
		self->outcome = VERIFY_DID_NOT_HOLD;
		name_failed(self);
		if (checks[VERIFY_CO_TENANT].answer == ANSWER_NO)
			add_lever_of_kind(self, &(struct verdict){.kind = KIND_CO_TENANT});
		add_next_lever(self);
	} else if (has_passed && checks[VERIFY_PEAK].answer == ANSWER_YES) {
		self->outcome = conclude(
			self, VERIFY_HELD,
			"The new run came further than the crash, and its peak leaves at least a tenth free.");
	} else if (has_passed && verify_is_done(self)) {
		self->outcome = conclude(self, VERIFY_HELD,
					 "The new run is done, beyond the step of the crash; its margin is not known.");
	} else {
		self->outcome = conclude(self, VERIFY_TOO_EARLY,
					 has_passed ? "The new run came further than the crash; its peak is not known."
						    : "It is not known that the new run came further than the crash.");
		add_collect(self);
	}
}

static void run_checks(struct verification *self)
{
	struct verify_check shown = {.source = SIZE_MAX};

	self->lever = verify_find_lever(self, &shown);
	for (int i = 0; i < VERIFY_COUNT_; i++) {
		self->checks[i] = (struct verify_check){.source = SIZE_MAX};
		verify_rows[i].test(self, &self->checks[i]);
		utf8_clean(self->checks[i].text);
	}
}

void verify_init(struct verification *self, const struct triage *triage)
{
	*self = (struct verification){
		.triage = triage, .crash = triage->crash, .next = STRBUF_INIT(LIMIT_TRIAGE_NOTES_BYTES)};
	run_checks(self);
	strbuf_adds(&self->next, strbuf_text(&triage->next));
	if (!decide_by_end(self))
		decide_by_checks(self);
	utf8_clean(self->why);
	if (self->checks[VERIFY_THROUGHPUT].answer == ANSWER_NO)
		add_rollback(self);
}

void verify_release(struct verification *self)
{
	strbuf_release(&self->next);
}
