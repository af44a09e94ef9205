/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics_internal: what metrics.c (the table) takes of metrics_take.c: what is done with each series of an answer. */
#include "evidence/metrics.h"

/* Arguments of rows. */
enum size_target { TARGET_LIMIT, TARGET_REQUEST };
enum time_target { TARGET_START, TARGET_COMPLETION };
enum end_target { TARGET_LAST_END, TARGET_EARLIER_END };
enum peak_target { TARGET_WORKING_SET, TARGET_RSS, TARGET_ACTIVE_FILE };

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
metric_take_fn metric_take_allocatable;
metric_take_fn metric_take_node_labels;
