/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/node.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "triage/line.h"

#include <ctype.h>
#include <stdio.h>

/* Names in lower case, as sysctl and /proc/meminfo print them. */
static const struct key {
	const char *name;
	int64_t unit;
} keys[NODE_COUNT_] = {
	[NODE_OVERCOMMIT] = {"vm.overcommit_memory", 1},
	[NODE_OVERCOMMIT_RATIO] = {"vm.overcommit_ratio", 1},
	[NODE_OVERCOMMIT_BYTES] = {"vm.overcommit_kbytes", KIB},
	[NODE_PANIC] = {"vm.panic_on_oom", 1},
	[NODE_MIN_FREE] = {"vm.min_free_kbytes", KIB},
	[NODE_TOTAL] = {"memtotal", KIB},
	[NODE_AVAILABLE] = {"memavailable", KIB},
	[NODE_SWAP] = {"swaptotal", KIB},
	[NODE_COMMIT_LIMIT] = {"commitlimit", KIB},
	[NODE_COMMITTED] = {"committed_as", KIB},
	[NODE_HUGEPAGES] = {"hugepages_total", 1},
	[NODE_HUGEPAGE_SIZE] = {"hugepagesize", KIB},
	[NODE_HUGETLB] = {"hugetlb", KIB},
	[NODE_BALLOON] = {"balloon", KIB},
	[NODE_MAPPED_4K] = {"directmap4k", KIB},
	[NODE_MAPPED_2M] = {"directmap2m", KIB},
	[NODE_MAPPED_4M] = {"directmap4m", KIB},
	[NODE_MAPPED_1G] = {"directmap1g", KIB},
	[NODE_KILLS] = {"oom_kill", 1},
	[NODE_PRESSURE] = {"avg300", 1}, /* behind "some" */
	[NODE_PODS_LIMIT] = {"", 1},	 /* see read_pods_limit */
};

void node_init(struct node *self)
{
	*self = (struct node){0};
	for (size_t i = 0; i < NODE_COUNT_; i++)
		self->values[i] = FIGURE_NONE;
}

/* The value behind `name`, with blanks, `=` or `:` between. A size that no machine has is no value. */
static bool read_value(const char *at, const struct key *key, int64_t *ret)
{
	size_t n = strlen(key->name), between;
	int64_t value;

	if (!n || strncmp(at, key->name, n) != 0)
		return false;
	between = strspn(at + n, " \t=:");
	if (!between || !text_number(at + n + between, &value) || value > FIGURE_MAX / key->unit)
		return false;
	*ret = value * key->unit;
	return true;
}

/* The number behind `name`, which may be written with `=`, `:` or a blank, is `number` and no longer one. */
static const char *find_setting(const char *lower, const char *name, const char *number)
{
	const char *at = strstr(lower, name);

	if (!at)
		return NULL;
	at += strlen(name);
	at += strspn(at, " \t=:\"");
	return strstarts(at, number) && !isdigit((unsigned char)at[strlen(number)]) ? at + strlen(number) : NULL;
}

/* "/sys/fs/cgroup/kubepods.slice/memory.max:67108864", "/sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes:67108864":
 * not of the classes of pods below. */
static void read_pods_limit(struct node *self, const char *lower)
{
	const char *at = text_find(lower, "kubepods/memory.|kubepods.slice/memory.");
	int64_t value;

	at = at ? text_find(at, "memory.max:|memory.limit_in_bytes:") : NULL;
	at = at ? strchr(at, ':') + 1 : NULL;
	if (at && strstarts(at, "max"))
		self->values[NODE_PODS_LIMIT] = FIGURE_MAX;
	else if (at && text_number(at, &value))
		self->values[NODE_PODS_LIMIT] = MIN(value, FIGURE_MAX);
}

/* "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/.../memory.high:1900000000", or "max" */
static bool has_high(const char *lower)
{
	const char *at = strstr(lower, "kubepods") ? strstr(lower, "memory.high:") : NULL;

	return at && isdigit((unsigned char)at[strlen("memory.high:")]);
}

/* Daemons such as sshd and udevd are exempt with good reason. */
static void read_process(struct node *self, const char *lower)
{
	const char *at = find_setting(lower, "oom_score_adj", "-1000");

	if (!at)
		at = find_setting(lower, "oomscoreadjust", "-1000");
	if (!at)
		at = find_setting(lower, "--oom-score-adj", "-1000");
	if (!at || self->exempt[0] ||
	    !text_has(lower, "python|torch|deepspeed|pt_main_thread|pt_data_worker|ray::|train.py|train.sh|trainer"))
		return;
	at += strspn(at, " \t");
	snprintf(self->exempt, sizeof(self->exempt), "%s", *at ? at : "a training process");
	utf8_clean(self->exempt);
}

static void read_words(struct node *self, const char *lower)
{
	if (streq(lower, "cgroup2fs"))
		self->cgroup_version = 2;
	if (streq(lower, "tmpfs"))
		self->cgroup_version = 1;
	if (text_has(lower, "kubepods|kubelet") && !text_has(lower, "no such file|cannot access|not found"))
		self->is_kubernetes = true;
	if (find_setting(lower, "oom_kill_disable", "1") || strstr(lower, "\"oomkilldisable\": true") ||
	    (strstr(lower, "--oom-kill-disable") && !strstr(lower, "--oom-kill-disable=false")))
		self->is_kill_disabled = true;
	self->is_throttled = self->is_throttled || has_high(lower);
	read_pods_limit(self, lower);
	read_process(self, lower);
}

void node_read(struct node *self, const char *lower)
{
	const char *at = lower + strspn(lower, " \t");

	/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" */
	if (strstarts(at, "some ") && strstr(at, "avg300="))
		at = strstr(at, "avg300=");
	for (size_t i = 0; i < NODE_COUNT_; i++)
		if (read_value(at, &keys[i], &self->values[i]))
			return;
	read_words(self, at);
}

/* ---- figures ---- */

int64_t node_committable(const struct node *self)
{
	int64_t limit = self->values[NODE_COMMIT_LIMIT], committed = self->values[NODE_COMMITTED];

	if (limit == FIGURE_NONE || committed == FIGURE_NONE)
		return FIGURE_NONE;
	return MAX(limit - committed, 0);
}

int64_t node_hugepages(const struct node *self)
{
	int64_t pages = self->values[NODE_HUGEPAGES], size = self->values[NODE_HUGEPAGE_SIZE], bytes;

	if (node_has(self, NODE_HUGETLB))
		return self->values[NODE_HUGETLB];
	if (pages == FIGURE_NONE || size == FIGURE_NONE || __builtin_mul_overflow(pages, size, &bytes))
		return FIGURE_NONE;
	return bytes <= FIGURE_MAX ? bytes : FIGURE_NONE;
}

int64_t node_mapped(const struct node *self)
{
	int64_t sum = FIGURE_NONE;

	for (int i = NODE_MAPPED_4K; i <= NODE_MAPPED_1G; i++)
		if (node_has(self, (enum node_value)i))
			sum = MAX(sum, 0) + self->values[i];
	return sum;
}

size_t node_missing(const struct node *self, const char *ret[NODE_GAPS_MAX])
{
	size_t n = 0;

	if (!node_has(self, NODE_OVERCOMMIT))
		ret[n++] = "The node's overcommit setting was not given: sysctl vm";
	if (!node_has(self, NODE_TOTAL))
		ret[n++] = "The node's memory was not given: cat /proc/meminfo";
	if (!self->cgroup_version)
		ret[n++] = "The node's cgroup version was not given: stat -fc %T /sys/fs/cgroup";
	if (!self->is_kubernetes)
		ret[n++] = "Neither kubepods nor a kubelet was seen, so the node counts as one without Kubernetes: "
			   "ls /sys/fs/cgroup /sys/fs/cgroup/memory";
	return n;
}
