/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about the memory of a host, from what a program and its launcher say. */
#include "triage/rules.h"

#include <stdio.h>

/* Whether the end is reported by the log of a node: this may have been read before the log of the run. */
static bool is_elsewhere(const struct facts *facts, const struct fact *end, const struct fact *fact)
{
	return fact->source != end->source && facts->sources.items[end->source].input == INPUT_DMESG;
}

/* The checkpoint that was being written when the end came: behind it the run shows no further step. */
static bool is_saving(const struct facts *facts, const struct fact *end)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_CHECKPOINT && (fact->order < end->order || is_elsewhere(facts, end, fact)) &&
		    strcasestr(fact->text, "saving") && !fact->reading.is_exact && !facts_progress_since(facts, fact))
			return true;
	}
	return false;
}

/* Whether the log shows more than the first step: offload takes the most in that one, where states are made. */
static bool is_past_first_step(const struct facts *facts)
{
	for (size_t i = 0; i < facts->positions.n; i++)
		if (facts->positions.items[i].step > 1 || facts->positions.items[i].n_progress > 2)
			return true;
	return false;
}

/* Lines of a log behind the one that says that data is being read, if that was the last thing it did. */
#define LOADING_LINES 20

/* Whether data was being read when the end came. That all of it goes into memory is only sometimes said. */
static bool is_loading(const struct facts *facts)
{
	const struct fact *first = facts_first(facts, SIGNAL_LOADING), *last = facts_last(facts, SIGNAL_LOADING);
	const struct fact *model = facts_last(facts, SIGNAL_STARTING);

	if (!first || rules_has_steps(facts))
		return false;
	if (first->reading.is_exact || last->reading.is_exact)
		return true;
	return facts->sources.items[last->source].n_lines - last->number <= LOADING_LINES &&
	       !(model && model->source == last->source && model->number > last->number);
}

/* What the program was doing, by its own log. */
const char *rules_run_cause(const struct facts *facts, const struct fact *end)
{
	bool has_steps = rules_has_steps(facts), is_growing = false;

	for (size_t i = 0; i < facts->positions.n; i++)
		is_growing = is_growing || position_is_rss_growing(&facts->positions.items[i]);
	if (is_saving(facts, end))
		return "checkpoint";
	if (!is_past_first_step(facts) && facts_first(facts, SIGNAL_OFFLOAD))
		return "offload";
	if (is_loading(facts) || rules_is_climb_before_steps(facts))
		return "load-everything";
	return has_steps && is_growing ? "leak" : NULL;
}

/* Lines of a traceback between the call that makes a semaphore and its error. */
#define SEMAPHORE_LINES 8

/* "No space left on device" where a semaphore was made: the file system is /dev/shm. */
static const struct fact *find_semaphore(const struct facts *facts)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *error = &facts->items.items[i];

		for (size_t k = 0; error->signal == SIGNAL_DISK_FULL && k < facts->items.n; k++) {
			const struct fact *call = &facts->items.items[k];

			if (call->signal == SIGNAL_SEMAPHORE && call->source == error->source &&
			    call->number < error->number && error->number - call->number <= SEMAPHORE_LINES)
				return error;
		}
	}
	return NULL;
}

/* A bus error alone: a mapped file that was cut gives it, too, and hardware. */
static bool is_bare(const struct facts *facts, const struct fact *fact)
{
	return strcasestr(fact->text, "bus error") &&
	       !text_has(fact->text, "worker|Worker|DataLoader|dataloader|shm|shared memory") &&
	       !rules_has_workers(facts);
}

static bool is_not_bare(const struct facts *facts, const struct fact *fact)
{
	return !is_bare(facts, fact);
}

bool rule_child_bus(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_CHILD_BUS);
	if (!ret->fact)
		ret->fact = facts_first(facts, SIGNAL_SHM);
	return ret->fact != NULL;
}

/* Workers hand their batches over in shared memory. */
#define SHM_WHY "Shared memory between the processes is full: /dev/shm has 64 MiB unless the pod mounts more."

bool rule_shm(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first_that(facts, SIGNAL_SHM, is_not_bare);
	if (!ret->fact) {
		ret->fact = find_semaphore(facts);
		if (ret->fact)
			snprintf(ret->why, sizeof(ret->why),
				 "There was no space for a semaphore: these are files in /dev/shm, which has 64 MiB "
				 "unless "
				 "the pod mounts more.");
	}
	if (ret->fact && text_has(ret->fact->text, "worker|DataLoader|</torch_"))
		ret->cause = "loader-workers";
	if (ret->fact && !ret->why[0])
		rules_say(ret, "%s", SHM_WHY);
	if (ret->fact)
		rules_say_shm(facts, ret);
	return ret->fact != NULL;
}

/* A request beyond the node's memory is itself the cause. */
static bool is_refused_by_node(const struct node *node, struct verdict *ret)
{
	int64_t tried = ret->figures.bytes[FIGURE_TRIED], left = node_committable(node);

	if (node->values[NODE_OVERCOMMIT] != NODE_STRICT ||
	    (node_has(node, NODE_TOTAL) && tried > node->values[NODE_TOTAL]))
		return false;
	ret->cause = "overcommit";
	snprintf(ret->why, sizeof(ret->why),
		 "vm.overcommit_memory of the node is 2: its kernel refuses memory beyond a fixed sum. The program "
		 "tried to "
		 "get %s, and %s were left when the settings were read.",
		 tried > 0 ? FIGURE_TEXT(tried) : "an unknown amount",
		 left == FIGURE_NONE ? "an unknown amount" : FIGURE_TEXT(left));
	return true;
}

bool rule_refused(const struct facts *facts, struct verdict *ret)
{
	ret->fact = rules_find_refused(facts);
	if (!ret->fact)
		return false;
	ret->figures = ret->fact->reading.figures;
	/* The amount may stand in the next line. */
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal == SIGNAL_REFUSED &&
		    facts->items.items[i].source == ret->fact->source &&
		    facts->items.items[i].rank == ret->fact->rank && !figures_has(&ret->figures, FIGURE_TRIED))
			figures_fill(&ret->figures, &facts->items.items[i].reading.figures);
	if (text_has(ret->fact->text, "Java heap|java.lang|JavaScript heap"))
		ret->cause = "heap-limit";
	else if (text_has(ret->fact->text,
			  "pinned|CUDA host alloc|gpu_host_bfc|bytes on host|HostAlloc|MallocHost|HostMalloc|AllocHost|"
			  "HostRegister"))
		ret->cause = "pinned-memory";
	else if (is_refused_by_node(&facts->node, ret))
		return true;
	/* numpy: one array of this size is a whole data set. */
	else if (text_has(ret->fact->text, "for an array with shape") &&
		 ret->figures.bytes[FIGURE_TRIED] >= (int64_t)GIB)
		ret->cause = "load-everything";
	return true;
}

bool rule_tests_passed(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_last(facts, SIGNAL_TESTS_PASSED);
	for (size_t i = 0; ret->fact && i < facts->items.n; i++)
		if (facts->items.items[i].signal < SIGNAL_TESTS_PASSED &&
		    facts->items.items[i].order > ret->fact->order)
			return false;
	return ret->fact != NULL;
}

/* Whether a fact is an error that may have ended the program: it did not go on behind it for two steps. What a launcher
 * says of a child's end is no reason for it. */
static bool is_last_error(const struct facts *facts, const struct fact *fact)
{
	return !fact->reading.is_exact && facts_progress_since(facts, fact) < 2;
}

bool rule_exception(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first_that(facts, SIGNAL_EXCEPTION, is_last_error);
	return ret->fact != NULL;
}

/* Whether an ordinary error comes before a fact; reports of launchers come behind what they report. */
static bool is_error(enum signal_id signal)
{
	return signal == SIGNAL_EXCEPTION || signal == SIGNAL_DEVICE_ASSERT || signal == SIGNAL_ILLEGAL_ACCESS ||
	       signal == SIGNAL_SEGFAULT || signal == SIGNAL_DISK_FULL || signal == SIGNAL_DISK_QUOTA;
}

bool rules_has_error_before(const struct facts *facts, const struct fact *fact)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *error = &facts->items.items[i];

		if (is_error(error->signal) && error->order < fact->order && is_last_error(facts, error))
			return true;
	}
	return false;
}

bool rule_library(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_LIBRARY);
	return ret->fact && !rules_has_error_before(facts, ret->fact);
}

bool rule_child_killed(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_CHILD_KILLED);
	return ret->fact && !rules_has_error_before(facts, ret->fact);
}

/* Where the resident memory only grew, the greatest amount is the best hint that there is. */
static void say_growth(const struct facts *facts, struct verdict *ret)
{
	for (size_t i = 0; i < facts->positions.n; i++) {
		const struct position *position = &facts->positions.items[i];

		if (!position_is_rss_growing(position))
			continue;
		rules_say(ret, " The resident memory that the program reports only grew");
		if (position->peak_rss.value > 0)
			rules_say(ret, ", to %s (line %llu)", FIGURE_TEXT(position->peak_rss.value),
				  (unsigned long long)position->peak_rss.number);
		rules_say(ret, ", as before a kill for memory.");
		return;
	}
}

/* Lines that a script or a launcher may print behind it. */
#define LAST_LINES 3

bool rule_shell_killed(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_last(facts, SIGNAL_SHELL_KILLED);
	if (!ret->fact || ret->fact->number + LAST_LINES < facts->sources.items[ret->fact->source].n_lines ||
	    rules_has_error_before(facts, ret->fact) || facts_first(facts, SIGNAL_DONE))
		return false;
	rules_say(ret,
		  "The program got SIGKILL, from the OOM killer or from somebody; the log does not say from whom.");
	say_growth(facts, ret);
	return true;
}

bool rule_nothing(const struct facts *facts, struct verdict *ret)
{
	rules_say(ret, "Nothing in what was given says how the run ended.");
	say_growth(facts, ret);
	return true;
}

bool rule_collective_timeout(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_COLLECTIVE_TIMEOUT);
	return ret->fact && !rules_has_error_before(facts, ret->fact);
}
