# SPDX-License-Identifier: Apache-2.0
"""What the black-box tests share: the real programs started and stopped, certificates, HTTPS, reviews.

Programs come from MEMTAMER_BIN; MEMTAMER_WRAP (such as "valgrind -q ...") is put before each of them. Everything waits
on conditions; PATIENCE bounds how long a condition may take before the test fails, it is never slept through."""
import base64
import contextlib
import copy
import gzip
import http.client
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

import jsonpatch

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WRAP = shlex.split(os.environ.get("MEMTAMER_WRAP", ""))
WRAP[:1] = [shutil.which(word) for word in WRAP[:1]]  # tests may run programs with another PATH
PATIENCE = 240  # bounds a hang only: valgrind is slow, and so are machines at times


def program(name):
    return os.path.join(os.environ.get("MEMTAMER_BIN", os.path.join(TOP, "build/dev/bin")), name)


def wait_until(condition, what, patience=PATIENCE, pause=0.01):
    """The condition's first true value. Raises AssertionError with `what`, words or a function of them, when patience
    ends."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience} s for: {what() if callable(what) else what}")
        time.sleep(pause)


def run(name, *args, stdin=None, cwd=None, env=None):
    """Run one of our programs to its end. Under a wrapper, its complaint (status 99) fails the test at once."""
    done = subprocess.run(WRAP + [program(name), *args], input=stdin, capture_output=True, cwd=cwd, env=env,
                          timeout=PATIENCE, check=False, text=True)
    if done.returncode == 99 or done.returncode < 0 or "Sanitizer" in done.stderr:
        raise AssertionError(f"{name} {' '.join(args)}: status {done.returncode}\n{done.stderr}")
    return done


def with_kubectl(**environment):
    """The environment with tests/support/kubectl/kubectl as kubectl, which says what can go wrong in it."""
    return {**os.environ, "PATH": f"{TOP}/tests/support/kubectl:{os.environ['PATH']}", **environment}


class Program:
    """One of our programs, running in the background; stderr goes to a file that tests may read, or to `stderr`.
    `before`: a command that executes the program."""

    def __init__(self, folder, name, *args, wrap=True, stderr=None, before=()):
        self.name = name
        self.log_path = os.path.join(folder, f"{name}-{uuid.uuid4().hex[:6]}.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([*before, *(WRAP if wrap else []), program(name), *args], stdout=log,
                                            stderr=log if stderr is None else stderr, stdin=subprocess.DEVNULL, cwd=folder)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_log(self, pattern, count=1):
        """Wait until the log holds `count` matches; the last match."""
        def look():
            self.assert_runs()
            matches = list(re.finditer(pattern, self.log(), re.MULTILINE))
            return matches[count - 1] if len(matches) >= count else None
        return wait_until(look, f"{pattern!r} in the log of {self.name}; it holds:\n{self.log()[-3000:]}")

    def assert_runs(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.log()[-4000:]}")

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        return self.process.wait(PATIENCE)

    def stop(self):
        """SIGTERM, and a clean end: status 0."""
        if self.process.poll() is None:
            self.terminate()
        status = self.wait()
        if status != 0:
            raise AssertionError(f"{self.name} ended with {status}:\n{self.log()[-4000:]}")

    def finish(self):
        """At the end of a test: a program that still runs must end cleanly, so that leaks and races it saw count."""
        if self.process.poll() is None:
            self.stop()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


# Certificates ---------------------------------------------------------------------------------------------------------

def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


class Authority:
    """A CA in `folder`, which signs ECDSA P-256 certificates."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name = folder, name
        self.cert, self.key = os.path.join(folder, name + ".crt"), os.path.join(folder, name + ".key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-keyout", self.key, "-out", self.cert, "-subj", f"/CN=test {name}",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def issue(self, name, common_name="localhost", names="DNS:localhost,IP:127.0.0.1", serial=None):
        """(certificate path, key path) of a new leaf called `name`."""
        base = os.path.join(self.folder, name)
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", base + ".key", "-out", base + ".csr", "-subj", f"/CN={common_name}")
        with open(base + ".ext", "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n"
                       "keyUsage=critical,digitalSignature\nbasicConstraints=CA:FALSE\n")
        openssl("x509", "-req", "-in", base + ".csr", "-CA", self.cert, "-CAkey", self.key, "-days", "1",
                "-set_serial", str(serial or int(uuid.uuid4()) >> 66), "-extfile", base + ".ext",
                "-out", base + ".crt")
        return base + ".crt", base + ".key"


# Reviews --------------------------------------------------------------------------------------------------------------

def review_of(pod, uid=None, operation="CREATE", dry_run=False, user="system:serviceaccount:kube-system:job-controller"):
    """An AdmissionReview as the API server sends it for a pod."""
    meta = pod.get("metadata", {})
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": uid or str(uuid.uuid4()), "kind": kind, "resource": resource, "requestKind": kind,
        "requestResource": resource, "name": meta.get("name", ""), "namespace": meta.get("namespace", "default"),
        "operation": operation, "userInfo": {"username": user, "groups": ["system:authenticated"]},
        "object": pod, "oldObject": None, "dryRun": dry_run,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}}}


def training_pod(name="train-0", namespace="ml", resources=None, **meta):
    """A bare training pod with one accelerator."""
    merged = {"limits": {"nvidia.com/gpu": "1"}}
    merged.update(resources or {})
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, **meta},
            "spec": {"restartPolicy": "Never",
                     "containers": [{"name": "pytorch", "image": "train:1", "resources": merged}]}}


def job_pod(job, namespace="ml", resources=None):
    """A pod of a Job, as the job controller makes it."""
    pod = training_pod(None, namespace, resources)
    del pod["metadata"]["name"]
    pod["metadata"].update({"generateName": job + "-", "labels": {"job-name": job, "batch.kubernetes.io/job-name": job},
                            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "1",
                                                 "controller": True, "blockOwnerDeletion": True}]})
    return pod


def patch_of(response):
    """The JSON Patch of an answer as a list; [] without one."""
    if "patch" not in response:
        return []
    return json.loads(base64.b64decode(response["patch"], validate=True))


def patched(pod, response):
    """The pod after the answer's patch, applied by an independent RFC 6902 library."""
    return jsonpatch.apply_patch(copy.deepcopy(pod), patch_of(response))


# The webhook ----------------------------------------------------------------------------------------------------------

class Webhook(Program):
    """`memtamer-webhook serve` on a free port, with certificates of `authority`, ready to answer."""

    def __init__(self, folder, config="", profiles=None, tls=None, ready=True, authority=None, stderr=None, before=()):
        self.folder = folder
        self.authority = authority or Authority(folder)
        self.config_path = os.path.join(folder, "memtamer.yaml")
        self.store_path = os.path.join(folder, "profiles.json")
        if tls is None:
            self.authority.issue("tls")
            tls = "tls: { certFile: tls.crt, keyFile: tls.key }"
        self.tls = tls
        if profiles is not None:
            write_atomic(self.store_path, profiles if isinstance(profiles, str) else json.dumps(profiles))
        self.port = free_port()
        self.configure(config)
        super().__init__(folder, "memtamer-webhook", "serve", "--config", self.config_path, stderr=stderr, before=before)
        self.context = ssl.create_default_context(cafile=self.authority.cert)
        if ready:
            self.wait_ready()

    def configure(self, text=""):
        """Write the configuration; lines of `text` beginning with `webhook.` go into that section. The mode is raise
        unless `text` has another."""
        if not re.search(r"^mode:", text, re.MULTILINE):
            text = "mode: raise\n" + text
        if "webhook.drain" not in text:
            text += "\nwebhook.drain: 0s"
        if WRAP and "webhook.requestTimeout" not in text:
            text += "\nwebhook.requestTimeout: 5m"
        inside = [line.partition(".")[2] for line in text.splitlines() if line.startswith("webhook.")]
        outside = [line for line in text.splitlines() if not line.startswith("webhook.")]
        lines = ["apiVersion: config.memtamer.io/v1alpha1", "store: { kind: file, path: profiles.json }", *outside,
                 "webhook:", f"  listen: 127.0.0.1:{self.port}", *(f"  {line}" for line in [self.tls, *inside] if line)]
        write_atomic(self.config_path, "\n".join(lines) + "\n")

    def connect(self, context=None, timeout=PATIENCE):
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context or self.context, timeout=timeout)

    def dial(self, receive_bytes=None, source="127.0.0.1"):
        """A TCP connection; `receive_bytes`: how large its receive buffer is; `source`: the address that it comes from."""
        made = socket.socket()
        made.bind((source, 0))
        if receive_bytes:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        made.settimeout(PATIENCE)
        made.connect(("127.0.0.1", self.port))
        return made

    def dial_tls(self, **options):
        """A connection after its handshake."""
        return self.context.wrap_socket(self.dial(**options), server_hostname="127.0.0.1")

    def request(self, method, path, body=None, headers=None, connection=None):
        """(status, headers, body) of one request, by default on a connection of its own."""
        own = connection or self.connect()
        try:
            own.request(method, path, body=body, headers=headers or {})
            answer = own.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            if not connection:
                own.close()

    def get(self, path):
        return self.request("GET", path)

    def post(self, review, connection=None):
        """POST /mutate; bytes or an object. (status, body as bytes)"""
        body = review if isinstance(review, bytes) else json.dumps(review).encode()
        status, _, answer = self.request("POST", "/mutate?timeout=10s", body,
                                         {"Content-Type": "application/json", "Accept": "application/json, */*"},
                                         connection)
        return status, answer

    def admit(self, pod, connection=None, **review):
        """The response object of a review of this pod, checked as the API server checks it."""
        question = review_of(pod, **review)
        status, body = self.post(question, connection)
        if status != 200:
            raise AssertionError(f"status {status}: {body[:500]!r}")
        answer = json.loads(body)
        assert answer["apiVersion"] == "admission.k8s.io/v1" and answer["kind"] == "AdmissionReview", answer
        response = answer["response"]
        assert response["uid"] == question["request"]["uid"], "uid not echoed"
        assert ("patch" in response) == ("patchType" in response), "patch and patchType: both or neither"
        assert response.get("patchType", "JSONPatch") == "JSONPatch"
        for warning in response.get("warnings", []):
            assert len(warning) <= 120 and warning.isascii() and warning.isprintable(), warning
        assert len(response.get("warnings", [])) <= 10
        return response

    def is_ready(self):
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def wait_ready(self):
        def look():
            self.assert_runs()
            return self.is_ready()
        wait_until(look, f"the webhook to be ready; its log:\n{self.log()[-3000:]}")

    def metric(self, name, **labels):
        """Sum of the samples of a metric whose labels include these; None when there is none."""
        status, _, body = self.get("/metrics")
        assert status == 200
        total = None
        for line in body.decode().splitlines():
            match = re.match(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", line)
            if match and match.group(1) == name:
                found = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2) or ""))
                if all(found.get(key) == value for key, value in labels.items()):
                    total = (total or 0) + float(match.group(3))
        return total


PORTS = range(20000, 32000)  # below those that the kernel gives away by itself
ports = {}  # port: the socket that reserves it, by a name that the kernel keeps until this process ends


def free_port(address="127.0.0.1"):
    """A port of our own: no other test is given it before our program listens on it, nor when it starts anew."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            reservation = socket.socket(socket.AF_UNIX)
            reservation.bind(f"\0memtamer-test-port-{port}")
            probe.bind((address, port))
            ports[port] = reservation
            return port


def write_atomic(path, text):
    """As editors, kubelets and our own programs write: a new file, renamed over the old one."""
    with open(path + ".new", "w" if isinstance(text, str) else "wb") as file:
        file.write(text)
    os.rename(path + ".new", path)


class Load:
    """Clients that post reviews, each on a kept-alive connection, until stopped. A failure is an answer that is not a
    200 with the uid, a connection that broke in the middle, or an answer that took longer than `timeout`; `reconnect`
    makes a new connection per request."""

    def __init__(self, webhook, clients=4, reconnect=False, pod=None, timeout=PATIENCE):
        self.webhook, self.reconnect, self.timeout = webhook, reconnect, timeout
        self.pod = pod or training_pod()
        self.stopping = threading.Event()
        self.done, self.failures = 0, []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._client) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def _client(self):
        connection = None
        while not self.stopping.is_set():
            try:
                connection = connection or self.webhook.connect(timeout=self.timeout)
                self.webhook.admit(self.pod, connection)
                with self.lock:
                    self.done += 1
                if self.reconnect or connection.sock is None:
                    connection.close()
                    connection = None
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what this counts
                with self.lock:
                    self.failures.append(repr(error))
                connection = None

    def wait_done(self, more):
        """Until `more` further requests have succeeded."""
        goal = self.done + more
        wait_until(lambda: self.done >= goal or self.failures, f"{more} more answers")

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        return self.failures


# Stores ---------------------------------------------------------------------------------------------------------------

def profile(name, workload, namespace="ml", request="8Gi", limit="12Gi", peak="10Gi", median="8Gi", runs=14,
            container="pytorch", role="", **extra):
    """A MemoryProfile object as the recommender writes it."""
    recommendation = {"request": request, "limit": limit, "median": median, "p95": peak, "peak": peak, "runs": runs,
                      "wholeRuns": runs, "confidence": "high"}
    recommendation.update(extra)
    return {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryProfile",
            "metadata": {"namespace": namespace, "name": name}, "spec": {},
            "status": {"workload": workload, "role": role, "container": container, "aliases": [workload],
                       "revision": 1, "updated": "2026-11-02T08:15:00Z", "reasons": [f"peak {peak} of {runs} runs"],
                       "recommendation": recommendation}}


def unpacked(history):
    """A MemoryHistory with the members of its compressed spec.data in spec, as release 0.1 wrote them."""
    spec = {key: value for key, value in history["spec"].items() if key not in ("lastDays", "lastDecisions")}
    if "data" in spec:
        spec |= json.loads(gzip.decompress(base64.b64decode(spec.pop("data").removeprefix("v1:"))))
    return {**history, "spec": spec}


def store(*objects):
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


class Case(unittest.TestCase):
    """A test with a folder of its own; programs it starts are ended with it."""
    maxDiff = None
    longMessage = True

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="memtamer-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def webhook(self, *args, **options):
        webhook = Webhook(self.folder, *args, **options)
        self.addCleanup(webhook.finish)
        return webhook

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        write_atomic(self.path(name), text)
        return self.path(name)
