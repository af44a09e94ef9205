/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of nodes: which findings they give, at the thresholds and beside them, what is missing, and what they say
 * about a refused allocation. */
#include "support/test.h"

#include "triage/node_rules.h"
#include "triage/triage.h"
#include "triage_fixture.h"

#include <stdlib.h>

static struct triage *read_node(const char *text)
{
	struct triage *triage = begin();

	read_text(triage, "rank7.txt", INPUT_NODE, text);
	return triage;
}

static void list_findings(const struct node *node, struct strbuf *buf)
{
	struct node_finding finding;

	for (size_t i = 0; i < n_node_rules; i++)
		if (node_find(node, i, &finding))
			strbuf_addf(buf, "%s%s", buf->len ? " " : "", finding.rule->name);
}

#define GI4 "MemTotal: 4194304 kB\n"

static void each_setting_has_its_finding(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", ""},
		{"vm.panic_on_oom = 0\n", ""},
		{"vm.panic_on_oom = 1\n", "panic-on-oom"},
		{"vm.panic_on_oom=2", "panic-on-oom"},
		{"vm.overcommit_memory = 0\n", "overcommit-heuristic"},
		{"vm.overcommit_memory = 1\n", "overcommit-always"},
		{"vm.overcommit_memory = 2\n", "overcommit-strict"},
		{"vm.overcommit_memory = 2\nvm.overcommit_memory = 0\n", "overcommit-heuristic"},
		{"vm.overcommit_memory = 0\nkubepods.slice\n", "overcommit-changed"},
		{"kubepods\nvm.overcommit_memory = 1\n", "overcommit-expected"},
		{"oom_score_adj=-999 kubelet\nvm.overcommit_memory = 2\n", "overcommit-strict-kubernetes"},
		{"ls: cannot access 'kubepods': No such file or directory\nvm.overcommit_memory = 1\n",
		 "overcommit-always"},
		{GI4 "HugePages_Total: 511\nHugepagesize: 2048 kB\n", ""},
		{GI4 "HugePages_Total: 512\nHugepagesize: 2048 kB\n", "hugepages-reserved"},
		{GI4 "HugePages_Total: 0\nHugepagesize: 2048 kB\nHugetlb: 1048576 kB\n", "hugepages-reserved"},
		{GI4 "DirectMap4k: 1000 kB\nDirectMap2M: 5591404 kB\n", ""},
		{GI4 "DirectMap4k: 1048576 kB\nDirectMap2M: 4544000 kB\n", "balloon"},
		{GI4 "Balloon: 209700 kB\n", ""},
		{GI4 "Balloon: 209800 kB\n", "balloon"},
		{GI4 "MemAvailable: 419400 kB\n", "memory-short"},
		{GI4 "MemAvailable: 0 kB\n", "memory-short"},
		{GI4 "MemAvailable: 419500 kB\n", "memory"},
		{GI4 "vm.min_free_kbytes = 209700\n", ""},
		{GI4 "vm.min_free_kbytes = 209800\n", "reserve-large"},
		{"oom_kill 0\n", ""},
		{"oom_kill 1\noom_kill_disable 0\n", "oom-kills"},
		{"some avg10=99.00 avg60=50.00 avg300=9.99 total=5\nfull avg10=99.00 avg60=50.00 avg300=80.00 "
		 "total=5\n",
		 ""},
		{"some avg10=0.00 avg60=0.00 avg300=10.00 total=5\n", "memory-pressure"},
		{"full avg10=0.00 avg60=0.00 avg300=90.00 total=5\n", ""},
		{"some avg300=\nsome days avg300=x\n", ""},
		{"CommitLimit: 5 kB\n", ""},
		{"CommitLimit: 5 kB\nCommitted_AS: 6 kB\n", "committed"},
		{"CommitLimit: 5 kB\nCommitted_AS: 6 kB\nvm.overcommit_memory = 1\n", "overcommit-always"},
		{"tmpfs\n", "cgroup-v1"},
		{"cgroup2fs\n", "cgroup-v2"},
		{"tmpfs on /run type tmpfs\n", ""},
		{"SwapTotal: 0 kB\n", "no-swap"},
		{"SwapTotal: 4 kB\n", "swap"},
		{"oom_score_adj=-1000 sshd\n", ""},
		{"oom_score_adj=-1000 python3\n", "oom-score-exempt"},
		{"oom_score_adj=-100 python3\n", ""},
		{"oom_score_adj=-10000 python3\n", ""},
		{"OOMScoreAdjust=-1000 torchrun\n", "oom-score-exempt"},
		{"docker run --oom-score-adj -1000 image python train.py\n", "oom-score-exempt"},
		{"docker run --oom-kill-disable image\n", "oom-kill-disabled"},
		{"docker run --oom-kill-disable=false image\n", ""},
		{"oom_kill_disable 1\n", "oom-kill-disabled"},
		{"oom_kill_disable 0\n", ""},
		{"/sys/fs/cgroup/memory/kubepods/burstable/pod1/c/memory.oom_control:oom_kill_disable 1\ntmpfs\n",
		 "oom-kill-disabled cgroup-v1"},
		{GI4 "/sys/fs/cgroup/kubepods.slice/memory.max:4294967296\n", "nothing-reserved"},
		{GI4 "/sys/fs/cgroup/kubepods.slice/memory.max:max\n", "nothing-reserved"},
		{GI4 "/sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes:9223372036854771712\n", "nothing-reserved"},
		{GI4 "/sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes:4242538496\n", "reserved"},
		{GI4 "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/memory.max:max\n", ""},
		{"/sys/fs/cgroup/kubepods.slice/memory.max:max\n", ""},
		{"/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/a.scope/memory.high:1932735283\ncgroup2fs\n",
		 "memory-throttled cgroup-v2"},
		{"/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/a.scope/memory.high:max\ncgroup2fs\n",
		 "cgroup-v2"},
		{"/sys/fs/cgroup/system.slice/sshd.service/memory.high:1932735283\n", ""},
		{"\"OomKillDisable\": true,\n", "oom-kill-disabled"},
		{"docker run --oom-kill-disable image\ncgroup2fs\n", "cgroup-v2"},
		{"vm.overcommit_memory_x = 2\nxvm.overcommit_memory = 2\nvm.overcommit_memory = \n", ""},
		{"MemTotal: 99999999999999999999 kB\nMemAvailable: 9223372036854775807 kB\n", ""},
		{"MemTotal: 0 kB\nMemAvailable: 0 kB\nvm.min_free_kbytes = 1\nHugetlb: 1 kB\n", ""},
		{"vm.panic_on_oom = 1\r\nvm.overcommit_memory = 2\r\ntmpfs\r\n",
		 "panic-on-oom overcommit-strict cgroup-v1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(4 * KIB);
		struct triage *triage = read_node(rows[i].text);

		list_findings(&triage->facts.node, &buf);
		if (!streq(strbuf_text(&buf), rows[i].want))
			fail_msg("%s: %s, not %s", rows[i].text, strbuf_text(&buf), rows[i].want);
		end(triage);
	}
}

/* The table is the order in which people read it. */
static void rules_are_in_the_order_of_harm(void **state)
{
	(void)state;
	for (size_t i = 1; i < n_node_rules; i++)
		assert_true(node_rules[i - 1].harm <= node_rules[i].harm);
}

static void figures_are_told(void **state)
{
	struct triage *triage = read_node(
		GI4 "vm.overcommit_memory = 2\nvm.overcommit_ratio = 50\nMemAvailable: 3145728 kB\n"
		    "CommitLimit: 2097152 kB\nCommitted_AS: 1048576 kB\n");
	struct node_finding finding = {0};

	(void)state;
	for (size_t i = 0; i < n_node_rules && !finding.text[0]; i++)
		node_find(&triage->facts.node, i, &finding);
	assert_string_equal(finding.rule->name, "overcommit-strict");
	assert_int_equal(finding.bytes, 1 << 30);
	assert_non_null(strstr(finding.text, "vm.overcommit_ratio: 50 % of memory"));
	assert_non_null(
		strstr(finding.text, "1.00 GiB of 2.00 GiB may still be committed, while 3.00 GiB are available"));
	end(triage);
	triage = read_node("CommitLimit: 4194304 kB\nCommitted_AS: 6291456 kB\n");
	for (size_t i = 0; i < n_node_rules && !streq(finding.rule->name, "committed"); i++)
		node_find(&triage->facts.node, i, &finding);
	assert_non_null(strstr(finding.text, "6.00 GiB are committed, more than the 4.00 GiB of a strict kernel"));
	assert_int_equal(finding.bytes, (int64_t)2 << 30);
	end(triage);
	triage = read_node("CommitLimit: 5 kB\nCommitted_AS: 6 kB\n");
	assert_int_equal(node_committable(&triage->facts.node), 0);
	end(triage);
}

static void what_is_missing_is_told(void **state)
{
	static const struct {
		const char *text;
		size_t want;
	} rows[] = {
		{"\x7f"
		 "ELF\x02\x01\x01 binary\n",
		 4},
		{"vm.overcommit_memory = 0\n", 3},
		{"vm.overcommit_memory = 0\nMemTotal: 5 kB\ncgroup2fs\n", 1},
		{"vm.overcommit_memory = 0\nMemTotal: 5 kB\ncgroup2fs\nkubepods.slice\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = read_node(rows[i].text);
		const char *gaps[NODE_GAPS_MAX];

		assert_int_equal(node_missing(&triage->facts.node, gaps), rows[i].want);
		end(triage);
	}
}

/* Without an input of this sort nothing is said about the node. */
static void nothing_is_said_unasked(void **state)
{
	struct triage *triage = malloc(sizeof(*triage));
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(64 * KIB);

	(void)state;
	assert_non_null(triage);
	assert_int_equal(triage_init(triage), 0);
	assert_int_equal(facts_read_bytes(&triage->facts, "a.log", INPUT_LOG, "vm.panic_on_oom = 1\n", 20), 0);
	triage_decide(triage);
	assert_int_equal(triage_json(triage, &buf), 0);
	assert_non_null(strstr(strbuf_text(&buf), "\"node\":[]"));
	assert_int_equal(triage->unseen.len, 0);
	end(triage);
}

static void a_refusal_is_explained(void **state)
{
	static const char strict[] = GI4
		"vm.overcommit_memory = 2\nCommitLimit: 2097152 kB\nCommitted_AS: 1048576 kB\n";
	static const struct {
		const char *node, *log, *want; /* "": no cause */
	} rows[] = {
		{strict, "MemoryError", "overcommit"},
		{strict,
		 "numpy.core._exceptions.MemoryError: Unable to allocate 2.00 GiB for an array with shape (1, 2)",
		 "overcommit"},
		{strict,
		 "numpy.core._exceptions.MemoryError: Unable to allocate 5.00 GiB for an array with shape (1, 2)",
		 "load-everything"},
		{strict, "java.lang.OutOfMemoryError: Java heap space", "heap-limit"},
		{"vm.overcommit_memory = 1\n", "MemoryError", ""},
		{"vm.overcommit_memory = 2\nvm.overcommit_memory = 0\n", "MemoryError", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = read_node(rows[i].node);

		assert_int_equal(facts_read_bytes(&triage->facts, "a.log", INPUT_LOG, rows[i].log, strlen(rows[i].log)),
				 0);
		triage_decide(triage);
		assert_int_equal(triage->verdict.kind, KIND_ALLOCATION_REFUSED);
		if (!streq(triage->verdict.cause ? triage->verdict.cause : "", rows[i].want))
			fail_msg("row %zu: %s", i, triage->verdict.cause ? triage->verdict.cause : "no cause");
		end(triage);
	}
}

/* The rank in the name of the file is not the one that died; the setting is quoted. */
static void a_setting_is_evidence_of_no_rank(void **state)
{
	struct triage *triage = read_node("\nvm.overcommit_memory = 2\nvm.overcommit_memory = 2\n");

	(void)state;
	triage_decide(triage);
	assert_int_equal(triage->verdict.kind, KIND_UNKNOWN);
	assert_int_equal(triage->n_evidence, 1);
	assert_int_equal(triage->evidence[0]->number, 2);
	assert_int_equal(triage->evidence[0]->rank, RANK_NONE);
	assert_string_equal(triage->evidence[0]->text, "vm.overcommit_memory = 2");
	end(triage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_setting_has_its_finding),
		cmocka_unit_test(rules_are_in_the_order_of_harm),
		cmocka_unit_test(figures_are_told),
		cmocka_unit_test(what_is_missing_is_told),
		cmocka_unit_test(nothing_is_said_unasked),
		cmocka_unit_test(a_refusal_is_explained),
		cmocka_unit_test(a_setting_is_evidence_of_no_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
