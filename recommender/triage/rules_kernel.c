/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about kills that the kernel reports: at whose limit, and who held the memory. */
#include "triage/rules.h"

#include "triage/clock.h"

/* Kills within this time before the last one are of the same shortage: its first kill shows who held the memory. */
#define BURST_MS 60000

/* ---- which kill ---- */

static bool is_kill(const struct fact *fact)
{
	return (fact->signal == SIGNAL_KERNEL_CONSTRAINT || fact->signal == SIGNAL_KERNEL_KILL) &&
	       fact->reading.scope != SCOPE_NONE;
}

/* The last kill; kills in cgroups outside of Kubernetes count only where there is no other. */
static const struct fact *find_last(const struct facts *facts)
{
	const struct fact *found = NULL;

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];
		bool is_other = fact->reading.scope == SCOPE_CGROUP;

		if (!is_kill(fact) || (found && is_other && found->reading.scope != SCOPE_CGROUP))
			continue;
		if (!found || fact->order > found->order || (!is_other && found->reading.scope == SCOPE_CGROUP))
			found = fact;
	}
	return found;
}

/* Without times in the log, kills of one cgroup or of one node count as one shortage. */
static bool is_same_shortage(const struct fact *fact, const struct fact *last)
{
	struct clock one = clock_read(fact->text), other = clock_read(last->text);

	if (!is_kill(fact) || fact->source != last->source || fact->reading.scope != last->reading.scope ||
	    !streq(fact->reading.uid, last->reading.uid))
		return false;
	return one.kind != other.kind || one.kind == CLOCK_NONE || other.ms - one.ms <= BURST_MS;
}

/* The last report that ends before the line of the kill and still says, in a sentence or (`is_exact`) in its frames or
 * statistics, at whose limit the kernel kills; NULL: none. */
static const struct fact *find_cut(const struct facts *facts)
{
	const struct fact *found = facts_last(facts, SIGNAL_KERNEL_LIMIT_OF);

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_KERNEL_CUT && fact->reading.is_exact &&
		    (!found || (found->signal == SIGNAL_KERNEL_CUT && fact->order > found->order)))
			found = fact;
	}
	return found;
}

/* The first kill of the last shortage. */
static const struct fact *find_kill(const struct facts *facts)
{
	const struct fact *last = find_last(facts), *found = last;

	if (!last)
		return find_cut(facts);
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->order < found->order && is_same_shortage(fact, last))
			found = fact;
	}
	return found;
}

/* ---- whether it was this run's ---- */

/* Errors of a parent whose child is gone without a word. */
static bool is_child_gone(const struct fact *fact)
{
	static const char *const words[] = {"exited unexpectedly",
					    "BrokenProcessPool",
					    "terminated abruptly",
					    "TerminatedWorkerError",
					    "ConnectionResetError",
					    "BrokenPipeError",
					    "EOFError"};

	for (size_t i = 0; i < ARRAY_LEN(words) && fact->signal == SIGNAL_EXCEPTION; i++)
		if (strstr(fact->text, words[i]))
			return true;
	return false;
}

/* Whether a log or a status beside the kernel's log says that a process got SIGKILL, or lost one that did. */
static bool is_kill_told(const struct facts *facts, const struct fact *kill)
{
	static const enum signal_id told[] = {SIGNAL_OOM_KILLED,    SIGNAL_OOM_COUNTED,	 SIGNAL_NODE_KILL,
					      SIGNAL_WORKER_KILLED, SIGNAL_CHILD_KILLED, SIGNAL_SHELL_KILLED,
					      SIGNAL_EXIT_137};

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->source == kill->source)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(told); k++)
			if (fact->signal == told[k] || is_child_gone(fact))
				return true;
	}
	return false;
}

/* The end that a log names itself, which no kill of a process explains; NULL: none. */
static const struct fact *find_other_end(const struct facts *facts)
{
	static const enum signal_id ends[] = {
		SIGNAL_REFUSED,	  SIGNAL_KERNEL_SCRATCH, SIGNAL_DEVICE_ASSERT, SIGNAL_ILLEGAL_ACCESS,
		SIGNAL_DISK_FULL, SIGNAL_SEGFAULT,	 SIGNAL_EXCEPTION,     SIGNAL_DONE};

	for (size_t k = 0; k < ARRAY_LEN(ends); k++)
		for (size_t i = 0; i < facts->items.n; i++) {
			const struct fact *fact = &facts->items.items[i];

			if (fact->signal == ends[k] && !(fact->signal == SIGNAL_EXCEPTION && fact->reading.is_exact) &&
			    facts->sources.items[fact->source].input == INPUT_LOG)
				return fact;
		}
	return NULL;
}

const struct fact *rules_gpu_end_beside(const struct facts *facts, const struct fact *fact)
{
	const struct fact *deadly = rules_find_deadly(facts);

	if (!deadly || facts->sources.items[fact->source].input != INPUT_DMESG ||
	    facts->sources.items[deadly->source].input != INPUT_LOG)
		return NULL;
	return deadly;
}

/* A log of a node may have kills of other programs. */
static bool is_tied(const struct facts *facts, const struct fact *kill)
{
	return facts->sources.items[kill->source].input != INPUT_DMESG || facts_find_life(facts, kill->reading.uid) ||
	       is_kill_told(facts, kill);
}

/* ---- who held the memory ---- */

static bool is_at_least(const struct figures *figures, enum figure a, int64_t whole, int percent)
{
	return figures->bytes[a] > 0 && whole > 0 && figures->bytes[a] <= FIGURE_MAX && whole <= FIGURE_MAX &&
	       figures->bytes[a] * 100 >= whole * percent;
}

/* The limit, or without it what the cgroup held. */
static int64_t whole_of(const struct figures *figures)
{
	const int64_t *bytes = figures->bytes;

	if (bytes[FIGURE_LIMIT] > 0)
		return bytes[FIGURE_LIMIT];
	if (bytes[FIGURE_USAGE] > 0)
		return bytes[FIGURE_USAGE];
	return figures_has(figures, FIGURE_CGROUP_ANON) && figures_has(figures, FIGURE_CGROUP_CACHE)
		       ? bytes[FIGURE_CGROUP_ANON] + bytes[FIGURE_CGROUP_CACHE] + MAX(bytes[FIGURE_CGROUP_SHMEM], 0)
		       : FIGURE_NONE;
}

/* Whether one log has lines of several ranks: a launcher has started them in one container. */
static bool has_ranks(const struct facts *facts)
{
	for (size_t i = 0; i < facts->positions.n; i++)
		for (size_t k = 0; k < i; k++)
			if (facts->positions.items[i].source == facts->positions.items[k].source &&
			    facts->positions.items[i].rank != RANK_NONE && facts->positions.items[k].rank != RANK_NONE)
				return true;
	return false;
}

/* Python's tasks of one name may be workers where they are several, and also the ranks of a job, which need no launcher
 * that is seen. On a node other programs also run under this name. */
static bool may_be_workers(const struct facts *facts, const struct reading *reading)
{
	return reading->n_group >= KERNEL_COPIES_MIN && reading->scope < SCOPE_KUBEPODS && !has_ranks(facts) &&
	       !reading->has_launcher && !facts_first(facts, SIGNAL_OFFLOAD) &&
	       (reading->has_parent || rules_has_workers(facts));
}

static bool are_workers(const struct facts *facts, const struct reading *reading)
{
	return kernel_is_loader(reading->group) || may_be_workers(facts, reading);
}

/* Whether only their number says that the tasks are workers. */
static bool is_guess(const struct verdict *ret)
{
	return streq(ret->cause, "loader-workers") && !kernel_is_loader(ret->fact->reading.group) &&
	       !kernel_is_loader(ret->fact->reading.name);
}

/* They hold half of what all tasks hold, or half of the limit. */
static bool is_held_by_workers(const struct facts *facts, const struct reading *reading, int64_t whole)
{
	return are_workers(facts, reading) &&
	       (is_at_least(&reading->figures, FIGURE_GROUP_RSS, whole, 50) ||
		is_at_least(&reading->figures, FIGURE_GROUP_RSS, reading->figures.bytes[FIGURE_TASKS_RSS], 50));
}

static const char *kill_cause(const struct facts *facts, const struct reading *reading)
{
	const struct figures *figures = &reading->figures;
	int64_t whole = whole_of(figures);

	if (reading->scope == SCOPE_NODE && is_at_least(figures, FIGURE_HUGEPAGES, figures->bytes[FIGURE_NODE_RAM], 25))
		return "hugepages";
	if (is_at_least(figures, FIGURE_CGROUP_SHMEM, whole, 50) || is_at_least(figures, FIGURE_SHMEM_RSS, whole, 50))
		return "shm";
	if (is_at_least(figures, FIGURE_CGROUP_CACHE, whole, 50))
		return "page-cache";
	if (kernel_is_loader(reading->name) || is_held_by_workers(facts, reading, whole))
		return "loader-workers";
	return NULL;
}

/* ---- in words ---- */

static void say_group(struct verdict *ret)
{
	const struct reading *reading = &ret->fact->reading;
	const int64_t *bytes = ret->figures.bytes;

	if (reading->n_tasks > 1 && !streq(reading->group, reading->name))
		rules_say(ret, " %d tasks of that name held %s.", reading->n_tasks,
			  FIGURE_TEXT(bytes[FIGURE_SAME_RSS]));
	if (!reading->n_group)
		return;
	rules_say(ret, " %d tasks named %s%s held %s, at most %s each.", reading->n_group, reading->group,
		  kernel_is_loader(reading->group) ? "" : " beside the largest one",
		  FIGURE_TEXT(bytes[FIGURE_GROUP_RSS]), FIGURE_TEXT(bytes[FIGURE_WORKER_RSS]));
	if (is_guess(ret))
		rules_say(ret, " They are ranks or loader workers.");
	else if (streq(ret->cause, "loader-workers") && reading->is_group_even)
		rules_say(ret,
			  " They have nearly the same size, as each copies the objects of the main process that it "
			  "touches (copy-on-write).");
}

static void say_files(struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;

	if (streq(ret->cause, "shm") && figures_has(&ret->figures, FIGURE_CGROUP_SHMEM))
		rules_say(ret, " %s of it were files in memory (/dev/shm or another tmpfs) or shared memory.",
			  FIGURE_TEXT(bytes[FIGURE_CGROUP_SHMEM]));
	if (streq(ret->cause, "page-cache"))
		rules_say(ret,
			  " %s of it were page cache of files that were read or written, and processes held only %s.",
			  FIGURE_TEXT(bytes[FIGURE_CGROUP_CACHE]), FIGURE_TEXT(bytes[FIGURE_CGROUP_ANON]));
}

static void say_limit(struct verdict *ret)
{
	if (figures_has(&ret->figures, FIGURE_LIMIT))
		rules_say(ret, " The limit was %s.", FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]));
	say_files(ret);
	say_group(ret);
}

/* What to do about a report that is not whole. */
#define CUT                                                                                                            \
	" The report is cut before the line of the kill: `journalctl -k` or `dmesg -T` on the node may have it whole."

static void say_kill(struct verdict *ret, const char *what)
{
	const struct reading *reading = &ret->fact->reading;
	const int64_t *bytes = ret->figures.bytes;

	if (strcasestr(ret->fact->text, "no killable processes")) {
		rules_say(ret, "%s and the kernel found no task that it may kill.", what);
		return;
	}
	if (ret->fact->signal == SIGNAL_KERNEL_CUT) {
		rules_say(ret, "%s and the kernel looked for a task to kill." CUT, what);
		say_limit(ret);
		return;
	}
	rules_say(ret, "%s and the kernel killed %s", what, reading->name[0] ? reading->name : "a task");
	if (reading->value >= 0)
		rules_say(ret, " (process %lld", (long long)reading->value);
	if (reading->value >= 0 && figures_has(&ret->figures, FIGURE_ANON_RSS))
		rules_say(ret, ", %s resident", FIGURE_TEXT(bytes[FIGURE_ANON_RSS]));
	rules_say(ret, "%s", reading->value >= 0 ? ")." : ".");
	say_limit(ret);
	if (bytes[FIGURE_LARGEST_RSS] > MAX(bytes[FIGURE_SAME_RSS], bytes[FIGURE_GROUP_RSS]))
		rules_say(ret, " The largest task, %s, held %s.", reading->largest,
			  FIGURE_TEXT(bytes[FIGURE_LARGEST_RSS]));
}

/* ---- the pod ---- */

void rules_add_pod(const struct facts *facts, struct verdict *ret)
{
	const struct pod_life *life = facts_find_life(facts, ret->fact->reading.uid);

	for (size_t i = 0; life && i < facts->sources.n; i++)
		if (facts->sources.items[i].origin.group == life->group && ret->rank == RANK_NONE)
			ret->rank = facts->sources.items[i].origin.rank;
	for (size_t i = 0; life && i < facts->positions.n; i++) {
		const struct position *position = &facts->positions.items[i];

		if (facts->sources.items[position->source].origin.group == life->group)
			ret->step = MAX(ret->step, position->step);
	}
}

/* ---- the rules ---- */

static bool is_scope(const struct facts *facts, struct verdict *ret, enum scope scope, const char *what)
{
	bool is_sure;

	ret->fact = find_kill(facts);
	if (!ret->fact || ret->fact->reading.scope != scope)
		return false;
	is_sure = is_tied(facts, ret->fact);
	/* The kill of a process does not make an allocation on a GPU fail. */
	if (!is_sure && rules_gpu_end_beside(facts, ret->fact))
		return false;
	ret->figures = ret->fact->reading.figures;
	if (!ret->cause)
		ret->cause = kill_cause(facts, &ret->fact->reading);
	if (!ret->cause)
		ret->cause = rules_run_cause(facts, ret->fact);
	if (is_guess(ret))
		ret->confidence = CONFIDENCE_LOW;
	else if (ret->fact->signal == SIGNAL_KERNEL_CUT)
		ret->confidence = MAX(ret->confidence, CONFIDENCE_MEDIUM) - 1;
	say_kill(ret, what);
	rules_say_data(facts, ret, NULL);
	if (is_sure || !find_other_end(facts))
		return true;
	ret->confidence = MIN(ret->confidence, CONFIDENCE_MEDIUM);
	rules_say(ret, " The log names another end of its own, so the kill may be of another program.");
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
	if (!is_scope(facts, ret, SCOPE_CGROUP, "A cgroup reached its memory limit,"))
		return false;
	if (!ret->cause)
		ret->cause = cgroup_owner(ret->fact->reading.words);
	return true;
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

/* The flags of the first line are all that is left of the report: less than what a log says of its own end. */
bool rule_kernel_charge(const struct facts *facts, struct verdict *ret)
{
	ret->fact = find_kill(facts) ? NULL : facts_last(facts, SIGNAL_KERNEL_CUT);
	if (ret->fact && !is_tied(facts, ret->fact) && find_other_end(facts))
		return false;
	if (ret->fact)
		rules_say(ret,
			  "The kernel looked for a task to kill when a program touched memory; its flags (GFP_KERNEL) "
			  "are those of a cgroup at its limit." CUT);
	return ret->fact != NULL;
}

bool rule_kernel_invoked(const struct facts *facts, struct verdict *ret)
{
	ret->fact = find_kill(facts) ? NULL : facts_last(facts, SIGNAL_KERNEL_INVOKED);
	if (ret->fact)
		rules_say(ret,
			  "The kernel looked for a task to kill for want of memory; what is left does not say whether "
			  "the node or a limit was full." CUT);
	return ret->fact != NULL;
}
