/* SPDX-License-Identifier: Apache-2.0 */
/* What runtimes, service managers and schedulers say of an end, in their own words. */
#include "triage/signals.h"

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

/* containerd: "TaskOOM event container_id:\"...\""; conmon, the monitor of CRI-O and Podman: "<ninfo>: OOM received".
 */
bool read_oom_noted(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (is_mention(line, line->at))
		return false;
	if (is_unit_kill(line->lower))
		return is_container_unit(line->lower);
	return strstr(line->lower, "taskoom event") || strstr(line->lower, "conmon");
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

/* The end of a job or a program with code 0; of one of several containers or checks it proves nothing. */
bool read_exit_zero(const struct line *line, struct reading *ret)
{
	(void)ret;
	return is_exit_code(line->lower, 0) && text_has(line->lower, "job |training|main process") &&
	       !is_mention(line, line->at);
}
