#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What memtamer needs of kube-state-metrics, in its documented format, of the pods that really are in the cluster.

	StateMetrics(t)     a process of the cluster's network; Prometheus scrapes it from now on, until the test ends

Prometheus keeps the labels that the samples have (honor_labels), as kube-prometheus configures it."""
import http.server
import os
import subprocess
import sys
import time
import urllib.request

import yaml

NODE_ADDRESS = "10.244.0.1"


class StateMetrics:
    def __init__(self, test):
        self.process = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        test.at_end(self.close)
        self.port = int(self.process.stdout.readline())
        self.path = os.path.join(os.environ["MEMTAMER_CLUSTER"], "config/prometheus.yml")
        with open(self.path, encoding="utf-8") as file:
            self.before = file.read()
        config = yaml.safe_load(self.before)
        config["scrape_configs"].append({"job_name": "kube-state-metrics", "honor_labels": True,
                                         "static_configs": [{"targets": [f"{NODE_ADDRESS}:{self.port}"]}]})
        self.configure(yaml.safe_dump(config, sort_keys=False))

    def configure(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:9090/-/reload", method="POST"), timeout=60).close()

    def close(self):
        self.configure(self.before)
        self.process.stdin.close()
        self.process.wait(timeout=60)


# The process --------------------------------------------------------------------------------------------------------

def sample(name, labels, value=1):
    text = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{text}}} {value}"


def controller_of(meta, prefix="owner"):
    owner = next((one for one in meta.get("ownerReferences", []) if one.get("controller")), None)
    return {f"{prefix}_kind": owner["kind"] if owner else "", f"{prefix}_name": owner["name"] if owner else "",
            f"{prefix}_is_controller": "true" if owner else ""}


def seconds(text):
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone


def quantity(text):
    for suffix, factor in (("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("m", 0.001), ("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if text.endswith(suffix):
            return float(text[:-len(suffix)]) * factor
    return float(text)


def resource(name):
    unit = {"cpu": "core", "memory": "byte", "ephemeral-storage": "byte"}.get(name, "integer")
    return {"resource": "".join(c if c.isalnum() else "_" for c in name), "unit": unit}


def of_pod(pod):
    meta, spec, status = pod["metadata"], pod["spec"], pod["status"]
    base = {"namespace": meta["namespace"], "pod": meta["name"], "uid": meta["uid"]}
    yield sample("kube_pod_owner", {**base, **controller_of(meta)})
    if "startTime" in status:
        yield sample("kube_pod_start_time", base, seconds(status["startTime"]))
    for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown"):
        yield sample("kube_pod_status_phase", {**base, "phase": phase}, int(status.get("phase") == phase))
    for container in spec["containers"]:
        for kind in ("requests", "limits"):
            for name, value in container.get("resources", {}).get(kind, {}).items():
                yield sample("kube_pod_container_resource_" + kind, {
                    **base, "container": container["name"], "node": spec.get("nodeName", ""), **resource(name)},
                    quantity(value))
    ends, images = [], {container["name"]: container["image"] for container in spec["containers"]}
    for container in status.get("containerStatuses", []):
        box = {**base, "container": container["name"]}
        yield sample("kube_pod_container_info", {**box, "image": container["image"], "image_id": container["imageID"],
                                                 "image_spec": images.get(container["name"], "")})
        yield sample("kube_pod_container_status_restarts_total", box, container["restartCount"])
        ended = container["state"].get("terminated")
        if ended:
            yield sample("kube_pod_container_status_terminated_reason", {**box, "reason": ended["reason"]})
            ends.append(seconds(ended["finishedAt"]))
    if ends and status.get("phase") in ("Succeeded", "Failed"):
        yield sample("kube_pod_completion_time", base, max(ends))


def of_job(job):
    meta = job["metadata"]
    yield sample("kube_job_owner", {"namespace": meta["namespace"], "job_name": meta["name"], **controller_of(meta)})


def of_node(node):
    for name, value in node["status"]["allocatable"].items():
        yield sample("kube_node_status_allocatable", {"node": node["metadata"]["name"], **resource(name)}, quantity(value))


def serve():
    import cluster
    api = cluster.Cluster()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            lines = []
            for path, function in (("/api/v1/pods", of_pod), ("/apis/batch/v1/jobs", of_job), ("/api/v1/nodes", of_node)):
                for thing in api.call("GET", path).body["items"]:
                    lines += function(thing)
            # One metric after the other, as the format wants it.
            body = ("\n".join(sorted(lines)) + "\n").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer((NODE_ADDRESS, 0), Handler)
    print(server.server_port, flush=True)
    import threading
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    serve()
