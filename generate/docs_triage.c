/* SPDX-License-Identifier: Apache-2.0 */
/* docs/TRIAGE.md: the rules and levers of `triage` as a decision table that a person can follow. */
#include "generate/docs.h"

#include "triage/levers.h"
#include "triage/node_rules.h"
#include "triage/triage.h"
#include "triage/verify.h"

#include <stdio.h>

static const char intro[] =
	"# Triage\n\n<!-- Made by memtamer-docs from the program's tables; do not edit. -->\n\n"
	"For the person on call: what kind of out-of-memory ended a run, and what to do first. `triage` reads what a "
	"cluster still\nknows of a pod or of all pods of a job, and files:\n\n"
	"```text\n"
	"kubectl memtamer triage -n NAMESPACE POD\n"
	"kubectl memtamer triage -n NAMESPACE pytorchjob/NAME\n"
	"kubectl memtamer triage --config memtamer.yaml -n NAMESPACE POD\n"
	"kubectl memtamer triage --log rank0.log --log rank1.log.gz --dmesg dmesg.txt --nvidia-smi smi.txt -o json\n"
	"kubectl memtamer triage --node node.txt --log rank0.log\n"
	"kubectl memtamer triage -n NAMESPACE --workload KIND/NAME --log run.log\n"
	"```\n\n"
	"`memtamer-recommender triage` is the same command. The exit code is 0 whatever was found, 2 for an input that "
	"cannot be\nread or an object that does not exist, and 3 for a cluster that cannot be read.\n\n"
	"Without the tool, read the rules below from the top: the first one that holds decides.\n\n"
	"## In a cluster\n\n"
	"A bare name is a pod, or a Job if there is no such pod. Other kinds are those whose pods name their owner in "
	"a "
	"label: Job,\nJobSet, TrainJob, PyTorchJob and the other jobs of Kubeflow, RayJob, RayCluster, "
	"LeaderWorkerSet, Job "
	"of Volcano, Workflow,\nSparkApplication and more (a wrong kind lists them). `triage` reads, with the rights "
	"of whoever "
	"calls:\n\n"
	"| what | right | without it |\n|---|---|---|\n"
	"| status of the pod, or of the pods of a job: reasons, exit codes, limits, evictions, conditions, health of "
	"devices | "
	"get, list `pods` | nothing can be said |\n"
	"| logs of containers that failed: the last 20,000 lines, at most 8 MiB of them, of the first 16 pods that "
	"ended, and the ends of others (below) | get "
	"`pods/log` | the answer says so |\n"
	"| events of the pod and of its job | list `events` | the answer says so |\n"
	"| the Job, for its deadline and failure policy | get `jobs` of batch | the answer says so |\n"
	"| conditions of the pod's node (pressure, health agents) and kills that its kernel monitor reported in the "
	"same minute | "
	"get `nodes`, list `events` in `default` | the answer says so |\n"
	"| what the recommender has recorded of the workload's runs | list `memoryprofiles` of memtamer.io | the "
	"answer "
	"says so |\n"
	"| sizes of at most 4 claims that the pod mounts, only where all data seems to be read into memory | get "
	"`persistentvolumeclaims` | the answer says so |\n\n"
	"Of a job, the pods are read in the order of their ends, and each is decided on its own. The run's cause is "
	"the pod that "
	"ended\nfirst among those that ended for memory or by a damaged GPU, then among those that were killed or "
	"stopped, then "
	"among those with\nan ordinary error: ranks that only lost their peers explain nothing, and pods whose log "
	"was not read less still. Of several attempts "
	"the last one "
	"counts. If a pod is dead and\nothers of its job still run, they wait and hold their accelerators "
	"(`gang-hung`): `next` begins "
	"with the command that frees them. In a\ncluster the recommender finds such jobs by itself "
	"([OPERATIONS.md](OPERATIONS.md#memtamerganghung)).\n\n"
	"If the first 16 pods only lost their peers, the last 200 lines of the logs of up to 128 further pods are "
	"read, until one "
	"of them\nexplains the end. The same is done for pods that ended in the same second as one with an ordinary "
	"error: the "
	"times in the\nstatus of a pod have whole seconds.\n\n"
	"What is recorded of the workload (`recorded` among the evidence) is the peak of complete runs, the greatest "
	"limit at which a run\nwas killed, whether a leak is suspected, the recommended limit and the last diagnosis. "
	"It "
	"decides no kind. Of a kill at the limit\nof a container, the lever that raises the limit has the recommended "
	"limit as its setting, if that is greater; and the cause is\n`leak` if a leak is suspected and nothing else "
	"gave "
	"a cause. Beside files, `--workload KIND/NAME` names the workload, with the kind\nand name of an object that "
	"people submit, as `explain` takes them.\n\n"
	"Of the pod's spec two things are put beside the memory limit of a container that was killed at it: the "
	"largest "
	"`emptyDir`\nof medium `Memory` that it mounts (its files are memory, and without a `sizeLimit` it is as large "
	"as the "
	"limit), and the\ndata set that the annotation `memtamer.io/dataset-size` names. `num_workers` and "
	"`prefetch_factor` "
	"in arguments, environment\nor log give how much of the limit each batch that waits may take; the kernel's "
	"table of "
	"tasks gives what each worker held.\n\n"
	"What a container's end proves:\n\n"
	"| status | proves |\n|---|---|\n"
	"| `OOMKilled` | the kernel killed a task in the container's cgroup: at its limit, almost always, and for a "
	"node "
	"without memory if there is no limit |\n"
	"| 137, `Error` | SIGKILL from somebody: the kubelet after the grace period, a probe, a launcher, or the "
	"kernel |\n"
	"| 137, `ContainerStatusUnknown` | nothing: the kubelet lost the container and made the code up |\n"
	"| 143 | SIGTERM: somebody asked it to end |\n"
	"| 139, 135 | SIGSEGV; SIGBUS, which a full /dev/shm gives |\n"
	"| 1 | the program's own error, or a launcher that lost a child: with cgroup v1 or `singleProcessOOMKill` a "
	"killed worker ends "
	"so |\n"
	"| 0 | that process 1 ended well: children may have been killed, and a pod that was evicted for its disk may "
	"say so, too |\n\n"
	"## With Prometheus\n"
	"\n"
	"`--config FILE` names a configuration file as `memtamer-recommender` has it; of its keys `prometheus` and "
	"`kubernetes`\n"
	"count. Of each container whose log is read, at most the last six hours of its life are asked for, with five "
	"queries\n"
	"that name the pod. They add, each as evidence with its figures:\n"
	"\n"
	"- `peak`: the greatest working set and rss beside the memory limit. Samples are up to a minute apart, so the "
	"use at\n"
	"  the end may have been greater. If it stayed below half of the limit, a kill has most likely another reason "
	"than the\n"
	"  limit. If it came to 95 % of the limit, a container failed, and nothing else says why, it decides "
	"(`peak-at-limit`),\n"
	"  as the history calls such a run `suspected-oom`.\n"
	"- `climb`: the working set rose in each quarter of the container's life by a twentieth of the limit or more, "
	"from "
	"below\n"
	"  half of the limit to nine tenths of it. If the log shows no training step, the program was still reading "
	"its data "
	"(cause\n"
	"  `load-everything`).\n"
	"- `oom-counted`: `container_oom_events_total` of cAdvisor rose. It shows kills that Kubernetes does not show: "
	"a child\n"
	"  was killed, and process 1 lived on or ended by itself, also with 0. If it rose within ten minutes before "
	"the end, or\n"
	"  the container still runs, it can decide (rules below). 0 proves nothing: if all of a container is killed, "
	"its\n"
	"  counter ends with it. If a log reports a killed child and the counter stayed 0, the rule `hidden-kill` has "
	"a low\n"
	"  confidence and says so.\n"
	"- `xid`: `DCGM_FI_DEV_XID_ERRORS` of a GPU of the pod changed, by dcgm-exporter with labels of pods. It "
	"counts "
	"as a line of\n"
	"  the driver. The metric keeps the last error of a GPU, so one that was there from the beginning is only "
	"named among\n"
	"  what was not seen. Two more queries are sent for pods that have accelerators.\n"
	"\n"
	"`kube_pod_container_status_last_terminated_reason` is not read: the status of the pod has it. One query may "
	"take 10\n"
	"seconds (or the shorter `prometheus.timeout`), all of them 20. If Prometheus does not answer, refuses, or has "
	"no such\n"
	"series, the answer says so and is otherwise the same.\n"
	"\n"
	"## Files\n\n"
	"Logs are read as streams of any length, also compressed with gzip or Zstandard, and in UTF-16. Of files of "
	"other compressors\n(xz, bzip2, zip, lz4, 7z) the answer says that they were not read. The rank of a log comes "
	"from its "
	"name "
	"(`rank3.log`,\n"
	"`worker-3`) or from its lines (`[rank3]:`, `[3]:`, `3:`, `[default3]:`). Given with a pod, files count for "
	"all of its "
	"job. Beside a log or pod that is named\n`...-master-0` and has rank 0, `worker-0` is rank 1, as with a "
	"PyTorchJob.\nWhich rank died first is known within a file from the order of its lines. Between files it is "
	"known "
	"from the times of the\nlines (`2026-11-20 10:00:31,123`, also with a time zone), where each line that tells "
	"of an end begins with one and all of\nthe same form; otherwise the file that is named first counts.\n\n"
	"The text of dcgm-exporter (`curl -s NODE:9400/metrics`) and what `dcgmi health -c` and `dcgmi diag` print are "
	"recognised in any\nfile. `DCGM_FI_DEV_XID_ERRORS` counts as an XID of the driver, "
	"`DCGM_FI_DEV_ECC_DBE_VOL_TOTAL`, `DCGM_FI_DEV_ROW_REMAP_FAILURE`,\n`DCGM_FI_DEV_ROW_REMAP_PENDING` and "
	"`DCGM_FI_DEV_RETIRED_PENDING` above 0 as a fault of the GPU; `DCGM_FI_DEV_ECC_DBE_AGG_TOTAL` is\nonly "
	"evidence, as its errors may be older than the run. `DCGM_FI_DEV_FB_USED` and `DCGM_FI_DEV_FB_FREE` say how "
	"full "
	"a GPU is. A\ntest of `dcgmi diag` that fails counts only with a message that the GPU is damaged: it also "
	"fails "
	"while a program holds the GPU.\n"
	"\n"
	"What `seff`, `sacct` and `scontrol show job` print of a job of Slurm is recognised in any file, with what the "
	"job asked for\n(`ReqMem`) and used (`MaxRSS`) where these columns are printed.\n"
	"\n"
	"The log of a node (`--dmesg`) tells of all pods and of all the time since its boot. Given with pods, kills in "
	"cgroups of\n"
	"other pods are left out. So are lines from before the pods' creation or after their end, where times can be "
	"compared.\n"
	"`unseen` says what was left out. Without pods, lines from more than a day before the last time in the logs "
	"are left out.\n"
	"Of several kills or errors the last ones count. A log may name an end of its own, to which nothing ties the "
	"node's kill.\n"
	"Then a GPU that ran out of memory decides; without one, the kill does, with medium confidence at most.\n"
	"\n"
	"Who held the memory at a kill is read from the kernel's statistics of the cgroup and its table of tasks: "
	"files "
	"in memory\n"
	"(cause `shm`), page cache (`page-cache`), or workers of the data loader (`loader-workers`), each from half of "
	"the limit\n"
	"on. A node's table counts only workers whose name says so.\n"
	"\n"
	"A report that is cut before the line of the kill may still say at whose limit the kernel kills: the path in "
	"its\n"
	"statistics (`Memory cgroup stats for`), or its call trace (`mem_cgroup_out_of_memory` or "
	"`mem_cgroup_oom_synchronize`\n"
	"for a cgroup, `__alloc_pages_...` behind `out_of_memory` for the node). The same rules then hold, with a "
	"confidence one\n"
	"step lower, and the answer says how to get the whole report. The first line alone is `kernel-charge` or "
	"`kernel-invoked`\n"
	"(rules below). In the first line of a file `# ` begins the title of a ticket, and elsewhere a comment, which "
	"proves nothing.\n";

/* One message a format; a test reads them. */
#define FIGURE_EXAMPLES                                                                                                \
	"# PyTorch 2.1 and later\n"                                                                                    \
	"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate T[2.00 GiB]. GPU 0 has a total capacity of "    \
	"C[79.15 GiB] of which F[1.00 GiB] is free. Including non-PyTorch memory, this process has P[78.10 GiB] "      \
	"memory in use. Of the allocated memory A[60.00 GiB] is allocated by PyTorch, and U[16.20 GiB] is reserved "   \
	"by PyTorch but unallocated.\n"                                                                                \
	"# PyTorch 1.4 to 2.0\n"                                                                                       \
	"RuntimeError: CUDA out of memory. Tried to allocate T[2.00 GiB] (GPU 0; C[15.78 GiB] total capacity; "        \
	"A[8.20 GiB] already allocated; F[0.50 GiB] free; R[14.20 GiB] reserved in total by PyTorch)\n"                \
	"# PyTorch before 1.4\n"                                                                                       \
	"RuntimeError: CUDA out of memory. Tried to allocate T[2.00 GiB] (GPU 0; C[10.73 GiB] total capacity; "        \
	"A[9.55 GiB] already allocated; F[0.50 GiB] free; U[0.25 GiB] cached)\n"                                       \
	"# TensorFlow\n"                                                                                               \
	"Allocator (GPU_0_bfc) ran out of memory trying to allocate T[2.59 GiB]\n"                                     \
	"Limit:   C[6714163200]\n"                                                                                     \
	"InUse:   A[6500000000]\n"                                                                                     \
	"# XLA on a TPU\n"                                                                                             \
	"Ran out of memory in memory space hbm. Used T[17.54G] of C[15.48G] hbm.\n"                                    \
	"# Paddle\n"                                                                                                   \
	"Out of memory error on GPU 0. Cannot allocate T[1.50GB] memory on GPU 0, A[31.00GB] memory has been "         \
	"allocated and available memory is only F[0.50GB].\n"

static const char rules_intro[] = "\n## Rules\n\n"
				  "Hardware comes before software, the killer's own report before what the program "
				  "says, figures before words. Of "
				  "several\nranks the first that died counts: time-outs of the others are collateral. "
				  "Figures of a GPU: T what was "
				  "tried, C the\ncapacity, F what is free, P all that this process holds, U what is "
				  "reserved but unallocated, and O "
				  "what others hold:\nC - F - P. PyTorch 1.4 to 2.0 prints no U, which is R (reserved) "
				  "- A (allocated) there, and no "
				  "P, which is R; before 1.4 U is\n`cached`, and P is A + U. Where the figures stand, "
				  "in the form NAME[figure]:\n\n"
				  "```text\n" FIGURE_EXAMPLES "```\n\n"
				  "| | rule | when | kind | cause | confidence |\n|---|---|---|---|---|---|\n";

static const char verify_intro[] =
	"\n## Did the fix hold?\n\n"
	"Keep the answer about the crash, apply a lever, and compare the new run with it, while it runs or after:\n\n"
	"```text\n"
	"kubectl memtamer triage -n NAMESPACE POD -o json >crash.json\n"
	"kubectl memtamer triage -n NAMESPACE NEW-POD --verify --against crash.json\n"
	"memtamer-recommender triage --verify --against crash.json --log new.log --nvidia-smi smi.txt\n"
	"kubectl memtamer triage -n NAMESPACE KIND/NAME --verify\n"
	"```\n\n"
	"Without `--against`, the crash is `status.diagnosis` of the workload's MemoryProfile (right: list "
	"`memoryprofiles`), "
	"which has\nthe limit and use of the container, and, where the recommender may read logs "
	"(`recommender.readLogs`), the figures of the GPU and\nthe step of the crash as well; pods that ended with it "
	"are not taken for the new run. Each check is answered yes, no or unknown:\n\n"
	"| check | yes | no |\n|---|---|---|\n";

static const char verify_outcomes[] = "\nThe verdict is `did-not-hold` if the new run ended for memory, of the same "
				      "kind or of another one, or if the answer "
				      "to a check\nother than throughput is no; the answer then names the next lever. "
				      "It is `held` if passed-step and "
				      "peak-below are yes, or if\npassed-step is yes and the run is done. Everything "
				      "else is `too-early`, with what to collect. "
				      "If throughput got worse, the\nanswer says what to roll back.\n";

static const char node_intro[] =
	"\n## Settings of the node\n\n"
	"`--node FILE` says what the settings of a node mean for training, beside the verdict. The file is what these "
	"commands "
	"print on\nthe node, also in part:\n\n"
	"```sh\n"
	"{ sysctl vm; cat /proc/meminfo; stat -fc %T /sys/fs/cgroup; ls /sys/fs/cgroup /sys/fs/cgroup/memory\n"
	"  grep oom_kill /proc/vmstat; cat /proc/pressure/memory\n"
	"  grep -H . /sys/fs/cgroup/kubepods*/memory.max /sys/fs/cgroup/memory/kubepods*/memory.limit_in_bytes\n"
	"  grep -rHv --include=memory.high max /sys/fs/cgroup/kubepods*\n"
	"  grep -rH --include=memory.oom_control 'oom_kill_disable 1' /sys/fs/cgroup/memory\n"
	"  for p in /proc/[0-9]*; do echo \"oom_score_adj=$(cat $p/oom_score_adj) $(cat $p/comm)\"; done; } >node.txt "
	"2>/dev/null\n"
	"```\n\n"
	"`--node /` reads the same on the node itself, `--node /host` in a pod of `kubectl debug node/NODE`; only "
	"`/proc` and "
	"`/sys` below\nthe folder are read. A node counts as one of Kubernetes if kubepods or a kubelet is seen; the "
	"answer says if "
	"not. There the kubelet\nsets vm.overcommit_memory to 1, and that is right; 2 is right nowhere that models are "
	"trained. If a "
	"log has a refused\nallocation and the node's setting is 2, the cause is `overcommit`.\n\n"
	"With `--config FILE`, `--node node/NAME` reads the series of node_exporter instead: what `/proc/meminfo`,\n"
	"`/proc/vmstat` and `/proc/pressure/memory` have, and settings of sysctl where its collector for them is on\n"
	"(`--collector.sysctl`). NAME is the `nodename` of `node_uname_info`, or its label `node`, `kubernetes_node` "
	"or\n"
	"`instance`, with or without the port. A node that kube-state-metrics knows counts as one of Kubernetes. "
	"Series have no\n"
	"cgroup version, no processes and nothing that the kubelet reserves; the answer says so.\n"
	"\n"
	"All findings that hold are listed, in this order:\n\n"
	"| finding | harm | when | do |\n|---|---|---|---|\n";

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
		docs_add_cell(buf, triage_rules[i].when);
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

static const char *cause_of(const struct lever *lever)
{
	if (lever->cause && streq(lever->cause, LEVER_NO_CAUSE))
		return "no cause known";
	return lever->cause ? lever->cause : "";
}

/* The last cell: cause, framework and, where not all devices have what the setting names, devices. */
static void add_only(struct strbuf *buf, const char *framework, const struct lever *lever)
{
	const char *cause = cause_of(lever), *between = *cause && *framework ? ", " : "";
	bool is_for_all = true;

	strbuf_addf(buf, " | %s%s%s", cause, between, framework);
	for (int i = 0; i < DEVICE_COUNT_; i++)
		is_for_all = is_for_all && device_has((enum device)i, lever->setting);
	between = *cause || *framework ? "; " : "";
	for (int i = 0; i < DEVICE_COUNT_ && !is_for_all; i++)
		if (device_has((enum device)i, lever->setting)) {
			strbuf_addf(buf, "%s%s", between, device_names[i]);
			between = ", ";
		}
	strbuf_adds(buf, " |\n");
}

/* Whether two rows differ in their frameworks only. */
static bool is_same(size_t one, size_t other)
{
	return one < n_levers && other < n_levers && levers[one].kind == levers[other].kind &&
	       streq(levers[one].action, levers[other].action) && streq(levers[one].setting, levers[other].setting);
}

static void add_levers(struct strbuf *buf, enum kind kind)
{
	static const char *const frameworks[] = {[FRAMEWORK_NONE] = "",
						 [FRAMEWORK_TORCH] = "PyTorch",
						 [FRAMEWORK_MPS] = "PyTorch on Metal",
						 [FRAMEWORK_TENSORFLOW] = "TensorFlow",
						 [FRAMEWORK_JAX] = "JAX",
						 [FRAMEWORK_PADDLE] = "Paddle",
						 [FRAMEWORK_OTHER] = ""};
	int order = 0;

	for (size_t i = 0; i < n_levers; i++) {
		char framework[64];

		if (levers[i].kind != kind || (i && is_same(i - 1, i)))
			continue;
		snprintf(framework, sizeof(framework), "%s%s%s", frameworks[levers[i].framework],
			 is_same(i, i + 1) ? ", " : "", is_same(i, i + 1) ? frameworks[levers[i + 1].framework] : "");
		if (!order++)
			strbuf_adds(buf, "\n| | do | setting | because | only for |\n|---|---|---|---|---|\n");
		strbuf_addf(buf, "| %d | ", order);
		docs_add_cell(buf, levers[i].action);
		strbuf_adds(buf, " | `");
		docs_add_cell(buf, levers[i].setting);
		strbuf_adds(buf, "` | ");
		docs_add_cell(buf, levers[i].why);
		add_only(buf, framework, &levers[i]);
	}
}

static void add_node(struct strbuf *buf)
{
	strbuf_adds(buf, node_intro);
	for (size_t i = 0; i < n_node_rules; i++) {
		strbuf_addf(buf, "| `%s` | %s | ", node_rules[i].name, node_harm_names[node_rules[i].harm]);
		docs_add_cell(buf, node_rules[i].when);
		strbuf_adds(buf, " | ");
		docs_add_cell(buf, node_rules[i].action ? node_rules[i].action : "");
		strbuf_adds(buf, " |\n");
	}
}

static void add_checks(struct strbuf *buf)
{
	strbuf_adds(buf, verify_intro);
	for (int i = 0; i < VERIFY_COUNT_; i++) {
		strbuf_addf(buf, "| `%s` | ", verify_rows[i].name);
		docs_add_cell(buf, verify_rows[i].yes);
		strbuf_adds(buf, " | ");
		docs_add_cell(buf, verify_rows[i].no);
		strbuf_adds(buf, " |\n");
	}
	strbuf_adds(buf, verify_outcomes);
}

int triage_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, intro);
	add_kinds(buf);
	add_rules(buf);
	strbuf_adds(
		buf,
		"\n## What to do\n\n"
		"Levers are in the order in which to try them. Those that were in force already when the run ended "
		"are left out, and the\nanswer names them. In settings, `{conf}` is `PYTORCH_ALLOC_CONF` from PyTorch "
		"2.9 on (not 2.9.1, which ignores\n`expandable_segments` there), and before it the variable that the "
		"message names, else `PYTORCH_CUDA_ALLOC_CONF`, or\n`PYTORCH_HIP_ALLOC_CONF` on AMD; Ascend's and "
		"Cambricon's builds have their own (`PYTORCH_NPU_ALLOC_CONF`,\n`PYTORCH_MLU_ALLOC_CONF`). Before "
		"PyTorch 2.1 `expandable_segments`,\nand before 1.12 `garbage_collection_threshold`, end the run at "
		"its start. `{double}` "
		"is "
		"twice the limit that was reached, or the limit that is recommended for the workload, if that is known "
		"and greater. `<peak>`, and the numbers `B`, `A`, `S` and `W`\nof micro-batch, "
		"accumulation, sequence and workers, become figures where the inputs have them. Commands and resources "
		"are those of NVIDIA;\non another device that the deciding line names, an answer has those of that "
		"device, such as `amd-smi process` and\n`amd.com/gpu: 1`, and leaves out what it does not have.\n");
	for (int i = 0; i < KIND_COUNT_; i++) {
		strbuf_addf(buf, "\n### %s\n", triage_kinds[i].name);
		add_levers(buf, (enum kind)i);
		add_list(buf, "What not to do:", levers_avoid, n_levers_avoid, (enum kind)i);
		add_list(buf, "Next:", levers_next, n_levers_next, (enum kind)i);
	}
	add_checks(buf);
	add_node(buf);
	return triage_json_render_docs(buf);
}
