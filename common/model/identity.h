/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* identity: which workload a pod belongs to, computed by one function from what either side knows: admission has the
 * whole pod but not the owner's owner; metrics have owner rows but often no labels and no API group. Each side gets an
 * ordered list of candidate keys; a profile keeps every key seen as alias; the first hit wins.
 * A key is "rule:name" or "Kind/name" with generated parts stripped from the name, so that tomorrow's run of the same
 * training has today's key. Pure; no allocation; any thread. */
#include "base/err.h"
#include "k8s/pod.h"

#define IDENTITY_KEYS	   8
#define IDENTITY_KEY_BYTES 128 /* text longer than this is cut and ends in a hash */
#define IDENTITY_ID_BYTES  64  /* workload id: slug of at most 40, '-', 10 hex, NUL */

/** One owner in the chain; nearest first. `group` NULL: not known (metrics). */
struct identity_owner {
	const char *group, *kind, *name;
};

/** What one side knows. Missing text is "" or NULL, missing lists are empty. */
struct identity_facts {
	const char *namespace_name;
	const char *pod_name, *generate_name;
	struct identity_owner owners[4]; /* the controller, its controller, ... */
	size_t n_owners;
	const struct k8s_labels *labels; /* pod labels; NULL: not known */
	const struct k8s_labels *annotations;
	const char *argo_template; /* Argo's template name when known */
	const char *container;
};

struct identity_key {
	char text[IDENTITY_KEY_BYTES];
	const char *rule; /* static: "user-label", "framework-label", "root-owner", "owner-stem", "pod-stem" */
};

struct identity {
	struct identity_key keys[IDENTITY_KEYS]; /* best first; at least one unless nothing is known */
	size_t n_keys;
	char role[64]; /* replica type, replicated job, task, ray group; "" when there is one role */
	/* Index of the pod inside its role; -1 when not known. In a JobSet: index of the Job << 16 | index in the Job.
	 */
	int rank;
	/* The submission this pod belongs to: the topmost controller that is not recurring, exact name. Two pods with
	 * the same run_key (and no finished run between them) are ranks or attempts of one run. */
	char run_key[IDENTITY_KEY_BYTES];
	bool is_run_key_exact; /* false: a bare pod, its own run */
};

/** The user's own word: label (or annotation) `memtamer.io/workload`. Our stamp `memtamer.io/workload-id` is never
 * read. */
#define IDENTITY_LABEL_WORKLOAD	   "memtamer.io/workload"
#define IDENTITY_LABEL_WORKLOAD_ID "memtamer.io/workload-id"

void workload_identify(const struct identity_facts *facts, struct identity *ret);
/** Facts of a pod at admission. Borrows from the pod; chain beyond the controller is added by the caller if known. */
void identity_facts_of_pod(const struct k8s_pod *pod, const char *container, struct identity_facts *ret);
/** The stable id of (namespace, key, role, container): object name and label value, "resnet-train-1f2e3d4c5b". */
void identity_id(const char *namespace_name, const char *key, const char *role, const char *container,
		 char ret[IDENTITY_ID_BYTES]);
/** Strip what controllers and people append to names of repeated runs: random suffixes, dates, unix times, uuids,
 *  hashes, counters. "resnet-train-20261101-x7k2p" -> "resnet-train". Never empty; table of rules in identity.c. */
size_t identity_stem(const char *name, char *ret, size_t size);
/** Variant of a container: 10 hex digits over image, command, arguments and world size, volatile tokens dropped. */
void identity_variant(const char *image, const char *const *command, size_t n_command, const char *const *args,
		      size_t n_args, int64_t world_size, char ret[11]);

/** "interactive" and "serving" also cover RayClusters that no RayJob made, LeaderWorkerSets and pods with stdin and
 * tty.
 */
enum pod_class { POD_NOT_TRAINING, POD_TRAINING };
/** Is this a training pod, and why (static text for metrics and answers: "accelerator", "framework", "label",
 *  "serving", "interactive", "mirror", "ignored", "kube-system", "no-sign")? DESIGN: asks for an accelerator and is not
 *  interactive or serving, or carries a known training framework's marks, or says memtamer.io/training: "true". */
enum pod_class pod_classify(const struct k8s_pod *pod, const char **ret_why);
/** The container that the training profile sizes: index into pod->containers (holds the accelerator, else
 *  kubectl.kubernetes.io/default-container, else known names, else the first). */
size_t pod_main_container(const struct k8s_pod *pod);
/** Is this container a helper by its name (wait, istio-proxy, init-pytorch ...)? Helpers are never sized from the
 *  training profile. */
bool pod_container_is_helper(const char *name);
