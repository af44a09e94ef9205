/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* alloc_fail: lets one chosen allocation fail. Linked into a test, it replaces malloc and its family for the program
 * and all its libraries, and forwards to the sanitizer or the C library. Allocations and live blocks are counted for
 * each thread; other threads are not affected. */
#include "base/json.h"
#include "base/strbuf.h"

#include <stdbool.h>

/** Makes the `nth` next allocation of this thread (1 is the next one) return NULL with ENOMEM; all others succeed. */
void alloc_fail_arm(long nth);
/** The same, and all allocations after it fail, too. */
void alloc_fail_arm_from(long nth);
/** Makes allocations succeed again. @return whether one failed since alloc_fail_arm. */
bool alloc_fail_disarm(void);
/** Number of blocks that this thread has allocated and not freed. */
long alloc_fail_live(void);

/** One try. Writes its result as text into `ret` and frees everything else, whatever it returns. @return 0; -errno. */
typedef int alloc_fail_fn(void *context, struct strbuf *ret);
/** Appends a JSON object as text, with allocations that succeed, because json-c's serialiser drops what it cannot
 *  allocate.
 *  @return the sticky status of `ret`. */
int alloc_fail_add_json(struct strbuf *ret, struct json_object *object);
/** Runs `fn` once without a failure (it must return 0), then with the first, second, ... allocation failing, until none
 *  fails. Each try must free everything and return -ENOMEM, or 0 with the same text as the first (some libraries
 *  recover from a failure); otherwise the cmocka test fails.
 *  @return the number of tries that returned -ENOMEM. */
long alloc_fail_each(const char *name, alloc_fail_fn *fn, void *context);
