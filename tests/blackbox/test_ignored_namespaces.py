# SPDX-License-Identifier: Apache-2.0
"""The recommender in a cluster with a namespace that people want to be ignored, against an API server that keeps what is
written: of two pods that died alike only the one in the other namespace is read, learned from and diagnosed."""
import http.server
import json
import threading
import time
import urllib.parse

from harness import Case, Program, wait_until, with_kubectl
from test_recommender_endpoint import FakePrometheus

IGNORED = "memtamer.io/ignore=true"


def at(ago_s):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago_s))


def dead_pod(namespace, ended_ago_s):
    ended = {"reason": "Error", "exitCode": 1, "startedAt": at(900), "finishedAt": at(ended_ago_s)}
    return {"metadata": {"name": "train", "namespace": namespace, "uid": f"u-{namespace}", "resourceVersion": "1",
                         "creationTimestamp": at(1000), "labels": {"memtamer.io/training": "true"}},
            "spec": {"restartPolicy": "Never", "nodeName": "n1", "containers": [
                {"name": "main", "image": "i", "resources": {"limits": {"memory": "8Gi"}}}]},
            "status": {"phase": "Failed", "startTime": at(900), "containerStatuses": [
                {"name": "main", "restartCount": 0, "state": {"terminated": ended}}]}}


class Cluster(http.server.ThreadingHTTPServer):
    """Objects by path. A watch says nothing until the end. `asked` has the method and path of each request."""
    daemon_threads = True

    def __init__(self, *objects):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects, self.asked, self.release, self.lock = dict(objects), [], threading.Event(), threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.release.set()
        self.shutdown()
        self.server_close()

    def listed(self, path, query):
        """The objects of a kind, in one namespace or in all."""
        if path.endswith("/namespaces") and query.get("labelSelector") != IGNORED:
            raise AssertionError(f"namespaces are listed with {query}")
        group, _, kind = path.rpartition("/")
        items = [one for place, one in self.objects.items()
                 if place.startswith(group) and place.rsplit("/", 2)[-2] == kind and "watch" not in query]
        if query.get("fieldSelector", "").startswith("metadata.name="):
            items = [one for one in items if one["metadata"]["name"] == query["fieldSelector"].partition("=")[2]]
        return 200, {"kind": "List", "metadata": {"resourceVersion": "10"}, "items": items}

    def answer(self, method, path, query, body):
        with self.lock:
            self.asked.append(f"{method} {path}")
            if method == "POST":
                path += "/" + body["metadata"].get("name", "generated")
            if method in ("POST", "PUT", "PATCH"):
                path = path.removesuffix("/status")
                kept = self.objects.get(path, {})
                meta = {**kept.get("metadata", {}), **body.get("metadata", {}), "uid": path, "resourceVersion": str(len(self.asked))}
                self.objects[path] = {**kept, **body, "metadata": meta}
                return 201 if method == "POST" else 200, self.objects[path]
            if path in self.objects:
                return 200, self.objects[path]
            if path.rpartition("/")[2].endswith("s"):
                return self.listed(path, query)
            return 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": f"{path} not found"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, body = 200, "Traceback: the log\n"
        if path.endswith("/log"):
            self.server.asked.append(f"{self.command} {path}")
        elif "watch" not in query:
            status, answer = self.server.answer(self.command, path, query, json.loads(text) if text else {})
            body = json.dumps(answer)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if "watch" in query:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.server.release.wait()
            return
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass

    def log_message(self, *_):
        pass


def run_in(case, cluster):
    """A recommender that leads in this cluster."""
    prometheus = FakePrometheus()
    case.addCleanup(prometheus.stop)
    kubeconfig = case.write("kubeconfig", json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{cluster.server_port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "memtamer"}}]}))
    config = case.write("memtamer.yaml", json.dumps({
        "apiVersion": "config.memtamer.io/v1alpha1", "store": {"kind": "kube"}, "prometheus": {"url": prometheus.url},
        "kubernetes": {"kubeconfig": kubeconfig},
        "recommender": {"interval": "1h", "lease": "", "probe": "0s", "readLogs": True}}))
    path = with_kubectl()["PATH"]
    program = Program(case.folder, "memtamer-recommender", "run", "--config", config, before=("env", f"PATH={path}"))
    case.addCleanup(program.finish)
    return program


class Ignored(Case):
    def test_only_the_other_namespace_is_read(self):
        """The pod that would be read first, as it died last, is in the ignored namespace."""
        cluster = Cluster(("/api/v1/namespaces/still", {"metadata": {"name": "still", "resourceVersion": "1"}}),
                          ("/api/v1/namespaces/ml/pods/train", dead_pod("ml", 60)),
                          ("/api/v1/namespaces/still/pods/train", dead_pod("still", 50)))
        self.addCleanup(cluster.stop)
        program = run_in(self, cluster)
        log = "GET /api/v1/namespaces/ml/pods/train/log"
        wait_until(lambda: log in cluster.asked, f"the log to be read; log:\n{program.log()}")
        wait_until(lambda: any("diagnosis" in one.get("status", {}) for one in list(cluster.objects.values())),
                   f"a diagnosis; log:\n{program.log()}")
        program.wait_log('namespace is ignored.*still')
        program.stop()
        written = {path for path in cluster.objects if "/memoryprofiles/" in path or "/events/" in path}
        self.assertTrue(written)
        self.assertEqual([one for one in cluster.asked if "/namespaces/still/" in one], [])
