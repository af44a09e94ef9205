/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* owner: the object whose pods make a run: which one a person means by KIND/NAME, which one a pod belongs to, the label
 * that its pods have, and the command that frees what they hold. Kinds are those of identity_label(). Pure. */
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/strbuf.h"

struct owner {
	const char *group, *kind; /* static; "Pod" with the group "" */
	const char *label;	  /* of its pods; NULL: a pod */
	char name[LIMIT_NAME_BYTES + 1];
};

/** Reads "NAME" (a pod), "KIND/NAME" or "KIND.GROUP/NAME", with the kind in any case or in the plural. @return 0;
 * -EINVAL. */
int owner_parse(const char *text, struct owner *ret, struct err *err) ATTR_NODISCARD;
/** The topmost owner that the labels of a pod name. @return false: none. */
bool owner_of_pod(struct json_object *pod, struct owner *ret);
/** "pytorchjob.kubeflow.org/NAME", as kubectl takes it. */
void owner_render(const struct owner *self, char *buf, size_t size);
/** The command that ends the pods of the owner, so that nothing is held any more. */
void owner_render_stop(const struct owner *self, const char *namespace, struct strbuf *buf);
