/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/signals.h"

#include "k8s/quantity.h"
#include "triage/slurm.h"

#include <ctype.h>

/* The kubelet prints quantities, as their authors wrote them: "2G" is 2000000000, and "2Gi" 2147483648 bytes. `at`: in
 * line->lower. */
static bool read_quantity(const struct line *line, const char *at, int64_t *ret)
{
	const char *text = line->text + (at - line->lower);
	size_t n = strspn(text, "0123456789.+-eEinumkKMGTPE");
	struct quantity quantity;

	n -= n && text[n - 1] == '.'; /* the end of the sentence */
	if (quantity_parse(text, n, &quantity, NULL) != 0)
		return text_size(at, true, ret) > 0;
	*ret = quantity_value(&quantity);
	return *ret >= 0;
}

static void read_quantity_of(const struct line *line, const char *label, enum figure figure, struct reading *ret)
{
	const char *at = strstr(line->lower, label);
	int64_t bytes;

	if (at && read_quantity(line, at + strlen(label), &bytes))
		figures_set(&ret->figures, figure, bytes);
}

/* "Container trainer was using 31Gi, request is 0", and more containers behind it: the one that used the most. Before
 * 1.23: "was using 31Gi, which exceeds its request of 0". */
static void read_consumer(const struct line *line, struct reading *ret)
{
	int64_t most = -1, bytes;

	for (const char *at = strstr(line->lower, " was using "); at; at = strstr(at + 1, " was using ")) {
		const char *name = at, *request = text_find(at, "request is |request of ");

		if (!read_quantity(line, at + strlen(" was using "), &bytes) || bytes <= most)
			continue;
		most = bytes;
		while (name > line->lower && name[-1] != ' ')
			name--;
		reading_copy(ret->name, MIN(sizeof(ret->name), (size_t)(at - name) + 1),
			     line->text + (name - line->lower), "");
		figures_set(&ret->figures, FIGURE_USAGE, bytes);
		if (request && read_quantity(line, request + strlen("request is "), &bytes))
			figures_set(&ret->figures, FIGURE_REQUEST, bytes);
	}
}

/* The kubelet's figures: what the node had, what a container used, and a limit that was exceeded. */
static void read_eviction(const struct line *line, struct reading *ret)
{
	const char *name = strstr(line->lower, "container ");

	read_consumer(line, ret);
	read_quantity_of(line, "threshold quantity: ", FIGURE_THRESHOLD, ret);
	read_quantity_of(line, "available: ", FIGURE_AVAILABLE, ret);
	read_quantity_of(line, "ephemeral storage limit \"", FIGURE_LIMIT, ret);
	read_quantity_of(line, "exceeds the limit \"", FIGURE_LIMIT, ret);
	read_quantity_of(line, "total limit of containers ", FIGURE_LIMIT, ret);
	if (name && !ret->name[0])
		reading_copy(ret->name, sizeof(ret->name), line->text + (name - line->lower) + 10, " ");
}

/* The kubelet's journal: "must evict pod(s) to reclaim" with the resource behind it. */
static bool is_reclaimed(const char *lower, const char *resources)
{
	const char *at = strstr(lower, "must evict pod(s) to reclaim");

	return !at || text_has(at, resources);
}

bool read_evicted_memory(const struct line *line, struct reading *ret)
{
	read_eviction(line, ret);
	return is_reclaimed(line->lower, "reclaim memory|=\"memory|allocatablememory") && !is_mention(line, line->at);
}

bool read_evicted_storage(const struct line *line, struct reading *ret)
{
	read_eviction(line, ret);
	return text_has(line->lower, "low on resource|exceed|had condition|must evict") &&
	       is_reclaimed(line->lower, "ephemeral|nodefs|imagefs|inodes|containerfs") && !is_mention(line, line->at);
}

/* Whether the name of a field ends at `end`: a reason, a state, a status, or a verb that reports an end. */
static bool is_field_before(const char *lower, const char *end)
{
	static const char *const names[] = {"reason", "terminated", "state",  "status", "init",	 "warning",
					    "error",  "failed",	    "exited", "killed", "cause", "code"};

	while (end > lower && strchr("\"'` ", end[-1]))
		end--;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i]);

		if ((size_t)(end - lower) >= n && memcmp(end - n, names[i], n) == 0)
			return true;
	}
	return false;
}

/* "was OOMKilled", but not "if a pod was OOMKilled". */
static bool is_passive(const char *lower, const char *at)
{
	char before[65];
	size_t n = text_before(lower, at, before, sizeof(before));

	return n >= 4 && text_has(before + n - 4, "was |een |got ") &&
	       !text_has(before, "if |when |whether |why |how ");
}

/* The column STATUS of "kubectl get pods" behind READY: "0/1     OOMKilled". */
static bool is_column(const char *lower, const char *at)
{
	while (at > lower && at[-1] == ' ')
		at--;
	if (at == lower || !isdigit((unsigned char)at[-1]))
		return false;
	while (at > lower && isdigit((unsigned char)at[-1]))
		at--;
	return at > lower + 1 && at[-1] == '/' && isdigit((unsigned char)at[-2]);
}

/* Whether the word is the label of a series of Prometheus: name{reason="OOMKilled"}. */
static bool is_label(const char *lower, const char *at, const char *end)
{
	while (at > lower && strchr("\"' ", at[-1]))
		at--;
	return at > lower + 1 && at[-1] == '=' && memchr(lower, '{', (size_t)(at - lower)) && strchr(end, '}');
}

/* A line of a query or a call that goes over several: nothing but `reason="OOMKilled",`. */
static bool is_part_of_call(const struct line *line, const char *at, const char *end)
{
	const char *name = line->lower + line->body;

	name += strspn(name, "abcdefghijklmnopqrstuvwxyz_");
	return name > line->lower + line->body && name[0] == '=' && name[1] == '"' && name + 2 == at && *end == '"' &&
	       !end[1 + strspn(end + 1, ",)]} ")];
}

/* A value above 0 behind the labels: in a query or an alert there is none. */
static bool is_series_above_0(const char *end)
{
	int64_t value;

	end = strchr(end, '}') + 1;
	end += strspn(end, " ");
	if (strstarts(end, "=> "))
		end += strlen("=> ");
	return text_number(end, &value) && value > 0;
}

/* Whether the word reports an end: as the value of a field ("reason":"OOMKilled", Reason [OOMKilled]), as a field that
 * is true ("OOMKilled": true), as a column, alone on its line. In prose and in code it only names the reason. */
static bool is_oomkilled(const struct line *line, const char *at)
{
	const char *end = at + strlen("oomkilled") + (at[3] == ' '), *start = at, *value = end + strspn(end, "\"'` ");

	if (is_label(line->lower, at, end))
		return is_series_above_0(end);
	if (is_part_of_call(line, at, end))
		return false;
	if (*value == ':' || *value == '=') {
		value += strspn(value, ":=\"'` ");
		if (strstarts(value, "true"))
			return true;
		if (strstarts(value, "false") || *value == '0')
			return false;
	}
	while (start > line->lower && strchr("\"'[( ", start[-1]))
		start--;
	/* Not "==" of a program. */
	if (start > line->lower + 1 && strchr(":=", start[-1]) && !strchr("=!", start[-2]) &&
	    is_field_before(line->lower, start - 1))
		return true;
	return is_field_before(line->lower, start) || is_column(line->lower, at) || is_passive(line->lower, at) ||
	       strstarts(end, " (exit code") || (at == line->lower + line->body && !end[strspn(end, ". ")]);
}

/* docker events: "2019-05-04T18:05:45.011-05:00 container oom 29d72966e0be (image=...)": the id in hexadecimal. */
static bool is_docker_event(const char *lower)
{
	const char *at = strstr(lower, " container oom ") + strlen(" container oom ");

	return strspn(at, "0123456789abcdef") >= 12;
}

/* The reason of a container's end, or a metric above 0. */
bool read_oom_killed(const struct line *line, struct reading *ret)
{
	const char *at = line->at;

	/* A row of memory.events. */
	if (strstr(line->lower, "oom_kill") == at) {
		ret->is_exact = true;
		at += strlen("oom_kill");
		at += strspn(at, " :=");
		return text_number(at, &ret->value) && ret->value > 0 && !at[strspn(at, "0123456789")];
	}
	if (strstr(line->lower, "container_oom_events_total")) {
		const char *last = strrchr(line->lower, ' ');

		ret->is_exact = true;
		return last && text_number(last + 1, &ret->value) && ret->value > 0;
	}
	/* "Tasks in PATH are going to be killed due to memory.oom.group set" */
	if (strstr(line->lower, "memory.oom.group set") == at)
		cgroup_pod_uid(line->text, ret->uid);
	/* Until 2015 Kubernetes wrote two words. */
	if (text_find(line->lower, "oomkilled|oom killed") != at)
		return !is_mention(line, at) &&
		       (!strstr(line->lower, " container oom ") || is_docker_event(line->lower));
	while (at && !is_oomkilled(line, at))
		at = text_find(at + 1, "oomkilled|oom killed");
	return at && !is_mention(line, at);
}

bool read_killer(const struct line *line, struct reading *ret)
{
	(void)ret;
	return text_has(line->lower, "sending sigterm to |sending sigkill to |killing |killed |attempting to kill ");
}

/* How srun says that tasks ended: "srun: error: node7: task 0: Killed", "srun: error: node7: tasks 0-3: Out Of Memory"
 */
static bool is_srun_end(const char *lower, const char *words)
{
	const char *at = strstr(lower, "srun: error: "), *end;

	at = at ? text_find(at, ": task ") ? text_find(at, ": task ") : text_find(at, ": tasks ") : NULL;
	end = at ? strchr(at + 2, ':') : NULL;
	return end && strncmp(end, ": ", 2) == 0 && strstarts(end + 2, words);
}

bool read_slurm(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (strstr(line->lower, "srun: error: "))
		return is_srun_end(line->lower, "out of memory");
	if (strstarts(line->at, "out_of_me"))
		return slurm_is_out_of_memory(line);
	return !is_mention(line, line->at);
}

/* "7.2 GB of 4.2 GB virtual memory used", "8.3 GB of 8 GB physical memory used" */
bool read_yarn(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, " physical memory used| virtual memory used"), *of;
	int64_t bytes;

	if (at && text_size_before(line->lower, at, &bytes))
		figures_set(&ret->figures, FIGURE_LIMIT, bytes);
	for (of = at; at && of > line->lower && strncmp(of, " of ", 4) != 0;)
		of--;
	if (at && of > line->lower && text_size_before(line->lower, of, &bytes))
		figures_set(&ret->figures, FIGURE_USAGE, bytes);
	return !is_mention(line, line->at);
}

/* earlyoom need not name itself: "sending SIGTERM to process 12 uid 0 "python3": badness 209, VmRSS 2891 MiB". */
bool read_earlyoom(const struct line *line, struct reading *ret)
{
	if (strstr(line->lower, "earlyoom"))
		return read_killer(line, ret);
	return text_has(line->lower, "sending sigterm to process |sending sigkill to process |killing process ");
}

/* A shell's report of a command: "/bin/bash: line 27:   318 Killed                  python train.py" */
static bool is_shell_end(const char *lower, const char *word)
{
	const char *at = strstr(lower, ": line ");
	int64_t number;
	size_t n;

	for (int i = 0; at && i < 2; i++) {
		at += i ? strspn(at, ": ") : strlen(": line ");
		n = text_number(at, &number);
		at = n ? at + n : NULL;
	}
	at = at ? at + strspn(at, " ") : NULL;
	return at && strstarts(at, word) && strchr(" ", at[strlen(word)]);
}

/* A bus error counts where it is a child's end; a path below /dev/shm where something failed on it. */
bool read_shm(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower;
	const char *at = line->at;

	(void)ret;
	if (is_mention(line, at) && !text_has(lower, "bus error"))
		return false;
	if (text_has(lower, "bus error"))
		return text_has(lower, "signal|worker|core dumped|insufficient shared|fatal|unexpected") ||
		       lower + line->body == at || is_shell_end(lower, "bus error");
	if (text_has(lower, "insufficient shared memory"))
		return true;
	/* PostgreSQL has these words for its table of locks. */
	if (strstr(lower, "out of shared memory"))
		return text_has(lower, "worker|loader");
	/* Another error than that the file system is full. */
	if (text_has(lower, "too many open files|permission denied|no such file|file exists|cannot allocate memory"))
		return false;
	if (text_has(lower, "shared memory object|</torch_|shared memory manager"))
		return text_has(lower, "unable|no space|could not|failed|not enough");
	/* NCCL allocates its segments of shared memory with it. */
	if (strstr(lower, "posix_fallocate") && !text_has(lower, "nccl|/dev/shm"))
		return false;
	return text_has(lower, "no space left|failed to extend|not enough space|not enough memory to write|errno 28|"
			       "disk quota") ||
	       line_ends_with(line, ": no space"); /* somebody has wrapped the message */
}

static bool is_launcher_kill(const char *lower)
{
	return text_has(lower, "forcefully|via sigkill|escalat|sending sigkill|sending signal 9|to kill");
}

/* SIGKILL of a child that the launcher did not send itself. */
bool read_child_killed(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower;

	(void)ret;
	if (is_launcher_kill(lower) || is_list_of_causes(lower) || is_mention(line, line->at))
		return false;
	return is_exit_code(lower, -9) || is_shell_end(lower, "killed") || is_srun_end(lower, "killed") ||
	       text_has(lower, "return code = -9|return code -9|signal 9 (sigkill)|killed by signal 9|"
			       "signal 9 (killed)|received by pid|killed by sigkill|signal: 9|by signal: sigkill|"
			       "with signal sigkill|signals.sigkill|status=9/kill");
}

/* What a shell says of a program that got SIGKILL: "Killed", "[1]+  Killed    python train.py", "zsh: killed     python
 * train.py"; GNU time: "Command terminated by signal 9". */
bool read_shell_killed(const struct line *line, struct reading *ret)
{
	const char *start = line->lower + line->body, *at = line->at, *end = at + strlen("killed");

	(void)ret;
	if (strstarts(at, "terminated by signal 9"))
		return strstarts(start, "command ") && at == start + strlen("command ");
	if (at == start)
		return !end[strspn(end, " ")];
	if (strstarts(start, "zsh: "))
		start += strlen("zsh: ");
	start += strspn(start, "[]0123456789+- ");
	return at == start && (!*end || strstarts(end, "  "));
}

bool read_child_bus(const struct line *line, struct reading *ret)
{
	(void)ret;
	return (text_has(line->lower, "sigbus|signal 7") || is_srun_end(line->lower, "bus error") ||
		is_exit_code(line->lower, -7) || is_exit_code(line->lower, 135)) &&
	       !is_mention(line, line->at);
}

bool read_exit_137(const struct line *line, struct reading *ret)
{
	ret->value = 137;
	return (is_exit_code(line->lower, 137) ||
		text_has(line->lower, "code=137|returned 137|exited with 137|with code 137")) &&
	       !is_mention(line, line->at);
}

bool read_disk_full(const struct line *line, struct reading *ret)
{
	(void)ret;
	return !text_has(line->lower, "/dev/shm|shared memory|</torch_|call to posix_fallocate") &&
	       !is_mention(line, line->at);
}
