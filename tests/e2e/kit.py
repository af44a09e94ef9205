# SPDX-License-Identifier: Apache-2.0
"""What end-to-end tests use.

A test is a function `test_x(t)` that returns, in one line, what it has proved; it fails by raising. `t` (Test) has a
folder, namespaces and programs of its own, which end with it:

	t.namespace(labels={...})               a new namespace, ready for pods; its name
	t.kubectl("apply", "-f", "-", stdin=pod, namespace=ns)      .status .out .err .warnings
	t.apply(things, ns), t.create(...), t.get("pods", name, ns), t.delete("pods", name, ns)
	t.cluster.get(path), .create(path, object, dry_run=True), .patch, .delete, .metric      requests without kubectl
	t.webhook(config={...}, objects=[...])  the webhook as a process in the cluster's network; see programs.py
	t.recommender(config={...})             the recommender likewise; t.program(name, *arguments) is any of ours
	t.kubeconfig(service_account=...)       a file for them
	t.at_end(function)                      called when the test ends, last one first
	wait_for(condition, "what")             the first true value of condition()

Tests that neither stop parts of the cluster nor change what others see are marked @parallel: they use webhook
configurations only for their own namespaces (Webhook.configure does so).

Tests marked @needs("kueue") have that optional service of the cluster beside them (tests/cluster/optional.sh names
them; neighbours.py has what tests ask of them). It is started before the first of them, after all tests without needs,
and stays: its webhooks see what all later tests create."""
import os
import subprocess
import threading
import uuid

import cluster
import objects
import programs
from programs import wait_for

__all__ = ["Skip", "Session", "Test", "parallel", "needs", "wait_for", "TOP"]

TOP = programs.TOP
CORE = {"pods", "services", "configmaps", "secrets", "events", "limitranges", "resourcequotas", "serviceaccounts",
        "namespaces", "nodes", "endpoints", "persistentvolumeclaims"}
PROFILES = "/apis/memtamer.io/v1alpha1"


class Skip(Exception):
    """Raised by a test that cannot run here; says why."""


def parallel(function):
    """This test may run beside others."""
    function.is_parallel = True
    return function


def needs(*services):
    """This test runs beside these optional services of the cluster."""
    def mark(function):
        function.services = services
        return function
    return mark


class Session:
    """What all tests of one run share: the cluster, and things made once for all who ask."""

    def __init__(self, logs):
        self.logs = logs
        self.cluster = cluster.Cluster()
        self.guard = programs.Guard()
        self.lock = threading.Lock()
        self.shared, self.locks = {}, {}

    def once(self, key, make):
        """make()'s value, made by the first who asks."""
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.shared:
                self.shared[key] = make()
            return self.shared[key]

    def start_service(self, name):
        """An optional service of the cluster, which stays."""
        def start():
            done = subprocess.run([os.path.join(TOP, "tests/cluster/service"), "start", name], capture_output=True,
                                  text=True, check=False)
            assert done.returncode == 0, f"{name} does not start:\n{done.stdout}{done.stderr}"
            return True
        self.once("service " + name, start)

    def forget(self, *keys):
        """What was made is gone: the next who asks makes it anew."""
        with self.lock:
            for key in keys:
                self.shared.pop(key, None)

    def close(self):
        self.guard.close()


class Test:
    """One test's own things."""

    def __init__(self, session, name):
        self.session, self.name, self.cluster = session, name, session.cluster
        self.short = name.partition(".")[2].replace("_", "-")[:40].strip("-")
        self.folder = os.path.join(session.logs, name)
        os.makedirs(self.folder, exist_ok=True)
        self.ends = []

    # What it starts and makes ----------------------------------------------------------------------------------------

    def at_end(self, function, *args, **options):
        self.ends.append((function, args, options))

    def close(self, failed=False):
        """End what the test started, last one first. The first trouble is raised when all was tried; a test that has
        failed already is not to be judged by how its programs end."""
        trouble = None
        for function, args, options in reversed(self.ends):
            try:
                function(*args, **options)
            except Exception as error:  # noqa: BLE001 - the others have to end as well
                trouble = trouble or error
        self.ends.clear()
        if trouble and not failed:
            raise trouble

    def path(self, name):
        return os.path.join(self.folder, name)

    def unique(self, prefix=""):
        """A name that nobody else has."""
        return f"{prefix or self.short}-{uuid.uuid4().hex[:6]}"

    def namespace(self, labels=None, annotations=None, name=None):
        """A new namespace with all that Kubernetes puts into one, such as what pods need; deleted when the test ends."""
        name = name or self.unique()
        thing = {"apiVersion": "v1", "kind": "Namespace",
                 "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}}}
        # One with a name of its own may be left of the test before, which does not wait until it is gone.
        wait_for(lambda: self.cluster.create("/api/v1/namespaces", thing), f"a new namespace {name}")
        self.at_end(self.cluster.delete, f"/api/v1/namespaces/{name}")
        for thing in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            wait_for(lambda: self.cluster.get(f"/api/v1/namespaces/{name}/{thing}"), f"{thing} of {name}")  # noqa: B023 - called at once
        return name

    def kubeconfig(self, service_account=None, namespace="default", name="kubeconfig"):
        """Path of a kubeconfig in the test's folder: of the administrator, or of a ServiceAccount."""
        token = self.cluster.token_of(namespace, service_account) if service_account else None
        return self.cluster.write_kubeconfig(self.path(name), token, namespace)

    def program(self, name, *args, **options):
        """One of our programs in the background; must end with status 0 when the test ends."""
        started = programs.Background(self, name, *args, **options)
        self.at_end(started.finish)
        return started

    def webhook(self, **options):
        """programs.Webhook: serving, ready."""
        return programs.Webhook(self, **options)

    def recommender(self, config=None, **options):
        """`memtamer-recommender run` with that configuration."""
        self.install_crds()
        return programs.Recommender(self, config, **options)

    # Objects ---------------------------------------------------------------------------------------------------------

    def install_crds(self):
        """memtamer's own kinds, once for all tests."""
        objects.install(self)

    def create_profile(self, profile):
        """A MemoryProfile (or another object of ours) in the cluster, its status too."""
        name, namespace = profile["metadata"]["name"], profile["metadata"]["namespace"]
        path = f"{PROFILES}/namespaces/{namespace}/{profile['kind'].lower().replace('history', 'historie')}s"
        made = self.cluster.create(path, profile).body
        if "status" in profile:
            self.cluster.call("PUT", f"{path}/{name}/status", {**made, "status": profile["status"]})

    def kubectl(self, *args, namespace=None, **options):
        """kubectl as administrator; see Cluster.kubectl."""
        return self.cluster.kubectl(*(["-n", namespace] if namespace else []), *args, **options)

    def apply(self, things, namespace=None, *args, **options):
        return self.kubectl("apply", *args, "-f", "-", namespace=namespace, stdin=things, **options)

    def create(self, things, namespace=None, *args, **options):
        return self.kubectl("create", *args, "-f", "-", namespace=namespace, stdin=things, **options)

    def object_path(self, resource, name="", namespace=None):
        """`resource`: "pods", "jobs.batch/v1", "memoryprofiles.memtamer.io/v1alpha1"."""
        plural, _, group = resource.partition(".")
        assert group or plural in CORE, f"{resource}: of which group and version?"
        parts = ["apis/" + group if group else "api/v1", "namespaces/" + namespace if namespace else "", plural, name]
        return "/" + "/".join(part for part in parts if part)

    def get(self, resource, name="", namespace=None):
        """The object, or None; without a name the list's items."""
        found = self.cluster.get(self.object_path(resource, name, namespace))
        return found if name or found is None else found["items"]

    def delete(self, resource, name, namespace=None):
        """Delete it and wait until it is gone. Its owner may at once have made another one of that name."""
        path = self.object_path(resource, name, namespace)
        old = self.cluster.get(path)
        self.cluster.delete(path)

        def is_gone():
            now = self.cluster.get(path)
            return now is None or (old is not None and now["metadata"]["uid"] != old["metadata"]["uid"])

        wait_for(is_gone, f"{path} to be gone")

