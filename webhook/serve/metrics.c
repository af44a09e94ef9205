/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/metrics.h"

#include "certs/rotation.h"
#include "cluster/cluster.h"
#include "policy/policy.h"
#include "registration/drift.h"

static const char *const result_values[] = {"patched", "unchanged", "skipped", "denied", "warned", "error"};
static const char *const bool_values[] = {"false", "true"};
static const char *const skip_values[] = {
	"accelerator", "framework",	 "label",	 "serving",	   "interactive",	 "mirror",
	"ignored",     "kube-system",	 "no-sign",	 "own-namespace",  "excluded-namespace", "mode-off",
	"not-a-pod",   "not-create",	 "sub-resource", "not-a-workload", "no-template",	 "not-create-or-update",
	"controlled",  "spec-unchanged", "recurring",	 "templates-warn", "annotations-full",	 "other"};
static const char *const error_values[] = {"unreadable-review", "bad-pod", "internal"};
static const char *const reload_values[] = {"ok", "failed"};
static const char *const path_values[] = {"/mutate",  "/validate", "/templates", "/probe",
					  "/healthz", "/readyz",   "/metrics",	 "other"};
static const char *const code_values[] = {"200", "400", "404", "405", "413", "415", "500", "501", "503", "other"};

/* Names of checks are in a table of their own. */
static const char *check_value(size_t i)
{
	return check_table[i].name;
}

#define SET(name, values)                                                                                              \
	{                                                                                                              \
		name, values, NULL, ARRAY_LEN(values)                                                                  \
	}
static const struct metric_label label_result = SET("result", result_values);
static const struct metric_label label_mode = {"mode", mode_names, NULL, MODE_COUNT_};
static const struct metric_label label_dry_run = SET("dry_run", bool_values);
static const struct metric_label label_skip = SET("reason", skip_values);
static const struct metric_label label_error = SET("reason", error_values);
static const struct metric_label label_check = {"check", NULL, check_value, CHECK_COUNT_};
static const struct metric_label label_action = {"action", check_action_names, NULL, ACTION_COUNT_};
static const struct metric_label label_reload = SET("result", reload_values);
static const struct metric_label label_path = SET("path", path_values);
static const struct metric_label label_code = SET("code", code_values);
static const struct metric_label label_watch = {"resource", cluster_watch_names, NULL, CLUSTER_WATCH_COUNT_};
static const struct metric_label label_failure = {"reason", NULL, cluster_failure_name, CLUSTER_FAILURES};
static const struct metric_label label_configuration = {"configuration", configuration_kinds, NULL,
							CONFIGURATION_COUNT_};
static const struct metric_label label_field = {"field", drift_field_names, NULL, DRIFT_FIELD_COUNT_};
static const struct metric_label label_rotation = {"step", rotation_action_names, NULL, ROTATION_ACTION_COUNT_};

#define NONE	      NULL
#define RESULT	      &label_result
#define MODE	      &label_mode
#define DRY_RUN	      &label_dry_run
#define SKIP	      &label_skip
#define ERROR	      &label_error
#define CHECK	      &label_check
#define ACTION	      &label_action
#define RELOAD	      &label_reload
#define PATH	      &label_path
#define CODE	      &label_code
#define ROTATION      &label_rotation
#define CONFIGURATION &label_configuration
#define FIELD	      &label_field
#define WATCH	      &label_watch
#define FAILURE	      &label_failure
static const struct metric_family families[METRIC_COUNT_] = {
#define METRIC(id, type, name, help, a, b, c) {METRIC_TYPE_##type, name, help, {a, b, c}},
#include "serve/metrics.def"
#undef METRIC
};

/* Upper bounds in ns. A decision takes about 20 us, the goal is p99 < 1 ms, and the API server's timeout is 2 s. */
static const int64_t bounds_ns[] = {25000,   50000,   100000,	250000,	  500000,    1000000,
				    2500000, 5000000, 10000000, 50000000, 250000000, 1000000000};

static const struct metric_table table = {families, METRIC_COUNT_, bounds_ns, ARRAY_LEN(bounds_ns)};

struct metrics *metrics_new(void)
{
	return metrics_make(&table);
}

size_t metrics_label(enum metric_id id, size_t position, const char *value)
{
	return metric_table_label(&table, id, position, value);
}
