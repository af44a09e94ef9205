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

/* Sums over the rows of one namespace, or over all rows. */
struct report_sum {
	const char *namespace_name; /* borrowed; NULL: all rows */
	int rows, runs, oom_runs;
	int at_risk;				     /* rows with a risk or a suspected leak */
	double waste_gibh, gpu_hours, oom_gpu_hours; /* as in figures.h */
};

struct report {
	const struct knowledge *knowledge;
	VEC(struct report_row) rows;	   /* in the order of output */
	VEC(struct report_sum) namespaces; /* the same */
	struct report_sum sum;		   /* of all rows */
	bool is_by_namespace;		   /* sums in place of rows */
	bool is_wide;			   /* all columns of the table */
};

/** report_render.c: for people, with a line of totals. @return 0 or -ENOMEM. */
int report_print_table(const struct report *self, FILE *out) ATTR_NODISCARD;
/** One line "KIND/NAME" for each workload, as `explain` takes it. @return the sticky status of `buf`. */
int report_write_names(const struct report *self, struct strbuf *buf);
/** RFC 4180 with a line of titles; sizes in bytes, what is not known is empty. @return the sticky status of `buf`. */
int report_write_csv(const struct report *self, struct strbuf *buf);
/** The list of rows in JSON. */
void report_write_workloads(const struct report *self, struct strbuf *buf);
/** "37", or "37 (2 OOM)". */
void report_add_runs(struct table *table, int runs, int oom_runs);
/** "12.50", or "12.50 (3.00 OOM)"; 0 is printed as "-". */
void report_add_gpu_hours(struct table *table, double hours, double oom_hours);
/** What WASTE and GPU HOURS mean, with the sums of GPU hours where GPUs are known. */
void report_print_notes(const struct report *self, FILE *out);
/** One field of CSV, quoted if it has to be, without control characters. */
void report_csv_text(struct strbuf *buf, const char *text, char end);

/** report_sums.c: the same of sums by namespace. */
int report_print_sums(const struct report *self, FILE *out) ATTR_NODISCARD;
int report_write_sums_names(const struct report *self, struct strbuf *buf);
int report_write_sums_csv(const struct report *self, struct strbuf *buf);
/** The object of JSON, with rows or sums. @return the sticky status of `buf`. */
int report_write_json(const struct report *self, struct strbuf *buf);
