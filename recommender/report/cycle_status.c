/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cycle_status.h"

#include "base/json.h"
#include "base/timefmt.h"

#include <errno.h>

#define API_VERSION  "status.memtamer.io/v1alpha1"
#define MAX_FINDINGS 256

/* Members by type; the order is that of writing. */
static const struct {
	const char *key;
	size_t offset;
} texts[] =
	{
		{"version", offsetof(struct cycle_status, version)}, {"mode", offsetof(struct cycle_status, mode)},
		{"result", offsetof(struct cycle_status, result)},   {"why", offsetof(struct cycle_status, why)},
		{"webhook", offsetof(struct cycle_status, webhook)},
},
  numbers[] = {
	  {"runs", offsetof(struct cycle_status, runs)},
	  {"workloads", offsetof(struct cycle_status, workloads)},
	  {"profilesChanged", offsetof(struct cycle_status, profiles_changed)},
	  {"daysDone", offsetof(struct cycle_status, days_done)},
	  {"daysTotal", offsetof(struct cycle_status, days_total)},
	  {"durationMs", offsetof(struct cycle_status, duration_ms)},
	  {"silentAfterMs", offsetof(struct cycle_status, silent_after_ms)},
};

static const char **text_at(struct cycle_status *self, size_t offset)
{
	return (const char **)((char *)self + offset);
}

static const char *text_of(const struct cycle_status *self, size_t i)
{
	const char *text = *(const char *const *)((const char *)self + texts[i].offset);

	return text ? text : "";
}

static int64_t number_of(const struct cycle_status *self, size_t i)
{
	return *(const int64_t *)((const char *)self + numbers[i].offset);
}

int cycle_status_encode(const struct cycle_status *self, struct strbuf *buf)
{
	char when[TIME_TEXT_BYTES];

	strbuf_addf(buf, "{\"apiVersion\":\"" API_VERSION "\",\"kind\":\"CycleStatus\",\"time\":\"%s\"",
		    time_render(self->time_ms, when));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		strbuf_addf(buf, ",\"%s\":", texts[i].key);
		strbuf_add_json_string(buf, text_of(self, i));
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		strbuf_addf(buf, ",\"%s\":%lld", numbers[i].key, (long long)number_of(self, i));
	strbuf_addf(buf, ",\"watchesPods\":%s,\"metrics\":[", self->watches_pods ? "true" : "false");
	for (size_t i = 0; i < self->n_findings; i++) {
		const struct evidence_finding *finding = &self->findings[i];

		strbuf_addf(buf, "%s{\"name\":", i ? "," : "");
		strbuf_add_json_string(buf, finding->metric);
		strbuf_addf(buf,
			    ",\"isPresent\":%s,\"isOfPods\":%s,\"without\":", finding->is_present ? "true" : "false",
			    finding->is_of_pods ? "true" : "false");
		strbuf_add_json_string(buf, finding->without);
		strbuf_addc(buf, '}');
	}
	return strbuf_adds(buf, "]}\n");
}

/* ---- reading ---- */

/* `absent` where it is missing. @return 0; -EINVAL another type; -ENOMEM. */
static int take_text(struct arena *arena, struct json_object *object, const char *key, const char *absent,
		     const char **ret, struct err *err)
{
	const char *text = NULL;
	int r = json_get_string(object, "", key, &text, err);

	if (r < 0)
		return r;
	*ret = r ? absent : arena_strdup(arena, text);
	return *ret || r ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int take_finding(struct arena *arena, struct json_object *item, struct evidence_finding *ret, struct err *err)
{
	int r = take_text(arena, item, "name", "", &ret->metric, err);

	ret->is_present = json_object_get_boolean(json_member(item, "isPresent"));
	ret->is_of_pods = json_object_get_boolean(json_member(item, "isOfPods"));
	return r ? r : take_text(arena, item, "without", NULL, &ret->without, err);
}

static int take_findings(struct arena *arena, struct json_object *object, struct cycle_status *ret, struct err *err)
{
	struct json_object *list = NULL;
	struct evidence_finding *findings;
	int r = json_get_array(object, "", "metrics", &list, err);
	size_t n;

	if (r)
		return MIN(r, 0);
	n = MIN(json_object_array_length(list), (size_t)MAX_FINDINGS);
	findings = arena_array(arena, n + 1, sizeof(*findings));
	if (!findings)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !r; i++)
		r = take_finding(arena, json_object_array_get_idx(list, i), &findings[i], err);
	ret->findings = findings;
	ret->n_findings = n;
	return r;
}

static int take_head(struct json_object *object, struct cycle_status *ret, struct err *err)
{
	const char *version = "", *when = "";
	int r = json_get_string(object, "", "apiVersion", &version, err);

	if (r < 0)
		return r;
	if (!streq(version, API_VERSION))
		return err_set(err, -EINVAL, "not a status of " API_VERSION);
	r = json_get_string(object, "", "time", &when, err);
	if (r < 0)
		return r;
	ret->watches_pods = json_object_get_boolean(json_member(object, "watchesPods"));
	return time_parse(when, strlen(when), &ret->time_ms)
		       ? err_set_at(err, -EINVAL, "time", 0, 0, "\"%.40s\" is no time", when)
		       : 0;
}

int cycle_status_decode(const char *text, size_t n, struct arena *arena, struct cycle_status *ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct cycle_status result = {.time_ms = 0};
	int r = json_parse(text, n, 8, &object, err);

	if (!r)
		r = take_head(object, &result, err);
	for (size_t i = 0; i < ARRAY_LEN(texts) && !r; i++)
		r = take_text(arena, object, texts[i].key, "", text_at(&result, texts[i].offset), err);
	for (size_t i = 0; i < ARRAY_LEN(numbers) && r >= 0; i++)
		r = MIN(json_get_int64(object, "", numbers[i].key, (int64_t *)((char *)&result + numbers[i].offset),
				       err),
			0);
	if (!r)
		r = take_findings(arena, object, &result, err);
	if (!r)
		*ret = result;
	return r;
}
