/* SPDX-License-Identifier: Apache-2.0 */
/* What held the memory when the kernel killed a task, and what data of the pod and Prometheus say of an end. */
#include "support/test.h"

#include "triage_fixture.h"

#define OURS "0b5e5c1d-0000-4000-8000-00000000000a"

/* A pod whose use was at its limit says less than the error of another one that ended first. */
static void a_peak_is_no_report_of_a_kill(void **state)
{
	struct triage *triage = begin();
	struct reading reading;

	(void)state;
	for (size_t group = 1; group <= 2; group++) {
		triage->facts.origin.group = group;
		read_text(triage, "a.log", INPUT_LOG, group == 1 ? "ValueError: x\n" : "step 1\n");
	}
	reading_init(&reading);
	reading.value = 137;
	reading.scope = SCOPE_CONTAINER;
	figures_set(&reading.figures, FIGURE_LIMIT, 100);
	figures_set(&reading.figures, FIGURE_USAGE, 99);
	assert_int_equal(facts_open(&triage->facts, "series"), 0);
	facts_add(&triage->facts, SIGNAL_PEAK, &reading, "used at most 99 bytes");
	triage_decide(triage);
	assert_string_equal(triage->verdict.rule->name, "exception");
	end(triage);
}

/* What the pod's object says of data explains a kill at its limit, where nothing explains it better. */
static void data_explains_a_kill(void **state)
{
	static const struct {
		const char *name, *log;
		enum signal_id signal;
		const char *container;
		int64_t rss;		 /* of 100 that were used at most */
		const char *cause, *why; /* NULL: none */
	} rows[] = {
		{"files", NULL, SIGNAL_MEMORY_VOLUME, "c", 49, "shm",
		 "Less than half of what it used was memory of processes."},
		{"processes", NULL, SIGNAL_MEMORY_VOLUME, "c", 50, NULL, "the sizeLimit of 1.00 GiB is not below it"},
		{"of another container", NULL, SIGNAL_MEMORY_VOLUME, "d", 49, NULL, NULL},
		{"a checkpoint that was being written", "step 1\nSaving checkpoint to /a/b\n", SIGNAL_MEMORY_VOLUME,
		 "c", 49, "checkpoint", NULL},
		{"a data set", NULL, SIGNAL_DATASET, "c", 100, "load-everything", "The data set of 1.00 GiB"},
		{"a data set, in training", "step 1\nstep 2\n", SIGNAL_DATASET, "c", 100, NULL,
		 "The data set of 1.00 GiB"},
		{"a data set of another container", NULL, SIGNAL_DATASET, "d", 100, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = begin();
		struct reading reading;

		test_row(rows[i].name);
		read_text(triage, "a.log", INPUT_LOG, rows[i].log);
		assert_int_equal(facts_open(&triage->facts, "status"), 0);
		reading_init(&reading);
		reading.value = 137;
		reading.scope = SCOPE_CONTAINER;
		reading_copy(reading.name, sizeof(reading.name), "c", "");
		figures_set(&reading.figures, FIGURE_LIMIT, 1000);
		facts_add(&triage->facts, SIGNAL_OOM_KILLED, &reading, "reason OOMKilled");
		figures_set(&reading.figures, FIGURE_USAGE, 100);
		figures_set(&reading.figures, FIGURE_CGROUP_ANON, rows[i].rss);
		facts_add(&triage->facts, SIGNAL_PEAK, &reading, "peak");
		reading_init(&reading);
		reading_copy(reading.name, sizeof(reading.name), rows[i].container, "");
		figures_set(&reading.figures, rows[i].signal == SIGNAL_DATASET ? FIGURE_DATASET : FIGURE_VOLUME,
			    (int64_t)GIB);
		facts_add(&triage->facts, rows[i].signal, &reading, "data");
		triage_decide(triage);
		assert_string_equal(triage->verdict.rule->name, "oomkilled");
		if (!streq(triage->verdict.cause, rows[i].cause) ||
		    !strstr(triage->verdict.why, rows[i].why ? rows[i].why : "") ||
		    (!rows[i].why && strstr(triage->verdict.why, "1.00 GiB") && !rows[i].log))
			fail_msg("%s: %s", rows[i].name, triage->verdict.why);
		end(triage);
	}
}

#define HEAD(stats)                                                                                                    \
	"[100.0] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=936\n"                  \
	"[100.0] memory: usage 29360128kB, limit 29360128kB, failcnt 189\n"                                            \
	"[100.0] Memory cgroup stats for /kubepods/pod" OURS "/c1:" stats                                              \
	"[100.0] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n"
#define GIB_PAGES "262144"
#define ROW_OF(pid, pages, name)                                                                                       \
	"[100.0] [   " pid "]     0  " pid "  9000000 " pages "   40000000        0           936 " name "\n"
#define ROW(pages, name) ROW_OF("1001", pages, name)
#define TWICE(row)	 row row
#define FOUR(row)	 TWICE(TWICE(row))
#define EIGHT(row)	 TWICE(FOUR(row))
#define KILL(scope)                                                                                                    \
	"[100.0] oom-kill:constraint=" scope ",task_memcg=/x,task=python,pid=1001,uid=0\n"                             \
	"[100.0] Out of memory: Killed process 1001 (python) total-vm:9kB, anon-rss:4194304kB, file-rss:0kB, "         \
	"shmem-rss:0kB\n"
#define AT_LIMIT KILL("CONSTRAINT_MEMCG,oom_memcg=/kubepods/pod" OURS "/c1")

/* The kernel kills the task with the greatest score, which need not be the one that grew. */
static void who_held_the_memory(void **state)
{
	static const struct {
		const char *name, *log, *dmesg, *cause, *why; /* NULL: none */
	} rows[] = {
		{"workers, and the main process is killed", NULL,
		 HEAD("\n") ROW("1048576", "python") EIGHT(ROW("786432", "pt_data_worker")) AT_LIMIT, "loader-workers",
		 "The limit was 28.00 GiB. 8 tasks named pt_data_worker held 24.00 GiB, at most 3.00 GiB each. They "
		 "have "
		 "nearly the same size, as each copies the objects of the main process that it touches "
		 "(copy-on-write)."},
		{"the arithmetic", "num_workers=10\n",
		 HEAD("\n") ROW("1048576", "python") EIGHT(ROW("786432", "pt_data_worker")) AT_LIMIT, "loader-workers",
		 "num_workers=10 of this size need 30.00 GiB, and the limit is 28.00 GiB."},
		{"workers that do not hold half", NULL,
		 HEAD("\n") ROW("6291456", "python") EIGHT(ROW("98304", "pt_data_worker")) AT_LIMIT, NULL,
		 "8 tasks named pt_data_worker held 3.00 GiB"},
		{"forked copies", NULL, HEAD("\n") ROW("2097152", "python") EIGHT(ROW("524288", "python")) AT_LIMIT,
		 "loader-workers",
		 "8 tasks named python beside the largest one held 16.00 GiB, at most 2.00 GiB each. They are ranks or "
		 "loader workers."},
		{"equal tasks, and a log that names workers", "num_workers=8\n",
		 HEAD("\n") EIGHT(ROW("786432", "python")) AT_LIMIT, "loader-workers",
		 "They are ranks or loader workers. num_workers=8"},
		{"equal tasks are ranks", NULL, HEAD("\n") EIGHT(ROW("786432", "python")) AT_LIMIT, NULL,
		 "7 tasks named python"},
		{"a launcher", "num_workers=8\n",
		 HEAD("\n") ROW("60000", "torchrun") ROW("2097152", "python") EIGHT(ROW("524288", "python")) AT_LIMIT,
		 NULL, "8 tasks named python"},
		{"ranks that offload", "num_workers=8\nDeepSpeedCPUAdam\n",
		 HEAD("\n") ROW("2097152", "python") EIGHT(ROW("524288", "python")) AT_LIMIT, "offload",
		 "8 tasks named python"},
		{"ranks of a launcher", "[rank0]: step 1\n[rank1]: step 1\n",
		 HEAD("\n") EIGHT(ROW("786432", "python")) AT_LIMIT, NULL, "7 tasks named python"},
		{"PyTorch's processes that are no workers", NULL,
		 HEAD("\n") EIGHT(ROW("786432", "pt_main_thread")) AT_LIMIT, NULL, NULL},
		{"tasks of a server", NULL, HEAD("\n") EIGHT(ROW("786432", "uwsgi")) AT_LIMIT, NULL, NULL},
		{"a node with workers", NULL,
		 HEAD("\n") ROW("1048576", "python") EIGHT(ROW("786432", "pt_data_worker")) KILL("CONSTRAINT_NONE"),
		 "loader-workers", "8 tasks named pt_data_worker held 24.00 GiB"},
		{"a node with programs in Python", NULL,
		 HEAD("\n") EIGHT(ROW("786432", "python")) KILL("CONSTRAINT_NONE"), NULL, NULL},
		{"tmpfs, cgroup v2", NULL,
		 HEAD("\n[100.0] anon 4294967296\n        file 25769803776\n        kernel 4096\n"
		      "        shmem 25769803776\n") ROW(GIB_PAGES, "python") AT_LIMIT,
		 "shm", "24.00 GiB of it were files in memory (/dev/shm or another tmpfs) or shared memory."},
		{"tmpfs, journal", NULL,
		 HEAD("\nNov 27 07:00:00 node-a kernel: anon 4294967296\nNov 27 07:00:00 node-a kernel: file "
		      "25769803776\n"
		      "Nov 27 07:00:00 node-a kernel: shmem 25769803776\n") ROW(GIB_PAGES, "python") AT_LIMIT,
		 "shm", "24.00 GiB of it"},
		{"tmpfs, cgroup v1", NULL,
		 HEAD(" cache:25165824KB rss:1048576KB rss_huge:0KB shmem:25165824KB mapped_file:0KB\n")
			 ROW(GIB_PAGES, "python") AT_LIMIT,
		 "shm", "24.00 GiB of it"},
		{"several cgroups of a pod, v1", NULL,
		 HEAD(" cache:8KB rss:4KB shmem:8KB\n[100.0] Memory cgroup stats for /kubepods/pod" OURS "/c2: "
		      "cache:25165816KB rss:1048576KB shmem:25165816KB\n") ROW(GIB_PAGES, "python") AT_LIMIT,
		 "shm", "24.00 GiB of it"},
		{"cgroups below, v1 from 5.0 on", NULL,
		 HEAD("\n[100.0] cache 0\n[100.0] rss 0\n[100.0] shmem 0\n[100.0] hierarchical_memory_limit 9\n[100.0] "
		      "total_cache 25769803776\n[100.0] total_rss 4096\n[100.0] total_shmem 25769803776\n")
			 ROW(GIB_PAGES, "python") AT_LIMIT,
		 "shm", "24.00 GiB of it"},
		{"page cache, v2", NULL,
		 HEAD("\n[100.0] anon 4294967296\n[100.0] file 25769803776\n[100.0] shmem 0\n") ROW(GIB_PAGES, "python")
			 AT_LIMIT,
		 "page-cache",
		 "24.00 GiB of it were page cache of files that were read or written, and processes held only 4.00 "
		 "GiB."},
		{"page cache, v1", NULL,
		 HEAD(" cache:25165824KB rss:1048576KB shmem:0KB\n") ROW(GIB_PAGES, "python") AT_LIMIT, "page-cache",
		 "24.00 GiB of it were page cache"},
		{"processes", NULL,
		 HEAD("\n[100.0] anon 25769803776\n[100.0] file 4294967296\n[100.0] shmem 4096\n")
			 ROW("6291456", "python") AT_LIMIT,
		 NULL, NULL},
		{"statistics of an earlier report", NULL,
		 HEAD(" cache:25165824KB rss:1KB shmem:25165824KB\n") ROW(GIB_PAGES, "python") AT_LIMIT
		 "[9000.0] memory: usage 29360128kB, limit 29360128kB, failcnt 189\n"
		 "[9000.0] Memory cgroup stats for /a: cache:0KB rss:29360128KB shmem:0KB\n"
		 "[9000.0] oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods/pod" OURS
		 "/c1,task=a,pid=2,uid=0\n",
		 NULL, NULL},
		{"pages of 64 KiB", NULL,
		 HEAD("\n") ROW("65536", "python") EIGHT(ROW_OF("1002", "49152", "pt_data_worker")) AT_LIMIT,
		 "loader-workers", "8 tasks named pt_data_worker held 24.00 GiB, at most 3.00 GiB each."},
		{"pages of 64 KiB, without a constraint", NULL,
		 HEAD("\n") ROW("65536", "python") EIGHT(ROW_OF(
			 "1002", "49152", "pt_data_worker")) "[100.0] Memory cgroup out of memory: Killed process 1001 "
							     "(python) total-vm:9kB, anon-rss:2097152kB, "
							     "file-rss:1048576kB, shmem-rss:1048576kB\n",
		 "loader-workers", "8 tasks named pt_data_worker held 24.00 GiB"},
		{"all pods together", NULL, KILL("CONSTRAINT_MEMCG,oom_memcg=/kubepods.slice"), "node-allocatable",
		 "All pods of the node together reached what the node gives to pods, and the kernel killed python"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct triage *triage = begin();

		test_row(rows[i].name);
		read_text(triage, "a.log", INPUT_LOG, rows[i].log);
		read_text(triage, "dmesg.txt", INPUT_DMESG, rows[i].dmesg);
		triage_decide(triage);
		if (!streq(triage->verdict.cause, rows[i].cause) ||
		    !strstr(triage->verdict.why, rows[i].why ? rows[i].why : ""))
			fail_msg("%s: %s: %s", rows[i].name, triage->verdict.cause ? triage->verdict.cause : "no cause",
				 triage->verdict.why);
		if (strstr(triage->verdict.why, "They are ranks or"))
			assert_int_equal(triage->verdict.confidence, CONFIDENCE_LOW);
		end(triage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peak_is_no_report_of_a_kill),
		cmocka_unit_test(data_explains_a_kill),
		cmocka_unit_test(who_held_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
