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
	return at && text_has(line->lower, "oom|memory|batch|alloc") && !is_mention(line, at) &&
	       !text_has(line->lower, "uncaught|unhandled");
}

/* "preempted=3", "num_requests_preempted: 0" */
static bool is_counter(const char *lower, const char *at)
{
	const char *end = at + strlen("preempted");

	end += strspn(end, "\"' ");
	return (at > lower && at[-1] == '_') ||
	       ((*end == '=' || *end == ':') && isdigit((unsigned char)end[1 + strspn(end + 1, " ")]));
}

/* A pod, job or machine was preempted. Engines that serve models preempt requests, and count it; the scheduler speaks
 * of victims that it did not find. */
bool read_preempted(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower, *at = strstr(lower, "preempted");

	(void)ret;
	if (is_mention(line, line->at))
		return false;
	if (text_has(lower, "node shutdown|nodeshutdown|terminationbykubelet|deletionbytaintmanager"))
		return true;
	if (text_has(lower, "preemptible|preemptive|preemption: |preemption victims|nodes are available|sequence|"
			    "request|reqs|kv cache|preemptionmode|num_preempt|cumulative_preempt"))
		return false;
	/* The notice itself, not what waits for one. */
	if (!strstr(lower, "preempt"))
		return !text_has(lower, "handler|listen|watch|monitor|polling|checking|enabled|no spot| not |support");
	if (text_has(lower, "preempted by |due to preemption|due to node preemption|preempted to |preempted in order|"
			    "preemption notice|preemption signal|reason: preempt|reason\": \"preempt|preempting"))
		return true;
	return at && !is_counter(lower, at) &&
	       text_has(lower, "job|pod|node|instance|machine|slurm|worker|spot|requeue|vm ");
}

/* The scheduler's event: "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."; what the kubelet and the runtimes
 * say of an image that they cannot pull, or of a container that they cannot create. */
bool read_not_started(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower;

	if (is_mention(line, line->at))
		return false;
	if (strstr(lower, "nodes are available") || strstr(lower, "podunschedulable")) {
		ret->value = STOP_UNSCHEDULABLE;
		return text_has(lower, "0/|podunschedulable");
	}
	ret->value = text_has(lower, "createcontainer|failed to create |runc create failed") ? STOP_CONFIGURATION
											     : STOP_IMAGE;
	return !text_has(lower, "failedscheduling|oom-killed") &&
	       (!strstr(lower, "createcontainer") || strstr(lower, "error"));
}

/* A launcher that ends its other children, or a killer that prints its settings, says nothing of this program's end. */
bool read_terminated(const struct line *line, struct reading *ret)
{
	(void)ret;
	if (text_has(line->lower, "closing signal sigterm|sigterm limits|sigterm when|stop-sigterm"))
		return false;
	return (text_has(line->lower,
			 "sigterm|received signal 15|received 15 death signal|signal: terminated|deadlineexceeded|"
			 "due to time limit|got signal: 15|received a shutdown signal|deleted at request of") ||
		(text_has(line->lower, "*** step |*** job ") && strstr(line->lower, " cancelled at ")) ||
		is_exit_code(line->lower, 143)) &&
	       !is_mention(line, line->at);
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
static bool find_position(const char *lower, const char *word, struct spots *ret)
{
	size_t n = strlen(word), digits;
	int64_t ignored;

	for (const char *at = text_find(lower, word); at; at = strstr(at + n, word)) {
		const char *end = at + n;

		if (at > lower && (isalpha((unsigned char)at[-1]) || at[-1] == '-' ||
				   (at[-1] == '_' && (at - lower < 7 || strncmp(at - 7, "global_", 7) != 0) &&
				    (at - lower < 6 || strncmp(at - 6, "train_", 6) != 0))))
			continue;
		end += strspn(end, " =:'\"[/(#");
		if (end == at + n)
			continue;
		digits = text_number(end, &ignored);
		/* "step 3756240.batch" of Slurm, "global_step=3.2e+4"; an epoch may have a fraction. */
		if (digits && *word != 'e' &&
		    (isalpha((unsigned char)end[digits]) ||
		     (end[digits] == '.' && isalnum((unsigned char)end[digits + 1]))))
			continue;
		if (!digits)
			continue;
		ret->at[0] = (int)(end - lower);
		if (end[digits] == '/') /* "iteration        1/     500" */
			ret->at[1] = (int)(end + digits + 1 + strspn(end + digits + 1, " ") - lower);
		return true;
	}
	return false;
}

static bool read_position(const char *lower, const char *word, int64_t *ret)
{
	struct spots spots;

	return find_position(lower, word, &spots) && text_number(lower + spots.at[0], ret);
}

/* "{'loss': 2.31, 'epoch': 0.13}": how much of the epochs is done, in thousandths. */
static void parse_fraction(const char *at, struct reading *ret)
{
	int64_t milli = 0;
	size_t n;

	at += text_number(at, &milli);
	n = strspn(at + (*at == '.'), "0123456789");
	if (*at != '.' || !n || at[1 + n] == 'e' || milli > INT32_MAX)
		return;
	for (size_t i = 1; i <= 3; i++)
		milli = milli * 10 + (i <= n ? at[i] - '0' : 0);
	ret->total = milli;
}

bool parse_epoch(const char *text, const struct spots *spots, struct reading *ret)
{
	if (spots->at[2] >= 0)
		parse_fraction(text + spots->at[2], ret);
	return text_number(text + spots->at[0], &ret->value) > 0;
}

/* "Epoch 2", "epoch=2", "Epoch: [2][ 410/1252]". */
bool read_epoch(const struct line *line, struct reading *ret)
{
	struct spots spots = SPOTS_NONE;
	const char *at;

	if (line->n > 4096 || !find_position(line->lower, "epoch", &spots))
		return false;
	at = text_find(line->lower, "'epoch': |\"epoch\": ");
	if (at && strstr(line->lower, "loss"))
		spots.at[2] = (int)(at + strlen("'epoch': ") - line->lower);
	line_note(line, &spots);
	return parse_epoch(line->lower, &spots, ret);
}

/* DeepSpeed: "\"offload_optimizer\": {\"device\": \"cpu\", ...", "Adam Optimizer #0 is created with AVX512 arithmetic
 * capability."; accelerate: "offload_optimizer_device: cpu". Other devices are a disk or none. */
bool read_offload(const struct line *line, struct reading *ret)
{
	const char *at = line->at;
	char part[READING_NAME_BYTES];

	(void)ret;
	if (is_mention(line, at))
		return false;
	if (strstarts(at, "arithmetic capability"))
		return text_has(line->lower, "optimizer #");
	if (!strstarts(at, "offload_optimizer"))
		return true;
	reading_copy(part, sizeof(part), at, ",}");
	at = strstr(part, "device");
	return at && text_has(at, "cpu");
}

bool read_loading(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "loading|reading|loaded|caching");

	ret->is_exact = at && text_has(at, "into memory|into ram");
	if (!ret->is_exact)
		at = text_find(line->lower, LOADING_WORDS);
	return at && !is_mention(line, at);
}

/* The titles of bars that show no training: "Resolving data files: 100%|...", "Map (num_proc=8):  41%|...". */
static bool is_other_bar(const char *body)
{
	static const char *const titles[] = {"resolving",  "tokeniz", "preprocess", "map",	"filter",    "convert",
					     "generating", "sanity",  "valid",	    "eval",	"predict",   "packing",
					     "extracting", "saving",  "computing",  "creating", "flattening"};

	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		if (strstarts(body, titles[i]))
			return true;
	return text_has(body, "loading|fetching|download|captur");
}

/* The position of a progress bar: "120/1000 [00:10<01:13, 12.0it/s]". */
static bool find_bar(const char *lower, struct spots *ret)
{
	const char *slash = NULL, *start;
	int64_t ignored;

	for (const char *at = strchr(lower, '/'); at && !slash; at = strchr(at + 1, '/')) {
		const char *end = at + 1 + strspn(at + 1, "0123456789");

		if (at > lower && isdigit((unsigned char)at[-1]) && end > at + 1 && *end != '/')
			slash = at;
		else if (*end == '/') /* "2026/11/20" */
			at = end;
	}
	if (!slash || !strchr(slash, '['))
		return false;
	start = slash;
	while (start > lower && isdigit((unsigned char)start[-1]))
		start--;
	ret->at[0] = (int)(start - lower);
	ret->at[1] = (int)(slash + 1 - lower);
	return text_number(start, &ignored) > 0;
}

/* Rich, as Lightning 2.6 prints it: "Epoch 0/0  ---> 6/30 0:00:08 o 0:00:27 0.90it/s" with glyphs for a
 * bar and a dot. */
static bool find_rich_bar(const char *lower, struct spots *ret)
{
	const char *end = NULL, *at = lower;
	int64_t ignored;
	size_t n;

	while ((at = text_find(at, "\xe2\x94\x81|\xe2\x95\xb8|\xe2\x95\xba")))
		end = at += 3;
	if (!end)
		return false;
	end += strspn(end, " ");
	n = text_number(end, &ignored);
	if (!n || end[n] != '/' || !text_number(end + n + 1, &ignored))
		return false;
	ret->at[0] = (int)(end - lower);
	ret->at[1] = (int)(end + n + 1 - lower);
	return true;
}

/* Keras: "12/100 [==>......] - ETA: 3:59 - loss: 1.85", "250/250 [=====] - 91s 362ms/step - loss: 0.02" */
static bool is_keras_bar(const char *lower)
{
	const char *bar = text_find(lower, " [=| [>| [.");

	if (!bar || !text_has(lower, " - eta: |/step - "))
		return false;
	return strncmp(bar + 2 + strspn(bar + 2, "=>."), "] - ", 4) == 0;
}

static bool find_step(const struct line *line, struct spots *ret)
{
	const char *lower = line->lower;

	/* Most lines of many logs come here: the shortest word tells first whether the others are worth a search. */
	if (strstr(lower, "step") && (find_position(lower, "global_step", ret) ||
				      find_position(lower, "global step", ret) || find_position(lower, "step", ret)))
		return true;
	if (strstr(lower, "iter") && (find_position(lower, "iteration", ret) || find_position(lower, "iter", ret)))
		return true;
	if ((text_has(lower, "it/s|s/it") || is_keras_bar(lower)) && !is_other_bar(lower + line->body) &&
	    (find_rich_bar(lower, ret) || find_bar(lower, ret)))
		return true;
	/* An epoch without a step says only that the run goes on. */
	return text_has(lower, "loss") && text_has(lower, "epoch");
}

bool parse_step(const char *text, const struct spots *spots, struct reading *ret)
{
	if (spots->at[0] >= 0)
		text_number(text + spots->at[0], &ret->value);
	if (spots->at[1] >= 0)
		text_number(text + spots->at[1], &ret->total);
	return true;
}

bool read_step(const struct line *line, struct reading *ret)
{
	struct spots spots = SPOTS_NONE;

	if (line->n > 4096 || !find_step(line, &spots))
		return false;
	line_note(line, &spots);
	return parse_step(line->lower, &spots, ret);
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

/* A line that says that a checkpoint was or is written, not that one is read or will be written. */
bool read_checkpoint(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "saved|saving|wrote|written|save model|save checkpoint|saves");

	if (!at || text_has(line->lower,
			    "activation checkpoint|gradient checkpoint|fail|error|unable|could not|will be |wandb|"
			    "config|tokenizer|tensorboard|.yaml|args."))
		return false;
	ret->is_exact = text_has(line->lower, "saved|wrote|written|saves");
	read_position(line->lower, "step", &ret->value);
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
