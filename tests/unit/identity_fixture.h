/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* identity_fixture: a pod as admission and as metrics know it, in a line of text each, and what identity it has. */
#include "support/test.h"

#include "base/str.h"
#include "model/identity.h"

#include <string.h>

/* Generated parts of names, for two runs: $5 generateName, $8 Katib, $m minutes and $s seconds since 1970, $n Argo's
 * hash of a node, $t TorchX, $f Flyte's execution. */
static const struct {
	char letter;
	const char *run[2];
} generated[] = {
	{'5', {"x7k2p", "mnvdq"}},
	{'8', {"b5xw7k2p", "zzkqvbnm"}},
	{'m', {"29384756", "29386196"}},
	{'s', {"1793607300", "1793693700"}},
	{'n', {"1234567890", "987654321"}},
	{'t', {"zmkxp7k1ldl7hc", "b0vd3q9wjsnk4c"}},
	{'f', {"f1a2b3c4d5e6f7a8b9c0", "a0b9c8d7e6f5a4b3c2d1"}},
};

struct row {
	const char *name;
	/* admission: labels "key=value ...", the controller "apiVersion Kind name", name or generateName (ends in '-')
	 */
	const char *labels, *controller, *pod;
	/* metrics: the owner chain as kube-state-metrics has it "Kind/name Kind/name", the pod's name, labels where the
	 * kind cannot be told without the allow-list */
	const char *owners, *metric_pod, *metric_labels;
	const char *shared, *role; /* the key that both must have, and the role */
	int rank;
};

/* Put the generated parts of a run into a text. */
static inline const char *fill_in(const char *text, int run, char *buf, size_t size)
{
	size_t at = 0;

	for (; *text && at + 1 < size; text++) {
		bool is_generated = false;

		for (size_t i = 0; *text == '$' && i < ARRAY_LEN(generated); i++) {
			if (text[1] != generated[i].letter)
				continue;
			at += (size_t)snprintf(buf + at, size - at, "%s", generated[i].run[run]);
			text++;
			is_generated = true;
			break;
		}
		if (!is_generated)
			buf[at++] = *text;
	}
	buf[at] = '\0';
	return buf;
}

/* "a=b c=d" as labels; the text is cut up. */
static inline void parse_labels(char *text, struct k8s_label *items, struct k8s_labels *ret)
{
	char *save = NULL;

	*ret = (struct k8s_labels){.items = items};
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *equals = strchr(word, '=');

		*equals = '\0';
		items[ret->n++] = (struct k8s_label){word, equals + 1};
	}
}

static inline struct identity at_admission(const struct row *row, int run)
{
	char labels[1024], controller[256], pod_name[256], *save = NULL;
	struct k8s_label items[16];
	struct k8s_owner owner = {.is_controller = true};
	struct k8s_pod pod = {.namespace_name = "ml", .name = "", .generate_name = ""};
	struct identity_facts facts;
	struct identity identity;

	fill_in(row->labels, run, labels, sizeof(labels));
	parse_labels(labels, items, &pod.labels);
	fill_in(row->pod, run, pod_name, sizeof(pod_name));
	if (pod_name[strlen(pod_name) - 1] == '-')
		pod.generate_name = pod_name;
	else
		pod.name = pod_name;
	fill_in(row->controller, run, controller, sizeof(controller));
	if (*controller) {
		owner.api_version = strtok_r(controller, " ", &save);
		owner.kind = strtok_r(NULL, " ", &save);
		owner.name = strtok_r(NULL, " ", &save);
		pod.owners = &owner;
		pod.n_owners = 1;
	}
	identity_facts_of_pod(&pod, "main", &facts);
	workload_identify(&facts, &identity);
	return identity;
}

static inline struct identity from_metrics(const struct row *row, int run)
{
	char owners[256], labels[1024], pod_name[256], *save = NULL;
	struct k8s_label items[16];
	struct k8s_labels map;
	struct identity_facts facts = {.namespace_name = "ml", .pod_name = pod_name, .container = "main"};
	struct identity identity;

	fill_in(row->owners, run, owners, sizeof(owners));
	for (char *word = strtok_r(owners, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *slash = strchr(word, '/');

		*slash = '\0';
		facts.owners[facts.n_owners++] = (struct identity_owner){NULL, word, slash + 1};
	}
	fill_in(row->metric_pod, run, pod_name, sizeof(pod_name));
	fill_in(row->metric_labels, run, labels, sizeof(labels));
	parse_labels(labels, items, &map);
	if (map.n)
		facts.labels = &map;
	workload_identify(&facts, &identity);
	return identity;
}

static inline bool has_key(const struct identity *identity, const char *key)
{
	for (size_t i = 0; i < identity->n_keys; i++)
		if (streq(identity->keys[i].text, key))
			return true;
	return false;
}
