/* SPDX-License-Identifier: Apache-2.0 */
/* What runtimes, service managers and schedulers say of an end, in their own words. */
#include "triage/signals.h"

#include <stddef.h>

/* systemd: "cri-containerd-ID.scope: A process of this unit has been killed by the OOM killer.",
 * "train.service: Failed with result 'oom-kill'." */
static bool is_unit_kill(const char *lower)
{
	return text_has(lower, "has been killed by the oom killer|failed with result 'oom-kill'");
}

/* Whether the unit is a container, or a job of Slurm: such units have a memory limit. */
static bool is_container_unit(const char *lower)
{
	return strstr(lower, ".scope") && text_has(lower, "cri-containerd-|crio-|docker-|libpod-|slurmstepd");
}

/* Amazon ECS: "process within container ID died due to OOM"; Vertex AI: "The replica master 0 ran out-of-memory and
 * exited with a non-zero status of 9(SIGKILL)". Others only guess. */
static bool is_container_end(const char *lower)
{
	return text_has(lower, "container|replica|task|pod ") && text_has(lower, "died|killed|exited|terminated") &&
	       text_has(lower, "due to oom|out-of-memory and exited") &&
	       !text_has(lower, "likely|probably|possib|perhaps|maybe|could |potential|usually|often");
}

/* containerd: "TaskOOM event container_id:\"...\""; conmon, the monitor of CRI-O and Podman: "<ninfo>: OOM received".
 */
bool read_oom_noted(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (is_mention(line, line->at))
		return false;
	if (is_unit_kill(line->lower))
		return is_container_unit(line->lower);
	return text_has(line->lower, "taskoom event") ||
	       (strstr(line->lower, "conmon") && text_has(line->lower, "oom received|oom event received")) ||
	       is_container_end(line->lower);
}

/* Bytes around the verb that a scheduler's sentence takes. */
#define JOB_LIMIT_BYTES 64

/* The figures that PBS and HTCondor print: "mem 38427376kb exceeded limit 33554432kb", "Job has gone over memory limit
 * of 16384 megabytes. Peak usage: 16328 megabytes." */
static void read_job_figures(const char *lower, struct reading *ret)
{
	static const struct {
		const char *label;
		enum figure figure;
	} labels[] = {{"exceeded limit ", FIGURE_LIMIT}, {"limit of ", FIGURE_LIMIT}, {"peak usage: ", FIGURE_USAGE}};
	const char *exceeded = strstr(lower, " exceeded ");
	int64_t bytes;

	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		const char *at = strstr(lower, labels[i].label);

		if (at && text_size(at + strlen(labels[i].label), false, &bytes))
			figures_set(&ret->figures, labels[i].figure, bytes);
	}
	if (exceeded && text_size_before(lower, exceeded, &bytes))
		figures_set(&ret->figures, FIGURE_USAGE, bytes);
}

/* Schedulers that end a job at its limit of memory. LSF: "TERM_MEMLIMIT: job killed after reaching LSF memory usage
 * limit."; PBS: "job killed: mem 38427376kb exceeded limit 33554432kb"; Torque: "Job exceeded a memory resource limit
 * (vmem, pvmem, etc.)."; Moab: "job 3132467 exceeded MEM usage hard limit"; Grid Engine: "job 7 exceeds job hard limit
 * "h_vmem" of queue"; HTCondor: "Job has gone over memory limit of 16384 megabytes." */
bool read_job_limit(const struct line *line, struct reading *ret)
{
	char part[2 * JOB_LIMIT_BYTES];
	const char *start = line->at - MIN(line->at - line->lower, (ptrdiff_t)JOB_LIMIT_BYTES);

	reading_copy(part, sizeof(part), start, "");
	if (!strstr(part, "job") || !strstr(part, "limit") || !text_has(part, "memory|memlimit|vmem| mem ") ||
	    text_has(line->lower,
		     "quota|soft limit|warning|would |will |cannot |must |not exceed|resource limits|% of") ||
	    is_mention(line, line->at))
		return false;
	read_job_figures(line->lower, ret);
	return true;
}

/* Killers that watch the memory of the whole machine, whatever their name is. nohang: "Send SIGTERM to the victim" or
 * "Run the command: kill -TERM 12297", beside "MemAvailable [0 MiB, 0.0 %] <= soft_threshold_min_mem" and "badness:
 * 824"; old versions of earlyoom: "Invoking oom killer: done" beside "Low memory! mem avail: 98 of 5875 MiB (1) % <=
 * min 10 %". */
bool read_low_memory(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower;

	if (is_mention(line, line->at))
		return false;
	ret->is_exact = text_has(lower, "sigterm to the victim|sigkill to the victim|invoking oom killer") ||
			(strstr(lower, "the command") && strstr(lower, "kill -term"));
	return ret->is_exact || strstr(lower, "badness: ") ||
	       (text_has(lower, "memavailable|mem avail") && text_has(lower, "<=|swapfree"));
}

/* The kernel's reaper: "oom_reaper: reaped process 4254 (python3), now anon-rss:0kB". */
bool read_oom_reaped(const struct line *line, struct reading *ret)
{
	const char *at = strstr(line->lower, "oom_reaper: reaped process "), *name;

	if (is_mention(line, line->at))
		return false;
	if (!at)
		return is_unit_kill(line->lower) && !is_container_unit(line->lower);
	at += strlen("oom_reaper: reaped process ");
	at += text_number(at, &ret->value);
	name = strstr(at, "(");
	if (name && strstr(name, "), now"))
		reading_copy(ret->name, MIN(sizeof(ret->name), (size_t)(strstr(name, "), now") - name)),
			     line->text + (name - line->lower) + 1, "");
	return true;
}

/* dask's nanny: "Worker tcp://127.0.0.1:49477 (pid=59029) exceeded 95% memory budget. Restarting..." */
bool read_dask(const struct line *line, struct reading *ret)
{
	(void)ret;
	return text_has(line->lower, "exceeded") && text_has(line->lower, "restarting") && !is_mention(line, line->at);
}

/* "OOMKilled": false, as container runtimes show a container's state. */
bool read_oom_denied(const struct line *line, struct reading *ret)
{
	const char *value = line->at + strlen("oomkilled");

	(void)ret;
	value += strspn(value, "\"'` ");
	if (*value != ':' && *value != '=')
		return false;
	return strstarts(value + strspn(value, ":=\"'` "), "false") && !is_mention(line, line->at);
}

/* A file of shared memory could not be used, for another reason than its size. */
bool read_shm_error(const struct line *line, struct reading *ret)
{
	(void)ret;
	return text_has(line->lower, "no such file|permission denied|file exists|invalid argument") &&
	       text_has(line->lower, "error|fail|unable|could not|cannot") && !is_mention(line, line->at);
}

/* "Loss is nan, stopping training", "FloatingPointError: Loss became infinite or NaN at iteration=12!" */
bool read_nan_loss(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (strstr(line->lower, "stopping training"))
		return text_has(line->lower, "loss is nan|loss is inf|loss is -inf") && !is_mention(line, line->at);
	return !is_mention(line, line->at);
}

/* PostgreSQL's table of locks: "You might need to increase max_locks_per_transaction."; Redis: "OOM command not allowed
 * when used memory > 'maxmemory'." */
bool read_server_limit(const struct line *line, struct reading *ret)
{
	(void)ret;
	return strstr(line->lower, "need to increase max_locks") ||
	       (strstr(line->lower, "command not allowed") && !is_mention(line, line->at));
}

/* The end of a job or a program with code 0; of one of several containers or checks it proves nothing. */
bool read_exit_zero(const struct line *line, struct reading *ret)
{
	(void)ret;
	return is_exit_code(line->lower, 0) && text_has(line->lower, "job |training|main process") &&
	       !is_mention(line, line->at);
}

/* The phase of a pod as "kubectl describe" shows it ("Status:       Succeeded") or as YAML and JSON do ("phase:
 * Succeeded"); a container's code 0, which alone may be that of one of several. */
bool read_completed(const struct line *line, struct reading *ret)
{
	const char *body = line->lower + line->body, *value = body + strspn(body, "\"'");

	ret->is_exact = strstarts(value, "status:  ") || strstarts(value, "phase:") || strstarts(value, "phase\":");
	if (!ret->is_exact)
		return strstr(line->lower, "\"exitcode\"") && is_exit_code(line->lower, 0);
	value += strcspn(value, ":");
	value += strspn(value, ":\"' ");
	return strstarts(value, "succeeded") && !value[9 + strspn(value + 9, "\"',")];
}
