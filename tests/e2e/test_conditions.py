# SPDX-License-Identifier: Apache-2.0
"""Which objects the chart's webhook configurations keep away from memtamer, as the real API server evaluates them."""
import copy
import glob
import json
import os
import re

import configurations
import harness
import yaml
from kit import TOP, parallel, wait_for
from standins import KINDS, OtherWebhook, install_kinds

GOLDEN = os.path.join(TOP, "tests/golden")
MANIFESTS = os.path.join(TOP, "tests/support/manifests")
ERRORS = "apiserver_admission_match_condition_evaluation_errors_total"
EXCLUSIONS = "apiserver_admission_match_condition_exclusions_total"


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def golden_pods():
    """(name, pod) of every golden case about a pod, and of the pods that are no training pods."""
    for folder in sorted(glob.glob(f"{GOLDEN}/cases/*/")) + sorted(glob.glob(f"{GOLDEN}/non-training/*/")):
        thing = load(folder + "object.json")
        if thing["kind"] == "Pod":
            yield os.path.basename(folder[:-1]), thing


def owned(kind, api_version="apps/v1", controller=True, **metadata):
    """A GPU pod of such an owner."""
    owner = {"apiVersion": api_version, "kind": kind, "name": "a", "uid": "1"}
    if controller is not None:
        owner["controller"] = controller
    return harness.training_pod("owned", ownerReferences=[owner], **metadata)


# name: (pod, is memtamer asked)
EDGES = {
    "replicaset": (owned("ReplicaSet"), False),
    "statefulset": (owned("StatefulSet"), False),
    "daemonset": (owned("DaemonSet"), False),
    "statefulset-of-another-group": (owned("StatefulSet", "apps.kruise.io/v1beta1"), True),
    "replicaset-that-does-not-control": (owned("ReplicaSet", controller=False), True),
    "replicaset-controller-unsaid": (owned("ReplicaSet", controller=None), True),
    "replicaset-labelled": (owned("ReplicaSet", labels={"memtamer.io/training": "true"}), True),
    "replicaset-annotated": (owned("ReplicaSet", annotations={"memtamer.io/training": "true"}), True),
    "replicaset-other-marks": (owned("ReplicaSet", labels={"a": "b"}, annotations={"c": "d"}), False),
    "job": (owned("Job", "batch/v1"), True),
    "off-by-annotation": (harness.training_pod(annotations={"memtamer.io/mode": "off"}), False),
    "observe-by-annotation": (harness.training_pod(annotations={"memtamer.io/mode": "observe"}), True),
    "mirror": (harness.training_pod(annotations={"kubernetes.io/config.mirror": "x"}), False),
    "not-training": (harness.training_pod(labels={"memtamer.io/training": "false"}), False),
    "ignored": (harness.training_pod(labels={"memtamer.io/ignore": "true"}), False),
    "ignored-not-really": (harness.training_pod(labels={"memtamer.io/ignore": "no"}), True),
    "hundred-containers": (None, True),
}


def hundred_containers():
    pod = harness.training_pod("hundred", annotations={f"a{i}": "b" * 100 for i in range(100)},
                               labels={f"l{i}": "b" for i in range(100)})
    one = pod["spec"]["containers"][0]
    pod["spec"]["containers"] = [{**one, "name": f"c{i}", "resources": one["resources"] if i == 50 else {},
                                  "env": [{"name": f"E{j}", "value": "x" * 100} for j in range(20)]}
                                 for i in range(100)]
    return pod


def all_pods():
    yield from golden_pods()
    for name, (pod, _) in EDGES.items():
        yield "edge-" + name, pod or hundred_containers()


def dry_run(t, namespace, pod):
    """Create this pod without keeping it; does the API server get as far as its webhooks?"""
    pod = copy.deepcopy(pod)
    # What admission plugins before the webhooks would stumble over, and what is no business of conditions.
    for key in ("priorityClassName", "priority", "serviceAccountName", "serviceAccount", "nodeName"):
        pod["spec"].pop(key, None)
    pod["metadata"]["namespace"] = namespace
    answer = t.cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    return answer.status != 400, answer


def decided(webhook, pod, namespace):
    """What memtamer itself says when it is asked about that pod after all."""
    review = harness.review_of(pod)
    review["request"]["namespace"] = namespace
    return webhook.post("/mutate", review)[1]["response"]


@parallel
def test_pods_kept_away_are_left_alone(t):
    namespace = t.namespace()
    recorder = OtherWebhook(t, name="recorder")
    webhook = t.webhook(config={"mode": "enforce"})
    configuration = configurations.lead_to(configurations.rendered()[0], recorder, [namespace, "kube-system"])
    counted = configurations.count_apart(configuration, namespace)
    configurations.install(t, configuration)

    def asked(name, pod):
        where = "kube-system" if pod["metadata"].get("namespace") == "kube-system" else namespace
        recorder.requests.clear()
        reached, answer = dry_run(t, where, pod)
        if not reached and not recorder.requests:
            # The API server cannot read it: what that looks like must not hide a pod that it can.
            assert name == "unit-invalid-quantity", f"{name}: {answer.body}"
            return None
        return bool(recorder.requests)

    wait_for(lambda: asked("first", harness.training_pod()), "the API server to call the recorder")
    excluded = t.cluster.metric(EXCLUSIONS, name=counted)
    kept_away, count = [], 0
    for name, pod in all_pods():
        is_asked = asked(name, pod)
        count += 1
        if name.startswith("edge-"):
            assert is_asked == EDGES[name[5:]][1], f"{name}: asked: {is_asked}"
        if is_asked is False:
            kept_away.append(name)
            said = decided(webhook, pod, pod["metadata"].get("namespace", namespace))
            assert "skip" in said.get("auditAnnotations", {}) and "patch" not in said and "warnings" not in said, (
                f"{name} is kept away from memtamer, which would have said {said}")
    assert t.cluster.metric(ERRORS, name=counted) == 0
    by_condition = t.cluster.metric(EXCLUSIONS, name=counted) - excluded
    assert by_condition >= 8 and len(kept_away) > by_condition, (by_condition, kept_away)
    return (f"{count} pods (golden, no training, edges, 100 containers): {len(kept_away)} kept away, all of them pods "
            f"that memtamer leaves alone; 0 errors in CEL, {by_condition:.0f} exclusions by it")


# The API server cannot decode their quantities, or refuses them, before it asks a validating webhook.
REFUSED = ("quantity-invalid", "quantity-placeholder", "request-above-limit")


def workloads():
    """(name, object) of what makes pods in a namespace, in the golden cases and in the manifests."""
    for folder in sorted(glob.glob(f"{GOLDEN}/cases/*/")):
        name, thing = os.path.basename(folder[:-1]), load(folder + "object.json")
        if thing["kind"] not in ("Pod", "ClusterTrainingRuntime") and not name.startswith(REFUSED):
            yield name, thing
    for path in sorted(glob.glob(f"{MANIFESTS}/*.yaml")):
        with open(path, encoding="utf-8") as file:
            for document in yaml.safe_load_all(file):
                for thing in (document or {}).get("items", [document]):
                    if thing and thing["kind"] not in ("Pod", "ConfigMap", "Service", "Kustomization"):
                        yield f"{os.path.basename(path)}-{thing['kind']}", thing


def collection(thing, namespace):
    group, _, version = thing["apiVersion"].rpartition("/")
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return f"{prefix}/namespaces/{namespace}/{thing['kind'].lower()}s"


@parallel
def test_workloads_kept_away(t):
    install_kinds(t)
    namespace = t.namespace()
    recorder = OtherWebhook(t, name="recorder")
    configurations.install(t, configurations.lead_to(configurations.rendered()[1], recorder, [namespace]))

    def asked(thing, method="POST", path=None):
        recorder.requests.clear()
        thing = {**thing, "metadata": {**thing.get("metadata", {"generateName": "a-"}), "namespace": namespace}}
        answer = t.cluster.request(method, path or collection(thing, namespace) + "?dryRun=All", thing)
        assert answer.status < 300 or recorder.requests, answer.body
        return [request["operation"] for request in recorder.requests], answer.body

    def job(name="a", **metadata):
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **metadata},
                "spec": {"suspend": True, "template": {"spec": harness.training_pod()["spec"]}}}

    def deployment(**template):
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
                    "metadata": {"labels": {"a": "b", **template.get("labels", {})},
                                 "annotations": template.get("annotations", {})},
                    "spec": {"containers": [{"name": "c", "image": "i"}]}}}}

    wait_for(lambda: asked(job())[0], "the API server to call the recorder")
    count = 0
    for name, thing in workloads():
        if thing["kind"] != "Deployment":  # which is no valid one, and comes below
            assert asked(thing)[0] == ["CREATE"], name
            count += 1
    mine = {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": True}
    assert asked(job(ownerReferences=[mine]))[0] == []
    assert asked(job(ownerReferences=[{**mine, "controller": False}]))[0] == ["CREATE"]
    assert asked(job(labels={"memtamer.io/ignore": "true"}))[0] == ["CREATE"], "labels of a Job are not its pods'"
    assert asked(deployment())[0] == []
    for where in ("labels", "annotations"):
        assert asked(deployment(**{where: {"memtamer.io/training": "true"}}))[0] == ["CREATE"]
    # Updates: only a changed spec is asked about; status and other subresources never.
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js"},
              "spec": {"replicatedJobs": [{"name": "w", "template": job()["spec"]}]}}
    for thing in (job(), jobset):
        path = collection(thing, namespace)
        t.cluster.create(path, thing)
        one = f"{path}/{thing['metadata']['name']}"
        if thing["kind"] == "Job":  # its controller's word would make the API server try a change, and ask, twice
            wait_for(lambda: t.cluster.get(one).get("status", {}).get("conditions"), "the Job to be suspended")  # noqa: B023

        def asked_of(change, path):
            recorder.requests.clear()
            t.cluster.patch(path, change)
            return [request["operation"] for request in recorder.requests]
        assert asked_of({"metadata": {"labels": {"added": "later"}}}, one) == []
        assert t.cluster.get(one)["metadata"]["labels"]["added"] == "later"
        assert asked_of({"spec": {"suspend": True, "parallelism": 2, "ttlSecondsAfterFinished": 9}}, one) == ["UPDATE"]
        status = {"failed": 1} if thing["kind"] == "Job" else {"restarts": 3}
        assert asked_of({"status": status}, one + "/status") == []
        assert t.cluster.get(one)["status"], "the status was written"
    assert t.cluster.metric(ERRORS, name="workloads.memtamer.io") == 0
    assert count > 15, count
    return f"{count} objects that make pods are asked about when created, and again only when their spec changes"


@parallel
def test_rules_cover_all_kinds(t):
    """Every kind with pod templates in memtamer's table has a rule, and every rule a kind."""
    with open(os.path.join(TOP, "common/k8s/kinds.c"), encoding="utf-8") as file:
        table = file.read().partition("static const struct kind kinds[] = {")[2].partition("\n};")[0]
    rows = re.findall(r'^\t\{"(.*?)", "(.*?)", (.*?)\},$', table, flags=re.M | re.S)
    assert len(rows) > 40, "where is the table?"
    known = {f"{name.lower()}s.{group}" for group, name, rest in rows if re.search(r"\b(TEMPLATES|OBJECTS)\(", rest)}
    rules = configurations.rendered()[1]["webhooks"][0]["rules"]
    named = {f"{resource}.{rule['apiGroups'][0]}" for rule in rules for resource in rule["resources"]}
    known -= {"pods.", "lists."}
    assert known == named, known ^ named
    recurring = {name for _, name, rest in rows if "RECURRING(" in rest}
    sized = configurations.rendered({"config": {"templates": "patch"}})[0]["webhooks"][1]
    excepted = sized["matchConditions"][0]["expression"].partition(" in [")[2].partition("]")[0]
    assert sized["name"] == "templates.memtamer.io" and sized["rules"] == rules
    assert {name.strip("' ") for name in excepted.split(",")} == recurring, (excepted, recurring)
    stands_in = {f"{kind.lower()}s.{group}" for group, _, kind, _ in KINDS}
    third = {name for name in named if name.partition(".")[2] not in ("", "apps", "batch")}
    assert third == stands_in, third ^ stands_in
    return f"{len(named)} resources in {len(rules)} rules, as many as memtamer knows kinds with pod templates"


@parallel
def test_errors_are_counted(t):
    """The metric that says 0 above is the one that would say otherwise."""
    namespace = t.namespace()
    recorder = OtherWebhook(t, name="recorder")
    configuration = configurations.lead_to(configurations.rendered(
        {"webhook": {"matchConditions": [{"name": "wrong", "expression": "object.spec.nodeName == 'x'"}]}})[0],
        recorder, [namespace], name=f"a0-wrong-{namespace}")
    configuration["webhooks"] = configuration["webhooks"][:1]
    configuration["webhooks"][0]["name"] = "wrong.memtamer.io"
    configurations.install(t, configuration)

    def look():
        dry_run(t, namespace, harness.training_pod())
        return t.cluster.metric(ERRORS, name="wrong.memtamer.io") > 0
    try:
        wait_for(look, "the API server to count an error of CEL")
    finally:
        t.cluster.delete(configurations.path_of(configuration))
    assert not recorder.requests
    return "a condition that does not use has() is counted as an error, and the webhook passed over"
