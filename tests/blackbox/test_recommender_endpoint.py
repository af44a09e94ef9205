# SPDX-License-Identifier: Apache-2.0
"""What the recommender's endpoint says while it works on a file: figures, health, readiness, through reloads, a
Prometheus that is away, hangs or lacks metrics, and SIGTERM in the middle of a cycle."""
import contextlib
import fcntl
import http.client
import http.server
import json
import os
import re
import socket
import threading
import unittest

from harness import PATIENCE, Case, Program, free_port, run, wait_until, with_kubectl, write_atomic

RECOMMENDER = "memtamer-recommender"
PLACES = 64  # connections of its endpoint


class FakePrometheus:
    """Answers every question with "nothing there", or hangs while `hangs` is set."""

    def __init__(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.asked.set()
                if fake.hangs:
                    fake.release.wait()
                empty = [] if "/label/" in self.path or "/labels" in self.path else {"resultType": "vector", "result": []}
                body = json.dumps({"status": "success", "data": empty}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def handle(self):
                try:
                    super().handle()
                except OSError:
                    pass

        self.hangs, self.asked, self.release = False, threading.Event(), threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


class Recommender(Program):
    def __init__(self, case, url, level="info", stderr=None, **recommender):
        self.case, self.level, self.port = case, level, free_port()
        self.config_path = case.path("memtamer.yaml")
        self.configure(url, **recommender)
        super().__init__(case.folder, RECOMMENDER, "run", "--config", self.config_path, stderr=stderr)
        case.addCleanup(self.finish)
        wait_until(self.answers, f"the endpoint; log:\n{self.log()}")

    def configure(self, url, text="", **recommender):
        recommender = {"interval": "1s", "listen": f"127.0.0.1:{self.port}", **recommender}
        write_atomic(self.config_path, json.dumps({
            "apiVersion": "config.memtamer.io/v1alpha1", "prometheus": {"url": url, "timeout": "1h", "deadline": "12h"},
            "log": {"level": self.level}, "recommender": recommender}) + text)

    def get(self, path, method="GET", port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read().decode()
        finally:
            connection.close()

    def answers(self):
        self.assert_runs()
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False

    def metric(self, line):
        """The value of a sample, by its name with labels; None when it is not there."""
        found = re.search(rf"^{re.escape(line)} (\S+)$", self.get("/metrics")[2], re.MULTILINE)
        return float(found.group(1)) if found else None

    def wait_metric(self, line, least=1):
        return wait_until(lambda: (self.metric(line) or 0) >= least, f"{line}; log:\n{self.log()}")


class Endpoint(Case):
    sample = True

    def setUp(self):
        super().setUp()
        self.prometheus = FakePrometheus()
        self.addCleanup(self.prometheus.stop)

    def test_figures_of_cycles(self):
        recommender = Recommender(self, self.prometheus.url)
        recommender.wait_metric('memtamer_cycles_total{result="partial"}', 2)
        status, kind, text = recommender.get("/metrics")
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        for line in ('memtamer_cycle_partial_reasons_total{reason="missing-metric"}', "memtamer_prometheus_queries_total",
                     "memtamer_cycle_duration_seconds_count", "process_start_time_seconds",
                     'memtamer_http_requests_total{path="/healthz",code="200"}'):
            self.assertGreater(recommender.metric(line) or 0, 0, line)
        # Every sample belongs to a family that is declared once, before it.
        families = re.findall(r"^# TYPE (\S+) (counter|gauge|histogram)$", text, re.MULTILINE)
        self.assertEqual(len(families), len({name for name, _ in families}))
        for line in text.splitlines():
            if not line.startswith("#"):
                name = re.match(r"[a-z_]+", line).group(0)
                self.assertTrue(any(name == family or (type_ == "histogram" and name.startswith(family + "_"))
                                    for family, type_ in families), line)
        # What a file has nothing to say about is not there.
        for name in ("memtamer_is_leader", "memtamer_webhook_reachable", "memtamer_nodes",
                     "memtamer_cycle_success_timestamp_seconds"):
            self.assertNotIn(name, text)
        self.assertEqual(recommender.get("/readyz")[0], 200)
        self.assertEqual(recommender.get("/nothing")[0], 404)
        self.assertEqual(recommender.get("/metrics", "POST")[0], 405)
        recommender.stop()
        self.assertIn("msg=stopped", recommender.log())

    def test_prometheus_away(self):
        recommender = Recommender(self, "http://127.0.0.1:1")
        recommender.wait_metric('memtamer_cycles_total{result="failed"}')
        recommender.wait_metric('memtamer_prometheus_errors_total{condition="unreachable"}')
        self.assertEqual(recommender.get("/healthz")[0], 200)
        recommender.configure(self.prometheus.url)
        recommender.wait_metric('memtamer_cycles_total{result="partial"}')
        self.assertEqual(recommender.metric('memtamer_config_reloads_total{result="ok"}'), 1)

    def test_sigterm_in_a_cycle_that_hangs(self):
        self.prometheus.hangs = True
        recommender = Recommender(self, self.prometheus.url)
        self.assertTrue(self.prometheus.asked.wait(PATIENCE))
        self.assertEqual(recommender.get("/healthz")[0], 200, "a cycle may take until its deadline")
        recommender.stop()  # the query would take an hour

    def test_reload(self):
        recommender = Recommender(self, self.prometheus.url)
        recommender.wait_metric('memtamer_cycles_total{result="partial"}')
        cycles = recommender.metric('memtamer_cycles_total{result="partial"}')
        recommender.configure(self.prometheus.url, text="nonsense: [")
        recommender.wait_metric('memtamer_config_reloads_total{result="failed"}')
        recommender.wait_metric('memtamer_cycles_total{result="partial"}', cycles + 1)  # the old one goes on
        # A change is seen while it waits for a cycle that is far away.
        recommender.configure(self.prometheus.url, interval="1d")
        recommender.wait_metric('memtamer_config_reloads_total{result="ok"}', 1)
        before, recommender.port = recommender.port, free_port()
        recommender.configure(self.prometheus.url, interval="1d")
        wait_until(recommender.answers, "the endpoint on its new port")
        self.assertEqual(recommender.metric('memtamer_config_reloads_total{result="ok"}'), 2)
        with self.assertRaises(OSError):
            recommender.get("/healthz", port=before)
        # The figures went along to the new port.
        self.assertGreater(recommender.metric('memtamer_cycles_total{result="partial"}'), cycles)

    @staticmethod
    def crowd(recommender, count):
        """So many clients that say nothing, more than there are places for: each but the last ones is closed, at level
        debug with a line."""
        clients = [socket.create_connection(("127.0.0.1", recommender.port), PATIENCE) for _ in range(count)]
        for client in clients[:-2 * PLACES]:
            with contextlib.suppress(ConnectionError):
                client.recv(1)  # until the server has closed it
        for client in clients:
            client.close()

    def test_lines_that_clients_cause_are_limited(self):
        recommender = Recommender(self, self.prometheus.url, level="debug")
        self.crowd(recommender, 6 * PLACES)
        self.assertEqual(recommender.get("/healthz")[0], 200)
        recommender.stop()
        lines = re.findall(r'msg="http server".*no request so far', recommender.log())
        self.assertGreater(len(lines), 0)
        self.assertLess(len(lines), 3 * PLACES)

    def test_nothing_waits_for_who_reads_the_log(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, b"-" * (size - 512))  # room for two or three lines, of which each cycle writes one
        recommender = Recommender(self, self.prometheus.url, level="debug", stderr=writer)
        os.close(writer)
        self.crowd(recommender, 6 * PLACES)
        cycles = recommender.metric('memtamer_cycles_total{result="partial"}') or 0
        recommender.wait_metric('memtamer_cycles_total{result="partial"}', cycles + 5)
        self.assertIsNotNone(recommender.metric("memtamer_log_lines_dropped_total"))
        self.assertEqual(recommender.get("/healthz")[0], 200)
        recommender.stop()

    def test_no_endpoint_unless_asked_for(self):
        path = self.write("plain.yaml", "apiVersion: config.memtamer.io/v1alpha1\n"
                                        f"prometheus: {{ url: '{self.prometheus.url}' }}\n")
        plain = Program(self.folder, RECOMMENDER, "run", "--config", path)
        self.addCleanup(plain.finish)
        plain.wait_log("cycle with partial data")
        self.assertNotIn("metrics are served", plain.log())
        plain.stop()

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            path = self.write("taken.yaml", "apiVersion: config.memtamer.io/v1alpha1\n"
                                            f"recommender: {{ listen: '127.0.0.1:{taken.getsockname()[1]}' }}\n")
            done = run(RECOMMENDER, "run", "--config", path)
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("recommender.listen", done.stderr)


class Probe(Case):
    sample = True

    def test_what_cannot_be_asked(self):
        nowhere = self.write("nowhere.yaml", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}))
        done = run(RECOMMENDER, "probe", "--kubeconfig", nowhere, env=with_kubectl())
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"^the API server was not reached: .*127\.0\.0\.1")
        done = run(RECOMMENDER, "probe", "--kubeconfig", self.path("none"))
        self.assertEqual(done.returncode, 3, done)
        self.assertIn(self.path("none"), done.stderr)
        self.assertEqual(run(RECOMMENDER, "probe", "--config", self.write("bad.yaml", "mode: off")).returncode, 2)
        self.assertEqual(run(RECOMMENDER, "probe", "extra").returncode, 2)


if __name__ == "__main__":
    unittest.main()
