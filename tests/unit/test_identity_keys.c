/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys a pod has: in what order, by which rules, how long, and what they hold apart. */
#include "identity_fixture.h"
#include "k8s/keys.h"

static void different_workloads_share_nothing(void **state)
{
	static const struct {
		const char *name;
		struct row a, b;
	} pairs[] = {
		{"bert and bert-large",
		 {.labels = "", .controller = "batch/v1 Job bert", .pod = "bert-"},
		 {.labels = "", .controller = "batch/v1 Job bert-large", .pod = "bert-large-"}},
		{"bert-large and the large role of bert",
		 {.labels = "", .controller = "batch/v1 Job bert-large", .pod = "bert-large-"},
		 {.labels = "", .controller = "batch.volcano.sh/v1alpha1 Job bert", .pod = "bert-large-0"}},
		{"resnet50 and resnet101",
		 {.labels = "", .controller = "batch/v1 Job resnet50-$5", .pod = "resnet50-$5-"},
		 {.labels = "", .controller = "batch/v1 Job resnet101-$5", .pod = "resnet101-$5-"}},
		{"resnet-50 and resnet-101",
		 {.labels = "", .controller = "batch/v1 Job train-resnet-50-$m", .pod = "train-resnet-50-$m-"},
		 {.labels = "", .controller = "batch/v1 Job train-resnet-101-$m", .pod = "train-resnet-101-$m-"}},
		{"v1 and v2",
		 {.labels = "", .controller = "batch/v1 Job bert-v1", .pod = "bert-v1-"},
		 {.labels = "", .controller = "batch/v1 Job bert-v2", .pod = "bert-v2-"}},
		{"names that end in words",
		 {.labels = "", .controller = "batch/v1 Job llama-train", .pod = "llama-train-"},
		 {.labels = "", .controller = "batch/v1 Job llama-prep", .pod = "llama-prep-"}},
		{"words without vowels",
		 {.labels = "", .controller = "batch/v1 Job train-rwkv6", .pod = "train-rwkv6-"},
		 {.labels = "", .controller = "batch/v1 Job train-rwkv7", .pod = "train-rwkv7-"}},
		{"kinds",
		 {.labels = "", .controller = "kubeflow.org/v1 PyTorchJob bert", .pod = "bert-worker-0"},
		 {.labels = "", .controller = "kubeflow.org/v1 TFJob bert", .pod = "bert-worker-0"}},
		{"two users' names for one Job",
		 {.labels = "memtamer.io/workload=a", .controller = "", .pod = "a-0"},
		 {.labels = "memtamer.io/workload=b", .controller = "", .pod = "b-0"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct identity a = at_admission(&pairs[i].a, 0), b = at_admission(&pairs[i].b, 0);

		test_row(pairs[i].name);
		assert_true(a.n_keys > 0 && b.n_keys > 0);
		for (size_t k = 0; k < a.n_keys; k++)
			assert_false(has_key(&b, a.keys[k].text) && streq(a.role, b.role));
	}
}

/* What people write into spec.workloadRef is a key of every pod of that object. */
static void what_a_person_calls_it_is_a_key_of_its_pods(void **state)
{
	static const struct {
		const char *kind, *name;
		struct row pod;
	} rows[] = {
		{"Job", "bert", {.labels = "", .controller = "batch/v1 Job bert-20261101", .pod = "bert-20261101-"}},
		{"Job",
		 "bert-20261224",
		 {.labels = "", .controller = "batch/v1 Job bert-20261101", .pod = "bert-20261101-"}},
		{"CronJob",
		 "nightly-2",
		 {.labels = "", .controller = "batch/v1 Job nightly-2-$m", .pod = "nightly-2-29384720-"}},
		{"TrainJob",
		 "bert",
		 {.labels = "jobset.sigs.k8s.io/jobset-name=bert",
		  .controller = "batch/v1 Job bert-node-0",
		  .pod = "bert-node-0-0-"}},
		{"CronWorkflow",
		 "nightly-2",
		 {.labels = "workflows.argoproj.io/workflow=nightly-2-$s",
		  .controller = "argoproj.io/v1alpha1 Workflow nightly-2-$s",
		  .pod = "nightly-2-$s-$n"}},
		{"PyTorchJob",
		 "bert-x7k2p",
		 {.labels = "", .controller = "kubeflow.org/v1 PyTorchJob bert-$5", .pod = "bert-$5-worker-0"}},
		{"Pod", "bert-0", {.labels = "", .controller = "", .pod = "bert-0"}},
		{"workload",
		 "nlp-2",
		 {.labels = "memtamer.io/workload=nlp-2", .controller = "batch/v1 Job bert", .pod = "bert-"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct identity identity = at_admission(&rows[i].pod, 0);
		char key[IDENTITY_KEY_BYTES], made[IDENTITY_KEY_BYTES] = "";

		test_row(rows[i].kind);
		identity_key_of_object(rows[i].kind, rows[i].name, key);
		(void)identity_key_of_made(rows[i].kind, rows[i].name, made);
		assert_true(has_key(&identity, key) || has_key(&identity, made));
	}
}

static void roles_of_one_job_differ(void **state)
{
	static const struct row master = {.labels = "",
					  .controller = "kubeflow.org/v1 PyTorchJob bert",
					  .pod = "bert-master-0"},
				worker = {.labels = "",
					  .controller = "kubeflow.org/v1 PyTorchJob bert",
					  .pod = "bert-worker-0"};
	struct identity a = at_admission(&master, 0), b = at_admission(&worker, 0);

	(void)state;
	assert_string_equal(a.keys[0].text, b.keys[0].text);
	assert_string_equal(a.role, "master");
	assert_string_equal(b.role, "worker");
	assert_string_equal(a.run_key, b.run_key);
}

static void order_and_rules_of_keys(void **state)
{
	static const struct row row = {.labels = "memtamer.io/workload=mine katib.kubeflow.org/experiment=hpo "
						 "katib.kubeflow.org/trial=hpo-$8",
				       .controller = "batch/v1 Job hpo-$8",
				       .pod = "hpo-$8-"};
	static const struct {
		const char *text, *rule;
	} expected[] = {
		{"workload:mine", "user-label"}, {"katib:hpo", "framework-label"}, {"Experiment/hpo", "root-owner"},
		{"Trial/hpo", "owner-stem"},	 {"Job/hpo", "owner-stem"},	   {"Pod/hpo", "pod-stem"},
	};
	struct identity identity = at_admission(&row, 0);

	(void)state;
	assert_int_equal(identity.n_keys, ARRAY_LEN(expected));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		assert_string_equal(identity.keys[i].text, expected[i].text);
		assert_string_equal(identity.keys[i].rule, expected[i].rule);
	}
}

static void run_keys(void **state)
{
	static const struct {
		const char *name, *owners, *pod, *run_key;
		bool is_exact;
	} runs[] = {
		{"child of a CronJob is the run", "Job/nightly-29384756 CronJob/nightly", "nightly-29384756-x7k2p",
		 "Job/nightly-29384756", true},
		{"topmost", "Job/bert-worker-0 JobSet/bert", "bert-worker-0-0-x7k2p", "JobSet/bert", true},
		{"exact name", "PyTorchJob/bert-x7k2p", "bert-x7k2p-worker-0", "PyTorchJob/bert-x7k2p", true},
		{"bare pod", "", "bert-x7k2p", "Pod/bert-x7k2p", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct row row = {.owners = runs[i].owners, .metric_pod = runs[i].pod, .metric_labels = ""};
		struct identity identity = from_metrics(&row, 0);

		test_row(runs[i].name);
		assert_string_equal(identity.run_key, runs[i].run_key);
		assert_int_equal(identity.is_run_key_exact, runs[i].is_exact);
	}
}

static void nothing_known_is_no_key(void **state)
{
	struct identity_facts facts = {.namespace_name = "ml"};
	struct identity identity;

	(void)state;
	workload_identify(&facts, &identity);
	assert_int_equal(identity.n_keys, 0);
	assert_string_equal(identity.role, "");
	assert_int_equal(identity.rank, -1);
}

static void recurring_names_stay_whole(void **state)
{
	struct row row = {.owners = "Job/nightly-2-29384756 CronJob/nightly-2",
			  .metric_pod = "nightly-2-29384756-x7k2p",
			  .metric_labels = ""};
	struct identity identity = from_metrics(&row, 0);

	(void)state;
	assert_string_equal(identity.keys[0].text, "CronJob/nightly-2");
}

static void long_keys_stay_apart(void **state)
{
	char name[300], pods[2][320];
	struct identity identities[2];

	(void)state;
	memset(name, 'a', 250);
	name[250] = '\0';
	for (int i = 0; i < 2; i++) {
		struct identity_facts facts = {.namespace_name = "ml", .pod_name = pods[i]};

		snprintf(pods[i], sizeof(pods[i]), "%s-%s", name, i ? "large" : "small");
		workload_identify(&facts, &identities[i]);
		assert_int_equal(strlen(identities[i].keys[0].text), IDENTITY_KEY_BYTES - 1);
	}
	assert_string_not_equal(identities[0].keys[0].text, identities[1].keys[0].text);
	assert_string_not_equal(identities[0].run_key, identities[1].run_key);
}

/* A name of characters of three bytes, after so many of one: wherever the key ends, it ends between two of them. */
static void long_keys_are_cut_between_characters(void **state)
{
	(void)state;
	for (size_t shift = 0; shift < 3; shift++) {
		char name[300];
		struct identity_facts facts = {.namespace_name = "ml", .pod_name = "p-0"};
		struct k8s_label label = {KEY_WORKLOAD, name};
		struct k8s_labels annotations = {.items = &label, .n = 1};
		struct identity identity;
		const char *at;

		memset(name, 'a', shift);
		for (size_t i = 0; i < 80; i++)
			memcpy(name + shift + 3 * i, "\xe8\xae\xad", 4);
		facts.annotations = &annotations;
		workload_identify(&facts, &identity);
		at = identity.keys[0].text + strlen("workload:") + shift;
		while (strstarts(at, "\xe8\xae\xad"))
			at += 3;
		assert_int_equal(*at, '-');
		assert_int_equal(strlen(at), 11);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(different_workloads_share_nothing),
		cmocka_unit_test(what_a_person_calls_it_is_a_key_of_its_pods),
		cmocka_unit_test(roles_of_one_job_differ),
		cmocka_unit_test(order_and_rules_of_keys),
		cmocka_unit_test(run_keys),
		cmocka_unit_test(nothing_known_is_no_key),
		cmocka_unit_test(recurring_names_stay_whole),
		cmocka_unit_test(long_keys_stay_apart),
		cmocka_unit_test(long_keys_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
