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
};

/** Decode a template and make the input of decide(); snapshot, policy and time are left to the caller.
 *  `default_namespace` is for objects that name none.
 *  @return 0; -EINVAL with the field inside the pod; -E2BIG; -ENOMEM. */
int workload_template_read(const struct kind_template *from, const char *default_namespace, struct arena *arena,
			   struct workload_template *ret, struct err *err) ATTR_NODISCARD;

/** Warnings for the whole object: as render_warnings() makes them, the most important first over all templates, and
 *  what several templates have in common said once, with their roles. Findings that deny are left out.
 *  @return 0 or -ENOMEM. */
int workload_warnings(const struct workload_template *const *items, size_t n, struct arena *arena,
		      const char *const **ret_items, size_t *ret_n) ATTR_NODISCARD;

/** Why the object is denied: container, figures and check of each finding that denies; NULL when none does.
 *  @return 0 or -ENOMEM. */
int workload_denial(const struct workload_template *const *items, size_t n, struct arena *arena,
		    const char **ret_message) ATTR_NODISCARD;
