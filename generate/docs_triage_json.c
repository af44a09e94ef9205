/* SPDX-License-Identifier: Apache-2.0 */
/* The part of docs/TRIAGE.md about JSON: its members, and the names that stand in them. */
#include "generate/docs.h"

#include "triage/rules.h"
#include "triage/triage.h"

static const char json_doc[] =
	"\n## JSON\n\n"
	"`-o json` prints one object. Members are only added within a version of `apiVersion` (`" TRIAGE_API_VERSION
	"`).\n\n"
	"| member | value |\n|---|---|\n"
	"| `kind` | one of the kinds above |\n"
	"| `cause` | what led to it, such as `static-sizing`, `growth`, `leak`, `loader-workers`, or null |\n"
	"| `confidence` | `high`, `medium` or `low` |\n"
	"| `rule` | the rule that decided |\n"
	"| `why` | one or two sentences with the figures |\n"
	"| `rank`, `step` | of the first death, or null |\n"
	"| `checkpoint`, `snapshot` | the last checkpoint before the end, and a memory snapshot, where the log names "
	"them, or null; a checkpoint that was only begun counts if the run went on behind it |\n"
	"| `figures` | amounts in bytes by name, without those that are not known |\n"
	"| `progress` | the furthest point that the rank's log shows, or null: `epoch`, `step`, `steps` (of how many), "
	"`falls` (how often steps began anew); each may be null |\n"
	"| `progress.rate_milli`, `.rate_unit` | the last throughput, in thousandths of `tokens/s`, `samples/s` or "
	"`it/s`, "
	"or null |\n"
	"| `settings` | settings of levers that were in force already, by name; `levers` leaves out theirs |\n"
	"| `numbers` | numbers that a lever would change, as a log, an argument or the environment shows them, by "
	"name: "
	"`batch_size`, `num_workers` and so on |\n"
	"| `evidence` | lines: `source`, `line` (from 1), `text`, `signal`, `rank`; the deciding one comes first |\n"
	"| `levers` | what to do: `order` (from 1), `action`, `setting`, `why` |\n"
	"| `avoid`, `next` | what not to do, and commands that free what is held or tell more |\n"
	"| `node` | what the settings of the node mean: `name`, `harm` (`high`, `medium`, `low`, `none`), `text`, "
	"`bytes` (the "
	"figure that it is about, or null), `action` (or null); empty without `--node` |\n"
	"| `unseen` | what could not be read, and what to collect next time |\n"
	"| `inputs` | sources that were read: `source`, `lines`, `damaged` |\n";

static const char verify_json_doc[] =
	"\nWith `--verify` the object has other members:\n\n"
	"| member | value |\n|---|---|\n"
	"| `verdict` | `held`, `did-not-hold` or `too-early` |\n"
	"| `why` | one or two sentences |\n"
	"| `crash` | what the run is compared with: `source`, `kind`, `cause` (or null) |\n"
	"| `run` | what ended the new run, as without `--verify`: `kind`, `cause`, `confidence`, `rule`, `why` |\n"
	"| `checks` | in the order of the table above: `name`, `answer` (`yes`, `no`, `unknown`), `figure` in words, "
	"`source` "
	"and `line` (from 1), each null if no line has it |\n"
	"| `next` | the next lever, what to roll back, or what to collect |\n"
	"| `unseen` | what could not be read |\n\n"
	"A `source` is a file or folder, `pod/NAME status`, `log of pod/NAME container NAME`, `termination message of "
	"pod/NAME "
	"container "
	"NAME`,\n`series of pod/NAME container NAME`, `series of node/NAME`, `memoryprofile/NAME status`, `event`, "
	"`node/NAME status` or `job/NAME "
	"status`.\n";

void docs_add_cell(struct strbuf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			strbuf_addc(buf, '\\');
		strbuf_addc(buf, *text);
	}
}

/* ---- names in JSON ---- */

/* Causes that no row of a table has: the tests of the rules set them. */
static const struct cause_row {
	const char *name, *meaning;
} other_causes[] = {
	{"static-sizing", "the job has never fitted: it ended at its first step or before"},
	{"growth", "the job has fitted for some steps, and then needed more"},
	{"leak", "what the log shows of memory only grows from step to step"},
	{"gap", "the allocator's reserve was in pieces, perhaps: much of it was unallocated"},
	{"start-check", "an engine asks for more of the GPU than is free at its start"},
	{"kv-cache", "weights leave no room for the KV cache of one sequence"},
	{"load-everything", "data was being read into memory when the end came"},
	{"offload", "optimizer states are in the host's memory"},
	{"checkpoint", "a checkpoint was being written"},
	{"loader-workers", "workers of the data loader hold the memory"},
	{"shm", "files in memory (tmpfs, /dev/shm) hold the memory"},
	{"page-cache", "pages that wait to be written hold the memory"},
	{"hugepages", "memory is reserved as huge pages"},
	{"heap-limit", "a heap of Java or Node.js is at its own limit"},
	{"docker", "the limit is that of a container of Docker or Podman"},
	{"systemd", "the limit is that of a unit of systemd"},
	{"no-request", "the evicted pod has no memory request"},
	{"over-request", "the evicted pod used more than its request"},
	{"refused-at-admission", "the kubelet refused the pod while the node was short of memory"},
	{"volume-limit", "an emptyDir is at its own sizeLimit"},
	{"storage-limit", "a container or pod is at its limit of ephemeral-storage"},
	{"node-pressure", "the disk of the node is nearly full"},
	{"xid-application", "the driver stopped the program for its own error"},
	{"cgroups-full", "the kernel can make no further cgroup"},
	{"watches-full", "the kernel can make no further watch of files"},
};

static void add_name(struct strbuf *buf, const char *name, const char *meaning)
{
	strbuf_addf(buf, "| `%s` | ", name);
	docs_add_cell(buf, meaning);
	strbuf_adds(buf, " |\n");
}

/* Whether another row has the cause: of several rules the last one says it most generally. */
static bool is_repeated(size_t rule)
{
	for (size_t i = rule + 1; i < n_triage_rules; i++)
		if (streq(triage_rules[i].cause, triage_rules[rule].cause))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(other_causes); i++)
		if (streq(triage_rules[rule].cause, other_causes[i].name))
			return true;
	for (int i = 0; i < STOP_COUNT_; i++)
		if (streq(triage_rules[rule].cause, triage_stops[i].cause))
			return true;
	return false;
}

static void add_causes(struct strbuf *buf)
{
	strbuf_adds(buf, "\n| cause | meaning |\n|---|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(other_causes); i++)
		add_name(buf, other_causes[i].name, other_causes[i].meaning);
	for (size_t i = 0; i < n_triage_rules; i++)
		if (triage_rules[i].cause && !is_repeated(i))
			add_name(buf, triage_rules[i].cause, triage_rules[i].when);
	for (int i = 0; i < STOP_COUNT_; i++)
		add_name(buf, triage_stops[i].cause, triage_stops[i].why);
}

static void add_names(struct strbuf *buf)
{
	strbuf_adds(buf, "\n| member of `figures` | meaning |\n|---|---|\n");
	for (int i = 0; i < FIGURE_COUNT_; i++)
		add_name(buf, figure_rows[i].name, figure_rows[i].meaning);
	add_causes(buf);
	strbuf_adds(buf, "\nNames in `settings`:");
	for (int i = 0; i < SETTING_COUNT_; i++)
		strbuf_addf(buf, "%s `%s`", i ? "," : "", settings[i].name);
	strbuf_adds(buf, ".\nNames in `numbers`:");
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		strbuf_addf(buf, "%s `%s`", i ? "," : "", number_rows[i].key);
	strbuf_adds(buf, ".\n\n| `signal` of evidence | what such a line proves |\n|---|---|\n");
	for (int i = 0; i < SIGNAL_COUNT_; i++)
		add_name(buf, signals[i].name, signals[i].meaning);
}

int triage_json_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, json_doc);
	add_names(buf);
	return strbuf_adds(buf, verify_json_doc);
}
