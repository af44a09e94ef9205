# SPDX-License-Identifier: Apache-2.0
"""memtamer never causes a rejected pod: for each rule of a namespace, what history alone would ask for is refused by the
API server, the pod that memtamer has sized is not, and without memtamer the pod would have been created as well."""
import collections
import copy
import dataclasses

import harness
from kit import parallel, wait_for
from workloads import HISTORY, amount


def limit_range(**item):
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "rules"},
            "spec": {"limits": [{"type": "Container", **item}]}}


def quota(hard, **spec):
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "rules"}, "spec": {"hard": hard, **spec}}


def scope(name, *values):
    return {"scopeSelector": {"matchExpressions": [
        {"scopeName": name, "operator": "In" if values else "Exists", **({"values": list(values)} if values else {})}]}}


def pod(requests=None, limits=None, **spec):
    """A pod of the Job "train"; its owner's uid is filled in when the Job is there."""
    made = harness.job_pod("train")
    made["spec"]["containers"][0]["resources"] = {"requests": requests or {},
                                                  "limits": {"nvidia.com/gpu": "1", **(limits or {})}}
    made["spec"].update(spec)
    return made


@dataclasses.dataclass
class Case:
    rules: list            # LimitRanges and quotas
    pod: dict              # as its controller makes it
    naive: tuple           # (request, limit) that history alone asks for, and is refused; None: is not
    expected: tuple        # (request, limit) of the pod in the end
    mode: str = "raise"
    history: dict = dataclasses.field(default_factory=lambda: HISTORY)
    others: list = dataclasses.field(default_factory=list)  # pods that are there already
    parallelism: int = 1   # of the Job


SMALL = {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}
TINY = {"request": "256Mi", "limit": "512Mi", "peak": "400Mi", "median": "256Mi"}
USED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "used"}, "spec": {
    "schedulerName": "nobody", "containers": [{"name": "c", "image": "i", "resources": {
        "requests": {"memory": "4Gi"}, "limits": {"memory": "4Gi"}}}]}}
SIDECAR = {"name": "logs", "image": "i", "restartPolicy": "Always",
           "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}}
FETCH = {"name": "fetch", "image": "i", "resources": {"requests": {"memory": "5Gi"}, "limits": {"memory": "5Gi"}}}

CASES = {
    "limit-range-max": Case([limit_range(max={"memory": "10Gi"})], pod(**SMALL), ("8Gi", "12Gi"), ("8Gi", "10Gi")),
    "limit-range-max-for-the-request": Case(
        [limit_range(max={"memory": "6Gi"})],
        pod(**SMALL), ("8Gi", "12Gi"), ("6Gi", "6Gi")),
    "limit-range-max-by-default": Case(
        [limit_range(max={"memory": "10Gi"})],
        pod(), ("8Gi", "12Gi"), ("10Gi", "10Gi")),
    "limit-range-min": Case(
        [limit_range(min={"memory": "2000Mi"})],
        pod({"memory": "2200Mi"}, {"memory": "2200Mi"}), ("1650Mi", "1650Mi"), ("2000Mi", "2000Mi"), mode="enforce", history=TINY),
    "limit-range-ratio": Case(
        [limit_range(maxLimitRequestRatio={"memory": "1200m"})],
        pod({"memory": "4Gi"}, {"memory": "4Gi"}), ("8Gi", "12Gi"), ("10Gi", "12Gi")),
    "limit-range-ratio-of-what-is-missing": Case(
        [limit_range(maxLimitRequestRatio={"memory": "1"}, default={"memory": "3Gi"}, defaultRequest={"memory": "3Gi"})],
        pod(), ("8Gi", "12Gi"), ("12Gi", "12Gi")),
    "limit-range-default": Case(
        [limit_range(default={"memory": "4Gi"}, defaultRequest={"memory": "1Gi"}, max={"memory": "9Gi"})],
        pod(), ("8Gi", "12Gi"), ("8Gi", "9Gi")),
    "limit-range-of-the-pod": Case(
        [limit_range(type="Pod", max={"memory": "12Gi"})],
        pod(**SMALL, initContainers=[SIDECAR]), ("8Gi", "12Gi"), ("8Gi", "11Gi")),
    "limit-range-ephemeral-storage": Case(
        [limit_range(max={"ephemeral-storage": "100Mi"}, min={"ephemeral-storage": "10Mi"})],
        pod(**SMALL), None, ("8Gi", "12Gi")),
    "quota-of-requests": Case(
        [quota({"requests.memory": "8Gi"})],
        pod(**SMALL), ("8Gi", "12Gi"), ("4Gi", "12Gi"), others=[USED]),
    "quota-of-limits": Case(
        [quota({"limits.memory": "14Gi"})],
        pod(**SMALL), ("8Gi", "12Gi"), ("8Gi", "10Gi"), others=[USED]),
    "quota-that-demands-limits": Case(
        [quota({"limits.memory": "40Gi", "requests.memory": "40Gi"})],
        pod(**SMALL), None, ("8Gi", "12Gi")),
    "quota-for-all-pods-of-a-job": Case(
        [quota({"limits.memory": "30Gi"})],
        pod(**SMALL), None, ("7680Mi", "7680Mi"), parallelism=4),
    "quota-of-ephemeral-storage": Case(
        [quota({"requests.ephemeral-storage": "100Mi"})],
        pod({"memory": "8Gi", "ephemeral-storage": "50Mi"}, {"memory": "12Gi"}), None, ("8Gi", "12Gi")),
    "quota-scope-not-best-effort": Case(
        [quota({"pods": "0"}, scopes=["NotBestEffort"])],
        pod(), ("8Gi", "12Gi"), (None, None)),
    "quota-scope-best-effort": Case([quota({"pods": "5"}, scopes=["BestEffort"])], pod(), None, ("8Gi", "12Gi")),
    "quota-scope-terminating": Case(
        [quota({"limits.memory": "6Gi"}, **scope("Terminating"))],
        pod(**SMALL, activeDeadlineSeconds=3600), ("8Gi", "12Gi"), ("6Gi", "6Gi")),
    "quota-scope-not-terminating-elsewhere": Case(
        [quota({"limits.memory": "6Gi"}, **scope("NotTerminating"))],
        pod(**SMALL, activeDeadlineSeconds=3600), None, ("8Gi", "12Gi")),
    "quota-scope-priority-class": Case(
        [quota({"limits.memory": "6Gi"}, **scope("PriorityClass", "e2e-prod"))],
        pod(**SMALL, priorityClassName="e2e-prod"), ("8Gi", "12Gi"), ("6Gi", "6Gi")),
    "pod-level-limit": Case(
        [],
        pod(resources={"requests": {"memory": "4Gi"}, "limits": {"memory": "6Gi"}}), ("8Gi", "12Gi"), (None, None)),
    "pod-level-request": Case(
        [],
        pod({"memory": "1Gi"}, resources={"requests": {"memory": "4Gi"}}), ("8Gi", "12Gi"), ("1Gi", None)),
    "hugepages": Case([], pod({"memory": "1Gi"}, {"hugepages-2Mi": "100Mi", "memory": "2Gi"}), None, ("8Gi", "12Gi")),
    "init-container-and-sidecar": Case(
        [quota({"requests.memory": "7Gi"})],
        pod(**SMALL, initContainers=[FETCH, SIDECAR]), ("8Gi", "12Gi"), ("6Gi", "12Gi")),
    "two-rules-at-once": Case(
        [limit_range(max={"memory": "10Gi"}, maxLimitRequestRatio={"memory": "2"}),
         quota({"requests.memory": "9Gi", "limits.memory": "9Gi"})],
        pod(**SMALL), ("8Gi", "12Gi"), ("8Gi", "9Gi")),
}


def with_memory(pod, request, limit):
    """The pod with what history alone would ask for."""
    made = copy.deepcopy(pod)
    resources = made["spec"]["containers"][0]["resources"]
    resources["requests"]["memory"], resources["limits"]["memory"] = request, limit
    return made


def is_counted(t, rule, namespace, is_used):
    """Has the quota controller counted what is there? It may count before it has heard of a pod, and not again for
    minutes: then it is given a new quota."""
    name = rule["metadata"]["name"]
    used = t.get("resourcequotas", name, namespace)["status"].get("used")
    if used and is_used and set(used.values()) == {"0"}:
        t.delete("resourcequotas", name, namespace)
        t.create(rule, namespace)
        return False
    return bool(used)


def prepare(t, case, namespace):
    """Rules, what is there already, the Job of the pod, and its profile."""
    for other in case.others:
        t.cluster.create(f"/api/v1/namespaces/{namespace}/pods", other)
    for rule in case.rules:
        t.create(rule, namespace)
        if rule["kind"] == "ResourceQuota":
            wait_for(lambda: is_counted(t, rule, namespace, bool(case.others)),  # noqa: B023 - called at once
                     "the quota to be counted")
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
           "spec": {"suspend": True, "parallelism": case.parallelism, "completions": case.parallelism,
                    "template": {"spec": {"restartPolicy": "Never", "containers": case.pod["spec"]["containers"]}}}}
    made = t.cluster.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", job).body
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **case.history))
    return made["metadata"]["uid"]


def attempt(t, pod, namespace, uid, keep=False):
    pod = copy.deepcopy(pod)
    pod["metadata"]["namespace"] = namespace
    pod["metadata"]["ownerReferences"][0]["uid"] = uid
    return t.cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods" + ("" if keep else "?dryRun=All"), pod)


def memory(pod):
    resources = pod["spec"]["containers"][0]["resources"]
    return tuple(resources.get(key, {}).get("memory") for key in ("requests", "limits"))


@parallel
def test_rule_by_rule(t):
    t.install_crds()
    t.cluster.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "e2e-prod"}, "value": 1000})
    spaces, uids = {}, {}
    for name, case in CASES.items():
        for side in ("with", "without"):
            spaces[name, side] = t.namespace(name=t.unique(name[:40]))
            uids[name, side] = prepare(t, case, spaces[name, side])
    webhooks = {}
    for mode in sorted({case.mode for case in CASES.values()}):
        webhooks[mode] = t.webhook(config={"mode": mode}, store="kube", name=mode)
        webhooks[mode].configure(*(spaces[name, "with"] for name, case in CASES.items() if case.mode == mode),
                                 wait_in=None)
    # Jobs and pods are not waited for at the start: until they are known, a quota means no raise.
    known = CASES["quota-that-demands-limits"], "quota-that-demands-limits", "with"
    wait_for(lambda: memory(attempt(t, known[0].pod, spaces[known[1:]], uids[known[1:]]).body) == known[0].expected,
             "the owners of pods to be known")
    troubles, changed, lines = [], 0, []
    for name, case in CASES.items():
        plain = attempt(t, case.pod, spaces[name, "without"], uids[name, "without"])
        if plain.status >= 300:
            troubles.append(f"{name}: refused without memtamer: {plain.body}")
            continue
        if case.naive:
            naive = attempt(t, with_memory(case.pod, *case.naive), spaces[name, "without"], uids[name, "without"])
            if naive.status < 300:
                troubles.append(f"{name}: this rule would refuse nothing")
        sized = attempt(t, case.pod, spaces[name, "with"], uids[name, "with"])
        if sized.status >= 300:
            troubles.append(f"{name}: refused: {sized.body['message']}")
            continue
        got = memory(sized.body)
        lines.append(f"{name}: {memory(plain.body)} -> {got}")
        changed += got != memory(plain.body)
        if got != case.expected:
            troubles.append(f"{name}: {got}, not {case.expected}")
        if not any(key.startswith("memtamer.io/") for key in sized.body["metadata"].get("labels", {})):
            troubles.append(f"{name}: memtamer was not asked")
        really = attempt(t, case.pod, spaces[name, "with"], uids[name, "with"], keep=True)
        if really.status >= 300:
            troubles.append(f"{name}: refused when it was no dry run: {really.body['message']}")
    with open(t.path("sizes.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    assert not troubles, "\n".join(troubles)
    refused = sum(case.naive is not None for case in CASES.values())
    return (f"{len(CASES)} namespaces: {refused} would have refused what history asks for, none refused what memtamer made "
            f"of it; {changed} pods were still given more (or less) memory")


RANKS = 8


def run_job(t, namespace, suspended):
    """A Job of eight pods, created by the real controller as fast as it can; their sizes. It is gone afterwards.
    `suspended`: it is let go a moment later, as a queue does."""
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    t.cluster.create(path, {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
        "spec": {"parallelism": RANKS, "completions": RANKS, "suspend": suspended,
                 "template": {"spec": {**pod(**SMALL)["spec"], "schedulerName": "memtamer.test/none"}}}})
    if suspended:
        t.cluster.patch(path + "/train", {"spec": {"suspend": False}})
    pods = wait_for(lambda: len(t.get("pods", namespace=namespace)) == RANKS and t.get("pods", namespace=namespace),
                    "all eight pods")
    t.kubectl("delete", "job", "train", "--cascade=foreground", "--wait", namespace=namespace)
    wait_for(lambda: not t.get("pods", namespace=namespace), "the pods to be gone")
    wait_for(lambda: set(t.get("resourcequotas", "rules", namespace)["status"]["used"].values()) == {"0"},
             "the quota to be free again")
    return [amount(memory(one)[1]) for one in pods]


@parallel
def test_all_pods_of_a_job(t):
    """Real Jobs under a quota, one after the other: every pod is created, and none is kept out by what the first ones were
    given, though pods come faster than the watches of their Job and of the quota's use. No pod waits for these watches,
    so the first ones may keep their own limit; none gets more than its share."""
    t.install_crds()
    namespace = t.namespace()
    t.create(quota({"limits.memory": "60Gi", "pods": "10"}), namespace)
    wait_for(lambda: t.get("resourcequotas", "rules", namespace)["status"].get("used"), "the quota to be counted")
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))
    webhook = t.webhook(config={"mode": "raise"}, store="kube")
    webhook.configure(namespace)
    counts = collections.Counter()
    for number in range(8):
        sizes = run_job(t, namespace, number % 2 == 0)
        assert all(amount("4Gi") <= size <= amount("7680Mi") for size in sizes), f"Job {number}: {sizes}"
        counts.update(sizes)
        events = [event for event in t.get("events", namespace=namespace) if event["reason"] == "FailedCreate"]
        assert not events, events
    assert counts[amount("7680Mi")], f"no pod got its share: {counts}"
    return (f"8 Jobs of 8 pods each under a quota of 60Gi: every pod was created, {counts[amount('7680Mi')]} with their share of "
            f"7680Mi, the others with less")
