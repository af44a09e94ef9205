/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* keys: every label and annotation of memtamer, and those of others that it reads by name. docs/LABELS.md is made from
 * the table in generate/docs_labels.c, which says where they are set, by whom, and what they do. */

/* Set by people. */
#define KEY_MODE     "memtamer.io/mode"
#define KEY_IGNORE   "memtamer.io/ignore"
#define KEY_TRAINING "memtamer.io/training"
#define KEY_WORKLOAD "memtamer.io/workload"
#define KEY_CRITICAL "memtamer.io/critical"
#define KEY_RESIZE   "memtamer.io/resize"
#define KEY_DATASET  "memtamer.io/dataset-size"

/* Set by memtamer. */
#define KEY_WORKLOAD_ID	      "memtamer.io/workload-id"
#define KEY_DECISION	      "memtamer.io/decision"
#define KEY_TEMPLATE_DECISION "memtamer.io/template-decision"
#define KEY_PROBE	      "memtamer.io/probe"
#define KEY_PROBED_BY	      "memtamer.io/probed-by"
#define KEY_CERTIFICATES      "memtamer.io/certificates"
#define KEY_RESTART_FOR	      "memtamer.io/restart-for"

/* Of other projects. */
#define KEY_DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"
#define KEY_LIMIT_RANGER      "kubernetes.io/limit-ranger"
#define KEY_MIRROR	      "kubernetes.io/config.mirror"
#define KEY_VPA_UPDATES	      "vpaUpdates"
