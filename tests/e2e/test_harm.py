# SPDX-License-Identifier: Apache-2.0
"""Harm that really happens, on the real cluster: what memtamer had set is the cause, its workload goes at its own values
from then on, and everybody can see it. Prometheus is away all the time: pods tell enough.

Real are the kernel's OOM kills, the scheduler's and the quota's refusals; the kubelet's eviction is test_shortage.py."""
import json
import time

import harness
from kit import parallel, wait_for
from test_recommender_service import NOBODY, Service

PROFILES, HISTORIES, JOBS = "memoryprofiles.memtamer.io/v1alpha1", "memoryhistories.memtamer.io/v1alpha1", "jobs.batch/v1"
EVENTS = "events"
MI = 1 << 20
TRAINING = {"memtamer.io/training": "true"}


def stamp(ago=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


def past(n, harm=(), **more):
    """A whole run, n hours ago, that used less than what comes."""
    run = {"uid": f"{n:016x}", "name": f"train-{n}", "outcome": "completed",
           "start": stamp(n * 3600), "duration": "10m", "attempts": 1, "ranks": 1, "world": 1, "request": "64Mi",
           "limit": "128Mi", "peak": "40Mi", "median": "30Mi", "p95": "38Mi", "whole": True, "samples": 60,
           "source": "query", **more}
    return {**run, "harm": list(harm)} if harm else run


class World:
    """A namespace in mode `mode` with a webhook, a recommender, and what is known of the workload Job/train."""

    def __init__(self, t, mode="enforce", harmed=0, harm=None, runs=None, n_runs=8, **recommendation):
        self.t, self.namespace, own = t, t.namespace(labels={"memtamer.io/mode": mode}), t.namespace()
        t.install_crds()
        t.create_profile(harness.profile("train-0123456789", "Job/train", self.namespace, container="main",
                                         **{"peak": "40Mi", "median": "30Mi", "runs": 8, **recommendation}))
        t.create_profile({"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryHistory",
                          "metadata": {"namespace": self.namespace, "name": "train-0123456789"},
                          "spec": {"workload": "Job/train", "container": "main", "aliases": ["Job/train"],
                                   "runs": [past(n, **(runs or {})) for n in range(n_runs, 0, -1)]}})
        if harmed:
            t.create_profile(harness.profile("other-0123456789", "Job/other", self.namespace, container="main"))
            t.create_profile({"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryHistory",
                              "metadata": {"namespace": self.namespace, "name": "other-0123456789"},
                              "spec": {"workload": "Job/other", "container": "main", "aliases": ["Job/other"],
                                       "runs": [past(n + 20, ["oom"]) | {"start": stamp(n * 3600)}
                                                for n in range(harmed, 0, -1)]}})
        self.webhook = t.webhook(store="kube")
        self.webhook.configure(self.namespace)
        self.recommender = Service(t, own, NOBODY, namespaces=[self.namespace], more={"harm": harm or {}})
        self.recommender.wait_leads()
        # Its revision is 1, or 2 if the recommender has computed it anew already.
        wait_for(lambda: '"rev":' in self.look()[1], "the webhook to know the profile")

    def job(self, command, request=None, limit=None, nodes=None, **spec):
        resources = {"requests": {"memory": request} if request else {}, "limits": {"memory": limit} if limit else {}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": self.namespace},
                "spec": {"backoffLimit": 2, **spec, "template": {"metadata": {"labels": TRAINING}, "spec": {
                    "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "nodeSelector": nodes or {}, "containers": [{
                        "name": "main", "image": "memtamer.test/actor:1", "args": command.split(),
                        "resources": resources}]}}}}

    def look(self, request="16Mi", limit=None):
        """What a pod of the Job with these values would get now: ((request, limit), the decision)."""
        pod = {"apiVersion": "v1", "kind": "Pod", **self.job("pause", request, limit)["spec"]["template"]}
        pod["metadata"] = {"name": "train-look", "labels": TRAINING, "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "0", "controller": True}]}
        made = self.t.cluster.create(f"/api/v1/namespaces/{self.namespace}/pods", pod, dry_run=True).body
        return self.memory(made), made["metadata"].get("annotations", {}).get("memtamer.io/decision", "")

    def submit(self, *args, **options):
        self.t.apply([self.job(*args, **options)], self.namespace)

    def pods(self):
        """Of the Job, the first one first."""
        found = [pod for pod in self.t.get("pods", namespace=self.namespace)
                 if pod["metadata"].get("ownerReferences", [{}])[0].get("name") == "train"]
        return sorted(found, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    def memory(self, pod):
        """(request, limit) of its container."""
        resources = pod["spec"]["containers"][0]["resources"]
        return resources.get("requests", {}).get("memory"), resources.get("limits", {}).get("memory")

    def harmed(self, kind):
        """The run that was harmed so, once it is in the history and its profile says it."""
        def look():
            self.recommender.assert_runs()
            history = harness.unpacked(self.t.get(HISTORIES, "train-0123456789", self.namespace))
            flags = self.t.get(PROFILES, "train-0123456789", self.namespace)["status"]["recommendation"].get("flags", [])
            runs = [run for run in history["spec"].get("runs", []) if kind in run.get("harm", [])]
            return runs[0] if runs and "harm" in flags and "no-lower" in flags else None
        run = wait_for(look, f"harm {kind}; the recommender's log:\n{self.recommender.log()[-3000:]}")
        self.recommender.wait_metric("memtamer_harm_total", lambda value: value == 1, kind=kind)
        return run

    def event(self, reason, part, about="Job"):
        def look():
            return next((one for one in self.t.get(EVENTS, namespace=self.namespace)
                         if one["reason"] == reason and part in one["message"] and
                         one["involvedObject"]["kind"] == about), None)
        return wait_for(look, f"an Event {reason} with '{part}'; there are "
                              f"{[(e['reason'], e['message']) for e in self.t.get(EVENTS, namespace=self.namespace)]}")

    def completes(self):
        def look():
            status = self.t.get(JOBS, "train", self.namespace)["status"]
            assert "Failed" not in [one["type"] for one in status.get("conditions", [])], status
            return status.get("succeeded")
        wait_for(look, "the Job to complete")


def decisions(world):
    return [(one["owner"], one.get("requestTo"), one.get("limitTo"), one["pods"])
            for one in harness.unpacked(world.t.get(HISTORIES, "train-0123456789",
                                                    world.namespace))["spec"].get("decisions", [])]


@parallel
def test_oom_at_a_lowered_limit(t):
    world = World(t, request="64Mi", limit="100Mi")
    world.submit("eat 115343360 1", "64Mi", "128Mi")  # 110 Mi, after runs that used 40
    first = wait_for(world.pods, "the first pod")[0]
    assert world.memory(first) == ("64Mi", "100Mi")
    run = world.harmed("oom")
    assert (run["limit"], run["ownLimit"], run["by"], run["mode"]) == ("100Mi", "128Mi", "memtamer", "enforce"), run
    # The first retry is created after ten seconds, whatever is known by then; the next one later.
    wait_for(lambda: world.pods()[1:] and world.memory(world.pods()[-1]) == ("64Mi", "200Mi"), "a retry above its own size")
    world.completes()
    assert ("Job/train", None, "100Mi") in [one[:3] for one in decisions(world)], decisions(world)
    told = world.event("MemorySet", "memory limit 100Mi (was 128Mi)")
    revision = json.loads(first["metadata"]["annotations"]["memtamer.io/decision"])["rev"]
    assert f"revision {revision}," in told["message"] and told["involvedObject"]["name"] == "train", told
    assert world.event("MemoryHarm", "oom: OOM-killed at a limit")["type"] == "Warning"
    explained = harness.run("memtamer-recommender", "explain", "--config", world.recommender.config_path, "-n",
                            world.namespace, "Job/train").stdout
    assert "harm" in explained and "OOM-killed at 100Mi, its own limit is 128Mi" in explained, explained
    return "killed at 100Mi instead of its own 128Mi; its retry got 200Mi and completed, as told by Events and explain"


@parallel
def test_longer_alone_is_no_harm(t):
    """Without page cache at its lowered limit, a run that takes much longer than those before it is not slower by us."""
    def completed(world):
        runs = harness.unpacked(t.get(HISTORIES, "train-0123456789", world.namespace))["spec"]["runs"]
        return next((run for run in runs if run["name"] == "train" and run.get("outcome") == "completed"), None)
    before = World(t, mode="observe")  # what its image makes of its runs' variant
    before.submit("eat 10485760 1", "64Mi", "128Mi")
    run = wait_for(lambda: completed(before), "a run at its own size")
    world = World(t, runs={"variant": run["variant"], "duration": "2s"}, n_runs=12, request="64Mi", limit="100Mi")
    world.submit("eat 10485760 8", "64Mi", "128Mi")
    assert world.memory(wait_for(world.pods, "the pod")[0]) == ("64Mi", "100Mi")
    world.completes()
    run = wait_for(lambda: completed(world), "a run at a lowered size")
    assert (run["limit"], run["ownLimit"], run["by"]) == ("100Mi", "128Mi", "memtamer") and "harm" not in run, run
    return f"with 100Mi instead of its own 128Mi it took {run['duration']}, runs before it 2s; that is no harm"


@parallel
def test_oom_at_a_limit_that_it_never_had(t):
    world = World(t, mode="fill", request="64Mi", limit="100Mi")
    world.submit("eat 115343360 1", "64Mi")
    assert world.memory(wait_for(world.pods, "the first pod")[0]) == ("64Mi", "100Mi")
    run = world.harmed("oom")
    assert "ownLimit" not in run and run["limit"] == "100Mi", run
    wait_for(lambda: world.pods()[1:] and world.memory(world.pods()[-1]) == ("64Mi", None), "a retry at its own size")
    world.completes()
    return "killed at a limit that it never had; its retry got none, and completed"


@parallel
def test_no_node_has_room_for_our_request(t):
    world = World(t, mode="raise", request="900Gi", limit="1000Gi", median="900Gi", peak="950Gi", harm={"pendingAfter": "2s"})
    world.submit("eat 1048576 0", "16Mi")
    pod = wait_for(world.pods, "the first pod")[0]
    assert world.memory(pod)[0] == "900Gi", world.memory(pod)
    world.harmed("pending")
    world.event("MemoryHarm", "pending: no node had room")
    wait_for(lambda: world.look()[0][0] == "16Mi", "its own request to stand")
    t.cluster.delete(f"/api/v1/namespaces/{world.namespace}/pods/{pod['metadata']['name']}")
    world.completes()
    assert world.memory(world.pods()[-1])[0] == "16Mi"
    return "waited for 900Gi that no node has; with its own 16Mi it ran"


@parallel
def test_a_quota_has_no_room_at_our_size(t):
    """Two owners: 64Mi hold both at their own sizes, and not where one of them holds twice of its own."""
    world = World(t, mode="raise", request="32Mi", limit="100Mi")
    world.submit("eat 1048576 600", "16Mi", completions=2, parallelism=1)
    wait_for(lambda: world.pods() and world.memory(world.pods()[0])[0] == "32Mi", "a pod at our size")
    rule = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "memory"},
            "spec": {"hard": {"requests.memory": "64Mi"}}}
    t.create(rule, world.namespace)
    quota = lambda: t.get("resourcequotas", "memory", world.namespace)["status"].get("used", {}).get("requests.memory")  # noqa: E731

    def is_counted():
        """A new quota may be counted before its controller has heard of a pod, and not again for minutes: another one."""
        if quota() == "0":
            t.delete("resourcequotas", "memory", world.namespace)
            t.create(rule, world.namespace)
        return quota() == "32Mi"
    wait_for(is_counted, "the quota to count")
    t.apply([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": {
        "terminationGracePeriodSeconds": 0, "containers": [{
            "name": "c", "image": "memtamer.test/actor:1", "args": ["pause"],
            "resources": {"requests": {"memory": "32Mi"}}}]}}], world.namespace)
    t.kubectl("patch", "job", "train", "--type=merge", "--patch", '{"spec":{"parallelism":2}}', namespace=world.namespace)
    refused = world.event("FailedCreate", "exceeded quota: memory")
    assert "requests.memory" in refused["message"]
    run = world.harmed("quota")
    assert (run["request"], run["ownRequest"]) == ("32Mi", "16Mi"), run

    def both_at_their_own():
        """The webhook learns of it by a watch, and a full quota refuses dry runs: pods at our size go, until none comes."""
        for pod in world.pods():
            if world.memory(pod)[0] != "16Mi":
                t.cluster.delete(f"/api/v1/namespaces/{world.namespace}/pods/{pod['metadata']['name']}")
        return [world.memory(pod)[0] for pod in world.pods()] == ["16Mi", "16Mi"]
    wait_for(both_at_their_own, "both pods at their own size")
    return f"refused ({quota()} of 64Mi used) while a sibling held 32Mi instead of its own 16Mi; then both fitted"
