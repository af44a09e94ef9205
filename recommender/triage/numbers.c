/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/numbers.h"

#include "triage/line.h"

#include <ctype.h>

#define BATCH	"per_device_train_batch_size="
#define LENGTH	"max_seq_length="
#define WORKERS "num_workers="

/* A number is compared only with one of the same key. */
const struct number_row number_rows[NUMBER_COUNT] = {
	{"per_device_train_batch_size", NUMBER_BATCH, BATCH, 1, "instantaneous batch size per device"},
	{"train_micro_batch_size_per_gpu", NUMBER_BATCH, BATCH, 1, NULL},
	{"micro_batch_size", NUMBER_BATCH, BATCH, 1, NULL},
	{"batch_size", NUMBER_BATCH, BATCH, 1, NULL},
	{"gradient_accumulation_steps", NUMBER_ACCUMULATION, NULL, NUMBER_NONE, "gradient accumulation steps"},
	{"max_seq_length", NUMBER_LENGTH, LENGTH, NUMBER_NONE, NULL},
	{"max_seq_len", NUMBER_LENGTH, LENGTH, NUMBER_NONE, NULL},
	{"seq_length", NUMBER_LENGTH, LENGTH, NUMBER_NONE, NULL},
	{"dataloader_num_workers", NUMBER_WORKERS, WORKERS, 0, NULL},
	{"num_workers", NUMBER_WORKERS, WORKERS, 0, NULL},
	{"prefetch_factor", NUMBER_PREFETCH, WORKERS, NUMBER_NONE, NULL},
};

void numbers_init(int64_t values[NUMBER_COUNT])
{
	for (int i = 0; i < NUMBER_COUNT; i++)
		values[i] = NUMBER_NONE;
}

/* @return the bytes of the key at `at`; 0: there is another text. */
static size_t match(const char *at, const char *key)
{
	size_t n = 0;

	while (key[n] && (at[n] == key[n] || (at[n] == '-' && key[n] == '_')))
		n++;
	return key[n] ? 0 : n;
}

/* Whether a word begins at `at`, also behind the dashes of an option: eval_batch_size is another one. */
static bool is_begin(const char *lower, const char *at)
{
	if (at > lower && at[-1] == '-')
		return at - 1 == lower || at[-2] == '-' || at[-2] == ' ';
	return at == lower || !(isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == '.');
}

/* Megatron and DeepSpeed fill their columns with dots. */
static bool read_value(const char *at, int64_t *ret)
{
	size_t n, dots;

	at += strspn(at, "'\"");
	n = strspn(at, " =:");
	dots = strspn(at + n, ".");
	if (n && dots >= 2)
		n += dots + strspn(at + n + dots, " ");
	at += n + strspn(at + n, "'\"");
	if (!n || !text_number(at, ret) || *ret > NUMBER_MAX)
		return false;
	at += strspn(at, "0123456789");
	return !isalnum((unsigned char)*at) && (*at == '\0' || !strchr("._*/%", *at));
}

static bool find_value(const char *lower, const char *key, int64_t *ret)
{
	for (const char *at = strchr(lower, key[0]); at; at = strchr(at + 1, key[0])) {
		size_t n = match(at, key);

		if (n && is_begin(lower, at) && read_value(at + n, ret))
			return true;
	}
	return false;
}

bool numbers_read(const char *lower, int64_t values[NUMBER_COUNT])
{
	bool is_any = false;

	for (int i = 0; i < NUMBER_COUNT; i++) {
		int64_t value;

		if (values[i] != NUMBER_NONE ||
		    !(find_value(lower, number_rows[i].key, &value) ||
		      (number_rows[i].words && find_value(lower, number_rows[i].words, &value))))
			continue;
		values[i] = value;
		is_any = true;
	}
	return is_any;
}
