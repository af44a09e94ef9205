# SPDX-License-Identifier: Apache-2.0
"""The recommender as a service: one leader of several, through every way in which a leader can go; does the API server
reach the webhook; what nodes there are."""
import http.client
import os
import re
import signal
import sys
import threading
import time

import cluster
import configurations
import harness
import programs
import release
from kit import wait_for

sys.path.insert(0, os.path.join(programs.TOP, "tests/blackbox/prometheus"))
import real_prometheus  # noqa: E402

LEASE = "memtamer-recommender"
TRAINED = "ml-team"  # the namespace of the recorded trainings
NOBODY = "http://127.0.0.1:1"


class Service(programs.Recommender):
    """A recommender with an endpoint, whose own namespace is `own`."""

    def __init__(self, t, own, prometheus=NOBODY, name="recommender", **recommender):
        self.port = harness.free_port()
        more = recommender.pop("more", {})
        super().__init__(t, programs.merge({
            "namespaces": {"own": own}, "prometheus": {"url": prometheus},
            "recommender": {"listen": f"127.0.0.1:{self.port}", "interval": "1s", "probe": "0s", **recommender},
            "sizing": {"buffer": {"fixed": "0"}},  # the pods here are small, so that it alone would decide
        }, more), name=name)
        wait_for(lambda: self.assert_runs() or self.get("/healthz"), "the endpoint")

    def get(self, path):
        return programs.fetch(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30), "GET", path)

    def metric(self, name, **labels):
        """Sum of the samples with these labels; None when there is none."""
        return cluster.sum_metric(self.get("/metrics")[1], name, labels)

    def wait_metric(self, name, condition, **labels):
        def look():
            self.assert_runs()
            value = self.metric(name, **labels)
            return (value,) if condition(value) else None
        return wait_for(look, f"{name}{labels or ''} of {self.name}; its log:\n{self.log()[-2000:]}")[0]

    def wait_leads(self, leads=True):
        self.wait_metric("memtamer_is_leader", lambda value: value == (1 if leads else 0))

    def kill(self, number):
        os.kill(self.process.pid, number)


def lease_path(own):
    return f"/apis/coordination.k8s.io/v1/namespaces/{own}/leases/{LEASE}"


def holder(t, own):
    lease = t.cluster.get(lease_path(own))
    return lease["spec"].get("holderIdentity", "") if lease else ""


def old_shape(t, name, **spec):
    """A NodeShape that was last seen years ago."""
    t.install_crds()
    path = "/apis/memtamer.io/v1alpha1/nodeshapes"
    t.at_end(t.cluster.delete, f"{path}/{name}")
    t.cluster.create(path, {"apiVersion": "memtamer.io/v1alpha1", "kind": "NodeShape", "metadata": {"name": name},
                            "spec": {"resource": "nvidia.com/gpu", "accelerators": 3, "memory": "3Gi",
                                     "lastSeen": "2020-01-01T00:00:00Z", **spec}})


def trained_prometheus(t):
    """A real Prometheus with the recorded trainings, and the namespace that they were in."""
    if not real_prometheus.is_installed():
        raise AssertionError("prometheus and promtool are not installed: tests/install")
    folder = t.path("prometheus")
    os.makedirs(folder)
    text = real_prometheus.demo_text(folder, int(time.time()), "--days", "4")
    prometheus = real_prometheus.Prometheus(folder, text)
    t.at_end(prometheus.stop)
    wait_for(lambda: t.get("namespaces", TRAINED) is None, "the namespace of the test before to be gone")
    t.namespace(name=TRAINED)
    return prometheus


def versions(t, plural):
    return {thing["metadata"]["name"]: thing["metadata"]["resourceVersion"]
            for thing in t.get(f"{plural}.memtamer.io/v1alpha1", namespace=TRAINED)}


class Gate:
    """Answers of Prometheus wait until it is opened."""

    def __init__(self, t, prometheus):
        self.open, self.held = threading.Event(), threading.Semaphore(0)
        self.proxy = real_prometheus.Proxy(prometheus.port, self.spoil)
        t.at_end(self.proxy.stop)
        t.at_end(self.open.set)
        self.url = self.proxy.url

    def spoil(self, number, path, status, body):
        if not self.open.is_set():
            self.held.release()
            self.open.wait()
        return status, body

    def wait_held(self):
        """Returns when a query hangs."""
        assert self.held.acquire(timeout=programs.PATIENCE), "nobody asked"


def test_another_goes_on_when_the_leader_is_killed(t):
    own, prometheus = t.namespace(), trained_prometheus(t)
    old_shape(t, "gone-for-years")
    old_shape(t, "by-hand", declared=True)
    first = Service(t, own, prometheus.url, "first")
    first.wait_leads()
    first.wait_metric("memtamer_cycle_success_timestamp_seconds", lambda value: value is not None)
    asked = first.metric("memtamer_prometheus_queries_total") / first.metric("memtamer_cycles_total")
    learned = versions(t, "memoryprofiles"), versions(t, "memoryhistories")
    assert learned[0] and learned[0].keys() == learned[1].keys(), learned
    assert t.get("configmaps", "memtamer-collector", own), "no collector state"

    shapes = [shape["metadata"]["name"] for shape in t.get("nodeshapes.memtamer.io/v1alpha1")]
    assert "by-hand" in shapes and "gone-for-years" not in shapes, shapes
    assert first.metric("memtamer_objects_collected_total") == 1

    second = Service(t, own, prometheus.url, "second")
    second.wait_log("another one leads")
    assert second.get("/readyz")[0] == 200 and second.get("/healthz")[0] == 200
    before = first.metric("memtamer_cycles_total")
    first.wait_metric("memtamer_cycles_total", lambda value: value > before + 1)
    assert second.metric("memtamer_is_leader") == 0 and second.metric("memtamer_cycles_total") is None

    first.guard.say("ended", first.process.pid)
    first.process.kill()
    first.process.wait()
    second.wait_leads()
    second.wait_metric("memtamer_cycles_total", lambda value: value)
    again = second.metric("memtamer_prometheus_queries_total") / second.metric("memtamer_cycles_total")
    text = second.get("/metrics")[1]  # both figures of one moment
    assert cluster.sum_metric(text, "memtamer_cycles_total", {"result": "done"}) == \
        cluster.sum_metric(text, "memtamer_cycles_total", {}), text
    assert (versions(t, "memoryprofiles"), versions(t, "memoryhistories")) == learned, "written again"
    return (f"SIGKILL of the leader: the other led and went on with {again:.0f} queries a cycle (the first asked "
            f"{asked:.0f}); {len(learned[0])} profiles and histories stayed as they were, to the resourceVersion")


def test_a_paused_leader_writes_no_more(t):
    t.install_crds()
    own, prometheus = t.namespace(), trained_prometheus(t)
    gate = Gate(t, prometheus)
    first = Service(t, own, gate.url, "first", more={"prometheus": {"timeout": "1h", "deadline": "12h"}})
    first.wait_leads()
    gate.wait_held()
    second = Service(t, own, prometheus.url, "second")
    second.wait_log("another one leads")
    first.kill(signal.SIGSTOP)
    try:
        second.wait_leads()
        second.wait_metric("memtamer_cycle_success_timestamp_seconds", lambda value: value is not None)
        learned = versions(t, "memoryprofiles")
    finally:
        gate.open.set()  # what it waited for is there when it wakes up
        first.kill(signal.SIGCONT)
    first.wait_log("cycle ended before its next write: leadership was lost")
    first.wait_leads(False)
    assert first.metric("memtamer_cycles_total", result="interrupted") == 1
    assert not first.metric("memtamer_store_writes_total"), first.get("/metrics")[1]
    assert holder(t, own).startswith(os.uname().nodename) and second.metric("memtamer_is_leader") == 1
    assert versions(t, "memoryprofiles") == learned

    second.stop()  # gives the Lease up
    first.wait_leads()
    first.wait_metric("memtamer_cycles_total", lambda value: value and value >= 1, result="done")
    # What it knew of the whole is the next leader's to say.
    first.wait_metric("memtamer_workloads", lambda value: value == 8)
    steal(t, own)
    first.wait_leads(False)
    for name in ("memtamer_workloads", "memtamer_cycle_runs", "memtamer_namespaces_capped"):
        first.wait_metric(name, lambda value: value is None)
    return "a leader that was stopped in a cycle and woke up as another led wrote nothing, stood again, and led again"


def steal(t, own):
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    t.cluster.patch(lease_path(own), {"spec": {"holderIdentity": "a-thief", "renewTime": now, "acquireTime": now}})


def test_a_lost_lease_is_taken_back(t):
    own = t.namespace()
    service = Service(t, own)
    service.wait_leads()
    mine = holder(t, own)
    steal(t, own)
    service.wait_log("another one leads.*a-thief")
    service.wait_leads(False)
    service.wait_leads()
    assert holder(t, own) == mine and service.log().count("msg=leading") == 2, service.log()
    service.wait_log("cycle failed", service.log().count("cycle failed") + 1)
    deleted = t.cluster.get(lease_path(own))["metadata"]["uid"]
    t.cluster.delete(lease_path(own))

    def is_another():
        lease = t.cluster.get(lease_path(own))
        return lease and lease["metadata"]["uid"] != deleted and lease["spec"].get("holderIdentity") == mine
    wait_for(is_another, "the Lease to be made again")
    return "taken away, the Lease was waited for and taken back; deleted, it was made again"


def test_sigterm_gives_the_lease_up(t):
    own, prometheus = t.namespace(), trained_prometheus(t)
    gate = Gate(t, prometheus)
    first = Service(t, own, gate.url, "first", more={"prometheus": {"timeout": "1h", "deadline": "12h"}})
    first.wait_leads()
    second = Service(t, own, name="second")
    second.wait_log("another one leads")
    gate.wait_held()
    begun = time.monotonic()
    first.stop()  # in the middle of a cycle that would wait for an hour
    ended = time.monotonic() - begun
    assert not holder(t, own).startswith(holder_of(first)), "the Lease was not given up"
    second.wait_leads()
    return f"SIGTERM in a cycle that hung: clean end after {ended:.1f} s, the Lease was free, the other led"


def holder_of(service):
    return harness.re.search(r"msg=leading .*identity=(\S+)", service.log()).group(1)


def test_what_keeps_it_from_taking_part(t):
    own = t.namespace()
    kubeconfig = t.kubeconfig("default", own, "nobody")
    service = Service(t, own, more={"kubernetes": {"kubeconfig": kubeconfig}})

    def ready():
        status, said = service.get("/readyz")
        return (status, said) if status == 200 or "forbidden" in said else None

    status, said = wait_for(ready, "words about the Lease")
    assert status == 503 and said.startswith("the Lease cannot be read or written: "), said
    assert f"system:serviceaccount:{own}:default" in said and service.get("/healthz")[0] == 200
    assert service.metric("memtamer_is_leader") == 0 and service.metric("memtamer_cycles_total") is None
    tries = service.metric("memtamer_lease_errors_total")
    service.wait_metric("memtamer_lease_errors_total", lambda n: n > tries + 1)
    assert service.log().count("the Lease cannot be taken or renewed") == 1, "said again and again"

    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": own},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
               "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": own}]}
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    t.at_end(t.cluster.delete, f"{path}/{own}")
    t.cluster.create(path, binding)
    service.wait_leads()
    assert service.get("/readyz") == (200, "ok\n")
    return "without rights it is not ready, and says in words why; granted, it leads without a restart"


def test_the_api_server_restarts(t):
    own = t.namespace()
    services = [Service(t, own, name=name) for name in ("first", "second")]

    def leaders():
        return [service.metric("memtamer_is_leader") for service in services]

    wait_for(lambda: sum(leaders()) == 1, "a leader")
    cycles = [service.metric("memtamer_cycles_total") or 0 for service in services]
    release.service("restart", "kube-apiserver")
    wait_for(lambda: sum(leaders()) == 1 and sum(service.metric("memtamer_cycles_total") or 0 for service in services) >
             sum(cycles) + 2, "cycles to go on")
    assert all(service.get(path)[0] == 200 for service in services for path in ("/healthz", "/readyz"))
    return "through a restart of the API server one of two went on leading, or led again; nobody ended"


# The probe -------------------------------------------------------------------------------------------------------------

def test_the_leader_sees_whether_the_webhook_is_reached(t):
    own, name = t.namespace(), t.unique("a0-memtamer")
    webhook = t.webhook()
    mutating = configurations.lead_to(configurations.rendered(namespace=own)[0], webhook, [own], name)
    service = Service(t, own, probe="1s", more={"webhook": {"configurations": {"mutating": name}}})

    def ask(kubeconfig=None):
        done = harness.run("memtamer-recommender", "probe", "--config", service.config_path,
                           *(["--kubeconfig", kubeconfig] if kubeconfig else []))
        return done.returncode, done.stdout + done.stderr

    def once(status, words, kubeconfig=None):
        got, said = ask(kubeconfig)
        assert got == status and words in said, (got, said)

    def reachable(value, result):
        before = service.metric("memtamer_webhook_probe_total", result=result) or 0
        service.wait_metric("memtamer_webhook_probe_total", lambda n: n and n > before, result=result)
        service.wait_metric("memtamer_webhook_reachable", lambda now: now == value)

    reachable(0, "not-configured")
    once(1, f"there is no MutatingWebhookConfiguration {name}")
    configurations.install(t, mutating)
    reachable(1, "reached")
    wait_for(lambda: f"{os.uname().nodename} answered in" in ask()[1], "an answer in time")
    os.kill(webhook.process.pid, signal.SIGSTOP)
    try:
        reachable(0, "failed-open")
    finally:
        os.kill(webhook.process.pid, signal.SIGCONT)
    reachable(1, "reached")
    assert t.get("configmaps", "memtamer-probe", own) is None, "the dry run was stored"
    token = t.kubeconfig("default", own, "nobody")
    once(3, "refused the dry run: forbidden", token)
    webhook.stop()
    reachable(0, "failed-open")
    once(1, "fails open")
    t.cluster.patch(configurations.path_of(mutating), {"webhooks": []})
    reachable(0, "not-configured")
    once(1, "has no webhook named probe.memtamer.io")
    once(3, "not reached", t.cluster.write_kubeconfig(t.path("nowhere"), server="https://127.0.0.1:1"))
    probes = service.wait_metric("memtamer_webhook_probe_total", lambda n: n > 7)
    said = [re.search(r"result=(\S+)", line)[1] for line in service.log().splitlines() if "webhook probe" in line]
    # A machine that stands still makes more of them.
    lines = iter(said)
    assert all(word in lines for word in ("not-configured", "reached", "failed-open", "reached", "failed-open",
                                          "not-configured")), said
    return (f"reached, hung, gone (both fail open), not configured, refused, no server: told apart in words; "
            f"{probes:.0f} probes, {len(said)} lines")


# Nodes -----------------------------------------------------------------------------------------------------------------

GI = 1 << 30


def make_node(t, name, amounts, labels=None, **spec):
    """A node without a kubelet: nothing is scheduled to it, and it is never ready."""
    path = "/api/v1/nodes"
    t.at_end(t.cluster.delete, f"{path}/{name}")
    t.cluster.create(path, {"apiVersion": "v1", "kind": "Node",
                            "metadata": {"name": name, "labels": labels or {}},
                            "spec": {"unschedulable": True, **spec}})
    amounts = {"cpu": "64", "memory": "1000Gi", "ephemeral-storage": "500Gi", "pods": "110", **amounts}
    t.cluster.patch(f"{path}/{name}/status", {"status": {"capacity": amounts, "allocatable": amounts}})


def test_node_shapes_come_from_the_api_server(t):
    own, nv = t.namespace(), "nvidia.com/"
    # another test may have given the real node accelerators
    real = {int(node["status"]["allocatable"].get(nv + "gpu", 0)) for node in t.get("nodes")}
    h100 = {nv + "gpu.product": "H100", nv + "gpu.count": "8"}
    make_node(t, "whole-1", {nv + "gpu": "8"}, {**h100, "node.kubernetes.io/instance-type": "p5.48xlarge"})
    make_node(t, "whole-2", {nv + "gpu": "8", "memory": "999Gi"}, h100)
    make_node(t, "sliced", {nv + "gpu": "40"}, {nv + "gpu.product": "A100-SHARED", nv + "gpu.count": "4",
                                               nv + "gpu.replicas": "10", nv + "gpu.sharing-strategy": "time-slicing"})
    make_node(t, "mixed", {nv + "gpu": "4", nv + "mig-1g.10gb": "28"}, {**h100, nv + "mig.strategy": "mixed"})
    make_node(t, "fargate", {"memory": "7Gi"}, {"eks.amazonaws.com/compute-type": "fargate"})
    make_node(t, "comes-up", {"memory": "77Gi"}, {nv + "gpu.present": "true"})
    wanted = {
        "8x-h100-999gi": (nv + "gpu", 8, None, None, "999Gi"),
        "40x-a100-shared-1000gi": (nv + "gpu", 40, 4, None, "1000Gi"),
        "4x-h100-1000gi": (nv + "gpu", 4, 8, 8, "1000Gi"),
        "28x-h100-mig-1g-10gb-1000gi": (nv + "mig-1g.10gb", 28, 8, 64, "1000Gi"),
    }

    def shapes():
        found = {}
        for shape in t.get("nodeshapes.memtamer.io/v1alpha1"):
            spec = shape["spec"]
            found[shape["metadata"]["name"]] = (spec.get("resource"), spec.get("accelerators"), spec.get("devices"),
                                                spec.get("parts"), spec["memory"])
        return found

    t.at_end(lambda: [t.cluster.delete(f"/apis/memtamer.io/v1alpha1/nodeshapes/{name}") for name in shapes()])
    t.install_crds()
    for name in shapes():  # of tests before: they outlive what they were of
        t.cluster.delete(f"/apis/memtamer.io/v1alpha1/nodeshapes/{name}")
    service = Service(t, own)
    wait_for(lambda: wanted.items() <= shapes().items(), "the shapes of the nodes")
    assert service.metric("memtamer_nodes") == 7, "six and the real one"
    others = {name: shape for name, shape in shapes().items() if name not in wanted}
    assert all(not shape[0] and name.startswith("0x-cpu-") or shape[1] in real for name, shape in others.items()), others
    assert not [name for name in others if "-7gi" in name or "-77gi" in name], others

    make_node(t, "late", {nv + "gpu": "2", "memory": "100Gi"})
    wait_for(lambda: "2x-nvidia-com-gpu-100gi" in shapes(), "the shape of a node that came later")
    t.cluster.patch("/api/v1/nodes/comes-up/status", {"status": {"capacity": {nv + "gpu": "1"}}})
    wait_for(lambda: "1x-nvidia-com-gpu-77gi" in shapes(), "the node whose GPU was counted late")
    before = shapes()
    for name in ("whole-1", "whole-2", "sliced", "mixed", "late"):
        t.cluster.delete(f"/api/v1/nodes/{name}")
    service.wait_metric("memtamer_nodes", lambda value: value == 3)
    cycles = service.metric("memtamer_cycles_total")
    service.wait_metric("memtamer_cycles_total", lambda value: value > cycles + 1)
    assert shapes() == before, "shapes went with their nodes"

    return f"{len(before)} shapes of 8 nodes: whole, time-sliced, MIG; without Prometheus; they outlived their nodes"
