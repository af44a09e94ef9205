/* SPDX-License-Identifier: Apache-2.0 */
/* What tells whether a fix holds: throughput, peaks of host memory, settings that are in force. */
#include "triage/signals.h"

#include <ctype.h>

/* ---- throughput ---- */

const char *const rate_names[RATE_COUNT_] = {
	[RATE_TOKENS] = "tokens/s", [RATE_SAMPLES] = "samples/s", [RATE_STEPS] = "it/s"};

static const struct rate_words {
	enum rate_unit unit;
	bool is_inverse; /* seconds for each */
	const char *words;
} rates[] = {
	{RATE_TOKENS, false, "tokens/s|tok/s|tokens_per_second|tokens_per_sec|tokens per second"},
	{RATE_SAMPLES, false, "samples/s|samples_per_second|samples_per_sec|samples per second|images/s|img/s"},
	{RATE_STEPS, false, "it/s"},
	{RATE_STEPS, true, "s/it"},
};

/* A number with at most three decimals, in thousandths. @return the bytes read; 0: none. */
static size_t read_decimal(const char *at, int64_t *ret)
{
	int64_t whole, scale = 100;
	size_t n = text_number(at, &whole);

	if (!n || whole > FIGURE_MAX)
		return 0;
	*ret = whole * 1000;
	if (at[n] != '.')
		return n;
	for (n++; isdigit((unsigned char)at[n]); n++, scale /= 10)
		*ret += (at[n] - '0') * scale;
	return n;
}

/* "12.0it/s", "3120.5 tokens/s": where the number begins; NULL: there is none. */
static const char *find_before(const char *lower, const char *at)
{
	const char *start;
	int64_t ignored;

	while (at > lower && at[-1] == ' ')
		at--;
	start = at;
	while (start > lower && (isdigit((unsigned char)start[-1]) || start[-1] == '.'))
		start--;
	return start < at && read_decimal(start, &ignored) > 0 ? start : NULL;
}

/* "tokens/s: 3120.5", "'train_samples_per_second': 12.3" */
static const char *find_behind(const char *at)
{
	at += strspn(at, "abcdefghijklmnopqrstuvwxyz_/");
	return at + strspn(at, " =:'\"");
}

bool parse_rate(const char *text, const struct spots *spots, struct reading *ret)
{
	if (!read_decimal(text + spots->at[0], &ret->value) || ret->value <= 0)
		return false;
	if (rates[spots->unit].is_inverse)
		ret->value = 1000000 / ret->value;
	ret->total = rates[spots->unit].unit;
	return true;
}

bool read_rate(const struct line *line, struct reading *ret)
{
	struct spots spots = SPOTS_NONE;
	bool is_first = true;

	if (line->n > 4096 || text_has(line->lower, "loading|fetching|download|captur|valid|eval"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		const char *word = text_find(line->lower, rates[i].words), *at;

		if (!word)
			continue;
		at = find_before(line->lower, word);
		at = at ? at : find_behind(word);
		spots.at[0] = (int)(at - line->lower);
		spots.unit = (uint8_t)i;
		if (parse_rate(line->lower, &spots, ret)) {
			if (is_first)
				line_note(line, &spots);
			return true;
		}
		/* With other digits this unit may be the one that counts. */
		is_first = false;
	}
	return false;
}

/* ---- host memory ---- */

#define NO_UNIT UINT8_MAX

/* The unit of a key as a power of 1024: "rss_gib=12.1". */
static uint8_t power_of_key(const char *key)
{
	if (strstarts(key, "rss_gib") || strstarts(key, "rss_gb"))
		return 3;
	if (strstarts(key, "rss_mib") || strstarts(key, "rss_mb"))
		return 2;
	return strstarts(key, "rss_bytes") ? 0 : NO_UNIT;
}

/* "rss 75.9 GB", "rss_gib=12.1": the value is only compared with other lines of the same form. */
bool read_rss(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, "rss_gib|rss_gb|rss_mb|rss_mib|rss_bytes|rss");
	struct spots spots = SPOTS_NONE;

	spots.unit = power_of_key(at);
	at += strspn(at, "abcdefghijklmnopqrstuvwxyz_");
	at += strspn(at, " =:\"'");
	spots.at[0] = (int)(at - line->lower);
	line_note(line, &spots);
	return parse_rss(line->lower, &spots, ret);
}

bool parse_rss(const char *text, const struct spots *spots, struct reading *ret)
{
	const char *at = text + spots->at[0];
	int64_t unit = spots->unit == NO_UNIT ? 0 : (int64_t)1 << 10 * spots->unit, bytes;

	if (!read_decimal(at, &ret->value))
		return false;
	if (text_size(at, false, &bytes))
		figures_set(&ret->figures, FIGURE_USAGE, bytes);
	else if (unit && ret->value / 1000 <= FIGURE_MAX / unit)
		figures_set(&ret->figures, FIGURE_USAGE,
			    unit == 1 ? ret->value / 1000 : ret->value * (unit / 1024) / 1000 * 1024);
	ret->value -= ret->value % 100; /* as exactly as programs usually print it */
	return true;
}

/* "memory.peak 8589934592", "memory.max_usage_in_bytes: 8589934592" */
bool read_cgroup_peak(const struct line *line, struct reading *ret)
{
	const char *at = line->at + strcspn(line->at, " =:\t");
	int64_t bytes;

	at += strspn(at, " =:\t");
	if (is_mention(line, line->at) || !text_size(at, true, &bytes))
		return false;
	figures_set(&ret->figures, FIGURE_USAGE, bytes);
	return true;
}

/* ---- settings ---- */

const struct setting_row settings[SETTING_COUNT_] = {
	[SETTING_EXPANDABLE] = {"expandable-segments", "expandable_segments:true", "expandable_segments:true"},
	[SETTING_COLLECTION] = {"garbage-collection-threshold",
				"garbage_collection_threshold:", "garbage_collection_threshold:"},
	[SETTING_MAX_SPLIT] = {"max-split-size", "max_split_size_mb:", "max_split_size_mb:"},
	[SETTING_CUDA_MALLOC_ASYNC] = {"cuda-malloc-async", "tf_gpu_allocator=cuda_malloc_async",
				       "tf_gpu_allocator=cuda_malloc_async"},
	[SETTING_CUDA_ASYNC] = {"cuda-async", "xla_python_client_allocator=cuda_async",
				"xla_python_client_allocator=cuda_async"},
	[SETTING_CHECKPOINTING] = {"activation-checkpointing",
				   "gradient_checkpointing=true|gradient_checkpointing: true|"
				   "\"gradient_checkpointing\": true|gradient checkpointing enabled|"
				   "gradient checkpointing: true|activation_checkpointing=true|"
				   "activation_checkpointing: true|activation checkpointing: true|"
				   "activation checkpointing enabled|use_reentrant=false|\"use_reentrant\": false",
				   "use_reentrant=false"},
	[SETTING_FULL_SHARD] = {"full-shard",
				"full_shard|zero_optimization_stage ...... 3|zero stage 3|zero stage: 3|zero3",
				"full_shard"},
	[SETTING_SHM] = {"shm-volume", "mounted at /dev/shm", "mounted at /dev/shm"},
	[SETTING_ALLOCATOR] = {"allocator-variable", "_alloc_conf=|_alloc_conf:|_alloc_conf\": |_alloc_conf': ", NULL},
};

bool setting_is_in(enum setting setting, const char *text)
{
	const char *word = settings[setting].words;

	while (*word) {
		char one[READING_NAME_BYTES];

		reading_copy(one, sizeof(one), word, "|");
		if (strcasestr(text, one))
			return true;
		word += strcspn(word, "|");
		word += *word == '|';
	}
	return false;
}

/* The hint of an out-of-memory message names settings that are not in force. */
static bool is_hint(const struct line *line)
{
	return text_has(line->lower, "out of memory|tried to allocate|try setting|to avoid frag");
}

bool read_setting(const struct line *line, struct reading *ret)
{
	if (line->n > 4096 || is_hint(line))
		return false;
	for (int i = 0; i < SETTING_COUNT_; i++) {
		const char *at = text_find(line->lower, settings[i].words);

		if (!at || is_mention(line, at))
			continue;
		ret->value = i;
		return true;
	}
	return false;
}

/* The values are read by numbers.h, as a line may have several. */
bool read_number(const struct line *line, struct reading *ret)
{
	(void)ret;
	return !is_hint(line) && !is_mention(line, line->at);
}
