/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_lacks: which resources a pod waits for. No field says it, only messages of the components that look for
 * a node:
 * - kube-scheduler (pkg/scheduler/framework/types.go, noderesources/fit.go), in the pod's condition and its Events:
 *   "0/5 nodes are available: 2 Insufficient ephemeral-storage, 3 Insufficient memory. preemption: ..."
 * - Cluster Autoscaler (processors/status/eventing_scale_up_processor.go), for the nodes that its node groups would
 *   add: "pod didn't trigger scale-up: 3 Insufficient ephemeral-storage, 1 node(s) had untolerated taint(s)"
 * - Karpenter (provisioning/scheduling/nodeclaim.go), in its Events: "no instance type has enough resources,
 *   requirements=..., resources={"cpu":"1","memory":"2Gi","pods":"1"}" and other reasons. Older versions write "no
 *   instance type satisfied resources {...} and requirements ...", with or without a reason in parentheses behind
 *   it. */
#include "base/str.h"
#include "pods/sighting.h"

#include <stdio.h>
#include <string.h>

static bool is_end_of_name(const char *text)
{
	return !*text || *text == ',' || *text == ' ' || (*text == '.' && (!text[1] || text[1] == ' '));
}

static bool is_insufficient(const char *message, const char *resource)
{
	static const char word[] = "Insufficient ";

	for (const char *at = strstr(message, word); at; at = strstr(at, word)) {
		at += strlen(word);
		if (strstarts(at, resource) && is_end_of_name(at + strlen(resource)))
			return true;
	}
	return false;
}

/* Karpenter's other reasons are requirements that no instance type meets, and instance types that are not available. */
static bool fits_no_instance_type(const char *message)
{
	static const char *const reasons[] = {
		"no instance type has enough resources",
		"no instance type had enough resources or",
		"or had enough resources",
		"had the required resources",
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strstr(message, reasons[i]))
			return true;
	return strstr(message, "no instance type satisfied resources {") && !strstr(message, "(no instance type");
}

static bool is_listed(const char *message, const char *resource)
{
	char member[40];

	snprintf(member, sizeof(member), "\"%s\":\"", resource);
	return strstr(message, member) != NULL;
}

unsigned int sighting_lacks(const char *message)
{
	static const struct {
		const char *name;
		unsigned int flag;
	} resources[] = {{"memory", END_UNSCHEDULABLE_MEMORY}, {"ephemeral-storage", END_UNSCHEDULABLE_EPHEMERAL}};
	bool is_too_large = fits_no_instance_type(message);
	unsigned int lacks = 0;

	for (size_t i = 0; i < ARRAY_LEN(resources); i++)
		if (is_insufficient(message, resources[i].name) ||
		    (is_too_large && is_listed(message, resources[i].name)))
			lacks |= resources[i].flag;
	return lacks;
}
