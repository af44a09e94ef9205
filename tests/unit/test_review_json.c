/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "k8s/review.h"

#include <errno.h>
#include <string.h>

/* JSON is written with single quotes. */
static int read_review(const char *text, struct arena *arena, struct review *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT(4 * KIB);
	struct k8s_pod pod;

	for (const char *p = text; *p; p++)
		strbuf_addc(&quoted, *p == '\'' ? '"' : *p);
	return review_read_pod(strbuf_text(&quoted), quoted.len, arena, ret, &pod, err);
}

#define V1 "'apiVersion':'admission.k8s.io/v1'"

static void review_decodes(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	const char *text =
		"{" V1 ",'kind':'AdmissionReview','request':{'uid':'705ab4f5','kind':{'group':'batch','version':'v1',"
		"'kind':'Job'},'resource':{'group':'batch','version':'v1','resource':'jobs'},'subResource':'status',"
		"'name':'n','namespace':'ml','operation':'UPDATE','userInfo':{'username':'kate','groups':['a']},"
		"'object':{'a':1},'oldObject':{'b':2},'dryRun':true,'options':null,'later':{'x':[]}}}";
	struct review review;
	struct err err;

	(void)state;
	assert_int_equal(read_review(text, &arena, &review, &err), REVIEW_NO_POD);
	assert_string_equal(review.api_version, "admission.k8s.io/v1");
	assert_string_equal(review.uid, "705ab4f5");
	assert_string_equal(review.group, "batch");
	assert_string_equal(review.version, "v1");
	assert_string_equal(review.kind, "Job");
	assert_string_equal(review.sub_resource, "status");
	assert_string_equal(review.name, "n");
	assert_string_equal(review.namespace_name, "ml");
	assert_string_equal(review.operation, "UPDATE");
	assert_string_equal(review.user, "kate");
	assert_true(review.is_dry_run);
}

static void review_decodes_what_may_be_missing(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	const char *text = "{" V1 ",'request':{'uid':'u','object':null}}";
	struct review review;
	struct err err;

	(void)state;
	assert_int_equal(read_review(text, &arena, &review, &err), REVIEW_NO_POD);
	assert_string_equal(review.name, "");
	assert_string_equal(review.namespace_name, "");
	assert_string_equal(review.user, "");
	assert_false(review.is_dry_run);
}

static void review_refuses(void **state)
{
	static const struct {
		const char *text, *where;
	} rows[] = {
		{"{}", "apiVersion"},
		{"[]", ""},
		{"{'apiVersion':'v1','request':{'uid':'u'}}", "apiVersion"},
		{"{'apiVersion':7,'request':{'uid':'u'}}", "apiVersion"},
		{"{" V1 "}", "request"},
		{"{" V1 ",'request':[]}", "request"},
		{"{" V1 ",'request':{}}", "request.uid"},
		{"{" V1 ",'request':{'uid':''}}", "request.uid"},
		{"{" V1 ",'request':{'uid':5}}", "request.uid"},
		{"{" V1 ",'request':{'uid':'u','kind':{'kind':'Pod'},'object':'x'}}", "request.object"},
		{"{" V1 ",'request':{'uid':'u','dryRun':'x'}}", "request.dryRun"},
		{"{" V1 ",'request':{'uid':'u','kind':{'kind':1}}}", "request.kind.kind"},
		{"{" V1 ",'request':{'uid':'u','userInfo':{'username':1}}}", "request.userInfo.username"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
		struct review review;
		struct err err = ERR_INIT;

		test_row(rows[i].text);
		assert_int_equal(read_review(rows[i].text, &arena, &review, &err), -EINVAL);
		assert_string_equal(err.where, rows[i].where);
	}
}

static const struct review review_of_kate = {.api_version = "admission.k8s.io/v1", .uid = "u\"1"};

static void review_renders(void **state)
{
	static const char *const warnings[] = {"memtamer: a \"b\"", "memtamer: c"};
	static const struct k8s_label audit[] = {{"decision", "patched"}, {"rule", "median"}};
	static const struct {
		const char *name;
		struct review_response response;
		const char *expected;
	} rows[] = {
		{"allowed",
		 {.is_allowed = true},
		 "{'apiVersion':'admission.k8s.io/"
		 "v1','kind':'AdmissionReview','response':{'uid':'u\\'1','allowed':true}}\n"},
		{"empty patch",
		 {.is_allowed = true, .patch = "[]"},
		 "{'apiVersion':'admission.k8s.io/"
		 "v1','kind':'AdmissionReview','response':{'uid':'u\\'1','allowed':true}}\n"},
		{"patch, padding 1",
		 {.is_allowed = true, .patch = "[{}]a"},
		 "{'apiVersion':'admission.k8s.io/"
		 "v1','kind':'AdmissionReview','response':{'uid':'u\\'1','allowed':true,"
		 "'patchType':'JSONPatch','patch':'W3t9XWE='}}\n"},
		{"patch, padding 2",
		 {.is_allowed = true, .patch = "[{}]"},
		 "{'apiVersion':'admission.k8s.io/"
		 "v1','kind':'AdmissionReview','response':{'uid':'u\\'1','allowed':true,"
		 "'patchType':'JSONPatch','patch':'W3t9XQ=='}}\n"},
		{"patch, no padding",
		 {.is_allowed = true, .patch = "[{\"\xc3\xbf\"}"},
		 "{'apiVersion':'admission.k8s.io/"
		 "v1','kind':'AdmissionReview','response':{'uid':'u\\'1','allowed':true,"
		 "'patchType':'JSONPatch','patch':'W3siw78ifQ=='}}\n"},
		{"denied, never with a patch",
		 {.is_allowed = false, .message = "too big", .patch = "[{}]"},
		 "{'apiVersion':'admission.k8s.io/"
		 "v1','kind':'AdmissionReview','response':{'uid':'u\\'1','allowed':false,"
		 "'status':{'code':403,'reason':'Forbidden','message':'too big'}}}\n"},
		{"warnings and audit",
		 {.is_allowed = true,
		  .warnings = warnings,
		  .n_warnings = 2,
		  .audit_annotations = audit,
		  .n_audit_annotations = 2},
		 "{'apiVersion':'admission.k8s.io/"
		 "v1','kind':'AdmissionReview','response':{'uid':'u\\'1','allowed':true,"
		 "'warnings':['memtamer: a \\'b\\'','memtamer: c'],"
		 "'auditAnnotations':{'decision':'patched','rule':'median'}}}\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
		char expected[1024] = "";

		test_row(rows[i].name);
		assert_int_equal(review_render(&review_of_kate, &rows[i].response, &buf), 0);
		for (size_t k = 0; rows[i].expected[k]; k++)
			expected[k] = rows[i].expected[k] == '\'' ? '"' : rows[i].expected[k];
		assert_string_equal(strbuf_text(&buf), expected);
	}
}

/* A patch longer than one block of the encoder comes back byte for byte. */
static void review_patch_survives_base64(void **state)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	char patch[1000];
	const char *text;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(patch) - 1; i++)
		patch[i] = (char)(1 + i % 255);
	patch[sizeof(patch) - 1] = '\0';
	assert_int_equal(
		review_render(&review_of_kate, &(struct review_response){.is_allowed = true, .patch = patch}, &buf), 0);
	text = strstr(strbuf_text(&buf), "\"patch\":\"");
	assert_non_null(text);
	for (text += 9; *text != '"' && *text != '='; text += 4) {
		static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
		uint32_t group = 0;

		for (int k = 0; k < 4; k++)
			group = group << 6 | (uint32_t)(strchr(alphabet, text[k]) - alphabet);
		for (int k = 16; k >= 0; k -= 8)
			assert_int_equal((unsigned char)patch[n++], group >> k & 255);
	}
	assert_int_equal(n, sizeof(patch) - 1);
}

static void review_answer_has_a_cap(void **state)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(40);

	(void)state;
	assert_int_equal(review_render(&review_of_kate, &(struct review_response){.is_allowed = true}, &buf), -E2BIG);
}

#define JOB_REVIEW(object, old)                                                                                        \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u\",\"kind\":{\"group\":\"batch\",\"kind\":"   \
	"\"Job\"},\"object\":" object ",\"oldObject\":" old "}}"

static void review_tells_a_changed_spec(void **state)
{
	static const struct {
		const char *name, *review;
		int result;
		bool is_changed;
	} rows[] = {
		{"created", JOB_REVIEW("{\"spec\":{\"a\":1}}", "null"), 0, true},
		{"the same", JOB_REVIEW("{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":1}}"), 0, false},
		{"only status and metadata differ",
		 JOB_REVIEW("{\"spec\":{\"a\":1},\"status\":{\"x\":1},\"metadata\":{\"name\":\"b\"}}",
			    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"a\":1}}"),
		 0, false},
		{"another value", JOB_REVIEW("{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":2}}"), 0, true},
		{"another value of what nobody reads",
		 JOB_REVIEW("{\"spec\":{\"x\":{\"y\":[1,\"2\",null]}}}", "{\"spec\":{\"x\":{\"y\":[1,2,null]}}}"), 0,
		 true},
		{"another order, other white space",
		 JOB_REVIEW("{\"spec\":{\"a\":[1,{}],\"b\":{\"c\":\"d\",\"e\":[]}}}",
			    "{\"spec\":{ \"b\":{\"e\":[ ],\"c\" : \"d\"},\n\"a\":[1, { }] }}"),
		 0, false},
		{"items in another order", JOB_REVIEW("{\"spec\":{\"a\":[1,2]}}", "{\"spec\":{\"a\":[2,1]}}"), 0, true},
		{"a member more", JOB_REVIEW("{\"spec\":{\"a\":1,\"b\":1}}", "{\"spec\":{\"a\":1}}"), 0, true},
		{"array or object", JOB_REVIEW("{\"spec\":{\"a\":[]}}", "{\"spec\":{\"a\":{}}}"), 0, true},
		{"values that changed places",
		 JOB_REVIEW("{\"spec\":{\"a\":1,\"b\":2}}", "{\"spec\":{\"a\":2,\"b\":1}}"), 0, true},
		{"a new spec", JOB_REVIEW("{\"spec\":{}}", "{}"), 0, true},
		{"no spec, before and after", JOB_REVIEW("{}", "{\"spec\":null}"), 0, false},
		{"deleted", JOB_REVIEW("null", "{\"spec\":{}}"), REVIEW_NO_OBJECT, false},
		{"no object", JOB_REVIEW("7", "null"), -EINVAL, false},
		{"two objects", JOB_REVIEW("{}", "{},\"object\":{}"), -EINVAL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
		const struct doc *object = NULL;
		struct review review;
		struct err err;
		bool is_changed = false;

		test_row(rows[i].name);
		assert_int_equal(review_read_workload(rows[i].review, strlen(rows[i].review), &arena, &review, &object,
						      &is_changed, &err),
				 rows[i].result);
		assert_string_equal(review.uid, "u");
		assert_int_equal(is_changed, rows[i].is_changed);
		assert_int_equal(object != NULL, rows[i].result == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(review_decodes),
		cmocka_unit_test(review_decodes_what_may_be_missing),
		cmocka_unit_test(review_refuses),
		cmocka_unit_test(review_renders),
		cmocka_unit_test(review_patch_survives_base64),
		cmocka_unit_test(review_answer_has_a_cap),
		cmocka_unit_test(review_tells_a_changed_spec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
