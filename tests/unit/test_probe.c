/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"
#include "base/limits.h"
#include "serve/probe.h"
#include "support/test.h"

#include <errno.h>

#define REVIEW(operation, object)                                                                                      \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\","           \
	"\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"ConfigMap\"},\"operation\":\"" operation               \
	"\",\"namespace\":\"memtamer\",\"dryRun\":true,\"object\":" object "}}"
#define ADD "{\"op\":\"add\",\"path\":\"/metadata/annotations/memtamer.io~1probed-by\",\"value\":\"pod-\\\"1\"}]"

/* The patch of an answer, "" for none. */
static void patch_of(const struct strbuf *answer, struct strbuf *ret)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct json_object *response = NULL;
	const char *patch = "", *uid = "";
	struct err err = ERR_INIT;

	assert_int_equal(json_parse(strbuf_text(answer), answer->len, 32, &json, &err), 0);
	response = json_member(json, "response");
	assert_int_equal(json_get_string(response, "", "uid", &uid, &err), 0);
	assert_string_equal(uid, "u-1");
	assert_true(json_object_get_boolean(json_member(response, "allowed")));
	assert_true(json_get_string(response, "", "patch", &patch, &err) >= 0);
	strbuf_clear(ret);
	assert_int_equal(base64_decode(patch, strlen(patch), ret), 0);
}

static void test_says_who_answered(void **state)
{
	static const struct {
		const char *review, *patch;
	} rows[] = {
		{REVIEW("CREATE", "{\"metadata\":{\"name\":\"memtamer-probe\",\"annotations\":{\"a\":\"b\"}}}"),
		 "[" ADD},
		{REVIEW("CREATE", "{\"metadata\":{\"name\":\"memtamer-probe\"}}"),
		 "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}}," ADD},
		{REVIEW("CREATE", "{\"metadata\":{\"annotations\":null}}"),
		 "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}}," ADD},
		/* nothing to patch, and never a refusal */
		{REVIEW("DELETE", "null"), ""},
		{REVIEW("CREATE", "{}"), ""},
		{REVIEW("CREATE", "7"), ""},
	};
	struct admission_scratch scratch;
	struct strbuf answer = STRBUF_INIT(LIMIT_RESPONSE_BYTES), patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	struct err err = ERR_INIT;

	(void)state;
	admission_scratch_init(&scratch);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].review);
		strbuf_clear(&answer);
		assert_int_equal(
			probe_answer(&scratch, "pod-\"1", rows[i].review, strlen(rows[i].review), &answer, &err), 0);
		patch_of(&answer, &patch);
		assert_string_equal(strbuf_text(&patch), rows[i].patch);
	}
	strbuf_clear(&answer);
	assert_int_equal(probe_answer(&scratch, "x", "{}", 2, &answer, &err), -EINVAL);
	assert_int_equal(probe_answer(&scratch, "x", "nonsense", 8, &answer, &err), -EINVAL);
	admission_scratch_release(&scratch);
	strbuf_release(&answer);
	strbuf_release(&patch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_says_who_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
