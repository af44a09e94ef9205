/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/strbuf.h"
#include "kube/base64.h"
#include "pki/pki.h"
#include "registration/compare.h"
#include "support/test.h"

#include <string.h>

#define NOW  ((int64_t)1800000000 * 1000)
#define LIFE ((int64_t)86400000)

#define COMMON                                                                                                         \
	"\"admissionReviewVersions\":[\"v1\"],\"failurePolicy\":\"Ignore\",\"timeoutSeconds\":2,"                      \
	"\"sideEffects\":\"None\",\"matchPolicy\":\"Equivalent\""
#define SERVICE(path)                                                                                                  \
	"\"clientConfig\":{\"service\":{\"name\":\"memtamer-webhook\",\"namespace\":\"memtamer\",\"path\":\"" path     \
	"\"},\"caBundle\":\"%s\"}"
#define NAMESPACES                                                                                                     \
	"\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"kubernetes.io/"                                       \
	"metadata.name\",\"operator\":\"NotIn\","                                                                      \
	"\"values\":[\"kube-system\",\"memtamer\",\"quiet\"]},{\"key\":\"memtamer.io/ignore\",\"operator\":\"NotIn\"," \
	"\"values\":[\"true\"]},{\"key\":\"memtamer.io/mode\",\"operator\":\"NotIn\",\"values\":[\"off\"]}]}"
#define RULE(group, resources, operations)                                                                             \
	"{\"apiGroups\":[" group "],\"apiVersions\":[\"*\"],\"resources\":[" resources "],\"operations\":[" operations \
	"]}"
#define PODS                                                                                                           \
	"{\"name\":\"pods.memtamer.io\"," COMMON ",\"reinvocationPolicy\":\"IfNeeded\"," SERVICE(                      \
		"/mutate") "," NAMESPACES ",\"objectSelector\":{\"matchExpressions\":[{\"key\":\"memtamer.io/"         \
			   "ignore\",\"operator\":\"NotIn\",\"values\":[\"true\"]}]},\"rules\":[" RULE(                \
				   "\"\"", "\"pods\"", "\"CREATE\"") "]}"
#define PROBE                                                                                                          \
	"{\"name\":\"probe.memtamer.io\"," COMMON "," SERVICE(                                                         \
		"/probe") ",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"memtamer\"}},"   \
			  "\"objectSelector\":{\"matchLabels\":{\"memtamer.io/probe\":\"true\"}},\"rules\":[" RULE(    \
				  "\"\"", "\"configmaps\"", "\"CREATE\"") "]}"
#define MUTATING "{\"metadata\":{\"name\":\"a0-memtamer\"},\"webhooks\":[" PODS "," PROBE "]}"
#define WORKLOADS                                                                                                      \
	"{\"metadata\":{\"name\":\"memtamer-workloads\"},\"webhooks\":[{\"name\":\"workloads.memtamer.io\"," COMMON    \
	"," SERVICE("/validate") "," NAMESPACES ",\"rules\":[" RULE("\"*\"", "\"*\"", "\"CREATE\",\"UPDATE\"") "]}]}"

static struct pki_pair ca, leaf, foreign;

static struct json_object *parse(const char *format, const char *find, const char *replace, const char *bundle_pem)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf bundle = STRBUF_INIT(MIB);
	struct json_object *object = NULL;
	struct err err = ERR_INIT;
	const char *at;

	base64_encode(bundle_pem, strlen(bundle_pem), &bundle);
	for (const char *p = format; *p; p = at + 2) {
		at = strstr(p, "%s");
		if (!at) {
			strbuf_adds(&text, p);
			break;
		}
		strbuf_add(&text, p, (size_t)(at - p));
		strbuf_adds(&text, strbuf_text(&bundle));
	}
	if (find) {
		CLEANUP(strbuf_release) struct strbuf changed = STRBUF_INIT(MIB);

		at = strstr(text.text, find);
		if (!at)
			fail_msg("no %s", find);
		strbuf_add(&changed, text.text, (size_t)(at - text.text));
		strbuf_addf(&changed, "%s%s", replace, at + strlen(find));
		assert_int_equal(json_parse(changed.text, changed.len, 16, &object, &err), 0);
	} else {
		assert_int_equal(json_parse(text.text, text.len, 16, &object, &err), 0);
	}
	return object;
}

static const char *const excluded[] = {"quiet", NULL};

/* Each row changes one thing of a configuration that is right; only that is told. */
static void test_drifts(void **state)
{
	(void)state;
	static const struct {
		enum configuration_kind kind;
		const char *find, *replace;
		int field; /* -1: none */
		const char *words;
	} rows[] = {
		{CONFIGURATION_MUTATING, NULL, NULL, -1, ""},
		{CONFIGURATION_VALIDATING, NULL, NULL, -1, ""},
		{CONFIGURATION_MUTATING, "\"failurePolicy\":\"Ignore\"", "\"failurePolicy\":\"Fail\"",
		 DRIFT_FAILURE_POLICY, "pods.memtamer.io: is Fail"},
		{CONFIGURATION_MUTATING, "\"failurePolicy\":\"Ignore\",", "", DRIFT_FAILURE_POLICY, "is Fail"},
		{CONFIGURATION_VALIDATING, "\"timeoutSeconds\":2", "\"timeoutSeconds\":6", DRIFT_TIMEOUT, "is 6"},
		{CONFIGURATION_VALIDATING, "\"timeoutSeconds\":2,", "", DRIFT_TIMEOUT, "is 10"},
		{CONFIGURATION_VALIDATING, "\"timeoutSeconds\":2", "\"timeoutSeconds\":5", -1, ""},
		{CONFIGURATION_MUTATING, "\"sideEffects\":\"None\"", "\"sideEffects\":\"NoneOnDryRun\"",
		 DRIFT_SIDE_EFFECTS, "is NoneOnDryRun"},
		{CONFIGURATION_MUTATING, "\"matchPolicy\":\"Equivalent\"", "\"matchPolicy\":\"Exact\"",
		 DRIFT_MATCH_POLICY, "is Exact"},
		{CONFIGURATION_MUTATING, "\"reinvocationPolicy\":\"IfNeeded\",", "", DRIFT_REINVOCATION, "is Never"},
		{CONFIGURATION_MUTATING, "[\"v1\"]", "[\"v1beta1\"]", DRIFT_REVIEW_VERSIONS, "lacks v1"},
		{CONFIGURATION_MUTATING, "/mutate", "/validate", DRIFT_PATH, "is /validate, not /mutate"},
		{CONFIGURATION_MUTATING, "memtamer-webhook", "other", DRIFT_SERVICE, "other.memtamer.svc"},
		{CONFIGURATION_MUTATING, "\"CREATE\"", "\"CREATE\",\"UPDATE\"", DRIFT_RULES,
		 "more than CREATE of pods"},
		{CONFIGURATION_MUTATING, "\"pods\"", "\"pods\",\"pods/status\"", DRIFT_RULES,
		 "more than CREATE of pods"},
		{CONFIGURATION_MUTATING, "\"pods\"", "\"services\"", DRIFT_RULES, "lack CREATE of pods"},
		{CONFIGURATION_MUTATING, "\"apiVersions\":[\"*\"]", "\"apiVersions\":[\"v1\"]", -1, ""},
		{CONFIGURATION_MUTATING, "\"apiVersions\":[\"*\"]", "\"apiVersions\":[\"v1beta1\"]", DRIFT_RULES,
		 "lack CREATE of pods"},
		{CONFIGURATION_MUTATING, "\"apiVersions\"", "\"scope\":\"Namespaced\",\"apiVersions\"", -1, ""},
		{CONFIGURATION_MUTATING, "\"apiVersions\"", "\"scope\":\"Cluster\",\"apiVersions\"", DRIFT_RULES,
		 "lack CREATE of pods"},
		{CONFIGURATION_VALIDATING, "\"CREATE\",\"UPDATE\"", "\"CREATE\"", DRIFT_RULES,
		 "lack CREATE and UPDATE"},
		{CONFIGURATION_VALIDATING, "\"UPDATE\"", "\"UPDATE\",\"DELETE\"", DRIFT_RULES, "more than"},
		{CONFIGURATION_VALIDATING, "[\"*\"],\"apiVersions\"", "[\"batch\",\"apps\"],\"apiVersions\"",
		 DRIFT_RULES, "lack CREATE and UPDATE of kinds of"},
		{CONFIGURATION_MUTATING, "\"kube-system\",", "", DRIFT_NAMESPACE_SELECTOR, "namespace kube-system"},
		{CONFIGURATION_MUTATING, "\"memtamer\",\"quiet\"", "\"quiet\"", DRIFT_NAMESPACE_SELECTOR,
		 "namespace memtamer"},
		{CONFIGURATION_VALIDATING, ",\"quiet\"", "", DRIFT_NAMESPACE_SELECTOR, "namespace quiet"},
		{CONFIGURATION_MUTATING, "memtamer.io/mode", "memtamer.io/other", DRIFT_NAMESPACE_SELECTOR, "\"off\""},
		{CONFIGURATION_MUTATING, "\"matchLabels\":{\"memtamer.io/probe\":\"true\"}", "", DRIFT_OBJECT_SELECTOR,
		 "probe.memtamer.io: lets more"},
		{CONFIGURATION_MUTATING, "\"matchLabels\":{\"kubernetes.io/metadata.name\":\"memtamer\"}", "",
		 DRIFT_NAMESPACE_SELECTOR, "probe.memtamer.io: lets other"},
		{CONFIGURATION_MUTATING, "pods.memtamer.io", "bods.memtamer.io", DRIFT_WEBHOOKS,
		 "pods.memtamer.io: is missing"},
		{CONFIGURATION_VALIDATING, "[{\"name\"", "[7,{\"name\"", DRIFT_WEBHOOKS, "is none of memtamer's"},
	};
	const struct compare_expected expected = {"memtamer", excluded, leaf.cert_pem, false};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_object *object = parse(rows[i].kind == CONFIGURATION_MUTATING ? MUTATING : WORKLOADS,
						   rows[i].find, rows[i].replace, ca.cert_pem);
		struct drifts drifts;

		test_row(rows[i].find ? rows[i].find : "right");
		assert_int_equal(compare_configuration(rows[i].kind, object, &expected, &drifts) > 0,
				 rows[i].field >= 0);
		if (rows[i].field >= 0) {
			if (!strstr(drifts.words[rows[i].field], rows[i].words))
				fail_msg("\"%s\" lacks \"%s\"", drifts.words[rows[i].field], rows[i].words);
		}
		json_object_put(object);
	}
}

/* A mutating configuration as the chart renders it with templates: patch; but their webhook stands first, so that what
 * a row replaces is of it. */
static void with_templates(struct strbuf *text)
{
	static const struct {
		const char *group, *resources;
	} rules[] = {
		{"", "replicationcontrollers"},
		{"apps", "daemonsets\",\"deployments\",\"replicasets\",\"statefulsets"},
		{"argoproj.io", "clusterworkflowtemplates\",\"cronworkflows\",\"workflows\",\"workflowtemplates"},
		{"batch", "cronjobs\",\"jobs"},
		{"batch.volcano.sh", "cronjobs\",\"jobs"},
		{"jobset.x-k8s.io", "jobsets"},
		{"kubeflow.org",
		 "experiments\",\"jaxjobs\",\"mpijobs\",\"notebooks\",\"paddlejobs\",\"pytorchjobs\",\"tfjobs\","
		 "\"trials\",\"xgboostjobs"},
		{"leaderworkerset.x-k8s.io", "leaderworkersets"},
		{"ray.io", "rayclusters\",\"raycronjobs\",\"rayjobs\",\"rayservices"},
		{"run.ai", "runaijobs"},
		{"sagemaker.amazonaws.com", "hyperpodpytorchjobs"},
		{"serving.knative.dev", "services"},
		{"trainer.kubeflow.org", "clustertrainingruntimes\",\"trainingruntimes\",\"trainjobs"},
		{"workload.codeflare.dev", "appwrappers"},
	};

	strbuf_adds(text,
		    "{\"metadata\":{\"name\":\"a0-memtamer\"},\"webhooks\":[{\"name\":\"templates.memtamer.io\"," COMMON
		    ",\"reinvocationPolicy\":\"IfNeeded\"," SERVICE("/templates") "," NAMESPACES ",\"rules\":[");
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		strbuf_addf(text, "%s" RULE("\"%s\"", "\"%s\"", "\"CREATE\",\"UPDATE\""), i ? "," : "", rules[i].group,
			    rules[i].resources);
	strbuf_adds(text, "]}," PODS "," PROBE "]}");
}

/* The chart renders it with templates: patch; it is looked at like the others, and only then missed. */
static void test_templates(void **state)
{
	(void)state;
	static const struct {
		const char *find, *replace;
		int field; /* -1: none */
		const char *words;
	} rows[] = {
		{NULL, NULL, -1, ""},
		{"\"templates.memtamer.io\"", "\"gone.memtamer.io\"", DRIFT_WEBHOOKS,
		 "is missing, the configuration says templates: patch"},
		{"\"failurePolicy\":\"Ignore\"", "\"failurePolicy\":\"Fail\"", DRIFT_FAILURE_POLICY, "is Fail"},
		{"\"timeoutSeconds\":2", "\"timeoutSeconds\":6", DRIFT_TIMEOUT, "is 6"},
		{"\"IfNeeded\"", "\"Never\"", DRIFT_REINVOCATION, "is Never"},
		{"/templates", "/validate", DRIFT_PATH, "is /validate, not /templates"},
		{"memtamer-webhook", "other", DRIFT_SERVICE, "other.memtamer.svc"},
		{"\"kube-system\",", "", DRIFT_NAMESPACE_SELECTOR, "namespace kube-system"},
		{",\"quiet\"", "", DRIFT_NAMESPACE_SELECTOR, "namespace quiet"},
		{"\"batch\"", "\"patch\"", DRIFT_RULES, "lack CREATE and UPDATE of kinds of batch"},
		{"\"UPDATE\"", "\"UPDATE\",\"DELETE\"", DRIFT_RULES, "more than"},
	};
	const struct compare_expected expected = {"memtamer", excluded, leaf.cert_pem, true};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);

	with_templates(&text);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_object *object = parse(strbuf_text(&text), rows[i].find, rows[i].replace, ca.cert_pem);
		struct drifts drifts;

		test_row(rows[i].find ? rows[i].find : "right");
		assert_int_equal(compare_configuration(CONFIGURATION_MUTATING, object, &expected, &drifts),
				 rows[i].field >= 0 ? 1 : 0);
		if (rows[i].field >= 0) {
			assert_non_null(strstr(drifts.words[rows[i].field], "templates.memtamer.io: "));
			assert_non_null(strstr(drifts.words[rows[i].field], rows[i].words));
		}
		json_object_put(object);
	}
}

static void test_ca_bundle(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf both = STRBUF_INIT(MIB);
	struct {
		const char *name, *pem, *chain, *words;
	} rows[] = {
		{"another's", foreign.cert_pem, leaf.cert_pem, "does not hold the CA"},
		{"empty", "", leaf.cert_pem, "is empty"},
		{"nonsense", "nonsense", leaf.cert_pem, "does not hold the CA"},
		{"two", NULL, leaf.cert_pem, NULL},
		{"nothing shown yet", foreign.cert_pem, NULL, NULL},
	};

	strbuf_adds(&both, foreign.cert_pem);
	strbuf_adds(&both, ca.cert_pem);
	rows[3].pem = strbuf_text(&both);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct compare_expected expected = {"memtamer", excluded, rows[i].chain, false};
		struct json_object *object = parse(MUTATING, NULL, NULL, rows[i].pem);
		struct drifts drifts;

		test_row(rows[i].name);
		assert_int_equal(compare_configuration(CONFIGURATION_MUTATING, object, &expected, &drifts),
				 rows[i].words ? 1 : 0);
		if (rows[i].words)
			assert_non_null(strstr(drifts.words[DRIFT_CA_BUNDLE], rows[i].words));
		json_object_put(object);
	}
}

static void test_urls(void **state)
{
	(void)state;
	static const struct {
		const char *url;
		bool is_right;
	} rows[] = {
		{"https://10.0.0.1:8443/mutate", true}, {"https://10.0.0.1/other", false}, {"https://10.0.0.1", false}};
	const struct compare_expected expected = {"memtamer", excluded, NULL, false};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_object *object = parse(MUTATING, NULL, NULL, ca.cert_pem), *client;
		struct drifts drifts;

		test_row(rows[i].url);
		client = json_member(json_object_array_get_idx(json_member(object, "webhooks"), 0), "clientConfig");
		json_object_object_del(client, "service");
		assert_int_equal(json_add(client, "url", json_object_new_string(rows[i].url)), 0);
		compare_configuration(CONFIGURATION_MUTATING, object, &expected, &drifts);
		assert_int_equal(*drifts.words[DRIFT_PATH] == '\0', rows[i].is_right);
		json_object_put(object);
	}
}

static void test_selectors(void **state)
{
	(void)state;
	static const char *const labels[] = {"a", "1", "b", "2", NULL};
	static const struct {
		const char *selector;
		bool selects;
	} rows[] = {
		{"{}", true},
		{"{\"matchLabels\":{\"a\":\"1\",\"b\":\"2\"}}", true},
		{"{\"matchLabels\":{\"a\":\"2\"}}", false},
		{"{\"matchLabels\":{\"c\":\"\"}}", false},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"0\",\"1\"]}]}", true},
		{"{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"In\",\"values\":[\"1\"]}]}", false},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"1\"]}]}", false},
		{"{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"NotIn\",\"values\":[\"1\"]}]}", true},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}]}", true},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"DoesNotExist\"}]}", false},
		{"{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"DoesNotExist\"},{\"key\":\"c\",\"operator\":"
		 "\"Exists\"}]}",
		 false},
		{"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Like\"}]}", false},
	};

	assert_true(compare_selects(NULL, labels));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_object *selector = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].selector);
		assert_int_equal(json_parse(rows[i].selector, strlen(rows[i].selector), 8, &selector, &err), 0);
		assert_int_equal(compare_selects(selector, labels), rows[i].selects);
		json_object_put(selector);
	}
}

static void test_versions(void **state)
{
	(void)state;
	assert_true(configurations_is_older("9", "10"));
	assert_false(configurations_is_older("10", "9"));
	assert_false(configurations_is_older("9", "9"));
	assert_false(configurations_is_older("", "9"));
	assert_false(configurations_is_older("9a", "10"));
	assert_false(configurations_is_older("9", "99999999999999999999999999"));
}

static int set_up(void **state)
{
	static const char *const names[] = {"memtamer-webhook.memtamer.svc", NULL};
	const struct pki_leaf request = {
		.usage = PKI_SERVER, .common_name = "x", .names = names, .now_ms = NOW, .validity_ms = LIFE};
	struct err err = ERR_INIT;

	(void)state;
	return pki_make_ca("a", NOW, LIFE, &ca, &err) || pki_make_ca("b", NOW, LIFE, &foreign, &err) ||
	       pki_make_leaf(&ca, &request, &leaf, &err);
}

static int tear_down(void **state)
{
	(void)state;
	pki_pair_release(&ca);
	pki_pair_release(&leaf);
	pki_pair_release(&foreign);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drifts), cmocka_unit_test(test_templates), cmocka_unit_test(test_ca_bundle),
		cmocka_unit_test(test_urls),   cmocka_unit_test(test_selectors), cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
