/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* levers: what to do about each kind of end, in order, with exact settings; what not to do; and the commands that tell
 * more. Three tables, of which docs/TRIAGE.md is made. Pure. */
#include "base/strbuf.h"
#include "triage/rules.h"

struct lever {
	enum kind kind;
	const char *cause;	  /* for this cause only; NULL: for all */
	enum framework framework; /* for this framework only; FRAMEWORK_NONE: for all */
	const char *action;
	const char *setting; /* {conf}: the allocator's variable; {double}: twice the limit,
			      * or the recommended one if it is greater than the limit */
	const char *why;
};

struct advice {
	enum kind kind;
	const char *text;
};

/* Reads what the rows of levers_next that begin with it would show. */
#define TRIAGE_POD_COMMAND "kubectl memtamer triage POD"

extern const struct lever levers[];
extern const size_t n_levers;
extern const struct advice levers_avoid[]; /* what not to do */
extern const size_t n_levers_avoid;
extern const struct advice levers_next[]; /* commands */
extern const size_t n_levers_next;

/** Whether a lever is for this verdict. Levers without a cause are for all verdicts of their kind; an option that the
 *  version of PyTorch in the log does not know is for none. */
bool lever_fits(const struct lever *lever, const struct verdict *verdict);
/** Whether the version of PyTorch in the log, if it is known, ends at its start with this setting of the allocator. */
bool lever_is_refused(const char *setting, const struct verdict *verdict);
/** The name of the allocator's variable for a version of PyTorch as in verdict.torch_version and for the device. */
const char *lever_variable(const struct verdict *verdict);
/** Appends the setting with its placeholders replaced. @return the sticky status of `buf`. */
int lever_render(const struct lever *lever, const struct verdict *verdict, struct strbuf *buf);
