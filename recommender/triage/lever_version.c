/* SPDX-License-Identifier: Apache-2.0 */
/* What versions of PyTorch know of the settings of levers. */
#include "triage/levers.h"

/* The version of PyTorch, as in verdict.torch_version, that first knew an option: older ones refuse it, and the run
 * ends at its start. */
static const struct {
	const char *option;
	int64_t version;
	const char *name;
} first_versions[] = {
	{"expandable_segments:", TORCH_VERSION(2, 1, 0), "2.1"},
	{"garbage_collection_threshold:", TORCH_VERSION(1, 12, 0), "1.12"},
};

/* Without a version the message tells: up to 2.0 it had its figures in brackets, "(GPU 0; 15.78 GiB total capacity;".
 * Builds for other devices kept that form. -1: not known. */
static int64_t find_version(const struct verdict *verdict)
{
	const char *text = verdict->fact ? verdict->fact->text : "";

	if (verdict->torch_version < 0 && text_has(text, "CUDA out of memory|HIP out of memory") &&
	    strstr(text, "(GPU ") && strstr(text, " total capacity; "))
		return TORCH_VERSION(2, 0, 0);
	return verdict->torch_version;
}

bool lever_is_refused(const char *setting, const struct verdict *verdict)
{
	int64_t version = find_version(verdict);

	for (size_t i = 0; i < ARRAY_LEN(first_versions); i++)
		if (version >= 0 && version < first_versions[i].version && strstr(setting, first_versions[i].option))
			return true;
	return false;
}

/* PyTorch 2.9 renamed the variable of its own devices. 2.9.1 ignores expandable_segments in the new one on CUDA, and
 * takes the old one with a warning (pytorch/pytorch issue 183387). */
static bool reads_new_variable(const struct verdict *verdict)
{
	if (verdict->torch_version == TORCH_VERSION(2, 9, 1))
		return verdict->fact && strstr(verdict->fact->text, "XPU out of memory");
	return verdict->torch_version >= TORCH_VERSION(2, 9, 0);
}

/* Devices with a build of their own keep their variable. Without a version the message's own words count. */
const char *lever_variable(const struct verdict *verdict)
{
	enum variable variable = verdict->fact ? verdict->fact->reading.variable : VARIABLE_NONE;

	if (variable == VARIABLE_NPU || variable == VARIABLE_MLU)
		return variable_names[variable];
	if (reads_new_variable(verdict))
		return variable_names[VARIABLE_ANY];
	if (variable == VARIABLE_NONE || (variable == VARIABLE_ANY && verdict->torch_version >= 0))
		return variable_names[VARIABLE_CUDA];
	return variable_names[variable];
}

/* Devices with a build of their own have versions of their own. */
void lever_render_why(const struct lever *lever, const struct verdict *verdict, struct strbuf *buf)
{
	bool is_renamed = streq(lever_variable(verdict), variable_names[VARIABLE_ANY]);

	lever_render_words(verdict, lever->why, buf);
	if (find_version(verdict) >= 0 || lever_device(verdict) > DEVICE_AMD)
		return;
	if (is_renamed && strstr(lever->setting, first_versions[0].option))
		strbuf_adds(buf, "; PyTorch 2.9.1 reads it only as PYTORCH_CUDA_ALLOC_CONF");
	for (size_t i = 0; i < ARRAY_LEN(first_versions) && !is_renamed; i++)
		if (strstr(lever->setting, first_versions[i].option))
			strbuf_addf(buf,
				    "; before PyTorch %s the run ends at its start with \"Unrecognized "
				    "CachingAllocator option\"",
				    first_versions[i].name);
}
