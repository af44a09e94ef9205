# SPDX-License-Identifier: Apache-2.0
"""What a cluster costs and gives: objects in etcd, the webhook's snapshot by watch, changes under load, idle calls.

On a real API server (tests/cluster), in whose network this runs."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
INSIDE = "MEMTAMER_BENCH_INSIDE"
sys.path[:0] = [os.path.join(TOP, "tests/e2e"), os.path.join(TOP, "tests/blackbox"), HERE]

import bench  # noqa: E402
import harness  # noqa: E402
import kills  # noqa: E402
from bench import REVIEW, pace, pin, rss_mib  # noqa: E402

CHANGES_A_SECOND = 1000
FILLED_S = 900  # the API server reads 200,000 objects anew


def enter():
    """Into the network of a cluster of its own, which ends with this process."""
    folder = os.environ.setdefault("MEMTAMER_CLUSTER", os.path.join(TOP, "build/cluster-bench"))
    if not os.path.exists(os.path.join(folder, "ready")):
        subprocess.run([os.path.join(TOP, "tests/cluster/up"), "--owner", str(os.getpid())], check=True)
    os.environ[INSIDE] = "1"
    command = os.path.join(TOP, "tests/cluster/exec")
    os.execv(command, [command, sys.executable, "-B", *sys.argv])


def mib(count):
    return f"{count / 2**20:,.1f} MiB"


def service_pid(name):
    """By the machine's numbers: the cluster's process is the one whose parent is its process 1."""
    with open(os.path.join(os.environ["MEMTAMER_CLUSTER"], "init.pid"), encoding="ascii") as file:
        init = file.read().split()[0]
    done = subprocess.run(["pgrep", "-P", init, "-x", name[:15]], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


class Webhook(harness.Webhook):
    """With the objects of the cluster."""

    def configure(self, text=""):
        super().configure(text)
        with open(self.config_path, encoding="utf-8") as file:
            lines = file.read().replace("store: { kind: file, path: profiles.json }", "store: { kind: kube }")
        harness.write_atomic(self.config_path, lines + "namespaces: { own: default }\n")


# ---- objects ----

def store_one(api, thing, name, namespace):
    """Through the API server, as the recommender does; what etcd holds then."""
    from etcd import KINDS, PREFIX, Etcd
    plural = KINDS[thing["kind"]]
    path = f"/apis/memtamer.io/v1alpha1/namespaces/{namespace}/{plural}"
    live = api.create(path, {**thing, "metadata": {"name": name}}).body
    if "status" in thing:
        live["status"] = thing["status"]
        api.call("PUT", f"{path}/{name}/status", live)
    return json.loads(Etcd().get(f"{PREFIX}{plural}/{namespace}/{name}"))


def compact_json(thing):
    return len(json.dumps(thing, separators=(",", ":")))


def object_lines(api):
    """The table of sizes, and stored objects to copy: {kind: object}."""
    import etcd
    known = etcd.learned()
    rows = [("MemoryProfile", known["MemoryProfile"]), ("MemoryHistory, 6 runs", known["MemoryHistory"]),
            ("MemoryHistory, 32 runs", etcd.with_runs(known["MemoryHistory"], 32))]
    lines = ["| object | as written | as stored in etcd |", "|---|---|---|"]
    stored = []
    for index, (words, thing) in enumerate(rows):
        stored.append(store_one(api, thing, f"learned-{index}", "default"))
        lines.append(f"| {words} | {compact_json(thing):,} B | {compact_json(stored[-1]):,} B |")
    return lines, {"MemoryProfile": stored[0], "MemoryHistory": stored[2]}


def fill(etcd_, stored, count):
    import etcd
    etcd_.wipe()
    return {kind: etcd_.put_all(etcd.copies(thing, range(count))) for kind, thing in stored.items()}


def served(api, etcd_, stored):
    """Wait until what the API server holds in memory is as new as etcd. It learns of a revision by the changes of a kind
    only, so each kind gets one more."""
    import etcd
    for kind, thing in stored.items():
        etcd_.put_all(etcd.copies(thing, [0]))
        path = (f"/apis/memtamer.io/v1alpha1/namespaces/default/{etcd.KINDS[kind]}/none"
                f"?resourceVersion={etcd_.revision()}")
        harness.wait_until(lambda: api.request("GET", path).status == 404,
                           "the API server to have read what is in etcd", patience=FILLED_S)


def etcd_row(api, etcd_, stored, count):
    sizes = fill(etcd_, stored, count)
    served(api, etcd_, stored)
    etcd_.compact()
    return (f"| {count:,} | {mib(sizes['MemoryProfile'])} | {mib(sizes['MemoryHistory'])} "
            f"| {mib(etcd_.bytes_in_use())} | {rss_mib(service_pid('etcd')):,.0f} MiB "
            f"| {rss_mib(service_pid('kube-apiserver')):,.0f} MiB |")


# ---- the webhook ----

def start(folder, authority):
    import cluster
    import programs
    pod = programs.Pod(folder, cluster.Cluster()).command()
    begin = time.perf_counter()
    webhook = Webhook(folder, "mode: enforce\nlog: { level: warn }\nwebhook.drain: 0s", ready=False, authority=authority,
                      before=pod)
    while not webhook.is_ready():
        webhook.assert_runs()
        time.sleep(0.002)
    return webhook, time.perf_counter() - begin


def snapshot_row(folder, authority, count, tries):
    times = []
    for _ in range(tries):
        webhook, taken = start(folder, authority)
        times.append(taken)
        if len(times) < tries:
            webhook.stop()
    seen = webhook.metric("memtamer_snapshot_profiles")
    idle, peak = rss_mib(webhook.process.pid), rss_mib(webhook.process.pid, "VmHWM")
    webhook.stop()
    return f"| {count:,} | {seen:,.0f} | {statistics.median(times):.2f} s | {idle:.1f} MiB | {peak:.1f} MiB |"


def put_jobs(api, etcd_, count):
    """Jobs of one pod each, copies of one that the API server has stored. Nobody runs them: they are managed by somebody
    else, so that the controllers of the cluster leave them alone."""
    import etcd
    template = {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "trainer", "image": "registry.example.com/train:1", "command": ["python", "train.py"],
         "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "32Gi"}}}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", "labels": {"team": "research"}},
           "spec": {"managedBy": "example.com/nobody", "template": template}}
    live = api.create("/apis/batch/v1/namespaces/default/jobs", job).body
    etcd_.put_all(etcd.copies_of_job(live, range(count)))


def owners_cost(folder, authority):
    """(CPU time in ms, RSS, peak RSS in MiB) of a webhook that has started and has read all lists: it rests then."""
    webhook, _ = start(folder, authority)
    pid, before, rests = webhook.process.pid, 0, 0
    while rests < 10:
        time.sleep(0.5)
        rests = rests + 1 if 1e3 * bench.cpu_seconds(pid) - before < 1 else 0
        before = 1e3 * bench.cpu_seconds(pid)
    cost = before, rss_mib(pid), rss_mib(pid, "VmHWM")
    webhook.stop()
    return cost


def owners_lines(api, etcd_, folder, authority, count):
    idle, without, _ = owners_cost(folder, authority)
    put_jobs(api, etcd_, count)
    listed = {}

    def is_whole():
        listed.update(api.get("/apis/batch/v1/jobs"))
        return len(listed["items"]) > count
    harness.wait_until(is_whole, "the API server to list all Jobs", patience=FILLED_S)
    busy, after, peak = owners_cost(folder, authority)
    etcd_.remove("/registry/jobs/")
    return ["| Jobs | list | CPU time to read them | RSS without them | RSS | peak RSS |", "|---|---|---|---|---|---|",
            f"| {count:,} | {mib(compact_json(listed))} | {busy - idle:,.0f} ms | {without:.1f} MiB | {after:.1f} MiB | {peak:.1f} MiB |"]


class Changer(threading.Thread):
    """Changes objects of a kind in etcd at a rate, a tenth of a second's worth at once, until stopped."""

    def __init__(self, stored, count):
        super().__init__()
        self.stored, self.count, self.done, self.changed = stored, count, threading.Event(), 0

    def run(self):
        import etcd
        own, at, step = etcd.Etcd(), time.monotonic(), 0
        while not self.done.is_set():
            indexes = [(step * 100 + k) % self.count for k in range(CHANGES_A_SECOND // 10)]
            limit = f"{1000 + step}Mi" if self.stored["kind"] == "MemoryProfile" else None
            own.put_all(etcd.copies(self.stored, indexes, limit=limit))
            self.changed += len(indexes)
            step, at = step + 1, at + 0.1
            self.done.wait(max(0, at - time.monotonic()))

    def stop(self):
        self.done.set()
        self.join()


def paced_with_changes(webhook, stored, count, seconds):
    """`stored` None: nothing changes."""
    changer = Changer(stored, count)
    if stored:
        changer.start()
    before = bench.cpu_seconds(webhook.process.pid)
    result = pace(webhook, seconds)
    result["cpu"] = (bench.cpu_seconds(webhook.process.pid) - before) / seconds
    if stored:
        changer.stop()
    result["changes"] = changer.changed / seconds
    return result


def change_lines(folder, authority, stored, count, seconds, rounds):
    webhook, _ = start(folder, authority)
    pin(webhook.process.pid, 1)
    lines = ["| what changes | p50 / p99 / p99.9 at 1,000/s | webhook's CPU | changes a second | failed |",
             "|---|---|---|---|---|"]
    loads = {"nothing": None, "histories, which it does not watch": "MemoryHistory", "profiles": "MemoryProfile"}
    results = {words: [] for words in loads}
    for _ in range(rounds):
        for words, kind in loads.items():
            results[words].append(paced_with_changes(webhook, stored.get(kind), count, seconds))
    for words, rows in results.items():
        middle = {key: statistics.median(row[key] for row in rows)
                  for key in ("p50_us", "p99_us", "p999_us", "cpu", "changes")}
        lines.append(f"| {words} | {middle['p50_us']:,.0f} / {middle['p99_us']:,.0f} / {middle['p999_us']:,.0f} us "
                     f"| {100 * middle['cpu']:.0f} % | {middle['changes']:,.0f} "
                     f"| {sum(row['failed'] for row in rows)} |")
    webhook.stop()
    return lines


def report(quick):
    import cluster
    import etcd
    import objects
    api, own = cluster.Cluster(), etcd.Etcd()
    counts = (1000, 10000) if quick else (10000, 100000)
    objects.apply_definitions(api, objects.definitions())
    own.wipe()
    with tempfile.TemporaryDirectory(prefix="memtamer-bench-") as folder:
        authority = harness.Authority(folder)
        authority.issue("tls")
        lines = ["# In a cluster", "",
                 "On a real API server and etcd (tests/cluster). Objects are copies of what the recommender learned of "
                 "one recorded", "training of six runs (demo/data); they are put into etcd as the API server stored the "
                 "first.", "", "Command: `tests/bench/run cluster`" + (" (quick)" if quick else ""), "",
                 f"Machine: {bench.machine()}.", "", "## One object", ""]
        table, stored = object_lines(api)
        lines += table + ["", "## Workloads in etcd", "",
                          "A profile and a history of 32 runs each, with a decision for each run and curves of the last "
                          "eight; after compaction and defragmentation. A fresh cluster: etcd " + mib(own.bytes_in_use()) + f", API server "
                          f"{rss_mib(service_pid('kube-apiserver')):,.0f} MiB.", "",
                          "| workloads | profiles | histories | etcd's database | RSS of etcd | RSS of the API server |",
                          "|---|---|---|---|---|---|"]
        snapshots = ["", "## The webhook's snapshot by list and watch", "",
                     "| profiles | in the snapshot | start to ready | RSS | peak RSS |", "|---|---|---|---|---|"]
        for count in counts:
            lines.append(etcd_row(api, own, stored, count))
            snapshots.append(snapshot_row(folder, authority, count, 1 if quick else 3))
            if count == counts[0]:
                changes = ["", f"## Admissions while {CHANGES_A_SECOND:,} of {count:,} objects change a second", "",
                           "etcd, API server and load share the processors with the webhook: what changes of an object "
                           "that it does not watch cost", "is theirs.", ""]
                changes += change_lines(folder, authority, stored, count, 3 if quick else 10, 1 if quick else 3)
                learned = ["", "## From an OOM kill to the profile", "",
                           "Without Prometheus: from the status that says OOMKilled to the raised profile.", ""]
                learned += kills.lines(api, folder, count, 20 if quick else 200, 100 if quick else 1000)
        own.wipe()
        owners = ["", "## Owners of pods", "", "The webhook lists and watches Jobs and other kinds that make pods.", ""]
        owners += owners_lines(api, own, folder, authority, 5000 if quick else 50000)
    return lines + snapshots + owners + changes + learned


if __name__ == "__main__":
    if os.environ.get(INSIDE) != "1":
        enter()
    bench.main(report)
