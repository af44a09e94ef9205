/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about the memory of a host, mostly from what the kernel has said. */
#include "triage/rules.h"

#include <stdio.h>

static bool is_kill(const struct fact *fact)
{
	return (fact->signal == SIGNAL_KERNEL_CONSTRAINT || fact->signal == SIGNAL_KERNEL_KILL) &&
	       fact->reading.scope != SCOPE_NONE;
}

/* The first kill; kills in cgroups outside of Kubernetes count only where there is no other. A report that ends before
 * the line of the kill has said at whose limit a task was killed. */
static const struct fact *find_kill(const struct facts *facts)
{
	const struct fact *found = NULL;

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];
		bool is_other = fact->reading.scope == SCOPE_CGROUP;

		if (!is_kill(fact) || (found && is_other && found->reading.scope != SCOPE_CGROUP))
			continue;
		if (!found || fact->order < found->order || (!is_other && found->reading.scope == SCOPE_CGROUP))
			found = fact;
	}
	return found ? found : facts_first(facts, SIGNAL_KERNEL_LIMIT_OF);
}

static bool is_at_least(const struct figures *figures, enum figure a, enum figure b, int percent)
{
	return figures->bytes[a] > 0 && figures->bytes[b] > 0 && figures->bytes[a] <= FIGURE_MAX &&
	       figures->bytes[a] * 100 >= figures->bytes[b] * percent;
}

/* Who held the memory, by the kernel's figures. */
static const char *kill_cause(const struct verdict *verdict)
{
	const struct reading *reading = &verdict->fact->reading;
	const struct figures *figures = &reading->figures;

	if (reading->scope == SCOPE_NODE && is_at_least(figures, FIGURE_HUGEPAGES, FIGURE_NODE_RAM, 25))
		return "hugepages";
	if (is_at_least(figures, FIGURE_SHMEM_RSS, FIGURE_LIMIT, 50))
		return "shm";
	if (strncmp(reading->name, "pt_data_worker", 14) == 0)
		return "loader-workers";
	/* Forked copies: several tasks of one name, none of which holds most of it. */
	if (reading->n_tasks >= 4 && is_at_least(figures, FIGURE_SAME_RSS, FIGURE_ANON_RSS, 250))
		return "loader-workers";
	return NULL;
}

/* The checkpoint that was being written when the end came: behind it the run shows no further step. */
static bool is_saving(const struct facts *facts, const struct fact *end)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_CHECKPOINT && fact->order < end->order && strcasestr(fact->text, "saving") &&
		    !fact->reading.is_exact && !facts_progress_since(facts, fact))
			return true;
	}
	return false;
}

/* What the program was doing, by its own log. */
const char *rules_run_cause(const struct facts *facts, const struct fact *end)
{
	bool has_steps = false, is_growing = false;

	for (size_t i = 0; i < facts->positions.n; i++) {
		has_steps = has_steps || facts->positions.items[i].step != STEP_NONE ||
			    facts->positions.items[i].n_progress;
		is_growing = is_growing || position_is_rss_growing(&facts->positions.items[i]);
	}
	if (is_saving(facts, end))
		return "checkpoint";
	if (!has_steps && facts_first(facts, SIGNAL_OFFLOAD))
		return "offload";
	if (!has_steps && facts_first(facts, SIGNAL_LOADING))
		return "load-everything";
	return has_steps && is_growing ? "leak" : NULL;
}

static void say_kill(struct verdict *ret, const char *what)
{
	const struct reading *reading = &ret->fact->reading;
	int n = snprintf(ret->why, sizeof(ret->why), "%s and the kernel killed %s", what,
			 reading->name[0] ? reading->name : "a task");

	if (reading->value >= 0 && (size_t)n < sizeof(ret->why))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, " (process %lld", (long long)reading->value);
	if (reading->value >= 0 && figures_has(&ret->figures, FIGURE_ANON_RSS) && (size_t)n < sizeof(ret->why))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, ", %s resident",
			      FIGURE_TEXT(ret->figures.bytes[FIGURE_ANON_RSS]));
	if ((size_t)n < sizeof(ret->why))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, "%s", reading->value >= 0 ? ")." : ".");
	if (figures_has(&ret->figures, FIGURE_LIMIT) && (size_t)n < sizeof(ret->why))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, " The limit was %s.",
			      FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]));
	if (reading->n_tasks > 1 && (size_t)n < sizeof(ret->why))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, " %d tasks of that name held %s.",
			      reading->n_tasks, FIGURE_TEXT(ret->figures.bytes[FIGURE_SAME_RSS]));
	if (ret->figures.bytes[FIGURE_LARGEST_RSS] > ret->figures.bytes[FIGURE_SAME_RSS] &&
	    (size_t)n < sizeof(ret->why))
		snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, " The largest task, %s, held %s.",
			 reading->largest, FIGURE_TEXT(ret->figures.bytes[FIGURE_LARGEST_RSS]));
}

static bool is_scope(const struct facts *facts, struct verdict *ret, enum scope scope, const char *what)
{
	ret->fact = find_kill(facts);
	if (!ret->fact || ret->fact->reading.scope != scope)
		return false;
	ret->figures = ret->fact->reading.figures;
	if (!ret->cause)
		ret->cause = kill_cause(ret);
	if (!ret->cause)
		ret->cause = rules_run_cause(facts, ret->fact);
	say_kill(ret, what);
	return true;
}

bool rule_kernel_container(const struct facts *facts, struct verdict *ret)
{
	return is_scope(facts, ret, SCOPE_CONTAINER, "The container reached its memory limit,");
}

bool rule_kernel_pod(const struct facts *facts, struct verdict *ret)
{
	return is_scope(facts, ret, SCOPE_POD, "The pod as a whole reached its memory limit,");
}

bool rule_kernel_cgroup(const struct facts *facts, struct verdict *ret)
{
	return is_scope(facts, ret, SCOPE_CGROUP, "A cgroup reached its memory limit,");
}

bool rule_kernel_kubepods(const struct facts *facts, struct verdict *ret)
{
	return is_scope(facts, ret, SCOPE_KUBEPODS,
			"All pods of the node together reached what the node gives to pods,");
}

bool rule_kernel_policy(const struct facts *facts, struct verdict *ret)
{
	return is_scope(facts, ret, SCOPE_POLICY, "The NUMA nodes that the task may use are full,");
}

bool rule_kernel_node(const struct facts *facts, struct verdict *ret)
{
	return is_scope(facts, ret, SCOPE_NODE, "The node ran out of memory,");
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

/* Workers hand their batches over in shared memory. */
bool rule_shm(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_SHM);
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
	if (text_has(ret->fact->text, "Java heap|java.lang"))
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

/* What a launcher says of a child's end is no reason for it. */
bool rule_exception(const struct facts *facts, struct verdict *ret)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_EXCEPTION && !fact->reading.is_exact &&
		    (!ret->fact || fact->order < ret->fact->order))
			ret->fact = fact;
	}
	return ret->fact != NULL;
}

/* Whether an ordinary error comes before a fact; reports of launchers come behind what they report. */
bool rules_has_error_before(const struct facts *facts, const struct fact *fact)
{
	static const enum signal_id errors[] = {SIGNAL_EXCEPTION, SIGNAL_DEVICE_ASSERT, SIGNAL_ILLEGAL_ACCESS,
						SIGNAL_SEGFAULT,  SIGNAL_DISK_FULL,	SIGNAL_DISK_QUOTA};

	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		const struct fact *error = facts_first(facts, errors[i]);

		if (error && error->order < fact->order && !error->reading.is_exact)
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

bool rule_collective_timeout(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_COLLECTIVE_TIMEOUT);
	return ret->fact && !rules_has_error_before(facts, ret->fact);
}
