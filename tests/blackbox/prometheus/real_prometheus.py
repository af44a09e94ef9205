# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus over blocks back-filled from OpenMetrics text, and a proxy before it that can spoil answers."""
import http.client
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
DEMO = os.path.join(harness.TOP, "demo")


def is_installed():
    return shutil.which("prometheus") is not None and shutil.which("promtool") is not None


def demo_text(folder, now, *arguments):
    """The recorded trainings as OpenMetrics text."""
    path = os.path.join(folder, "demo.om")
    subprocess.run([sys.executable, "-B", os.path.join(DEMO, "backfill.py"), "--now", str(now), "--out", path,
                    *arguments], check=True)
    with open(path, encoding="utf-8") as file:
        return file.read()


class Prometheus:
    def __init__(self, folder, text, *flags):
        os.makedirs(folder, exist_ok=True)
        om, tsdb = os.path.join(folder, "history.om"), os.path.join(folder, "tsdb")
        with open(om, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=240h", om, tsdb],
                       check=True, capture_output=True)
        os.unlink(om)
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("global: {}\n")
        self.port = harness.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = os.path.join(folder, "prometheus.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tsdb}",
                 "--storage.tsdb.retention.time=90d", f"--web.listen-address=127.0.0.1:{self.port}", *flags],
                stdout=log, stderr=log)
        try:
            harness.wait_until(self.is_ready, "Prometheus to be ready")
        except AssertionError:
            self.stop()
            raise

    def is_ready(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8") as file:
                raise AssertionError("Prometheus ended: " + file.read()[-2000:])
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/-/ready")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Proxy:
    """Passes requests on. `spoil(number, path, status, body)` may return another (status, body), or None to close the
    connection in the middle of the body; requests are numbered from 1. `spoil_form(form, status, body)` may do the same by
    the form that was sent."""

    def __init__(self, port, spoil=None):
        self.port, self.spoil, self.number, self.lock = port, spoil, 0, threading.Lock()
        self.spoil_form = None
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=harness.PATIENCE)
                headers = {"Content-Type": self.headers.get("Content-Type", "")}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                status, data = answer.status, answer.read()
                with proxy.lock:
                    proxy.number += 1
                    number = proxy.number
                spoilt = proxy.spoil(number, self.path, status, data) if proxy.spoil else (status, data)
                if spoilt and proxy.spoil_form:
                    spoilt = proxy.spoil_form(dict(urllib.parse.parse_qsl(body.decode())), *spoilt)
                self.send_response(spoilt[0] if spoilt else status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(spoilt[1] if spoilt else data)))
                self.end_headers()
                if spoilt:
                    self.wfile.write(spoilt[1])
                    return
                self.wfile.write(data[:len(data) // 2])
                self.wfile.flush()
                self.close_connection = True

            do_GET = do_POST = serve

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def rename_labels(text):
    """As scraped with honor_labels: false: kube-state-metrics' own labels become exported_*."""
    lines = []
    for line in text.splitlines(keepends=True):
        if line.startswith("kube_"):
            line = re.sub(r'([{,])(namespace|pod|container)=', r'\1exported_\2=', line)
            line = line.replace("{", '{namespace="monitoring",pod="ksm-0",container="ksm",', 1)
        lines.append(line)
    return "".join(lines)


def add_replica(text):
    """As two Prometheus servers of a pair write to one store: every series twice."""
    out, series = [], []
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            out += series + [line]
            series = []
            continue
        out.append(line.replace("{", '{replica="a",', 1))
        series.append(line.replace("{", '{replica="b",', 1))
    return "".join(out)


def many_pods(count, start, apart_seconds=1):
    """`count` Jobs of one pod each, one after another, samples every ten minutes of an hour: 100 MiB + number KiB."""
    first, families = start, {}

    def add(name, labels, samples):
        rows = families.setdefault(name, [])
        text = ",".join(f'{k}="{v}"' for k, v in labels.items())
        rows.extend(f"{name}{{{text}}} {value} {t}\n" for t, value in samples)

    for i in range(count):
        start = first + int(i * apart_seconds)
        end = start + 3600
        uid = f"{i:08x}-0000-4000-8000-000000000000"
        pod = {"namespace": f"team-{i % 20}", "pod": f"train-job{i % 100}-{i:06d}-abcde", "uid": uid}
        box = {**pod, "container": "main"}
        times = (start + 600, end + 60)
        add("kube_pod_owner", {**pod, "owner_kind": "Job", "owner_name": f"train-job{i % 100}-{i:06d}",
                               "owner_is_controller": "true"}, [(t, 1) for t in times])
        for resource, value in (("memory", 1 << 30), ("nvidia_com_gpu", 1)):
            add("kube_pod_container_resource_limits", {**box, "resource": resource}, [(t, value) for t in times])
        add("kube_pod_start_time", pod, [(t, start) for t in times])
        add("kube_pod_completion_time", pod, [(end + 60, end)])
        add("kube_pod_status_phase", {**pod, "phase": "Succeeded"}, [(end + 60, 1)])
        add("container_memory_working_set_bytes",
            {"namespace": pod["namespace"], "pod": pod["pod"], "container": "main",
             "id": f"/kubepods/pod{uid}/{i:064x}"},
            [(t, (100 << 20) + i * 1024) for t in range(start, end, 600)])
    return "".join(f"# TYPE {name} gauge\n" + "".join(rows) for name, rows in families.items()) + "# EOF\n"
