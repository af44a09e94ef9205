/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_facts: turns what Kubernetes says of ended pods into facts for the rules of triage: the status of a pod, its
 * events, the conditions and events of its node, the conditions of its Job. Each function adds statements to the source
 * that was opened last (facts_open). Pure; cost: linear in the object. */
#include "postmortem/ended_pod.h"
#include "triage/facts.h"

void pod_facts_of_status(struct facts *facts, const struct ended_pod *pod);
/** From when to when the pod lived, and its uid: what a log of its node says of others is not about it. */
void pod_facts_of_life(struct facts *facts, const struct ended_pod *pod);
/** Settings of the tables of levers that the spec of the pod has: allocator variables, a volume at /dev/shm; volumes in
 * memory and a data set that are not below the memory limit. */
void pod_facts_of_spec(struct facts *facts, const struct ended_pod *pod);
/** `pod`: whose event it is; NULL: the pod is gone, or it is an event of its owner. */
void pod_facts_of_event(struct facts *facts, const struct ended_pod *pod, struct json_object *event);
/** Kills that the node's kernel reported within a minute of the pod's end. */
void pod_facts_of_node_event(struct facts *facts, const struct ended_pod *pod, struct json_object *event);
/** Conditions that began before the pod's end or soon after it. */
void pod_facts_of_node(struct facts *facts, const struct ended_pod *pod, struct json_object *node);
/** The conditions of a Job. */
void pod_facts_of_job(struct facts *facts, struct json_object *job);
