/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about reasons that somebody states in words: runtimes, schedulers, the program itself. */
#include "triage/rules.h"

#include <stdio.h>

/* The first fact, unless an ordinary error comes before it. */
static bool take_first(const struct facts *facts, struct verdict *ret, enum signal_id signal)
{
	ret->fact = facts_first(facts, signal);
	if (ret->fact)
		ret->figures = ret->fact->reading.figures;
	return ret->fact && !rules_has_error_before(facts, ret->fact);
}

/* The nanny starts a new worker, and the run may go on. */
bool rule_dask(const struct facts *facts, struct verdict *ret)
{
	const struct fact *done = facts_last(facts, SIGNAL_DONE);

	ret->fact = facts_first(facts, SIGNAL_DASK);
	return ret->fact && !(done && done->order > facts_last(facts, SIGNAL_DASK)->order);
}

bool rule_worker_lost(const struct facts *facts, struct verdict *ret)
{
	return take_first(facts, ret, SIGNAL_WORKER_LOST);
}

bool rule_files_limit(const struct facts *facts, struct verdict *ret)
{
	return take_first(facts, ret, SIGNAL_FILES_LIMIT);
}

/* The log of a node tells of all cgroups: an error of another kind has another reason. */
bool rule_pids_limit(const struct facts *facts, struct verdict *ret)
{
	const struct fact *error = facts_first(facts, SIGNAL_EXCEPTION);

	ret->fact = facts_first(facts, SIGNAL_PIDS_LIMIT);
	return ret->fact && (!error || text_has(error->text, "new thread|temporarily unavailable|fork"));
}

/* A job whose ranks wait for a dead one runs into its time limit, too; behind it Slurm kills what has not ended. */
bool rule_time_limit(const struct facts *facts, struct verdict *ret)
{
	static const enum signal_id reasons[] = {SIGNAL_COLLECTIVE_TIMEOUT, SIGNAL_WORKER_KILLED, SIGNAL_CHILD_KILLED};

	if (!take_first(facts, ret, SIGNAL_TIME_LIMIT))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		const struct fact *reason = facts_first(facts, reasons[i]);

		if (reason && reason->order < ret->fact->order)
			return false;
	}
	return true;
}

bool rule_server_limit(const struct facts *facts, struct verdict *ret)
{
	return take_first(facts, ret, SIGNAL_SERVER_LIMIT);
}

/* Whether such a fact stands within some lines of another one. */
static bool is_beside(const struct facts *facts, const struct fact *fact, enum signal_id signal, uint64_t n_lines)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *other = &facts->items.items[i];

		if (other != fact && other->signal == signal && other->source == fact->source &&
		    MAX(other->number, fact->number) - MIN(other->number, fact->number) <= n_lines)
			return true;
	}
	return false;
}

/* Lines that a killer prints about one kill, and that a runtime has between two fields of a container's state. */
#define KILLER_LINES 20
#define STATE_LINES  8

static bool is_kill_of_killer(const struct facts *facts, const struct fact *fact)
{
	return fact->reading.is_exact && is_beside(facts, fact, SIGNAL_LOW_MEMORY, KILLER_LINES);
}

bool rule_low_memory(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first_that(facts, SIGNAL_LOW_MEMORY, is_kill_of_killer);
	return ret->fact != NULL;
}

bool rule_completed(const struct facts *facts, struct verdict *ret)
{
	for (size_t i = 0; i < facts->items.n && !ret->fact; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_COMPLETED &&
		    (fact->reading.is_exact || is_beside(facts, fact, SIGNAL_OOM_DENIED, STATE_LINES)))
			ret->fact = fact;
	}
	return ret->fact != NULL;
}

bool rule_nan_loss(const struct facts *facts, struct verdict *ret)
{
	return take_first(facts, ret, SIGNAL_NAN_LOSS);
}

bool rule_shm_error(const struct facts *facts, struct verdict *ret)
{
	return take_first(facts, ret, SIGNAL_SHM_ERROR);
}

bool rule_exit_137(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_EXIT_137);
	if (!ret->fact)
		return false;
	ret->figures = ret->fact->reading.figures;
	if (facts_first(facts, SIGNAL_OOM_DENIED))
		snprintf(
			ret->why, sizeof(ret->why),
			"137 is SIGKILL, and `OOMKilled: false` says that it was not for the container's memory limit: "
			"somebody stopped or killed the container, or the kubelet did after the grace period.");
	return true;
}

/* The kernel gives this error also for things that it can count no further. */
bool rule_disk_full(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_DISK_FULL);
	if (!ret->fact)
		return false;
	if (strstr(ret->fact->text, "/sys/fs/cgroup")) {
		ret->cause = "cgroups-full";
		rules_say(ret, "The kernel can make no further cgroup (at most 65535 of memory): cgroups that were "
			       "deleted stay where something still counts in them. The disk is not full.");
	} else if (strcasestr(ret->fact->text, "inotify")) {
		ret->cause = "watches-full";
		rules_say(ret, "The user has as many watches of files as he may (fs.inotify.max_user_watches); the "
			       "disk is not full.");
	}
	return true;
}

/* Programs also find no driver and go on without a GPU. */
bool rule_driver(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_last(facts, SIGNAL_DRIVER);
	return ret->fact && facts_progress_since(facts, ret->fact) < 2;
}
