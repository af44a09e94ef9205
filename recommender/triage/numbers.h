/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* numbers: levers that are only a smaller number, such as a batch size: what arguments, environment and printed
 * configurations say of them. A table. Pure; cost: linear in the line for each row. */
#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_COUNT 10
#define NUMBER_NONE  ((int64_t)-1)
#define NUMBER_MAX   ((int64_t)1000000000)

struct number_row {
	const char *key;   /* in lower case; in a line '-' counts as '_' */
	const char *lever; /* in the setting of the lever that a smaller number is */
};
extern const struct number_row number_rows[NUMBER_COUNT];

void numbers_init(int64_t values[NUMBER_COUNT]);
/** Reads what a line in lower case shows: "--batch-size 32", "batch_size=32", "'batch_size': 32". Of each row the first
 * one counts. @return whether there is any. */
bool numbers_read(const char *lower, int64_t values[NUMBER_COUNT]);
