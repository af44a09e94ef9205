/* SPDX-License-Identifier: Apache-2.0 */
/* schema_table: the objects: names, columns of `kubectl get`, rules for what people write. */
#include "generate/schema_internal.h"

#include "base/attr.h"
#include "base/str.h"

#define OF_READY(member) ".status.conditions[?(@.type==\"Ready\")]." member
static const struct schema_column profile_columns[] = {
	{"Workload", "string", ".status.workload", false, "The workload, by its best key."},
	{"Role", "string", ".status.role", true, "Which of its pods."},
	{"Container", "string", ".status.container", true, "Which container."},
	{"Ready", "string", OF_READY("status"), false, "Are sizes known that new pods are given?"},
	{"Reason", "string", OF_READY("reason"), true, "Why it is ready, or not."},
	{"Runs", "integer", ".status.recommendation.runs", false, "Distinct submissions known."},
	{"Median", "string", ".status.summary.median", true, "Median of use over time."},
	{"Peak", "string", ".status.summary.peak", false, "Greatest need of a complete run."},
	{"Request", "string", ".status.recommendation.request", false,
	 "Recommended memory request, as it was learned."},
	{"Limit", "string", ".status.recommendation.limit", false, "Recommended memory limit, as it was learned."},
	{"Pin-Request", "string", ".spec.pinRequest", true, "Memory request that a person pinned."},
	{"Pin", "string", ".spec.pinLimit", false, "Memory limit that a person pinned."},
	{"Cap", "string", ".spec.modeCap", false, "Highest mode for its pods."},
	{"Leak", "string", ".status.summary.leak", false, "Whether its memory is suspected to leak."},
	{"OOMs", "integer", ".status.recommendation.oomKills", true, "Runs that were OOM-killed."},
	{"Confidence", "string", ".status.recommendation.confidence", true, "How much evidence there is."},
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

/* `smaller` is at most `greater`, if both are present and quantities; a malformed quantity has a message of its own. */
#define ORDERED(smaller, greater)                                                                                      \
	"!has(self." smaller ") || !has(self." greater ") || !isQuantity(self." smaller                                \
	") || !isQuantity(self." greater ") || "                                                                       \
	"quantity(self." smaller ").compareTo(quantity(self." greater ")) <= 0"

static const struct schema_rule profile_rules[] = {
	{"spec", ORDERED("pinRequest", "pinLimit"), "pinLimit must not be below pinRequest"},
	{"spec", ORDERED("floor", "ceiling"), "ceiling must not be below floor"},
	{"spec",
	 "!has(self.workloadRef) || (has(self.workloadRef.kind) && has(self.workloadRef.name) && self.workloadRef.name "
	 "!= '')",
	 "workloadRef needs the kind and the name of an object"},
	{"spec",
	 "!has(self.workloadRef) || !has(self.workloadRef.kind) || "
	 "self.workloadRef.kind.matches('^([A-Z].*|workload|flyteworkflow)$')",
	 "workloadRef.kind must be a kind, such as Job or PyTorchJob, or the word workload"},
};

static const struct schema_rule shape_rules[] = {
	/* struct node_shape has room for 95 bytes. */
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

static const char profile_intro[] =
	"One for each workload, role and container. The recommender writes `status`. `spec` is for people: memtamer\n"
	"writes it only for `undo` and for the cap after harm, and never deletes a profile that has one.\n"
	"\n"
	"```sh\n"
	"kubectl get mprof\n"
	"kubectl patch mprof NAME --type=merge -p '{\"spec\":{\"pinRequest\":\"48Gi\",\"pinLimit\":\"64Gi\"}}'\n"
	"```\n"
	"\n"
	"The webhook applies `spec` as soon as its watch delivers it, also to later pods of running owners. `status`\n"
	"holds what was learned and does not depend on `spec`. Pins override `floor` and `ceiling`, and these\n"
	"override `sizing.floors` and `sizing.ceiling` of the configuration. A ceiling never lowers a limit below\n"
	"what runs used; a pin may. An invalid `spec` (in a file, or older than the rules below) is not applied, and\n"
	"the workload is only observed until it is corrected. Remove `modeCap` to lift a cap.\n"
	"\n"
	"A profile may be written before the first run, under any name, if `workloadRef` names its workload\n"
	"([an example](GITOPS.md#profiles-in-git)).\n"
	"\n"
	"`kind` and `name` are those of the object that people submit. Dates, counters and random parts of the name\n"
	"are ignored, except for kinds that recur (CronJob). Without `role` the profile applies to all roles, without\n"
	"`container` to the one that trains. If several profiles are about the same container, the one with more of\n"
	"these fields applies, then the older one, then the first one by name. The lowest `modeCap` applies.\n"
	"\n"
	"The recommender writes into the profile that names the workload. What it had learned under another name is\n"
	"moved there with the MemoryHistory. The other profile stays if its `spec` is set, or if the new one has no\n"
	"`role` and the workload has several. Deleting a profile removes its pins and nothing that was learned: the\n"
	"MemoryHistory stays, and the recommender creates the profile again with the next run.\n"
	"\n"
	"`status.conditions` are those of the `spec` in `status.observedGeneration`. They follow a changed `spec`\n"
	"with the next cycle; pins do not wait for that. `Pinned` and `Capped` are absent if they do not apply.\n"
	"`Ready` has one of these reasons:\n"
	"\n"
	"| reason | meaning |\n"
	"|---|---|\n"
	"| `Learned` | new pods get the recommendation |\n"
	"| `NotEnoughRuns`, `NoRunsYet` | too few runs are known |\n"
	"| `NoWorkload` | the profile names no workload, and nothing was learned into it |\n"
	"| `Conflict` | the `spec` of another profile applies |\n"
	"| `InvalidSpec` | the `spec` is not applied |\n";

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
			.table = &profile_table,
			COLUMNS(profile_columns),
			RULES(profile_rules),
			.help = "MemoryProfile is what memtamer recommends for one container of one workload, and what "
				"people decide about it.",
			.intro = profile_intro,
		},
	[SCHEMA_HISTORY] =
		{
			.kind = "MemoryHistory",
			.plural = "memoryhistories",
			.singular = "memoryhistory",
			.short_name = "mhist",
			.is_namespaced = true,
			.table = &history_table,
			COLUMNS(history_columns),
			.help = "MemoryHistory is what memtamer remembers of the runs of one container of one "
				"workload.",
			.intro = "One for each MemoryProfile, with the same name. Written and read by the recommender; "
				 "the webhook never reads it.\n"
				 "Deleting one makes memtamer forget what Prometheus no longer holds.\n\n"
				 "Nearly all of it is in `data`, compressed, as the API server would hold it in ten "
				 "times "
				 "as much memory otherwise.\n"
				 "`kubectl memtamer explain` and `history` show what it says; to see all of it:\n\n"
				 "```sh\n"
				 "kubectl get mhist NAME -o jsonpath='{.spec.data}' | cut -c 4- | base64 -d | gunzip\n"
				 "```\n\n"
				 "Release 0.1 wrote these members into `spec`. Such objects are read, and written with "
				 "`data` after their next\n"
				 "run. Release 0.1 refuses objects with `data` and leaves them as they are.\n",
		},
	[SCHEMA_SHAPE] =
		{
			.kind = "NodeShape",
			.plural = "nodeshapes",
			.singular = "nodeshape",
			.short_name = "nshape",
			.is_spec_of_people = true,
			.table = &node_shape_table,
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
