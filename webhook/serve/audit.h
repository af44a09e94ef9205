/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* audit: one line in the log for each pod that was patched: what was changed, from what, why, by which evidence. */
#include "k8s/review.h"
#include "policy/workload.h"

/** Level info, message "pod patched". Fields: uid, namespace, pod, owner (the controller as Kind/name, "" for a bare
 *  pod), root (the submission it belongs to), workload, mode, revision and runs of the profile (null without one),
 *  dry_run, changes: a list of {container, resource, field, from, to, rule}, in logfmt as JSON text. A list too long
 * for a line is cut, and `changes_left_out` says by how many. */
void audit_pod(const struct review *review, const struct k8s_pod *pod, const struct decision *decision);
/** The same for a pod template of an object: message "template patched", `pod` is the object's name and the
 *  template's role, `owner` the object's kind and name. */
void audit_template(const struct review *review, const struct workload_template *item);
