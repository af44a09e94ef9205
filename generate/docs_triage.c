/* SPDX-License-Identifier: Apache-2.0 */
/* docs/TRIAGE.md: the rules and levers of `triage` as a decision table that a person can follow. */
#include "generate/docs.h"

#include "triage/levers.h"
#include "triage/triage.h"

static const char intro[] =
	"# Triage\n\n<!-- Made by memtamer-docs from the program's tables; do not edit. -->\n\n"
	"For the person on call: what kind of out-of-memory ended a run, and what to do first. `triage` reads the "
	"logs:\n\n"
	"```sh\n"
	"kubectl logs POD --previous | memtamer-recommender triage --log -\n"
	"memtamer-recommender triage --log rank0.log --log rank1.log.gz --dmesg dmesg.txt --nvidia-smi smi.txt -o "
	"json\n"
	"```\n\n"
	"`kubectl memtamer triage` is the same command. Logs are read as streams of any length, also compressed with "
	"gzip or "
	"Zstandard. The rank\nof a log comes from its name (`rank3.log`, `worker-3`) or from its lines (`[rank3]:`, "
	"`[3]:`, `3:`, "
	"`[default3]:`). The exit\ncode is 0 whatever was found, and 2 for an input that cannot be read.\n\n"
	"Without the tool, read the rules below from the top: the first one that holds decides.\n";

static const char rules_intro[] = "\n## Rules\n\n"
				  "Hardware comes before software, the killer's own report before what the program "
				  "says, figures before words. Of "
				  "several\nranks the first that died counts: time-outs of the others are collateral. "
				  "Figures of a GPU: T what was "
				  "tried, C the\ncapacity, F what is free, U what is reserved but unallocated "
				  "(`cached` before PyTorch 1.4), and O what "
				  "others hold:\nC - F - all that this process holds.\n\n"
				  "| | rule | when | kind | cause | confidence |\n|---|---|---|---|---|---|\n";

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
	"them, or null |\n"
	"| `figures` | amounts in bytes by name, without those that are not known |\n"
	"| `evidence` | lines: `source`, `line` (from 1), `text`, `signal`, `rank`; the deciding one comes first |\n"
	"| `levers` | what to do: `order` (from 1), `action`, `setting`, `why` |\n"
	"| `avoid`, `next` | what not to do, and commands that tell more |\n"
	"| `inputs` | files: `source`, `lines`, `damaged` |\n";

/* A cell of a table: `|` would end it. */
static void add_cell(struct strbuf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			strbuf_addc(buf, '\\');
		strbuf_addc(buf, *text);
	}
}

static void add_kinds(struct strbuf *buf)
{
	strbuf_adds(buf, "\n## Kinds\n\n| kind | meaning |\n|---|---|\n");
	for (int i = 0; i < KIND_COUNT_; i++)
		strbuf_addf(buf, "| `%s` | %s |\n", triage_kinds[i].name, triage_kinds[i].meaning);
}

static void add_rules(struct strbuf *buf)
{
	strbuf_adds(buf, rules_intro);
	for (size_t i = 0; i < n_triage_rules; i++) {
		strbuf_addf(buf, "| %zu | %s | ", i + 1, triage_rules[i].name);
		add_cell(buf, triage_rules[i].when);
		strbuf_addf(buf, " | [%s](#%s) | %s | %s |\n", triage_kinds[triage_rules[i].kind].name,
			    triage_kinds[triage_rules[i].kind].name, triage_rules[i].cause ? triage_rules[i].cause : "",
			    triage_confidence_names[triage_rules[i].confidence]);
	}
}

static void add_list(struct strbuf *buf, const char *head, const struct advice *rows, size_t n, enum kind kind)
{
	bool is_begun = false;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].kind != kind)
			continue;
		if (!is_begun)
			strbuf_addf(buf, "\n%s\n\n", head);
		is_begun = true;
		strbuf_addf(buf, "- %s\n", rows[i].text);
	}
}

static void add_levers(struct strbuf *buf, enum kind kind)
{
	static const char *const frameworks[] = {"", "PyTorch", "TensorFlow", "JAX", ""};
	int order = 0;

	for (size_t i = 0; i < n_levers; i++) {
		if (levers[i].kind != kind)
			continue;
		if (!order++)
			strbuf_adds(buf, "\n| | do | setting | because | only for |\n|---|---|---|---|---|\n");
		strbuf_addf(buf, "| %d | ", order);
		add_cell(buf, levers[i].action);
		strbuf_adds(buf, " | `");
		add_cell(buf, levers[i].setting);
		strbuf_adds(buf, "` | ");
		add_cell(buf, levers[i].why);
		strbuf_addf(buf, " | %s%s |\n", levers[i].cause ? levers[i].cause : "",
			    frameworks[levers[i].framework]);
	}
}

int triage_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, intro);
	add_kinds(buf);
	add_rules(buf);
	strbuf_adds(buf,
		    "\n## What to do\n\n"
		    "Levers are in the order in which to try them. In settings, `{conf}` is `PYTORCH_ALLOC_CONF` from "
		    "PyTorch 2.9 on, and\n`PYTORCH_CUDA_ALLOC_CONF` (`PYTORCH_HIP_ALLOC_CONF` on AMD) before; "
		    "`{double}` is "
		    "twice the limit that was reached.\n");
	for (int i = 0; i < KIND_COUNT_; i++) {
		strbuf_addf(buf, "\n### %s\n", triage_kinds[i].name);
		add_levers(buf, (enum kind)i);
		add_list(buf, "What not to do:", levers_avoid, n_levers_avoid, (enum kind)i);
		add_list(buf, "Next:", levers_next, n_levers_next, (enum kind)i);
	}
	return strbuf_adds(buf, json_doc);
}
