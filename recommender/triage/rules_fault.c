/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about the errors that the driver of a card reports: XIDs of NVIDIA, resets of AMD. */
#include "triage/rules.h"

#include "triage/clock.h"

#include <stdio.h>

/* XIDs that report a fault of the card, its memory, its links or its firmware. */
static const struct xid {
	int first, last;
	const char *cause;
} faults[] = {
	{48, 48, "ecc"},
	{61, 62, "internal"},
	{63, 64, "row-remap"},
	{74, 74, "nvlink"},
	{79, 79, "lost"},
	{92, 92, "ecc"},
	{94, 95, "ecc"},
	{109, 110, "internal"},
	{119, 120, "firmware"},
	{121, 121, "nvlink"},
	{140, 140, "ecc"},
	{141, 150, "nvlink"},
	{154, 154, "reset-required"},
	{171, 172, "ecc"},
};

/* XIDs that programs cause: by a wrong address or instruction, and when their channels are closed behind them. */
static const int program_xids[] = {13, 31, 43, 45};

static bool is_of_program(int64_t number)
{
	for (size_t i = 0; i < ARRAY_LEN(program_xids); i++)
		if (number == program_xids[i])
			return true;
	return false;
}

static const struct xid *find_fault(int64_t number)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		if (number >= faults[i].first && number <= faults[i].last)
			return &faults[i];
	return NULL;
}

/* The driver says of some errors of links that they did not stop the card. */
static bool is_nonfatal(const struct fact *fact)
{
	return strcasestr(fact->text, "nonfatal") != NULL;
}

/* Errors within this time before the last one are of the same fault: its first one has the reason. */
#define BURST_MS 600000

static bool is_better(const struct fact *fact, const struct fact *found)
{
	return !found || (is_nonfatal(found) && !is_nonfatal(fact)) ||
	       (is_nonfatal(found) == is_nonfatal(fact) && fact->order > found->order);
}

/* Without times in the log, all errors count as one fault. */
static bool is_same_fault(const struct fact *fact, const struct fact *last)
{
	struct clock one = clock_read(fact->text), other = clock_read(last->text);

	if (fact->source != last->source || is_nonfatal(fact) != is_nonfatal(last))
		return false;
	return one.kind != other.kind || one.kind == CLOCK_NONE || other.ms - one.ms <= BURST_MS;
}

/* Facts keep each XID of a file: any of them may be the fault. The first one of the last fault. */
static const struct fact *find_fault_fact(const struct facts *facts)
{
	const struct fact *last = NULL, *found;

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_XID && find_fault(fact->reading.value) && is_better(fact, last))
			last = fact;
	}
	found = last;
	for (size_t i = 0; last && i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_XID && find_fault(fact->reading.value) && fact->order < found->order &&
		    is_same_fault(fact, last))
			found = fact;
	}
	return found;
}

/* Whether a log beside that of the node speaks of a fault, too. */
static bool is_fault_told(const struct facts *facts, const struct fact *fault)
{
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal <= SIGNAL_DEVICE_UNHEALTHY &&
		    facts->items.items[i].source != fault->source)
			return true;
	return false;
}

bool rule_xid_fault(const struct facts *facts, struct verdict *ret)
{
	long long number;

	ret->fact = find_fault_fact(facts);
	if (!ret->fact)
		return false;
	number = ret->fact->reading.value;
	ret->cause = find_fault(number)->cause;
	if (is_nonfatal(ret->fact)) {
		ret->confidence = CONFIDENCE_LOW;
		snprintf(ret->why, sizeof(ret->why),
			 "The driver reports XID %lld (%s) and calls it nonfatal: the GPU went on, and the run may "
			 "have ended for another reason.",
			 number, ret->cause);
	} else {
		snprintf(ret->why, sizeof(ret->why),
			 "The driver reports XID %lld, a fault of the GPU (%s); what followed in the program is "
			 "collateral.",
			 number, ret->cause);
	}
	if (ret->confidence == CONFIDENCE_HIGH && rules_gpu_end_beside(facts, ret->fact) &&
	    !is_fault_told(facts, ret->fact)) {
		size_t n = strlen(ret->why);

		ret->confidence = CONFIDENCE_MEDIUM;
		snprintf(ret->why + n, sizeof(ret->why) - n,
			 " The log names another end of its own, a failed allocation, so the error may be of another "
			 "time or GPU.");
	}
	return true;
}

/* 45 also follows XIDs of other kinds, when channels are closed behind them. */
bool rule_xid_application(const struct facts *facts, struct verdict *ret)
{
	bool is_other = false;

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal != SIGNAL_XID)
			continue;
		is_other = is_other || !is_of_program(fact->reading.value);
		if (is_of_program(fact->reading.value) && (!ret->fact || ret->fact->reading.value == 45))
			ret->fact = fact;
	}
	if (!ret->fact || (is_other && ret->fact->reading.value == 45))
		return false;
	ret->cause = "xid-application";
	snprintf(ret->why, sizeof(ret->why),
		 "XID %lld is caused by the program, for instance by a wrong address; the GPU is not at fault.",
		 (long long)ret->fact->reading.value);
	return true;
}

bool rule_xid_other(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_XID);
	if (!ret->fact)
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "The driver reports XID %lld, which is neither a known fault of the GPU nor one that programs are "
		 "known to cause; NVIDIA's catalog of XIDs says what it means.",
		 (long long)ret->fact->reading.value);
	return true;
}

/* A program that uses a wrong address makes a GPU of AMD hang as well. */
bool rule_gpu_reset(const struct facts *facts, struct verdict *ret)
{
	const struct fact *fault = facts_first(facts, SIGNAL_ILLEGAL_ACCESS);

	ret->fact = facts_first(facts, SIGNAL_GPU_RESET);
	return ret->fact && !(fault && fault->order < ret->fact->order);
}
