/* SPDX-License-Identifier: Apache-2.0 */
#include "service/metrics.h"

#include "engine/engine.h"
#include "resize/resize.h"
#include "service/probe.h"

#include <stdio.h>

/* LABEL(id, name, value...): a label with these values; LABEL_OF(id, name, table, n): those of a table. */
#define LABEL(id, name, ...)                                                                                           \
	static const char *const id##_values[] = {__VA_ARGS__};                                                        \
	LABEL_OF(id, name, id##_values, ARRAY_LEN(id##_values))
#define LABEL_OF(id, name, values, n) static const struct metric_label id[] = {{name, values, NULL, n}};

LABEL(CYCLE_RESULT, "result", "done", "partial", "failed", "interrupted")
LABEL(QUICK_RESULT, "result", "done", "failed", "interrupted")
LABEL(PROM_ERROR, "condition", "too-heavy", "unreachable", "stopped", "mixed", "other")
LABEL(EVENT_RESULT, "result", "recorded", "failed")
LABEL(WRITE_RESULT, "result", "ok", "conflict", "failed")
LABEL(VERB, "verb", "get", "list", "watch", "create", "update", "patch", "delete")
LABEL(KUBE_CODE, "code", "0", "200", "201", "202", "400", "401", "403", "404", "409", "410", "413", "422", "429", "500",
      "503", "504", "other")
LABEL(RELOAD, "result", "ok", "failed")
LABEL(PATH, "path", "/healthz", "/readyz", "/metrics", "other")
LABEL(CODE, "code", "200", "400", "404", "405", "500", "503", "other")
LABEL_OF(OUTCOME, "outcome", outcome_names, OUTCOME_COUNT_)
LABEL_OF(PARTIAL, "reason", engine_partial_names, ENGINE_PARTIAL_COUNT_)
LABEL_OF(HARM_KIND, "kind", harm_names, HARM_COUNT_)
LABEL_OF(CAP_SETTER, "set_by", cap_setter_names, CAP_SETTER_COUNT_)
LABEL_OF(PROBE_RESULT, "result", probe_result_names, PROBE_RESULT_COUNT_)
LABEL_OF(RESIZE_KIND, "kind", resize_kind_names, RESIZE_KIND_COUNT_)
LABEL_OF(RESIZE_RESULT, "result", resize_result_names, RESIZE_RESULT_COUNT_)

#define NONE NULL
static const struct metric_family families[METRIC_COUNT_] = {
#define METRIC(id, type, name, help, a, b, c) {METRIC_TYPE_##type, name, help, {a, b, c}},
#include "service/metrics.def"
#undef METRIC
};

#define MS 1000000LL
/* Upper bounds in ns: a dry run takes milliseconds, the API server waits 2 s for a webhook, a first cycle takes
 * minutes. */
static const int64_t bounds_ns[] = {5 * MS,	10 * MS,     25 * MS,	  50 * MS,     100 * MS,    250 * MS,
				    500 * MS,	1000 * MS,   2500 * MS,	  5000 * MS,   10000 * MS,  30000 * MS,
				    60000 * MS, 120000 * MS, 300000 * MS, 600000 * MS, 1800000 * MS};

static const struct metric_table table = {families, METRIC_COUNT_, bounds_ns, ARRAY_LEN(bounds_ns)};

struct metrics *service_metrics_new(void)
{
	return metrics_make(&table);
}

size_t service_metrics_label(enum metric_id id, size_t position, const char *value)
{
	return metric_table_label(&table, id, position, value);
}

size_t service_metrics_verb(enum kube_verb verb)
{
	static const char *const names[] = {
		[KUBE_GET] = "get",	  [KUBE_LIST] = "list",	       [KUBE_WATCH] = "watch",
		[KUBE_CREATE] = "create", [KUBE_UPDATE] = "update",    [KUBE_MERGE_PATCH] = "patch",
		[KUBE_DELETE] = "delete", [KUBE_JSON_PATCH] = "patch",
	};

	return service_metrics_label(METRIC_KUBE_REQUESTS, 0, names[verb]);
}

size_t service_metrics_code(enum metric_id id, size_t position, long status)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", status);
	return service_metrics_label(id, position, text);
}
