/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* report_internal: the rows of a report, and its output formats (report_render.c). */
#include "report/figures.h"

#include <stdio.h>

struct report_row {
	const struct known *known; /* borrowed */
	struct figures figures;
	bool is_first; /* of its workload, whose other roles and containers have rows of their own */
};

struct report {
	const struct knowledge *knowledge;
	VEC(struct report_row) rows; /* in the order of output */
	struct figures sum;	     /* runs, oom_runs and waste_gibh of all rows */
	int at_risk;		     /* rows with a risk or a suspected leak */
};

/** For people, with a line of totals. @return 0 or -ENOMEM. */
int report_print_table(const struct report *self, FILE *out) ATTR_NODISCARD;
/** One line "KIND/NAME" for each workload, as `explain` takes it. @return the sticky status of `buf`. */
int report_write_names(const struct report *self, struct strbuf *buf);
/** RFC 4180 with a line of titles; sizes in bytes, what is not known is empty. @return the sticky status of `buf`. */
int report_write_csv(const struct report *self, struct strbuf *buf);
/** @return the sticky status of `buf`. */
int report_write_json(const struct report *self, struct strbuf *buf);
