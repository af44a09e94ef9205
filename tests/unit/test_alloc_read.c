/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while pods and manifests are read: -ENOMEM, nothing leaked, no crash. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "base/json.h"
#include "k8s/pod.h"
#include "k8s/review.h"
#include "k8s/vpa.h"
#include "yaml/yaml_edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char review_text[] =
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\","
	"\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":\"ml\","
	"\"name\":\"p\",\"userInfo\":{\"username\":\"u\"},\"dryRun\":false,\"object\":{\"metadata\":{\"name\":\"p\","
	"\"labels\":{\"a\":\"b\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
	"\"uid\":\"1\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"command\":["
	"\"x\"],"
	"\"env\":[{\"name\":\"E\",\"value\":\"1\"}],\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/v\"}],"
	"\"resources\":{\"requests\":{\"memory\":\"1Gi\"},\"limits\":{\"nvidia.com/gpu\":\"1\"}}}],"
	"\"volumes\":[{\"name\":\"v\",\"emptyDir\":{\"medium\":\"Memory\"}}]}}}}";

static const char manifest_text[] = "kind: Pod\nmetadata:\n  name: p\n  labels: {a: b, c: 'd'}\nspec:\n  containers:\n"
				    "  - name: c\n    args: [1, 2.5, yes, null]\n---\n{\"kind\": \"Job\"}\n";

static int parse_json(void *context, struct strbuf *ret)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct err err = ERR_INIT;
	int r = json_parse(review_text, sizeof(review_text) - 1, 32, &object, &err);

	(void)context;
	return r ? r : alloc_fail_add_json(ret, object);
}

static int read_review(void *context, struct strbuf *ret)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(1000000);
	struct err err = ERR_INIT;
	struct review review;
	struct k8s_pod pod;
	int r = review_read_pod(review_text, sizeof(review_text) - 1, &arena, &review, &pod, &err);

	(void)context;
	if (r)
		return r;
	return strbuf_addf(ret, "%s %s %zu %s %s", review.uid, pod.name, pod.n_volumes, pod.owners[0].name,
			   pod.containers[0].resources.requests[K8S_MEMORY].text);
}

static int read_vpa(void *context, struct strbuf *ret)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"v\"},\"spec\":{\"targetRef\":{\"kind\":\"Job\",\"name\":"
		"\"j\"},\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"c\",\"mode\":"
		"\"Off\"}]}}}";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(1000000);
	struct k8s_vpa vpa, *copy;
	struct err err = ERR_INIT;
	int r = k8s_vpa_read(text, sizeof(text) - 1, &arena, &vpa, &err);

	(void)context;
	copy = r ? NULL : k8s_vpa_dup(&vpa);
	if (!copy)
		return r ? r : -ENOMEM;
	r = strbuf_addf(ret, "%s %s", copy->name, copy->others[0]);
	free(copy);
	return r;
}

static int render_answer(void *context, struct strbuf *ret)
{
	static const char *const warnings[] = {"memtamer: a", "memtamer: b"};
	const struct review_response response = {
		.is_allowed = true, .patch = "[{\"op\":\"add\"}]", .warnings = warnings, .n_warnings = 2};

	return review_render(context, &response, ret);
}

static int parse_yaml(void *context, struct strbuf *ret)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(1000000);
	struct err err = ERR_INIT;
	struct yaml_documents documents;
	int r = yaml_tree_parse(manifest_text, sizeof(manifest_text) - 1, "x.yaml", &arena, &documents, &err);

	(void)context;
	if (r)
		return r;
	return strbuf_addf(ret, "%zu %zu %s", documents.n, documents.items[0].root.n,
			   yaml_tree_get(&documents.items[1].root, "kind")->text);
}

static int convert_yaml(void *context, struct strbuf *ret)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct err err = ERR_INIT;
	int r = yaml_tree_to_json(context, &object, &err);

	return r ? r : alloc_fail_add_json(ret, object);
}

/* A manifest to which a member is added. */
struct editing {
	const struct yaml_document *document;
	struct json_object *object;
};

static int edit_yaml(void *context, struct strbuf *ret)
{
	CLEANUP(strbuf_release) struct strbuf edited = STRBUF_INIT(4096);
	const struct editing *self = context;
	struct err err = ERR_INIT;
	int r = yaml_edit(manifest_text, self->document, "x.yaml", self->object, &edited, &err);

	return r ? r : strbuf_add(ret, strbuf_text(&edited), edited.len);
}

static void reviews_survive(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(1000000);
	struct review review;
	struct k8s_pod pod;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(review_read_pod(review_text, sizeof(review_text) - 1, &arena, &review, &pod, &err), 0);
	assert_true(alloc_fail_each("json_parse", parse_json, NULL) > 10);
	assert_true(alloc_fail_each("review_read_pod", read_review, NULL) > 0);
	assert_true(alloc_fail_each("k8s_vpa_read, k8s_vpa_dup", read_vpa, NULL) > 1);
	assert_true(alloc_fail_each("review_render", render_answer, &review) > 0);
}

static void manifests_survive(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(1000000);
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(yaml_tree_parse(manifest_text, sizeof(manifest_text) - 1, "x.yaml", &arena, &documents, &err),
			 0);
	assert_int_equal(yaml_tree_to_json(&documents.items[0].root, &object, &err), 0);
	assert_true(alloc_fail_each("yaml_tree_parse", parse_yaml, NULL) > 10);
	assert_true(alloc_fail_each("yaml_tree_to_json", convert_yaml, &documents.items[0].root) > 10);
	assert_int_equal(json_add(object, "added", json_object_new_string("v")), 0);
	assert_true(alloc_fail_each("yaml_edit", edit_yaml, &(struct editing){documents.items, object}) > 10);
}

/* The tool itself: a leak and a swallowed failure are seen, or all tests above prove nothing. */
static void counting_is_right(void **state)
{
	long live = alloc_fail_live();
	char *copy, *kept = strdup("x");

	(void)state;
	assert_int_equal(alloc_fail_live(), live + 1);
	alloc_fail_arm(2);
	copy = strdup("y");
	assert_non_null(copy);
	assert_null(calloc(1, 1));
	assert_true(alloc_fail_disarm());
	free(copy);
	free(kept);
	assert_int_equal(alloc_fail_live(), live);
	alloc_fail_arm(1);
	assert_false(alloc_fail_disarm());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_is_right),
		cmocka_unit_test(reviews_survive),
		cmocka_unit_test(manifests_survive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
