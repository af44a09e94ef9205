/* SPDX-License-Identifier: Apache-2.0 */
/* docs_labels: renders docs/LABELS.md from the table of labels and annotations. tests/unit/label_keys.py compares the
 * table with k8s/keys.h, and that with the code. */
#include "generate/docs.h"

#include "k8s/keys.h"
#include "policy/policy.h"

struct row {
	const char *key, *what, *on, *values, *effect;
};

/* ---- people set them ---- */

static const struct row of_people[] = {
	{KEY_MODE, "label", "namespace", "`off`, `observe`, `fill`, `raise`, `enforce`",
	 "Replaces the configured mode for the namespace, upwards or downwards: whoever may label namespaces is an "
	 "administrator. With `off` the API server does not call the webhook. Any other value means at most "
	 "`observe`."},
	{KEY_MODE, "annotation", "pod, also in a pod template", "the same",
	 "Can only lower the mode of the namespace; any other value means `observe`. In a bare pod `raise` and "
	 "`enforce` also allow that mode, which is `fill` at most without them ([all "
	 "rules](TRUST.md#which-mode-applies-to-a-pod))."},
	{KEY_IGNORE, "label", "namespace, or pod", "`true`",
	 "No pod is examined, changed or learned from, whatever other labels say. The recommender reads no logs of it, "
	 "writes no Events about it and does not resize it ([what stays](OPERATIONS.md#what-is-left-out))."},
	{KEY_TRAINING, "label, else annotation", "pod", "`true`, `false`",
	 "Makes it a training pod, or none, whatever its accelerators, labels and owners are "
	 "([the rules](CHECKS.md#which-pods-are-training-pods)). The label is stronger than the annotation."},
	{KEY_WORKLOAD, "label, else annotation", "pod", "a name",
	 "Pods with the same name in a namespace are one workload and share one history. It is stronger than the "
	 "names of owners and framework labels; set it where memtamer groups runs wrongly."},
	{KEY_CRITICAL, "label", "pod", "`true`",
	 "The pod is critical, as with a priority class of `critical.priorityClasses`: memory requests are set to the "
	 "limits where the whole pod becomes Guaranteed by that (check `critical-not-guaranteed`)."},
	{KEY_CRITICAL, "label or annotation", "PriorityClass", "`true`", "Pods of this class are critical."},
	{KEY_RESIZE, "annotation", "pod", "`off`, `onOOM`, `beforeOOM`",
	 "How far the memory of the running pod may be raised. It can only narrow `recommender.resize`; any other "
	 "value means `off`."},
	{KEY_DATASET, "annotation", "pod, also in a pod template", "a quantity, such as `200Gi`",
	 "The size of the data set that the program reads: if it is larger than the memory limit, check "
	 "`dataset-exceeds-memory` warns, and `triage` says so after a kill. Leave it out where the program streams "
	 "its data."},
};

/* ---- memtamer sets them ---- */

static const struct row of_ours[] = {
	{KEY_WORKLOAD_ID, "label", "pod", "name of its MemoryProfile",
	 "Selects the pods of a workload, for people and dashboards; memtamer itself does not read it."},
	{KEY_DECISION, "annotation", "pod", "JSON",
	 "The old and new values, the rule, the profile's revision and the number of runs "
	 "([TRUST.md](TRUST.md#see-what-it-did)). While the pod has the values that it names, nothing is set again; an "
	 "entry with the rule `replaced` does "
	 "not count, as another webhook has changed its value. "
	 "Where it would exceed the API server's 256 KiB for all annotations, nothing is set."},
	{KEY_TEMPLATE_DECISION, "annotation", "object that makes pods", "JSON",
	 "With `templates: patch`: the same for its pod templates. An update of the object with the old values gets "
	 "the new ones again."},
	{KEY_CERTIFICATES, "annotation", "Secret of the webhook", "JSON",
	 "Marks a Secret whose certificates memtamer renews, and says until when each CA is needed."},
	{KEY_PROBE, "label", "ConfigMap of a dry run", "`true`",
	 "The recommender's test whether the API server reaches the webhook; such an object is never stored."},
	{KEY_PROBED_BY, "annotation", "ConfigMap of a dry run", "name of a webhook pod", "The webhook's answer to it."},
	{KEY_RESTART_FOR, "annotation", "pods of memtamer", "a hash",
	 "Set by the chart: changes with those settings that need new pods."},
};

/* ---- of others ---- */

static const struct row of_others[] = {
	{KEY_DEFAULT_CONTAINER, "annotation", "pod", "name of a container",
	 "Where no container asks for accelerators, this one is sized like a training container."},
	{KEY_LIMIT_RANGER, "annotation", "pod", "text",
	 "Names the values that the API server took from a LimitRange; nobody chose them, so mode `fill` may raise "
	 "them."},
	{KEY_MIRROR, "annotation", "pod", "any", "Static pods are left alone."},
	{KEY_VPA_UPDATES, "annotation", "pod", "text",
	 "A VerticalPodAutoscaler has changed the pod. If memtamer does not know that object, the pod is at most "
	 "observed (check `sized-by-vpa`)."},
};

/* A cell has one sentence; the others stand below the table. */
static void add_rows(const struct row *rows, size_t n, struct strbuf *buf)
{
	strbuf_adds(buf, "| key | on | values | effect |\n|---|---|---|---|\n");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(buf, "| %s `%s` | %s | %s | %.*s |\n", rows[i].what, rows[i].key, rows[i].on,
			    rows[i].values, (int)docs_sentence(rows[i].effect), rows[i].effect);
	strbuf_adds(buf, "\n");
	for (size_t i = 0; i < n; i++)
		if (rows[i].effect[docs_sentence(rows[i].effect)])
			strbuf_addf(buf, "- %s `%s` (%s):%s\n", rows[i].what, rows[i].key, rows[i].on,
				    rows[i].effect + docs_sentence(rows[i].effect));
}

int labels_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, "# Labels and annotations\n\n"
			 "<!-- Made by memtamer-docs from generate/docs_labels.c; do not edit. -->\n\n"
			 "For ML engineers and platform teams: the keys that memtamer reads and writes.\n\n"
			 "## Set by people\n\n");
	add_rows(of_people, ARRAY_LEN(of_people), buf);
	strbuf_adds(buf, "\nSet labels and annotations of pods in the pod template of the object that makes them; they "
			 "apply to its\nnext pods. Those of a namespace apply within seconds.\n\n"
			 "## Set by memtamer\n\n");
	add_rows(of_ours, ARRAY_LEN(of_ours), buf);
	strbuf_adds(buf, "\n## Set by others\n\n");
	add_rows(of_others, ARRAY_LEN(of_others), buf);
	return strbuf_adds(
		buf, "\nLabels of frameworks say whether a pod is a training pod\n"
		     "([the rules](CHECKS.md#which-pods-are-training-pods)) and which workload it belongs to. Marks of "
		     "queues, Ray and\nplatforms that size pods themselves limit what is changed "
		     "([TRUST.md](TRUST.md#which-mode-applies-to-a-pod),\n[SIZING.md](SIZING.md#queues-of-others)).\n");
}
