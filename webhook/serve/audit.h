/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* audit: writes a log line for each pod or template that was patched: what changed, from which value, why, and on which
 * evidence. Lines that exceed the rate of client_log.h are counted in the next one. Cost: constant, as names and the
 * list of changes are cut. Any thread. */
#include "k8s/review.h"
#include "policy/workload.h"
#include "serve/client_log.h"

/** Logs "pod patched" at level info with the fields uid, namespace, pod, owner (the controller as Kind/name, "" for a
 *  bare pod), root (the object that was submitted), workload, mode, revision and runs of the profile (null without
 *  one), dry_run, and changes: a list of {container, resource, field, from, to, rule} (JSON text in logfmt). A list
 *  that is too long for a line is cut; `changes_left_out` counts the rest. */
void audit_pod(struct client_log *log, const struct review *review, const struct k8s_pod *pod,
	       const struct decision *decision);
/** The same for a pod template of an object, with the message "template patched". `pod` is the object's name and the
 *  template's role, `owner` the object's kind and name. */
void audit_template(struct client_log *log, const struct review *review, const struct workload_template *item);
