/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kinds: the table of workload kinds: API group and kind, how their pods are treated, and where their pod templates
 * are. Everything that differs by framework is a row of it. Constant data; any thread. */
#include "base/json.h"
#include "k8s/doc.h"
#include "k8s/pod.h"

enum kind_class {
	KIND_TRAINING,	  /* pods of this kind are training pods */
	KIND_BATCH,	  /* training if the pod requests an accelerator (Job, CronJob, Workflow ...) */
	KIND_INTERACTIVE, /* notebooks, and clusters that people use interactively */
	KIND_SERVING,	  /* services, ReplicaSet, StatefulSet, DaemonSet ... */
};

struct kind {
	const char *group; /* "batch", "kubeflow.org", "" for core */
	const char *name;  /* "Job" */
	enum kind_class class_;
	/* kind of the objects that it creates, if only that is known when a pod is created; or NULL */
	const char *makes;
	bool is_recurring; /* the object lives on, and each child is one submission (a run): CronJob and similar */
	/* Paths of pod templates: "spec.tasks[].template"; `*` is any key. NULL-terminated; NULL: none. */
	const char *const *template_paths;
	/* Paths of whole objects of other kinds (List, AppWrapper, Katib). NULL-terminated; NULL: none. */
	const char *const *object_paths;
	bool has_argo_templates; /* template_paths lead to Argo templates, which have containers but no pod template */
	/* template_paths lead to a TrainJob's settings for the container "node" of its runtime */
	bool has_trainer;
};

/** The row of a kind; `group` NULL matches any group (metrics do not contain it). NULL: unknown kind. */
const struct kind *kind_find(const char *group, const char *name);
/** The same for an apiVersion ("batch/v1"). */
const struct kind *kind_find_api_version(const char *api_version, const char *name);
/** The whole table. */
const struct kind *kind_table(size_t *ret_n);

/** Facts of the object that contains a template. */
struct kind_owner {
	const char *name;	    /* or its generateName; "" */
	const char *namespace_name; /* "": absent */
	/* its labels, or those of the object around it, name a queue: kind_is_queue_label() */
	bool is_queued;
	const char *queue; /* its Kueue LocalQueue, or that of the object around it; NULL: absent */
};

/** Whether a label of this key says that a queue counts the pods' resources. */
bool kind_is_queue_label(const char *key);
/** Whether the object's own labels name a queue. Cost: linear in its labels. */
bool kind_is_queued(const struct doc *object);
/** The label whose value is a LocalQueue of Kueue. */
#define KIND_LABEL_QUEUE "kueue.x-k8s.io/queue-name"

/** One pod template of an object. Texts are in the arena. */
struct kind_template {
	/* {metadata, spec}, for k8s_pod_of_doc. A part of the object; for Argo it is made from parts of the
	 * template. */
	const struct doc *object;
	const char *pointer; /* JSON Pointer inside the object: of the pod template, or of the Argo template */
	/* "", or the name of the replica spec (in lower case, as in the pods' labels), task, replicated job, worker
	 * group or Argo template; "head", "submitter" (Ray), "leader", "worker" (LeaderWorkerSet) */
	const char *role;
	int64_t replicas; /* number of pods at a time, 1 if absent */
	bool has_shm;	  /* the operator mounts a memory emptyDir at /dev/shm of the first container (KubeRay) */
	int64_t ranks;	  /* number of pods of all templates of its owner until they are done; 0: not known */
	/* Argo only: the pointer of each item of spec.containers in the object; otherwise NULL. */
	const char *const *container_pointers;
	size_t n_container_pointers;
	/* TrainJob only: has_runtime: the template is joined with its runtime; trainer_container: index of the
	 * trainer's container. Parts from the runtime have no place in the TrainJob. */
	bool has_runtime, has_trainer_resources; /* the TrainJob itself sets resources */
	size_t trainer_container;
	const struct doc *owner;       /* the object that contains it: within List, AppWrapper ... not the root */
	const char *owner_pointer;     /* of that object; "" */
	const struct kind *owner_kind; /* the row of that object */
	struct kind_owner owner_facts;
	const struct doc *root; /* the outermost object */
};

/** Finds the pod templates of an object of any known kind, read with allow_workload. A Pod is its own template with
 * pointer ""; objects within List, AppWrapper and Katib are followed. Parts that are absent, of a wrong type, or have
 * names longer than LIMIT_QUALIFIED_NAME_BYTES are skipped, as the API server rejects them. Unknown kinds have no
 * templates. Templates live as long as the object and the arena. Cost: linear in the object.
 * @return 0 with up to LIMIT_POD_CONTAINERS templates in the arena, with at most LIMIT_OBJECT_CONTAINERS containers
 * together; -E2BIG; -ENOMEM. */
int kind_templates_of_doc(const struct doc *object, struct arena *arena, struct kind_template **ret_items,
			  size_t *ret_n, struct err *err) ATTR_NODISCARD;
/** Does the same for a json-c tree, which is not needed afterwards. @return as kind_templates_of_doc; -EINVAL: NUL in a
 * listed text.
 * @param runtime  of a TrainJob: the TrainingRuntime or ClusterTrainingRuntime that it names, read with
 * allow_workload. The templates are then those of all its pods, and share its parts. NULL: not known. */
int kind_templates(struct json_object *object, const struct doc *runtime, struct arena *arena,
		   struct kind_template **ret_items, size_t *ret_n, struct err *err) ATTR_NODISCARD;

/** Whether a controller created the object. */
bool kind_is_controlled(const struct doc *object);
/** Whether somebody submitted the object: it was created by no controller, or by one that creates a new one each time
 * (a CronJob). */
bool kind_is_submitted(const struct doc *object);
/** The object's annotations, in the arena. @return 0; -EINVAL; -ENOMEM. */
int kind_annotations(const struct doc *object, struct arena *arena, struct k8s_labels *ret,
		     struct err *err) ATTR_NODISCARD;

/** Maps a pointer within a template's pod ("/spec/containers/0/resources") to a pointer within the object. NULL: out of
 * memory. */
const char *kind_template_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena);
/** Whether that part of the pod is in the object, so that a patch of the object changes it. */
bool kind_template_holds(const struct kind_template *self, const char *pod_pointer);
