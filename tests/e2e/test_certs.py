# SPDX-License-Identifier: Apache-2.0
"""Certificates that memtamer makes and renews itself: several processes behind one Service share them through the Secret,
and the API server must never meet one that it does not trust. failurePolicy is Fail here, so that it says so."""
import base64
import collections
import hashlib
import os
import socket
import ssl
import subprocess
import threading
import time

import configurations
import harness
import programs
from kit import parallel, wait_for
from programs import NODE_ADDRESS

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
LIFETIME = "30s"
SETTLED_S = 1.5  # an API server that is further behind than this is not believed in here; memtamer waits twice as long


def rule(group, resource, operations):
    return {"apiGroups": [group], "apiVersions": ["v1"], "resources": [resource], "operations": operations,
            "scope": "Namespaced"}


class World:
    """A namespace for memtamer, one whose pods it sees, the Service with its processes, the two configurations."""

    def __init__(self, t, secret="memtamer-webhook-tls"):
        self.t, self.secret = t, secret
        self.own, self.team = t.namespace(name=t.unique("own")), t.namespace(name=t.unique("team"))
        self.host = f"memtamer-webhook.{self.own}.svc"
        t.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "memtamer-webhook"},
                 "spec": {"ports": [{"port": 443, "targetPort": 8443, "name": "https"}]}}, self.own)
        self.names = {"mutating": f"a0-{self.own}", "validating": f"workloads-{self.own}"}
        self.paths = {kind: f"{ADMISSION}/{kind}webhookconfigurations/{name}" for kind, name in self.names.items()}
        for path in self.paths.values():
            t.at_end(t.cluster.delete, path)

    def configuration(self, kind):
        webhook = {"admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 5,
                   "sideEffects": "None", "matchPolicy": "Equivalent",
                   "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.team}}}
        service = {"name": "memtamer-webhook", "namespace": self.own}
        if kind == "mutating":
            webhook |= {"name": "pods.memtamer.io", "reinvocationPolicy": "IfNeeded",
                        "rules": [rule("", "pods", ["CREATE"])],
                        "clientConfig": {"service": service | {"path": "/mutate"}}}
        else:
            webhook |= {"name": "workloads.memtamer.io", "rules": [rule("batch", "jobs", ["CREATE", "UPDATE"])],
                        "clientConfig": {"service": service | {"path": "/validate"}}}
        return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind.title()}WebhookConfiguration",
                "metadata": {"name": self.names[kind]}, "webhooks": [webhook]}

    def configure(self, *kinds):
        for kind in kinds or self.names:
            self.t.cluster.create(self.paths[kind].rpartition("/")[0], self.configuration(kind))

    def bundle(self, kind="mutating"):
        """caBundle as PEM; "" for none."""
        found = self.t.cluster.get(self.paths[kind])
        text = found["webhooks"][0]["clientConfig"].get("caBundle", "") if found else ""
        return base64.b64decode(text).decode().strip()

    def config(self, **tls):
        tls = {"certFile": "", "keyFile": "", "secret": self.secret, "serverNames": [self.host],
               "certLifetime": LIFETIME, "caLifetime": LIFETIME} | tls
        return {"namespaces": {"own": self.own},
                "webhook": {"tls": tls, "configurations": self.names}}

    def secret_object(self):
        return self.t.get("secrets", self.secret, self.own)

    def holder(self):
        lease = self.t.get("leases.coordination.k8s.io/v1".replace(".v1", ""), self.secret, self.own)
        return (lease or {}).get("spec", {}).get("holderIdentity", "")


class Replica(programs.Webhook):
    """A process of memtamer behind the Service of a world."""

    def __init__(self, world, name="webhook", **tls):
        self.world = world
        super().__init__(world.t, config=world.config(**tls), name=name, ready=False, store="kube")
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE

    def join(self):
        """Ready: behind the Service, as the EndpointSlice controller would do."""
        self.wait_ready()
        self.world.t.apply({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": f"webhook-{self.port}",
                         "labels": {"kubernetes.io/service-name": "memtamer-webhook"}},
            "ports": [{"name": "https", "port": self.port, "protocol": "TCP"}],
            "endpoints": [{"addresses": [NODE_ADDRESS], "conditions": {"ready": True}}]}, self.world.own)
        return self

    def leave(self):
        self.world.t.delete("endpointslices.discovery.k8s.io/v1".replace(".v1", ""), f"webhook-{self.port}",
                            self.world.own)

    def steps(self, step):
        return self.metric("memtamer_certificate_rotation_steps_total", step=step)

    def shown(self):
        """The certificate that it shows, DER."""
        with socket.create_connection((NODE_ADDRESS, self.port), timeout=60) as plain:
            with self.context.wrap_socket(plain, server_hostname=self.world.host) as connection:
                return connection.getpeercert(binary_form=True)


def has_ended(process):
    """Or does in a moment: connections are reset before the parent is told."""
    try:
        process.wait(timeout=10)
        return True
    except subprocess.TimeoutExpired:
        return False


class Observer:
    """Creates pods in dry runs all the time, and makes handshakes with every replica, each judged by every caBundle that
    an API server may hold at that moment."""

    def __init__(self, world, replicas):
        self.world, self.replicas = world, list(replicas)
        self.created, self.refused, self.handshakes = 0, collections.Counter(), 0
        self.untrusted, self.leaves = [], set()
        self.held = {kind: collections.deque() for kind in world.names}  # (until when it may be held, PEM)
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self.create)] + [
            threading.Thread(target=self.shake, args=(replica,)) for replica in replicas]
        self.threads.append(threading.Thread(target=self.read))
        for thread in self.threads:
            thread.start()
        world.t.at_end(self.close)

    def close(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def read(self):
        while not self.stop.wait(0.05):
            for kind, held in self.held.items():
                asked = time.monotonic()
                pem = self.world.bundle(kind)
                with self.lock:
                    if held and held[-1][1] == pem:
                        held.pop()
                    if pem:
                        held.append((asked + SETTLED_S, pem))
                    while held and held[0][0] < asked:
                        held.popleft()

    def bundles(self):
        """When this is late in reading, it believes nothing rather than what has long been replaced."""
        with self.lock:
            return {pem for held in self.held.values() for until, pem in held if until > time.monotonic()}

    def shake(self, replica):
        while not self.stop.wait(0.05):
            for pem in self.bundles():
                context = ssl.create_default_context(cadata=pem)
                try:
                    with socket.create_connection((NODE_ADDRESS, replica.port), timeout=60) as plain:
                        with context.wrap_socket(plain, server_hostname=self.world.host) as connection:
                            self.leaves.add(hashlib.sha256(connection.getpeercert(binary_form=True)).hexdigest())
                    self.handshakes += 1
                except ssl.SSLCertVerificationError as error:
                    # it may have been taken away while we were shaking hands
                    if pem in self.bundles():
                        self.untrusted.append(f"{time.strftime('%H:%M:%S')} port {replica.port}: {error}")
                except OSError as error:
                    if has_ended(replica.process):
                        return
                    self.untrusted.append(f"{time.strftime('%H:%M:%S')} port {replica.port}: {error}")

    def create(self):
        path = f"/api/v1/namespaces/{self.world.team}/pods?dryRun=All"
        while not self.stop.wait(0.02):
            answer = self.world.t.cluster.request("POST", path, harness.training_pod("rotating", self.world.team))
            if answer.status == 201:
                self.created += 1
            else:
                self.refused[f"{answer.status} {answer.body.get('message')}"] += 1

    def judge(self):
        assert not self.refused, f"{self.created} created, refused: {self.refused}"
        assert not self.untrusted, f"{len(self.untrusted)} handshakes: {self.untrusted[:5]}"
        return f"{self.created} pods created and {self.handshakes} handshakes of {len(self.leaves)} certificates, none failed"


def start(t, n=2):
    world = World(t)
    world.configure()
    replicas = [Replica(world, f"webhook-{i}").join() for i in range(n)]
    wait_for(lambda: world.bundle("mutating") and world.bundle("validating"), "caBundles to be filled")
    wait_called(world)
    return world, replicas


def wait_called(world):
    path = f"/api/v1/namespaces/{world.team}/pods?dryRun=All"
    wait_for(lambda: world.t.cluster.request("POST", path, harness.training_pod("first", world.team)).status == 201,
             "the API server to reach the webhook")




@parallel
def test_six_rotations_and_a_killed_leader(t):
    world, replicas = start(t, 3)
    observer = Observer(world, replicas)
    seen = set()

    def rotations():
        """CAs that have been first in the caBundle, but for the first."""
        seen.add(hashlib.sha256(world.bundle().split("-----END")[0].encode()).hexdigest())
        return len(seen) - 1

    wait_for(lambda: rotations() >= 2, "two rotations", 240)
    leader = max(replicas, key=lambda replica: replica.steps("add-ca"))
    # Away from the Service first, as a dying pod would be soon: it is not connections that this is about. The next new
    # CA makes the API server connect anew, to the others.
    leader.leave()
    wait_for(lambda: rotations() >= 3, "another rotation", 120)
    wait_called(world)
    steps = leader.steps("add-ca")
    wait_for(lambda: leader.steps("add-ca") > steps, "the leader to begin a rotation", 300)  # any of three may
    leader.kill()
    killed_at = rotations()
    wait_for(lambda: rotations() >= killed_at + 3, "rotations without it", 240)
    observer.close()
    return (f"{rotations()} CA rotations in {LIFETIME} lives, the leader killed in the middle of number "
            f"{killed_at}: " + observer.judge())


@parallel
def test_a_deleted_secret(t):
    world, replicas = start(t)
    observer = Observer(world, replicas)
    for _ in range(2):
        before = world.secret_object()["metadata"]["uid"]
        t.kubectl("delete", "secret", world.secret, namespace=world.own)
        wait_for(lambda: (world.secret_object() or {}).get("metadata", {}).get("uid", before) != before, "a new Secret")
        old = {replica.port: replica.shown() for replica in replicas}
        wait_for(lambda: all(replica.shown() != old[replica.port] for replica in replicas), "new certificates")
    observer.close()
    return "twice the Secret was deleted: " + observer.judge()


@parallel
def test_a_broken_secret(t):
    world, replicas = start(t)
    observer = Observer(world, replicas)
    nonsense = base64.b64encode(b"nonsense").decode()
    for change in ({"tls.crt": nonsense}, {"ca.key": nonsense}, {"ca.crt": nonsense, "ca.key": nonsense},
                   {"tls.key": world.secret_object()["data"]["ca.key"]}):
        steps = sum(replica.steps(step) for replica in replicas for step in ("add-ca", "switch-leaf"))
        t.cluster.patch(t.object_path("secrets", world.secret, world.own), {"data": change})
        wait_for(lambda s=steps: sum(replica.steps(step) for replica in replicas
                                     for step in ("add-ca", "switch-leaf")) > s, f"{list(change)} to be made anew")

        def is_whole():
            data = world.secret_object()["data"]
            return nonsense not in data.values() and data["tls.crt"]
        wait_for(is_whole, "the Secret to be whole")
    logs = "".join(replica.log() for replica in replicas)
    for words in ("tls.crt and tls.key do not belong together", "ca.key belongs to no certificate of ca.crt",
                  "ca.crt holds something that is no certificate"):
        assert words in logs, words
    assert "PRIVATE KEY" not in logs
    observer.close()
    return "each part of the Secret was broken and made anew: " + observer.judge()


@parallel
def test_the_kill_switch(t):
    world, replicas = start(t)
    present = "memtamer_webhook_configuration_present"
    kind = {"configuration": "MutatingWebhookConfiguration"}
    wait_for(lambda: replicas[0].metric(present, **kind) == 1, "the configuration to be seen")
    t.cluster.delete(world.paths["mutating"])
    wait_for(lambda: replicas[0].metric(present, **kind) == 0, "the kill switch to be seen")
    t.apply(harness.training_pod("free", world.team), world.team)
    assert "memtamer.io/decision" not in t.get("pods", "free", world.team)["metadata"].get("annotations", {})
    failures = [replica.metric("memtamer_certificate_rotation_failures_total") for replica in replicas]
    world.configure("mutating")
    wait_for(world.bundle, "the caBundle to be filled again")
    wait_called(world)
    assert failures == [replica.metric("memtamer_certificate_rotation_failures_total") for replica in replicas]
    return "a configuration was deleted and came back: pods were created without memtamer, then the caBundle was filled"


@parallel
def test_a_foreign_secret(t):
    world = World(t)
    authority = harness.Authority(t.folder)
    authority.issue("theirs", common_name="theirs", names="DNS:localhost")
    t.kubectl("create", "secret", "tls", world.secret, f"--cert={t.path('theirs.crt')}", f"--key={t.path('theirs.key')}",
              namespace=world.own)
    theirs = world.secret_object()
    world.configure()
    replica = Replica(world)
    replica.wait_log("the Secret was not made by memtamer, and is neither used nor changed")
    wait_for(lambda: "the Secret is not ours" in replica.get("/readyz")[1], "readiness to say so")
    assert world.secret_object() == theirs and not world.bundle()
    t.delete("secrets", world.secret, world.own)
    replica.wait_ready()
    wait_for(world.bundle, "the caBundle to be filled")
    return "somebody else's Secret was neither used nor changed, said in /readyz, and its deletion was enough"


@parallel
def test_files_as_cert_manager_mounts_them(t):
    """A Secret mounted as files changes by a swapped link; an injector writes the caBundle."""
    world = World(t)
    authorities = []

    def issue():
        folder = t.path(t.unique("ca"))
        os.makedirs(folder)
        authority = harness.Authority(folder, name=f"ca{len(authorities)}")
        authority.issue("tls", common_name="memtamer", names=f"DNS:{world.host}")
        authorities.append(authority)
        return folder

    def mount(folder):
        link = t.path("data-new")
        os.symlink(folder, link)
        os.replace(link, t.path("..data"))

    def inject(*numbers):
        pem = b"".join(open(authorities[i].cert, "rb").read() for i in numbers)
        change = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": base64.b64encode(pem).decode()}]
        for path in world.paths.values():
            t.cluster.patch(path, change, "json-patch")

    mount(issue())
    world.configure()
    replica = Replica(world, secret="", certFile=t.path("..data/tls.crt"), keyFile=t.path("..data/tls.key")).join()
    drift = "memtamer_webhook_configuration_drift"
    field = {"field": "clientConfig.caBundle"}
    wait_for(lambda: replica.metric(drift, **field) == 2, "the empty caBundles to be told")
    inject(0)
    wait_for(lambda: replica.metric(drift, **field) == 0, "the caBundles to be found right")
    wait_called(world)
    observer = Observer(world, [replica])
    for i in range(1, 4):
        folder = issue()
        inject(i - 1, i)
        time.sleep(2 * SETTLED_S)  # cert-manager does not wait at all; but then nobody could
        loaded = len(harness.re.findall("certificate loaded", replica.log()))
        mount(folder)
        replica.wait_log("certificate loaded", loaded + 1)
        inject(i)
        time.sleep(SETTLED_S)
    observer.close()
    assert replica.metric(drift, **field) == 0 and world.secret_object() is None and not world.holder()
    return "three certificates of three CAs as files: " + observer.judge()


def test_drift(t):
    """Not in parallel: it is about words in the log, which have to be few."""
    world = World(t)
    # The chart's configurations, for one namespace: what the values add to selectors is no drift.
    here = {"matchLabels": {"kubernetes.io/metadata.name": world.team}}
    others = {"matchExpressions": [{"key": "example.com/other", "operator": "DoesNotExist"}]}
    for each in configurations.rendered({"webhook": {"namespaceSelector": here, "objectSelector": others},
                                         "config": {"templates": "patch"}}, world.own):
        path = next(path for kind, path in world.paths.items() if each["kind"].lower().startswith(kind))
        each["metadata"]["name"] = path.rpartition("/")[2]
        t.cluster.create(path.rpartition("/")[0], each)
    replica = Replica(world).join()
    wait_for(world.bundle, "the caBundle to be filled")
    name = "memtamer_webhook_configuration_drift"
    wait_for(lambda: replica.metric("memtamer_webhook_configuration_present") == 2 and replica.metric(name) == 0,
             "the chart's configurations to be found right")

    def change(policy, timeout):
        t.cluster.patch(world.paths["mutating"], [
            {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy},
            {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": timeout}], "json-patch")

    change("Fail", 30)
    for field in "failurePolicy", "rules":
        wait_for(lambda field=field: replica.metric(name, field=field) == 1, f"{field} to be reported")
    # logged once each, however often the caBundle is renewed
    count = len(harness.re.findall("field=rules", replica.log()))
    fills = replica.steps("fill")
    wait_for(lambda: replica.steps("fill") > fills + 2, "caBundles to be renewed")
    assert len(harness.re.findall("field=rules", replica.log())) == count == 1, replica.log()
    assert "timeoutSeconds 30" in replica.log()
    change("Ignore", 5)
    wait_for(lambda: replica.metric(name) == 0, "the configuration to be right again")
    return "the chart's configurations were right, a longer timeout and another failurePolicy were logged once and counted"
