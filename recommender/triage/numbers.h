/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* numbers: levers that are only another number, such as a batch size: what arguments, environment and printed
 * configurations say of them. A table. Pure; cost: linear in the line for each row. */
#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_COUNT 11
#define NUMBER_NONE  ((int64_t)-1)
#define NUMBER_MAX   ((int64_t)1000000000)

enum number_kind { NUMBER_BATCH, NUMBER_ACCUMULATION, NUMBER_LENGTH, NUMBER_WORKERS, NUMBER_PREFETCH };

struct number_row {
	const char *key;       /* in lower case; in a line '-' counts as '_' */
	enum number_kind kind; /* numbers of one kind are names of the same thing */
	const char *lever;     /* in the setting of the lever that a smaller number is; NULL: of none */
	int64_t least;	       /* it cannot be smaller; NUMBER_NONE: not known */
	const char *words;     /* what the trainer of Hugging Face prints for it, in lower case; NULL: nothing */
};
extern const struct number_row number_rows[NUMBER_COUNT];

void numbers_init(int64_t values[NUMBER_COUNT]);
/** Reads what a line in lower case shows: "--batch-size 32", "batch_size=32", "'batch_size': 32", "batch_size .....
 * 32". Of each row the first one counts. @return whether there is any. */
bool numbers_read(const char *lower, int64_t values[NUMBER_COUNT]);
