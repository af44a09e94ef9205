/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* learned_digest: all that matters of what was learned, without revisions, times of writing, what was written before
 * and decisions: two engines that learned the same have the same text. */
#include "store/store.h"

/** Of all profiles and histories of the store, appended to `ret`. */
void learned_digest(struct store *store, struct strbuf *ret);
