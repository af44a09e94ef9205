# SPDX-License-Identifier: Apache-2.0
"""Containers that the real kubelet restarts in pods with restart policy Never, by their restartPolicyRules. No webhook is
asked then: the recommender raises the limit that killed them, or an Event of the owner says why it does not."""
from kit import Skip, wait_for
from state_metrics import quantity
from test_resize import MI, pod_of, recommender, sizes, state_of, training_job, wait_complete, wait_resized
from test_triage import SHELL

CURVE = "0:20,15:90,40:90"  # MiB by second: reaches a limit of 64Mi after nine seconds
FAST = "0:20,2:90,60:90"  # killed soon, and then again and again
NEW_ATTEMPT = 88


def ruled(action, code=137):
    return {"restartPolicy": "Never",
            "restartPolicyRules": [{"action": action, "exitCodes": {"operator": "In", "values": [code]}}]}


def ruled_job(action, curve=CURVE, annotations=None):
    """A Job whose killed trainer is restarted by a rule of its own."""
    job = training_job("train", ["replay", curve], "64Mi", policy="Never", annotations=annotations)
    job["spec"]["template"]["spec"]["containers"][0].update(ruled(action))
    return job


def with_sidecar(job):
    """The same with a sidecar, which RestartAllContainers restarts as well."""
    job["spec"]["template"]["spec"]["initContainers"] = [
        {"name": "watcher", "image": "memtamer.test/actor:1", "args": ["pause"], "restartPolicy": "Always",
         "resources": {"limits": {"memory": "16Mi"}}}]
    return job


def with_watchdog(job):
    """The same with a watchdog whose rule restarts the pod after twenty seconds, once; the trainer has no rule."""
    spec = job["spec"]["template"]["spec"]
    spec["containers"][0].pop("restartPolicyRules")
    spec["volumes"] = [{"name": "host", "hostPath": {"path": "/"}}, {"name": "work", "emptyDir": {}}]
    script = f"[ -e /work/again ] && exit 0; : >/work/again; exec /actor replay 0:5,20:5 {NEW_ATTEMPT}"
    spec["containers"].append({
        "name": "watchdog", "image": "memtamer.test/actor:1", "command": [*SHELL, script],
        "volumeMounts": [{"name": "host", "mountPath": "/host", "readOnly": True}, {"name": "work", "mountPath": "/work"}],
        **ruled("RestartAllContainers", NEW_ATTEMPT)})
    return job


def apply(t, namespace, job):
    minor = t.cluster.get("/version")["minor"]
    if int(minor) < 36:
        raise Skip(f"Kubernetes 1.{minor} does not restart all containers by a rule, as 1.36 does")
    t.create(job, namespace)


def status_of(pod, name="trainer"):
    status = pod["status"]
    return next(one for one in status.get("containerStatuses", []) + status.get("initContainerStatuses", [])
                if one["name"] == name)


def events_of(t, namespace, reason):
    """[(kind, text, count)] of the owner and its pod."""
    return [(one["involvedObject"]["kind"], one["message"], (one.get("series") or one).get("count") or 1)
            for one in t.get("events", namespace=namespace) if one["reason"] == reason]


def test_restarts_by_rules_are_larger(t):
    own, beside, other = (t.namespace() for _ in range(3))
    service = recommender(t, "onOOM")
    apply(t, own, ruled_job("Restart"))
    apply(t, beside, with_sidecar(ruled_job("RestartAllContainers")))
    apply(t, other, with_watchdog(ruled_job("Restart")))
    said = []
    for namespace in (own, beside, other):
        pod = wait_resized(t, service, namespace, "train", 128)
        assert status_of(pod)["restartCount"] >= 1, pod["status"]
        assert (sizes(pod)[0], sizes(pod, "requests")[0]) == (128, 32), (sizes(pod), sizes(pod, "requests"))
        managers = [one["manager"] for one in pod["metadata"]["managedFields"] if one.get("subresource") == "resize"]
        assert managers == ["memtamer-resize-oom-64Mi"], managers
    for namespace in (own, beside, other):
        uid = pod_of(t, namespace, "train")["metadata"]["uid"]
        wait_complete(t, namespace, "train")
        pod = pod_of(t, namespace, "train")
        assert pod["metadata"]["uid"] == uid, "it is another pod"
        kind, text, count = wait_for(lambda: events_of(t, namespace, "MemoryResized"), "the Event")[0]  # noqa: B023
        assert (kind, count) == ("Job", 1) and "raised in place from 64Mi to 128Mi, as it was OOM-killed" in text, (kind, text)
        said.append(status_of(pod)["restartCount"])
    watcher = pod_of(t, beside, "train")
    assert status_of(watcher, "watcher")["restartCount"] >= 1, watcher["status"]
    assert quantity(watcher["spec"]["initContainers"][0]["resources"]["limits"]["memory"]) == 16 * MI, watcher["spec"]
    service.wait_metric("memtamer_resizes_total", lambda value: value == 3, kind="oom", result="applied")
    return (f"OOM-killed at 64Mi in pods with restart policy Never, each was restarted in place and raised to 128Mi, by a rule of its "
            f"own with Restart and RestartAllContainers, and by another container's; completed with {said} restarts")


def wait_told_once(t, service, namespace, part):
    """The one Event of the Job, which stays one while the trainer is killed again."""
    def look():
        service.assert_runs()
        return events_of(t, namespace, "MemoryNotRaised")
    try:
        wait_for(look, f"the Event in {namespace}")
        since = status_of(pod_of(t, namespace, "train"))["restartCount"]
        wait_for(lambda: status_of(pod_of(t, namespace, "train"))["restartCount"] >= since + 2, "two more restarts", 180)
    except AssertionError as error:
        raise AssertionError(f"{error}; {state_of(t, service, namespace, 'train')}") from None
    found = look()
    assert len(found) == 1, found
    kind, text, count = found[0]
    assert (kind, count) == ("Job", 1) and part in text and "submit again with 128Mi" in text, found
    assert sizes(pod_of(t, namespace, "train"))[0] == 64, "it was raised"
    return text


def test_kept_limits_are_told_once(t):
    narrowed, tight = t.namespace(), t.namespace()
    t.cluster.create(f"/api/v1/namespaces/{tight}/resourcequotas", {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"}, "spec": {"hard": {"limits.memory": "80Mi"}}})
    wait_for(lambda: t.get("resourcequotas", "team", tight)["status"].get("used"), "the quota to be counted")
    service = recommender(t, "onOOM")
    apply(t, narrowed, ruled_job("Restart", FAST, {"memtamer.io/resize": "off"}))
    apply(t, tight, with_sidecar(ruled_job("RestartAllContainers", FAST)))
    texts = (wait_told_once(t, service, narrowed, "the pod's annotation memtamer.io/resize does not allow it"),
             wait_told_once(t, service, tight, "quota"))
    return f"while the trainers were killed again and again, one Event each: {texts}"


def test_resizes_that_are_off_are_told_once(t):
    namespace = t.namespace()
    service = recommender(t, "off")
    apply(t, namespace, with_sidecar(ruled_job("RestartAllContainers", FAST)))
    return wait_told_once(t, service, namespace, "with which it restarts, as recommender.resize is off")
