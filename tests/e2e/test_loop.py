# SPDX-License-Identifier: Apache-2.0
"""The closed loop on the real kubelet: limits that are too small or far too large become right by themselves, from run to
run, and nobody touches the YAML. What runs, and what it used before, is in loop_history.py, what must happen in
loop_scenario.py."""
import threading
import time
from functools import partial

import configurations
import harness
import loop_history
import loop_scenario
from loop_scenario import Training, wait_for
from release import Release, accelerators

LEASE = "/apis/coordination.k8s.io/v1/namespaces/memtamer/leases/memtamer-recommender"
HISTORIES = "memoryhistories.memtamer.io/v1alpha1"
NOBODY = "http://127.0.0.1:1"


class Faults:
    """What befalls memtamer meanwhile. Told what happens, in the thread to which it happens."""

    def __init__(self, t, release):
        self.t, self.release, self.story = t, release, []
        self.retried, self.resized = threading.Event(), threading.Event()
        self.killed = {"vit-train-6", "new-train-1"}  # what is killed early; no webhook is killed before their retries

    def tell(self, job, text):
        if text.startswith("retry"):
            self.killed.discard(job)
            if not self.killed:
                self.retried.set()
        if job == "unet-train-6" and text.startswith("resized"):
            self.resized.set()

    def leader(self):
        """The pod that holds the Lease, or None."""
        holder = self.t.cluster.get(LEASE)["spec"].get("holderIdentity", "")
        return next((pod for pod in self.release.pods("recommender") if holder.startswith(pod["metadata"]["name"])), None)

    def kill(self, pod):
        """At once, and it is not asked to end."""
        self.t.cluster.delete(f"/api/v1/namespaces/memtamer/pods/{pod['metadata']['name']}")

    def befall(self):
        wait_for(self.retried.is_set, "the retries")
        first = wait_for(self.leader, "a leader")
        self.kill(first)
        self.kill(self.release.pods("webhook")[0])
        second = wait_for(lambda: (lambda pod: pod and pod["metadata"]["uid"] != first["metadata"]["uid"] and pod)(
            self.leader()), "another leader")
        wait_for(self.resized.is_set, "a resize")
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        self.t.cluster.patch(LEASE, {"spec": {"holderIdentity": "a-thief", "renewTime": now, "acquireTime": now}})
        wait_for(self.leader, "the Lease to be taken back")
        return second


def check_history(t, training, attempts):
    """Nothing is lost and nothing counts twice, whoever led when. The last end may not be known yet."""
    expected = {f"{training.name}-{number}": None for number in range(1, 6)}
    expected |= {f"{training.name}-{number}": ("completed", count) for number, count in enumerate(attempts, 6)}

    def look():
        runs = [run for one in t.get(HISTORIES, namespace=training.namespace)
                if one["spec"]["workload"] == f"Job/{training.name}" for run in harness.unpacked(one)["spec"]["runs"]]
        found = {run["name"]: expected.get(run["name"]) and (run.get("outcome"), run["attempts"]) for run in runs}
        assert found == expected and len(runs) == len(expected), runs
        return True
    wait_for(look, f"the history of {training.name}")


def test_the_loop(t):
    accelerators(t, 8)
    t.at_end(loop_history.remove, loop_history.add_to_cluster())
    for namespace in loop_history.namespaces():
        t.namespace(labels=namespace["metadata"]["labels"], name=namespace["metadata"]["name"])
    alone = t.namespace(labels={"memtamer.io/mode": "raise"}, name=loop_history.ALONE)
    names = [namespace["metadata"]["name"] for namespace in loop_history.namespaces()]
    # With the usual floor and buffer trainings as small as these would be raised before they are killed.
    sizing = {"floors": {"limit": "64Mi"}, "buffer": {"fixed": "0"}}
    release = Release(t, {"config": {"recommender": {"namespaces": names, "resize": "beforeOOM"}, "sizing": sizing},
                          **configurations.PATIENT})
    release.install()
    t.at_end(release.keep_state)
    # Another one, who never sees a Prometheus.
    t.recommender({"prometheus": {"url": NOBODY}, "namespaces": {"own": t.namespace()}, "sizing": sizing,
                   "recommender": {"namespaces": [alone], "interval": "5s"}})
    faults = Faults(t, release)
    begun = time.monotonic()
    trainings = {name: Training(t.cluster, name, faults.tell) for name in loop_history.WORKLOADS}
    parts = [partial(part, trainings[name]) for name, part in loop_scenario.PARTS.items()]
    parts += [partial(loop_scenario.outgrown, trainings["new-train"], 0), faults.befall]
    loop_scenario.side_by_side(parts)
    for name, attempts in {"vit-train": [2, 1], "asr-train": [1, 1], "unet-train": [1]}.items():
        check_history(t, trainings[name], attempts)
    return (". ".join(one.told() for one in trainings.values()) + ". Meanwhile the leader and a webhook were killed, and "
            f"the Lease was stolen; {time.monotonic() - begun:.0f} s")
