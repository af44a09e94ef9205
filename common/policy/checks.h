/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* checks: the registry of findings. One row per check in checks.def; enum, names, defaults, metric labels and
 * docs/CHECKS.md come from it. */
#include <stddef.h>

enum check_action { ACTION_OFF, ACTION_WARN, ACTION_PATCH, ACTION_DENY, ACTION_COUNT_ };
extern const char *const check_action_names[ACTION_COUNT_];
int check_action_parse(const char *name);

enum check_id {
#define CHECK(id, name, action, title, text) CHECK_##id,
#include "policy/checks.def"
#undef CHECK
	CHECK_COUNT_
};

struct check {
	const char *name; /* "memory-limit-missing" */
	enum check_action default_action;
	const char *title; /* one line */
	const char *text;  /* what it means, when it fires, what is done: a paragraph for the docs */
};
extern const struct check check_table[CHECK_COUNT_];
/** -1 when no such check. */
int check_parse(const char *name);
