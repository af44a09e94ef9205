/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* worst_bodies: reviews that are as expensive as somebody could make them, from the descriptions in worst_bodies.txt.
 */
#include "base/strbuf.h"

#include <stddef.h>

#define WORST_BODIES_MAX 128

struct worst_body {
	const char *name, *route, *group, *kind, *operation, *object, *old_object; /* "" when absent */
	bool is_growing; /* with n: false where nothing is repeated n times */
};

struct worst_bodies {
	struct strbuf text; /* of the file; the descriptions point into it */
	struct worst_body items[WORST_BODIES_MAX];
	size_t n;
};

/** Read a file of descriptions; its format stands in worst_bodies.txt. 0, or 1 and a message on stderr. */
int worst_bodies_read(struct worst_bodies *self, const char *path);
void worst_bodies_release(struct worst_bodies *self);
/** The review with every `<n...>` repeated n times. Sticky status of `ret`, which is cleared first. */
int worst_body_expand(const struct worst_body *self, size_t n, struct strbuf *ret);
/** About the greatest n whose review is at most so many bytes (1 where it does not grow). Leaves that review in `ret`.
 */
size_t worst_body_fill(const struct worst_body *self, size_t max_bytes, struct strbuf *ret);
