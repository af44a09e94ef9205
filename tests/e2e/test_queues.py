# SPDX-License-Identifier: Apache-2.0
"""Queues and gangs of others: what they have counted stays what they have counted. Labels, annotations and scheduling
gates are those that Kueue, Volcano, KAI, the coscheduling plugin and KubeRay put on pods themselves."""
import concurrent.futures
import copy

import harness
from kit import parallel, wait_for
from standins import install_kinds
from workloads import HISTORY, WORKLOADS, amount, profile_of

KUEUE = {"kueue.x-k8s.io/podset": "main", "kueue.x-k8s.io/local-queue-name": "team", "kueue.x-k8s.io/cluster-queue-name": "all"}
# name: (labels, annotations, more of the spec)
QUEUES = {
    "kueue: a Job's pod": (KUEUE, {"kueue.x-k8s.io/workload": "job-train-1a2b3"}, {}),
    "kueue: a plain pod": (
        {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/managed": "true"}, {"kueue.x-k8s.io/role-hash": "0a1b2c3d"},
        {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}),
    "volcano": (
        {"volcano.sh/job-name": "train", "volcano.sh/task-spec": "worker", "volcano.sh/queue-name": "default",
         "volcano.sh/job-namespace": "ml"},
        {"scheduling.k8s.io/group-name": "train-1f0c", "volcano.sh/template-uid": "train-worker"},
        {"schedulerName": "volcano"}),
    "volcano: a group of other pods": ({}, {"scheduling.k8s.io/group-name": "train"}, {}),
    "kai": ({"kai.scheduler/queue": "team"}, {"pod-group-name": "pg-train-1a2b"}, {"schedulerName": "kai-scheduler"}),
    "coscheduling": ({"scheduling.x-k8s.io/pod-group": "train"}, {}, {}),
    "coscheduling: older": ({"pod-group.scheduling.sigs.k8s.io": "train"}, {}, {}),
    "coscheduling: oldest": ({"pod-group.scheduling.sigs.k8s.io/name": "train"}, {}, {}),
}
RAY = ({"ray.io/is-ray-node": "yes", "ray.io/cluster": "train-x7k2p", "ray.io/node-type": "worker", "ray.io/group": "gpu",
        "memtamer.io/training": "true"}, {"ray.io/ft-enabled": "false"}, {})


def pod_of(namespace, marks, requests=None, limits=None, owned=True):
    labels, annotations, spec = copy.deepcopy(marks)
    made = harness.job_pod("train", namespace) if owned else harness.training_pod("train", namespace)
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), **labels}
    made["metadata"]["annotations"] = {**made["metadata"].get("annotations", {}), **annotations}
    made["spec"].update(spec)
    made["spec"]["containers"][0]["resources"] = {"requests": requests or {},
                                                  "limits": {"nvidia.com/gpu": "1", **(limits or {})}}
    return made


def sizes(pod):
    resources = pod["spec"]["containers"][0]["resources"]
    return tuple(resources.get(key, {}).get("memory") for key in ("requests", "limits"))


def create(t, pod, dry_run=True):
    namespace = pod["metadata"]["namespace"]
    answer = t.cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods" + ("?dryRun=All" if dry_run else ""), pod)
    assert answer.status < 300, answer.body
    return answer


@parallel
def test_what_a_queue_has_counted_stays(t):
    t.install_crds()
    namespace = t.namespace()
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))
    webhook = t.webhook(config={"mode": "enforce"}, store="kube")
    webhook.configure(namespace)
    # request and limit as they come, and as they are afterwards; the API server makes the request of a lone limit
    rows = [
        (({"memory": "2Gi"}, {"memory": "4Gi"}), ("2Gi", "12Gi")),
        (({"memory": "2Gi"}, None), ("2Gi", "12Gi")),
        ((None, {"memory": "4Gi"}), ("4Gi", "12Gi")),
        ((None, None), (None, None)),
        (({"memory": "40Gi"}, {"memory": "60Gi"}), ("40Gi", "45Gi")),  # no lower request, the limit by a quarter
    ]
    plain = sizes(create(t, pod_of(namespace, ({}, {}, {}), *rows[0][0])).body)
    assert plain == ("8Gi", "12Gi"), f"without marks: {plain}"
    for name, marks in QUEUES.items():
        for given, expected in rows:
            made = create(t, pod_of(namespace, marks, *given)).body
            assert sizes(made) == expected, f"{name}: {given} became {sizes(made)}, not {expected}"
            assert "memtamer.io/decision" in made["metadata"]["annotations"], f"{name}: memtamer was not asked"
    return f"{len(QUEUES)} kinds of marks, {len(rows)} pods each: no request was changed or added, limits only beside a request"


@parallel
def test_ray_is_only_warned(t):
    """Ray has the limit in its command line when the pod is made; a person who makes such a pod is told."""
    t.install_crds()
    namespace = t.namespace()
    profile = harness.profile("train-0123456789", "Pod/train", namespace, **HISTORY)
    profile["status"]["aliases"] += ["RayCluster/train", "RayCluster/train-x7k2p", "RayJob/train"]
    for role in ("", "gpu"):
        made = copy.deepcopy(profile)
        made["metadata"]["name"] += role
        made["status"]["role"] = role
        t.create_profile(made)
    webhook = t.webhook(config={"mode": "enforce"}, store="kube")
    webhook.configure(namespace)
    for given in (({"memory": "2Gi"}, {"memory": "4Gi"}), ({"memory": "60Gi"}, {"memory": "60Gi"}), (None, None)):
        pod = pod_of(namespace, RAY, *given, owned=False)
        made = create(t, pod)
        expected = tuple((one or {}).get("memory") for one in given)
        assert sizes(made.body) == expected, (given, sizes(made.body))
        assert [line for line in made.warnings if line.startswith("memtamer: ")], f"{given}: nothing was said"
        assert "Ray fixes it at start" in " ".join(made.warnings) or given[0] is None or given[0]["memory"] == "60Gi", made.warnings
    return "three pods of a RayCluster kept what Ray was started with, and each came with warnings"


@parallel
def test_the_root_object_carries_the_size(t):
    """templates: patch: what a queue reads of the object is what its pods will ask for. A queue that is not known, such
    as any of Volcano and KAI, may have no room for more, so that no request is set."""
    install_kinds(t)
    namespace = t.namespace()
    names = ["job", "jobset", "pytorchjob", "raycluster", "volcano-job"]
    webhook = t.webhook(config={"mode": "raise", "templates": "patch"}, objects=[profile_of(name, namespace) for name in names])
    webhook.configure(namespace, values={"config": {"templates": "patch"}})
    for name in names:
        thing = copy.deepcopy(WORKLOADS[name][0])
        group, _, version = thing["apiVersion"].partition("/")
        path = f"/apis/{group}/{version}/namespaces/{namespace}/{thing['kind'].lower()}s"
        for label in ("kueue.x-k8s.io/queue-name", "kai.scheduler/queue"):
            queued = copy.deepcopy(thing)
            queued["metadata"]["labels"] = {label: "team"}
            seen = t.cluster.create(path, queued, dry_run=True).body
            assert "8Gi" not in str(seen["spec"]), f"{name}: {seen['spec']}"  # a limit may rise beside a request
        seen = t.cluster.create(path, thing).body
        if name == "volcano-job":
            assert "8Gi" not in str(seen["spec"]), seen["spec"]
            continue
        assert "12Gi" in str(seen["spec"]) and "8Gi" in str(seen["spec"]), f"{name}: {seen['spec']}"
        assert "memtamer.io/template-decision" in seen["metadata"]["annotations"], seen["metadata"]
    # and the pods of such an object are what was counted
    job = t.get("jobs.batch/v1", "train", namespace)
    pod = harness.job_pod("train", namespace)
    pod["metadata"]["labels"].update(KUEUE)
    pod["metadata"]["ownerReferences"][0]["uid"] = job["metadata"]["uid"]
    pod["spec"]["containers"] = copy.deepcopy(job["spec"]["template"]["spec"]["containers"])
    assert sizes(create(t, pod).body) == sizes({"spec": job["spec"]["template"]["spec"]}) == ("8Gi", "12Gi")
    return f"{len(names) - 1} kinds of objects carried their size, and pods kept it; none did for a queue that is not known"


def gang(t, namespace, name, replicas):
    """A PyTorchJob of these replicas, and its pods as its operator makes them, all at once."""
    path = f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs"
    made = copy.deepcopy(WORKLOADS["pytorchjob"][0])
    made["metadata"]["name"] = name
    made["spec"]["pytorchReplicaSpecs"] = {role: {"replicas": n, "template": {"spec": {"containers": [
        {"name": "pytorch", "image": "train:1"}]}}} for role, n in replicas.items()}
    return gang_pods(namespace, name, replicas, t.cluster.create(path, made).body["metadata"]["uid"])


def gang_pods(namespace, name, replicas, uid):
    pods = []
    for role, n in replicas.items():
        for index in range(n):
            pod = harness.training_pod(f"{name}-{role.lower()}-{index}", namespace)
            pod["metadata"]["labels"] = {"training.kubeflow.org/job-name": name, "training.kubeflow.org/replica-index": str(index),
                                         "training.kubeflow.org/replica-type": role.lower()}
            pod["metadata"]["ownerReferences"] = [{
                "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": name, "uid": uid, "controller": True,
                "blockOwnerDeletion": True}]
            pod["spec"]["schedulerName"] = "memtamer.test/none"
            pod["spec"]["containers"][0]["resources"] = {"requests": {"memory": "2Gi"},
                                                         "limits": {"nvidia.com/gpu": "1", "memory": "4Gi"}}
            pods.append(pod)
    return pods


@parallel
def test_a_quota_for_eight(t):
    """A quota that holds eight pods at the user's size, and not at ours: all eight are there, and none has more than its
    share. A pod has less if its share was decided before the webhook knew of its siblings. Without any room above the
    user's size they stay at it."""
    t.install_crds()
    install_kinds(t)
    lines = []
    for hard, expected in (("32Gi", "4Gi"), ("60Gi", "7680Mi"), ("96Gi", "12Gi"), ("95Gi", "12160Mi")):
        namespace = t.namespace()
        t.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "eight"},
                  "spec": {"hard": {"limits.memory": hard, "pods": "8"}}}, namespace)
        wait_for(lambda: t.get("resourcequotas", "eight", namespace)["status"].get("used"),  # noqa: B023 - called at once
                 "the quota to be counted")
        for role in ("master", "worker"):
            t.create_profile(harness.profile(f"{role}-0123456789", "PyTorchJob/train", namespace, role=role, **HISTORY))
        webhook = t.webhook(config={"mode": "raise"}, store="kube", name="webhook-" + hard.lower())
        webhook.configure(namespace)
        for number in range(2):  # the first one shows that the kind is watched: the second is seen from its beginning
            if number:
                t.kubectl("delete", "pytorchjob", "train", namespace=namespace)
            pods = gang(t, namespace, "train", {"Master": 1, "Worker": 7})
            if expected != "4Gi":
                wait_for(lambda: sizes(create(t, pods[0]).body)[1] == expected,  # noqa: B023
                         "the owner to be known: its operator takes longer than this test")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda pod: create(t, pod, dry_run=False).body, pods))
        limits = [sizes(one)[1] for one in made]
        assert all(amount("4Gi") <= amount(limit) <= amount(expected) for limit in limits), f"under {hard}: {limits}"
        assert expected in limits, f"under {hard} no pod got its share: {limits}"
        webhook.finish()
        lines.append(f"{hard} made {expected} of {limits.count(expected)} pods")
    return "eight pods each, created at once, all there and none above its share: " + ", ".join(lines)
