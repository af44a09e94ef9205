# SPDX-License-Identifier: Apache-2.0
"""The webhook's snapshot from the API server, when things are not as they should be: rights, tokens, connections,
objects."""
import socket
import threading
import time

import harness
from kit import PROFILES, parallel, wait_for
from programs import Pod
from workloads import HISTORY

NECESSARY = ["memoryprofiles", "nodeshapes", "namespaces", "limitranges", "resourcequotas"]


class Proxy:
    """A way to the API server that can be cut: bytes in, bytes out."""

    def __init__(self, server):
        self.target = server.removeprefix("https://").rsplit(":", 1)
        self.sockets, self.port, self.frozen = [], 0, set()
        self.listener = self._bound()
        self.port = self.listener.getsockname()[1]

    def _bound(self):
        """The port is ours from now on, and refuses connections until it is listened on."""
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", self.port))
        return bound

    def open(self):
        self.listener.listen()
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection((self.target[0], int(self.target[1])))
            except OSError:
                return
            self.sockets += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, one, other):
        try:
            while data := one.recv(65536):
                if one not in self.frozen:
                    other.sendall(data)
        except OSError:
            pass
        for end in (one, other):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def freeze(self):
        """Of the connections that there are, bytes are taken and confirmed, and go nowhere. New ones work."""
        self.frozen.update(self.sockets)

    def connections(self):
        """Those that still work."""
        return len([one for one in self.sockets if one not in self.frozen and one.fileno() >= 0]) // 2

    def cut(self):
        for one in (self.listener, *self.sockets):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        self.sockets.clear()
        self.listener = self._bound()


def state(webhook):
    return {name: webhook.metric("memtamer_watch_synced", resource=name) for name in NECESSARY}


def says(webhook, *words):
    """/readyz is 503 with all these words."""
    status, text = webhook.get("/readyz")
    return status == 503 and all(word in text for word in words) and text


def limit_given(webhook, namespace, name="train"):
    """The memory limit that the webhook itself gives to a pod of that Job; None: none."""
    pod = harness.job_pod(name, namespace)
    status, answer = webhook.post("/mutate", harness.review_of(pod))
    assert status == 200 and answer["response"]["allowed"], answer
    pod = harness.patched(pod, answer["response"])
    return pod["spec"]["containers"][0]["resources"]["limits"].get("memory")


def set_limit(t, namespace, name, limit):
    """What is recommended from now on."""
    t.cluster.patch(f"{PROFILES}/namespaces/{namespace}/memoryprofiles/{name}/status",
                    {"status": {"recommendation": {"limit": limit}}})


def through(t, proxy):
    """A webhook in a pod from which a Proxy leads to the API server."""
    return t.webhook(store="kube", pod=Pod(t.folder, t.cluster, f"https://127.0.0.1:{proxy.port}"), ready=False)


@parallel
def test_rights_that_are_missing(t):
    namespace, name = t.namespace(), t.unique()
    t.cluster.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "webhook"}})
    kubeconfig = t.kubeconfig(service_account="webhook", namespace=namespace)
    webhook = t.webhook(config={"kubernetes": {"kubeconfig": kubeconfig}}, store="kube", ready=False)
    said = wait_for(lambda: says(webhook, "forbidden", "ClusterRole", *NECESSARY), "every missing right to be named")
    assert webhook.get("/healthz")[0] == 200
    wait_for(lambda: webhook.metric("memtamer_watch_failures_total", reason="forbidden") >= len(NECESSARY),
             "every refusal to be counted")
    assert "\nmemtamer_snapshot_age_seconds" not in webhook.get("/metrics")[1], "an age without a snapshot"
    # no right to PriorityClasses: they are not waited for
    rules = [{"apiGroups": ["memtamer.io"], "resources": ["memoryprofiles", "nodeshapes"], "verbs": ["list", "watch"]},
             {"apiGroups": [""], "resources": NECESSARY[2:], "verbs": ["list", "watch"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
               "subjects": [{"kind": "ServiceAccount", "name": "webhook", "namespace": namespace}]}
    for plural, thing in (("clusterroles", role), ("clusterrolebindings", binding)):
        t.cluster.create(f"/apis/rbac.authorization.k8s.io/v1/{plural}", thing)
        t.at_end(t.cluster.delete, f"/apis/rbac.authorization.k8s.io/v1/{plural}/{name}")
    webhook.wait_ready()
    wait_for(lambda: all(state(webhook).values()), "all watches to be open")
    assert webhook.metric("memtamer_watch_synced", resource="priorityclasses") == 0
    lines = [line for line in webhook.log().splitlines() if "cannot watch" in line and "memoryprofiles" in line]
    assert len(lines) == 1, f"said {len(lines)} times: {lines[:3]}"
    return f"not ready without rights, ready soon after they came, said once: {said.strip()[:120]} ..."


@parallel
def test_a_token_that_ends(t):
    pod = Pod(t.folder, t.cluster)
    pod.set_token("expired")
    webhook = t.webhook(store="kube", pod=pod, ready=False)
    wait_for(lambda: says(webhook, "unauthorized", *NECESSARY), "the refused token to be told")
    pod.set_token(t.cluster.token)
    webhook.wait_ready()
    return "not ready with a token that is not accepted, ready with a new one in the same file, without a restart"


@parallel
def test_an_api_server_that_is_lost(t):
    t.install_crds()
    namespace, proxy = t.namespace(), Proxy(t.cluster.server)
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))

    webhook = through(t, proxy)
    wait_for(lambda: says(webhook, "cannot be reached", *NECESSARY), "the unreachable API server to be told")
    status, answer = webhook.post("/mutate", harness.review_of(harness.job_pod("train", namespace)))
    assert status == 503 and "no snapshot" in answer, (status, answer)
    t.at_end(proxy.cut)
    proxy.open()
    webhook.wait_ready()
    assert limit_given(webhook, namespace) == "12Gi"
    wait_for(lambda: all(state(webhook).values()), "all watches to be open")
    proxy.cut()
    wait_for(lambda: not any(state(webhook).values()), "all watches to be lost")
    set_limit(t, namespace, "train-0123456789", "20Gi")
    wait_for(lambda: webhook.metric("memtamer_snapshot_age_seconds") > 2, "the snapshot to get old")
    assert webhook.get("/readyz")[0] == 200
    assert limit_given(webhook, namespace) == "12Gi"
    proxy.open()
    wait_for(lambda: limit_given(webhook, namespace) == "20Gi", "what changed meanwhile")
    wait_for(lambda: all(state(webhook).values()), "all watches to go on")
    wait_for(lambda: webhook.metric("memtamer_snapshot_age_seconds") < 2, "the snapshot to be fresh")
    return "not ready before the API server was there; without it the last snapshot served on, and what changed came in after it"


@parallel
def test_a_connection_that_freezes(t):
    """As when a load balancer has lost the API server behind it: TCP sees nothing of that."""
    t.install_crds()
    namespace, proxy = t.namespace(), Proxy(t.cluster.server)
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))

    t.at_end(proxy.cut)
    proxy.open()
    webhook = through(t, proxy)
    webhook.wait_ready()
    wait_for(lambda: all(state(webhook).values()), "all watches to be open")
    proxy.freeze()
    began = time.monotonic()
    set_limit(t, namespace, "train-0123456789", "20Gi")
    assert limit_given(webhook, namespace) == "12Gi"
    wait_for(lambda: limit_given(webhook, namespace) == "20Gi", "a change behind the frozen connection", patience=90)
    took = time.monotonic() - began
    assert took < 60, f"it took {took:.0f} s"
    wait_for(lambda: all(state(webhook).values()), "all watches to go on")
    open_watches = webhook.metric("memtamer_watch_restarts_total")
    assert proxy.connections() <= 3, f"{proxy.connections()} connections"
    assert "watch lost" not in webhook.log(), "a connection that was replaced is no loss"
    return (f"a change came in {took:.0f} s after the connection froze; {open_watches:.0f} watches were started again, "
            f"on {proxy.connections()} connections")


@parallel
def test_nonsense(t):
    """What a schema lets pass and nobody can decode leaves the good one that was there; strangers in our group do not
    matter."""
    t.install_crds()
    namespace = t.namespace()
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))
    webhook = t.webhook(store="kube")
    assert limit_given(webhook, namespace) == "12Gi"
    path = f"{PROFILES}/namespaces/{namespace}/memoryprofiles/train-0123456789/status"
    tries = [{"recommendation": {"limit": "12Qi"}}, {"recommendation": {"limit": "-1Gi"}}, {"workload": "x" * 300},
             {"aliases": [f"a{i}" for i in range(50)]}, {"updated": "yesterday"}, {"recommendation": {"runs": -4}}]
    passed = [status for status in tries
              if t.cluster.request("PATCH", path, {"status": status}, "application/merge-patch+json").status < 300]
    # whatever has passed: nothing breaks, and a good one is taken again
    wait_for(lambda: webhook.metric("memtamer_watch_failures_total", resource="memoryprofiles", reason="object") >= 1,
             "what cannot be read to be counted")
    assert "object skipped" in webhook.log()
    assert limit_given(webhook, namespace) is not None
    t.cluster.request("PATCH", path, {"status": harness.profile("x", "Job/train", **HISTORY)["status"]},
                      "application/merge-patch+json")
    t.cluster.request("PATCH", path, {"status": {"recommendation": {"limit": "14Gi"}}}, "application/merge-patch+json")
    wait_for(lambda: limit_given(webhook, namespace) == "14Gi", "the good profile")
    return f"{len(tries) - len(passed)} of {len(tries)} kinds of nonsense were refused by the schema, the rest did no harm"


@parallel
def test_changes_under_load(t):
    """Profiles change all the time while pods are reviewed: every answer is whole, and the last change is in effect."""
    t.install_crds()
    namespace = t.namespace()
    names = [f"model{index}x" for index in range(40)]
    for name in names:
        t.create_profile(harness.profile(f"{name}-0123456789", f"Job/{name}", namespace, **HISTORY))
    webhook = t.webhook(store="kube")
    stopping, counts = threading.Event(), [0, 0]
    troubles = []

    def review(index):
        while not stopping.is_set():
            try:
                given = limit_given(webhook, namespace, names[index])
                assert given and given.endswith("Gi") and 12 <= int(given[:-2]) <= 99, given
                counts[0] += 1
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what this counts
                troubles.append(repr(error))
                return
    clients = [threading.Thread(target=review, args=(index,)) for index in range(3)]
    for client in clients:
        client.start()
    for size in range(13, 33):
        for name in names:
            set_limit(t, namespace, f"{name}-0123456789", f"{size}Gi")
            counts[1] += 1
    stopping.set()
    for client in clients:
        client.join()
    assert not troubles, troubles[:3]
    for name in names:
        wait_for(lambda: limit_given(webhook, namespace, name) == "32Gi", f"the last change of {name}")  # noqa: B023
    return f"{counts[0]} pods were reviewed while profiles changed {counts[1]} times; all answers right, the last change in effect"


@parallel
def test_a_changed_configuration_keeps_the_watches(t):
    t.install_crds()
    namespace = t.namespace()
    t.create_profile(harness.profile("train-0123456789", "Job/train", namespace, **HISTORY))
    webhook = t.webhook(store="kube")
    wait_for(lambda: all(state(webhook).values()), "all watches to be open")
    assert limit_given(webhook, namespace) == "12Gi"
    webhook.reload("configuration loaded", webhook.set_config, {"mode": "observe"})
    wait_for(lambda: limit_given(webhook, namespace) is None, "the new mode")
    assert webhook.metric("memtamer_watch_restarts_total") == 0, "watches were started again"
    # another way to the same cluster: everything is listed again, and the old snapshot serves meanwhile
    copy = t.kubeconfig(name="other-kubeconfig")
    webhook.reload("configuration loaded", webhook.set_config, {"mode": "raise", "kubernetes": {"kubeconfig": copy}})
    wait_for(lambda: limit_given(webhook, namespace) == "12Gi", "the mode after that")
    set_limit(t, namespace, "train-0123456789", "15Gi")
    wait_for(lambda: limit_given(webhook, namespace) == "15Gi", "a change by the new watches")
    return "a new mode keeps the watches; another kubeconfig starts new ones, with the old snapshot meanwhile"
