# SPDX-License-Identifier: Apache-2.0
"""The API server of the cluster whose network we are in: plain HTTP requests for what tests look at again and again, and
the real kubectl for what users do."""
import base64
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import threading

import yaml

KUBECTL_SECONDS = 120


class ApiError(AssertionError):
    """An answer that is no success; `status` is the HTTP status, `body` the Status object or text."""

    def __init__(self, what, status, body):
        message = body.get("message", body) if isinstance(body, dict) else body
        super().__init__(f"{what}: {status}: {message}")
        self.status, self.body = status, body


class Answer:
    """`status`, `body` (object, or text where it is no JSON) and `warnings` of one request."""

    def __init__(self, response):
        self.status = response.status
        text = response.read().decode()
        self.body = json.loads(text) if "json" in response.getheader("Content-Type", "") else text
        # Each header is `299 - "text"`, with \ before " and \.
        self.warnings = [line.split(" ", 2)[2][1:-1].replace('\\"', '"').replace("\\\\", "\\")
                         for line in response.headers.get_all("Warning", [])]


class Kubectl:
    """What one run of kubectl printed: `status`, `out`, `err`, `warnings` (in order, without "Warning: ")."""

    def __init__(self, command, done):
        self.command, self.status, self.out, self.err = command, done.returncode, done.stdout, done.stderr
        self.warnings = [line.removeprefix("Warning: ") for line in done.stderr.splitlines()
                         if line.startswith("Warning: ")]

    def __repr__(self):
        return f"{' '.join(self.command)}: status {self.status}\n{self.out}{self.err}"


class Cluster:
    """Requests as one user: the administrator, or who a token (or a kubeconfig with one) says. Any thread."""

    def __init__(self, token=None):
        with open(os.environ["KUBECONFIG"], encoding="utf-8") as file:
            self.kubeconfig = yaml.safe_load(file)
        cluster = self.kubeconfig["clusters"][0]["cluster"]
        self.server = cluster["server"]
        self.host = self.server.removeprefix("https://")
        self.ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.token = token or self.kubeconfig["users"][0]["user"]["token"]
        self.context = ssl.create_default_context(cadata=self.ca)
        self.connections = threading.local()
        self.cache = tempfile.TemporaryDirectory(prefix="memtamer-kubectl-")

    def _send(self, method, path, body, headers):
        connection = getattr(self.connections, "one", None)
        fresh = connection is None
        if fresh:
            connection = self.connections.one = http.client.HTTPSConnection(self.host, context=self.context, timeout=90)
        try:
            connection.request(method, path, body=body, headers=headers)
            return Answer(connection.getresponse())
        except (OSError, http.client.HTTPException):
            connection.close()
            self.connections.one = None
            if fresh:
                raise
            return self._send(method, path, body, headers)  # an old connection may have been closed meanwhile

    def request(self, method, path, body=None, content_type="application/json"):
        """The answer, whatever it says."""
        headers = {"Authorization": "Bearer " + self.token, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return self._send(method, path, body, headers)

    def call(self, method, path, body=None, content_type="application/json"):
        """The answer of a request that succeeds; else ApiError."""
        answer = self.request(method, path, body, content_type)
        if answer.status >= 300:
            raise ApiError(f"{method} {path}", answer.status, answer.body)
        return answer

    def get(self, path):
        """The object, or None where there is none."""
        answer = self.request("GET", path)
        if answer.status == 404:
            return None
        if answer.status >= 300:
            raise ApiError(f"GET {path}", answer.status, answer.body)
        return answer.body

    def delete(self, path):
        """Delete what may be there; at once, without grace."""
        answer = self.request("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        if answer.status >= 300 and answer.status != 404:
            raise ApiError(f"DELETE {path}", answer.status, answer.body)

    def create(self, path, thing, dry_run=False):
        """POST to the collection `path`; the Answer."""
        return self.call("POST", path + ("?dryRun=All" if dry_run else ""), thing)

    def patch(self, path, change, kind="merge-patch"):
        return self.call("PATCH", path, change, f"application/{kind}+json").body

    def metric(self, metric, /, **labels):
        """Sum of the samples of a metric of the API server whose labels include these; 0 without any."""
        return sum_metric(self.call("GET", "/metrics").body, metric, labels) or 0

    def kubectl(self, *args, stdin=None, check=True, kubeconfig=None):
        """Run the real kubectl. `stdin`: text, an object, or a list of objects. check: status 0 or AssertionError."""
        if stdin is not None and not isinstance(stdin, str):
            things = stdin if isinstance(stdin, list) else [stdin]
            stdin = yaml.safe_dump_all(things, sort_keys=False)
        command = ["kubectl", *args]
        # A cache of its own: the default one is by address, which all clusters of a machine share.
        environment = {**os.environ, "KUBECACHEDIR": self.cache.name, "KUBECTL_COLOR": "false"}
        if kubeconfig:
            environment["KUBECONFIG"] = kubeconfig
        done = Kubectl(command, subprocess.run(command, input=stdin, capture_output=True, text=True, check=False,
                                               timeout=KUBECTL_SECONDS, env=environment))
        if check and done.status != 0:
            raise AssertionError(repr(done))
        return done

    def token_of(self, namespace, service_account):
        """A token of a ServiceAccount, good for an hour, as a pod of it would have."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        return self.create(path, request).body["status"]["token"]

    def write_kubeconfig(self, path, token=None, namespace="default", server=None):
        """A kubeconfig for this cluster at `path`: of the administrator, or with that token."""
        cluster = {"server": server or self.server,
                   "certificate-authority-data": base64.b64encode(self.ca.encode()).decode()}
        user = {"token": token or self.token}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
                  "clusters": [{"name": "e2e", "cluster": cluster}], "users": [{"name": "e2e", "user": user}],
                  "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e", "namespace": namespace}}]}
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            yaml.safe_dump(config, file)
        return path


def sum_metric(text, name, labels):
    """Sum of the samples of Prometheus' text format with that name whose labels include these; None without any."""
    total = None
    for line in text.splitlines():
        if not line.startswith(name) or line[len(name)] not in "{ ":
            continue
        if all(f'{key}="{value}"' in line for key, value in labels.items()):
            total = (total or 0) + float(line.rsplit(" ", 1)[1])
    return total
