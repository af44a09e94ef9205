/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics_internal: shared by metrics.c (the table), metrics_take.c (functions that take series about pods) and
 * metrics_take_nodes.c (about nodes). */
#include "base/limits.h"
#include "evidence/metrics.h"

#include <errno.h>
#include <math.h>

/* Arguments of rows. */
enum size_target { TARGET_LIMIT, TARGET_REQUEST };
enum time_target { TARGET_START, TARGET_COMPLETION };
enum end_target { TARGET_LAST_END, TARGET_EARLIER_END };
enum peak_target { TARGET_WORKING_SET, TARGET_RSS, TARGET_ACTIVE_FILE };
enum gpu_target { TARGET_GPU_USED, TARGET_GPU_CAPACITY };
/* Permille in one unit of the metric; TARGET_SAMPLES: the samples are counted. */
enum activity_target { TARGET_SAMPLES = 0, TARGET_PERCENT = 10, TARGET_RATIO = 1000 };

static inline int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "a window of pods does not fit into %zu MiB", LIMIT_EVIDENCE_BYTES / MIB);
}

/* The value of a label; "" when it is absent, or kube-state-metrics' older "<none>". */
static inline const char *label(struct json_object *labels, const char *name)
{
	struct json_object *value = json_member(labels, name);
	const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";

	return streq(text, "<none>") ? "" : text;
}

/* Converts to an integer if it is positive and below 2^53, where a double is exact and a thousandfold fits into 64
 * bits; otherwise 0, which means "not measured". */
static inline int64_t whole(double value)
{
	return value > 0 && value < 9007199254740992.0 ? (int64_t)value : 0;
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
metric_take_fn metric_take_oom_events;
metric_take_fn metric_take_peak;
metric_take_fn metric_take_ladder;
metric_take_fn metric_take_hours;
metric_take_fn metric_take_ephemeral;
metric_take_fn metric_take_activity;
metric_take_fn metric_take_gpu_memory;
metric_take_fn metric_take_allocatable;
metric_take_fn metric_take_node_labels;
