/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/query_node.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "evidence/metrics_internal.h"
#include "evidence/query_internal.h"

#include <inttypes.h>
#include <stdio.h>

#define RATE_MS (5 * TIME_MINUTE_MS) /* as avg300 of /proc/pressure/memory */

/* What node_rules of triage need. Settings of sysctl only come where node_exporter's collector for them is on. */
#define NAMES                                                                                                          \
	"node_memory_(MemTotal|MemAvailable|SwapTotal|CommitLimit|Committed_AS|Hugepagesize|Hugetlb|Balloon|"          \
	"DirectMap4k|DirectMap2M|DirectMap4M|DirectMap1G)_bytes|node_memory_HugePages_Total|node_vmstat_oom_kill|"     \
	"node_sysctl_vm_(overcommit_memory|overcommit_ratio|overcommit_kbytes|panic_on_oom|min_free_kbytes)"

/* How node_exporter names what the lines of a file have: "MemTotal: 4 kB" is node_memory_MemTotal_bytes 4096. */
static const struct form {
	const char *prefix, *suffix; /* of the metric, around the name in the file */
	const char *before, *after;  /* the name in the line */
	int64_t unit;
	const char *unit_text;
} forms[] = {
	{"node_memory_", "_bytes", "", ": ", KIB, " kB"},
	{"node_memory_", "", "", ": ", 1, ""},
	{"node_vmstat_", "", "", " ", 1, ""},
	{"node_sysctl_vm_", "", "vm.", " = ", 1, ""},
};

#define UNAME "node_uname_info{"
#define OF_NODE                                                                                                        \
	" and on (instance) (" UNAME "nodename=~\"$I\"$M} or " UNAME "node=~\"$I\"$M} or " UNAME                       \
	"kubernetes_node=~\"$I\"$M} or " UNAME "instance=~\"$I(:[0-9]+)?\"$M})"

static metric_take_fn take_line, take_pressure, take_kubernetes;

static const struct metric_row rows[] = {
	{"node_memory_MemTotal_bytes", FAMILY_KSM, PHASE_OPEN,
	 "max by (__name__,instance)({__name__=~\"" NAMES "\"$M}" OF_NODE ")", take_line, 0, ""},
	{"node_pressure_memory_waiting_seconds_total", FAMILY_KSM, PHASE_OPEN,
	 "max by (instance)(rate(node_pressure_memory_waiting_seconds_total{instance!=\"\"$M}[$W])" OF_NODE ")",
	 take_pressure, 0, ""},
	{"kube_node_info", FAMILY_KSM, PHASE_OPEN, "max(kube_node_info{node=~\"$I\"$M})", take_kubernetes, 0, ""},
};

/* Whether the series is of the instance that came first. */
static bool is_of(struct node_lines *self, struct json_object *labels)
{
	const char *instance = label(labels, "instance");

	if (!self->instance[0])
		snprintf(self->instance, sizeof(self->instance), "%s", instance);
	if (streq(self->instance, instance))
		return true;
	snprintf(self->other, sizeof(self->other), "%s", instance);
	return false;
}

/* The name in the file, which is not empty. @return false: the metric is not of this form. */
static bool find_name(const struct form *form, const char *metric, struct str *ret)
{
	size_t n = strlen(metric), n_prefix = strlen(form->prefix), n_suffix = strlen(form->suffix);

	if (!strstarts(metric, form->prefix) || n <= n_prefix + n_suffix || !streq(metric + n - n_suffix, form->suffix))
		return false;
	*ret = (struct str){metric + n_prefix, n - n_prefix - n_suffix};
	return true;
}

static int take_line(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *metric = label(labels, "__name__");
	struct str name;

	(void)err;
	if (!is_of(sink->node, labels) || !isfinite(value) || value < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (find_name(&forms[i], metric, &name))
			return strbuf_addf(sink->node->lines, "%s%.*s%s%" PRId64 "%s\n", forms[i].before, (int)name.n,
					   name.p, forms[i].after, whole(value) / forms[i].unit, forms[i].unit_text);
	return 0;
}

static int take_pressure(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	(void)err;
	if (!is_of(sink->node, labels) || !isfinite(value) || value < 0)
		return 0;
	return strbuf_addf(sink->node->lines, "some avg300=%.2f\n", MIN(value, 1) * 100);
}

/* kube-state-metrics knows the node. */
static int take_kubernetes(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	(void)labels, (void)err;
	return value > 0 ? strbuf_adds(sink->node->lines, "kubelet\n") : 0;
}

int query_node(struct evidence_reader *reader, const char *name, int64_t now_ms, struct node_lines *ret,
	       struct err *err)
{
	struct query queries[ARRAY_LEN(rows)];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		queries[i] = (struct query){
			.row = &rows[i], .node = name, .end_ms = now_ms, .range_ms = RATE_MS, .sink = {.node = ret}};
	return query_ask_at_once(reader, queries, ARRAY_LEN(rows), NULL, 0, err);
}
