/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/checks.h"

#include "base/str.h"

const char *const check_action_names[ACTION_COUNT_] = {
	[ACTION_OFF] = "off",
	[ACTION_WARN] = "warn",
	[ACTION_PATCH] = "patch",
	[ACTION_DENY] = "deny",
};

const char *const check_severity_names[SEVERITY_COUNT_] = {
	[SEVERITY_NOTE] = "note",
	[SEVERITY_WARNING] = "warning",
	[SEVERITY_ERROR] = "error",
};

const struct check check_table[CHECK_COUNT_] = {
#define CHECK(id, name, action, severity, title, text) [CHECK_##id] = {name, action, severity, title, text},
#include "policy/checks.def"
#undef CHECK
};

int check_action_parse(const char *name)
{
	for (int i = 0; i < ACTION_COUNT_; i++)
		if (streq(name, check_action_names[i]))
			return i;
	return -1;
}

int check_parse(const char *name)
{
	for (int i = 0; i < CHECK_COUNT_; i++)
		if (streq(name, check_table[i].name))
			return i;
	return -1;
}
