#!/usr/bin/env python3
"""Turns the recorded runs into OpenMetrics text for `promtool tsdb create-blocks-from openmetrics`.

  backfill.py --out FILE [--now UNIX] [--days N] [--data DIR] [--old-ksm]

Memory and disk values and their cadence are as recorded; only the time stamps move, so that the runs of each workload
spread over the last N days before now. Names, uids and labels are made up, the same for the same --now.

  promtool tsdb create-blocks-from openmetrics --max-block-duration=240h FILE DIR   (a block every two hours without it)
"""
import argparse
import collections
import csv
import datetime
import os
import random
import sys
import time
import uuid

NAMESPACE, NODE, INSTANCE = "ml-team", "gpu-node-1", "10.20.0.11:10250"
REGISTRY = "registry.example.com/ml/"
KUBELET = {"instance": INSTANCE, "job": "kubelet", "metrics_path": "/metrics/cadvisor", "node": NODE}
KSM = {"instance": "10.20.1.7:8080", "job": "kube-state-metrics"}
EPHEMERAL = {"instance": "10.20.1.9:9100", "job": "k8s-ephemeral-storage-metrics"}
ALLOCATABLE = {"cpu": (64, "core"), "nvidia_com_gpu": (8, "integer"), "ephemeral_storage": (200 << 30, "byte")}
STEP = 15  # seconds between two samples of kube-state-metrics
AFTER = 600  # seconds for which an ended pod still exists
BACKOFF = 10  # seconds before a container restarts

# cAdvisor's name, our column, what the pause container shows (not recorded: a constant)
USAGE = (("container_memory_working_set_bytes", "working_set_bytes", 466944),
         ("container_memory_rss", "rss_bytes", 45056),
         ("container_memory_cache", "cache_bytes", 0),
         ("container_memory_usage_bytes", "usage_bytes", 466944),
         ("container_memory_max_usage_bytes", "max_usage_bytes", 1048576),
         ("container_memory_total_active_file_bytes", "active_file_bytes", 0))

# how each workload is submitted; cpu: its cpu request (None: none at all); namespace and image may be given, too
WORKLOADS = {
    "resnet-train": {"kind": "Job", "name": "{w}-{date}", "cpu": 4},
    "clip-stream": {"kind": "CronJob", "name": "{w}-{minutes}", "cpu": 2},
    "bert-finetune": {"kind": "PyTorchJob", "name": "{w}", "cpu": 4, "container": "pytorch",
                      "ranks": ("master", "worker")},
    "llm-pretrain": {"kind": "JobSet", "name": "{w}-workers-0", "cpu": 8},
    "graph-embed": {"kind": "Pod", "name": "{w}-{number}", "cpu": None},
    "feature-scan": {"kind": "Job", "name": "{w}-{number}", "cpu": 2},
    # its first submission is one pod whose container was restarted (OnFailure) and killed again
    "vit-train": {"kind": "Job", "name": "{w}-{date}", "cpu": 4, "restarted": 2},
}

Run = collections.namedtuple("Run", "name workload limit duration outcome exit_code rows")


class Metrics:
    """Samples by metric and series, in the order OpenMetrics wants."""

    def __init__(self):
        self.families = {}

    def add(self, name, labels, samples):
        text = ",".join(f'{k}="{v}"' for k, v in sorted(labels.items()))
        self.families.setdefault(name, {}).setdefault(text, []).extend(samples)

    def write(self, f):
        for name, series in self.families.items():
            f.write(f"# TYPE {name.removesuffix('_total')} {'counter' if name.endswith('_total') else 'gauge'}\n")
            for labels, samples in series.items():
                f.writelines(f"{name}{{{labels}}} {value} {t:.3f}\n" for t, value in sorted(samples))
        f.write("# EOF\n")


def load(folder):
    """The runs by workload, in the order of recording."""
    rows = collections.defaultdict(list)
    with open(os.path.join(folder, "series.csv"), encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            name, t = row.pop("run"), float(row.pop("t_s"))
            rows[name].append((t, {k: int(v) for k, v in row.items()}))
    found = collections.defaultdict(list)
    with open(os.path.join(folder, "runs.csv"), encoding="utf-8", newline="") as f:
        for r in csv.DictReader(f):
            found[r["workload"]].append(Run(r["run"], r["workload"], int(r["limit_bytes"]), float(r["duration_s"]),
                                            r["outcome"], int(r["exit_code"]), rows[r["run"]]))
    return found


def submissions(how, runs):
    """The pods of each submission: a list of lists of (rank, runs of its container one after the other)."""
    if "ranks" in how:
        n = len(how["ranks"])
        return [[(rank, [run]) for rank, run in zip(how["ranks"], runs[i:i + n])] for i in range(0, len(runs), n)]
    first = how.get("restarted", 1)
    return [[("", runs[:first])]] + [[("", [run])] for run in runs[first:]]


class Pod:
    """One pod: its names, and what cAdvisor and kube-state-metrics say of it."""

    def __init__(self, rng, how, workload, rank, runs, owner, start, node_memory, none):
        self.runs, self.start, self.none, self.workload, self.owner = runs, start, none, workload, owner
        self.namespace = how.get("namespace", NAMESPACE)
        self.container = how.get("container", "trainer")
        suffix = "".join(rng.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(5))
        self.kind = how["kind"]
        self.name = {"PyTorchJob": f"{owner}-{rank}-0", "Pod": owner,
                     "JobSet": f"{owner}-0-{suffix}"}.get(self.kind, f"{owner}-{suffix}")
        self.uid = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        self.limit = runs[0].limit if runs[0].limit < node_memory else None  # the whole machine: no limit was set
        self.cpu = how["cpu"]
        self.ids = [f"{rng.getrandbits(256):064x}" for _ in runs]
        self.sandbox = f"{rng.getrandbits(256):064x}"
        self.image = how.get("image", f"{REGISTRY}{workload}:1.4")
        self.digest = f"{rng.getrandbits(256):064x}"
        self.ip = f"10.20.2.{rng.randrange(2, 250)}"
        qos = "burstable" if self.limit or self.cpu else "besteffort"
        self.slice = (f"/kubepods.slice/kubepods-{qos}.slice/kubepods-{qos}-pod{self.uid.replace('-', '_')}.slice")
        self.begins = []  # of each attempt
        t = start
        for run in runs:
            self.begins.append(t)
            self.end = t + run.duration
            t = self.end + BACKOFF

    def cadvisor(self, out):
        base = {"namespace": self.namespace, "pod": self.name, **KUBELET}
        pod = {**base, "container": "", "id": self.slice, "image": "", "name": ""}
        pause = {**base, "container": "", "id": f"{self.slice}/cri-containerd-{self.sandbox}.scope",
                 "image": "registry.k8s.io/pause:3.10", "name": self.sandbox}
        highest = 0
        for run, cid, begin in zip(self.runs, self.ids, self.begins):
            main = {**base, "container": self.container, "id": f"{self.slice}/cri-containerd-{cid}.scope",
                    "image": self.image, "name": cid}
            times = [begin + t for t, _ in run.rows]
            for metric, column, idle in USAGE:
                values = [row[column] for _, row in run.rows]
                sums = [v + idle for v in values]
                if column == "max_usage_bytes":  # the pod's own mark is not reset when a container restarts
                    sums = [max(v, highest) for v in sums]
                    highest = max([highest, *sums])
                out.add(metric, main, zip(times, values))
                out.add(metric, pod, zip(times, sums))
                out.add(metric, pause, [(t, idle) for t in times])
            for labels, value in ((main, self.limit or 0), (pod, self.limit or 0), (pause, 0)):
                out.add("container_spec_memory_limit_bytes", labels, [(t, value) for t in times])
            out.add("ephemeral_storage_pod_usage",
                    {"pod_name": self.name, "pod_namespace": self.namespace, "node_name": NODE, **EPHEMERAL},
                    [(t, row["ephemeral_bytes"]) for t, (_, row) in zip(times, run.rows)])

    def state_metrics(self, out):
        base = {"namespace": self.namespace, "pod": self.name, "uid": self.uid, **KSM}
        times = range(int(self.start), int(self.end + AFTER), STEP)

        def add(metric, labels, value=1, when=lambda t: True):
            samples = [(t, value) for t in times if when(t)]
            if samples:
                out.add(metric, {**base, **labels}, samples)

        def ended(t):
            return t >= self.end

        owner_kind = "Job" if self.kind in ("CronJob", "JobSet") else self.kind
        if self.kind == "Pod":
            owner, made = dict.fromkeys(("owner_kind", "owner_name", "owner_is_controller"), self.none), ("", "")
        else:
            owner = {"owner_kind": owner_kind, "owner_name": self.owner, "owner_is_controller": "true"}
            made = (owner_kind, self.owner)
        add("kube_pod_owner", owner)
        add("kube_pod_info", {"created_by_kind": made[0], "created_by_name": made[1], "host_ip": "10.20.0.11",
                              "host_network": "false", "node": NODE, "pod_ip": self.ip, "priority_class": ""})
        add("kube_pod_start_time", {}, int(self.start))
        add("kube_pod_completion_time", {}, int(self.end), ended)
        phase = "Succeeded" if self.runs[-1].outcome == "completed" else "Failed"
        for p in ("Pending", "Succeeded", "Failed", "Unknown", "Running"):
            out.add("kube_pod_status_phase", {**base, "phase": p},
                    [(t, int(p == (phase if ended(t) else "Running"))) for t in times])
        self.containers(add, ended)
        self.resources(add)
        if owner_kind == "Job" and self.kind != "Pod":
            top = {"CronJob": self.workload, "JobSet": self.workload}.get(self.kind)
            labels = {"owner_kind": self.kind, "owner_name": top, "owner_is_controller": "true"} if top else \
                dict.fromkeys(("owner_kind", "owner_name", "owner_is_controller"), self.none)
            out.add("kube_job_owner", {"namespace": self.namespace, "job_name": self.owner, **labels, **KSM},
                    [(t, 1) for t in times])

    def containers(self, add, ended):
        box = {"container": self.container}
        reason = {"completed": "Completed", "oom-killed": "OOMKilled"}
        for i, (run, cid) in enumerate(zip(self.runs, self.ids)):
            until = self.begins[i + 1] if i + 1 < len(self.runs) else self.end + AFTER
            add("kube_pod_container_info", {**box, "image": self.image, "image_spec": self.image,
                                            "image_id": f"{REGISTRY}{self.workload}@sha256:{self.digest}",
                                            "container_id": f"containerd://{cid}"},
                when=lambda t, i=i, until=until: self.begins[i] <= t < until)
            add("kube_pod_container_status_restarts_total", box, i,
                when=lambda t, i=i, until=until: self.begins[i] <= t < until)
            if i + 1 < len(self.runs):  # restarted: what the last try ended with
                add("kube_pod_container_status_last_terminated_reason",
                    {**box, "reason": reason.get(run.outcome, "Error")}, when=lambda t, until=until: t >= until)
                add("kube_pod_container_status_last_terminated_exitcode", box, run.exit_code,
                    when=lambda t, until=until: t >= until)
        add("kube_pod_container_status_terminated_reason",
            {**box, "reason": reason.get(self.runs[-1].outcome, "Error")}, when=ended)

    def resources(self, add):
        box = {"container": self.container, "node": NODE}
        requests = {"nvidia_com_gpu": (1, "integer")}
        limits = dict(requests)
        if self.cpu:
            requests["cpu"] = (self.cpu, "core")
        if self.limit:  # only the limit was given, so the API server set the request to it
            limits["memory"] = requests["memory"] = (self.limit, "byte")
        for metric, table in (("requests", requests), ("limits", limits)):
            for resource, (value, unit) in table.items():
                add(f"kube_pod_container_resource_{metric}", {**box, "resource": resource, "unit": unit}, value)


LONGEST_SECONDS = 300  # of a submission with its restarts


def pods(found, now, days, none):
    node_memory = max(run.limit for runs in found.values() for run in runs)
    for place, (workload, how) in enumerate(WORKLOADS.items()):
        if workload not in found:
            continue
        rng = random.Random(f"memtamer {workload}")
        parts = submissions(how, found[workload])
        last = now - 3600 - 1500 * place  # when the newest submission began
        step = days * 86400 / max(1, len(parts) - 1)
        for i, ranks in enumerate(parts):
            start = last - (len(parts) - 1 - i) * step
            if how["kind"] == "CronJob":
                scheduled = start // 3600 * 3600
                start = scheduled + 4
            else:
                scheduled = start
                if i + 1 < len(parts):
                    start += rng.randrange(-3600, 3600)
            # None crosses midnight UTC: a median merged from two days is approximate, and what is printed would
            # depend on the time of day.
            if start // 86400 != (start + LONGEST_SECONDS) // 86400:
                start -= LONGEST_SECONDS
            day = datetime.datetime.fromtimestamp(start, datetime.timezone.utc)
            owner = how["name"].format(w=workload, date=day.strftime("%Y%m%d"), minutes=int(scheduled) // 60,
                                       number=41 + i)
            for rank, runs in ranks:
                yield Pod(rng, how, workload, rank, runs, owner, int(start), node_memory, none)


def node(out, found, start, now):
    memory = max(run.limit for runs in found.values() for run in runs)
    times = [*range(int(start), int(now), 240), int(now)]
    for resource, (value, unit) in {**ALLOCATABLE, "memory": (memory, "byte")}.items():
        out.add("kube_node_status_allocatable", {"node": NODE, "resource": resource, "unit": unit, **KSM},
                [(t, value) for t in times])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True, help="- for standard output")
    p.add_argument("--now", type=float, default=time.time(), help="unix time before which everything lies")
    p.add_argument("--days", type=float, default=10)
    p.add_argument("--data", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "data"))
    p.add_argument("--old-ksm", action="store_true", help='"<none>" for "no owner", as before kube-state-metrics 2.10')
    a = p.parse_args()
    found = load(a.data)
    out = Metrics()
    first = a.now
    for pod in pods(found, a.now, a.days, "<none>" if a.old_ksm else ""):
        pod.cadvisor(out)
        pod.state_metrics(out)
        first = min(first, pod.start)
    node(out, found, first, a.now)
    if a.out == "-":
        out.write(sys.stdout)
    else:
        with open(a.out, "w", encoding="utf-8") as f:
            out.write(f)


if __name__ == "__main__":
    main()
