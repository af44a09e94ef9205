/* SPDX-License-Identifier: Apache-2.0 */
/* Which levers an answer lists. */
#include "triage/levers.h"

const char *lever_place(const struct verdict *verdict)
{
	static const char *const places[] = {"slurm", "docker", "systemd", "job-limit", "yarn"};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (streq(verdict->cause, places[i]))
			return places[i];
	return verdict->kind == KIND_CONTAINER_LIMIT && verdict->fact ? cgroup_owner(verdict->fact->reading.words)
								      : NULL;
}

bool lever_is_elsewhere(const char *text, const struct verdict *verdict)
{
	return text_has(text, "kubectl|resources: |emptyDir|restartPolicy") && lever_place(verdict);
}

bool lever_is_helper(const struct verdict *verdict)
{
	const struct fact *fact = verdict->fact;

	return fact && fact->signal == SIGNAL_OOM_KILLED &&
	       (strstarts(fact->text, "init container ") || strstarts(fact->text, "sidecar "));
}

/* What only the program that trains has. */
static bool is_of_training(const char *setting)
{
	return text_has(setting, "streaming=True|num_workers|numpy.|tracemalloc|load_dataset");
}

/* An engine that serves a model has no steps, whose batch could be smaller. */
static bool is_serving(const struct verdict *verdict)
{
	return streq(verdict->cause, "start-check") || streq(verdict->cause, "kv-cache");
}

/* A program killed, so that the kernel's log has nothing. */
static bool is_killed_by_program(const struct verdict *verdict)
{
	static const char *const causes[] = {"systemd-oomd", "earlyoom", "low-memory-killer", "ray-memory-monitor",
					     "talos"};

	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (streq(verdict->cause, causes[i]))
			return true;
	return false;
}

/* Whether a text is for another way in which such an end comes about. */
static bool is_of_other_way(const char *text, const struct verdict *verdict)
{
	return lever_is_elsewhere(text, verdict) || (is_serving(verdict) && text_has(text, "empty_cache|resume")) ||
	       (is_killed_by_program(verdict) && text_has(text, "kernel log|oom-killer"));
}

static bool is_of_cause(const struct lever *lever, const struct verdict *verdict)
{
	return !lever->cause || streq(lever->cause, verdict->cause ? verdict->cause : LEVER_NO_CAUSE) ||
	       streq(lever->cause, lever_place(verdict));
}

bool lever_fits(const struct lever *lever, const struct verdict *verdict)
{
	if (lever->kind != verdict->kind || !is_of_cause(lever, verdict) ||
	    (lever_is_helper(verdict) && is_of_training(lever->setting)) || is_of_other_way(lever->setting, verdict) ||
	    (is_serving(verdict) && !lever->cause && !strstr(lever->setting, "nodeSelector")) ||
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

bool lever_advice_fits(const struct advice *advice, const struct verdict *verdict)
{
	enum framework framework = lever_framework(verdict);
	bool is_torch = framework == FRAMEWORK_TORCH || framework == FRAMEWORK_MPS;

	return advice->kind == verdict->kind && !is_of_other_way(advice->text, verdict) &&
	       device_has(lever_device(verdict), advice->text) && (is_torch || !strstr(advice->text, "torch.cuda."));
}
