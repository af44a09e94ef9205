/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"

#include "base/attr.h"
#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"
#include "k8s/pod.h"

const char *const mode_names[MODE_COUNT_] = {
	[MODE_OFF] = "off",	[MODE_OBSERVE] = "observe", [MODE_FILL] = "fill",
	[MODE_RAISE] = "raise", [MODE_ENFORCE] = "enforce",
};

const char *const size_class_names[3] = {
	[CLASS_DENSE] = "dense",
	[CLASS_STANDING] = "standing",
	[CLASS_GUARANTEED] = "guaranteed",
};

const char *const resize_mode_names[RESIZE_MODE_COUNT_] = {
	[RESIZE_OFF] = "off",
	[RESIZE_ON_OOM] = "onOOM",
	[RESIZE_BEFORE_OOM] = "beforeOOM",
};

static const char *const no_names[] = {NULL};
static const char *const critical_classes[] = {"system-cluster-critical", "system-node-critical", NULL};

int mode_parse(const char *name)
{
	for (int i = 0; i < MODE_COUNT_; i++)
		if (streq(name, mode_names[i]))
			return i;
	return -1;
}

enum resize_mode resize_mode_of(enum resize_mode configured, const struct k8s_labels *annotations)
{
	const char *text = k8s_label_get(annotations, KEY_RESIZE);
	enum resize_mode said = RESIZE_OFF; /* also for an unknown value */

	if (!text)
		return configured;
	for (size_t i = 0; i < ARRAY_LEN(resize_mode_names); i++)
		if (streq(text, resize_mode_names[i]))
			said = (enum resize_mode)i;
	return MIN(said, configured);
}

void policy_default(struct policy *ret)
{
	*ret = (struct policy){
		.mode = MODE_OBSERVE,
		.sizing =
			{
				.size_class = CLASS_DENSE,
				.quantile_permille = 500,
				.buffer_min_permille = 20,
				.buffer_spread_permille = 600,
				.buffer_fixed_bytes = (int64_t)(384 * MIB),
				.floor_request_bytes = (int64_t)(32 * MIB),
				.floor_limit_bytes = (int64_t)(100 * MIB),
				.min_runs = 3,
				.no_history = NO_HISTORY_REQUEST,
				.lower_max_permille = 250,
				.lower_min_runs = 5,
				.change_min_permille = 100,
				.no_history_request_bytes = (int64_t)(64 * MIB),
				.over_share_permille = 1000,
			},
		.excluded_namespaces = no_names,
		.critical_priority_classes = critical_classes,
	};
	for (size_t i = 0; i < CHECK_COUNT_; i++)
		ret->actions[i] = check_table[i].default_action;
}
