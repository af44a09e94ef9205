/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* alloc_fail: let one chosen allocation fail. Linked into a test, it takes the place of malloc and its family for the
 * program and all its libraries, and forwards to the sanitizer's or the C library's own.
 * The count and the blocks that are live are those of the calling thread; other threads are not disturbed. */
#include "base/json.h"
#include "base/strbuf.h"

#include <stdbool.h>

/** From now on, the `nth` (1 is the next) allocation of this thread returns NULL with ENOMEM; all others succeed. */
void alloc_fail_arm(long nth);
/** Back to normal. @return whether an allocation was refused since alloc_fail_arm. */
bool alloc_fail_disarm(void);
/** Blocks allocated and not freed by this thread so far. */
long alloc_fail_live(void);

/** One try: 0 or a negative errno. Puts what it found as text into `ret`, frees all else, whatever it returns. */
typedef int alloc_fail_fn(void *context, struct strbuf *ret);
/** A JSON object as text into `ret`, without refusals: json-c's serialiser drops what it cannot allocate.
 *  @return status of `ret`. */
int alloc_fail_add_json(struct strbuf *ret, struct json_object *object);
/** Run `fn` once as it is (it must return 0), then again and again with the first, second, ... allocation failing,
 * until none fails any more. A try must return -ENOMEM, or 0 with the same text as the first (libraries get round some
 *  failures; they must not drop anything on the way), and leak nothing: a cmocka failure otherwise.
 *  @return the number of tries that returned -ENOMEM. */
long alloc_fail_each(const char *name, alloc_fail_fn *fn, void *context);
