# SPDX-License-Identifier: Apache-2.0
"""The programs as processes of the machine in the cluster's network, and the webhook configurations that lead to them."""
import base64
import copy
import os
import subprocess
import sys
import uuid

import yaml

import cluster
import configurations
import harness  # the black-box tests' own: programs, certificates, stores, pods

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE_ADDRESS = "10.244.0.1"  # of the node, that is of us, in the cluster's network
PATIENCE = 120


def wait_for(condition, what, patience=PATIENCE):
    """The condition's first true value. Raises AssertionError with `what` when patience ends; a condition that raises
    AssertionError or OSError is not true yet."""
    said = ""

    def look():
        nonlocal said
        try:
            return condition()
        except (AssertionError, OSError) as error:
            said = f"; at last: {error}"
            return None
    return harness.wait_until(look, lambda: f"{what}{said}", patience, pause=0.05)


def fetch(connection, *request):
    """(status, body as text) of the one request for which the connection was made."""
    try:
        connection.request(*request)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Guard:
    """Ends what the tests started if they are killed themselves: a process that waits for the end of its input."""
    CODE = """import os, signal, sys
started = {}
for line in sys.stdin:
    word, pid = line.split()
    if word == "started":
        try:
            started[int(pid)] = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[19]
        except OSError:
            pass
    else:
        started.pop(int(pid), None)
for pid, start in started.items():
    try:
        if open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[19] == start:
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
"""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.CODE], stdin=subprocess.PIPE, text=True,
                                        start_new_session=True)

    def say(self, word, pid):
        self.process.stdin.write(f"{word} {pid}\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Background(harness.Program):
    """One of our programs, its log in the test's folder, ended with the test or with the tests."""

    def __init__(self, test, name, *args, folder=None, before=()):
        self.guard = test.session.guard
        super().__init__(folder or test.folder, name, *args, before=before)
        self.guard.say("started", self.process.pid)

    def assert_runs(self):
        """Also out of a wait: a program that has ended will not come back."""
        try:
            super().assert_runs()
        except AssertionError as error:
            raise RuntimeError(str(error)) from None

    def finish(self):
        super().finish()
        self.guard.say("ended", self.process.pid)


class Pod:
    """What a process sees of the API server in a pod: its address, and a ServiceAccount's folder (in `folder`), here with
    the token of `api` (cluster.Cluster). `server`: another way to the API server."""
    ENTER = ('mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io && '
             'ln -s "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"')

    def __init__(self, folder, api, server=None):
        self.folder = os.path.join(folder, "serviceaccount-" + uuid.uuid4().hex[:6])
        os.makedirs(self.folder)
        self.address = (server or api.server).removeprefix("https://")
        for name, text in (("ca.crt", api.ca), ("namespace", configurations.OWN_NAMESPACE)):
            harness.write_atomic(os.path.join(self.folder, name), text)
        self.set_token(api.token)

    def set_token(self, token):
        harness.write_atomic(os.path.join(self.folder, "token"), token)

    def command(self):
        """Executes what follows as in that pod."""
        host, _, port = self.address.rpartition(":")
        return ["env", "-u", "KUBECONFIG", "HOME=/nonexistent", f"KUBERNETES_SERVICE_HOST={host}",
                f"KUBERNETES_SERVICE_PORT={port}", "unshare", "--mount", "sh", "-c", self.ENTER, self.folder]


def merge(base, more):
    """`base` with the keys of `more`, section by section."""
    out = dict(base)
    for key, value in (more or {}).items():
        out[key] = merge(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return out


def write_yaml(path, thing):
    harness.write_atomic(path, yaml.safe_dump(thing, sort_keys=False))
    return path


class Recommender(Background):
    """`memtamer-recommender run` with `config` over the defaults; `config_path` may be written again."""

    def __init__(self, test, config=None, *args, name="recommender"):
        folder = test.path(test.unique(name))
        os.makedirs(folder)
        self.config_path = os.path.join(folder, "memtamer.yaml")
        self.config = merge({"apiVersion": "config.memtamer.io/v1alpha1", "mode": "raise", "store": {"kind": "kube"}}, config)
        write_yaml(self.config_path, self.config)
        super().__init__(test, "memtamer-recommender", "run", "--config", self.config_path, *args, folder=folder)
        test.at_end(self.finish)


class Webhook(Background):
    """`memtamer-webhook serve`, listening on the node's address with certificates of its own, ready to answer.

    config:  what differs from the defaults, such as {"mode": "fill"}; without a mode there it is raise
    objects: what the file store holds (profiles, histories)
    store:   "kube": it watches the cluster instead, as administrator; kit.Test.create_profile makes profiles there
    pod:     a Pod: it reaches the API server as in that pod; otherwise by a kubeconfig, through kubectl
    `url` is where it serves; `metric(name, **labels)` one of its metrics; `set_objects`, `set_config` change them."""

    def __init__(self, test, config=None, objects=(), name="webhook", ready=True, store="file", pod=None):
        self.test, self.label, self.pod = test, name, pod
        self.home = test.path(test.unique(name))
        os.makedirs(self.home)
        self.authority = harness.Authority(self.home)
        self.authority.issue("tls", common_name="memtamer", names=f"IP:{NODE_ADDRESS},DNS:localhost")
        with open(self.authority.cert, "rb") as file:
            self.ca_bundle = base64.b64encode(file.read()).decode()
        self.port = harness.free_port(NODE_ADDRESS)
        self.url = f"https://{NODE_ADDRESS}:{self.port}"
        self.config_path = os.path.join(self.home, "memtamer.yaml")
        self.store_path = os.path.join(self.home, "profiles.json")
        self.context = harness.ssl.create_default_context(cafile=self.authority.cert)
        self.base = self._base(store)
        if store == "file":
            self.set_objects(objects)
        self.set_config(config)
        super().__init__(test, "memtamer-webhook", "serve", "--config", self.config_path, folder=self.home,
                         before=pod.command() if pod else ())
        test.at_end(self.finish)
        if ready:
            self.wait_ready()

    def set_objects(self, objects):
        harness.write_atomic(self.store_path, harness.json.dumps(harness.store(*objects)))

    def _base(self, store):
        base = {"apiVersion": "config.memtamer.io/v1alpha1", "mode": "raise",
                "webhook": {"listen": f"{NODE_ADDRESS}:{self.port}", "drain": "0s",
                            "tls": {"certFile": "tls.crt", "keyFile": "tls.key"}}}
        if store == "file":
            return {**base, "store": {"kind": "file", "path": "profiles.json"}}
        self.test.install_crds()
        base.update({"store": {"kind": "kube"}, "namespaces": {"own": configurations.OWN_NAMESPACE}})
        if self.pod:
            return base
        return {**base, "kubernetes": {"kubeconfig": self.test.cluster.write_kubeconfig(
            os.path.join(self.home, "kubeconfig"))}}

    def set_config(self, config=None):
        self.config = merge(self.base, config)
        write_yaml(self.config_path, self.config)

    def connect(self):
        return harness.http.client.HTTPSConnection(NODE_ADDRESS, self.port, context=self.context, timeout=PATIENCE)

    def get(self, path):
        """(status, body as text)"""
        return fetch(self.connect(), "GET", path)

    def post(self, path, review):
        """(status, answer) of a review that is sent to the webhook itself; text where the status is not 200."""
        status, body = fetch(self.connect(), "POST", path, harness.json.dumps(review), {"Content-Type": "application/json"})
        return status, harness.json.loads(body) if status == 200 else body

    def wait_ready(self):
        def look():
            self.assert_runs()
            return self.get("/readyz")[0] == 200
        wait_for(look, f"the webhook to be ready; its log:\n{self.log()[-3000:]}")

    def configure(self, *namespaces, values=None, name=None, wait_in=None):
        """Make the chart's webhook configurations (rendered with these values), for these namespaces only, leading to
        this process; they end with the test. Returns them when the API server uses them. Their names are the chart's
        with the first namespace's behind it; `name` takes the place of "a0". wait_in: the namespace in which
        a pod must reach us, if that is not the first."""
        made = []
        for thing in configurations.rendered(values):
            if name:
                thing["metadata"]["name"] = name + thing["metadata"]["name"].removeprefix("a0")
            made.append(configurations.install(self.test, configurations.lead_to(thing, self, namespaces)))
        if made:
            self.wait_called(wait_in or namespaces[0])
        return made

    def wait_validating(self, namespace):
        """It learns of the validating one by another watch: until a dry run of a Job gets here."""
        spec = {"suspend": True, "template": {"spec": {**harness.training_pod()["spec"], "restartPolicy": "Never"}}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "e2e-is-it-called"}, "spec": spec}
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All"
        wait_for(lambda: self.test.cluster.request("POST", path, job) and self.metric(
            "memtamer_http_requests_total", path="/validate"), "the API server to call the validating webhook")

    def wait_called(self, namespace):
        """The API server learns of configurations by a watch: until a dry run of a pod gets here."""
        pod = harness.training_pod("e2e-is-it-called", namespace)
        before = self.metric("memtamer_admission_requests_total")

        def look():
            # It may well be refused afterwards, by a quota for example.
            self.test.cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
            return self.metric("memtamer_admission_requests_total") > before
        wait_for(look, "the API server to call the webhook")

    def metric(self, metric, /, **labels):
        """Sum of the samples with these labels; 0 without any."""
        return cluster.sum_metric(self.get("/metrics")[1], metric, labels) or 0

    def reload(self, what, change, *args):
        """change(*args), and wait until the webhook's log says that it has loaded it (`what`: a pattern)."""
        count = len(harness.re.findall(what, self.log()))
        change(*args)
        self.wait_log(what, count + 1)
