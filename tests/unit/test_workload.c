/* SPDX-License-Identifier: Apache-2.0 */
/* What the templates of one object ask for together, and the patch of an object that was sized before. */
#include "base/json.h"
#include "base/limits.h"
#include "k8s/keys.h"
#include "policy/workload.h"
#include "support/test.h"

#define TEMPLATE(memory)                                                                                               \
	"{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"memory\":\"" memory "\"}}}]}}"
#define JOB(n, memory)                                                                                                 \
	"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"spec\":{\"parallelism\":" n                                   \
	",\"template\":" TEMPLATE(memory) "}}"

static void test_templates_that_make_their_pods_together(void **state)
{
	static const struct {
		const char *text;
		int64_t pods[2], bytes[2], variants;
	} rows[] = {
		{"{\"apiVersion\":\"kubeflow.org/"
		 "v1\",\"kind\":\"PyTorchJob\",\"spec\":{\"pytorchReplicaSpecs\":{\"Master\":{"
		 "\"template\":" TEMPLATE("60") "},\"Worker\":{\"replicas\":4,\"template\":" TEMPLATE("10") "}}}}",
		 {5, 5},
		 {100, 100},
		 2},
		/* a queue lets go the whole of it */
		{"{\"apiVersion\":\"workload.codeflare.dev/"
		 "v1beta2\",\"kind\":\"AppWrapper\",\"spec\":{\"components\":[{"
		 "\"template\":" JOB("2", "30") "},{\"template\":" JOB("3", "10") "}]}}",
		 {5, 5},
		 {90, 90},
		 2},
		/* each is an object of its own */
		{"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" JOB("2", "30") "," JOB("3", "10") "]}",
		 {2, 3},
		 {60, 30},
		 1},
		/* its templates make pods one after the other */
		{"{\"apiVersion\":\"argoproj.io/"
		 "v1alpha1\",\"kind\":\"Workflow\",\"spec\":{\"templates\":[{\"name\":\"x\","
		 "\"container\":{\"name\":\"a\"}},{\"name\":\"y\",\"container\":{\"name\":\"a\"}}]}}",
		 {0, 0},
		 {0, 0},
		 0},
	};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(4 * MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_object *object = NULL;
		struct kind_template *templates;
		struct workload_template read[2], *items[2] = {&read[0], &read[1]};
		size_t n;

		test_row(rows[i].text);
		assert_int_equal(json_parse(rows[i].text, strlen(rows[i].text), 32, &object, NULL), 0);
		assert_int_equal(kind_templates(object, NULL, &arena, &templates, &n, NULL), 0);
		json_object_put(object);
		assert_int_equal(n, 2);
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(workload_template_read(&templates[k], "ml", &arena, &read[k], NULL), 0);
		assert_int_equal(workload_declare(items, 2, &arena), 0);
		for (size_t k = 0; k < 2; k++) {
			const struct k8s_declared *declared = &read[k].input.declared;

			assert_int_equal(declared->pods, rows[i].pods[k]);
			assert_int_equal(declared->variants, rows[i].variants);
			assert_int_equal(declared->amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY], rows[i].bytes[k]);
		}
	}
}

/* The patch for an object that was sized at its creation and whose manifest is applied again. */
static void test_a_manifest_applied_again(void **state)
{
	static const struct {
		const char *name, *memory, *from, *to;
		bool is_patched;
	} rows[] = {
		{"as before", "16Gi", "16Gi", "48Gi", true},
		{"the same amount in other words", "16384Mi", "16Gi", "48Gi", true},
		/* what the API server makes of 1.1Gi, and what the annotation says of it */
		{"no whole number of bytes", "1181116006400m", "1181116007", "48Gi", true},
		{"no whole number of bytes, by hand", "1181116006400m", "1.1Gi", "48Gi", true},
		{"another value", "1181116008", "1181116007", "48Gi", false},
		{"one value for both", "1181116006400m", "1181116007", "1181116006400m", false},
	};
	static const char object_text[] =
		"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"spec\":{\"template\":" TEMPLATE("%s") "}}";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(4 * MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf patch = STRBUF_INIT(4 * KIB);
		const char *text = arena_printf(&arena, object_text, rows[i].memory);
		const char *said = arena_printf(&arena,
						"{\"v\":1,\"mode\":\"raise\",\"set\":[{\"at\":\"/spec/template\","
						"\"c\":\"a\",\"r\":\"memory\",\"f\":\"request\",\"from\":\"%s\","
						"\"to\":\"%s\",\"rule\":\"median\"}]}",
						rows[i].from, rows[i].to);
		struct k8s_labels annotations = {
			.items = &(struct k8s_label){KEY_TEMPLATE_DECISION, said}, .n = 1, .is_present = true};
		struct json_object *object = NULL;
		struct kind_template *templates;
		struct workload_template read;
		const struct workload_template *item = &read;
		size_t n;

		test_row(rows[i].name);
		assert_int_equal(json_parse(text, strlen(text), 32, &object, NULL), 0);
		assert_int_equal(kind_templates(object, NULL, &arena, &templates, &n, NULL), 0);
		json_object_put(object);
		assert_int_equal(n, 1);
		assert_int_equal(workload_template_read(&templates[0], "ml", &arena, &read, NULL), 0);
		assert_int_equal(workload_patch_again(&item, 1, &annotations, &arena, &patch), 0);
		assert_string_equal(strbuf_text(&patch),
				    rows[i].is_patched
					    ? "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/"
					      "0/resources/requests/memory\",\"value\":\"48Gi\"}]"
					    : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_templates_that_make_their_pods_together),
		cmocka_unit_test(test_a_manifest_applied_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
