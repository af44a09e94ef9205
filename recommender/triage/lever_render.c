/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of levers, as exactly as what was read allows. */
#include "triage/levers.h"

#include <ctype.h>
#include <stdio.h>

/* ---- placeholders ---- */

struct render {
	const struct verdict *verdict;
	const struct facts *facts; /* NULL: none */
	struct strbuf *buf;
	char was[64]; /* the numbers before, as "8 and 4" */
};

/* ---- the allocator's options ---- */

/* The options that were in force, as the log shows the variable; "": none. */
static const char *find_options(const struct render *self)
{
	const struct fact *fact = self->facts ? facts_setting(self->facts, SETTING_ALLOCATOR) : NULL;
	const char *at = fact ? strcasestr(fact->text, "_alloc_conf") : NULL;

	if (!at)
		return "";
	at += strlen("_alloc_conf");
	return at + strspn(at, "\"':= ");
}

/* "max_split_size_mb:512", "roundup_power2_divisions:[256:1,>:4]" */
static bool next_option(const char **at, struct str *ret)
{
	const char *end = *at;
	int depth = 0;

	while (isalnum((unsigned char)*end) || (*end && strchr("_.:[]>", *end)) || (*end == ',' && depth)) {
		depth += (*end == '[') - (*end == ']');
		end++;
	}
	*ret = (struct str){*at, (size_t)(end - *at)};
	*at = end + (*end == ',');
	*at += strspn(*at, " ");
	return memchr(ret->p, ':', ret->n) != NULL;
}

static bool is_option(struct str option, const char *name)
{
	return option.n > strlen(name) && memcmp(option.p, name, strlen(name)) == 0;
}

#define SPLIT "max_split_size_mb:"

/* The user's own value. */
static bool add_split(struct render *self)
{
	const char *at = find_options(self);

	for (struct str option; next_option(&at, &option);)
		if (is_option(option, SPLIT)) {
			strbuf_add(self->buf, option.p, option.n);
			return true;
		}
	return false;
}

/* The other options in force, so that a setting can be pasted. PyTorch neither splits by size nor collects the blocks
 * of expandable segments, so these two exclude them. */
static void add_options(struct render *self, const struct lever *lever)
{
	const char *at = find_options(self), *left_out = "";

	for (struct str option; next_option(&at, &option);) {
		char name[READING_NAME_BYTES];

		reading_copy(name, MIN(sizeof(name), option.n + 1), option.p, ":");
		if (strstr(lever->setting, name))
			continue;
		if (option.n == strlen("expandable_segments:True") && is_option(option, "expandable_segments:T"))
			left_out = "   # without expandable_segments:True, whose blocks it leaves alone";
		else
			strbuf_addf(self->buf, ",%.*s", (int)option.n, option.p);
	}
	strbuf_adds(self->buf, left_out);
}

/* ---- numbers ---- */

static bool add_conf(struct render *self)
{
	strbuf_adds(self->buf, lever_variable(self->verdict));
	return true;
}

static bool add_double(struct render *self)
{
	int64_t limit = self->verdict->figures.bytes[FIGURE_LIMIT], mi = (int64_t)MIB;
	int64_t recommended = self->verdict->figures.bytes[FIGURE_RECOMMENDED];
	bool is_scheduler = lever_place(self->verdict) != NULL;

	if (recommended > limit && recommended <= FIGURE_MAX)
		strbuf_addf(self->buf, "%lldMi", (long long)((recommended + mi - 1) / mi));
	else if (limit <= 0 || limit > FIGURE_MAX / 2)
		strbuf_adds(self->buf, is_scheduler ? "<twice the old one>" : "<at most twice the old limit>");
	else
		strbuf_addf(self->buf, is_scheduler ? "%lldM" : "%lldMi", (long long)((2 * limit + mi - 1) / mi));
	return true;
}

/* What an evicted pod used and a ninth, so that the use is at most 90 % of it. */
static bool add_peak(struct render *self)
{
	int64_t used = self->verdict->figures.bytes[FIGURE_USAGE], mi = (int64_t)MIB;

	if (self->verdict->kind != KIND_EVICTED_MEMORY || used <= 0 || used > FIGURE_MAX / 2)
		return false;
	strbuf_addf(self->buf, "%lldMi", (long long)((used + used / 9 + mi - 1) / mi));
	return true;
}

/* The whole percents of the GPU that are free. */
static bool add_share(struct render *self)
{
	int64_t free = self->verdict->figures.bytes[FIGURE_FREE], whole = self->verdict->figures.bytes[FIGURE_CAPACITY];

	if (free <= 0 || whole <= free || whole > FIGURE_MAX)
		return false;
	strbuf_addf(self->buf, "gpu_memory_utilization=0.%02lld", (long long)(free * 100 / whole));
	return true;
}

/* The first number of this kind that was read; NUMBER_COUNT: none. */
static size_t find_number(const struct render *self, enum number_kind kind)
{
	size_t i = 0;

	while (i < NUMBER_COUNT &&
	       !(self->facts && number_rows[i].kind == kind && self->facts->numbers[i].value != NUMBER_NONE))
		i++;
	return i;
}

static void add_number(struct render *self, size_t row, int64_t value)
{
	size_t n = strlen(self->was);

	strbuf_addf(self->buf, "%s=%lld", number_rows[row].key, (long long)value);
	snprintf(self->was + n, sizeof(self->was) - n, "%s%lld", n ? " and " : "",
		 (long long)self->facts->numbers[row].value);
}

/* What the micro-batch is divided by: 2, or 3 where only that leaves as many samples for a step of the optimizer. 0:
 * the micro-batch is not known, or 1. */
static int64_t find_divisor(const struct render *self, size_t *ret_row)
{
	int64_t batch;

	*ret_row = find_number(self, NUMBER_BATCH);
	batch = *ret_row < NUMBER_COUNT ? self->facts->numbers[*ret_row].value : 0;
	if (batch < 2)
		return 0;
	return batch % 2 && batch % 3 == 0 ? 3 : 2;
}

static bool add_batch(struct render *self)
{
	size_t row;
	int64_t divisor = find_divisor(self, &row);

	if (divisor)
		add_number(self, row, self->facts->numbers[row].value / divisor);
	return divisor != 0;
}

static bool add_accumulation(struct render *self)
{
	size_t row, steps = find_number(self, NUMBER_ACCUMULATION);
	int64_t divisor = find_divisor(self, &row);

	if (divisor && steps < NUMBER_COUNT)
		add_number(self, steps, self->facts->numbers[steps].value * divisor);
	else if (divisor)
		strbuf_addf(self->buf, "gradient_accumulation_steps=%lld*A", (long long)divisor);
	return divisor != 0;
}

static bool add_half(struct render *self, enum number_kind kind)
{
	size_t row = find_number(self, kind);

	if (row == NUMBER_COUNT || self->facts->numbers[row].value < 2)
		return false;
	add_number(self, row, self->facts->numbers[row].value / 2);
	return true;
}

static bool add_length(struct render *self)
{
	return add_half(self, NUMBER_LENGTH);
}

static bool add_workers(struct render *self)
{
	return add_half(self, NUMBER_WORKERS);
}

/* @return false: not known, the text stays as it is. */
static const struct placeholder {
	const char *text;
	bool (*add)(struct render *self);
} placeholders[] = {
	{"{conf}", add_conf},
	{SPLIT "128", add_split},
	{"{double}", add_double},
	{"<peak>", add_peak},
	{"gpu_memory_utilization=F/C", add_share},
	{"per_device_train_batch_size=B/2", add_batch},
	{"gradient_accumulation_steps=2*A", add_accumulation},
	{"max_seq_length=S/2", add_length},
	{"num_workers=W/2", add_workers},
};

/* @return the bytes of the setting that were replaced; 0: none. */
static size_t replace(struct render *self, const char *at)
{
	for (size_t i = 0; i < ARRAY_LEN(placeholders); i++)
		if (strstarts(at, placeholders[i].text) && placeholders[i].add(self))
			return strlen(placeholders[i].text);
	return device_render_word(lever_device(self->verdict), at, self->buf);
}

int lever_render(const struct lever *lever, const struct verdict *verdict, const struct facts *facts,
		 struct strbuf *buf)
{
	struct render self = {.verdict = verdict, .facts = facts, .buf = buf};

	for (const char *at = lever->setting; *at;) {
		size_t n = replace(&self, at);

		if (!n)
			strbuf_addc(buf, *at);
		at += n ? n : 1;
	}
	if (lever_is_helper(verdict) && strstr(lever->setting, "limits: memory"))
		strbuf_addf(buf, "   # of %.*s", (int)strcspn(verdict->fact->text, ":"), verdict->fact->text);
	if (strstarts(lever->setting, "{conf}="))
		add_options(&self, lever);
	return *self.was ? strbuf_addf(buf, "   # before: %s", self.was) : buf->status;
}
