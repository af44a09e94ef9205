/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics_internal: what metrics.c (the table) takes of metrics_take.c (pods) and metrics_take_nodes.c: what is done
 * with each series of an answer. */
#include "base/limits.h"
#include "evidence/metrics.h"

#include <errno.h>
#include <math.h>

/* Arguments of rows. */
enum size_target { TARGET_LIMIT, TARGET_REQUEST };
enum time_target { TARGET_START, TARGET_COMPLETION };
enum end_target { TARGET_LAST_END, TARGET_EARLIER_END };
enum peak_target { TARGET_WORKING_SET, TARGET_RSS, TARGET_ACTIVE_FILE };
/* Thousandths in one unit of the metric; or its samples are counted. */
enum activity_target { TARGET_SAMPLES = 0, TARGET_PERCENT = 10, TARGET_RATIO = 1000 };

static inline int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "a window of pods does not fit into %zu MiB", LIMIT_EVIDENCE_BYTES / MIB);
}

/* "" when absent, and for kube-state-metrics' older way to say "none". */
static inline const char *label(struct json_object *labels, const char *name)
{
	struct json_object *value = json_member(labels, name);
	const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";

	return streq(text, "<none>") ? "" : text;
}

/* Whole, not negative, not absurd; else 0, which means "not measured". */
static inline int64_t whole(double value)
{
	return isfinite(value) && value > 0 && value < 9e18 ? (int64_t)value : 0;
}

metric_take_fn metric_take_owner;
metric_take_fn metric_take_job_owner;
metric_take_fn metric_take_size;
metric_take_fn metric_take_pod_labels;
metric_take_fn metric_take_image;
metric_take_fn metric_take_time;
metric_take_fn metric_take_pod_end;
metric_take_fn metric_take_container_end;
metric_take_fn metric_take_restarts;
metric_take_fn metric_take_alive;
metric_take_fn metric_take_peak;
metric_take_fn metric_take_ladder;
metric_take_fn metric_take_hours;
metric_take_fn metric_take_ephemeral;
metric_take_fn metric_take_activity;
metric_take_fn metric_take_allocatable;
metric_take_fn metric_take_node_labels;
