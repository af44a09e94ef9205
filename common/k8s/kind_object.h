/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kind_object: what the metadata of an object of any kind say: its names, its queue, its controller. Private to the
 * layer k8s; more of it is in kinds.h. */
#include "k8s/kinds.h"

/** Returned by functions that make a template: there is no pod. */
enum { KIND_NO_POD = 1 };

/** A member's text that may be a name, or NULL. */
const char *kind_name_in(const struct doc *object, const char *key);
/** Facts of an object that contains templates. `root`: the outermost object: an AppWrapper has the queue's label for
 *  the objects in it. */
struct kind_owner kind_owner_facts(const struct doc *owner, const struct doc *root, bool is_root_queued);
