# SPDX-License-Identifier: Apache-2.0
"""Pods as evidence: what the kubelet does to a pod is in its workload's profile before the retry is created, without any
Prometheus; also when the recommender dies in the middle, or another one leads."""
import signal
import time

import harness
from kit import wait_for
from test_recommender_service import Service

ACTOR = "memtamer.test/actor:1"
MI = 1 << 20
PROFILES = "memoryprofiles.memtamer.io/v1alpha1"
HISTORIES = "memoryhistories.memtamer.io/v1alpha1"


def job(name, *args, limit="64Mi", restart="Never", **spec):
    """A training Job whose pods really run."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 4, **spec, "template": {
                "metadata": {"labels": {"memtamer.io/training": "true"}},
                "spec": {"restartPolicy": restart, "terminationGracePeriodSeconds": 0,
                         "containers": [{"name": "trainer", "image": ACTOR, "args": [str(arg) for arg in args],
                                         "resources": {"limits": {"memory": limit}, "requests": {"memory": limit}}}]}}}}


def pods_of(t, name, namespace):
    pods = [pod for pod in t.get("pods", namespace=namespace)
            if pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name") == name]
    return sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"])


def limit_of(pod):
    return pod["spec"]["containers"][0]["resources"]["limits"]["memory"]


def ended(pod):
    """The terminated state of its container, or None."""
    for status in pod.get("status", {}).get("containerStatuses", []):
        return status["state"].get("terminated")
    return None


def is_complete(t, name, namespace):
    status = t.get("jobs.batch/v1", name, namespace).get("status", {})
    conditions = {one["type"] for one in status.get("conditions", []) if one["status"] == "True"}
    if "Failed" in conditions:
        raise RuntimeError(f"job {name} failed")
    return "Complete" in conditions


def only_run(t, namespace, condition, what):
    """The one run that the namespace's one history lists, as soon as the condition is true of it."""
    def look():
        histories = t.get(HISTORIES, namespace=namespace)
        assert len(histories) <= 1, [one["metadata"]["name"] for one in histories]
        runs = harness.unpacked(histories[0])["spec"].get("runs", []) if histories else []
        assert len(runs) <= 1, runs
        return runs[0] if runs and condition(runs[0]) else None
    return wait_for(look, what)


def recommended(t, namespace):
    """The recommended limit, as text; None while there is none."""
    for profile in t.get(PROFILES, namespace=namespace):
        return profile.get("status", {}).get("recommendation", {}).get("limit")
    return None


def wait_oom(t, name, namespace):
    """The first pod of the job, OOM-killed."""
    pod = wait_for(lambda: [pod for pod in pods_of(t, name, namespace)[:1] if ended(pod)], f"the end of {name}")[0]
    assert ended(pod)["reason"] == "OOMKilled", ended(pod)
    return pod


def test_a_retry_starts_with_what_the_kill_taught(t):
    t.install_crds()
    own, namespace = t.namespace(), t.namespace()
    recommender = Service(t, own, interval="1h")
    recommender.wait_leads()
    t.webhook(store="kube").configure(namespace)
    t.create(job("hungry", "eat", 100 * MI, 2), namespace)
    wait_oom(t, "hungry", namespace)
    seen = time.monotonic()
    limit = wait_for(lambda: recommended(t, namespace), "a profile")
    took = time.monotonic() - seen
    wait_for(lambda: is_complete(t, "hungry", namespace), "the job to complete")
    limits = [limit_of(pod) for pod in pods_of(t, "hungry", namespace)]
    assert len(limits) == 2 and limits[0] == "64Mi" and limits[1] == limit, (limits, limit)
    run = only_run(t, namespace, lambda run: run.get("outcome") == "completed", "the end of the run")
    assert (run["attempts"], run["killedAt"], run["source"]) == (2, ["64Mi"], "pods"), run
    assert run["by"] == "memtamer" and run["ownLimit"] == "64Mi", run
    assert recommender.metric("memtamer_quick_cycles_total", result="failed") in (None, 0)
    return (f"killed at 64Mi, profile within {took:.1f} s of seeing it, retry with {limits[1]}, completed; Prometheus never "
            "answered")


def test_a_restart_and_another_leader_lose_nothing(t):
    t.install_crds()
    own, namespace, later = t.namespace(), t.namespace(), t.namespace()
    first = Service(t, own, name="first", interval="1h")
    first.wait_leads()
    t.create(job("hungry", "eat", 100 * MI, 2, limit="200Mi"), namespace)
    only_run(t, namespace, lambda run: run.get("outcome") == "completed", "the first run")
    t.delete("jobs.batch/v1", "hungry", namespace)
    second = Service(t, own, name="second", interval="1h")
    first.kill(signal.SIGSTOP)  # it holds the Lease, and sees nothing
    t.create(job("other", "eat", 100 * MI, 2, backoffLimit=0), namespace)
    wait_oom(t, "other", namespace)
    second.wait_leads()

    def killed(profile):
        return profile.get("status", {}).get("recommendation", {}).get("oomKills", 0)
    wait_for(lambda: any(killed(one) for one in t.get(PROFILES, namespace=namespace)), "the kill to be known")
    wait_for(lambda: all(run.get("outcome") != "running" for one in t.get(HISTORIES, namespace=namespace)
                         for run in harness.unpacked(one)["spec"]["runs"]), "the end of its run to be known")
    versions = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in t.get(HISTORIES, namespace=namespace)}
    first.kill(signal.SIGCONT)
    first.wait_leads(False)
    second.kill(signal.SIGKILL)
    second.process.wait()
    first.wait_leads()
    # It learns what the API server lists before it learns what comes after that.
    t.create(job("hungry", "eat", 100 * MI, 2, limit="200Mi"), later)
    only_run(t, later, lambda run: run.get("outcome") == "completed", "a run after that")
    after = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in t.get(HISTORIES, namespace=namespace)}
    assert versions == after, (versions, after)
    return "a stopped leader's kill was learned by the next one; the first one, leading again, changed nothing"
