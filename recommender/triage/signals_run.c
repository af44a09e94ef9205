/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/signals.h"

#include <ctype.h>

/* Going on after an error: the words alone also stand in lines about networks and data. */
bool read_retry(const struct line *line, struct reading *ret)
{
	const char *at;

	/* Ultralytics and Lightning try sizes until one fails, and then say which one they use. TensorRT tries ways to
	 * compute a layer, and leaves out those that do not fit. */
	ret->is_exact = text_has(line->lower,
				 "autobatch: using batch-size |finished batch size finder|skipping tactic ");
	if (ret->is_exact)
		return true;
	at = text_find(line->lower,
		       "retry|skipp|recover|caught|reducing|reduced|smaller|halving|falling back|trying again|"
		       "handled");
	return at && !is_mention(line, at) && text_has(line->lower, "oom|memory|batch|alloc");
}

/* Not what the scheduler says of victims that it did not find, nor the driver's clean-up. */
bool read_preempted(const struct line *line, struct reading *ret)
{
	(void)ret;
	return !text_has(line->lower, "preemptible|preemptive|preemption: |preemption victims|nodes are available") &&
	       !is_mention(line, line->at);
}

/* The scheduler's event: "0/2 nodes are available: 2 Insufficient nvidia.com/gpu." */
bool read_not_started(const struct line *line, struct reading *ret)
{
	ret->value = STOP_UNSCHEDULABLE;
	return text_has(line->lower, "0/") && strstr(line->lower, "nodes are available") && !is_mention(line, line->at);
}

bool read_segfault(const struct line *line, struct reading *ret)
{
	(void)ret;
	return (text_has(line->lower, "segmentation fault|segfault at|sigsegv") || is_exit_code(line->lower, 139) ||
		is_exit_code(line->lower, -11)) &&
	       !is_mention(line, line->at);
}

/* A launcher that ends its other children, or a killer that prints its settings, says nothing of this program's end. */
bool read_terminated(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (text_has(line->lower, "closing signal sigterm|sigterm limits|sigterm when"))
		return false;
	return (text_has(line->lower,
			 "sigterm|received signal 15|received 15 death signal|signal: terminated|deadlineexceeded|"
			 "due to time limit|got signal: 15") ||
		(text_has(line->lower, "*** step |*** job ") && strstr(line->lower, " cancelled at ")) ||
		is_exit_code(line->lower, 143)) &&
	       !is_mention(line, line->at);
}

/* An exception at the end of a traceback, or what a launcher says of a child's end. */
bool read_exception(const struct line *line, struct reading *ret)
{
	const char *body = line->lower + line->body, *end = body;

	/* pytest: "FAILED tests/test_a.py::test_b - RuntimeError: ..." */
	if (strstarts(body, "failed ") && strstr(body, " - "))
		body = end = strstr(body, " - ") + 3;
	/* What a launcher raises for the end of its child. */
	ret->is_exact = text_has(line->lower, "childfailederror|calledprocesserror");
	while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
		end++;
	reading_copy(ret->words, MIN(sizeof(ret->words), (size_t)(end - body) + 1), line->text + (body - line->lower),
		     "");
	if (text_has(line->lower, "out of memory|outofmemory|memoryerror|bad_alloc"))
		return false;
	if (end - body > 5 && (*end == ':' || *end == '(' || !*end) &&
	    (strncmp(end - 5, "error", 5) == 0 || (end - body > 9 && strncmp(end - 9, "exception", 9) == 0) ||
	     (end - body > 9 && strncmp(end - 9, "interrupt", 9) == 0)))
		return true;
	if (strncmp(body, "assertion", 9) == 0)
		return true;
	reading_copy(ret->words, sizeof(ret->words), "", "");
	ret->is_exact = text_has(body, "exitcode|exited with exit code") &&
			!text_has(body, "exitcode: 0|exit code 0|exitcode  : 0");
	return ret->is_exact || text_has(body, "core dumped");
}

/* The last line of a test run: "===== 41 passed in 3.21s =====", "===== 40 passed, 1 skipped in 3.21s =====". */
bool read_tests_passed(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (text_has(line->lower, "100% tests passed"))
		return true;
	return text_has(line->lower, "=====") && !text_has(line->lower, " failed| error");
}

/* "step 12", "step=12", "Step: 12/500", "global_step': 12", "iteration 12/500", "[12/500]". The plural and settings
 * such as max_steps=1000 are no position. */
static bool read_position(const char *lower, const char *word, int64_t *ret, int64_t *ret_total)
{
	size_t n = strlen(word), digits;

	for (const char *at = strstr(lower, word); at; at = strstr(at + n, word)) {
		const char *end = at + n;

		if (at > lower && (isalpha((unsigned char)at[-1]) || at[-1] == '-' ||
				   (at[-1] == '_' && (at - lower < 7 || strncmp(at - 7, "global_", 7) != 0) &&
				    (at - lower < 6 || strncmp(at - 6, "train_", 6) != 0))))
			continue;
		end += strspn(end, " =:'\"[/(#");
		if (end == at + n)
			continue;
		digits = text_number(end, ret);
		/* "step 3756240.batch" of Slurm, "global_step=3.2e+4"; an epoch may have a fraction. */
		if (digits && *word != 'e' &&
		    (isalpha((unsigned char)end[digits]) ||
		     (end[digits] == '.' && isalnum((unsigned char)end[digits + 1]))))
			continue;
		if (digits && ret_total && end[digits] == '/')
			text_number(end + digits + 1, ret_total);
		if (digits)
			return true;
	}
	return false;
}

/* "Epoch 2", "epoch=2", "Epoch: [2][ 410/1252]". */
bool read_epoch(const struct line *line, struct reading *ret)
{
	return line->n <= 4096 && read_position(line->lower, "epoch", &ret->value, NULL);
}

bool read_loading(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "loading|reading|loaded|caching");

	(void)ret;
	return at && text_has(at, "into memory|into ram") && !is_mention(line, at);
}

/* The position of a progress bar: "120/1000 [00:10<01:13, 12.0it/s]". */
static bool read_bar(const char *lower, int64_t *ret, int64_t *ret_total)
{
	const char *slash = NULL, *start;

	for (const char *at = strchr(lower, '/'); at; at = strchr(at + 1, '/'))
		if (at > lower && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[1])) {
			slash = at;
			break;
		}
	if (!slash || !strchr(slash, '['))
		return false;
	start = slash;
	while (start > lower && isdigit((unsigned char)start[-1]))
		start--;
	text_number(slash + 1, ret_total);
	return text_number(start, ret) > 0;
}

bool read_step(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower;

	if (line->n > 4096)
		return false;
	/* Most lines of many logs come here: the shortest word tells first whether the others are worth a search. */
	if (strstr(lower, "step") && (read_position(lower, "global_step", &ret->value, &ret->total) ||
				      read_position(lower, "global step", &ret->value, &ret->total) ||
				      read_position(lower, "step", &ret->value, &ret->total)))
		return true;
	if (strstr(lower, "iter") && (read_position(lower, "iteration", &ret->value, &ret->total) ||
				      read_position(lower, "iter", &ret->value, &ret->total)))
		return true;
	if (text_has(line->lower, "it/s|s/it") && !text_has(line->lower, "loading|fetching|download|captur") &&
	    read_bar(line->lower, &ret->value, &ret->total))
		return true;
	/* An epoch without a step says only that the run goes on. */
	ret->value = -1;
	return text_has(line->lower, "loss") && text_has(line->lower, "epoch");
}

/* A word that looks like a path: with a slash, or a checkpoint's name. */
static bool read_path(const struct line *line, const char *from, const char *marks, struct reading *ret)
{
	const char *at = line->text + (from - line->lower);

	while (*at) {
		size_t n;

		at += strspn(at, " '\"`:=(,[<)]>");
		n = strcspn(at, " '\"`,)]>");
		reading_copy(ret->words, MIN(sizeof(ret->words), n + 1), at, "");
		if (n > 2 && (strchr(ret->words, '/') || text_has(ret->words, marks)) &&
		    !strstr(ret->words, "://pytorch.org")) {
			while (n > 1 && n < sizeof(ret->words) && strchr(".:", ret->words[n - 1]))
				ret->words[--n] = '\0';
			return true;
		}
		at += n;
	}
	ret->words[0] = '\0';
	return false;
}

/* A line that says that a checkpoint was or is written, not that one is read. */
bool read_checkpoint(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "saved|saving|wrote|written|save model|save checkpoint|saves");

	if (!at || text_has(line->lower, "activation checkpoint|gradient checkpoint|fail|error|unable|could not"))
		return false;
	read_position(line->lower, "step", &ret->value, NULL);
	return read_path(line, at, "checkpoint-|ckpt-|.pt|.ckpt|checkpoint_|step_|step-|.safetensors|.distcp", ret);
}

bool read_snapshot(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "snapshot|memory profile");

	if (!text_has(line->lower, "memory|oom|alloc|cuda|gpu") ||
	    !text_has(line->lower, "saved|saving|dump|wrote|written"))
		return false;
	return read_path(line, at, ".pickle|.pkl|.html|.json", ret);
}

/* The last number of "2.9.1" at `at`, behind the second one; 0: there is none. */
static int64_t read_patch(const char *at)
{
	int64_t patch;

	at += strspn(at, "0123456789");
	return *at == '.' && text_number(at + 1, &patch) && patch <= 99 ? patch : 0;
}

/* "PyTorch version 2.3.0+cu121", "torch==2.9.1", "torch 2.5.1", "torch: 1.13.1". */
bool read_torch_version(const struct line *line, struct reading *ret)
{
	for (const char *at = strstr(line->lower, "torch"); at; at = strstr(at + 5, "torch")) {
		const char *end = at + 5;
		int64_t major, minor;
		size_t n;

		end += strspn(end, " _-.=:'\"");
		if (strncmp(end, "version", 7) == 0 || strncmp(end, "__version__", 11) == 0)
			end += strcspn(end, " =:");
		end += strspn(end, " =:'\"v(");
		n = text_number(end, &major);
		if (!n || n > 2 || end[n] != '.' || !text_number(end + n + 1, &minor) || major > 9 || minor > 99)
			continue;
		ret->value = TORCH_VERSION(major, minor, read_patch(end + n + 1));
		return true;
	}
	return false;
}
