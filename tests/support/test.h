/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* test: includes cmocka with the headers that it needs, and names the table row under test in every failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/** Names the row of a table that is being checked; shown when the test fails. */
static inline void test_row(const char *name)
{
	print_message("  row: %s\n", name);
}
