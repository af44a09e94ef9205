/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* checks: the table of checks. Each check is a row in checks.def, which provides enum, names, defaults, metric labels
 * and docs/CHECKS.md. Constant data; any thread. Cost: a name is compared with each row, of which there are some 30. */
#include <stddef.h>

enum check_action { ACTION_OFF, ACTION_WARN, ACTION_PATCH, ACTION_DENY, ACTION_COUNT_ };
extern const char *const check_action_names[ACTION_COUNT_];
/** The action of this name; -1: there is none. */
int check_action_parse(const char *name);

/** How bad a finding is, independent of the action; the names are SARIF's levels. */
enum check_severity {
	SEVERITY_NOTE,	  /* waste, or a risk for other pods */
	SEVERITY_WARNING, /* the pod may fail, or make others fail */
	SEVERITY_ERROR,	  /* the pod is rejected, or has failed for this reason before */
	SEVERITY_COUNT_
};
extern const char *const check_severity_names[SEVERITY_COUNT_];

enum check_id {
#define CHECK(id, name, action, severity, title, text) CHECK_##id,
#include "policy/checks.def"
#undef CHECK
	CHECK_COUNT_
};

struct check {
	const char *name; /* "memory-limit-missing" */
	enum check_action default_action;
	enum check_severity severity;
	const char *title; /* one line */
	const char *text;  /* meaning, condition and action: a paragraph for the docs */
};
extern const struct check check_table[CHECK_COUNT_];
/** The check of this name; -1: there is none. */
int check_parse(const char *name);
