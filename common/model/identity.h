/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* identity: which workload a pod belongs to. One function computes it from what is known: admission has the whole pod
 * but not the owners of its controller; metrics have owners but often no labels and no API group. The result is an
 * ordered list of candidate keys. A profile keeps every key that was seen as alias, and the first key with a profile
 * counts.
 *
 * A key is "rule:name" or "Kind/name", where generated parts are removed from the name, so that tomorrow's run of the
 * same training has today's key. Pure; no allocation; any thread. Cost: a few dozen label lookups, and the length of
 * the names of at most eight owners. */
#include "base/err.h"
#include "k8s/pod.h"

#define IDENTITY_KEYS	   8
#define IDENTITY_KEY_BYTES 128 /* longer text is truncated and ends in a hash */
#define IDENTITY_ID_BYTES  64  /* workload id: at most 40 bytes of name, '-', 10 hex digits, NUL */

/** One owner of the chain; nearest first. `group` NULL: not known (metrics). */
struct identity_owner {
	const char *group, *kind, *name;
};

/** Facts of a pod, as far as known. Absent texts are "" or NULL, absent lists are empty. */
struct identity_facts {
	const char *namespace_name;
	const char *pod_name, *generate_name;
	struct identity_owner owners[4]; /* the controller, its controller, ... */
	size_t n_owners;
	const struct k8s_labels *labels; /* pod labels; NULL: not known */
	const struct k8s_labels *annotations;
	const char *container;
};

struct identity_key {
	char text[IDENTITY_KEY_BYTES];
	const char *rule; /* static: "user-label", "framework-label", "root-owner", "owner-stem", "pod-stem" */
};

struct identity {
	struct identity_key keys[IDENTITY_KEYS]; /* best first; at least one, unless nothing is known */
	size_t n_keys;
	char role[64]; /* replica type, replicated job, task, ray group; "" if there is only one role */
	/* Index of the pod within its role; -1: not known. In a JobSet: index of the Job << 16 | index in the Job. */
	int rank;
	/* The submission that the pod belongs to: kind and exact name of the topmost controller that does not recur.
	 * Pods with the same run_key, without a finished run between them, are ranks or attempts of one run. */
	char run_key[IDENTITY_KEY_BYTES];
	bool is_run_key_exact; /* false: a bare pod, which is a run of its own */
};

/** A label of pods that names an owner. */
struct identity_label {
	const char *label, *group, *kind;
	const char *if_label, *if_value; /* only if this label has this value; NULL: always */
};
/** Row `i` of the table, lower levels of owners first. NULL after the last. */
const struct identity_label *identity_label(size_t i);

/** Computes the identity. The user's label (or annotation) KEY_WORKLOAD has precedence. Our own label KEY_WORKLOAD_ID
 * is never read. */
void workload_identify(const struct identity_facts *facts, struct identity *ret);
/** The kind in keys that the user sets by label: "workload:NAME" instead of "Kind/NAME". */
#define IDENTITY_KIND_OF_LABEL "workload"
/** The key of an object by kind and name as in its manifest. Generated parts are removed from the name as from the
 * names of owners ("Job", "bert-20261101" -> "Job/bert"). */
void identity_key_of_object(const char *kind, const char *name, char ret[IDENTITY_KEY_BYTES]);
/** The key of the objects that such an object creates, if their pods show nothing else at creation ("CronJob",
 * "nightly" -> "Job/nightly"). @return false: the pods show the object itself. */
bool identity_key_of_made(const char *kind, const char *name, char ret[IDENTITY_KEY_BYTES]);
/** Facts of a pod at admission, borrowed from the pod. The caller adds owners above the controller if they are
 * known. */
void identity_facts_of_pod(const struct k8s_pod *pod, const char *container, struct identity_facts *ret);
/** The stable id of (namespace, key, role, container), used as object name and label value:
 * "resnet-train-1f2e3d4c5b". */
void identity_id(const char *namespace_name, const char *key, const char *role, const char *container,
		 char ret[IDENTITY_ID_BYTES]);
/** Removes what controllers and people append to the names of repeated runs: random suffixes, dates, unix times, UUIDs,
 * hashes, counters. "resnet-train-20261101-x7k2p" -> "resnet-train". Never empty unless `name` is. The rules are a
 * table in stem.c. @return the length of the stem. */
size_t identity_stem(const char *name, char *ret, size_t size);
/** Copies a name into `size` bytes (at least 12), including the NUL. A longer name is truncated and ends in a hash of
 * all of it, so that different names stay different. Cost: linear in the text. */
void identity_cut(const char *text, char *ret, size_t size);
/** The variant of a container: 10 hex digits over image, command, arguments and world size, without volatile tokens.
 * Cost: linear in the text. For several world sizes, compute the base once. */
uint64_t identity_variant_base(const char *image, const char *const *command, size_t n_command, const char *const *args,
			       size_t n_args);
/** The variant for one world size, from a base. */
void identity_variant_of(uint64_t base, int64_t world_size, char ret[11]);
/** Computes the variant in one call. */
void identity_variant(const char *image, const char *const *command, size_t n_command, const char *const *args,
		      size_t n_args, int64_t world_size, char ret[11]);

/** The result of pod_classify. */
enum pod_class { POD_NOT_TRAINING, POD_TRAINING };
/** Whether this is a training pod: it requests an accelerator and is not interactive or serving, or has the marks of a
 * known training framework, or has memtamer.io/training: "true". RayClusters without a RayJob, LeaderWorkerSets and
 * pods with stdin and tty count as interactive or serving.
 * @param ret_why  static text for metrics and answers: "accelerator", "framework", "label", "serving", "interactive",
 * "mirror", "ignored", "kube-system", "no-sign". */
enum pod_class pod_classify(const struct k8s_pod *pod, const char **ret_why);
/** Labels by which pods are classified. A key that ends in '/' is a prefix. */
enum pod_sign { POD_SIGN_SERVING, POD_SIGN_INTERACTIVE, POD_SIGN_FRAMEWORK };
struct pod_mark {
	enum pod_sign sign;
	const char *key, *value; /* value NULL: any */
};
/** The complete table, for the documentation. */
const struct pod_mark *pod_marks(size_t *ret_n);
/** The main container, which the training profile sizes, as an index into pod->containers: the first with an
 * accelerator, else kubectl.kubernetes.io/default-container, else a known name, else the first that is no helper, else
 * 0. */
size_t pod_main_container(const struct k8s_pod *pod);
/** Whether the container's name is that of a helper (wait, istio-proxy, init-pytorch ...). Helpers are never sized by
 * the training profile. */
bool pod_container_is_helper(const char *name);
