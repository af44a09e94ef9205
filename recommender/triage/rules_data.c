/* SPDX-License-Identifier: Apache-2.0 */
/* What data needs beside the memory limit: the data set, the workers that load it, and volumes in memory. */
#include "triage/rules.h"

#include "triage/line.h"

#include <stdarg.h>
#include <stdio.h>

#define PREFETCH_DEFAULT 2 /* PyTorch's, for each worker */
#define SHM_DEFAULT	 ((int64_t)64 * MIB)

void rules_say(struct verdict *ret, const char *fmt, ...)
{
	size_t n = strlen(ret->why);
	va_list args;

	va_start(args, fmt);
	vsnprintf(ret->why + n, sizeof(ret->why) - n, fmt, args);
	va_end(args);
}

/* ---- workers ---- */

/* As the log has it; 0 or less: it says of none. */
static int64_t stated_workers(const struct facts *facts)
{
	int64_t workers = facts_number(facts, "dataloader_num_workers");

	return workers > 0 ? workers : facts_number(facts, "num_workers");
}

bool rules_has_workers(const struct facts *facts)
{
	return stated_workers(facts) > 0 || facts_first(facts, SIGNAL_WORKER_KILLED);
}

static int64_t count_workers(const struct facts *facts)
{
	int64_t workers = stated_workers(facts);

	return workers <= LIMIT_TRIAGE_TASKS ? workers : 0;
}

/* "num_workers=4 and prefetch_factor=2 keep up to 8 batches in memory". @return how many. */
static int64_t say_batches(const struct facts *facts, struct verdict *ret, int64_t workers, const char *where)
{
	int64_t prefetch = facts_number(facts, "prefetch_factor"), batches;

	if (prefetch <= 0 || prefetch > LIMIT_TRIAGE_TASKS)
		prefetch = PREFETCH_DEFAULT;
	batches = workers * prefetch;
	rules_say(ret, " num_workers=%lld and prefetch_factor=%lld keep up to %lld batches in %s", (long long)workers,
		  (long long)prefetch, (long long)batches, where);
	return batches;
}

/* Of each worker its own memory, where the kernel has shown it; else of each batch that waits. */
void rules_say_loader(const struct facts *facts, struct verdict *ret)
{
	int64_t workers = count_workers(facts), one = ret->figures.bytes[FIGURE_WORKER_RSS],
		limit = ret->figures.bytes[FIGURE_LIMIT];

	if (workers <= 0 || limit <= 0 || limit > FIGURE_MAX)
		return;
	if (one > 0 && one <= FIGURE_MAX / LIMIT_TRIAGE_TASKS) {
		rules_say(ret, " num_workers=%lld of this size need %s, and the limit is %s.", (long long)workers,
			  FIGURE_TEXT(workers * one), FIGURE_TEXT(limit));
		return;
	}
	limit /= say_batches(facts, ret, workers, "memory");
	rules_say(ret, ": of the limit that is %s each.", FIGURE_TEXT(limit));
}

void rules_say_shm(const struct facts *facts, struct verdict *ret)
{
	const struct fact *volume = facts_setting(facts, SETTING_SHM);
	int64_t workers = count_workers(facts), room = SHM_DEFAULT, n;
	const char *size = volume ? strcasestr(volume->text, "sizeLimit") : NULL;

	if (volume &&
	    !(size && text_size(size + strlen("sizeLimit") + strspn(size + strlen("sizeLimit"), " :="), false, &room)))
		return;
	if (workers <= 0 || room <= 0 || room > FIGURE_MAX)
		return;
	n = say_batches(facts, ret, workers, "/dev/shm");
	rules_say(ret, ": of %s that is %s each.", FIGURE_TEXT(room), FIGURE_TEXT(room / n));
}

/* ---- the data set ---- */

bool rules_has_steps(const struct facts *facts)
{
	for (size_t i = 0; i < facts->positions.n; i++)
		if (facts->positions.items[i].step != STEP_NONE || facts->positions.items[i].n_progress)
			return true;
	return false;
}

/* Whether a log was read that would show steps. */
static bool has_log(const struct facts *facts)
{
	for (size_t i = 0; i < facts->sources.n; i++)
		if (facts->sources.items[i].input == INPUT_LOG && facts->sources.items[i].n_lines)
			return true;
	return false;
}

/* Whether the program says itself why it ended. */
static bool has_error(const struct facts *facts)
{
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal == SIGNAL_EXCEPTION && !facts->items.items[i].reading.is_exact)
			return true;
	return false;
}

bool rules_is_climb_before_steps(const struct facts *facts)
{
	return facts_first(facts, SIGNAL_CLIMB) && has_log(facts) && !rules_has_steps(facts) && !has_error(facts);
}

/* What was said of a container; NULL: of any. */
static const struct fact *find_of(const struct facts *facts, enum signal_id signal, const char *container)
{
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal == signal &&
		    (!container || streq(facts->items.items[i].reading.name, container)))
			return &facts->items.items[i];
	return NULL;
}

static void say_dataset(const struct facts *facts, struct verdict *ret, const char *container)
{
	const struct fact *dataset = find_of(facts, SIGNAL_DATASET, container);

	if (streq(ret->cause, "load-everything") && rules_is_climb_before_steps(facts))
		rules_say(ret,
			  " The container's use rose until its end, and its log shows no training step: it was still "
			  "reading its data.");
	if (!dataset)
		return;
	figures_fill(&ret->figures, &dataset->reading.figures);
	if (!ret->cause && !rules_has_steps(facts))
		ret->cause = "load-everything";
	rules_say(ret,
		  " The data set of %s (annotation memtamer.io/dataset-size) is larger than the memory limit, so it "
		  "cannot "
		  "be "
		  "read into memory as a whole.",
		  FIGURE_TEXT(dataset->reading.figures.bytes[FIGURE_DATASET]));
}

/* ---- volumes in memory ---- */

/* Whether Prometheus saw that processes held less than half of what was used. */
static bool is_held_by_files(const struct facts *facts, const char *container)
{
	const struct fact *peak = find_of(facts, SIGNAL_PEAK, container);
	const struct figures *figures = peak ? &peak->reading.figures : NULL;

	return figures && figures_has(figures, FIGURE_CGROUP_ANON) &&
	       figures->bytes[FIGURE_CGROUP_ANON] < figures->bytes[FIGURE_USAGE] / 2;
}

static void say_volume(const struct facts *facts, struct verdict *ret, const char *container)
{
	const struct fact *volume = find_of(facts, SIGNAL_MEMORY_VOLUME, container);

	if (!volume)
		return;
	if (!ret->cause && is_held_by_files(facts, container)) {
		ret->cause = "shm";
		rules_say(ret, " Less than half of what it used was memory of processes.");
	}
	if (!figures_has(&volume->reading.figures, FIGURE_VOLUME))
		return;
	figures_fill(&ret->figures, &volume->reading.figures);
	rules_say(ret,
		  " Files in the volume at %s are memory and count against the limit, and the sizeLimit of %s is not "
		  "below "
		  "it.",
		  volume->reading.words, FIGURE_TEXT(volume->reading.figures.bytes[FIGURE_VOLUME]));
}

void rules_say_data(const struct facts *facts, struct verdict *ret, const char *container)
{
	say_dataset(facts, ret, container);
	say_volume(facts, ret, container);
	rules_say_loader(facts, ret);
}
