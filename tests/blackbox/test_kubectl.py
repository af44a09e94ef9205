# SPDX-License-Identifier: Apache-2.0
"""Commands that reach the API server through kubectl, when kubectl cannot: what they say, their status, and what is left
of them."""
import json
import os
import signal
import subprocess
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
