/* SPDX-License-Identifier: Apache-2.0 */
/* The objects: names, columns of `kubectl get`, rules for what people write. */
#include "base/attr.h"
#include "base/str.h"
#include "model/schema_internal.h"

static const struct schema_column profile_columns[] = {
	{"Workload", "string", ".status.workload", false, "The workload, by its best key."},
	{"Role", "string", ".status.role", true, "Which of its pods."},
	{"Container", "string", ".status.container", true, "Which container."},
	{"Runs", "integer", ".status.recommendation.runs", false, "Distinct submissions known."},
	{"Median", "string", ".status.summary.median", false, "Median of use over time."},
	{"Peak", "string", ".status.summary.peak", false, "Greatest need of a whole run."},
	{"Request", "string", ".status.recommendation.request", false, "Recommended memory request."},
	{"Limit", "string", ".status.recommendation.limit", false, "Recommended memory limit."},
	{"OOMs", "integer", ".status.recommendation.oomKills", true, "Runs that were OOM-killed."},
	{"Pin", "string", ".spec.pinLimit", true, "Memory limit that a person decided."},
	{"Confidence", "string", ".status.recommendation.confidence", false, "How much evidence there is."},
	{"Updated", "date", ".status.updated", true, "When the recommendation last changed."},
	{"Age", "date", ".metadata.creationTimestamp", false, "When the workload was first known."},
};

static const struct schema_column history_columns[] = {
	{"Workload", "string", ".spec.workload", false, "The workload, by its best key."},
	{"Role", "string", ".spec.role", true, "Which of its pods."},
	{"Container", "string", ".spec.container", true, "Which container."},
	{"Last", "date", ".spec.runs[-1:].start", false, "Start of the last run."},
	{"Outcome", "string", ".spec.runs[-1:].outcome", false, "How the last run ended."},
	{"Peak", "string", ".spec.runs[-1:].peak", true, "Peak of the last run."},
	{"Limit", "string", ".spec.runs[-1:].limit", false, "Memory limit of the last run."},
	{"By", "string", ".spec.runs[-1:].by", true, "Who chose that limit."},
	{"Age", "date", ".metadata.creationTimestamp", false, "When the workload was first known."},
};

static const struct schema_column shape_columns[] = {
	{"Resource", "string", ".spec.resource", false, "Accelerator resource."},
	{"Product", "string", ".spec.product", false, "Accelerator product."},
	{"Accelerators", "integer", ".spec.accelerators", false, "Accelerators of one node."},
	{"Memory", "string", ".spec.memory", false, "Allocatable memory of one node."},
	{"Ephemeral", "string", ".spec.ephemeralStorage", true, "Allocatable ephemeral storage of one node."},
	{"Instance", "string", ".spec.instanceType", true, "Instance type of the nodes."},
	{"Declared", "boolean", ".spec.declared", false, "Written by hand."},
	{"Seen", "date", ".spec.lastSeen", false, "When a node of this shape was last seen."},
	{"Age", "date", ".metadata.creationTimestamp", true, "When the shape was first known."},
};

/* `smaller` is at most `greater`, where both are there and quantities: what is none has a message of its own. */
#define ORDERED(smaller, greater)                                                                                      \
	"!has(self." smaller ") || !has(self." greater ") || !isQuantity(self." smaller                                \
	") || !isQuantity(self." greater ") || "                                                                       \
	"quantity(self." smaller ").compareTo(quantity(self." greater ")) <= 0"

static const struct schema_rule profile_rules[] = {
	{"spec", ORDERED("pinRequest", "pinLimit"), "pinLimit must not be below pinRequest"},
	{"spec", ORDERED("floor", "ceiling"), "ceiling must not be below floor"},
};

static const struct schema_rule shape_rules[] = {
	/* struct node_shape holds 95 bytes. */
	{"", "size(self.metadata.name) <= 95", "metadata.name must be at most 95 characters long"},
	{"spec", "!has(self.accelerators) || self.accelerators == 0 || has(self.resource)",
	 "accelerators need a resource: the name by which pods ask for them"},
	{"spec", "!has(self.parts) || !has(self.accelerators) || self.parts >= self.accelerators",
	 "parts must not be below accelerators: a unit cannot be more than its part of the node"},
	{"spec", "!has(self.declared) || !self.declared || has(self.memory)",
	 "a declared shape must say the memory of one node"},
};

#define COLUMNS(table) .columns = (table), .n_columns = ARRAY_LEN(table)
#define RULES(table)   .rules = (table), .n_rules = ARRAY_LEN(table)

const struct schema schema_table[SCHEMA_COUNT_] = {
	[SCHEMA_PROFILE] =
		{
			.kind = "MemoryProfile",
			.plural = "memoryprofiles",
			.singular = "memoryprofile",
			.short_name = "mprof",
			.is_namespaced = true,
			.has_status = true,
			.is_spec_of_people = true,
			.parts = &profile_parts,
			COLUMNS(profile_columns),
			RULES(profile_rules),
			.help = "MemoryProfile is what memtamer recommends for one container of one workload, and what "
				"people decide about it.",
			.intro = "One for each workload, role and container. The recommender writes `status`; `spec` "
				 "belongs to people and is\n"
				 "never touched. A profile with anything in `spec` is kept when its workload is long "
				 "gone.\n\n"
				 "```sh\nkubectl get mprof\n"
				 "kubectl patch mprof NAME --type=merge -p "
				 "'{\"spec\":{\"pinRequest\":\"48Gi\",\"pinLimit\":\"64Gi\"}}'\n```\n",
		},
	[SCHEMA_HISTORY] =
		{
			.kind = "MemoryHistory",
			.plural = "memoryhistories",
			.singular = "memoryhistory",
			.short_name = "mhist",
			.is_namespaced = true,
			.parts = &history_parts,
			COLUMNS(history_columns),
			.help = "MemoryHistory is what memtamer remembers of the runs of one container of one "
				"workload.",
			.intro = "One for each MemoryProfile, with the same name. Written and read by the recommender; "
				 "the webhook never reads it.\n"
				 "Deleting one makes memtamer forget what Prometheus no longer holds.\n",
		},
	[SCHEMA_SHAPE] =
		{
			.kind = "NodeShape",
			.plural = "nodeshapes",
			.singular = "nodeshape",
			.short_name = "nshape",
			.is_spec_of_people = true,
			.parts = &node_shape_parts,
			COLUMNS(shape_columns),
			RULES(shape_rules),
			.help = "NodeShape is a kind of node by what it offers to pods; it outlives its nodes.",
			.intro = "The recommender writes one for each kind of node that it sees. People add those of "
				 "pools that are scaled to zero,\n"
				 "with `declared: true`, and memtamer then takes the declared shapes of a resource for "
				 "all there are.\n\n"
				 "```yaml\napiVersion: memtamer.io/v1alpha1\nkind: NodeShape\nmetadata:\n  name: "
				 "h100\nspec:\n"
				 "  resource: nvidia.com/gpu\n  product: NVIDIA-H100-80GB-HBM3\n  accelerators: 8\n  "
				 "memory: 1900Gi\n"
				 "  ephemeralStorage: 3Ti\n  declared: true\n```\n",
		},
};

bool schema_is_of_people(const struct schema *schema, const char *part)
{
	return schema->is_spec_of_people && streq(part, "spec");
}

const char *schema_plural(enum schema_object object)
{
	return schema_table[object].plural;
}
