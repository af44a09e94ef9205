# SPDX-License-Identifier: Apache-2.0
"""All pods of one run get the same size, whichever replica of the webhook sees them and whatever it knows by then."""
import datetime
import threading
import time

import configurations
import harness
from kit import PROFILES, wait_for
from release import Release
from workloads import HISTORY

RANKS = 64


def written_at(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Rewriter(threading.Thread):
    """Writes the profile all the time as a recommender would that learns all the time: other sizes, when that was, and
    beside them what counted before the first of these changes."""

    def __init__(self, t, namespace, name):
        super().__init__(daemon=True)
        self.t, self.path = t, f"{PROFILES}/namespaces/{namespace}/memoryprofiles/{name}/status"
        self.stopping, self.count, self.trouble = threading.Event(), 0, None
        self.before = {figure: HISTORY[figure] for figure in ("limit", "request", "peak")}

    def run(self):
        try:
            while not self.stopping.is_set():
                self.count += 1
                now = datetime.datetime.now(datetime.timezone.utc)
                size = 20 + self.count % 40
                self.t.cluster.patch(self.path, {"status": {
                    "updated": written_at(now), "revision": 1 + self.count, "previous": [self.before],
                    "recommendation": {"limit": f"{size}Gi", "peak": f"{size - 2}Gi", "buffer": 120,
                                       "request": f"{size // 2}Gi"}}})
                time.sleep(0.02)  # a pace, not a wait
        except Exception as error:  # noqa: BLE001 - told by the test
            self.trouble = repr(error)

    def stop(self):
        self.stopping.set()
        self.join()


def create_job(t, namespace, name):
    container = {"name": "pytorch", "image": "train:1", "resources": {"requests": {"memory": "2Gi"}, "limits": {
        "memory": "4Gi", "nvidia.com/gpu": "1"}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "parallelism": RANKS, "completions": RANKS, "completionMode": "Indexed",
        "template": {"spec": {"restartPolicy": "Never", "schedulerName": "memtamer.test/none", "containers": [container]}}}}
    t.cluster.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", job)


def sizes_of(t, namespace, name):
    found = t.cluster.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector=batch.kubernetes.io/job-name={name}")["items"]
    if len(found) < RANKS:
        return None
    return [tuple(pod["spec"]["containers"][0]["resources"][key].get("memory") for key in ("requests", "limits"))
            for pod in found]


def reviews(t, release):
    """Pods decided about, by replica."""
    def of(pod):
        lines = t.kubectl("get", "--raw", f"/api/v1/namespaces/{release.namespace}/pods/https:{pod}:{8443}/proxy/metrics").out
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines.splitlines()
                   if line.startswith("memtamer_admission_requests_total"))
    return {pod["metadata"]["name"]: of(pod["metadata"]["name"]) for pod in release.pods("webhook")}


def test_64_ranks_on_two_replicas(t):
    release = Release(t, {"recommender": {"enabled": False}, **configurations.PATIENT})
    release.install()
    namespace = t.namespace()
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))

    def limit_of(name):
        made = t.cluster.create(f"/api/v1/namespaces/{namespace}/pods", harness.job_pod(name, namespace), dry_run=True).body
        return made["spec"]["containers"][0]["resources"]["limits"].get("memory")
    wait_for(lambda: limit_of("train-1") == "12Gi", "the profile to be in use")
    before = reviews(t, release)
    rewriter = Rewriter(t, namespace, "train-0123456789")
    rewriter.start()
    t.at_end(rewriter.stop)
    wait_for(lambda: rewriter.count > 10 or rewriter.trouble, "some changes")
    said, shares = [], {}
    # The API server keeps its connections, and asks one replica more often: until both were asked.
    while len(said) < 2 or (len(said) < 6 and not all(shares.values())):
        name = f"train-{1 + len(said)}"
        create_job(t, namespace, name)
        sizes = wait_for(lambda: sizes_of(t, namespace, name), f"all ranks of {name}")  # noqa: B023 - called at once
        assert len(sizes) == RANKS and len(set(sizes)) == 1, f"{name}: {sorted(set(sizes))}"
        said.append(sizes[0])
        shares = {pod: count - before.get(pod, 0) for pod, count in reviews(t, release).items()}
    rewriter.stop()
    assert not rewriter.trouble, rewriter.trouble
    assert len(shares) == 2 and all(shares.values()), f"one replica saw them all: {shares}"
    # a run that is submitted well after the last change has the last size
    wait_for(lambda: limit_of("train-9") == f"{20 + rewriter.count % 40}Gi", "the last change to count")
    return (f"{len(said) * RANKS} pods of {len(said)} Jobs, seen by two replicas ({', '.join(str(int(one)) for one in shares.values())}) while "
            f"their profile changed {rewriter.count} times: one size each, {said[0]}; a later run has the last one")
