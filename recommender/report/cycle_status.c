/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cycle_status.h"

#include "base/json.h"
#include "base/json_write.h"
#include "base/timefmt.h"

#include <errno.h>

#define API_VERSION  "status.memtamer.io/v1alpha1"
#define MAX_FINDINGS 256

#define AT(field) offsetof(struct cycle_status, field)
/* In the order in which they are written. */
static const struct {
	const char *key;
	bool is_text; /* const char *, otherwise int64_t */
	size_t offset;
} members[] = {
	{"version", true, AT(version)},		{"mode", true, AT(mode)},
	{"result", true, AT(result)},		{"why", true, AT(why)},
	{"webhook", true, AT(webhook)},		{"runs", false, AT(runs)},
	{"workloads", false, AT(workloads)},	{"profilesChanged", false, AT(profiles_changed)},
	{"daysDone", false, AT(days_done)},	{"daysTotal", false, AT(days_total)},
	{"durationMs", false, AT(duration_ms)}, {"silentAfterMs", false, AT(silent_after_ms)},
	{"warning", true, AT(warning)},		{"retryAfterMs", false, AT(retry_after_ms)},
};

void cycle_status_write(const struct cycle_status *self, struct strbuf *buf)
{
	static const struct gaps none;
	static const struct hung_list none_hung;

	json_write_time(buf, "time", self->time_ms);
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const void *field = (const char *)self + members[i].offset;
		const char *text = members[i].is_text ? *(const char *const *)field : NULL;

		if (members[i].is_text)
			json_write_text(buf, members[i].key, text ? text : "");
		else
			json_write_int(buf, members[i].key, *(const int64_t *)field);
	}
	json_write_bool(buf, "watchesPods", self->watches_pods);
	gaps_encode(self->gaps ? self->gaps : &none, buf);
	hung_encode(self->hung ? self->hung : &none_hung, buf);
}

void cycle_status_write_findings(const struct evidence_finding *findings, size_t n, const char *key, struct strbuf *buf)
{
	json_write_open(buf, key, '[');
	for (size_t i = 0; i < n; i++) {
		json_write_open(buf, NULL, '{');
		json_write_text(buf, "name", findings[i].metric);
		json_write_bool(buf, "isPresent", findings[i].is_present);
		json_write_bool(buf, "isOfPods", findings[i].is_of_pods);
		json_write_text(buf, "without", findings[i].without);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

int cycle_status_encode(const struct cycle_status *self, struct strbuf *buf)
{
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "apiVersion", API_VERSION);
	json_write_text(buf, "kind", "CycleStatus");
	cycle_status_write(self, buf);
	cycle_status_write_findings(self->findings, self->n_findings, "metrics", buf);
	return strbuf_adds(buf, "}\n");
}

/* ---- reading ---- */

/* A copy of the text, or `absent` if the member is missing. @return 0; -EINVAL: another type; -ENOMEM. */
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

static int take_gaps(struct arena *arena, struct json_object *object, struct cycle_status *ret, struct err *err)
{
	struct gaps *gaps = arena_array(arena, 1, sizeof(*gaps));

	ret->gaps = gaps;
	return gaps ? gaps_decode(object, gaps, err) : err_set(err, -ENOMEM, "out of memory");
}

static int take_hung(struct arena *arena, struct json_object *object, struct cycle_status *ret, struct err *err)
{
	struct hung_list *hung = arena_array(arena, 1, sizeof(*hung));

	ret->hung = hung;
	return hung ? hung_decode(object, hung, err) : err_set(err, -ENOMEM, "out of memory");
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
	for (size_t i = 0; i < ARRAY_LEN(members) && !r; i++) {
		const char *key = members[i].key;
		void *field = (char *)&result + members[i].offset;

		r = members[i].is_text ? take_text(arena, object, key, "", field, err)
				       : MIN(json_get_int64(object, "", key, field, err), 0);
	}
	if (!r)
		r = take_findings(arena, object, &result, err);
	if (!r)
		r = take_gaps(arena, object, &result, err);
	if (!r)
		r = take_hung(arena, object, &result, err);
	if (!r)
		*ret = result;
	return r;
}
