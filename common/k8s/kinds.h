/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kinds: one table of workload kinds: API group and kind, how we treat their pods, and where their pod templates are.
 * Everything that differs by framework is a row here. */
#include "base/json.h"
#include "k8s/pod.h"

enum kind_class {
	KIND_TRAINING,	  /* its pods are training pods */
	KIND_BATCH,	  /* training when the pod asks for an accelerator (Job, CronJob, Workflow ...) */
	KIND_INTERACTIVE, /* notebooks, clusters that people attach to */
	KIND_SERVING,	  /* services, ReplicaSet, StatefulSet, DaemonSet ... */
};

struct kind {
	const char *group; /* "batch", "kubeflow.org", "" for core */
	const char *name;  /* "Job" */
	enum kind_class class_;
	bool is_recurring; /* CronJob and alike: the object lives on, each child is one submission (a run) */
	const char *const
		*template_paths; /* NULL-terminated; "spec.tasks[].template", "*" is any key; NULL: no template */
};

/** Row for a kind; `group` NULL matches any group (metrics do not export it). NULL when unknown. */
const struct kind *kind_find(const char *group, const char *name);
/** The same from an apiVersion ("batch/v1"). */
const struct kind *kind_find_api_version(const char *api_version, const char *name);
/** The whole table, for docs and tests. */
const struct kind *kind_table(size_t *ret_n);

/** One pod template found in an object. `pointer` is its JSON Pointer inside the object (arena). */
struct kind_template {
	struct json_object *object; /* borrowed */
	const char *pointer;
	const char *role; /* "" or the replica spec's / task's / replicated job's name */
	int64_t replicas; /* how many pods it makes in all, 1 when not said */
};

/** Find the pod templates of any object of a known kind (a Pod is its own template with pointer ""; AppWrapper and List
 *  components are followed). @return 0 with up to LIMIT_POD_CONTAINERS templates in the arena; -E2BIG; -ENOMEM. */
int kind_templates(struct json_object *object, struct arena *arena, struct kind_template **ret_items, size_t *ret_n,
		   struct err *err) ATTR_NODISCARD;
