# SPDX-License-Identifier: Apache-2.0
"""Harm by an eviction, as test_harm.py has the other kinds. The kubelet is told that a machine with nearly all of its memory
free is short of it, for which it starts anew: so this comes after the tests that need its measurements."""
import os

from kit import wait_for
from release import service
from test_harm import PROFILES, World


def set_short_of_memory(is_short):
    """A soft threshold: a hard one would take the node's allocatable memory away, and with it all pods."""
    path = os.path.join(os.environ["MEMTAMER_CLUSTER"], "config/kubelet.yaml")
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if "Soft" not in line]
    if is_short:
        lines += ["evictionSoft: {memory.available: 99%}", "evictionSoftGracePeriod: {memory.available: 1s}"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    service("restart", "kubelet")


def test_evicted_below_its_own_request(t):
    """And two harmed runs of another workload on the same day, so that it is one too many in this namespace."""
    world = World(t, request="64Mi", limit="120Mi", harmed=2)
    world.submit("eat 88080384 600", "96Mi", "128Mi")  # 84 Mi
    pod = wait_for(lambda: [one for one in world.pods() if one["status"]["phase"] == "Running"], "the first pod")[0]
    assert world.memory(pod) == ("72Mi", "128Mi"), world.memory(pod)
    t.at_end(set_short_of_memory, False)
    set_short_of_memory(True)
    pod = wait_for(lambda: next((one for one in world.pods() if one["status"].get("reason") == "Evicted"), None), "the eviction")
    said = pod["status"]["message"]
    assert "low on resource: memory" in said and "request is 72Mi" in said, said
    run = world.harmed("evicted")
    assert run["ownRequest"] == "96Mi", run
    set_short_of_memory(False)
    retry = wait_for(lambda: world.pods()[1:], "the retry")[0]
    if world.memory(retry) != ("96Mi", "128Mi"):  # created ten seconds after the end, before the news of it: another one
        t.cluster.delete(f"/api/v1/namespaces/{world.namespace}/pods/{retry['metadata']['name']}")
        wait_for(lambda: world.memory(world.pods()[-1]) == ("96Mi", "128Mi"), "a retry at its own size")
    cap = wait_for(lambda: t.get(PROFILES, "memtamer-namespace", world.namespace), "the cap of the namespace")
    assert cap["spec"] == {"modeCap": "observe"}, cap
    world.recommender.wait_metric("memtamer_namespaces_capped", lambda value: value == 1, set_by="harm")
    world.event("NamespaceCapped", "3 of ", about="MemoryProfile")
    assert "namespace capped" in world.recommender.log()
    wait_for(lambda: '"mode":"observe"' in world.look("16Mi", "128Mi")[1], "the webhook to only observe there")
    t.kubectl("patch", "memoryprofile", "memtamer-namespace", "--type=merge", "--patch", '{"spec":{"modeCap":null}}',
              namespace=world.namespace)
    world.recommender.wait_metric("memtamer_namespaces_capped", lambda value: value == 0, set_by="harm")
    assert '"mode":"enforce"' in wait_for(lambda: world.look("16Mi", "128Mi")[1], "a decision")
    return f"the kubelet: {' '.join(said.split())}; its own request is 96Mi; the third harm capped the namespace, once"
