/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/signals.h"

#include <ctype.h>

/* Where a limit is, by the path of its cgroup. Kubernetes' paths are kubepods[.slice]/[QoS/]pod<uid>/<container> in
 * both drivers and all runtimes: what comes behind the pod's part is a container. */
static enum scope scope_of_path(const char *path)
{
	const char *pod = strstr(path, "/pod");
	size_t n;

	for (const char *at = strstr(path, "-pod"); at; at = strstr(at + 1, "-pod"))
		if (isxdigit((unsigned char)at[4]))
			pod = at;
	if (!strstr(path, "kubepods"))
		return SCOPE_CGROUP;
	if (!pod)
		return SCOPE_KUBEPODS;
	n = strcspn(pod + 1, "/");
	return pod[1 + n] == '/' && pod[2 + n] ? SCOPE_CONTAINER : SCOPE_POD;
}

/* The uid of a pod has 36 characters; systemd's driver writes underscores for its dashes. Pods of files of the kubelet
 * have 32 digits. */
const char *cgroup_pod_uid(const char *path, char uid[READING_UID_BYTES])
{
	for (const char *at = strstr(path, "pod"); at; at = strstr(at + 1, "pod")) {
		size_t n = strspn(at + 3, "0123456789abcdefABCDEF-_");

		if (n < 32 || n >= READING_UID_BYTES)
			continue;
		for (size_t i = 0; i < n; i++)
			uid[i] = at[3 + i] == '_' ? '-' : at[3 + i];
		uid[n] = '\0';
		return at + 3 + n;
	}
	return NULL;
}

/* Slurm: "/slurm/uid_1000/job_55/step_0", "/system.slice/slurmstepd.scope/job_55/step_0"; Docker and Podman:
 * "/docker/ID",
 * "/system.slice/docker-ID.scope", "/machine.slice/libpod-ID.scope"; a unit of systemd: "/system.slice/train.service",
 * "/user.slice/user-1000.slice/user@1000.service/run-r1.scope". */
const char *cgroup_owner(const char *path)
{
	if (strstr(path, "kubepods"))
		return NULL;
	if (strstr(path, "/slurm") && strstr(path, "/job_"))
		return "slurm";
	if (text_has(path, "/docker/|/docker-|/libpod-"))
		return "docker";
	return text_has(path, "/user.slice/|/system.slice/") && text_has(path, ".service|.scope") &&
			       !strstr(path, "condor")
		       ? "systemd"
		       : NULL;
}

/* The pod in the path behind a label; else `uid` stays. */
static void read_uid(const struct line *line, const char *label, struct reading *ret)
{
	const char *at = strstr(line->lower, label);
	char path[READING_WORDS_BYTES];

	if (!at)
		return;
	reading_copy(path, sizeof(path), line->text + (at - line->lower) + strlen(label), ", ");
	cgroup_pod_uid(path, ret->uid);
}

/* "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984": the kernel charges what a
 * program touches with GFP_KERNEL alone, while a node without memory most often refuses pages with further flags. The
 * numbers are those of kernels before 4.9, which print no names. */
bool read_kernel_invoked(const struct line *line, struct reading *ret)
{
	if (text_has(line->lower, "gfp_mask=0xd0,|gfp_mask=0x24000c0,|(gfp_kernel),") &&
	    strstr(line->lower, " order=0,"))
		ret->scope = SCOPE_CGROUP;
	return !is_mention(line, line->at);
}

/* A frame of the call trace of a report: "mem_cgroup_out_of_memory+0xbb/0xd0" is the limit of a cgroup;
 * "__alloc_pages_slowpath+0x410/0x9f0" behind "out_of_memory+0xe8/0x3a0" (no scope) is a node without memory. A frame
 * behind "?" may be a leftover. */
bool read_kernel_frame(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "mem_cgroup_out_of_memory+|mem_cgroup_oom_synchronize+"), *start;

	ret->scope = at ? SCOPE_CGROUP : SCOPE_NONE;
	if (!at && strstr(line->lower, "__alloc_pages_"))
		ret->scope = SCOPE_NODE;
	start = at ? at : line->at;
	return start - line->lower < 2 || strncmp(start - 2, "? ", 2) != 0;
}

/* "Memory cgroup stats for /kubepods/burstable/pod.../...:": the kernel prints them of the cgroup at its limit. */
bool read_kernel_stats(const struct line *line, struct reading *ret)
{
	reading_copy(ret->words, sizeof(ret->words),
		     line->text + (line->at - line->lower) + strlen("memory cgroup stats for "), ": ");
	ret->scope = scope_of_path(ret->words);
	cgroup_pod_uid(ret->words, ret->uid);
	return true;
}

/* "Task in A killed as a result of limit of B" (3.10 to 4.x). */
bool read_kernel_limit_of(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "limit of |of cgroup ");

	if (!at)
		return false;
	at = line->text + (at - line->lower) + 9 + (line->lower[at - line->lower] == 'o' ? 1 : 0);
	at += strspn(at, " ");
	reading_copy(ret->words, sizeof(ret->words), at, " ,");
	ret->scope = scope_of_path(ret->words);
	cgroup_pod_uid(ret->words, ret->uid);
	read_uid(line, "task in ", ret);
	return ret->words[0] == '/';
}

/* "memory: usage 1048576kB, limit 1048576kB, failcnt 189" */
bool read_kernel_usage(const struct line *line, struct reading *ret)
{
	const char *usage = strstr(line->lower, "memory: usage ");
	const char *limit = strstr(usage, "limit ");
	int64_t bytes;

	if (text_size(usage + 14, false, &bytes))
		figures_set(&ret->figures, FIGURE_USAGE, bytes);
	/* Without a limit the kernel prints its largest number. */
	if (limit && text_size(limit + 6, false, &bytes) && bytes <= FIGURE_MAX)
		figures_set(&ret->figures, FIGURE_LIMIT, bytes);
	return limit != NULL;
}

/* "Node 0 hugepages_total=1024 hugepages_free=1000 hugepages_surp=0 hugepages_size=2048kB" */
bool read_kernel_hugepages(const struct line *line, struct reading *ret)
{
	int64_t total, size;
	const char *at = strstr(line->lower, "hugepages_size=");

	if (!text_labelled(line->lower, "hugepages_total", &total) || !at || !text_size(at + 15, false, &size))
		return false;
	if (total <= 0 || size <= 0 || total > FIGURE_MAX / size)
		return false;
	figures_set(&ret->figures, FIGURE_HUGEPAGES, total * size);
	return true;
}

/* "33423872 pages RAM" */
bool read_kernel_ram(const struct line *line, struct reading *ret)
{
	const char *at = strstr(line->lower, " pages ram");
	const char *start = at;
	int64_t pages;

	while (start > line->lower && isdigit((unsigned char)start[-1]))
		start--;
	if (!text_number(start, &pages) || pages > FIGURE_MAX / 4096)
		return false;
	figures_set(&ret->figures, FIGURE_NODE_RAM, pages * 4096);
	return true;
}

/* "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),...,oom_memcg=PATH,task_memcg=PATH,task=NAME,pid=N,uid=N" */
bool read_kernel_constraint(const struct line *line, struct reading *ret)
{
	const char *at = strstr(line->lower, "oom-kill:constraint=") + strlen("oom-kill:constraint=");
	const char *path = strstr(line->lower, ",oom_memcg=");
	const char *task = strstr(line->lower, ",task=");

	if (path)
		reading_copy(ret->words, sizeof(ret->words), line->text + (path - line->lower) + 11, ", ");
	else if (strstr(line->lower, ",task_memcg="))
		reading_copy(ret->words, sizeof(ret->words),
			     line->text + (strstr(line->lower, ",task_memcg=") - line->lower) + 12, ", ");
	read_uid(line, ",oom_memcg=", ret);
	read_uid(line, ",task_memcg=", ret);
	if (task)
		reading_copy(ret->name, sizeof(ret->name), line->text + (task - line->lower) + 6, ",");
	text_labelled(line->lower, ",pid=", &ret->value);
	/* A cgroup that is named was at its limit, whatever the constraint says: a task that moves to another cgroup
	 * while its own is full gives CONSTRAINT_NONE. */
	if (path || strncmp(at, "constraint_memcg", 16) == 0)
		ret->scope = path ? scope_of_path(ret->words) : SCOPE_CGROUP;
	else if (strncmp(at, "constraint_none", 15) == 0)
		ret->scope = SCOPE_NODE;
	else if (strncmp(at, "constraint_cpuset", 17) == 0 || strncmp(at, "constraint_memory_policy", 24) == 0)
		ret->scope = SCOPE_POLICY;
	return ret->scope != SCOPE_NONE;
}

/* The process: "Killed process 28438 (java) total-vm:...". A name may contain brackets. */
static void read_victim(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "killed process |kill process ");
	const char *name, *end;

	if (!at)
		return;
	at = strchr(at, ' ') + strlen(" process ");
	at += text_number(at, &ret->value);
	name = strchr(at, '(');
	if (!name || name > at + 2)
		return;
	end = text_find(name, ") total-vm|), uid|) score|) vm");
	if (!end)
		end = strrchr(name, ')');
	if (!end)
		return;
	reading_copy(ret->name, MIN(sizeof(ret->name), (size_t)(end - name)), line->text + (name - line->lower) + 1,
		     "");
}

static void read_rss_of(const char *lower, const char *label, enum figure figure, struct reading *ret)
{
	const char *at = strstr(lower, label);
	int64_t bytes;

	if (at && text_size(at + strlen(label), false, &bytes))
		figures_set(&ret->figures, figure, bytes);
}

bool read_kernel_kill(const struct line *line, struct reading *ret)
{
	const char *at = line->at;

	if (is_mention(line, at) || text_has(line->lower, "earlyoom|systemd-oomd|oomd["))
		return false;
	read_victim(line, ret);
	read_rss_of(line->lower, "anon-rss:", FIGURE_ANON_RSS, ret);
	read_rss_of(line->lower, "shmem-rss:", FIGURE_SHMEM_RSS, ret);
	/* Where the node has nothing to kill, the kernel panics; at the limit of a cgroup it goes on. */
	if (text_has(line->lower, "memory cgroup out of memory") ||
	    (strstr(line->lower, "no killable processes") && !strstr(line->lower, "not syncing")))
		ret->scope = SCOPE_CGROUP;
	else if (text_has(line->lower, "out of memory|deadlocked on memory"))
		ret->scope = SCOPE_NODE;
	else if (text_has(line->lower, "due to memory.oom.group"))
		ret->scope = SCOPE_CGROUP;
	return ret->scope != SCOPE_NONE || ret->value >= 0;
}
