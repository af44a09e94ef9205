/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "model/profile.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GI ((int64_t)1 << 30)

static const struct recommendation full_recommendation = {
	.request_bytes = 91912000001,
	.limit_bytes = 105698800003,
	.ephemeral_request_bytes = 10737418241,
	.ephemeral_limit_bytes = 21474836481,
	.median_bytes = 81912000001,
	.p95_bytes = 91000000007,
	.peak_bytes = 91912000009,
	.ephemeral_peak_bytes = 20474836487,
	.gpu = {84912000017, 85912000019},
	.is_gpu_full = true,
	.proven_bytes = 85899345921,
	.last_oom_ms = 1793607300000,
	.runs = 123456,
	.whole_runs = 98765,
	.oom_kills = 1234,
	.buffer_permille = 123,
	.over_request_permille = 456,
	.confidence = CONFIDENCE_MEDIUM,
	.flags = REC_CACHE_BOUND | REC_LEAK | REC_UNSTABLE | REC_NO_LOWER | REC_HARM,
};

static struct json_object *parse(const char *text)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	if (json_parse(text, strlen(text), 32, &object, &err))
		fail_msg("%s: %s", err.msg, text);
	return object;
}

static struct profile *decode(const char *text)
{
	CLEANUP(json_putp) struct json_object *object = parse(text);
	struct profile *profile = NULL;
	struct err err = ERR_INIT;

	if (profile_decode(object, &profile, &err))
		fail_msg("%s: %s", err.where, err.msg);
	return profile;
}

/* Bytes of `"spec":...,"status":...`. */
static size_t body_bytes(const char *text)
{
	return strlen(strstr(text, "\"spec\":")) - 1;
}

static void every_field_survives(void **state)
{
	static const char text[] =
		"{\"apiVersion\":\"memtamer.io/"
		"v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{\"namespace\":\"ml\","
		"\"name\":\"bert-0123456789\"},\"spec\":{\"workloadRef\":{\"kind\":\"Job\",\"name\":\"bert-20261101\","
		"\"role\":\"worker\",\"container\":\"pytorch\"},\"pinRequest\":\"8Gi\",\"pinLimit\":\"12Gi\","
		"\"quantile\":500,"
		"\"buffer\":0,\"floor\":\"1Gi\",\"ceiling\":\"64Gi\",\"class\":\"standing\",\"modeCap\":\"observe\","
		"\"modeCapBeforeUndo\":\"fill\"},"
		"\"status\":{\"workload\":\"Job/bert\",\"role\":\"worker\",\"container\":\"pytorch\","
		"\"aliases\":[\"Job/bert\",\"pod-stem:bert\"],\"revision\":7,\"updated\":\"2026-11-02T08:15:00Z\","
		"\"reasons\":[\"peak 85Gi of 14 runs + 12 %\"],\"summary\":{\"median\":\"7Gi\",\"peak\":\"11Gi\"},"
		"\"recommendation\":{\"request\":\"8Gi\","
		"\"limit\":\"12Gi\",\"ephemeralRequest\":\"1Gi\",\"ephemeralLimit\":\"2Gi\",\"median\":\"7Gi\","
		"\"p95\":\"10Gi\",\"peak\":\"11Gi\",\"ephemeralPeak\":\"512Mi\",\"gpuPeak\":\"79Gi\","
		"\"gpuCapacity\":\"80Gi\",\"gpuFull\":true,\"proven\":\"10Gi\","
		"\"lastOOM\":\"2026-11-01T08:15:00Z\",\"runs\":14,\"wholeRuns\":12,\"oomKills\":1,\"buffer\":120,"
		"\"overRequest\":31,\"minRanks\":4,\"confidence\":\"high\",\"flags\":[\"cache-bound\",\"harm\"]},"
		"\"variants\":[{\"variant\":\"0123456789\"},"
		"{\"variant\":\"abcdef0123\",\"request\":\"9Gi\",\"gpuFull\":false,\"proven\":\"0\",\"flags\":[]}],"
		"\"previous\":[{\"limit\":\"10Gi\",\"runs\":13},{\"variant\":\"abcdef0123\",\"limit\":\"11Gi\"}],"
		"\"diagnosis\":{\"kind\":\"fragmentation\",\"cause\":\"growth\",\"confidence\":\"high\","
		"\"time\":\"2026-11-01T08:15:00Z\",\"run\":\"bert-20261101\",\"evidence\":\"CUDA out of memory.\","
		"\"allocatorVariable\":\"PYTORCH_CUDA_ALLOC_CONF\",\"helped\":\"no\",\"epoch\":0,\"step\":1240,"
		"\"steps\":5000,"
		"\"tried\":\"2Gi\",\"capacity\":\"80Gi\",\"unallocated\":\"18Gi\",\"others\":\"1Gi\",\"peak\":\"7Gi\","
		"\"limit\":\"8Gi\"}}}";
	CLEANUP(profile_freep) struct profile *profile = decode(text);
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(8 * KIB);

	(void)state;
	assert_int_equal(profile_encode(profile, &again), 0);
	assert_string_equal(strbuf_text(&again), text);
	assert_int_equal(profile->spec->buffer_permille, 0);
	assert_string_equal(profile->spec->ref.key, "Job/bert");
	assert_int_equal(profile->parent.flags, REC_CACHE_BOUND | REC_HARM);
	assert_int_equal(profile->parent.last_oom_ms, 1793520900000);
	assert_int_equal(profile->parent.min_ranks, 4);
	assert_int_equal(profile->n_variants, 2);
	assert_int_equal(profile->n_previous, 2);
	assert_int_equal(profile->variants[2].limit_bytes, 10 * GI);
	assert_int_equal(profile->variants[2].request_bytes, 8 * GI);
	assert_int_equal(profile->variants[0].limit_bytes, 12 * GI);
	assert_int_equal(profile->variants[1].request_bytes, 9 * GI);
	assert_int_equal(profile->variants[1].limit_bytes, 12 * GI);
	assert_int_equal(profile->variants[1].proven_bytes, 0);
	assert_string_equal(profile->variants[3].variant, "abcdef0123");
	assert_int_equal(profile->variants[3].limit_bytes, 11 * GI);
	assert_string_equal(profile->diagnosis->kind, "fragmentation");
	assert_int_equal(profile->diagnosis->time_ms, 1793520900000);
	assert_string_equal(profile->diagnosis->helped, "no");
	assert_int_equal(profile->diagnosis->epoch, 0);
	assert_int_equal(profile->diagnosis->n_steps, 5000);
	assert_int_equal(profile->diagnosis->limit_bytes, 8 * GI);
}

/* As it was stored before it had numbers. */
static void a_diagnosis_without_numbers_survives(void **state)
{
	static const char text[] = "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{"
				   "\"name\":\"bert\"},\"spec\":{},\"status\":{\"recommendation\":{},\"diagnosis\":{"
				   "\"kind\":\"container-limit\",\"run\":\"bert-1\"}}}";
	CLEANUP(profile_freep) struct profile *profile = decode(text);
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(8 * KIB);

	(void)state;
	assert_int_equal(profile->diagnosis->step, DIAGNOSIS_NONE);
	assert_int_equal(profile->diagnosis->epoch, DIAGNOSIS_NONE);
	assert_int_equal(profile->diagnosis->tried_bytes, 0);
	assert_int_equal(profile_encode(profile, &again), 0);
	assert_string_equal(strbuf_text(&again), text);
}

/* Of one variant then and now: nothing but its name says so. */
static void an_only_variant_survives(void **state)
{
	static const char text[] = "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{"
				   "\"name\":\"bert\"},\"spec\":{},\"status\":{\"recommendation\":{"
				   "\"variant\":\"0123456789\",\"limit\":\"12Gi\"},\"previous\":[{"
				   "\"variant\":\"0123456789\",\"limit\":\"10Gi\"}]}}";
	CLEANUP(profile_freep) struct profile *profile = decode(text);
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(8 * KIB);

	(void)state;
	assert_int_equal(profile->n_variants, 0);
	assert_string_equal(profile->parent.variant, "0123456789");
	assert_string_equal(profile->variants[0].variant, "0123456789");
	assert_int_equal(profile_encode(profile, &again), 0);
	assert_string_equal(strbuf_text(&again), text);
}

static void bare_object_has_documented_absences(void **state)
{
	CLEANUP(profile_freep)
	struct profile *profile = decode("{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\","
					 "\"metadata\":{\"namespace\":\"ml\",\"name\":\"memtamer-namespace\"},"
					 "\"spec\":{\"modeCap\":\"observe\"},\"newer\":{\"x\":1}}");

	(void)state;
	assert_string_equal(profile->spec->mode_cap, "observe");
	assert_string_equal(profile->workload, "");
	assert_int_equal(profile->spec->quantile_permille, -1);
	assert_int_equal(profile->spec->buffer_permille, -1);
	assert_int_equal(profile->spec->pin_limit_bytes, 0);
	assert_int_equal(profile->n_variants, 0);
}

#define HEAD(rest)                                                                                                     \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{\"name\":\"a\"}" rest "}"

static void refused_rows(void **state)
{
	static const struct {
		const char *name, *text, *where;
	} rows[] = {
		{"no object", "[]", ""},
		{"version", "{\"apiVersion\":\"memtamer.io/v2\",\"kind\":\"MemoryProfile\"}", "apiVersion"},
		{"kind", "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"ConfigMap\"}", "kind"},
		{"no metadata", "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\"}", "metadata"},
		{"no name", "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{}}",
		 "metadata.name"},
		{"previous without variant", HEAD(",\"status\":{\"previous\":[{},{}]}"), "status.previous[1]"},
		{"too many previous", HEAD(",\"status\":{\"previous\":[{},{},{},{},{},{}]}"), "status.previous"},
		{"count", HEAD(",\"status\":{\"recommendation\":{\"runs\":3000000000}}"), "status.recommendation.runs"},
		{"confidence", HEAD(",\"status\":{\"recommendation\":{\"confidence\":\"sure\"}}"),
		 "status.recommendation.confidence"},
		{"time", HEAD(",\"status\":{\"updated\":\"yesterday\"}"), "status.updated"},
		{"aliases", HEAD(",\"status\":{\"aliases\":[1]}"), "status.aliases"},
		{"nine aliases", HEAD(",\"status\":{\"aliases\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}"),
		 "status.aliases"},
		{"variant", HEAD(",\"status\":{\"variants\":[{\"limit\":\"x\",\"variant\":\"a\"}]}"),
		 "status.variants[0].limit"},
		{"variant without id", HEAD(",\"status\":{\"variants\":[{}]}"), "status.variants[0]"},
		{"variant no object", HEAD(",\"status\":{\"variants\":[7]}"), "status.variants[0]"},
		{"five variants", HEAD(",\"status\":{\"variants\":[{},{},{},{},{}]}"), "status.variants"},
		{"second condition", HEAD(",\"status\":{\"conditions\":[{},{\"observedGeneration\":\"x\"}]}"),
		 "status.conditions[1].observedGeneration"},
		{"creation time",
		 "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{\"name\":\"a\","
		 "\"creationTimestamp\":\"x\"}}",
		 "metadata.creationTimestamp"},
		{"diagnosis no object", HEAD(",\"status\":{\"diagnosis\":1}"), "status.diagnosis"},
		{"another variable", HEAD(",\"status\":{\"diagnosis\":{\"allocatorVariable\":\"LD_PRELOAD\"}}"),
		 "status.diagnosis.allocatorVariable"},
		{"a step below 0", HEAD(",\"status\":{\"diagnosis\":{\"step\":-5}}"), "status.diagnosis.step"},
		{"a step beyond all bounds", HEAD(",\"status\":{\"diagnosis\":{\"steps\":9007199254740992}}"),
		 "status.diagnosis.steps"},
		{"no quantity", HEAD(",\"status\":{\"diagnosis\":{\"tried\":\"much\"}}"), "status.diagnosis.tried"},
		{"neither yes nor no", HEAD(",\"status\":{\"diagnosis\":{\"helped\":\"so\"}}"),
		 "status.diagnosis.helped"},
		{"status no object", HEAD(",\"status\":\"fine\""), "status"},
	};

	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *object = parse(rows[i].text);
		struct profile *profile = NULL;
		struct profile_draft draft;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(profile_decode(object, &profile, &err), -EINVAL);
		assert_null(profile);
		assert_string_equal(err.where, rows[i].where);
		err = (struct err)ERR_INIT;
		assert_int_equal(profile_read(rows[i].text, strlen(rows[i].text), &scratch, &draft, &err), -EINVAL);
		assert_string_equal(err.where, rows[i].where);
	}
}

/* Neither applied in part nor taken for the absence of a pin; what was learned stays. */
static void an_invalid_spec_counts_for_nothing(void **state)
{
	static const struct {
		const char *name, *spec, *why, *cap;
	} rows[] = {
		{"quantity", "{\"pinLimit\":\"1Gb\"}", "spec.pinLimit: not a quantity: \"1Gb\"", "observe"},
		{"negative", "{\"pinLimit\":\"-1Gi\"}", "spec.pinLimit: negative: \"-1Gi\"", "observe"},
		{"number for a quantity", "{\"floor\":5}", "spec.floor: wrong type: \"number\"", "observe"},
		{"bytes by mistake", "{\"pinLimit\":\"400m\"}", "spec.pinLimit: less than 1Mi: \"400m\"", "observe"},
		{"a KiB less", "{\"pinRequest\":\"1023Ki\"}", "spec.pinRequest: less than 1Mi: \"1023Ki\"", "observe"},
		{"request above limit", "{\"pinRequest\":\"2Gi\",\"pinLimit\":\"1Gi\"}",
		 "spec.pinRequest: above spec.pinLimit", "observe"},
		{"floor above ceiling", "{\"floor\":\"2Gi\",\"ceiling\":\"1Gi\"}", "spec.floor: above spec.ceiling",
		 "observe"},
		{"one good pin beside a bad one", "{\"pinLimit\":\"8Gi\",\"pinRequest\":\"lots\"}",
		 "spec.pinRequest: not a quantity: \"lots\"", "observe"},
		{"class", "{\"class\":\"cosy\"}", "spec.class: unknown value \"cosy\"", "observe"},
		{"mode cap enforce", "{\"modeCap\":\"enforce\"}", "spec.modeCap: unknown value \"enforce\"", "observe"},
		{"mode cap before undo", "{\"modeCapBeforeUndo\":\"enforce\"}",
		 "spec.modeCapBeforeUndo: unknown value \"enforce\"", "observe"},
		{"permille", "{\"quantile\":-2}", "spec.quantile: out of range: \"-2\"", "observe"},
		{"whose it is, without a name", "{\"workloadRef\":{\"kind\":\"Job\"}}",
		 "spec.workloadRef: kind and name are needed", "observe"},
		{"a kind in lower case", "{\"workloadRef\":{\"kind\":\"job\",\"name\":\"a\"}}",
		 "spec.workloadRef.kind: no kind such as Job: \"job\"", "observe"},
		{"whose it is, no object", "{\"workloadRef\":\"Job/a\"}",
		 "spec.workloadRef: expected object, found string", "observe"},
		{"a lower cap stands", "{\"modeCap\":\"off\",\"floor\":\"x\"}", "spec.floor: not a quantity: \"x\"",
		 "off"},
		{"a higher cap does not", "{\"modeCap\":\"raise\",\"floor\":\"x\",\"unknown\":[1,{\"a\":null}]}",
		 "spec.floor: not a quantity: \"x\"", "observe"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(8 * KIB);
		CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(8 * KIB);
		CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
		struct profile_draft draft;
		struct profile *profile;

		test_row(rows[i].name);
		strbuf_addf(
			&text,
			HEAD(",\"spec\":%s,\"status\":{\"workload\":\"Job/a\",\"recommendation\":{\"limit\":\"7Gi\"}}"),
			rows[i].spec);
		assert_int_equal(profile_read(strbuf_text(&text), text.len, &scratch, &draft, NULL), 0);
		profile = decode(strbuf_text(&text)); /* from a tree, and copied */
		assert_true(profile_same(profile, &draft.profile));
		assert_string_equal(profile->spec->invalid, rows[i].why);
		assert_int_equal(profile->parent.limit_bytes, 7 * GI);
		assert_string_equal(profile->spec->mode_cap, rows[i].cap);
		assert_int_equal(profile->spec->pin_request_bytes, 0);
		assert_int_equal(profile->spec->pin_limit_bytes, 0);
		assert_int_equal(profile->spec->floor_bytes, 0);
		assert_int_equal(profile->spec->quantile_permille, -1);
		assert_true(profile_has_spec(profile));
		/* what a person wrote is kept */
		assert_int_equal(profile_encode(profile, &again), 0);
		assert_string_equal(strbuf_text(&again), strbuf_text(&text));
		profile_free(profile);
	}
}

/* The workload is left alone, and so it must be known which. */
static void an_invalid_spec_still_says_whose_it_is(void **state)
{
	CLEANUP(profile_freep)
	struct profile *profile = decode(
		"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{"
		"\"name\":\"a\",\"creationTimestamp\":\"2026-11-01T08:15:00Z\"},\"spec\":{\"pinLimit\":"
		"\"400m\",\"workloadRef\":{\"kind\":\"CronJob\",\"name\":\"nightly-2\"}}}");

	(void)state;
	assert_string_equal(profile->spec->invalid, "spec.pinLimit: less than 1Mi: \"400m\"");
	assert_string_equal(profile->spec->ref.key, "CronJob/nightly-2");
	assert_string_equal(profile->spec->ref.made_key, "Job/nightly"); /* as its pods show it */
	assert_int_equal(profile->spec->ref.created_ms, 1793520900000);
}

static void zero_is_no_pin_as_it_always_was(void **state)
{
	CLEANUP(profile_freep) struct profile *profile = decode(HEAD(",\"spec\":{\"pinLimit\":\"0\"}"));

	(void)state;
	assert_null(profile->spec->invalid);
	assert_false(profile_has_spec(profile));
}

/* What only text can have: json-c drops it before a decoder sees it. */
static void refused_texts(void **state)
{
	static const struct {
		const char *name, *text, *says;
	} rows[] = {
		{"duplicate key", HEAD(",\"status\":{\"role\":\"a\",\"role\":\"b\"}"), "duplicate key"},
		{"cut", HEAD(",\"status\":{"), "ends early"},
		{"NUL", HEAD(",\"status\":{\"role\":\"a\\u0000\"}"), "NUL"},
		{"two objects", HEAD("") HEAD(""), "behind"},
		{"nothing", "", "ends early"},
	};
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile_draft draft;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(profile_read(rows[i].text, strlen(rows[i].text), &scratch, &draft, &err), -EINVAL);
		assert_non_null(strstr(err.msg, rows[i].says));
	}
}

static const char *repeat(char *buf, char c, size_t n)
{
	memset(buf, c, n);
	buf[n] = '\0';
	return buf;
}

/* Longest names, eight aliases, four reasons, every figure at full length. */
static void size_stays_bounded(void **state)
{
	static char texts[16][300];
	const char *aliases[LIMIT_PROFILE_ALIASES], *reasons[PROFILE_REASONS];
	struct recommendation variants[PROFILE_RECOMMENDATIONS];
	struct profile draft = {
		.namespace_name = repeat(texts[0], 'n', 63),
		.name = repeat(texts[1], 'o', 62),
		.workload = repeat(texts[2], 'w', 127),
		.role = repeat(texts[3], 'r', 63),
		.container = repeat(texts[4], 'c', 63),
		.aliases = aliases,
		.n_aliases = LIMIT_PROFILE_ALIASES,
		.reasons = reasons,
		.n_reasons = PROFILE_REASONS,
		.revision = 123456,
		.updated_ms = 1793607300250,
		.spec = &profile_spec_none,
		.parent = full_recommendation,
		.variants = variants,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		aliases[i] = repeat(texts[5 + i], (char)('0' + i), i ? 20 : 127);
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		reasons[i] = "peak 85Gi of 14 runs + 12 %; limit raised after an OOM kill at 80Gi on 2026-11-01";
	for (size_t n = 0; n <= LIMIT_PROFILE_VARIANTS; n++) {
		CLEANUP(profile_freep) struct profile *profile = NULL, *back = NULL;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);

		for (size_t i = 0; i < n; i++) {
			variants[i] = full_recommendation;
			snprintf(variants[i].variant, sizeof(variants[i].variant), "%010zu", i);
			/* A figure that differs from the parent's is written: all of them here. */
			for (size_t k = 0; i > 0 && k < 9; k++)
				(&variants[i].request_bytes)[k] += 1001;
			variants[i].runs += i ? 1 : 0;
		}
		/* what counted before is left out where there is no room */
		draft.n_variants = (uint8_t)n;
		draft.n_previous = (uint8_t)(n + 1);
		variants[n] = full_recommendation;
		memcpy(variants + n + 1, variants, n * sizeof(*variants));
		variants[n].variant[0] = '\0';
		profile = profile_dup(&draft);
		assert_non_null(profile);
		assert_int_equal(profile_encode(profile, &text), 0);
		assert_in_range(body_bytes(strbuf_text(&text)), 500,
				LIMIT_PROFILE_BYTES + (n > 1 ? n - 1 : 0) * LIMIT_PROFILE_VARIANT_BYTES);
		back = decode(strbuf_text(&text));
		assert_int_equal(back->n_variants, n);
		assert_string_equal(back->aliases[0], aliases[0]);
		assert_memory_equal(&back->parent, &profile->parent, offsetof(struct recommendation, variant));
		for (size_t i = 0; i < n; i++) {
			assert_memory_equal(&back->variants[i], &profile->variants[i],
					    offsetof(struct recommendation, variant));
			assert_string_equal(back->variants[i].variant, profile->variants[i].variant);
		}
	}
}

static void copy_is_deep_and_counted(void **state)
{
	char name[] = "bert", alias[] = "Job/bert", reason[] = "because";
	const char *aliases[] = {alias, NULL}, *reasons[] = {reason};
	struct profile draft = {.name = name,
				.workload = alias,
				.aliases = aliases,
				.n_aliases = 2,
				.reasons = reasons,
				.n_reasons = 1,
				.revision = 3};
	CLEANUP(profile_freep) struct profile *profile = profile_dup(&draft);

	(void)state;
	assert_non_null(profile);
	name[0] = alias[0] = reason[0] = 'X';
	assert_string_equal(profile->name, "bert");
	assert_string_equal(profile->namespace_name, "");
	assert_string_equal(profile->role, "");
	assert_string_equal(profile->aliases[0], "Job/bert");
	assert_ptr_equal(profile->aliases[0], profile->workload);
	assert_string_equal(profile->aliases[1], "");
	assert_string_equal(profile->reasons[0], "because");
	assert_int_equal(profile->revision, 3);
	assert_ptr_equal(profile_ref(profile), profile);
	profile_free(profile);
	assert_string_equal(profile->name, "bert");
}

/* Of the largest diagnosis the line of the log goes before anything that sizes need. */
static void a_diagnosis_stays_bounded(void **state)
{
	struct diagnosis diagnosis = {.time_ms = 1793607300000,
				      .confidence = "medium",
				      .helped = "yes",
				      .variable = ALLOCATOR_VARIABLE_CUDA,
				      .epoch = DIAGNOSIS_NUMBER_MAX,
				      .step = DIAGNOSIS_NUMBER_MAX,
				      .n_steps = DIAGNOSIS_NUMBER_MAX,
				      /* no multiple of 1Ki, so that all digits are written */
				      .tried_bytes = DIAGNOSIS_NUMBER_MAX - 1,
				      .capacity_bytes = DIAGNOSIS_NUMBER_MAX - 1,
				      .unallocated_bytes = DIAGNOSIS_NUMBER_MAX - 1,
				      .others_bytes = DIAGNOSIS_NUMBER_MAX - 1,
				      .peak_bytes = DIAGNOSIS_NUMBER_MAX - 1,
				      .limit_bytes = DIAGNOSIS_NUMBER_MAX - 1};
	struct profile draft = {.name = "a", .workload = "w", .diagnosis = &diagnosis, .spec = &profile_spec_none};
	CLEANUP(profile_freep) struct profile *profile = NULL, *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	char reason[LIMIT_PROFILE_BYTES + 512];
	const char *reasons[] = {reason};

	(void)state;
	memset(diagnosis.kind, 'k', sizeof(diagnosis.kind) - 1);
	memset(diagnosis.cause, 'c', sizeof(diagnosis.cause) - 1);
	memset(diagnosis.run, 'r', sizeof(diagnosis.run) - 1);
	memset(diagnosis.evidence, '"', sizeof(diagnosis.evidence) - 1); /* twice as long in JSON */
	profile = profile_dup(&draft);
	assert_non_null(profile);
	memset(diagnosis.evidence, 'X', sizeof(diagnosis.evidence) - 1);
	assert_int_equal(profile->diagnosis->evidence[0], '"');
	assert_int_equal(profile_encode(profile, &text), 0);
	assert_true(body_bytes(strbuf_text(&text)) < LIMIT_DIAGNOSIS_BYTES);
	back = decode(strbuf_text(&text));
	assert_true(profile_same(profile, back));
	profile_freep(&back);

	memset(reason, 'z', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	draft.reasons = reasons;
	draft.n_reasons = 1;
	profile_freep(&profile);
	profile = profile_dup(&draft);
	strbuf_clear(&text);
	assert_int_equal(profile_encode(profile, &text), 0);
	assert_non_null(strstr(strbuf_text(&text), "zzz"));
	assert_null(strstr(strbuf_text(&text), "XXX"));
	assert_non_null(strstr(strbuf_text(&text), "kkk"));
}

static void admission_keeps_a_diagnosis_for_its_setting_only(void **state)
{
	static const struct {
		const char *variable, *helped;
		bool is_kept;
	} rows[] = {{"", "", false},
		    {ALLOCATOR_VARIABLE_CUDA, "", true},
		    {ALLOCATOR_VARIABLE_CUDA, "yes", true},
		    {ALLOCATOR_VARIABLE_CUDA, "no", false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosis diagnosis = {.kind = "fragmentation"};
		struct profile draft = {.name = "a", .diagnosis = &diagnosis};

		snprintf(diagnosis.variable, sizeof(diagnosis.variable), "%s", rows[i].variable);
		snprintf(diagnosis.helped, sizeof(diagnosis.helped), "%s", rows[i].helped);
		profile_drop_unread(&draft, 0);
		assert_int_equal(draft.diagnosis != NULL, rows[i].is_kept);
	}
}

static void buffer_cap_is_sticky(void **state)
{
	struct profile draft = {.name = "a", .workload = "w"};
	CLEANUP(profile_freep) struct profile *profile = profile_dup(&draft);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(50);

	(void)state;
	assert_non_null(profile);
	assert_int_equal(profile_encode(profile, &text), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_survives),
		cmocka_unit_test(bare_object_has_documented_absences),
		cmocka_unit_test(a_diagnosis_without_numbers_survives),
		cmocka_unit_test(an_only_variant_survives),
		cmocka_unit_test(refused_rows),
		cmocka_unit_test(an_invalid_spec_counts_for_nothing),
		cmocka_unit_test(an_invalid_spec_still_says_whose_it_is),
		cmocka_unit_test(zero_is_no_pin_as_it_always_was),
		cmocka_unit_test(refused_texts),
		cmocka_unit_test(size_stays_bounded),
		cmocka_unit_test(copy_is_deep_and_counted),
		cmocka_unit_test(a_diagnosis_stays_bounded),
		cmocka_unit_test(admission_keeps_a_diagnosis_for_its_setting_only),
		cmocka_unit_test(buffer_cap_is_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
