/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/node_rules.h"

#include "base/attr.h"

#include <stdarg.h>
#include <stdio.h>

const char *const node_harm_names[] = {"high", "medium", "low", "none"};

static bool ATTR_PRINTF(3, 4) say(struct node_finding *ret, int64_t bytes, const char *fmt, ...)
{
	va_list args;

	ret->bytes = bytes;
	va_start(args, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, args);
	va_end(args);
	return true;
}

/* Whether a part is known and at least so much of the memory. */
static bool is_share(const struct node *node, int64_t part, int percent)
{
	int64_t total = node->values[NODE_TOTAL];

	return part > 0 && total > 0 && part >= total / 100 * percent;
}

/* A part of the memory in percent; the memory is known and not 0. */
static int share(const struct node *node, int64_t part)
{
	return (int)MIN(part / MAX(node->values[NODE_TOTAL] / 100, 1), 100);
}

/* ---- ends of the whole node ---- */

static bool find_panic(const struct node *node, struct node_finding *ret)
{
	int64_t value = node->values[NODE_PANIC];

	if (value <= 0)
		return false;
	return say(ret, FIGURE_NONE, "vm.panic_on_oom is %lld: %s", (long long)value,
		   value == 1 ? "if the node runs out of memory, the kernel panics and every job on the node ends, "
				"instead of one task."
			      : "a single container that reaches its limit makes the kernel panic, and every job on "
				"the node ends.");
}

static bool find_kill_disabled(const struct node *node, struct node_finding *ret)
{
	return node->is_kill_disabled && node->cgroup_version != 2 &&
	       say(ret, FIGURE_NONE,
		   "The OOM killer is turned off for a container (--oom-kill-disable): at its limit its tasks hang "
		   "without an end or a message, and hold their GPUs; without a limit the node hangs.");
}

static bool find_exempt(const struct node *node, struct node_finding *ret)
{
	return node->exempt[0] &&
	       say(ret, FIGURE_NONE,
		   "A training process (%s) has oom_score_adj=-1000: the kernel never chooses it, and kills tasks "
		   "of the kubelet, of sshd or of other jobs in its place.",
		   node->exempt);
}

/* ---- overcommit ---- */

static bool say_strict(const struct node *node, struct node_finding *ret)
{
	int64_t left = node_committable(node);
	char how[80] = "", figures[200] = "";

	if (node->values[NODE_OVERCOMMIT_BYTES] > 0)
		snprintf(how, sizeof(how), " (vm.overcommit_kbytes: %s)",
			 FIGURE_TEXT(node->values[NODE_OVERCOMMIT_BYTES]));
	else if (node_has(node, NODE_OVERCOMMIT_RATIO))
		snprintf(how, sizeof(how), " (vm.overcommit_ratio: %lld %% of memory, plus swap)",
			 (long long)node->values[NODE_OVERCOMMIT_RATIO]);
	if (left != FIGURE_NONE)
		snprintf(figures, sizeof(figures), " %s of %s may still be committed%s%s%s.", FIGURE_TEXT(left),
			 FIGURE_TEXT(node->values[NODE_COMMIT_LIMIT]), node_has(node, NODE_AVAILABLE) ? ", while " : "",
			 node_has(node, NODE_AVAILABLE) ? FIGURE_TEXT(node->values[NODE_AVAILABLE]) : "",
			 node_has(node, NODE_AVAILABLE) ? " are available" : "");
	return say(ret, left,
		   "vm.overcommit_memory is 2: the kernel refuses what would exceed a fixed sum%s, used or not. CUDA "
		   "and forked loader workers commit far more than they use.%s",
		   how, figures);
}

static bool find_strict_kubernetes(const struct node *node, struct node_finding *ret)
{
	return node->is_kubernetes && node->values[NODE_OVERCOMMIT] == NODE_STRICT && say_strict(node, ret);
}

static bool find_strict(const struct node *node, struct node_finding *ret)
{
	return !node->is_kubernetes && node->values[NODE_OVERCOMMIT] == NODE_STRICT && say_strict(node, ret);
}

static bool find_changed(const struct node *node, struct node_finding *ret)
{
	return node->is_kubernetes && node->values[NODE_OVERCOMMIT] == 0 &&
	       say(ret, FIGURE_NONE,
		   "vm.overcommit_memory is 0, but the kubelet sets 1 when it starts: something has set it back.");
}

static bool find_expected(const struct node *node, struct node_finding *ret)
{
	return node->is_kubernetes && node->values[NODE_OVERCOMMIT] == 1 &&
	       say(ret, FIGURE_NONE,
		   "vm.overcommit_memory is 1, as the kubelet sets it: nothing is refused, and limits decide.");
}

static bool find_always(const struct node *node, struct node_finding *ret)
{
	return !node->is_kubernetes && node->values[NODE_OVERCOMMIT] == 1 &&
	       say(ret, FIGURE_NONE,
		   "vm.overcommit_memory is 1: the kernel refuses no allocation, and one that is too large ends with "
		   "a kill when it is used, not with an error.");
}

static bool find_heuristic(const struct node *node, struct node_finding *ret)
{
	int64_t total = node->values[NODE_TOTAL], swap = node->values[NODE_SWAP], most = FIGURE_NONE;

	if (node->is_kubernetes || node->values[NODE_OVERCOMMIT] != 0)
		return false;
	if (total != FIGURE_NONE && swap != FIGURE_NONE)
		most = total + swap;
	return say(ret, most,
		   "vm.overcommit_memory is 0, the kernel's default: only a single allocation larger than all memory "
		   "and swap%s%s%s is refused.",
		   most == FIGURE_NONE ? "" : " (", most == FIGURE_NONE ? "" : FIGURE_TEXT(most),
		   most == FIGURE_NONE ? "" : ")");
}

/* What is committed says something of a setting that was not seen. */
static bool find_committed(const struct node *node, struct node_finding *ret)
{
	int64_t limit = node->values[NODE_COMMIT_LIMIT], committed = node->values[NODE_COMMITTED];

	if (node_has(node, NODE_OVERCOMMIT) || limit == FIGURE_NONE || committed == FIGURE_NONE)
		return false;
	if (committed > limit)
		return say(ret, committed - limit,
			   "%s are committed, more than the %s of a strict kernel, so vm.overcommit_memory is not 2.",
			   FIGURE_TEXT(committed), FIGURE_TEXT(limit));
	return say(ret, limit - committed,
		   "If vm.overcommit_memory is 2, only %s of %s may still be committed; else nothing is refused for "
		   "that.",
		   FIGURE_TEXT(limit - committed), FIGURE_TEXT(limit));
}

/* ---- memory ---- */

static bool find_hugepages(const struct node *node, struct node_finding *ret)
{
	int64_t bytes = node_hugepages(node);

	return is_share(node, bytes, 25) &&
	       say(ret, bytes,
		   "%s, %d %% of the memory, are reserved as huge pages: nothing else can use them, and a container "
		   "only if it asks for hugepages-2Mi or hugepages-1Gi.",
		   FIGURE_TEXT(bytes), share(node, bytes));
}

static bool find_balloon(const struct node *node, struct node_finding *ret)
{
	int64_t mapped = node_mapped(node), total = node->values[NODE_TOTAL], bytes = node->values[NODE_BALLOON];

	if (is_share(node, bytes, 5))
		return say(ret, bytes, "The balloon of the virtual machine holds %s: the host has taken them back.",
			   FIGURE_TEXT(bytes));
	if (total <= 0 || mapped <= 0 || total >= mapped / 4 * 3)
		return false;
	return say(ret, mapped - total,
		   "The kernel has mapped %s, but MemTotal is %s: a balloon of the virtual machine or a reservation "
		   "of the kernel (crashkernel) probably holds the rest.",
		   FIGURE_TEXT(mapped), FIGURE_TEXT(total));
}

static bool find_short(const struct node *node, struct node_finding *ret)
{
	int64_t available = node->values[NODE_AVAILABLE];

	return node->values[NODE_TOTAL] > 0 && available != FIGURE_NONE && !is_share(node, available, 10) &&
	       say(ret, available, "Only %s of %s are available.", FIGURE_TEXT(available),
		   FIGURE_TEXT(node->values[NODE_TOTAL]));
}

static bool find_reserve(const struct node *node, struct node_finding *ret)
{
	int64_t bytes = node->values[NODE_MIN_FREE];

	return is_share(node, bytes, 5) &&
	       say(ret, bytes, "vm.min_free_kbytes keeps %s, %d %% of the memory, away from all programs.",
		   FIGURE_TEXT(bytes), share(node, bytes));
}

/* What the kubelet keeps from all pods together; FIGURE_NONE: not known. */
static int64_t reserved_bytes(const struct node *node)
{
	if (!node_has(node, NODE_PODS_LIMIT) || node->values[NODE_TOTAL] <= 0)
		return FIGURE_NONE;
	return MAX(node->values[NODE_TOTAL] - node->values[NODE_PODS_LIMIT], 0);
}

static bool find_unreserved(const struct node *node, struct node_finding *ret)
{
	int64_t bytes = reserved_bytes(node);

	return bytes != FIGURE_NONE && !is_share(node, bytes, 1) &&
	       say(ret, bytes,
		   "The pods together may use all but %s of the memory: nearly nothing is reserved for the system and "
		   "the kubelet, so that the kernel kills tasks before the kubelet evicts a pod.",
		   FIGURE_TEXT(bytes));
}

static bool find_reserved(const struct node *node, struct node_finding *ret)
{
	int64_t bytes = reserved_bytes(node);

	return is_share(node, bytes, 1) &&
	       say(ret, bytes, "%s, %d %% of the memory, are reserved for the system: the pods together may use %s.",
		   FIGURE_TEXT(bytes), share(node, bytes), FIGURE_TEXT(node->values[NODE_PODS_LIMIT]));
}

static bool find_memory(const struct node *node, struct node_finding *ret)
{
	int64_t available = node->values[NODE_AVAILABLE], total = node->values[NODE_TOTAL];

	return is_share(node, available, 10) &&
	       say(ret, available, "%s of %s are available.", FIGURE_TEXT(available), FIGURE_TEXT(total));
}

static bool find_pressure(const struct node *node, struct node_finding *ret)
{
	int64_t percent = node->values[NODE_PRESSURE];

	return percent >= 10 &&
	       say(ret, FIGURE_NONE,
		   "In %lld %% of the last five minutes a task waited for memory to be reclaimed or read again (PSI): "
		   "jobs are slow, and a kill is near.",
		   (long long)MIN(percent, 100));
}

static bool find_kills(const struct node *node, struct node_finding *ret)
{
	int64_t kills = node->values[NODE_KILLS];

	return kills > 0 &&
	       say(ret, FIGURE_NONE,
		   "The kernel has killed %lld %s for memory since the node started, at limits of cgroups or of the "
		   "node.",
		   (long long)kills, kills == 1 ? "task" : "tasks");
}

/* ---- cgroups and swap ---- */

static bool find_throttled(const struct node *node, struct node_finding *ret)
{
	return node->is_throttled &&
	       say(ret, FIGURE_NONE,
		   "The kubelet sets memory.high below the limits of containers (memory QoS): beyond it a job is "
		   "slowed "
		   "down until memory is reclaimed, so that it may crawl or hang without a kill.");
}

static bool find_cgroup1(const struct node *node, struct node_finding *ret)
{
	return node->cgroup_version == 1 &&
	       say(ret, FIGURE_NONE,
		   "cgroup v1: no memory.min and memory.high (memory QoS), no NodeSwap, and at a limit one task is "
		   "killed and not the whole container, so a dead loader worker may leave its run hanging.");
}

static bool find_cgroup2(const struct node *node, struct node_finding *ret)
{
	return node->cgroup_version == 2 &&
	       say(ret, FIGURE_NONE, "cgroup v2: memory QoS and kills of whole containers are possible.");
}

static bool find_swap(const struct node *node, struct node_finding *ret)
{
	int64_t bytes = node->values[NODE_SWAP];

	if (bytes <= 0)
		return false;
	return say(ret, bytes, "%s of swap: %s", FIGURE_TEXT(bytes),
		   node->is_kubernetes
			   ? "the kubelet starts only with failSwapOn: false, and gives containers none of it unless "
			     "swapBehavior is LimitedSwap, and then only Burstable ones."
			   : "a limit (memory.max) does not count it, so a job beyond its memory becomes slow instead "
			     "of being killed, unless memory.swap.max is 0.");
}

static bool find_no_swap(const struct node *node, struct node_finding *ret)
{
	return node->values[NODE_SWAP] == 0 &&
	       say(ret, 0, "No swap: a limit is a hard end, and what is over it is killed.");
}

const struct node_rule node_rules[] = {
	{"panic-on-oom", HARM_HIGH, find_panic, "vm.panic_on_oom is not 0", "sysctl -w vm.panic_on_oom=0"},
	{"oom-kill-disabled", HARM_HIGH, find_kill_disabled,
	 "a container runs with --oom-kill-disable (oom_kill_disable 1 in memory.oom_control), which cgroup v2 does "
	 "not "
	 "have",
	 "Remove --oom-kill-disable."},
	{"oom-score-exempt", HARM_HIGH, find_exempt, "a training process has oom_score_adj=-1000",
	 "Remove the setting (OOMScoreAdjust=, --oom-score-adj) from the job."},
	{"overcommit-strict-kubernetes", HARM_HIGH, find_strict_kubernetes,
	 "vm.overcommit_memory is 2 on a node of Kubernetes; the kubelet sets 1", "sysctl -w vm.overcommit_memory=1"},
	{"overcommit-strict", HARM_HIGH, find_strict,
	 "vm.overcommit_memory is 2 elsewhere; with the default vm.overcommit_ratio of 50 and no swap half of the "
	 "memory "
	 "can be had",
	 "sysctl -w vm.overcommit_memory=0"},
	{"hugepages-reserved", HARM_MEDIUM, find_hugepages, "at least 25 % of the memory is reserved as huge pages",
	 "sysctl -w vm.nr_hugepages=N, with the N that programs really use"},
	{"balloon", HARM_MEDIUM, find_balloon,
	 "the Balloon of /proc/meminfo is at least 5 % of MemTotal, or MemTotal is below 75 % of the sum of DirectMap",
	 "Give the virtual machine fixed memory, or turn its balloon off."},
	{"memory-short", HARM_MEDIUM, find_short, "MemAvailable is below 10 % of MemTotal",
	 "ps -eo rss,pid,args --sort=-rss | head, and df -h -t tmpfs: who holds it"},
	{"reserve-large", HARM_MEDIUM, find_reserve, "vm.min_free_kbytes is at least 5 % of the memory",
	 "sysctl -w vm.min_free_kbytes=N, with an N below 1 % of the memory"},
	{"nothing-reserved", HARM_MEDIUM, find_unreserved,
	 "the limit of the cgroup kubepods leaves less than 1 % of MemTotal to the system",
	 "kubelet: systemReserved, kubeReserved, evictionHard: memory.available"},
	{"memory-pressure", HARM_MEDIUM, find_pressure,
	 "a task waited for memory in at least 10 % of the last five minutes (avg300 of some in /proc/pressure/memory)",
	 "ps -eo rss,pid,args --sort=-rss | head, and df -h -t tmpfs: who holds it"},
	{"memory-throttled", HARM_MEDIUM, find_throttled, "memory.high of a cgroup below kubepods is not max",
	 "kubelet: no memoryThrottlingFactor; or a limit of request + (peak - request) / memoryThrottlingFactor"},
	{"cgroup-v1", HARM_MEDIUM, find_cgroup1, "the file system of /sys/fs/cgroup is tmpfs",
	 "Boot with systemd.unified_cgroup_hierarchy=1."},
	{"overcommit-changed", HARM_LOW, find_changed, "vm.overcommit_memory is 0 on a node of Kubernetes",
	 "sysctl -w vm.overcommit_memory=1"},
	{"overcommit-always", HARM_LOW, find_always, "vm.overcommit_memory is 1 elsewhere",
	 "Keep it for programs that need it (Redis); else sysctl -w vm.overcommit_memory=0"},
	{"oom-kills", HARM_LOW, find_kills, "oom_kill of /proc/vmstat is not 0",
	 "dmesg -T | grep -i 'killed process': which, and when"},
	{"swap", HARM_LOW, find_swap, "SwapTotal is not 0", "cat /sys/fs/cgroup/JOB/memory.swap.max"},
	{"committed", HARM_NONE, find_committed,
	 "vm.overcommit_memory is not known, and CommitLimit and Committed_AS are", NULL},
	{"no-swap", HARM_NONE, find_no_swap, "SwapTotal is 0", NULL},
	{"overcommit-expected", HARM_NONE, find_expected, "vm.overcommit_memory is 1 on a node of Kubernetes", NULL},
	{"overcommit-heuristic", HARM_NONE, find_heuristic, "vm.overcommit_memory is 0 elsewhere", NULL},
	{"cgroup-v2", HARM_NONE, find_cgroup2, "the file system of /sys/fs/cgroup is cgroup2fs", NULL},
	{"reserved", HARM_NONE, find_reserved, "the limit of the cgroup kubepods leaves at least 1 % of MemTotal",
	 NULL},
	{"memory", HARM_NONE, find_memory, "MemAvailable is at least 10 % of MemTotal", NULL},
};
const size_t n_node_rules = ARRAY_LEN(node_rules);

bool node_find(const struct node *node, size_t i, struct node_finding *ret)
{
	*ret = (struct node_finding){.rule = &node_rules[i], .bytes = FIGURE_NONE};
	return node->is_given && node_rules[i].test(node, ret);
}
