/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the new run has a lever of the crash's list. */
#include "triage/verify.h"

#include <stdio.h>

/* The first lever whose setting contains a text, without regard to case; -1: none. */
static int find_row(const struct crash *crash, const char *text)
{
	for (size_t i = 0; text && i < crash->n_levers; i++)
		if (strcasestr(crash->levers[i].setting, text))
			return (int)i;
	return -1;
}

static void show(const struct fact *fact, struct verify_check *ret)
{
	snprintf(ret->text, sizeof(ret->text), "%.*s", (int)sizeof(ret->text) - 1, fact->text);
	ret->source = fact->source;
	ret->number = fact->number;
}

static int find_setting(const struct verification *self, struct verify_check *ret)
{
	int found = -1;

	for (int i = 0; i < SETTING_COUNT_; i++) {
		const struct fact *fact = facts_setting(&self->triage->facts, (enum setting)i);
		int row = self->crash->has_setting[i] ? -1 : find_row(self->crash, settings[i].lever);

		if (!fact || row <= found)
			continue;
		found = row;
		show(fact, ret);
	}
	return found;
}

/* The lever that a smaller number of a row is: its setting has the name of the table, or that of the number. */
static int find_row_of_number(const struct crash *crash, const struct number_row *number)
{
	char key[READING_NAME_BYTES];
	int row = find_row(crash, number->lever);

	snprintf(key, sizeof(key), "%s=", number->key);
	return row >= 0 || !number->lever ? row : find_row(crash, key);
}

/* A smaller number of the same name; a lever behind `found` in the list. */
static int find_number(const struct verification *self, int found, struct verify_check *ret)
{
	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		const struct seen_number *now = &self->triage->facts.numbers[i];
		int64_t then = self->crash->numbers[i];
		int row = find_row_of_number(self->crash, &number_rows[i]);

		if (row <= found || now->value == NUMBER_NONE || then == NUMBER_NONE || now->value >= then)
			continue;
		found = row;
		snprintf(ret->text, sizeof(ret->text), "%s is %lld, before %lld", number_rows[i].key,
			 (long long)now->value, (long long)then);
		ret->source = now->source;
		ret->number = now->number;
	}
	return found;
}

static int64_t find_limit(const struct facts *facts, size_t *ret_source)
{
	int64_t limit = FIGURE_NONE;

	for (size_t i = 0; i < facts->sources.n; i++)
		if (facts->sources.items[i].origin.limit_bytes > limit) {
			limit = facts->sources.items[i].origin.limit_bytes;
			*ret_source = i;
		}
	return limit;
}

/* The limit of the container, where the crash was at one. */
static int find_raise(const struct verification *self, struct verify_check *ret)
{
	size_t source = SIZE_MAX;
	int64_t now = find_limit(&self->triage->facts, &source), then = self->crash->figures.bytes[FIGURE_LIMIT];
	int row = find_row(self->crash, "limits: memory");

	if (row < 0 || now == FIGURE_NONE || then == FIGURE_NONE)
		return -1;
	ret->source = source;
	if (now > then) {
		snprintf(ret->text, sizeof(ret->text), "the memory limit is %s, before %s", FIGURE_TEXT(now),
			 FIGURE_TEXT(then));
		return row;
	}
	snprintf(ret->text, sizeof(ret->text),
		 "the memory limit is %s, not more than before; other levers are not seen", FIGURE_TEXT(now));
	return -1;
}

static int find_card(const struct verification *self, struct verify_check *ret)
{
	const struct card *card = &self->triage->facts.card;
	int64_t then = self->crash->figures.bytes[FIGURE_CAPACITY];
	int row = find_row(self->crash, "gpu.product");

	if (row < 0 || then <= 0 || card->total <= then + then / 20)
		return -1;
	snprintf(ret->text, sizeof(ret->text), "the GPU has %s, before %s", FIGURE_TEXT(card->total),
		 FIGURE_TEXT(then));
	ret->source = card->source;
	ret->number = card->number;
	return row;
}

int verify_find_lever(const struct verification *self, struct verify_check *ret)
{
	int row = find_number(self, find_setting(self, ret), ret);

	if (row < 0)
		row = find_raise(self, ret);
	return row < 0 ? find_card(self, ret) : row;
}

/* Whether all levers are values of one variable, so that another value rules them all out. */
static bool is_all_of_variable(const struct crash *crash)
{
	size_t n = 0;

	for (size_t i = 0; i < crash->n_levers; i++)
		n += strstr(crash->levers[i].setting, "_ALLOC_CONF=") != NULL;
	return n && n == crash->n_levers;
}

/* A setting of the list that the crash had already. */
static const struct fact *find_old_setting(const struct verification *self)
{
	for (int i = 0; i < SETTING_COUNT_; i++) {
		const struct fact *fact = facts_setting(&self->triage->facts, (enum setting)i);

		if (fact && self->crash->has_setting[i] && find_row(self->crash, settings[i].lever) >= 0)
			return fact;
	}
	return NULL;
}

void verify_lever(const struct verification *self, struct verify_check *ret)
{
	const struct fact *old = find_old_setting(self);
	const struct fact *variable = facts_setting(&self->triage->facts, SETTING_ALLOCATOR);

	snprintf(ret->text, sizeof(ret->text), "no lever of the list is seen in what was given");
	if (verify_find_lever(self, ret) >= 0) {
		ret->answer = ANSWER_YES;
		return;
	}
	if (!is_all_of_variable(self->crash) || (!old && !variable))
		return;
	ret->answer = ANSWER_NO;
	show(old ? old : variable, ret);
}
