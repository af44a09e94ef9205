/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a LimitRange and a ResourceQuota, and the API server's arithmetic about them. */
#include "support/test.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "k8s/limits.h"

#include <errno.h>
#include <stdlib.h>

#define GI ((int64_t)GIB)
#define MI ((int64_t)MIB)

static struct json_object *parse(const char *text)
{
	struct json_object *object = NULL;

	assert_int_equal(json_parse(text, strlen(text), 16, &object, NULL), 0);
	return object;
}

static int decode_range(const char *text, struct arena *arena, struct k8s_limit_range *ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = parse(text);

	return k8s_limit_range_decode(object, arena, ret, err);
}

static int decode_quota(const char *text, struct arena *arena, struct k8s_quota *ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = parse(text);

	return k8s_quota_decode(object, arena, ret, err);
}

static struct k8s_pod decode_pod_text(const char *text, struct arena *arena)
{
	CLEANUP(json_putp) struct json_object *object = parse(text);
	struct k8s_pod pod;

	assert_int_equal(k8s_pod_decode(object, arena, &pod, NULL), 0);
	return pod;
}

static void limit_ranges_are_read_and_defaulted(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	struct k8s_limit_range range;
	const int64_t(*bounds)[K8S_RESOURCE_COUNT_];

	(void)state;
	assert_int_equal(
		decode_range("{\"metadata\":{\"namespace\":\"ml\",\"name\":\"mem\"},\"spec\":{\"limits\":["
			     "{\"type\":\"Container\",\"max\":{\"memory\":\"64Gi\",\"cpu\":\"8\"},\"min\":{\"memory\":"
			     "1024,\"ephemeral-storage\":\"1Mi\"},\"defaultRequest\":{\"memory\":\"1Gi\"},"
			     "\"maxLimitRequestRatio\":{\"memory\":\"2.5\"}},"
			     "{\"type\":\"PersistentVolumeClaim\",\"max\":{\"storage\":\"1Gi\"}},"
			     "{\"type\":\"Pod\",\"max\":{\"memory\":\"1500m\"},\"min\":{\"memory\":\"1500m\"}}]}}",
			     &arena, &range, NULL),
		0);
	assert_string_equal(range.namespace_name, "ml");
	assert_string_equal(range.name, "mem");
	assert_int_equal(range.n_items, 2);
	bounds = range.items[0].bounds;
	assert_false(range.items[0].is_pod);
	assert_int_equal(bounds[K8S_BOUND_MAX][K8S_MEMORY], 64 * GI);
	assert_int_equal(bounds[K8S_BOUND_MAX][K8S_CPU], 8000);
	assert_int_equal(bounds[K8S_BOUND_MAX][K8S_EPHEMERAL_STORAGE], K8S_NO_BOUND);
	assert_int_equal(bounds[K8S_BOUND_MIN][K8S_MEMORY], 1024);
	assert_int_equal(bounds[K8S_BOUND_RATIO][K8S_MEMORY], 2500);
	/* As the API server would: default := max, defaultRequest := default, then := min. */
	assert_int_equal(bounds[K8S_BOUND_DEFAULT][K8S_MEMORY], 64 * GI);
	assert_int_equal(bounds[K8S_BOUND_DEFAULT_REQUEST][K8S_MEMORY], GI);
	assert_int_equal(bounds[K8S_BOUND_DEFAULT_REQUEST][K8S_CPU], 8000);
	assert_int_equal(bounds[K8S_BOUND_DEFAULT][K8S_EPHEMERAL_STORAGE], K8S_NO_BOUND);
	assert_int_equal(bounds[K8S_BOUND_DEFAULT_REQUEST][K8S_EPHEMERAL_STORAGE], MI);
	/* Cut so that never more seems allowed than is. */
	assert_true(range.items[1].is_pod);
	assert_int_equal(range.items[1].bounds[K8S_BOUND_MAX][K8S_MEMORY], 1);
	assert_int_equal(range.items[1].bounds[K8S_BOUND_MIN][K8S_MEMORY], 2);
	assert_int_equal(range.items[1].bounds[K8S_BOUND_DEFAULT][K8S_MEMORY], K8S_NO_BOUND);
}

static void quotas_are_read(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	struct k8s_quota quota;
	const struct k8s_quota_amount *requests, *limits;

	(void)state;
	assert_int_equal(
		decode_quota(
			"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"q\"},\"spec\":{\"hard\":{\"memory\":\"8Gi\","
			"\"requests.memory\":\"9Gi\",\"limits.memory\":\"20Gi\",\"ephemeral-storage\":\"7Gi\",\"pods\":"
			"5,\"requests.nvidia.com/gpu\":\"8\"},\"scopes\":[\"NotBestEffort\"],\"scopeSelector\":{"
			"\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\"In\",\"values\":[\"a\","
			"\"b\"]}]}},\"status\":{\"hard\":{\"limits.memory\":\"16Gi\",\"pods\":\"5\"},\"used\":{"
			"\"memory\":\"1Gi\",\"requests.memory\":\"2Gi\",\"limits.memory\":\"15Gi\",\"pods\":\"4\"}}}",
			&arena, &quota, NULL),
		0);
	requests = quota.amounts[K8S_QUOTA_REQUESTS];
	limits = quota.amounts[K8S_QUOTA_LIMITS];
	assert_int_equal(requests[K8S_MEMORY].hard, 8 * GI); /* both names: both must hold */
	assert_int_equal(requests[K8S_MEMORY].used, 2 * GI);
	assert_int_equal(limits[K8S_MEMORY].hard, 16 * GI); /* the lower one of spec and status */
	assert_int_equal(limits[K8S_MEMORY].used, 15 * GI);
	assert_int_equal(requests[K8S_EPHEMERAL_STORAGE].hard, 7 * GI);
	assert_int_equal(requests[K8S_EPHEMERAL_STORAGE].used, 0);
	assert_int_equal(requests[K8S_CPU].hard, K8S_NO_BOUND);
	assert_int_equal(quota.pods.hard, 5);
	assert_int_equal(quota.pods.used, 4);
	assert_int_equal(quota.n_scopes, 2);
	assert_int_equal(quota.scopes[0].scope, K8S_SCOPE_NOT_BEST_EFFORT);
	assert_int_equal(quota.scopes[1].scope, K8S_SCOPE_PRIORITY_CLASS);
	assert_int_equal(quota.scopes[1].operator_, K8S_SCOPE_IN);
	assert_int_equal(quota.scopes[1].n_values, 2);
	assert_string_equal(quota.scopes[1].values[1], "b");
	assert_true(k8s_quota_demands(&quota, K8S_QUOTA_REQUESTS, K8S_MEMORY));
	assert_false(k8s_quota_demands(&quota, K8S_QUOTA_REQUESTS, K8S_EPHEMERAL_STORAGE));
	assert_false(k8s_quota_demands(&quota, K8S_QUOTA_REQUESTS, K8S_CPU));
}

static void bad_objects_name_the_field(void **state)
{
	static const struct {
		const char *text, *where;
		bool is_quota;
	} rows[] = {
		{"{\"spec\":{\"limits\":{}}}", "spec.limits", false},
		{"{\"spec\":{\"limits\":[{\"type\":\"Pod\",\"max\":{\"memory\":\"a lot\"}}]}}",
		 "spec.limits[0].max.memory", false},
		{"{\"spec\":{\"limits\":[{\"type\":\"Pod\",\"min\":{\"memory\":\"-1\"}}]}}",
		 "spec.limits[0].min.memory", false},
		{"{\"spec\":{\"limits\":[{\"type\":\"Pod\",\"min\":{\"memory\":{}}}]}}", "spec.limits[0].min.memory",
		 false},
		{"{\"spec\":{\"limits\":[3]}}", "spec.limits[0]", false},
		{"{\"metadata\":{\"name\":3}}", "metadata.name", false},
		{"{\"spec\":{\"hard\":{\"limits.memory\":true}}}", "spec.hard.limits.memory", true},
		{"{\"status\":{\"used\":[]}}", "status.used", true},
		{"{\"spec\":{\"scopes\":[1]}}", "spec.scopes[0]", true},
		{"{\"spec\":{\"scopeSelector\":{\"matchExpressions\":[{\"operator\":\"Like\"}]}}}",
		 "spec.scopeSelector.matchExpressions[0]", true},
		{"{\"spec\":{\"scopeSelector\":{\"matchExpressions\":[{\"operator\":\"In\",\"values\":[1]}]}}}",
		 "spec.scopeSelector.matchExpressions[0].values[0]", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		struct k8s_limit_range range;
		struct k8s_quota quota;
		struct err err = ERR_INIT;

		test_row(rows[i].text);
		assert_int_equal(rows[i].is_quota ? decode_quota(rows[i].text, &arena, &quota, &err)
						  : decode_range(rows[i].text, &arena, &range, &err),
				 -EINVAL);
		assert_string_equal(err.where, rows[i].where);
	}
}

static void copies_stand_alone(void **state)
{
	struct arena arena = ARENA_INIT(MIB);
	struct k8s_limit_range range, *range_copy;
	struct k8s_quota quota, *quota_copy;

	(void)state;
	assert_int_equal(decode_range("{\"metadata\":{\"namespace\":\"ml\",\"name\":\"mem\"},\"spec\":{\"limits\":[{"
				      "\"type\":\"Pod\",\"max\":{\"memory\":\"1Gi\"}}]}}",
				      &arena, &range, NULL),
			 0);
	assert_int_equal(
		decode_quota("{\"metadata\":{\"namespace\":\"ml\",\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":1},"
			     "\"scopes\":[\"Terminating\"],\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":"
			     "\"PriorityClass\",\"operator\":\"NotIn\",\"values\":[\"a\",\"bc\"]}]}}}",
			     &arena, &quota, NULL),
		0);
	range_copy = k8s_limit_range_dup(&range);
	quota_copy = k8s_quota_dup(&quota);
	arena_release(&arena);
	assert_string_equal(range_copy->name, "mem");
	assert_int_equal(range_copy->items[0].bounds[K8S_BOUND_MAX][K8S_MEMORY], GI);
	assert_string_equal(quota_copy->namespace_name, "ml");
	assert_int_equal(quota_copy->scopes[1].operator_, K8S_SCOPE_NOT_IN);
	assert_string_equal(quota_copy->scopes[1].values[1], "bc");
	free(range_copy);
	free(quota_copy);
}

#define POD(rest)	"{\"metadata\":{},\"spec\":{" rest "}}"
#define MAIN(resources) "\"containers\":[{\"name\":\"a\",\"resources\":{" resources "}}]"
#define SCOPE(name)	"{\"spec\":{\"scopes\":[\"" name "\"]}}"
#define CLASS(operator_, values)                                                                                       \
	"{\"spec\":{\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"           \
	"\"" operator_ "\",\"values\":[" values "]}]}}}"

static void scopes_match_as_the_api_server_says(void **state)
{
	static const char plain[] = POD(MAIN("")), sized[] = POD(MAIN("\"requests\":{\"memory\":\"1Gi\"}")),
			  ending[] = POD("\"activeDeadlineSeconds\":60," MAIN("")),
			  high[] = POD("\"priorityClassName\":\"high\"," MAIN(""));
	static const struct {
		const char *quota, *pod;
		bool matches;
	} rows[] = {
		{"{\"spec\":{}}", plain, true},
		{SCOPE("BestEffort"), plain, true},
		{SCOPE("BestEffort"), sized, false},
		{SCOPE("NotBestEffort"), plain, false},
		{SCOPE("NotBestEffort"), sized, true},
		{SCOPE("Terminating"), plain, false},
		{SCOPE("Terminating"), ending, true},
		{SCOPE("NotTerminating"), plain, true},
		{SCOPE("NotTerminating"), ending, false},
		{SCOPE("PriorityClass"), plain, false},
		{SCOPE("PriorityClass"), high, true},
		{CLASS("In", "\"high\""), high, true},
		{CLASS("In", "\"low\""), high, false},
		{CLASS("In", "\"high\""), plain, false},
		{CLASS("NotIn", "\"high\""), high, false},
		{CLASS("NotIn", "\"high\""), plain, true},
		{CLASS("DoesNotExist", ""), plain, true},
		{CLASS("DoesNotExist", ""), high, false},
		{SCOPE("VolumeAttributesClass"), plain, false},
		{SCOPE("CrossNamespacePodAffinity"), plain, true}, /* not known: counted */
		{SCOPE("OfNextYear"), plain, true},
		{"{\"spec\":{\"scopes\":[\"NotBestEffort\",\"Terminating\"]}}", sized, false}, /* all must match */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		struct k8s_pod pod = decode_pod_text(rows[i].pod, &arena);
		struct k8s_quota quota;

		test_row(rows[i].quota);
		assert_int_equal(decode_quota(rows[i].quota, &arena, &quota, NULL), 0);
		assert_int_equal(k8s_quota_matches(&quota, &pod), rows[i].matches);
	}
}

static void totals_follow_init_phases_and_overhead(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	struct k8s_pod pod = decode_pod_text(
		POD("\"overhead\":{\"memory\":\"1Gi\"},\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{"
		    "\"memory\":\"4Gi\"},\"limits\":{\"memory\":\"6Gi\"}}}],\"initContainers\":[{\"name\":\"s\","
		    "\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}},{\"name\":\"i\","
		    "\"resources\":{\"requests\":{\"memory\":\"8Gi\"}}}]"),
		&arena);

	(void)state;
	assert_true(k8s_pod_total(&pod, K8S_MEMORY, false, false).nano == k8s_bound_nano(K8S_MEMORY, 9 * GI));
	assert_true(k8s_pod_total(&pod, K8S_MEMORY, false, true).nano == k8s_bound_nano(K8S_MEMORY, 10 * GI));
	assert_true(k8s_pod_total(&pod, K8S_MEMORY, true, true).nano == k8s_bound_nano(K8S_MEMORY, 7 * GI));
	assert_false(k8s_pod_total(&pod, K8S_CPU, true, true).has);
}

static void bounds_refuse_as_the_api_server_does(void **state)
{
	static const struct {
		const char *name;
		int64_t request, limit; /* Mi; 0: absent */
		bool min, max, ratio;
	} rows[] = {
		{"all absent", 0, 0, true, true, true},
		{"inside", 1000, 2000, false, false, false},
		{"at the edges", 512, 768, false, false, false},
		{"ratio above", 512, 1100, false, false, true},
		{"at max", 2048, 2048, false, false, false},
		{"above max", 2048, 2049, false, true, false},
		{"below min", 511, 800, true, false, false},
		{"no limit", 1000, 0, false, true, true},
		{"request above max", 3000, 0, false, true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct k8s_total request = {rows[i].request > 0, k8s_bound_nano(K8S_MEMORY, rows[i].request * MI)};
		struct k8s_total limit = {rows[i].limit > 0, k8s_bound_nano(K8S_MEMORY, rows[i].limit * MI)};

		test_row(rows[i].name);
		assert_int_equal(k8s_bound_refuses(K8S_BOUND_MIN, K8S_MEMORY, 512 * MI, request, limit), rows[i].min);
		assert_int_equal(k8s_bound_refuses(K8S_BOUND_MAX, K8S_MEMORY, 2048 * MI, request, limit), rows[i].max);
		assert_int_equal(k8s_bound_refuses(K8S_BOUND_RATIO, K8S_MEMORY, 2000, request, limit), rows[i].ratio);
		assert_false(k8s_bound_refuses(K8S_BOUND_MAX, K8S_MEMORY, K8S_NO_BOUND, request, limit));
	}
}

/* However many there are: of each bound the one that refuses most, of each default the first one by name. */
static void limit_ranges_of_a_namespace_are_one_rule_each(void **state)
{
	static const struct {
		bool is_pod;
		enum k8s_bound bound;
		int64_t bounds[2], value;
		const char *name;
	} rows[] = {
		{false, K8S_BOUND_MIN, {5, 7}, 7, "b"},
		{true, K8S_BOUND_MIN, {7, 5}, 7, "a"},
		{false, K8S_BOUND_MAX, {5, 7}, 5, "a"},
		{true, K8S_BOUND_MAX, {7, 5}, 5, "b"},
		{false, K8S_BOUND_RATIO, {2000, 1500}, 1500, "b"},
		{false, K8S_BOUND_DEFAULT, {9, 4}, 9, "a"},
		{false, K8S_BOUND_DEFAULT_REQUEST, {4, 9}, 4, "a"},
		{false, K8S_BOUND_MAX, {K8S_NO_BOUND, 0}, 0, "b"},
		{false, K8S_BOUND_DEFAULT, {K8S_NO_BOUND, 4}, 4, "b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct k8s_limit_item items[2] = {{.is_pod = rows[i].is_pod}, {.is_pod = rows[i].is_pod}};
		struct k8s_limit_range ranges[2] = {{.name = "a", .items = &items[0], .n_items = 1},
						    {.name = "b", .items = &items[1], .n_items = 1}};
		struct k8s_limit_rules rules;
		const struct k8s_limit_rule *rule = &rules.rules[rows[i].is_pod][rows[i].bound][K8S_MEMORY];

		test_row(rows[i].name);
		k8s_limit_rules_init(&rules);
		for (size_t k = 0; k < 2; k++) {
			for (int b = 0; b < K8S_BOUND_COUNT_; b++)
				for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
					items[k].bounds[b][r] = K8S_NO_BOUND;
			items[k].bounds[rows[i].bound][K8S_MEMORY] = rows[i].bounds[k];
			k8s_limit_rules_add(&rules, &ranges[k]);
		}
		assert_int_equal(rule->value, rows[i].value);
		assert_string_equal(rule->name, rows[i].name);
		assert_int_equal(rules.rules[!rows[i].is_pod][rows[i].bound][K8S_MEMORY].value, K8S_NO_BOUND);
	}
}

/* A quota that says more than is kept of it counts more pods than it does, never fewer. */
static void what_is_left_out_of_a_quota_counts_every_pod(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf values = STRBUF_INIT(64 * KIB);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	struct k8s_pod pod = decode_pod_text(POD(MAIN("")), &arena);
	struct k8s_quota quota;

	(void)state;
	for (int i = 0; i < LIMIT_QUOTA_VALUES; i++)
		strbuf_addf(&values, "%s\"c%d\"", i ? "," : "", i);
	strbuf_addf(&text, CLASS("In", "%s"), strbuf_text(&values));
	assert_int_equal(decode_quota(strbuf_text(&text), &arena, &quota, NULL), 0);
	assert_false(k8s_quota_matches(&quota, &pod));
	strbuf_clear(&text);
	strbuf_addf(&text, CLASS("In", "%s,\"one more\""), strbuf_text(&values));
	assert_int_equal(decode_quota(strbuf_text(&text), &arena, &quota, NULL), 0);
	assert_true(k8s_quota_matches(&quota, &pod));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_ranges_are_read_and_defaulted),
		cmocka_unit_test(quotas_are_read),
		cmocka_unit_test(bad_objects_name_the_field),
		cmocka_unit_test(copies_stand_alone),
		cmocka_unit_test(scopes_match_as_the_api_server_says),
		cmocka_unit_test(totals_follow_init_phases_and_overhead),
		cmocka_unit_test(bounds_refuse_as_the_api_server_does),
		cmocka_unit_test(limit_ranges_of_a_namespace_are_one_rule_each),
		cmocka_unit_test(what_is_left_out_of_a_quota_counts_every_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
