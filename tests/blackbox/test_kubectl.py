# SPDX-License-Identifier: Apache-2.0
"""Commands that reach the API server through kubectl, when kubectl cannot: what they say, their status, and what is left
of them."""
import http.server
import json
import os
import signal
import subprocess
import threading
import unittest

import harness
from harness import Case, run, wait_until, with_kubectl

REPORT = ("memtamer-recommender", "report")
REVIEW = ("memtamer-webhook", "review")


class Kubectl(Case):
    sample = True

    def setUp(self):
        super().setUp()
        self.kubeconfig = self.write("kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "ml"}}]}))
        self.manifest = self.write("empty.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
        self.temporary = self.path("tmp")
        os.mkdir(self.temporary)

    def environment(self, **more):
        return with_kubectl(**{"TMPDIR": self.temporary, "KUBECONFIG": self.kubeconfig, **more})

    def test_what_is_said(self):
        nobody = ("--context", "nobody")
        fix = "kubectl is not in PATH: outside a pod, memtamer needs it (https://kubernetes.io/docs/tasks/tools/)"
        refused = "kubectl proxy: error: invalid configuration: unable to read client-cert"
        login = "kubectl proxy: getting credentials: exec: executable login failed with exit code 1"
        for command, options, more, status, words in (
                (REPORT, (), {"PATH": self.path("nothing")}, 3, fix),
                (REVIEW, (self.manifest,), {"PATH": self.path("nothing")}, 3, fix),
                (REPORT, nobody, {}, 2, "kubectl config view: error: cannot locate context nobody"),
                (REVIEW, (*nobody, self.manifest), {}, 2, "kubectl config view: error: cannot locate context nobody"),
                (REPORT, (), {"KUBECONFIG": self.write("empty", "{}")}, 2, "no context is chosen: give --context, or use"),
                (REPORT, (), {"FAKE_KUBECTL": "refuses"}, 2, refused),
                (REPORT, (), {"FAKE_KUBECTL": "login"}, 3, login),
                (REPORT, (), {"FAKE_KUBECTL": "dies"}, 3, ": fatal: the network is gone"),
                (REVIEW, (self.manifest,), {}, 3, "--store none reviews without history): "),
                (REPORT, (), {}, 3, "kubectl proxy: dial tcp 127.0.0.1:1: connect: connection refused"),
                (REPORT, ("--kubeconfig", self.path("none")), {}, 2, self.path("none"))):
            with self.subTest(command=command, options=options, more=more):
                done = run(*command, *options, env=self.environment(**more))
                self.assertEqual((done.returncode, done.stdout), (status, ""), done)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(os.listdir(self.temporary), [])

    def test_which_namespaces_are_read(self):
        """As kubectl does: that of the context, unless -n or -A says otherwise. status and backtest are about all."""
        paths = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                paths.append(self.path)
                body = b'{"kind":"List","apiVersion":"memtamer.io/v1alpha1","metadata":{"resourceVersion":"1"},"items":[]}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        config = json.loads(open(self.kubeconfig, encoding="utf-8").read())
        config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{server.server_port}"
        self.write("kubeconfig", json.dumps(config))
        hint = " in namespace ml (that of kubectl's context; -A reads all namespaces)"
        for args, namespace, status, words in (
                (("report",), "ml", 0, f"No workloads known{hint}"), (("report", "-n", "other"), "other", 0, "in namespace other\n"),
                (("report", "-A"), None, 0, "No workloads known\n"), (("history",), "ml", 0, f"No changes recorded{hint}"),
                (("explain", "Job/x"), "ml", 2, f"nothing is known of Job/x{hint}"),
                (("undo", "Job/x"), "ml", 2, f"nothing is known of Job/x{hint}"),
                (("undo", "-A", "Job/x"), None, 2, "nothing is known of Job/x;"),
                (("status",), None, 1, ""), (("status", "-n", "other"), "other", 1, ""), (("backtest",), None, 0, "")):
            with self.subTest(args):
                paths.clear()
                done = run("kubectl-memtamer", *args, env=self.environment())
                self.assertEqual(done.returncode, status, done)
                self.assertIn(words, done.stdout + done.stderr)
                asked = {path.partition("?")[0] for path in paths if "/memoryprofiles" in path}
                self.assertEqual(asked, {"/apis/memtamer.io/v1alpha1/" + (f"namespaces/{namespace}/" if namespace else "")
                                         + "memoryprofiles"}, paths)

    def test_without_a_kubeconfig_kubectl_is_not_needed(self):
        environment = {**os.environ, "KUBECONFIG": self.path("none"), "PATH": self.path("nothing")}
        done = run(*REVIEW, self.manifest, env=environment)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("there is no kubeconfig", done.stdout + done.stderr)

    def test_interrupted_while_kubectl_starts(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                process = subprocess.Popen([harness.program(REPORT[0]), REPORT[1]], stderr=subprocess.PIPE,
                                           env=self.environment(FAKE_KUBECTL="hangs"),
                                           # a shell ignores SIGINT in what it starts in the background
                                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
                wait_until(lambda: os.listdir(self.temporary) or process.poll() is not None, "the folder of the socket")
                process.send_signal(number)
                _, words = process.communicate(timeout=harness.PATIENCE)
                self.assertEqual(process.returncode, -number, words)
                self.assertEqual(os.listdir(self.temporary), [])


if __name__ == "__main__":
    unittest.main()
