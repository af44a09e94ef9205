/* SPDX-License-Identifier: Apache-2.0 */
#include "model/role.h"

#include "base/str.h"
#include "model/stem.h"

#include <stdio.h>

const char *facts_label(const struct identity_facts *facts, const char *key)
{
	const char *value = facts->labels ? k8s_label_get(facts->labels, key) : NULL;

	return value ? value : "";
}

const char *facts_annotation(const struct identity_facts *facts, const char *key)
{
	const char *value = facts->annotations ? k8s_label_get(facts->annotations, key) : NULL;

	return value ? value : "";
}

/* The part of a name after "`prefix`-"; n = 0 if the name does not begin so. */
static struct str rest_behind(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (!n || strncmp(name, prefix, n) != 0 || name[n] != '-')
		return STR("");
	return str_c(name + n + 1);
}

/* Splits off the last part: "worker-0" becomes "worker" and "0". Without a dash the head is empty. */
static struct str split_last(struct str s, struct str *ret_head)
{
	size_t start = s.n;

	while (start > 0 && s.p[start - 1] != '-')
		start--;
	*ret_head = (struct str){s.p, start > 0 ? start - 1 : 0};
	return (struct str){s.p + start, s.n - start};
}

static int to_rank(struct str digits)
{
	int rank = 0;

	for (size_t i = 0; i < digits.n; i++)
		rank = rank * 10 + (digits.p[i] - '0');
	return rank;
}

static void set_role(struct identity *ret, struct str role)
{
	snprintf(ret->role, sizeof(ret->role), "%.*s", (int)role.n, role.p);
	for (char *p = ret->role; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
}

/* ---- how each kind names its pods; `rest` is what follows the owner's name. false: another form ---- */

/* "worker-0", "launcher" (Kubeflow v1 and HyperPod). */
static bool role_and_index(struct str rest, struct identity *ret)
{
	struct str head, last = split_last(rest, &head);

	if (head.n && stem_is_number(last)) {
		set_role(ret, head);
		ret->rank = to_rank(last);
	} else {
		set_role(ret, rest);
	}
	return true;
}

/* Jobs of batch: "x7k2p", "3-x7k2p" (Indexed). Jobs of Volcano: "worker-3". If the group is not known, only the name
 * distinguishes them. A Volcano task that ends in a number is one of several replicas of a role (TorchX). */
static bool batch_or_volcano(struct str rest, struct identity *ret)
{
	struct str head, last = split_last(rest, &head), task_head, task_last;

	if (stem_is_random_suffix(last) && (!head.n || stem_is_number(head))) {
		if (head.n)
			ret->rank = to_rank(head);
		return true;
	}
	if (!head.n || !stem_is_number(last))
		return false;
	ret->rank = to_rank(last);
	task_last = split_last(head, &task_head);
	if (task_head.n && stem_is_number(task_last)) {
		ret->rank = to_rank(task_last);
		head = task_head;
	}
	set_role(ret, head);
	return true;
}

/* "head", "head-x7k2p", "GROUP-worker-x7k2p". */
static bool ray_group(struct str rest, struct identity *ret)
{
	struct str head, last = split_last(rest, &head), group, worker;

	if (str_eq(rest, STR("head")) || (str_eq(head, STR("head")) && stem_is_random_suffix(last))) {
		set_role(ret, STR("head"));
		return true;
	}
	worker = split_last(head, &group);
	if (!stem_is_random_suffix(last) || !str_eq(worker, STR("worker")) || !group.n)
		return false;
	set_role(ret, group);
	return true;
}

/* "TEMPLATE-1234567890": Argo's pod names; a workflow of one step has only its own name. */
static bool argo_template(struct str rest, struct identity *ret)
{
	struct str head, last = split_last(rest, &head);

	if (!stem_is_digits(last))
		return false;
	set_role(ret, head);
	return true;
}

static const struct {
	const char *kind; /* of the nearest owner */
	bool (*parse)(struct str rest, struct identity *ret);
} pod_names[] = {
	{"Job", batch_or_volcano},	{"PyTorchJob", role_and_index}, {"TFJob", role_and_index},
	{"XGBoostJob", role_and_index}, {"JAXJob", role_and_index},	{"PaddleJob", role_and_index},
	{"MPIJob", role_and_index},	{"RayCluster", ray_group},	{"Workflow", argo_template},
};

static bool role_by_pod_name(const struct identity_owner *owner, const char *pod_name, struct identity *ret)
{
	struct str rest = rest_behind(pod_name, owner->name);

	if (!rest.n)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(pod_names); i++)
		if (streq(owner->kind, pod_names[i].kind))
			return pod_names[i].parse(rest, ret);
	return false;
}

/* ---- a Job inside a larger object: the Job's name contains the role ---- */

/* JobSet: "worker-2" after the set's name. The index of the Job and the index of the pod in it are combined to one
 * number. */
static bool role_of_jobset(struct str rest, struct identity *ret)
{
	struct str head, last = split_last(rest, &head);

	if (!head.n || !stem_is_number(last))
		return false;
	set_role(ret, head);
	ret->rank = (ret->rank < 0 ? 0 : ret->rank & 0xffff) | (to_rank(last) & 0x7fff) << 16;
	return true;
}

static bool role_by_job_name(const struct owner_chain *chain, struct identity *ret)
{
	struct str rest;

	if (chain->n < 2 || !streq(chain->items[0].kind, "Job"))
		return false;
	rest = rest_behind(chain->items[0].name, chain->items[1].name);
	if (streq(chain->items[1].kind, "JobSet"))
		return role_of_jobset(rest, ret);
	if (streq(chain->items[1].kind, "MPIJob") && rest.n) {
		set_role(ret, rest);
		ret->rank = 0;
		return true;
	}
	if (streq(chain->items[1].kind, "RayJob")) {
		set_role(ret, STR("submitter"));
		return true;
	}
	return false;
}

/* ---- labels ---- */

static const struct {
	const char *key;
	const char *value; /* NULL: the label's value is the role */
	const char *role;
} role_labels[] = {
	{"jobset.sigs.k8s.io/replicatedjob-name", NULL, NULL},
	{"training.kubeflow.org/replica-type", NULL, NULL},
	{"training.kubeflow.org/job-role", NULL, NULL},
	{"ray.io/node-type", "head", "head"},
	{"ray.io/group", NULL, NULL},
	{"spark-role", NULL, NULL},
	{"torchx.pytorch.org/role-name", NULL, NULL},
	{"volcano.sh/task-spec", NULL, NULL},
};

static const char *const rank_labels[] = {"batch.kubernetes.io/job-completion-index",
					  "training.kubeflow.org/replica-index", "volcano.sh/task-index"};

static void role_by_label(const struct identity_facts *facts, struct identity *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(role_labels) && !*ret->role; i++) {
		const char *value = facts_label(facts, role_labels[i].key);

		if (!role_labels[i].value)
			set_role(ret, str_c(value));
		else if (streq(value, role_labels[i].value))
			set_role(ret, str_c(role_labels[i].role));
	}
}

static void rank_by_label(const struct identity_facts *facts, struct identity *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(rank_labels) && ret->rank < 0; i++) {
		const char *value = facts_label(facts, rank_labels[i]);

		if (!*value)
			value = facts_annotation(facts, rank_labels[i]);
		if (stem_is_number(str_c(value)))
			ret->rank = to_rank(str_c(value));
	}
}

void role_find(const struct identity_facts *facts, const struct owner_chain *chain, const char *pod_name,
	       struct identity *ret)
{
	bool is_named = chain->n && role_by_pod_name(&chain->items[0], pod_name, ret);

	if (!is_named)
		rank_by_label(facts, ret);
	is_named = role_by_job_name(chain, ret) || is_named;
	if (!is_named)
		role_by_label(facts, ret);
}
