/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile_report.h"

#include "base/str.h"

const char *const profile_condition_types[PROFILE_CONDITIONS] = {
	[PROFILE_READY] = "Ready",
	[PROFILE_PINNED] = "Pinned",
	[PROFILE_CAPPED] = "Capped",
};
static const char *const reasons[] = {PROFILE_LEARNED,	   PROFILE_NOT_ENOUGH_RUNS, PROFILE_NO_RUNS_YET,
				      PROFILE_NO_WORKLOAD, PROFILE_CONFLICT,	    PROFILE_INVALID_SPEC,
				      PROFILE_BY_PERSON,   PROFILE_BY_HARM};
static const char *const statuses[] = {"True", "False", "Unknown"};

#define F(member, key, type, ...) CODEC_FIELD(struct profile_condition, member, key, type, __VA_ARGS__)
static const struct codec_field condition_fields[] = {
	F(type, "type", CODEC_NAME,
	  "Ready: sizes for new pods are known; Pinned: a size is pinned; Capped: the mode is capped.",
	  CODEC_NAMES(profile_condition_types)),
	F(status, "status", CODEC_NAME, "Whether it is so.", CODEC_NAMES(statuses)),
	F(observed, "observedGeneration", CODEC_INT64, "metadata.generation that this is about."),
	F(since_ms, "lastTransitionTime", CODEC_TIME, "When the status changed."),
	F(reason, "reason", CODEC_NAME, "Why, in a word.", CODEC_NAMES(reasons)),
	F(message, "message", CODEC_STRING, "Why, in words.", .max = (int64_t)4 * LIMIT_CONDITION_BYTES),
};
#undef F
static const struct codec_table condition_table = CODEC_TABLE(condition_fields);

static int read_condition(void *self, const struct doc *item, struct err *err)
{
	struct profile_report *report = self;
	struct profile_condition condition = {.type = NULL};
	int r = codec_decode(&condition_table, item, &condition, err);

	for (size_t i = 0; i < PROFILE_CONDITIONS && !r; i++)
		if (streq(condition.type, profile_condition_types[i]))
			report->conditions[i] = condition;
	return r;
}

static void write_conditions(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct profile_report *report = self;
	struct profile_condition present[PROFILE_CONDITIONS];
	size_t n = 0;

	for (size_t i = 0; i < PROFILE_CONDITIONS; i++)
		if (report->conditions[i].type)
			present[n++] = report->conditions[i];
	codec_encode_objects(field, present, n, NULL, buf, comma);
}

static const struct codec_field report_fields[] = {
	CODEC_FIELD(struct profile_report, observed, "observedGeneration", CODEC_INT64,
		    "metadata.generation of the spec that this status is about."),
	CODEC_MEMBER("conditions", CODEC_OBJECTS,
		     "What the recommender makes of the object; Pinned and Capped are left out while they are not so.",
		     .table = &condition_table, .size = sizeof(struct profile_condition), .max = INT32_MAX,
		     .read_item = read_condition, .write = write_conditions),
};
const struct codec_table profile_report_table = CODEC_TABLE(report_fields);

bool profile_report_same(const struct profile_report *a, const struct profile_report *b)
{
	static const struct profile_report none = {.generation = 0};
	bool is_same;

	a = a ? a : &none;
	b = b ? b : &none;
	is_same = a->observed == b->observed;
	for (size_t i = 0; i < PROFILE_CONDITIONS && is_same; i++)
		is_same = codec_same(&condition_table, &a->conditions[i], &b->conditions[i]);
	return is_same;
}
