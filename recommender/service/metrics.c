/* SPDX-License-Identifier: Apache-2.0 */
#include "service/metrics.h"

#include "engine/engine.h"
#include "resize/resize.h"
#include "service/probe.h"

#include <stdio.h>

static const char *const cycle_values[] = {"done", "partial", "failed", "interrupted"};
static const char *const quick_values[] = {"done", "failed", "interrupted"};
static const char *const prom_error_values[] = {"too-heavy", "unreachable", "stopped", "other"};
static const char *const event_values[] = {"recorded", "failed"};
static const char *const write_values[] = {"ok", "conflict", "failed"};
static const char *const verb_values[] = {"get", "list", "watch", "create", "update", "patch", "delete"};
static const char *const kube_code_values[] = {"0",   "200", "201", "202", "400", "401", "403", "404",	"409",
					       "410", "413", "422", "429", "500", "503", "504", "other"};
static const char *const reload_values[] = {"ok", "failed"};
static const char *const path_values[] = {"/healthz", "/readyz", "/metrics", "other"};
static const char *const code_values[] = {"200", "400", "404", "405", "500", "503", "other"};

#define SET(name, values)                                                                                              \
	{                                                                                                              \
		name, values, NULL, ARRAY_LEN(values)                                                                  \
	}
static const struct metric_label label_cycle = SET("result", cycle_values);
static const struct metric_label label_quick = SET("result", quick_values);
static const struct metric_label label_outcome = {"outcome", outcome_names, NULL, OUTCOME_COUNT_};
static const struct metric_label label_partial = {"reason", engine_partial_names, NULL, ENGINE_PARTIAL_COUNT_};
static const struct metric_label label_prom_error = SET("condition", prom_error_values);
static const struct metric_label label_write = SET("result", write_values);
static const struct metric_label label_harm = {"kind", harm_names, NULL, HARM_COUNT_};
static const struct metric_label label_event = SET("result", event_values);
static const struct metric_label label_verb = SET("verb", verb_values);
static const struct metric_label label_kube_code = SET("code", kube_code_values);
static const struct metric_label label_probe = {"result", probe_result_names, NULL, PROBE_RESULT_COUNT_};
static const struct metric_label label_resize_kind = {"kind", resize_kind_names, NULL, RESIZE_KIND_COUNT_};
static const struct metric_label label_resize_result = {"result", resize_result_names, NULL, RESIZE_RESULT_COUNT_};
static const struct metric_label label_reload = SET("result", reload_values);
static const struct metric_label label_path = SET("path", path_values);
static const struct metric_label label_code = SET("code", code_values);

#define NONE	      NULL
#define CYCLE_RESULT  &label_cycle
#define QUICK_RESULT  &label_quick
#define OUTCOME	      &label_outcome
#define PARTIAL	      &label_partial
#define PROM_ERROR    &label_prom_error
#define WRITE_RESULT  &label_write
#define HARM_KIND     &label_harm
#define EVENT_RESULT  &label_event
#define VERB	      &label_verb
#define KUBE_CODE     &label_kube_code
#define PROBE_RESULT  &label_probe
#define RELOAD	      &label_reload
#define PATH	      &label_path
#define RESIZE_KIND   &label_resize_kind
#define RESIZE_RESULT &label_resize_result
#define CODE	      &label_code
static const struct metric_family families[METRIC_COUNT_] = {
#define METRIC(id, type, name, help, a, b, c) {METRIC_TYPE_##type, name, help, {a, b, c}},
#include "service/metrics.def"
#undef METRIC
};

#define MS 1000000LL
/* Upper bounds in ns: a dry run takes milliseconds, the API server waits 2 s for a webhook, a first cycle minutes. */
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
