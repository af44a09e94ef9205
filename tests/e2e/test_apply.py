# SPDX-License-Identifier: Apache-2.0
"""kubectl and controllers, with memtamer in the way: applying again, debugging, resizing, many and large objects."""
import copy

import harness
from kit import parallel, wait_for
from standins import install_kinds
from workloads import HISTORY, WORKLOADS, profile_of

ASKED = "memtamer_admission_requests_total"
ACTOR = "memtamer.test/actor:1"


def bare_pod(name="train", **spec):
    """A manifest as people write it; nothing of it will ever run."""
    pod = harness.training_pod(name)
    del pod["metadata"]["namespace"]
    pod["spec"].update({"schedulerName": "nobody", **spec})
    return pod


def with_history(t, mode="raise", limit_range=None):
    """(webhook, namespace) with a profile of the bare pod "train"."""
    namespace = t.namespace()
    if limit_range:
        t.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits"},
                 "spec": {"limits": [limit_range]}}, namespace)
    webhook = t.webhook(config={"mode": mode}, name=mode,
                        objects=[harness.profile("train-0123456789", "Pod/train", namespace, **HISTORY)])
    webhook.configure(namespace)
    return webhook, namespace


def apply_twice(t, namespace, pod, *how):
    """Apply, apply again; the pod, which the second time leaves as it is."""
    name = pod["metadata"]["name"]
    first = t.apply(pod, namespace, *how)
    before = t.get("pods", name, namespace)
    second = t.apply(pod, namespace, *how)
    after = t.get("pods", name, namespace)
    assert first.warnings and second.warnings == [], (first, second)
    assert second.out.split() == [f"pod/{name}", "serverside-applied" if how else "unchanged"], second
    assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"], (before, after)
    t.delete("pods", name, namespace)
    return after


@parallel
def test_a_bare_pod_twice(t):
    default = {"type": "Container", "default": {"memory": "20Gi"}, "defaultRequest": {"memory": "1Gi"}}
    count = 0
    for mode in ("fill", "raise", "enforce"):
        for limit_range in (None, default):
            _, namespace = with_history(t, mode, limit_range)
            for pod in (bare_pod(), bare_pod(initContainers=[{"name": "fetch", "image": "i"}])):
                for how in ((), ("--server-side",)):
                    made = apply_twice(t, namespace, pod, *how)
                    count += 1
                    assert made["metadata"]["annotations"]["memtamer.io/decision"]
                    requests = made["spec"]["containers"][0]["resources"]["requests"]
                    # A LimitRange's default is nobody's word: sizes from history come in its place.
                    assert requests["memory"] == "8Gi", (mode, limit_range, requests)
    return f"{count} times a bare pod was applied twice, client-side and server-side: the second changed nothing"


@parallel
def test_field_managers(t):
    _, namespace = with_history(t)
    t.apply(bare_pod(), namespace, "--server-side", "--field-manager=kate")
    pod = t.get("pods", "train", namespace)
    managers = pod["metadata"]["managedFields"]
    assert [(entry["manager"], entry["operation"]) for entry in managers] == [("kate", "Apply")], managers
    for ours in ("memtamer.io/decision", "memtamer.io/workload-id", "f:ephemeral-storage", "f:memory"):
        assert ours not in str(managers), f"{ours} must not count as applied by kate: she would take it away"
    # Somebody else's label beside it, and kate again: no conflict.
    t.kubectl("label", "pod", "train", "a=b", namespace=namespace)
    again = t.apply(bare_pod(), namespace, "--server-side", "--field-manager=kate")
    assert again.status == 0 and t.get("pods", "train", namespace)["metadata"]["labels"]["a"] == "b"
    return "what memtamer adds counts as nobody's, and server-side apply goes on without conflicts"


@parallel
def test_generated_names(t):
    """A real Job: its controller makes the pods, with generated names, and learns of no warnings."""
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise"}, objects=[
        harness.profile("train-0123456789", "Job/train", namespace, container="main", **HISTORY)])
    webhook.configure(namespace)
    job = copy.deepcopy(WORKLOADS["job"][0])
    job["spec"]["backoffLimit"] = 0
    t.apply(job, namespace)
    pod = wait_for(lambda: t.get("pods", namespace=namespace), "the job controller to make a pod")[0]
    assert pod["metadata"]["generateName"] == "train-" and pod["metadata"]["name"].startswith("train-")
    resources = pod["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["memory"], resources["limits"]["memory"]) == ("8Gi", "12Gi"), resources
    assert t.get("jobs.batch/v1", "train", namespace)["spec"]["template"]["spec"]["containers"][0]["resources"][
        "limits"]["memory"] == "6Gi", "the Job itself is left alone"
    bare = bare_pod()
    bare["metadata"] = {"generateName": "train-"}
    done = t.create(bare, namespace, "-o", "name")
    assert any("8Gi" in line or "memory" in line for line in done.warnings), done
    made = t.get("pods", done.out.strip().partition("/")[2], namespace)
    assert made["metadata"]["labels"]["memtamer.io/workload-id"].startswith("train-"), made["metadata"]
    return "pods with generated names are patched, a controller's and a person's"


@parallel
def test_debug_resize_and_status(t):
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise"}, objects=[
        harness.profile("runs-0123456789", "Pod/runs", namespace, container="actor", limit="128Mi", request="64Mi",
                        peak="100Mi", median="64Mi")])
    webhook.configure(namespace)
    pod = {"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": "runs", "labels": {"memtamer.io/training": "true"}},
           "spec": {"terminationGracePeriodSeconds": 1, "containers": [
               {"name": "actor", "image": ACTOR, "resources": {"limits": {"cpu": "100m"}, "requests": {"cpu": "100m"}}}]}}
    t.apply(pod, namespace)

    def running():
        found = t.get("pods", "runs", namespace)
        return found if found["status"].get("phase") == "Running" else None
    before = wait_for(running, "the pod to run")
    assert before["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "100m", "memory": "128Mi"}
    asked = webhook.metric(ASKED)
    t.kubectl("debug", "runs", "--image", ACTOR, "--container", "debugger", "--target", "actor",
              "--image-pull-policy", "IfNotPresent", namespace=namespace)
    resize = {"spec": {"containers": [{"name": "actor", "resources": {"limits": {"memory": "192Mi"}}}]}}
    t.kubectl("patch", "pod", "runs", "--subresource", "resize", "--type", "strategic", "-p", harness.json.dumps(resize),
              namespace=namespace)
    t.kubectl("label", "pod", "runs", "a=b", namespace=namespace)

    def resized():
        status = t.get("pods", "runs", namespace)["status"].get("containerStatuses", [{}])[0]
        return status.get("resources", {}).get("limits", {}).get("memory") == "192Mi"
    wait_for(resized, "the kubelet to resize the container")
    after = t.get("pods", "runs", namespace)
    assert [one["name"] for one in after["spec"]["ephemeralContainers"]] == ["debugger"]
    assert "resources" not in after["spec"]["ephemeralContainers"][0] or not after["spec"]["ephemeralContainers"][0]["resources"]
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert webhook.metric(ASKED) == asked, "only creation is asked about"
    return "kubectl debug, in-place resize, labels and the kubelet's status updates pass without memtamer being asked"


@parallel
def test_large_objects(t):
    webhook, namespace = with_history(t)
    install_kinds(t)
    path = f"/api/v1/namespaces/{namespace}/pods"

    def padded(pod, n_bytes, n=100):
        env = [{"name": f"E{i}", "value": "x" * (n_bytes // n)} for i in range(n)]
        pod["spec"]["containers"][0]["env"] = env
        return pod

    pod = t.cluster.create(path, padded(bare_pod(), 3 * 1024 * 1024 - 20000), dry_run=True)
    assert pod.warnings and pod.body["spec"]["containers"][0]["resources"]["limits"]["memory"] == "12Gi"
    # An update sends the object twice.
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    job = copy.deepcopy(WORKLOADS["job"][0])
    job["spec"]["suspend"] = True
    padded(job["spec"]["template"], 1400 * 1024)
    first = t.cluster.create(jobs, job)
    second = first.body
    del second["metadata"]["resourceVersion"]  # the Job's controller writes its status meanwhile
    second["spec"]["parallelism"] = 2
    second["metadata"]["annotations"] = {"a": "x" * 200000}
    updated = t.cluster.call("PUT", f"{jobs}/train?dryRun=All", second)
    assert first.warnings and first.warnings == updated.warnings
    many = bare_pod()
    main = many["spec"]["containers"][0]
    many["spec"]["containers"] = [main] + [{"name": f"c{i}", "image": "i"} for i in range(99)]
    made = t.cluster.create(path, many)
    assert made.body["spec"]["containers"][0]["resources"]["limits"]["memory"] == "12Gi"
    assert 1 <= len(made.warnings) <= 10, made.warnings
    assert "memtamer_admission_errors_total" not in [line.split("{")[0] for line in webhook.get("/metrics")[1].splitlines()
                                                     if not line.startswith("#") and not line.endswith(" 0")]
    return "a pod of 3 MiB, an update of a Job of 1.4 MiB, and a pod of 100 containers are answered like small ones"


@parallel
def test_two_versions(t):
    """The same object in each version of its kind that the API server serves."""
    install_kinds(t)
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise"})
    webhook.configure(namespace)
    webhook.wait_validating(namespace)
    count = 0
    for name, versions in (("rayjob", ["v1alpha1", "v1"]), ("jobset", ["v1alpha1", "v1alpha2"]),
                           ("mpijob-v1", ["v1", "v2beta1"])):
        said = set()
        for version in versions:
            thing = copy.deepcopy(WORKLOADS[name][0])
            group = thing["apiVersion"].partition("/")[0]
            thing["apiVersion"] = f"{group}/{version}"
            path = f"/apis/{group}/{version}/namespaces/{namespace}/{thing['kind'].lower()}s"
            said.add(tuple(t.cluster.create(path, thing, dry_run=True).warnings))
            count += 1
        assert len(said) == 1 and next(iter(said)), f"{name}: {said}"
    return f"{count} versions of 3 kinds: the same warnings in each version"


@parallel
def test_templates_are_sized(t):
    """templates: patch sizes the object that makes the pods, once, and applying its manifest again changes nothing."""
    install_kinds(t)
    namespace = t.namespace()
    names = ["job", "pytorchjob", "jobset", "rayjob"]
    webhook = t.webhook(config={"mode": "raise", "templates": "patch"},
                        objects=[profile_of(name, namespace) for name in names])
    webhook.configure(namespace, values={"config": {"templates": "patch"}})
    for name in names:
        thing = WORKLOADS[name][0]
        for how in ((), ("--server-side",)):
            assert t.apply(thing, namespace, *how).warnings
            group, _, version = thing["apiVersion"].partition("/")
            resource = f"{thing['kind'].lower()}s.{group}/{version}"
            made = t.get(resource, "train", namespace)
            assert "12Gi" in str(made["spec"]) and "6Gi" in str(thing["spec"]), f"{name}: {made['spec']}"
            again = t.apply(thing, namespace, *how)
            assert again.warnings == [], again
            after = t.get(resource, "train", namespace)
            assert after["spec"] == made["spec"] and after["metadata"].get("generation") == made["metadata"].get("generation")
            t.delete(resource, "train", namespace)
    assert t.cluster.metric("apiserver_admission_match_condition_evaluation_errors_total",
                            name="templates.memtamer.io") == 0
    return f"templates of {len(names)} kinds were sized when created, client-side and server-side, and stayed so"
