/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* test: cmocka with what it needs, and the name of the table row under test in every failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/** Say which row of a table is being checked; shown when the test fails. */
static inline void test_row(const char *name)
{
	print_message("  row: %s\n", name);
}
