# SPDX-License-Identifier: Apache-2.0
"""How long it takes from the status that says OOMKilled to the profile that knows it, beside many other profiles.

Pods are gated, so that nobody starts them; their status is written as a kubelet would write it. A time ends when a
watch of profiles has told of the raised one."""
import http.client
import json
import os
import statistics
import threading
import time

import harness

NAMESPACE = "kills"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
PROFILES = f"/apis/memtamer.io/v1alpha1/namespaces/{NAMESPACE}/memoryprofiles"
PATIENCE_S = 120


def pod(name):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"{name}-x7k2p", "labels": {"memtamer.io/training": "true"},
                         "ownerReferences": [{"apiVersion": "kills.memtamer.test/v1", "kind": "Run", "name": name,
                                              "uid": f"uid-{name}", "controller": True}]},
            "spec": {"restartPolicy": "Never", "schedulingGates": [{"name": "memtamer.test/never"}],
                     "containers": [{"name": "main", "image": "train:1", "resources": {
                         "limits": {"memory": "64Mi"}, "requests": {"memory": "64Mi"}}}]}}


def killed():
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"status": {"phase": "Failed", "startTime": now, "containerStatuses": [{
        "name": "main", "image": "train:1", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "startedAt": now, "finishedAt": now}}}]}}


class Watch(threading.Thread):
    """Notes when the profile of which workload first had a limit."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api, self.seen = api, {}
        version = api.get(PROFILES)["metadata"]["resourceVersion"]
        connection = http.client.HTTPSConnection(api.host, context=api.context, timeout=3600)
        connection.request("GET", f"{PROFILES}?watch=1&resourceVersion={version}",
                           headers={"Authorization": "Bearer " + api.token, "Accept": "application/json"})
        self.response = connection.getresponse()
        self.start()

    def run(self):
        try:
            for line in self.response:
                thing = json.loads(line)["object"]
                status = thing.get("status", {})
                if status.get("recommendation", {}).get("limit"):
                    self.seen.setdefault(status["workload"], time.monotonic())
        except (OSError, ValueError, http.client.HTTPException):
            pass  # the end


class Recommender(harness.Program):
    def __init__(self, folder):
        os.makedirs(folder)
        path = os.path.join(folder, "memtamer.yaml")
        self.port = harness.free_port()
        harness.write_atomic(path, "apiVersion: config.memtamer.io/v1alpha1\nstore: {kind: kube}\n"
                             "namespaces: {own: default}\nprometheus: {url: 'http://127.0.0.1:1'}\nrecommender: {lease: '',"
                             f" interval: 24h, probe: 0s, listen: '127.0.0.1:{self.port}'}}\n")
        super().__init__(folder, "memtamer-recommender", "run", "--config", path)


def times(api, watch, names, pause_s):
    """Seconds from the answer to the status, for each of these pods."""
    begun = {}
    for name in names:
        api.call("PATCH", f"{PODS}/{name}-x7k2p/status", killed(), content_type="application/merge-patch+json")
        begun[name] = time.monotonic()
        time.sleep(pause_s)
    harness.wait_until(lambda: all(f"Run/{name}" in watch.seen for name in names), "the profiles of what was killed",
                       patience=PATIENCE_S)
    return [watch.seen[f"Run/{name}"] - begun[name] for name in names]


def letters(index):
    """A part of a name that no rule takes for a counter or a suffix."""
    return "".join("abcdefghij"[int(digit)] for digit in f"{index:05d}")


def row(words, taken):
    taken = sorted(taken)
    return (f"| {words} | {len(taken):,} | {statistics.median(taken):.2f} s "
            f"| {taken[min(len(taken) - 1, int(0.99 * len(taken)))]:.2f} s | {taken[-1]:.2f} s |")


def lines(api, folder, profiles, single, storm):
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    harness.wait_until(lambda: api.get(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"), "the namespace")
    names = [f"train{letters(index)}" for index in range(single + storm)]
    for name in names:
        api.create(PODS, pod(name))
    recommender, watch = Recommender(os.path.join(folder, "recommender")), Watch(api)
    harness.wait_until(lambda: "cycle failed" in recommender.log(), "the end of the first cycle: nobody answered",
                       patience=PATIENCE_S)
    one_by_one = times(api, watch, names[:single], 0.3)
    at_once = times(api, watch, names[single:], 0)
    recommender.stop()
    api.delete(f"/api/v1/namespaces/{NAMESPACE}")
    return [f"| beside {profiles:,} profiles | kills | p50 | p99 | longest |", "|---|---|---|---|---|",
            row("one by one, three a second", one_by_one), row("as fast as they can be written", at_once)]
