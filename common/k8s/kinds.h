/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kinds: one table of workload kinds: API group and kind, how we treat their pods, and where their pod templates are.
 * Everything that differs by framework is a row here. */
#include "base/json.h"
#include "k8s/doc.h"
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
	/* Where pod templates are: "spec.tasks[].template", `*` is any key. NULL-terminated; NULL: none. */
	const char *const *template_paths;
	/* Where whole objects of other kinds are embedded (List, AppWrapper, Katib). NULL-terminated; NULL: none. */
	const char *const *object_paths;
	bool has_argo_templates; /* template_paths lead to Argo templates, which hold containers, no pod template */
	bool has_trainer;	 /* template_paths lead to what a TrainJob says about container "node" of its runtime */
};

/** Row for a kind; `group` NULL matches any group (metrics do not export it). NULL when unknown. */
const struct kind *kind_find(const char *group, const char *name);
/** The same from an apiVersion ("batch/v1"). */
const struct kind *kind_find_api_version(const char *api_version, const char *name);
/** The whole table, at most KINDS_MAX rows: a set of kinds is the bits of a uint64_t. */
#define KINDS_MAX 64
const struct kind *kind_table(size_t *ret_n);
/** The row's bit in such a set. */
uint64_t kind_bit(const struct kind *self);

/** One pod template found in an object. Text is in the arena. */
struct kind_template {
	/* {metadata, spec}, for k8s_pod_of_doc. Part of the object, except for Argo: there it is put together from the
	 * parts of the template. */
	const struct doc *object;
	const char *pointer; /* JSON Pointer inside the object: of the pod template, or of the Argo template */
	/* "" or the replica spec's (lower case, as on the pods' labels), task's, replicated job's, worker group's,
	 * Argo template's name; "head", "submitter" (Ray), "leader", "worker" (LeaderWorkerSet) */
	const char *role;
	int64_t replicas; /* how many pods it makes at a time, 1 when not said */
	int64_t ranks;	  /* and all templates of its owner together until they are done; 0: not known */
	/* Argo only: the pointer of each of spec.containers, as they stand in the object; NULL else. */
	const char *const *container_pointers;
	size_t n_container_pointers;
	const struct doc *owner;       /* the object that holds it: another than the root inside List, AppWrapper ... */
	const char *owner_pointer;     /* of that object; "" */
	const struct kind *owner_kind; /* its row */
	const struct doc *root;	       /* the whole object */
};

/** Find the pod templates of any object of a known kind, read by allow_workload (a Pod is its own template with pointer
 *  ""; objects inside List, AppWrapper and Katib are followed). Parts that are missing or of a wrong type are passed
 *  over: the API server refuses them. Unknown kinds have none. Templates live as long as the object and the arena.
 *  @return 0 with up to LIMIT_POD_CONTAINERS templates in the arena; -E2BIG; -ENOMEM. */
int kind_templates_of_doc(const struct doc *object, struct arena *arena, struct kind_template **ret_items,
			  size_t *ret_n, struct err *err) ATTR_NODISCARD;
/** The same of a json-c tree, which is not needed any more afterwards. Also -EINVAL (NUL in a listed text). */
int kind_templates(struct json_object *object, struct arena *arena, struct kind_template **ret_items, size_t *ret_n,
		   struct err *err) ATTR_NODISCARD;

/** What admission knows of the object that holds a template. */
struct kind_owner {
	const char *name;	    /* or its generateName; "" */
	const char *namespace_name; /* "" when not said */
	struct k8s_labels labels; /* its own, then those of the object around it (an AppWrapper carries the queue's) */
};
/** @return 0 or -ENOMEM. */
int kind_template_owner(const struct kind_template *self, struct arena *arena, struct kind_owner *ret) ATTR_NODISCARD;
/** Was it made by a controller? */
bool kind_is_controlled(const struct doc *object);
/** Is it what somebody submitted: made by no controller, or by one that makes a new one each time (a CronJob)? */
bool kind_is_submitted(const struct doc *object);
/** Its annotations, in the arena. @return 0; -EINVAL; -ENOMEM. */
int kind_annotations(const struct doc *object, struct arena *arena, struct k8s_labels *ret,
		     struct err *err) ATTR_NODISCARD;

/** A pointer inside a template's pod ("/spec/containers/0/resources") as a pointer inside the object. NULL: no memory.
 */
const char *kind_template_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena);
