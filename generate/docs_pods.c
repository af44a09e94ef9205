/* SPDX-License-Identifier: Apache-2.0 */
/* docs_pods: describes which pods are training pods, from the tables that decide it (model/classify.c, k8s/kinds.c,
 * k8s/accelerator.c). */
#include "generate/docs.h"

#include "base/str.h"
#include "k8s/accelerator.h"
#include "k8s/kinds.h"
#include "model/identity.h"

static void add_kinds(struct strbuf *buf, enum kind_class class_)
{
	const char *between = "";
	size_t n;
	const struct kind *kinds = kind_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (kinds[i].class_ != class_ || streq(kinds[i].name, "List") || streq(kinds[i].name, "Pod"))
			continue;
		strbuf_addf(buf, "%s%s%s%s%s", between, kinds[i].name, *kinds[i].group ? " (" : "", kinds[i].group,
			    *kinds[i].group ? ")" : "");
		between = ", ";
	}
}

static void add_marks(struct strbuf *buf, enum pod_sign sign)
{
	const char *between = "";
	size_t n;
	const struct pod_mark *marks = pod_marks(&n);

	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(marks[i].key);

		if (marks[i].sign != sign)
			continue;
		strbuf_addf(buf, "%s`%s%s%s%s`", between, marks[i].key, marks[i].key[length - 1] == '/' ? "*" : "",
			    marks[i].value ? ": " : "", marks[i].value ? marks[i].value : "");
		between = ", ";
	}
}

static void add_accelerators(struct strbuf *buf)
{
	const char *between = "", *pattern;
	bool is_one;

	for (size_t i = 0; (pattern = accelerator_pattern(i, &is_one)); i++) {
		if (!is_one)
			continue;
		strbuf_addf(buf, "%s`%s`", between, pattern);
		between = ", ";
	}
}

static const char rules_1_to_3[] =
	"\n## Which pods are training pods\n\n"
	"Only training pods are examined. The first rule that applies decides; `memtamer-webhook review -v` prints the "
	"result for\neach pod.\n\n"
	"1. **Never**: mirror pods, pods in `kube-system`, and pods with the label `memtamer.io/ignore: \"true\"`. Nor "
	"pods in\n   memtamer's own namespace, in namespaces of `namespaces.exclude`, and in namespaces with that "
	"label or with\n   `memtamer.io/mode: \"off\"`.\n"
	"2. **By label**: the label `memtamer.io/training` (or the annotation of that name) with `\"true\"` or "
	"`\"false\"`.\n"
	"3. **Serving**: a controller of one of these kinds: ";
static const char rule_4[] =
	".\n4. **Interactive**: a RayCluster that no RayJob created; a container with both `stdin` "
	"and `tty`; a controller of one of these\n   kinds: ";
static const char rules_6_and_7[] =
	".\n6. **Training by its accelerators**: the pod has no controller, or one of any other kind (Job, CronJob, "
	"Workflow ...), and asks\n   for an accelerator: a resource of the list below, a claim of dynamic resource "
	"allocation, or the annotations\n   `gpu-fraction` or `gpu-memory` (KAI).\n"
	"7. Everything else is no training pod.\n\n"
	"In a training pod, every container that asks for accelerators is checked and sized. Where none does, it is "
	"the one that\n`kubectl.kubernetes.io/default-container` names, else one with a usual name (`pytorch`, "
	"`trainer`, `main` ...), else the first\nthat is no known helper. Other containers are sized only from their "
	"own history.\n\n"
	"Accelerators: ";

int pods_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, rules_1_to_3);
	add_kinds(buf, KIND_SERVING);
	strbuf_adds(buf, "; or a label: ");
	add_marks(buf, POD_SIGN_SERVING);
	strbuf_adds(buf, rule_4);
	add_kinds(buf, KIND_INTERACTIVE);
	strbuf_adds(buf, "; or a label: ");
	add_marks(buf, POD_SIGN_INTERACTIVE);
	strbuf_adds(buf, ".\n5. **Training by its framework**: a controller of one of these kinds, also without "
			 "accelerators: ");
	add_kinds(buf, KIND_TRAINING);
	strbuf_adds(buf, "; or a label: ");
	add_marks(buf, POD_SIGN_FRAMEWORK);
	strbuf_adds(buf, rules_6_and_7);
	add_accelerators(buf);
	return strbuf_adds(buf, ".\n");
}
