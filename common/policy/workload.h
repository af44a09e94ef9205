/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* workload: decides about an object that creates pods (Job, PyTorchJob ...) by its pod templates. Admission and offline
 * review share it, so that both give the same findings. Any thread.
 *
 * Cost: linear in the templates and their content; the templates, at most LIMIT_POD_CONTAINERS, also times each other
 * and times the entries of the annotation. */
#include "k8s/kinds.h"
#include "policy/render.h"

/** One pod template. It must not be moved, as `input` points into it. */
struct workload_template {
	struct k8s_pod pod;
	struct decide_input input; /* a Pod in a List or AppWrapper is SUBJECT_POD */
	struct decision decision;  /* set by the caller: decide(&input, ...) */
	const struct kind_template *from;
};

/** Decodes a template and fills the input of decide(), except snapshot, policy and time. `default_namespace` is for
 * objects without one. @return 0; -EINVAL with the field in the pod; -E2BIG; -ENOMEM. */
int workload_template_read(const struct kind_template *from, const char *default_namespace, struct arena *arena,
			   struct workload_template *ret, struct err *err) ATTR_NODISCARD;

/** Fills decide_input.declared of all templates of an object that could be read. It stays unknown if the pods are not
 * created together (Argo), or other objects create more of them (TrainJob). @return 0 or -ENOMEM. */
int workload_declare(struct workload_template *const *items, size_t n, struct arena *arena) ATTR_NODISCARD;

/** Whether this template is sized when its object is created (decide_input.is_template_patched). An object that lives
 * on and creates others (CronJob) is not, as its sizes would become outdated; each object that it creates is sized. */
bool workload_is_patched(const struct workload_template *self, const struct policy *policy);

/** Warnings for the whole object, which has at most LIMIT_POD_CONTAINERS templates, as render_warnings() makes them:
 * most important first over all templates, and findings that several templates share only once, with their roles.
 * Findings that deny are left out. @return 0 or -ENOMEM. */
int workload_warnings(const struct workload_template *const *items, size_t n, struct arena *arena,
		      const char *const **ret_items, size_t *ret_n) ATTR_NODISCARD;

/** Why the object is denied: container, figures and check of each finding that denies; NULL: no finding denies. @return
 * 0 or -ENOMEM. */
int workload_denial(const struct workload_template *const *items, size_t n, struct arena *arena,
		    const char **ret_message) ATTR_NODISCARD;

/* ---- patching the object itself (policy.templates, workload_patch.c) ---- */

/** The annotation of the object, KEY_TEMPLATE_DECISION, has the form of the pods' annotation (render_annotation.c);
 * each entry of `set` also has `at`, the JSON Pointer of its template. */

/** An object may be reviewed again: when another webhook has changed it, when it is validated, when it is updated. If
 * it has every value that its annotation says was set, these values are settled: their sizes, and findings about them,
 * are removed from the decisions. Changed items are replaced by copies. @return 0 or -ENOMEM. */
int workload_settle(const struct workload_template **items, size_t n, const struct k8s_labels *annotations,
		    struct arena *arena) ATTR_NODISCARD;
/** Writes an RFC 6902 array for an object that is being created, after workload_settle(): the sizes of all decisions,
 * and the annotation with what was set, also in earlier rounds. Nothing is written if nothing is set. @return as
 * render_patch(). */
int workload_patch(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
		   struct arena *arena, struct strbuf *buf) ATTR_NODISCARD;
/** Writes the patch for an update. A user who applies the manifest again sends the values that the annotation says were
 * replaced; ours are set again, so that nothing changes (most kinds reject a changed template). Other values are new
 * decisions of the user and stay. The decisions are not used. @return the sticky status of `buf`. */
int workload_patch_again(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
			 struct arena *arena, struct strbuf *buf) ATTR_NODISCARD;
