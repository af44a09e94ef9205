/* SPDX-License-Identifier: Apache-2.0 */
/* Which levers an answer lists. */
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

bool lever_is_refused(const char *setting, const struct verdict *verdict)
{
	for (size_t i = 0; i < ARRAY_LEN(first_versions); i++)
		if (verdict->torch_version >= 0 && verdict->torch_version < first_versions[i].version &&
		    strstr(setting, first_versions[i].option))
			return true;
	return false;
}

/* Devices with a build of their own have versions of their own. */
void lever_render_why(const struct lever *lever, const struct verdict *verdict, struct strbuf *buf)
{
	bool is_renamed = streq(lever_variable(verdict), variable_names[VARIABLE_ANY]);

	strbuf_adds(buf, lever->why);
	if (verdict->torch_version >= 0 || lever_device(verdict) > DEVICE_AMD)
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

static bool is_of_cause(const struct lever *lever, const char *cause)
{
	return !lever->cause || streq(lever->cause, cause ? cause : LEVER_NO_CAUSE);
}

bool lever_fits(const struct lever *lever, const struct verdict *verdict)
{
	if (lever->kind != verdict->kind || !is_of_cause(lever, verdict->cause) ||
	    lever_is_refused(lever->setting, verdict) || !device_has(lever_device(verdict), lever->setting))
		return false;
	return lever->framework == FRAMEWORK_NONE || lever->framework == lever_framework(verdict);
}

/* ---- what was tried already ---- */

/* The row of `settings` that the lever is; of several the first one. SETTING_COUNT_: none. A larger volume than the one
 * in force may still help. */
static enum setting find_setting(const struct lever *lever)
{
	int i = 0;

	while (i < SETTING_COUNT_ && !(settings[i].lever && strcasestr(lever->setting, settings[i].lever)))
		i++;
	return i == SETTING_SHM ? SETTING_COUNT_ : (enum setting)i;
}

/* A number of the lever that cannot be smaller; NULL: none. */
static const struct number_row *find_least(const struct lever *lever, const struct facts *facts)
{
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		if (number_rows[i].lever && number_rows[i].least != NUMBER_NONE &&
		    strstr(lever->setting, number_rows[i].lever) && facts->numbers[i].value != NUMBER_NONE)
			return facts->numbers[i].value <= number_rows[i].least ? &number_rows[i] : NULL;
	return NULL;
}

bool lever_render_used(const struct lever *lever, const struct facts *facts, struct strbuf *buf)
{
	enum setting setting = find_setting(lever);
	const struct number_row *least = find_least(lever, facts);

	if (setting != SETTING_COUNT_ && facts_setting(facts, setting)) {
		strbuf_adds(buf, settings[setting].name);
		return true;
	}
	if (least)
		strbuf_addf(buf, "%s=%lld", least->key, (long long)facts->numbers[least - number_rows].value);
	return least != NULL;
}

bool lever_is_left(const struct lever *lever, const struct verdict *verdict, const struct facts *facts)
{
	enum setting setting = find_setting(lever);

	return lever_fits(lever, verdict) && !(setting != SETTING_COUNT_ && facts_setting(facts, setting)) &&
	       !find_least(lever, facts);
}
