# SPDX-License-Identifier: Apache-2.0
"""All pods of one run get the same size, whichever replica of the webhook sees them and whatever it knows by then."""
import copy
import datetime
import threading
import time

import configurations
import harness
from kit import PROFILES, wait_for
from release import Release
from workloads import HISTORY

RANKS = 64
INDEX = "batch.kubernetes.io/job-completion-index"  # a label of each rank's pod
REPLICA = "memtamer.test/replica"
SIDES = ("even", "odd")


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


def split_replicas(t, release):
    """Even ranks to one replica, odd ones to the other: which of them a Service would choose is chance."""
    of_namespace = f"/api/v1/namespaces/{release.namespace}"
    for side, pod in zip(SIDES, release.pods("webhook")):
        t.cluster.patch(f"{of_namespace}/pods/{pod['metadata']['name']}", {"metadata": {"labels": {REPLICA: side}}})
        t.cluster.create(f"{of_namespace}/services", {"metadata": {"name": side}, "spec": {
            "selector": {REPLICA: side}, "ports": [{"port": 443, "targetPort": 8443}]}})
    path = configurations.API + "mutatingwebhookconfigurations/a0-memtamer"
    entries = []
    for entry in t.cluster.get(path)["webhooks"]:
        if entry["name"] != "pods.memtamer.io":
            entries.append(entry)
            continue
        for number, side in enumerate(SIDES):
            one = copy.deepcopy(entry)
            one["name"] = f"{side}.{entry['name']}"
            one["clientConfig"]["service"]["name"] = side
            one["matchConditions"].append({"name": side, "expression":
                f"has(object.metadata.labels) && '{INDEX}' in object.metadata.labels && "
                f"int(object.metadata.labels['{INDEX}']) % 2 == {number}"})
            entries.append(one)
    t.cluster.patch(path, {"webhooks": entries})


def reviews(t, release):
    """Pods decided about, by replica."""
    def of(pod):
        lines = t.kubectl("get", "--raw", f"/api/v1/namespaces/{release.namespace}/pods/https:{pod}:{8443}/proxy/metrics").out
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines.splitlines()
                   if line.startswith("memtamer_admission_requests_total"))
    return {pod["metadata"]["name"]: of(pod["metadata"]["name"]) for pod in release.pods("webhook")}


def test_64_ranks_on_two_replicas(t):
    names = [f"{side}.memtamer.svc" for side in SIDES]
    release = Release(t, {"recommender": {"enabled": False}, "config": {"webhook": {"tls": {"serverNames": names}}},
                          **configurations.PATIENT})
    release.install()
    split_replicas(t, release)
    namespace = t.namespace()
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))

    def limits_of(name):
        """What the replicas say."""
        found = set()
        for rank in range(len(SIDES)):
            pod = harness.job_pod(name, namespace)
            pod["metadata"].setdefault("labels", {})[INDEX] = str(rank)
            made = t.cluster.create(f"/api/v1/namespaces/{namespace}/pods", pod, dry_run=True).body
            found.add(made["spec"]["containers"][0]["resources"]["limits"].get("memory"))
        return found
    wait_for(lambda: limits_of("train-1") == {"12Gi"}, "the profile to be in use")
    before = reviews(t, release)
    rewriter = Rewriter(t, namespace, "train-0123456789")
    rewriter.start()
    t.at_end(rewriter.stop)
    wait_for(lambda: rewriter.count > 10 or rewriter.trouble, "some changes")
    said = []
    for name in ("train-1", "train-2"):
        create_job(t, namespace, name)
        sizes = wait_for(lambda: sizes_of(t, namespace, name), f"all ranks of {name}")  # noqa: B023 - called at once
        assert len(sizes) == RANKS and len(set(sizes)) == 1, f"{name}: {sorted(set(sizes))}"
        said.append(sizes[0])
    shares = {pod: count - before.get(pod, 0) for pod, count in reviews(t, release).items()}
    rewriter.stop()
    assert not rewriter.trouble, rewriter.trouble
    assert len(shares) == 2 and min(shares.values()) >= RANKS, f"each replica decides about half of them: {shares}"
    # a run that is submitted well after the last change has the last size
    wait_for(lambda: limits_of("train-9") == {f"{20 + rewriter.count % 40}Gi"}, "the last change to count")
    return (f"{len(said) * RANKS} pods of {len(said)} Jobs, seen by two replicas ({', '.join(str(int(one)) for one in shares.values())}) while "
            f"their profile changed {rewriter.count} times: one size each, {said[0]}; a later run has the last one")
