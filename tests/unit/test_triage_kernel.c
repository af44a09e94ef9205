/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel logs beside logs and pods: whose kills count, and of which time. */
#include "support/test.h"

#include "base/timefmt.h"
#include "triage/clock.h"
#include "triage_fixture.h"

#include <stdio.h>

#define OURS   "0b5e5c1d-0000-4000-8000-00000000000a"
#define OURS_  "0b5e5c1d_0000_4000_8000_00000000000a"
#define OTHERS "11111111-2222-3333-4444-555555555555"
#define MEMCG(uid, task)                                                                                               \
	"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/kubepods/burstable/pod" uid "/0123456789ab,"  \
	"task_memcg=/kubepods/burstable/pod" uid "/0123456789ab,task=" task ",pid=7,uid=0\n"
#define NODE(uid, task)                                                                                                \
	"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg=/kubepods/burstable/pod" uid        \
	"/0123456789ab,task=" task ",pid=8,uid=0\n"
#define CUDA                                                                                                           \
	"step 3\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "  \
	"of 10.00 GiB of which 0.10 GiB is free. Of the allocated memory 9.50 GiB is allocated by PyTorch, and 20.00 " \
	"MiB is reserved by PyTorch but unallocated.\n"
#define XID(n) "NVRM: Xid (PCI:0000:65:00): " n ", pid=1, contained\n"
#define LIMIT_OF(uid)                                                                                                  \
	"Task in /kubepods/pod" uid "/c1 killed as a result of limit of /kubepods/pod" uid "\n"                        \
	"memory: usage 1024kB, limit 1024kB, failcnt 1\n"                                                              \
	"Memory cgroup out of memory: Kill process 9 (redis) score 0 or sacrifice child\n"

enum { BEGIN_MS = 0, END_MS = 1 };
static const char *const life[] = {"2026-11-20T06:00:00Z", "2026-11-20T10:00:00Z"};

#define INVOKED(mask) "[9.0] python invoked oom-killer: gfp_mask=" mask ", order=0, oom_score_adj=0\n"
#define FRAMES(last)  "[9.1]  dump_header+0x4f/0x200\n[9.1]  out_of_memory+0x109/0x510\n[9.1]  " last "+0xbb/0xd0\n"
#define STATS(path)   "[9.2] Memory cgroup stats for " path ":\n[9.2] anon 4096\n"

static void add_pod(struct triage *triage, const char *uid)
{
	int64_t start_ms, end_ms;

	assert_int_equal(time_parse(life[BEGIN_MS], strlen(life[BEGIN_MS]), &start_ms), 0);
	assert_int_equal(time_parse(life[END_MS], strlen(life[END_MS]), &end_ms), 0);
	facts_add_life(&triage->facts, uid, start_ms, end_ms);
}

/* Kills and errors of a GPU in the log of a node. */
static void what_counts(void **state)
{
	static const struct {
		const char *name, *log, *dmesg;
		bool has_pod, is_killed; /* by its status */
		enum kind want;
		enum confidence confidence;
		const char *unseen; /* NULL: nothing */
	} rows[] = {
		/* pods are known */
		{"a kill of another pod", CUDA, "[1.0] " MEMCG(OTHERS, "redis"), true, false, KIND_TRUE_OOM,
		 CONFIDENCE_HIGH, "not of this pod; they were left out, the last one in pod " OTHERS " (redis)"},
		{"a kill of the pod", "ValueError: x\n", "[1.0] " MEMCG(OURS, "python"), true, false,
		 KIND_CONTAINER_LIMIT, CONFIDENCE_HIGH, NULL},
		{"the pod's between others", "ValueError: x\n",
		 "[1.0] " MEMCG(OTHERS, "redis") "[2.0] " MEMCG(OURS, "python") "[3.0] " MEMCG(OTHERS, "redis"), true,
		 false, KIND_CONTAINER_LIMIT, CONFIDENCE_HIGH, OTHERS},
		{"systemd's spelling", "ValueError: x\n",
		 "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods.slice/kubepods-pod" OURS_
		 ".slice,task_memcg=/kubepods.slice/kubepods-pod" OURS_ ".slice/cri-1.scope,task=a,pid=1,uid=0\n",
		 true, false, KIND_POD_LIMIT, CONFIDENCE_HIGH, NULL},
		{"another pod, 4.x", "ValueError: x\n", LIMIT_OF(OTHERS), true, false, KIND_NOT_OOM, CONFIDENCE_MEDIUM,
		 "redis"},
		{"the pod, 4.x", "ValueError: x\n", LIMIT_OF(OURS), true, false, KIND_POD_LIMIT, CONFIDENCE_HIGH, NULL},
		{"a whole cgroup of another pod", "ValueError: x\n",
		 "Tasks in /kubepods/pod" OTHERS "/c1 are going to be killed due to memory.oom.group set\n", true,
		 false, KIND_NOT_OOM, CONFIDENCE_MEDIUM, OTHERS},
		{"a cgroup of no pod", "ValueError: x\n",
		 "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/system.slice/backup.service,task_memcg=/"
		 "x,task=tar,pid=1,"
		 "uid=0\n",
		 true, false, KIND_NOT_OOM, CONFIDENCE_MEDIUM, "cgroup /system.slice/backup.service (tar)"},
		{"the node, and a task of another pod", "ValueError: x\n", NODE(OTHERS, "redis"), true, false,
		 KIND_NOT_OOM, CONFIDENCE_MEDIUM, OTHERS},
		{"the node, and the pod is OOMKilled, too", "", NODE(OTHERS, "redis"), true, true, KIND_NODE_OOM,
		 CONFIDENCE_HIGH, NULL},
		{"the node, and a task of the pod", "ValueError: x\n", NODE(OURS, "python"), true, false, KIND_NODE_OOM,
		 CONFIDENCE_HIGH, NULL},
		{"an error of a GPU before the pod", CUDA, "[Mon Nov  2 03:00:00 2026] " XID("94"), true, false,
		 KIND_TRUE_OOM, CONFIDENCE_HIGH, "another time than that of the run"},
		{"in syslog", CUDA, "Nov  2 03:00:00 node-a kernel: [77.1] " XID("94"), true, false, KIND_TRUE_OOM,
		 CONFIDENCE_HIGH, "Nov  2 03:00:00"},
		{"with a zone", CUDA, "2026-11-20T05:30:00,100000+00:00 " XID("94"), true, false, KIND_TRUE_OOM,
		 CONFIDENCE_HIGH, "another time"},
		{"with a zone, in time", "ValueError: x\n", "2026-11-20T10:30:00,100000+01:00 " XID("94"), true, false,
		 KIND_GPU_FAULT, CONFIDENCE_HIGH, NULL},
		{"a zone that is not known", "ValueError: x\n", "[Thu Nov 19 20:00:00 2026] " XID("94"), true, false,
		 KIND_GPU_FAULT, CONFIDENCE_HIGH, NULL},
		{"a time that cannot be compared", "ValueError: x\n", "[ 77.1] " XID("94"), true, false, KIND_GPU_FAULT,
		 CONFIDENCE_HIGH, NULL},
		/* without pods */
		{"no pod: a full GPU in the log", CUDA, "[1.0] " MEMCG(OTHERS, "redis"), false, false, KIND_TRUE_OOM,
		 CONFIDENCE_HIGH, NULL},
		{"no pod: an error in the log", "ValueError: x\n", "[1.0] " MEMCG(OTHERS, "redis"), false, false,
		 KIND_CONTAINER_LIMIT, CONFIDENCE_MEDIUM, NULL},
		{"no pod: the log tells of the kill",
		 "RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed.\n",
		 "[1.0] " MEMCG(OTHERS, "python"), false, false, KIND_CONTAINER_LIMIT, CONFIDENCE_HIGH, NULL},
		{"no pod: the log tells of a worker that is gone",
		 "RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly\n",
		 "[1.0] " MEMCG(OTHERS, "python"), false, false, KIND_CONTAINER_LIMIT, CONFIDENCE_HIGH, NULL},
		{"no pod: the log only stops", "step 1\nstep 2\n", "[1.0] " MEMCG(OTHERS, "python"), false, false,
		 KIND_CONTAINER_LIMIT, CONFIDENCE_HIGH, NULL},
		{"no pod: no log", NULL, "[1.0] " MEMCG(OTHERS, "python"), false, false, KIND_CONTAINER_LIMIT,
		 CONFIDENCE_HIGH, NULL},
		{"no pod: weeks before the log", "2026-11-20 10:00:00 ValueError: x\n",
		 "[Mon Nov  2 03:00:00 2026] " MEMCG(OTHERS, "redis"), false, false, KIND_NOT_OOM, CONFIDENCE_MEDIUM,
		 "another time"},
		{"no pod: the day of the log", "2026-11-20 10:00:00 ValueError: x\n",
		 "[Fri Nov 20 03:00:00 2026] " MEMCG(OTHERS, "redis"), false, false, KIND_CONTAINER_LIMIT,
		 CONFIDENCE_MEDIUM, NULL},
		{"no pod: weeks before a log that only stops",
		 "2026-11-20 10:00:00 step 1\n2026-11-20 10:00:01 step 2\n",
		 "[Mon Nov  2 03:00:00 2026] " MEMCG(OTHERS, "redis"), false, false, KIND_UNKNOWN, CONFIDENCE_LOW,
		 "another time"},
		{"no pod: an error of a GPU weeks before the log", "2026-11-20 10:00:00 " CUDA,
		 "[Mon Nov  2 03:00:00 2026] " XID("94"), false, false, KIND_TRUE_OOM, CONFIDENCE_HIGH, "another time"},
		{"no pod: an error of a GPU beside a full one", CUDA, "[1.0] " XID("94"), false, false, KIND_GPU_FAULT,
		 CONFIDENCE_MEDIUM, NULL},
		{"no pod: the log speaks of the error, too", CUDA "CUDA error: uncorrectable ECC error encountered\n",
		 "[1.0] " XID("94"), false, false, KIND_GPU_FAULT, CONFIDENCE_HIGH, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = begin();
		const char *unseen;
		struct reading reading;

		test_row(rows[i].name);
		read_text(triage, "dmesg.txt", INPUT_DMESG, rows[i].dmesg);
		read_text(triage, "a.log", INPUT_LOG, rows[i].log);
		if (rows[i].has_pod)
			add_pod(triage, OURS);
		if (rows[i].is_killed) {
			reading_init(&reading);
			reading.scope = SCOPE_CONTAINER;
			assert_int_equal(facts_open(&triage->facts, "status"), 0);
			facts_add(&triage->facts, SIGNAL_OOM_KILLED, &reading, "reason OOMKilled");
		}
		triage_decide(triage);
		unseen = strbuf_text(&triage->unseen);
		if (triage->verdict.kind != rows[i].want || triage->verdict.confidence != rows[i].confidence)
			fail_msg("%s: %s, %s, %s", rows[i].name, triage->verdict.rule->name,
				 triage_confidence_names[triage->verdict.confidence], triage->verdict.why);
		if (rows[i].unseen ? !strstr(unseen, rows[i].unseen) : *unseen)
			fail_msg("%s: %s", rows[i].name, unseen);
		end(triage);
	}
}

/* Of several kills the last shortage decides, and of it the first. */
static void the_last_shortage_counts(void **state)
{
	static const struct {
		const char *name, *dmesg;
		enum kind want;
		const char *why;
	} rows[] = {
		{"two pods",
		 "[Mon Nov  2 03:00:00 2026] " MEMCG(OTHERS, "redis") "[Fri Nov 27 07:00:00 2026] " MEMCG(OURS,
													  "python"),
		 KIND_CONTAINER_LIMIT, "killed python"},
		{"a container, then the node", "[100.0] " MEMCG(OTHERS, "redis") "[9000.0] " NODE(OURS, "python"),
		 KIND_NODE_OOM, "killed python"},
		{"within a minute", "[100.0] " MEMCG(OURS, "python") "[130.0] " MEMCG(OURS, "tee"),
		 KIND_CONTAINER_LIMIT, "killed python"},
		{"within an hour", "[100.0] " MEMCG(OURS, "python") "[3000.0] " MEMCG(OURS, "tee"),
		 KIND_CONTAINER_LIMIT, "killed tee"},
		{"without times", MEMCG(OURS, "python") MEMCG(OURS, "tee"), KIND_CONTAINER_LIMIT, "killed python"},
		/* reports that are cut */
		{"frames of a cgroup", FRAMES("mem_cgroup_out_of_memory"), KIND_CONTAINER_LIMIT, "is cut before"},
		{"frames of the node", INVOKED("0x140cca(GFP_HIGHUSER)") FRAMES("__alloc_pages_slowpath"),
		 KIND_NODE_OOM, "is cut before"},
		{"frames of the node, but flags of a cgroup",
		 INVOKED("0xcc0(GFP_KERNEL)") FRAMES("__alloc_pages_may_oom"), KIND_NODE_OOM, "is cut before"},
		{"statistics say whose limit", FRAMES("mem_cgroup_out_of_memory") STATS("/kubepods/pod" OURS),
		 KIND_POD_LIMIT, "The pod as a whole"},
		{"the flags alone", INVOKED("0xcc0(GFP_KERNEL)"), KIND_CONTAINER_LIMIT, "GFP_KERNEL"},
		{"other flags", INVOKED("0x140cca(GFP_HIGHUSER)"), KIND_UNKNOWN, "the node or a limit"},
		{"a cut one, then a whole one",
		 INVOKED("0x140cca(GFP_HIGHUSER)") FRAMES("__alloc_pages_slowpath") INVOKED("0xcc0(GFP_KERNEL)")
			 FRAMES("mem_cgroup_out_of_memory") "[9.9] " MEMCG(OURS, "python"),
		 KIND_CONTAINER_LIMIT, "killed python"},
		{"a whole one, then a cut one",
		 INVOKED("0xcc0(GFP_KERNEL)") FRAMES("mem_cgroup_out_of_memory") "[9.9] " MEMCG(OURS, "python")
			 INVOKED("0x140cca(GFP_HIGHUSER)") FRAMES("__alloc_pages_slowpath"),
		 KIND_CONTAINER_LIMIT, "killed python"},
		{"frames of an allocation that failed", "[9.1]  __alloc_pages_slowpath+0xbb/0xd0\n", KIND_UNKNOWN, ""},
		{"an XID of another year",
		 "[Sun Nov  2 03:00:00 2025] " XID("74") "[Mon Nov  2 03:00:00 2026] " XID("94"), KIND_GPU_FAULT,
		 "XID 94"},
		{"AMD's driver", "[drm] uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!\n",
		 KIND_GPU_FAULT, "damaged"},
		{"no error of AMD's driver", "amdgpu: no uncorrectable hardware errors detected in gfx block\n",
		 KIND_UNKNOWN, ""},
		{"XIDs of one fault", "[100.0] " XID("48") "[101.0] " XID("94"), KIND_GPU_FAULT, "XID 48"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = begin();

		test_row(rows[i].name);
		read_text(triage, "dmesg.txt", INPUT_DMESG, rows[i].dmesg);
		triage_decide(triage);
		if (triage->verdict.kind != rows[i].want || !strstr(triage->verdict.why, rows[i].why))
			fail_msg("%s: %s", rows[i].name, triage->verdict.why);
		end(triage);
	}
}

/* Of a log with kills of very many pods, that of the pod is kept if it is one of the last. */
static void kills_of_many_pods(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct triage *triage = begin();

	(void)state;
	for (int i = 0; i < 3000; i++)
		strbuf_addf(
			&text,
			"[%d.0] oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods/pod11111111-2222-3333-4444-"
			"55555555%04d/c,task_memcg=/kubepods/x,task=t%d,pid=%d,uid=0\n",
			100 + i, i, i, i);
	read_text(triage, "dmesg.txt", INPUT_DMESG, strbuf_text(&text));
	assert_in_range(triage->facts.items.n, LIMIT_TRIAGE_POD_FACTS / 2, LIMIT_TRIAGE_POD_FACTS);
	add_pod(triage, "11111111-2222-3333-4444-555555552900");
	triage_decide(triage);
	assert_non_null(strstr(triage->verdict.why, "t2900"));
	end(triage);
}

/* A kill of one of several pods is that pod's, though the log of the node was read before the logs of the pods. */
static void kills_belong_to_their_pod(void **state)
{
	struct triage *triage = begin();

	(void)state;
	read_text(triage, "dmesg.txt", INPUT_DMESG, "[1.0] " MEMCG(OURS, "python"));
	for (size_t group = 1; group <= 2; group++) {
		triage->facts.origin.group = group;
		triage->facts.origin.rank = (int)group + 3;
		add_pod(triage, group == 1 ? OTHERS : OURS);
		read_text(triage, "a.log", INPUT_LOG,
			  group == 1 ? "step 9\nWatchdog caught collective operation timeout\n"
				     : "step 7\nSaving checkpoint to /ck/step_7\n");
	}
	triage_decide(triage);
	assert_int_equal(triage->verdict.kind, KIND_CONTAINER_LIMIT);
	assert_int_equal(facts_group_of(&triage->facts, triage->verdict.fact), 2);
	assert_int_equal(triage->verdict.rank, 5);
	assert_int_equal(triage->verdict.step, 7);
	assert_string_equal(triage->verdict.cause, "checkpoint");
	end(triage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_counts),
		cmocka_unit_test(the_last_shortage_counts),
		cmocka_unit_test(kills_of_many_pods),
		cmocka_unit_test(kills_belong_to_their_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
