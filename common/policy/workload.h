/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* workload: an object that makes pods (Job, PyTorchJob ...), decided about by its pod templates. What admission and the
 * offline review share, so that both give the same findings. */
#include "k8s/kinds.h"
#include "policy/decide.h"

/** One pod template. It must not move: `input` points into it. */
struct workload_template {
	struct k8s_pod pod;
	struct kind_owner owner;
	struct decide_input input; /* a Pod inside a List or AppWrapper is SUBJECT_POD */
	struct decision decision;  /* the caller's: decide(&input, ...) */
	const struct kind_template *from;
};

/** Decode a template and make the input of decide(); snapshot, policy and time are left to the caller.
 *  `default_namespace` is for objects that name none.
 *  @return 0; -EINVAL with the field inside the pod; -E2BIG; -ENOMEM. */
int workload_template_read(const struct kind_template *from, const char *default_namespace, struct arena *arena,
			   struct workload_template *ret, struct err *err) ATTR_NODISCARD;

/** Fill decide_input.declared of all templates of an object, of those that could be read. Where they do not make their
 *  pods at once (Argo), or others make more of them (TrainJob), it stays unknown. @return 0 or -ENOMEM. */
int workload_declare(struct workload_template *const *items, size_t n, struct arena *arena) ATTR_NODISCARD;

/** Is this template sized when its object is created (decide_input.is_template_patched)? An object that lives on and
 *  makes others (CronJob) is not: its sizes would grow old; each object that it makes is sized. */
bool workload_is_patched(const struct workload_template *self, const struct policy *policy);

/** Warnings for the whole object: as render_warnings() makes them, the most important first over all templates, and
 *  what several templates have in common said once, with their roles. Findings that deny are left out.
 *  @return 0 or -ENOMEM. */
int workload_warnings(const struct workload_template *const *items, size_t n, struct arena *arena,
		      const char *const **ret_items, size_t *ret_n) ATTR_NODISCARD;

/** Why the object is denied: container, figures and check of each finding that denies; NULL when none does.
 *  @return 0 or -ENOMEM. */
int workload_denial(const struct workload_template *const *items, size_t n, struct arena *arena,
		    const char **ret_message) ATTR_NODISCARD;

/* ---- the object patched itself (policy.templates, workload_patch.c) ---- */

/** The annotation of the object: the pods' (render_annotation.c), each entry of `set` with `at`, the JSON Pointer of
 * its template. */
#define ANNOTATION_TEMPLATES "memtamer.io/template-decision"

/** An object that is being created may be asked about again, when another webhook has changed it: where it carries
 * every value that its annotation says was set, these are settled, and their sizes (and what is said of them) leave the
 *  decisions. Items of which something leaves are replaced by copies. @return 0 or -ENOMEM. */
int workload_settle(const struct workload_template **items, size_t n, const struct k8s_labels *annotations,
		    struct arena *arena) ATTR_NODISCARD;
/** RFC 6902 array for an object that is being created, after workload_settle(): the sizes of all decisions, and the
 *  annotation that says what was set, in earlier rounds too. "" when nothing is set. @return sticky status of `buf`. */
int workload_patch(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
		   struct arena *arena, struct strbuf *buf) ATTR_NODISCARD;
/** The same for an update: whoever applies the manifest once more sends the values that the annotation says were
 *  replaced; they are set again, so that nothing changes (most kinds refuse a changed template). Other values are
 *  somebody's new words and stay. No decision is looked at. */
int workload_patch_again(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
			 struct arena *arena, struct strbuf *buf) ATTR_NODISCARD;
