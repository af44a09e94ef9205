#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The workloads of the loop, and their past: tests/e2e/test_loop.py and demo/loop run the same.

	WORKLOADS                      by name
	namespaces()                   that they live in
	manifests(name, number)        the Job of run `number`, and the ConfigMap with the curve that it replays
	seconds_to_resize(workload)    from where a real run may be resized until it reaches its limit
	write_metrics(now, file)       runs 1 to 5 as OpenMetrics text
	add_to_cluster(), remove(...)  ... as blocks of the cluster's Prometheus

Each workload replays recorded trainings (demo/data) at an eighth of their size: `actor replay` really allocates. Five
runs are past, known to Prometheus alone, in the words in which it is told of real ones: the same namespace, names,
container and image. What comes next is real, and differs as the recordings differ: the trainings got more data.

usage: loop_history.py --add-to-cluster (of MEMTAMER_CLUSTER)
       loop_history.py --namespaces (as YAML)"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import typing

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(TOP, "demo"))
import backfill  # noqa: E402

SCALE = 8  # recorded bytes for one of ours
SCRAPE_SECONDS = 5  # as the cluster's Prometheus does
# A larger limit comes at most so long after the rise that asks for it: the kubelet measures a container every 10 to 20
# seconds, Prometheus scrapes that, the recommender looks every 30 seconds, and the resize takes a few.
RESIZE_SECONDS = 20 + SCRAPE_SECONDS + 30 + 5
NEAR = 0.7  # share of its limit below which nothing is resized
IMAGE, CONTAINER = "memtamer.test/actor:1", "trainer"
RAISE, ENFORCE, RESIZE = "team-vision", "team-speech", "team-language"
ALONE = "team-alone"
MI = 1 << 20
EARLIER_DAYS = 8  # the five runs lie in so many days before now


class Workload(typing.NamedTuple):
    namespace: str
    limit: int  # what its YAML says, in Mi
    earlier: str  # the recordings that were runs 1 to 5
    later: str  # the recording that the real runs replay
    loading: float  # seconds of ours for one recorded, until the data is loaded
    training: float  # ... and from then on
    restart: str = "Never"


# The kubelet looks at memory every 10 to 15 seconds: a kill within the first ten comes before anybody could see it
# coming, a loading of minutes does not.
WORKLOADS = {
    # Its data outgrew its limit: the recording was really OOM-killed at 8 x 96Mi.
    "vit-train": Workload(RAISE, 96, "r001 r002 r003 r004 r005", "r041", 0.12, 3),
    # Asks for more than three times what it uses.
    "asr-train": Workload(ENFORCE, 256, "r001 r002 r003 r004 r005", "r006", 0.5, 1.5),
    # As the first, but its container is restarted in its pod.
    "bert-finetune": Workload(RESIZE, 72, "r014 r016 r018 r020 r022", "r021", 0.5, 1, restart="OnFailure"),
    # Loads slowly, towards a limit that it will not survive, and reaches before its runs usually end. Up to the peak of
    # its earlier runs it is left as it is; from there to its limit it takes more than RESIZE_SECONDS.
    "unet-train": Workload(RESIZE, 112, "r001 r002 r003 r004 r005", "r041", 3.5, 5),
    # As the first, but nothing is known of it.
    "new-train": Workload(ALONE, 96, "", "r041", 0.12, 3),
}


def recorded():
    """{name of a recording: backfill.Run}"""
    found = backfill.load(os.path.join(TOP, "demo/data"))
    return {run.name: run for runs in found.values() for run in runs}


def ours(workload, run):
    """A recording at our size and pace."""
    highest = max(row["working_set_bytes"] for _, row in run.rows)
    loaded = next(t for t, row in run.rows if row["working_set_bytes"] >= 0.95 * highest)

    def pace(t):
        return min(t, loaded) * workload.loading + max(t - loaded, 0) * workload.training
    rows = [(pace(t), {key: value // SCALE for key, value in row.items()}) for t, row in run.rows]
    return run._replace(limit=workload.limit * MI, duration=pace(run.duration), rows=rows)


def seconds_to_resize(workload):
    runs = recorded()
    earlier = [row for name in workload.earlier.split() for _, row in ours(workload, runs[name]).rows]
    peak = max(row["working_set_bytes"] for row in earlier)
    later = ours(workload, runs[workload.later])

    def reached(use):
        return next(t for t, row in later.rows if row["working_set_bytes"] > use)
    return reached(workload.limit * MI) - reached(max(peak, NEAR * workload.limit * MI))


def curve(workload):
    """What `actor replay` reads."""
    run = ours(workload, recorded()[workload.later])
    return "".join(f"{t:.2f}:{row['working_set_bytes'] / MI:.1f}\n" for t, row in run.rows)


def namespaces():
    modes = {RAISE: "raise", ENFORCE: "enforce", RESIZE: "raise"}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"memtamer.io/mode": mode}}}
            for name, mode in modes.items()]


def manifests(name, number):
    """Nothing but the number is new from run to run."""
    workload = WORKLOADS[name]
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": workload.namespace},
            "data": {"curve": curve(workload)}}
    container = {"name": CONTAINER, "image": IMAGE, "args": ["replay", "/data/curve"],
                 "resources": {"limits": {"memory": f"{workload.limit}Mi", "nvidia.com/gpu": 1}},
                 "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    pod = {"restartPolicy": workload.restart, "containers": [container],
           "volumes": [{"name": "data", "configMap": {"name": name}}]}
    job = {"apiVersion": "batch/v1", "kind": "Job",
           "metadata": {"name": f"{name}-{number}", "namespace": workload.namespace},
           "spec": {"backoffLimit": 3, "template": {"spec": pod}}}
    return job, data


# The past --------------------------------------------------------------------------------------------------------------

def as_scraped(run):
    """As often as Prometheus looked."""
    rows, due = [], 0
    for t, row in run.rows:
        if t >= due:
            rows.append((t, row))
            due = t + SCRAPE_SECONDS
    return run._replace(rows=rows)


def write_metrics(now, file):
    metrics, runs = backfill.Metrics(), recorded()
    for place, (name, workload) in enumerate(WORKLOADS.items()):
        rng = random.Random(f"memtamer {name}")
        how = {"kind": "Job", "cpu": None, "container": CONTAINER, "namespace": workload.namespace, "image": IMAGE}
        names = workload.earlier.split()
        for number, recording in enumerate(names, 1):
            start = now - 86400 * EARLIER_DAYS * (len(names) + 1 - number) / len(names) + 1000 * place
            run = as_scraped(ours(workload, runs[recording]))
            pod = backfill.Pod(rng, how, name, "", [run], f"{name}-{number}", int(start), sys.maxsize, "")
            pod.cadvisor(metrics)
            pod.state_metrics(metrics)
    metrics.write(file)


def service(action):
    subprocess.run([os.path.join(TOP, "tests/cluster/service"), action, "prometheus"], check=True)


def add_to_cluster():
    """Runs 1 to 5 into the data directory of the cluster's Prometheus. Returns the new blocks, for remove()."""
    target = os.path.join(os.environ["MEMTAMER_CLUSTER"], "prometheus")
    with tempfile.TemporaryDirectory(prefix="memtamer-loop-") as folder:
        text, blocks = os.path.join(folder, "history.om"), os.path.join(folder, "tsdb")
        with open(text, "w", encoding="utf-8") as file:
            write_metrics(time.time(), file)
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=240h", text, blocks],
                       check=True, capture_output=True)
        service("stop")
        made = [shutil.copytree(os.path.join(blocks, name), os.path.join(target, name)) for name in os.listdir(blocks)]
    service("start")
    return made


def remove(blocks):
    service("stop")
    for path in blocks:
        shutil.rmtree(path, ignore_errors=True)
    service("start")


if __name__ == "__main__":
    if sys.argv[1:] == ["--namespaces"]:
        print(yaml.safe_dump_all(namespaces()))
    elif sys.argv[1:] == ["--add-to-cluster"]:
        add_to_cluster()
    else:
        sys.exit(__doc__)
