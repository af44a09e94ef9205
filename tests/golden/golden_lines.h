/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* golden_lines: all warnings of all cases side by side, as they are printed, also those that admission does not print
 * because a controller made the pod. Kept as warnings.txt beside the cases: the whole set is read together. */
#include "base/vec.h"
#include "policy/decide.h"

struct golden_line {
	enum check_id check;
	char *text;
};

struct golden_lines {
	VEC(struct golden_line) lines;
};

/** Add one line for each finding. @return 0 or -1. */
int golden_lines_add(struct golden_lines *self, const struct decide_input *input, const struct decision *decision,
		     struct arena *arena);
/** Compare with the file, or write it. Also fails for a line that is too long, or that lost its end though no name in
 * it comes from a LimitRange or quota. @return 0 or -1 with lines on stderr. */
int golden_lines_check(struct golden_lines *self, const char *path, bool is_update);
void golden_lines_release(struct golden_lines *self);
