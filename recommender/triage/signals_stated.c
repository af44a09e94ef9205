/* SPDX-License-Identifier: Apache-2.0 */
/* What runtimes, service managers and schedulers say of an end, in their own words. */
#include "triage/signals.h"

/* The end of a job or a program with code 0; of one of several containers or checks it proves nothing. */
bool read_exit_zero(const struct line *line, struct reading *ret)
{
	(void)ret;
	return is_exit_code(line->lower, 0) && text_has(line->lower, "job |training|main process") &&
	       !is_mention(line, line->at);
}
