# SPDX-License-Identifier: Apache-2.0
"""`triage --config FILE` with a real Prometheus: what series say of a pod that ended, and of a node."""
import json
import os
import re
import shutil
import socket
import tempfile
import time
import unittest

import harness
import real_prometheus
import test_triage
import test_triage_pods
from real_prometheus import Prometheus, Proxy
from test_activity import add, render
from test_recommender import Place

MINUTE, HOUR, STEP, MIB = 60, 3600, 30, 1 << 20
UID = "0b5e5c1d-0000-4000-8000-00000000000a"
OTHER_UID = "0b5e5c1d-0000-4000-8000-00000000000b"
NODE = "node-a.example.com"
# The run of the cases of tests/triage/pods is from 07:00 to 08:15.
CASE_START, CASE_END = "2026-11-02T07:00:00Z", "2026-11-02T08:15:00Z"
LENGTH = 75 * MINUTE

shared = None


def setUpModule():
    global shared
    if not real_prometheus.is_installed():
        raise unittest.SkipTest("Prometheus is not installed")
    shared = int(time.time()) // MINUTE * MINUTE


def render_time(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def container(families, start, end, used_mib, kills_at=None, uid=UID, labels=("namespace", "pod", "container"), rss_mib=None):
    """The series of the case's container, as cAdvisor has them: the use grows to `used_mib`."""
    own = dict(zip(labels, ("ml", "train-0", "trainer")))
    own["id"] = f"/kubepods.slice/kubepods-pod{uid.replace('-', '_')}.slice/cri-containerd-{uid[-1] * 64}.scope"
    times = range(start, end, STEP)
    for metric, most in (("working_set_bytes", used_mib), ("rss", used_mib if rss_mib is None else rss_mib)):
        add(families, f"container_memory_{metric}", own,
            [(t, most * MIB * (t - start + STEP) // (len(times) * STEP)) for t in times])
    add(families, "container_oom_events_total", own,
        [(t, int(kills_at is not None and t >= kills_at)) for t in times])


class Asked(test_triage_pods.World):
    def prometheus(self, families):
        folder = tempfile.mkdtemp(prefix="memtamer-triage-")
        self.addCleanup(shutil.rmtree, folder)
        server = Prometheus(os.path.join(folder, "a"), render(families))
        self.addCleanup(server.stop)
        return server

    def config(self, url, **settings):
        place = Place(url, **settings)
        self.addCleanup(place.remove)
        return place.config


class Series(Asked):
    sample = True

    def case(self, name, start, end):
        """A case of tests/triage/pods, at another time and with a uid as Kubernetes makes them."""
        text = json.dumps(dict(test_triage_pods.cases())[name]).replace("uid-train-0", UID)
        text = text.replace(CASE_START, render_time(start)).replace(CASE_END, render_time(end))
        return json.loads(re.sub(r"2026-11-02T06:59:..Z", render_time(start - MINUTE), text))

    def ask(self, config, *args):
        return json.loads(self.triage("train-0", "--config", config, *args, "-o", "json").stdout)

    def evidence(self, answer, signal):
        return next((one["text"] for one in answer["evidence"] if one["signal"] == signal), "")

    def test_pods(self):
        start = shared - 5 * HOUR
        end = start + LENGTH
        near, early = end - 3 * MINUTE, end - HOUR
        spelling = ("namespace", "pod_name", "container_name")
        rows = (
            # case, what its container used of 8 GiB, further facts; rule, kind, cause, confidence; parts of the evidence
            ("completed", 8000, {"kills_at": near}, ("oom-counted", "container-limit", "child-killed", "medium"),
             "97 % of the memory limit of 8.00 GiB", "container_oom_events_total is 1"),
            ("completed", 8000, {"kills_at": near, "labels": spelling},
             ("oom-counted", "container-limit", "child-killed", "medium"), "97 %", "is 1"),
            ("completed", 8000, {}, ("done", "not-oom", "completed", "medium"), "97 %", ""),
            ("completed", 8000, {"kills_at": early}, ("done", "not-oom", "completed", "medium"), "97 %", "is 1"),
            ("completed", 800, {"kills_at": near}, ("oom-counted-node", "node-oom", "child-killed", "low"), "9 %", "is 1"),
            ("completed", 8000, {"rss_mib": 100}, ("done", "not-oom", "completed", "medium"), "page cache", ""),
            ("exit-1-error", 8000, {"kills_at": near}, ("oom-counted", "container-limit", "child-killed", "low"), "97 %", "is 1"),
            ("exit-1-killed-worker", 32000, {"kills_at": near},
             ("oom-counted", "container-limit", "child-killed", "high"), "97 %", "is 1"),
            ("exit-1-killed-worker", 32000, {}, ("hidden-kill", "container-limit", "child-killed", "low"), "97 %", ""),
            ("exit-137-only", 4000, {}, ("peak-at-limit", "container-limit", None, "low"), "97 %", ""),
            ("exit-137-only", 3800, {}, ("exit-137", "unknown", None, "low"), "92 %", ""),
            ("oomkilled-main", 20, {}, ("oomkilled", "container-limit", None, "medium"), "31 % of the memory limit of 64", ""),
            ("oomkilled-main", 60, {}, ("oomkilled", "container-limit", None, "high"), "93 % of the memory limit of 64", ""),
        )
        for name, used_mib, more, want, peak, counted in rows:
            with self.subTest(name, **more):
                families = {}
                container(families, start, end, used_mib, **more)
                self.serve(self.case(name, start, end))
                answer = self.ask(self.config(self.prometheus(families).url))
                got = tuple(answer[key] for key in ("rule", "kind", "cause", "confidence"))
                self.assertEqual([a for a, b in zip(got, want) if b], [b for b in want if b], answer)
                self.assertIn(peak, self.evidence(answer, "peak"), answer)
                self.assertIn("rss at most", self.evidence(answer, "peak"))
                self.assertIn(counted, self.evidence(answer, "oom-counted"), answer)
                self.assertEqual(bool(counted), bool(self.evidence(answer, "oom-counted")), answer)
                self.assertIn("series of pod/train-0 container trainer", [one["source"] for one in answer["inputs"]])
                self.assertNotIn("Prometheus", "\n".join(answer["unseen"]))

    def test_errors_of_gpus(self):
        """The metric keeps the last error: one of an earlier pod is no reason."""
        start = shared - 5 * HOUR
        end = start + LENGTH
        # As under ServiceMonitors with honorLabels: false, where `pod` is the exporter's own.
        own = {"namespace": "monitoring", "pod": "dcgm-exporter-x", "container": "exporter", "exported_namespace": "ml",
               "exported_pod": "train-0", "exported_container": "trainer"}
        for before, after, rule in ((0, 79, "gpu-xid"), (31, 79, "gpu-xid"), (79, 79, "hidden-kill"), (0, 31, "hidden-kill")):
            with self.subTest(before=before, after=after):
                families = {}
                container(families, start, end, 32000)
                for gpu, late in (("0", before), ("1", after)):
                    add(families, "DCGM_FI_DEV_XID_ERRORS", {**own, "gpu": gpu, "UUID": f"GPU-{gpu}", "err_msg": "x"},
                        [(t, before if t < end - HOUR else late) for t in range(start, end, STEP)])
                self.serve(self.case("exit-1-killed-worker", start, end))
                answer = self.ask(self.config(self.prometheus(families).url))
                self.assertEqual(answer["rule"], rule, answer)
                text = "\n".join(one["text"] for one in answer["evidence"] if one["signal"] == "xid")
                self.assertEqual(f"of GPU GPU-1 became {after} between" in text, before != after, answer)
                self.assertNotIn("GPU-0", text)
                noted = [line for line in answer["unseen"] if "in Prometheus from the beginning" in line]
                self.assertEqual(len(noted), 2 if before else 0, answer["unseen"])

    def test_a_pod_that_runs(self):
        """Its process 1 waits for a child that is gone since two hours."""
        start = shared - 3 * HOUR
        families = {}
        container(families, start, shared, 8000, kills_at=start + HOUR)
        case = self.case("running", start, shared)
        self.serve(case)
        answer = self.ask(self.config(self.prometheus(families).url))
        self.assertEqual((answer["rule"], answer["kind"], answer["confidence"]), ("oom-counted", "container-limit", "medium"),
                         answer)

    def test_series_of_others(self):
        """Another pod of the name was killed at the same time: of a framework that gives names again."""
        start = shared - 5 * HOUR
        end = start + LENGTH
        families = {}
        container(families, start, end, 8000, kills_at=end - MINUTE, uid=OTHER_UID)
        self.serve(self.case("completed", start, end))
        config = self.config(self.prometheus(families).url)
        answer = self.ask(config)
        self.assertEqual((answer["rule"], self.evidence(answer, "peak")), ("done", ""), answer)
        self.assertIn("no memory series of cAdvisor for pod/train-0 container trainer", "\n".join(answer["unseen"]))

    def test_faults(self):
        """Whatever Prometheus does, the rest of the answer is the same, and says what was not seen."""
        start = shared - 5 * HOUR
        end = start + LENGTH
        families = {}
        container(families, start, end, 8000, kills_at=end - MINUTE)
        server = self.prometheus(families)
        self.serve(self.case("exit-1-killed-worker", start, end))
        expected = json.loads(self.triage("train-0", "-o", "json").stdout)
        refusal = json.dumps({"status": "error", "errorType": "execution", "error": "too many samples"}).encode()
        for name, spoil, words in (
                ("no right", lambda number, path, status, body: (403, b"no"), "403"),
                ("too heavy", lambda number, path, status, body: (422, refusal) if "/query" in path else (status, body),
                 "too many samples"),
                ("no JSON", lambda number, path, status, body: (200, b"<html>login</html>"), "not an answer of Prometheus"),
                ("no JSON of a query", lambda number, path, status, body: (200, b"[]") if "/query" in path else (status, body),
                 ""),
                ("cut off", lambda number, path, status, body: None, "")):
            with self.subTest(name):
                proxy = Proxy(server.port, spoil)
                self.addCleanup(proxy.stop)
                answer = self.ask(self.config(proxy.url))
                noted = [line for line in answer["unseen"] if line.startswith("Prometheus was not read: ")]
                self.assertEqual(len(noted), 1, answer["unseen"])
                self.assertIn(words, noted[0])
                self.assertIn("kills of their children, and errors of their GPUs are not known", noted[0])
                for key in ("rule", "kind", "confidence", "why", "levers"):
                    self.assertEqual(answer[key], expected[key])
        answer = self.ask(self.config(f"http://127.0.0.1:{harness.free_port()}"))
        self.assertIn("Prometheus was not read: ", "\n".join(answer["unseen"]))

    def test_silence(self):
        """A Prometheus that does not answer is waited for as long as one query may take."""
        start = shared - 5 * HOUR
        self.serve(self.case("completed", start, start + LENGTH))
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            answer = self.ask(self.config(url, timeout="1s"))
        self.assertEqual(answer["rule"], "done")
        self.assertIn("Prometheus was not read: ", "\n".join(answer["unseen"]))

    def test_wrong_configuration(self):
        self.serve({})
        done = self.triage("train-0", "--config", self.path("none.yaml"), status=2)
        self.assertIn("none.yaml", done.stderr)
        done = self.triage("--node", "node/node-a", status=2)
        self.assertIn("a node of Prometheus can be read with --config FILE", done.stderr)

    def test_the_cluster_of_the_configuration(self):
        self.serve(dict(test_triage_pods.cases())["completed"])
        config = self.config(f"http://127.0.0.1:{harness.free_port()}")
        with open(config, "a", encoding="utf-8") as file:
            file.write(f"kubernetes: {{kubeconfig: {self.environment['KUBECONFIG']}}}\n")
        self.environment["KUBECONFIG"] = self.path("none")
        self.assertEqual(self.ask(config)["rule"], "done")


def exporter(families, text, instance, nodename, name_label=None):
    """The series that node_exporter makes of a recorded node (tests/triage/node): of its /proc/meminfo, not of sysctl."""
    own = {"instance": instance, "job": "node-exporter"}
    times = range(shared - 10 * MINUTE, shared + 5 * MINUTE, STEP)
    extra = {name_label[0]: name_label[1]} if name_label else {}
    add(families, "node_uname_info", {**own, **extra, "nodename": nodename, "release": "6.8.0"}, [(t, 1) for t in times])
    for name, value, unit in re.findall(r"^(\w+):\s+(\d+)( kB)?$", text, re.MULTILINE):
        metric = f"node_memory_{name}_bytes" if unit else f"node_memory_{name}"
        add(families, metric, own, [(t, int(value) * (1024 if unit else 1)) for t in times])
    return own, times


class Node(Asked):
    def read(self, config, name=NODE, *args):
        done = harness.run("memtamer-recommender", "triage", "--config", config, "--node", f"node/{name}", *args, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def from_file(self, text):
        meminfo = "\n".join(line for line in text.splitlines() if re.match(r"\w+:\s+\d+", line))
        done = harness.run("memtamer-recommender", "triage", "--node", "-", "-o", "json", stdin=meminfo)
        return json.loads(done.stdout)["node"]

    def test_series_say_what_files_say(self):
        """The same findings, with the same texts and figures, as of the recorded /proc/meminfo."""
        for name, _, text in test_triage.nodes():
            with self.subTest(name):
                families = {}
                exporter(families, text, "10.0.0.7:9100", NODE)
                exporter(families, "MemTotal: 1 kB\nMemAvailable: 1 kB\n", "10.0.0.8:9100", "node-b.example.com")
                answer = self.read(self.config(self.prometheus(families).url))
                self.assertEqual(answer["node"], self.from_file(text))
                self.assertTrue(answer["node"])
                self.assertEqual(answer["inputs"][0]["source"], f"series of node/{NODE}")
                unseen = "\n".join(answer["unseen"])
                for words in ("overcommit setting was not given", "cgroup version was not given", "what the kubelet reserves"):
                    self.assertIn(words, unseen)

    def test_what_series_have_besides(self):
        families = {}
        own, times = exporter(families, "MemTotal: 4194304 kB\nCommitLimit: 2097152 kB\nCommitted_AS: 1048576 kB\n",
                              "10.0.0.7:9100", NODE)
        add(families, "node_vmstat_oom_kill", own, [(t, 3) for t in times])
        add(families, "node_pressure_memory_waiting_seconds_total", own, [(t, 0.25 * (t - times[0])) for t in times])
        add(families, "kube_node_info", {"node": NODE, "internal_ip": "10.0.0.7"}, [(t, 1) for t in times])
        config = self.config(self.prometheus(families).url)
        answer = self.read(config)
        self.assertEqual([one["name"] for one in answer["node"]], ["memory-pressure", "oom-kills", "committed"])
        texts = "\n".join(one["text"] for one in answer["node"])
        self.assertRegex(texts, "In 2[45] % of the last five minutes")
        self.assertIn("killed 3 tasks", texts)
        self.assertIn("only 1.00 GiB of 2.00 GiB may still be committed", texts)
        self.assertNotIn("without Kubernetes", "\n".join(answer["unseen"]))

    def test_settings_of_sysctl(self):
        """Where node_exporter's collector for them is on; a refused allocation is explained by them."""
        families = {}
        own, times = exporter(families, "MemTotal: 4194304 kB\nCommitLimit: 2097152 kB\nCommitted_AS: 2097000 kB\n",
                              "10.0.0.7:9100", NODE)
        for setting, value in (("overcommit_memory", 2), ("overcommit_ratio", 50), ("panic_on_oom", 1)):
            add(families, f"node_sysctl_vm_{setting}", own, [(t, value) for t in times])
        log = self.write("run.log", "step 3\nMemoryError\n")
        answer = self.read(self.config(self.prometheus(families).url), NODE, "--log", log)
        self.assertEqual([one["name"] for one in answer["node"]], ["panic-on-oom", "overcommit-strict"])
        self.assertEqual((answer["kind"], answer["cause"]), ("allocation-refused", "overcommit"))

    def test_names(self):
        """By nodename, a label that relabelling sets, or the instance; not by a part of a name."""
        families = {}
        exporter(families, "SwapTotal: 0 kB\n", "10.0.0.7:9100", "ip-10-0-0-7", ("node", NODE))
        exporter(families, "SwapTotal: 8 kB\n", "10.0.0.8:9100", "twin")
        exporter(families, "SwapTotal: 8 kB\n", "10.0.0.9:9100", "twin")
        config = self.config(self.prometheus(families).url)
        for name, want, words in ((NODE, ["no-swap"], ""), ("ip-10-0-0-7", ["no-swap"], ""), ("10.0.0.7", ["no-swap"], ""),
                                  ("10.0.0.8:9100", ["swap"], ""), ("node-a", [], "no series of node_exporter for node node-a"),
                                  ("node-axexample.com", [], "no series of node_exporter"),
                                  ("twin", [], "several nodes twin (instances 10.0.0.")):
            with self.subTest(name):
                answer = self.read(config, name)
                self.assertEqual([one["name"] for one in answer["node"]], want, answer)
                self.assertIn(words, "\n".join(answer["unseen"]))

    def test_faults_of_a_node(self):
        answer = self.read(self.config(f"http://127.0.0.1:{harness.free_port()}"))
        self.assertEqual((answer["kind"], answer["node"]), ("unknown", []))
        self.assertIn(f"Prometheus was not read for node {NODE}: ", answer["unseen"][0])


if __name__ == "__main__":
    unittest.main()
