/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "k8s/node.h"

#include <errno.h>

#define NODE(labels, amounts)                                                                                          \
	"{\"metadata\":{\"name\":\"n1\",\"labels\":{" labels "}},\"status\":{"                                         \
	"\"allocatable\":{\"memory\":\"1000Gi\",\"ephemeral-storage\":\"100Gi\"," amounts "},"                         \
	"\"capacity\":{\"memory\":\"1024Gi\"," amounts "}}}"
#define GPU(key, value) "\"nvidia.com/" key "\":\"" value "\""
#define PLAIN		"\"cpu\":\"8\""

static struct json_object *parse(const char *text)
{
	struct json_object *json = NULL;

	assert_int_equal(json_parse(text, strlen(text), 16, &json, NULL), 0);
	return json;
}

static void offers(void **state)
{
	static const struct {
		const char *name, *text;
		struct {
			const char *resource;
			int64_t count, devices, parts;
		} offers[3];
	} rows[] = {
		{"no accelerator", NODE("", PLAIN), {{NULL, 0, 0, 0}}},
		{"eight GPUs", NODE("", GPU("gpu", "8")), {{"nvidia.com/gpu", 8, 8, 8}}},
		{"eight GPUs, discovered",
		 NODE(GPU("gpu.count", "8") "," GPU("gpu.replicas", "1") "," GPU("gpu.sharing-strategy", "none"),
		      GPU("gpu", "8")),
		 {{"nvidia.com/gpu", 8, 8, 8}}},
		{"time-slicing",
		 NODE(GPU("gpu.count", "4") "," GPU("gpu.replicas", "10") "," GPU("gpu.sharing-strategy",
										  "time-slicing"),
		      GPU("gpu", "40")),
		 {{"nvidia.com/gpu", 40, 4, 40}}},
		{"time-slicing without a count",
		 NODE(GPU("gpu.replicas", "10"), GPU("gpu", "40")),
		 {{"nvidia.com/gpu", 40, 4, 40}}},
		{"MPS, renamed",
		 NODE(GPU("gpu.count", "2") "," GPU("gpu.replicas", "4") "," GPU("gpu.sharing-strategy", "mps"),
		      GPU("gpu.shared", "8")),
		 {{"nvidia.com/gpu.shared", 8, 2, 8}}},
		{"renamed, count only",
		 NODE(GPU("gpu.count", "2"), GPU("gpu.shared", "8")),
		 {{"nvidia.com/gpu.shared", 8, 2, 8}}},
		{"renamed, nothing said", NODE("", GPU("gpu.shared", "8")), {{"nvidia.com/gpu.shared", 8, 0, 8}}},
		{"replicas that are nonsense",
		 NODE(GPU("gpu.replicas", "1000"), GPU("gpu", "8")),
		 {{"nvidia.com/gpu", 8, 8, 8}}},
		{"replicas of no strategy",
		 NODE(GPU("gpu.replicas", "4") "," GPU("gpu.sharing-strategy", "none"), GPU("gpu", "8")),
		 {{"nvidia.com/gpu", 8, 8, 8}}},
		/* 7 of 8 slices of memory of each of 8 GPUs */
		{"MIG single",
		 NODE(GPU("gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb") "," GPU("gpu.count", "56") "," GPU(
			      "gpu.memory", "9856") "," GPU("mig.strategy", "single"),
		      GPU("gpu", "56")),
		 {{"nvidia.com/gpu", 56, 8, 64}}},
		{"MIG single, halves",
		 NODE(GPU("gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb"), GPU("gpu", "16")),
		 {{"nvidia.com/gpu", 16, 8, 16}}},
		{"MIG single, shared by two",
		 NODE(GPU("gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb-SHARED") "," GPU("gpu.replicas", "2"),
		      GPU("gpu", "32")),
		 {{"nvidia.com/gpu", 32, 8, 32}}},
		{"MIG mixed, all of one profile",
		 NODE("", GPU("mig-1g.10gb", "56")),
		 {{"nvidia.com/mig-1g.10gb", 56, 8, 64}}},
		{"MIG mixed, half of the GPUs",
		 NODE(GPU("mig.strategy", "mixed"), GPU("gpu", "4") "," GPU("mig-3g.40gb", "8")),
		 {{"nvidia.com/gpu", 4, 8, 8}, {"nvidia.com/mig-3g.40gb", 8, 8, 16}}},
		/* by memory 7 of 8, by compute whole */
		{"MIG mixed, several profiles",
		 NODE("", GPU("mig-1g.10gb", "40") "," GPU("mig-2g.20gb", "8")),
		 {{"nvidia.com/mig-1g.10gb", 40, 8, 64}, {"nvidia.com/mig-2g.20gb", 8, 8, 32}}},
		{"MIG slices by the device's memory",
		 NODE(GPU("gpu.memory", "40536"), GPU("mig-1g.10gb", "4")),
		 {{"nvidia.com/mig-1g.10gb", 4, 1, 4}}},
		{"MIG slices by the product",
		 NODE(GPU("gpu.product", "NVIDIA-A100-SXM4-40GB"), GPU("mig-1g.10gb", "4")),
		 {{"nvidia.com/mig-1g.10gb", 4, 1, 4}}},
		{"MIG of an A30",
		 NODE(GPU("gpu.memory", "24576"), GPU("mig-1g.6gb", "2") "," GPU("mig-2g.12gb", "1")),
		 {{"nvidia.com/mig-1g.6gb", 2, 1, 4}, {"nvidia.com/mig-2g.12gb", 1, 1, 2}}},
		{"MIG slices shared",
		 NODE(GPU("mig-3g.40gb.replicas", "5") "," GPU("mig-3g.40gb.sharing-strategy", "time-slicing"),
		      GPU("mig-3g.40gb", "20")),
		 {{"nvidia.com/mig-3g.40gb", 20, 2, 20}}},
		{"MIG of a profile that nobody knows",
		 NODE("", GPU("mig-9g.999gb", "3")),
		 {{"nvidia.com/mig-9g.999gb", 3, 0, 3}}},
		{"counted by discovery when one is away",
		 NODE(GPU("gpu.count", "8"), GPU("gpu", "7")),
		 {{"nvidia.com/gpu", 7, 8, 8}}},
		{"HAMi's memory is no device",
		 NODE("", GPU("gpu", "10") "," GPU("gpumem", "81920")),
		 {{"nvidia.com/gpu", 10, 10, 10}}},
		{"renamed", NODE("", GPU("a100", "8")), {{"nvidia.com/a100", 8, 8, 8}}},
		{"AMD", NODE("", "\"amd.com/gpu\":\"8\""), {{"amd.com/gpu", 8, 8, 8}}},
		{"AMD in partitions", NODE("", "\"amd.com/cpx_nps4\":\"64\""), {{"amd.com/cpx_nps4", 64, 8, 64}}},
		{"Intel",
		 NODE("", "\"gpu.intel.com/i915\":\"2\",\"gpu.intel.com/i915_monitoring\":\"1\""),
		 {{"gpu.intel.com/i915", 2, 2, 2}}},
		{"Gaudi",
		 NODE("", "\"habana.ai/gaudi\":\"8\",\"hugepages-2Mi\":\"95000Mi\""),
		 {{"habana.ai/gaudi", 8, 8, 8}}},
		{"TPU", NODE("", "\"google.com/tpu\":\"4\""), {{"google.com/tpu", 4, 4, 4}}},
		{"Neuron, devices and cores",
		 NODE("", "\"aws.amazon.com/neuron\":\"16\",\"aws.amazon.com/neuroncore\":\"32\""),
		 {{"aws.amazon.com/neuron", 16, 16, 16}, {"aws.amazon.com/neuroncore", 32, 0, 32}}},
		{"plugin away",
		 "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"capacity\":{" GPU("gpu", "8") "},\"allocatable\":{" GPU(
			 "gpu", "0") ",\"memory\":\"1000Gi\",\"ephemeral-storage\":\"100Gi\"}}}",
		 {{"nvidia.com/gpu", 8, 8, 8}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *json = parse(rows[i].text);
		struct k8s_node node;
		size_t n = 0;

		test_row(rows[i].name);
		assert_int_equal(k8s_node_read(json, &node, NULL), 0);
		assert_int_equal(node.memory_bytes, 1000 * (int64_t)GIB);
		assert_int_equal(node.ephemeral_bytes, 100 * (int64_t)GIB);
		for (; rows[i].offers[n].resource; n++) {
			test_row(rows[i].offers[n].resource);
			assert_string_equal(node.offers[n].resource, rows[i].offers[n].resource);
			assert_int_equal(node.offers[n].count, rows[i].offers[n].count);
			assert_int_equal(node.offers[n].devices, rows[i].offers[n].devices);
			assert_int_equal(node.offers[n].parts, rows[i].offers[n].parts);
		}
		assert_int_equal(node.n_offers, n);
		assert_false(node.is_virtual || node.is_coming);
	}
}

/* Nothing overflows, and no unit is more than its part. */
static void absurd_numbers(void **state)
{
	CLEANUP(json_putp)
	struct json_object *json = parse(
		NODE(GPU("gpu.count", "99999999999999999999") "," GPU("gpu.replicas", "9223372036854775807") "," GPU(
			     "gpu.memory", "9223372036854775807"),
		     GPU("gpu", "9223372036854775807") "," GPU("mig-1g.10gb", "9e30") ",\"amd.com/cpx_nps4\":\"1E\""));
	struct k8s_node node;

	(void)state;
	assert_int_equal(k8s_node_read(json, &node, NULL), 0);
	assert_int_equal(node.n_offers, 3);
	for (size_t i = 0; i < node.n_offers; i++) {
		assert_int_equal(node.offers[i].count, 1000000);
		assert_true(node.offers[i].parts >= node.offers[i].count);
	}
}

static void kinds_of_nodes(void **state)
{
	static const struct {
		const char *name, *text, *product, *type;
		bool is_virtual, is_coming;
	} rows[] = {
		{"labels",
		 NODE(GPU("gpu.product", "NVIDIA-H200") ",\"node.kubernetes.io/instance-type\":\"p5en.48xlarge\"",
		      GPU("gpu", "8")),
		 "NVIDIA-H200", "p5en.48xlarge", false, false},
		{"GKE", NODE("\"cloud.google.com/gke-accelerator\":\"nvidia-l4\"", GPU("gpu", "1")), "nvidia-l4", "",
		 false, false},
		{"AMD", NODE("\"amd.com/gpu.product-name\":\"AMD_Instinct_MI300X_OAM\"", "\"amd.com/gpu\":\"8\""),
		 "AMD_Instinct_MI300X_OAM", "", false, false},
		{"Fargate", NODE("\"eks.amazonaws.com/compute-type\":\"fargate\"", PLAIN), "", "", true, false},
		{"virtual kubelet", NODE("\"type\":\"virtual-kubelet\"", PLAIN), "", "", true, false},
		{"virtual by its taint",
		 "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[7,{\"key\":\"virtual-kubelet.io/provider\"}]}}",
		 "", "", true, false},
		{"type of something else", NODE("\"type\":\"gpu\"", PLAIN), "", "", false, false},
		{"cordoned, not ready",
		 "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":"
		 "\"node.kubernetes.io/unreachable\"}]},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":"
		 "\"Unknown\"}]}}",
		 "", "", false, false},
		{"coming up", NODE(GPU("gpu.present", "true"), PLAIN), "", "", false, true},
		{"coming up on GKE", NODE("\"cloud.google.com/gke-accelerator\":\"nvidia-l4\"", PLAIN), "nvidia-l4", "",
		 false, true},
		{"discovery found none", NODE(GPU("gpu.present", "false"), PLAIN), "", "", false, false},
		{"odd types",
		 "{\"metadata\":{\"name\":\"n\",\"labels\":[1]},\"spec\":{\"taints\":{}},\"status\":{\"capacity\":[],"
		 "\"allocatable\":{\"memory\":7,\"nvidia.com/gpu\":{}}}}",
		 "", "", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *json = parse(rows[i].text);
		struct k8s_node node;

		test_row(rows[i].name);
		assert_int_equal(k8s_node_read(json, &node, NULL), 0);
		assert_string_equal(node.product, rows[i].product);
		assert_string_equal(node.instance_type, rows[i].type);
		assert_int_equal(node.is_virtual, rows[i].is_virtual);
		assert_int_equal(node.is_coming, rows[i].is_coming);
	}
}

static void no_nodes(void **state)
{
	static const char *const texts[] = {"{}", "{\"metadata\":{}}", "{\"metadata\":{\"name\":7}}", "[]", "\"node\""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP(json_putp) struct json_object *json = parse(texts[i]);
		struct k8s_node node;

		test_row(texts[i]);
		assert_int_equal(k8s_node_read(json, &node, NULL), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offers),
		cmocka_unit_test(absurd_numbers),
		cmocka_unit_test(kinds_of_nodes),
		cmocka_unit_test(no_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
