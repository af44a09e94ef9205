/* SPDX-License-Identifier: Apache-2.0 */
/* identity: keys have three sources: what the user says, labels of frameworks that name the workload, and the stemmed
 * names of the owner chain. The chain is made as long as possible: a label that names an owner which the pod does not
 * show (the JobSet of its Job) adds a level, so that admission, which knows one owner and labels, and metrics, which
 * know owners but no labels, get the same chain. */
#include "model/identity.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"
#include "k8s/kinds.h"
#include "model/role.h"
#include "model/stem.h"

#include <stdio.h>

/* ---- owners ---- */

static const struct identity_label owner_labels[] = {
	{"batch.kubernetes.io/job-name", "batch", "Job", NULL, NULL},
	{"volcano.sh/job-name", "batch.volcano.sh", "Job", NULL, NULL},
	{"workflows.argoproj.io/workflow", "argoproj.io", "Workflow", NULL, NULL},
	{"leaderworkerset.sigs.k8s.io/name", "leaderworkerset.x-k8s.io", "LeaderWorkerSet", NULL, NULL},
	{"jobset.sigs.k8s.io/jobset-name", "jobset.x-k8s.io", "JobSet", NULL, NULL},
#define KUBEFLOW(kind, operator)                                                                                       \
	{                                                                                                              \
		"training.kubeflow.org/job-name", "kubeflow.org", kind,                                                \
			"training.kubeflow.org/operator-name", operator                                                \
	}
	KUBEFLOW("PyTorchJob", "pytorchjob-controller"),
	KUBEFLOW("TFJob", "tfjob-controller"),
	KUBEFLOW("XGBoostJob", "xgboostjob-controller"),
	KUBEFLOW("JAXJob", "jaxjob-controller"),
	KUBEFLOW("PaddleJob", "paddlejob-controller"),
	KUBEFLOW("MPIJob", "mpijob-controller"),
	KUBEFLOW("MPIJob", "mpi-operator"),
#undef KUBEFLOW
	{"ray.io/cluster", "ray.io", "RayCluster", NULL, NULL},
	{"ray.io/originated-from-cr-name", "ray.io", "RayJob", "ray.io/originated-from-crd", "RayJob"},
	/* Executors belong to the driver's pod; Spark sets its own label also without the operator. */
	{"sparkoperator.k8s.io/app-name", "sparkoperator.k8s.io", "SparkApplication", NULL, NULL},
	{"spark-app-name", "sparkoperator.k8s.io", "SparkApplication", NULL, NULL},
	{"katib.kubeflow.org/trial", "kubeflow.org", "Trial", NULL, NULL},
	{"katib.kubeflow.org/experiment", "kubeflow.org", "Experiment", NULL, NULL},
};

const struct identity_label *identity_label(size_t i)
{
	return i < ARRAY_LEN(owner_labels) ? &owner_labels[i] : NULL;
}

static bool chain_has(const struct owner_chain *chain, const char *kind)
{
	for (size_t i = 0; i < chain->n; i++)
		if (streq(chain->items[i].kind, kind))
			return true;
	return false;
}

static void chain_add(struct owner_chain *chain, const char *group, const char *kind, const char *name)
{
	if (chain->n < ARRAY_LEN(chain->items) && kind && *kind && name && *name)
		chain->items[chain->n++] = (struct identity_owner){group, kind, name};
}

/* A pod that owns pods exists for one run only; its own owner outlives it. */
static void drop_driver(struct owner_chain *chain)
{
	if (chain->n < 2 || !streq(chain->items[0].kind, "Pod"))
		return;
	chain->n--;
	memmove(chain->items, chain->items + 1, chain->n * sizeof(chain->items[0]));
}

static struct owner_chain chain_of(const struct identity_facts *facts)
{
	struct owner_chain chain = {.n = 0};

	for (size_t i = 0; i < facts->n_owners; i++)
		chain_add(&chain, facts->owners[i].group, facts->owners[i].kind, facts->owners[i].name);
	for (size_t i = 0; i < ARRAY_LEN(owner_labels); i++) {
		const char *name = facts_label(facts, owner_labels[i].label);

		if (!*name || chain_has(&chain, owner_labels[i].kind))
			continue;
		if (owner_labels[i].if_label &&
		    !streq(facts_label(facts, owner_labels[i].if_label), owner_labels[i].if_value))
			continue;
		chain_add(&chain, owner_labels[i].group, owner_labels[i].kind, name);
	}
	drop_driver(&chain);
	return chain;
}

static bool is_recurring(const struct identity_owner *owner)
{
	const struct kind *kind = kind_find(owner->group, owner->kind);

	return kind && kind->is_recurring;
}

/* ---- keys ---- */

#define KIND_PREFIX_BYTES 62 /* 60 bytes of the kind, the slash, NUL */

/* Writes "prefix" + name. If it does not fit it is truncated and ends in a hash of all of it. It is never cut within a
 * character, as the API server would store a different text. */
static void make_text(char *ret, size_t size, const char *prefix, struct str name)
{
	size_t n_prefix = strlen(prefix), n_head = MIN(n_prefix, size - 1), n = MIN(name.n, size - 1 - n_head);
	size_t cut = size - 12;
	uint64_t hash;

	memcpy(ret, prefix, n_head);
	if (n)
		memcpy(ret + n_head, name.p, n);
	ret[n_head + n] = '\0';
	if (n_prefix + name.n < size)
		return;
	hash = hash_stable(hash_stable(HASH_STABLE_INIT, prefix, n_prefix), name.p, name.n);
	while (cut > 0 && (ret[cut] & 0xc0) == 0x80)
		cut--;
	snprintf(ret + cut, 12, "-%010llx", (unsigned long long)(identity_mix(hash) >> 24));
}

void identity_cut(const char *text, char *ret, size_t size)
{
	make_text(ret, size, "", str_c(text));
}

/* "Job/"; longer kinds than any known one are truncated. */
static void make_kind_prefix(const char *kind, char ret[KIND_PREFIX_BYTES])
{
	size_t n = strnlen(kind, KIND_PREFIX_BYTES - 2);

	memcpy(ret, kind, n);
	memcpy(ret + n, "/", 2);
}

static void add_key(struct identity *ret, const char *rule, const char *prefix, struct str name)
{
	struct identity_key key = {.rule = rule};

	if (!name.n || ret->n_keys == IDENTITY_KEYS)
		return;
	make_text(key.text, sizeof(key.text), prefix, name);
	for (size_t i = 0; i < ret->n_keys; i++)
		if (streq(ret->keys[i].text, key.text))
			return;
	ret->keys[ret->n_keys++] = key;
}

static void add_user_key(const struct identity_facts *facts, struct identity *ret)
{
	const char *name = facts_label(facts, KEY_WORKLOAD);

	if (!*name)
		name = facts_annotation(facts, KEY_WORKLOAD);
	add_key(ret, "user-label", IDENTITY_KIND_OF_LABEL ":", str_c(name));
}

/* Labels of frameworks that name the workload whatever its objects are called. With two labels the name is
 * "first.second". `mark` must be present too, because some of the labels have common names. */
static const struct {
	const char *prefix, *first, *second, *mark;
} framework_labels[] = {
	{"katib:", "katib.kubeflow.org/experiment", NULL, NULL},
	{"flyte:", "workflow-name", "task-name", "execution-id"},
	{"flyte:", "task-name", NULL, "action"}, /* version 2 */
	{"torchx:", "torchx.pytorch.org/app-name", NULL, NULL},
	{"airflow:", "dag_id", "task_id", "dag_id"},
};

static void add_framework_keys(const struct identity_facts *facts, struct identity *ret)
{
	char name[2 * IDENTITY_KEY_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(framework_labels); i++) {
		const char *first = facts_label(facts, framework_labels[i].first);
		const char *second = framework_labels[i].second ? facts_label(facts, framework_labels[i].second) : NULL;

		if (!*first || (second && !*second) ||
		    (framework_labels[i].mark && !*facts_label(facts, framework_labels[i].mark)))
			continue;
		snprintf(name, sizeof(name), "%s%s%s", first, second ? "." : "", second ? second : "");
		add_key(ret, "framework-label", framework_labels[i].prefix, str_c(name));
	}
}

static struct str owner_stem(const struct identity_owner *owner)
{
	struct str name = str_c(owner->name);

	return is_recurring(owner) ? name : stem_of(name);
}

void identity_key_of_object(const char *kind, const char *name, char ret[IDENTITY_KEY_BYTES])
{
	const struct identity_owner owner = {NULL, kind, name};
	char prefix[KIND_PREFIX_BYTES];

	if (streq(kind, IDENTITY_KIND_OF_LABEL)) {
		make_text(ret, IDENTITY_KEY_BYTES, IDENTITY_KIND_OF_LABEL ":", str_c(name));
		return;
	}
	make_kind_prefix(kind, prefix);
	make_text(ret, IDENTITY_KEY_BYTES, prefix, owner_stem(&owner));
}

/* The suffix that is appended to the name is removed from it again. */
bool identity_key_of_made(const char *kind_name, const char *name, char ret[IDENTITY_KEY_BYTES])
{
	const struct kind *kind = kind_find(NULL, kind_name);
	char made[LIMIT_NAME_BYTES + sizeof("-29384756")];

	if (!kind || !kind->makes)
		return false;
	snprintf(made, sizeof(made), "%.*s%s", LIMIT_NAME_BYTES, name, kind->is_recurring ? "-29384756" : "");
	identity_key_of_object(kind->makes, made, ret);
	return true;
}

/* Whether the stem still contains the generated name of an owner from `first` on (bert-x7k2p-worker below
 * bert-x7k2p). */
static bool holds_generated_name(const struct owner_chain *chain, size_t first, struct str stem)
{
	for (size_t above = first; above < chain->n; above++) {
		struct str name = str_c(chain->items[above].name);

		if (owner_stem(&chain->items[above]).n < name.n && str_starts(stem, name))
			return true;
	}
	return false;
}

/* Adds one key for each level, topmost first. Names of recurring objects are kept whole: CronJob/nightly-2 is not
 * CronJob/nightly. Stems that are valid for one run only are left out, as they would fill the list of aliases. */
static void add_owner_keys(const struct owner_chain *chain, struct identity *ret)
{
	char prefix[KIND_PREFIX_BYTES];

	for (size_t i = chain->n; i-- > 0;) {
		struct str stem = owner_stem(&chain->items[i]);

		if (holds_generated_name(chain, i + 1, stem))
			continue;
		make_kind_prefix(chain->items[i].kind, prefix);
		add_key(ret, i + 1 == chain->n ? "root-owner" : "owner-stem", prefix, stem);
	}
}

/* Adds the stem of the pod's own name, for bare pods and for metrics without owners. If there are roles, the name
 * contains the role and does not name the workload. */
static void add_pod_key(const struct owner_chain *chain, const char *pod_name, struct identity *ret)
{
	struct str stem = stem_of(str_c(pod_name));

	if (!chain->n || (!*ret->role && !holds_generated_name(chain, 0, stem)))
		add_key(ret, "pod-stem", "Pod/", stem);
}

/* ---- the run ---- */

static void find_run_key(const struct owner_chain *chain, const char *pod_name, struct identity *ret)
{
	char prefix[KIND_PREFIX_BYTES];

	for (size_t i = chain->n; i-- > 0;) {
		if (is_recurring(&chain->items[i]))
			continue;
		make_kind_prefix(chain->items[i].kind, prefix);
		make_text(ret->run_key, sizeof(ret->run_key), prefix, str_c(chain->items[i].name));
		ret->is_run_key_exact = true;
		return;
	}
	make_text(ret->run_key, sizeof(ret->run_key), "Pod/", str_c(pod_name));
}

/* The pod's name, or generateName with a suffix like those of the API server. */
static const char *full_pod_name(const struct identity_facts *facts, char *buf, size_t size)
{
	if (facts->pod_name && *facts->pod_name)
		return facts->pod_name;
	if (!facts->generate_name || !*facts->generate_name)
		return "";
	snprintf(buf, size, "%sx7k2p", facts->generate_name);
	return buf;
}

void workload_identify(const struct identity_facts *facts, struct identity *ret)
{
	struct owner_chain chain = chain_of(facts);
	char buf[512];
	const char *pod_name = full_pod_name(facts, buf, sizeof(buf));

	*ret = (struct identity){.rank = -1};
	role_find(facts, &chain, pod_name, ret);
	add_user_key(facts, ret);
	add_framework_keys(facts, ret);
	add_owner_keys(&chain, ret);
	add_pod_key(&chain, pod_name, ret);
	find_run_key(&chain, pod_name, ret);
}

void identity_facts_of_pod(const struct k8s_pod *pod, const char *container, struct identity_facts *ret)
{
	const struct k8s_owner *owner = k8s_pod_controller(pod);
	const struct kind *kind;

	*ret = (struct identity_facts){.namespace_name = pod->namespace_name,
				       .pod_name = pod->name,
				       .generate_name = pod->generate_name,
				       .labels = &pod->labels,
				       .annotations = &pod->annotations,
				       .container = container};
	if (!owner)
		return;
	kind = kind_find_api_version(owner->api_version, owner->kind);
	ret->owners[0] = (struct identity_owner){kind ? kind->group : NULL, owner->kind, owner->name};
	ret->n_owners = 1;
}

/* ---- the id ---- */

static char slug_char(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
}

/* Lower-case letters, digits and single dashes, none at the start or end: a valid label value and object name. */
static size_t make_slug(const char *text, char *ret, size_t max)
{
	size_t n = 0;

	for (; *text && n < max; text++) {
		char c = slug_char(*text);

		if (c != '-' || (n > 0 && ret[n - 1] != '-'))
			ret[n++] = c;
	}
	while (n > 0 && ret[n - 1] == '-')
		n--;
	return n;
}

#define SLUG_BYTES 40

void identity_id(const char *namespace_name, const char *key, const char *role, const char *container,
		 char ret[IDENTITY_ID_BYTES])
{
	const char *const parts[] = {namespace_name, key, role, container};
	const char *name = strpbrk(key, "/:");
	uint64_t hash = HASH_STABLE_INIT;
	char slug[SLUG_BYTES];
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		hash = hash_stable_text(hash, parts[i]);
	n = make_slug(name ? name + 1 : key, slug, sizeof(slug));
	if (!n)
		n = make_slug("workload", slug, sizeof(slug));
	snprintf(ret, IDENTITY_ID_BYTES, "%.*s-%010llx", (int)n, slug, (unsigned long long)(identity_mix(hash) >> 24));
}
