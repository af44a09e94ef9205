# SPDX-License-Identifier: Apache-2.0
"""Memory of running pods, raised in place on the real kubelet: after an OOM kill, and before one."""
import os

import programs
from kit import wait_for
from programs import merge
from state_metrics import quantity
from test_recommender_service import NOBODY, Service

PROMETHEUS = "http://127.0.0.1:9090"
TRAINS = {"memtamer.io/training": "true"}
MI = 1 << 20


def training_job(name, args, memory, policy="OnFailure", cpu=None, request="32Mi", annotations=None):
    """A Job whose one container has that memory limit; `cpu`: request = limit for all, QoS class Guaranteed."""
    limits = {"memory": memory, **({"cpu": cpu} if cpu else {})}
    container = {"name": "trainer", "image": "memtamer.test/actor:1", "args": args,
                 "resources": {"limits": limits, "requests": limits if cpu else {"memory": request}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 8, "template": {"metadata": {"labels": TRAINS, "annotations": annotations or {}},
                                                     "spec": {"restartPolicy": policy, "containers": [container],
                                                              "terminationGracePeriodSeconds": 1}}}}


def pod_of(t, namespace, job):
    found = t.cluster.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector=job-name={job}")["items"]
    assert len(found) <= 1, [pod["metadata"]["name"] for pod in found]
    return found[0] if found else None


def sizes(pod, field="limits"):
    """Memory of the spec, and of the container's cgroup as the kubelet says; MiB."""
    spec = pod["spec"]["containers"][0]["resources"].get(field, {}).get("memory", "0")
    told = (pod["status"].get("containerStatuses") or [{}])[0].get("resources", {}).get(field, {}).get("memory", "0")
    return quantity(spec) / MI, quantity(told) / MI


def cgroup_limit(pod):
    """What the kernel keeps the running container to, MiB; None while it does not run."""
    status = (pod["status"].get("containerStatuses") or [{}])[0]
    name = status.get("containerID", "//").split("//")[1]
    if not name or "running" not in status.get("state", {}):
        return None
    for top in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
        for folder, folders, _ in os.walk(top):
            if name in folders:
                for file in ("memory.limit_in_bytes", "memory.max"):
                    path = os.path.join(folder, name, file)
                    if os.path.exists(path):
                        with open(path, encoding="utf-8") as text:
                            return int(text.read()) / MI
    return None


def events_of(t, namespace, job):
    return [event for event in t.get("events", namespace=namespace)
            if event["involvedObject"].get("name") == job and event["reason"].startswith("MemoryResize")]


def wait_resized(t, service, namespace, job, expected):
    """The running container's kernel limit is that; its pod then."""
    def look():
        service.assert_runs()
        pod = pod_of(t, namespace, job)
        if not pod or cgroup_limit(pod) != expected:
            return None
        return pod_of(t, namespace, job)  # again: the one above may be older than its cgroup's limit
    try:
        return wait_for(look, f"{expected} MiB for {namespace}/{job}")
    except AssertionError as error:
        raise AssertionError(f"{error}; {state_of(t, service, namespace, job)}") from None


def state_of(t, service, namespace, job):
    """What one would look at when it fails."""
    pod = pod_of(t, namespace, job)
    figures = [line for line in service.get("/metrics")[1].splitlines()
               if line.startswith(("memtamer_resizes_total", "memtamer_pods", "memtamer_quick")) and not line.endswith(" 0")]
    return (f"pod {pod and pod['spec']['containers'][0]['resources']} {pod and pod['status']}; {figures}; "
            f"recommender:\n{service.log()[-3000:]}")


def wait_complete(t, namespace, job):
    def look():
        status = t.get("jobs.batch/v1", job, namespace)["status"]
        assert not status.get("failed"), status
        return status.get("succeeded") == 1
    wait_for(look, f"{job} to complete", 180)


def recommender(t, resize, prometheus=NOBODY, more=None):
    t.install_crds()
    return Service(t, t.namespace(), prometheus, resize=resize, interval="30s", more=merge({"mode": "raise"}, more))


def test_killed_containers_restart_larger(t):
    burstable, guaranteed, tight, narrowed = (t.namespace() for _ in range(4))
    service = recommender(t, "onOOM")
    t.cluster.create(f"/api/v1/namespaces/{tight}/resourcequotas", {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"},
        "spec": {"hard": {"limits.memory": "100Mi"}}})
    wait_for(lambda: t.get("resourcequotas", "team", tight)["status"].get("used"), "the quota to be counted")
    t.apply(training_job("train", ["replay", "0:20,15:90,40:90"], "64Mi"), burstable)
    t.apply(training_job("train", ["replay", "0:20,15:90,40:90"], "64Mi", cpu="10m"), guaranteed)
    t.apply(training_job("train", ["replay", "0:20,15:80,40:80"], "64Mi"), tight)
    t.apply(training_job("train", ["replay", "0:20,15:80,40:80"], "64Mi", annotations={"memtamer.io/resize": "off"}), narrowed)

    for namespace, expected, qos in ((burstable, 128, "Burstable"), (guaranteed, 128, "Guaranteed"), (tight, 100, "Burstable")):
        pod = wait_resized(t, service, namespace, "train", expected)
        status = pod["status"]["containerStatuses"][0]
        assert status["restartCount"] >= 1, status
        assert pod["status"]["qosClass"] == qos, pod["status"]["qosClass"]
        assert sizes(pod)[0] == expected, sizes(pod)
        assert sizes(pod, "requests")[0] == (expected if qos == "Guaranteed" else 32), sizes(pod, "requests")
        # Named so, it answers an OOM kill that the kubelet told of; lastState may have lost it again by now.
        managers = [one["manager"] for one in pod["metadata"]["managedFields"] if one.get("subresource") == "resize"]
        assert managers == ["memtamer-resize-oom-64Mi"], managers
    for namespace in (burstable, guaranteed, tight):
        wait_complete(t, namespace, "train")
        event = wait_for(lambda: events_of(t, namespace, "train"), "the Event")[0]
        assert event["involvedObject"]["kind"] == "Job" and event["reason"] == "MemoryResized", event
    applied = service.wait_metric("memtamer_resizes_total", lambda value: value == 3, kind="oom", result="applied")
    held = service.wait_metric("memtamer_resizes_total", lambda value: value >= 1, kind="oom", result="held-back")
    pod = pod_of(t, narrowed, "train")
    assert sizes(pod)[0] == 64, "the pod's annotation said off"
    return (f"OOM-killed at 64Mi, restarted in place with 128Mi (Burstable), 128Mi (Guaranteed, request too) and 100Mi (all that "
            f"the quota has); each Job completed with its first pod, {applied:.0f} resizes applied, {held:.0f} held back (annotation off)")


def test_a_ramp_is_raised_before_the_kill(t):
    namespace = t.namespace()
    service = recommender(t, "beforeOOM", PROMETHEUS, {"prometheus": {"step": "2s"}})
    # Reaches its limit after some 130 s, and needs 130 MiB in the end.
    t.apply(training_job("ramp", ["replay", "0:20,180:130,200:130"], "100Mi", policy="Never"), namespace)

    def raised():
        service.assert_runs()
        found = pod_of(t, namespace, "ramp")
        return found if found and sizes(found)[0] > 100 and cgroup_limit(found) == sizes(found)[0] else None
    try:
        pod = wait_for(raised, "a raise", 160)
    except AssertionError as error:
        raise AssertionError(f"{error}; {state_of(t, service, namespace, 'ramp')}") from None
    limit = sizes(pod)[0]
    assert 125 <= limit <= 150, limit
    status = pod["status"]["containerStatuses"][0]
    assert status["restartCount"] == 0 and not status["lastState"], status
    wait_complete(t, namespace, "ramp")
    pod = pod_of(t, namespace, "ramp")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed", pod["status"]
    event = wait_for(lambda: events_of(t, namespace, "ramp"), "the Event")[0]
    used = wait_for(lambda: [one for one in t.get("events", namespace=namespace) if one["reason"] == "MemoryUsed"],
                    "the Event at the end of the run", 240)[0]
    assert (used["involvedObject"]["kind"], used["involvedObject"]["name"]) == ("Job", "ramp"), used
    assert used["message"].startswith(f"trainer: memory asked {sizes(pod)[0]:.0f}Mi, used at most 1"), used["message"]
    steps = service.metric("memtamer_resizes_total", kind="before", result="applied")
    assert steps <= 2, steps
    return f"a ramp from 20 to 130 MiB was raised from 100Mi to {limit:.0f}Mi before it was reached, and completed: {event['message']}"
