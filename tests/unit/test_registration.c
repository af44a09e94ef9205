/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/base64.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/kinds.h"
#include "pki/pki.h"
#include "registration/drift.h"
#include "support/test.h"
#include "yaml/yaml_tree.h"

#include <ctype.h>
#include <string.h>

#define NOW  ((int64_t)1800000000 * 1000)
#define LIFE ((int64_t)86400000)
#define NONE DRIFT_FIELD_COUNT_

static struct pki_pair ca, leaf, foreign;
static struct json_object *charts[CONFIGURATION_COUNT_]; /* as manifests/install.yaml has them */

static const char *kind_of(const struct yaml_node *document)
{
	const struct yaml_node *kind = yaml_tree_get(document, "kind");

	return kind ? kind->text : NULL;
}

static int read_manifests(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16 * MIB);
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * MIB);
	struct yaml_documents documents;
	struct err err = ERR_INIT;

	if (io_read_file(TEST_SOURCE_DIR "/../manifests/install.yaml", &text, &err) ||
	    yaml_tree_parse(strbuf_text(&text), text.len, "", &arena, &documents, &err))
		return -1;
	for (size_t i = 0; i < documents.n; i++)
		for (size_t kind = 0; kind < CONFIGURATION_COUNT_; kind++)
			if (streq(kind_of(&documents.items[i].root), configuration_kinds[kind]) &&
			    yaml_tree_to_json(&documents.items[i].root, &charts[kind], &err))
				return -1;
	return charts[CONFIGURATION_MUTATING] && charts[CONFIGURATION_VALIDATING] ? 0 : -1;
}

static struct json_object *webhook_at(struct json_object *configuration, size_t i)
{
	return json_object_array_get_idx(json_member(configuration, "webhooks"), i);
}

/* The text of a configuration as it is in a cluster: with this CA. */
static void write_configuration(enum configuration_kind kind, const char *bundle_pem, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf bundle = STRBUF_INIT(MIB);
	struct json_object *copy = NULL;

	base64_encode(bundle_pem, strlen(bundle_pem), &bundle);
	assert_int_equal(json_object_deep_copy(charts[kind], &copy, NULL), 0);
	for (size_t i = 0; i < json_object_array_length(json_member(copy, "webhooks")); i++)
		assert_int_equal(json_add(json_member(webhook_at(copy, i), "clientConfig"), "caBundle",
					  json_object_new_string(strbuf_text(&bundle))),
				 0);
	strbuf_adds(text,
		    json_object_to_json_string_ext(copy, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(copy);
}

static struct json_object *parse(const struct strbuf *text)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(json_parse(strbuf_text(text), text->len, 32, &object, &err), 0);
	return object;
}

/* Put `replace` in the place of the first `find`. */
static void replace_first(struct strbuf *text, const char *find, const char *replace)
{
	CLEANUP(strbuf_release) struct strbuf changed = STRBUF_INIT(MIB);
	const char *at = strstr(strbuf_text(text), find);

	if (!at)
		fail_msg("no %s", find);
	strbuf_add(&changed, strbuf_text(text), (size_t)(at - strbuf_text(text)));
	strbuf_addf(&changed, "%s%s", replace, at + strlen(find));
	strbuf_clear(text);
	strbuf_adds(text, strbuf_text(&changed));
}

static const char *const excluded[] = {"kube-node-lease", NULL};
static struct drift_expected expected = {"memtamer", excluded, NULL, false};

/* Compare, and expect a drift of this field with these words, or none at all. */
static void expect_drift(enum configuration_kind kind, const struct strbuf *text, enum drift_field field,
			 const char *words)
{
	struct json_object *object = parse(text);
	struct drifts drifts;

	drift_compare(kind, object, &expected, &drifts);
	for (size_t i = 0; i < DRIFT_FIELD_COUNT_; i++) {
		const char *found = drifts.words[i];

		if (i == field ? !strstr(found, words) : *found)
			fail_msg("%s: \"%s\", expected \"%s\"", drift_field_names[i], found, i == field ? words : "");
	}
	json_object_put(object);
}

static void test_the_charts_configurations_are_right(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < CONFIGURATION_COUNT_; kind++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);

		write_configuration((enum configuration_kind)kind, ca.cert_pem, &text);
		expect_drift((enum configuration_kind)kind, &text, NONE, "");
	}
}

#define MUTATING   CONFIGURATION_MUTATING
#define VALIDATING CONFIGURATION_VALIDATING
#define FAR	   ",{\"key\":\"far\",\"operator\":\"DoesNotExist\"}"

/* Each row changes the first place where a configuration that is right says something. */
static void test_drifts(void **state)
{
	(void)state;
	static const struct {
		enum configuration_kind kind;
		const char *find, *replace;
		enum drift_field field;
		const char *words;
	} rows[] = {
		{MUTATING, "\"failurePolicy\":\"Ignore\"", "\"failurePolicy\":\"Fail\"", DRIFT_FAILURE_POLICY,
		 "pods.memtamer.io has failurePolicy 'Fail', memtamer needs 'Ignore'"},
		{MUTATING, "\"failurePolicy\":\"Ignore\",", "", DRIFT_FAILURE_POLICY, "has failurePolicy null"},
		{VALIDATING, "\"timeoutSeconds\":2", "\"timeoutSeconds\":6", DRIFT_RULES,
		 "has timeoutSeconds 6, memtamer needs at most 5"},
		{VALIDATING, "\"timeoutSeconds\":2", "\"other\":2", DRIFT_RULES, "has timeoutSeconds 10"},
		{VALIDATING, "\"timeoutSeconds\":2", "\"timeoutSeconds\":5", NONE, ""},
		{MUTATING, "\"sideEffects\":\"None\"", "\"sideEffects\":\"NoneOnDryRun\"", DRIFT_RULES,
		 "has sideEffects 'NoneOnDryRun'"},
		{MUTATING, "\"matchPolicy\":\"Equivalent\"", "\"matchPolicy\":\"Exact\"", DRIFT_RULES,
		 "has matchPolicy 'Exact'"},
		{MUTATING, "\"reinvocationPolicy\":\"IfNeeded\",", "", DRIFT_RULES, "needs 'IfNeeded'"},
		{MUTATING, "[\"v1\"]", "[\"v1beta1\"]", DRIFT_RULES, "needs 'v1'"},
		{MUTATING, "/mutate", "/validate", DRIFT_RULES, "needs /mutate"},
		{MUTATING, "[\"CREATE\"]", "[\"CREATE\",\"UPDATE\"]", DRIFT_RULES, "pods.memtamer.io has rules"},
		{MUTATING, "[\"pods\"]", "[\"pods\",\"pods/status\"]", DRIFT_RULES, "pods.memtamer.io has rules"},
		{MUTATING, "[\"pods\"]", "[\"services\"]", DRIFT_RULES, "'resources':['pods']"},
		{MUTATING, "\"Namespaced\"", "\"Cluster\"", DRIFT_RULES, "pods.memtamer.io has rules"},
		{VALIDATING, "[\"CREATE\",\"UPDATE\"]", "[\"CREATE\"]", DRIFT_RULES, "workloads.memtamer.io has rules"},
		{VALIDATING, "\"jobsets\"", "\"jobs\"", DRIFT_RULES, "workloads.memtamer.io has rules"},
		{MUTATING, "\"kube-system\",", "", DRIFT_RULES, "'kube-system'"},
		{MUTATING, "\"memtamer\"]", "\"other\"]", DRIFT_RULES, "needs 'memtamer'"},
		{VALIDATING, "\"kube-node-lease\",", "", DRIFT_RULES, "needs 'kube-node-lease'"},
		{MUTATING, "memtamer.io/mode", "memtamer.io/other", DRIFT_RULES, "'values':['off']"},
		{MUTATING, "[\"off\"]}", "[\"off\"]}" FAR, NONE, ""},
		{MUTATING, "[\"false\"]}", "[\"false\"]}" FAR, NONE, ""},
		{MUTATING, "\"memtamer.io/probe\":\"true\"", "", DRIFT_RULES, "probe.memtamer.io has objectSelector"},
		{MUTATING, "\"kubernetes.io/metadata.name\":\"memtamer\"", "", DRIFT_RULES,
		 "probe.memtamer.io has namespaceSelector"},
		{MUTATING, "\"pods.memtamer.io\"", "\"x.memtamer.io\"", DRIFT_RULES, "pods.memtamer.io is missing"},
		{VALIDATING, "[{\"name\"", "[7,{\"name\"", DRIFT_RULES, "1 webhooks that are not memtamer's"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);

		test_row(rows[i].find);
		write_configuration(rows[i].kind, ca.cert_pem, &text);
		replace_first(&text, rows[i].find, rows[i].replace);
		expect_drift(rows[i].kind, &text, rows[i].field, rows[i].words);
	}
}

/* The chart has this webhook with templates: patch, with the rules of the one that warns. Only then is it missed. */
static void test_templates(void **state)
{
	(void)state;
	static const struct {
		const char *name, *path;
		bool patches_templates;
		const char *words;
	} rows[] = {
		{"templates.memtamer.io", "/templates", true, NULL},
		{"templates.memtamer.io", "/templates", false, NULL},
		{"templates.memtamer.io", "/other", true, "templates.memtamer.io has clientConfig"},
		{"other.memtamer.io", "/templates", true, "templates.memtamer.io is missing"},
		{"other.memtamer.io", "/templates", false, "1 webhooks that are not memtamer's"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		struct json_object *mutating, *validating, *webhook;

		test_row(rows[i].name);
		write_configuration(MUTATING, ca.cert_pem, &text);
		mutating = parse(&text);
		strbuf_clear(&text);
		write_configuration(VALIDATING, ca.cert_pem, &text);
		replace_first(&text, "workloads.memtamer.io", rows[i].name);
		replace_first(&text, "/validate", rows[i].path);
		validating = parse(&text);
		webhook = webhook_at(validating, 0);
		assert_int_equal(json_add(webhook, "reinvocationPolicy", json_object_new_string("IfNeeded")), 0);
		assert_int_equal(json_append(json_member(mutating, "webhooks"), json_object_get(webhook)), 0);
		strbuf_clear(&text);
		strbuf_adds(&text, json_object_to_json_string(mutating));
		expected.patches_templates = rows[i].patches_templates;
		expect_drift(MUTATING, &text, rows[i].words ? DRIFT_RULES : NONE, rows[i].words);
		expected.patches_templates = false;
		json_object_put(mutating);
		json_object_put(validating);
	}
}

static void test_ca_bundle(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf both = STRBUF_INIT(MIB);
	struct {
		const char *name, *pem, *chain, *words;
	} rows[] = {
		{"another's", foreign.cert_pem, leaf.cert_pem, "does not have the CA"},
		{"empty", "", leaf.cert_pem, "has none"},
		{"nonsense", "nonsense", leaf.cert_pem, "does not have the CA"},
		{"two", NULL, leaf.cert_pem, NULL},
		{"nothing presented yet", foreign.cert_pem, NULL, NULL},
	};

	strbuf_adds(&both, foreign.cert_pem);
	strbuf_adds(&both, ca.cert_pem);
	rows[3].pem = strbuf_text(&both);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);

		test_row(rows[i].name);
		write_configuration(MUTATING, rows[i].pem, &text);
		expected.chain_pem = rows[i].chain;
		expect_drift(MUTATING, &text, rows[i].words ? DRIFT_CA_BUNDLE : NONE, rows[i].words);
	}
	expected.chain_pem = leaf.cert_pem;
}

/* A webhook outside the cluster is called by a URL, whose CA may be one of the system's. */
static void test_url(void **state)
{
	(void)state;
	static const struct {
		const char *url, *words;
	} rows[] = {
		{"https://10.0.0.1:8443/validate", NULL},
		{"https://10.0.0.1/other", "needs /validate"},
		{"https://10.0.0.1", "needs /validate"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		struct json_object *object, *client = json_object_new_object();

		test_row(rows[i].url);
		write_configuration(VALIDATING, ca.cert_pem, &text);
		object = parse(&text);
		assert_int_equal(json_add(client, "url", json_object_new_string(rows[i].url)), 0);
		assert_int_equal(json_add(webhook_at(object, 0), "clientConfig", client), 0);
		strbuf_clear(&text);
		strbuf_adds(&text, json_object_to_json_string(object));
		expect_drift(VALIDATING, &text, rows[i].words ? DRIFT_RULES : NONE, rows[i].words);
		json_object_put(object);
	}
}

static bool has_text(struct json_object *list, const char *text)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (streq(json_object_get_string(json_object_array_get_idx(list, i)), text))
			return true;
	return false;
}

static void test_rules_have_every_kind_with_templates(void **state)
{
	(void)state;
	struct json_object *rules = json_member(webhook_at(charts[VALIDATING], 0), "rules");
	size_t n, n_needed = 0, n_resources = 0;
	const struct kind *kinds = kind_table(&n);

	for (size_t i = 0; i < json_object_array_length(rules); i++)
		n_resources += json_object_array_length(json_member(json_object_array_get_idx(rules, i), "resources"));
	for (size_t i = 0; i < n; i++) {
		char resource[64];
		bool is_there = false;

		if ((!kinds[i].template_paths && !kinds[i].object_paths) || streq(kinds[i].name, "Pod") ||
		    streq(kinds[i].name, "List"))
			continue;
		n_needed++;
		snprintf(resource, sizeof(resource), "%ss", kinds[i].name);
		for (char *p = resource; *p; p++)
			*p = (char)tolower(*p);
		test_row(resource);
		for (size_t j = 0; j < json_object_array_length(rules); j++) {
			struct json_object *rule = json_object_array_get_idx(rules, j);

			is_there |= has_text(json_member(rule, "apiGroups"), kinds[i].group) &&
				    has_text(json_member(rule, "resources"), resource);
		}
		assert_true(is_there);
	}
	assert_int_equal(n_resources, n_needed);
}

static void test_versions(void **state)
{
	(void)state;
	assert_true(configurations_is_older("9", "10"));
	assert_false(configurations_is_older("10", "9"));
	assert_false(configurations_is_older("9", "9"));
	assert_false(configurations_is_older("", "9"));
	assert_false(configurations_is_older("9a", "10"));
	assert_false(configurations_is_older("9", "9x"));
	assert_true(configurations_is_older("9", "99999999999999999999999999"));
	assert_true(configurations_is_older("18", "19"));
}

static int set_up(void **state)
{
	static const char *const names[] = {"memtamer-webhook.memtamer.svc", NULL};
	const struct pki_leaf request = {
		.usage = PKI_SERVER, .common_name = "x", .names = names, .now_ms = NOW, .validity_ms = LIFE};
	struct err err = ERR_INIT;

	(void)state;
	return read_manifests() || pki_make_ca("a", NOW, LIFE, &ca, &err) ||
	       pki_make_ca("b", NOW, LIFE, &foreign, &err) || pki_make_leaf(&ca, &request, &leaf, &err) ||
	       !(expected.chain_pem = leaf.cert_pem);
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		json_object_put(charts[i]);
	pki_pair_release(&ca);
	pki_pair_release(&leaf);
	pki_pair_release(&foreign);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_charts_configurations_are_right),
		cmocka_unit_test(test_drifts),
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_ca_bundle),
		cmocka_unit_test(test_url),
		cmocka_unit_test(test_rules_have_every_kind_with_templates),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
