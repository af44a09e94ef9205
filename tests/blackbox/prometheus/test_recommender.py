# SPDX-License-Identifier: Apache-2.0
"""The recommender against a real Prometheus with recorded trainings: what it learns is compared with the recordings
themselves, undisturbed, killed, and with answers spoilt on their way."""
import collections
import csv
import json
import os
import re
import shutil
import signal
import tempfile
import time
import unittest

import harness
import real_prometheus
from real_prometheus import Prometheus, Proxy

RECOMMENDER = "memtamer-recommender"
MI = 1 << 20
UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)([KMG]i)?", text).groups()
    return int(number) * UNITS[unit or ""]


def recorded():
    """workload (with role) -> list of (outcome, limit, peak, rss peak, values) as recorded."""
    folder = os.path.join(real_prometheus.DEMO, "data")
    series = collections.defaultdict(list)
    with open(os.path.join(folder, "series.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            series[row["run"]].append(row)
    runs = collections.defaultdict(list)
    with open(os.path.join(folder, "runs.csv"), encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows = series[row["run"]]
            values = [int(r["working_set_bytes"]) for r in rows]
            runs[row["workload"]].append((row["outcome"], int(row["limit_bytes"]), max(values),
                                          max(int(r["rss_bytes"]) for r in rows), values))
    return runs


class Place:
    """A folder with a configuration and the store that the recommender writes."""

    def __init__(self, url, **prometheus):
        self.folder = tempfile.mkdtemp(prefix="memtamer-recommender-")
        self.store = os.path.join(self.folder, "profiles.json")
        self.config = os.path.join(self.folder, "config.yaml")
        self.configure(url, **prometheus)

    def configure(self, url, **prometheus):
        lines = ["apiVersion: config.memtamer.io/v1alpha1", "store: { kind: file, path: profiles.json }",
                 "recommender: { interval: 1s }", "prometheus:", f"  url: {url}"]
        lines += [f"  {key}: {value}" for key, value in prometheus.items()]
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def run(self, *arguments):
        return harness.run(RECOMMENDER, "run", "--config", self.config, *(arguments or ["--once"]))

    def items(self, kind):
        with open(self.store, encoding="utf-8") as file:
            items = [item for item in json.load(file)["items"] if item["kind"] == kind]
        return [harness.unpacked(item) for item in items] if kind == "MemoryHistory" else items

    def profiles(self):
        """(workload, role) -> status"""
        return {(p["status"]["workload"], p["status"].get("role", "")): p["status"]
                for p in self.items("MemoryProfile")}

    def learned(self):
        """All that was learned, without times of writing, revisions and the notes of when what was decided."""
        out = []
        for item in self.items("MemoryProfile") + self.items("MemoryHistory"):
            item = json.loads(json.dumps(item))
            item.get("status", {}).pop("updated", None)
            item.get("status", {}).pop("revision", None)
            item.get("status", {}).pop("previous", None)
            for condition in item.get("status", {}).get("conditions", []):
                condition.pop("lastTransitionTime")
            item["spec"].pop("decisions", None)
            out.append(json.dumps(item, sort_keys=True))
        return sorted(out)

    def content(self):
        with open(self.store, "rb") as file:
            return file.read()

    def remove(self):
        shutil.rmtree(self.folder)


shared = None  # what all tests read: a Prometheus with the recorded trainings, and what is learned from it


class Shared:
    def __init__(self):
        folder = tempfile.TemporaryDirectory(prefix="memtamer-prometheus-")
        unittest.addModuleCleanup(folder.cleanup)
        self.folder = folder.name
        self.now = time.time()
        self.text = real_prometheus.demo_text(self.folder, self.now)
        self.prometheus = Prometheus(os.path.join(self.folder, "a"), self.text)
        unittest.addModuleCleanup(self.prometheus.stop)
        self.place = Place(self.prometheus.url)
        unittest.addModuleCleanup(self.place.remove)
        self.done = self.place.run()


def setUpModule():
    global shared
    if not real_prometheus.is_installed():
        raise unittest.SkipTest("Prometheus is not installed")
    shared = Shared()


class OnPrometheus(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder, self.now, self.text = shared.folder, shared.now, shared.text
        self.prometheus, self.place, self.done = shared.prometheus, shared.place, shared.done

    def place_at(self, url, **prometheus):
        place = Place(url, **prometheus)
        self.addCleanup(place.remove)
        return place

    def proxy(self, spoil):
        proxy = Proxy(self.prometheus.port, spoil)
        self.addCleanup(proxy.stop)
        return proxy


class Learned(OnPrometheus):
    sample = True

    def test_runs_are_learned_as_recorded(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertIn("37 runs found", self.done.stdout)
        self.assertEqual(re.findall(r"(?m)^ml-team +(\S+) .* leak$", self.done.stdout), ["Pod/graph-embed"])
        runs, profiles = recorded(), self.place.profiles()
        expected = {("Job/resnet-train", ""): runs["resnet-train"], ("CronJob/clip-stream", ""): runs["clip-stream"],
                    ("PyTorchJob/bert-finetune", "master"): runs["bert-finetune"][0::2],
                    ("PyTorchJob/bert-finetune", "worker"): runs["bert-finetune"][1::2],
                    ("JobSet/llm-pretrain", "workers"): runs["llm-pretrain"],
                    ("Pod/graph-embed", ""): runs["graph-embed"], ("Job/feature-scan", ""): runs["feature-scan"],
                    ("Job/vit-train", ""): runs["vit-train"]}
        self.assertEqual(set(profiles), set(expected))
        for key, tries in expected.items():
            with self.subTest(key):
                self.check_profile(key, tries, profiles[key]["recommendation"])

    def check_profile(self, key, tries, recommendation):
        whole = [t for t in tries if t[0] == "completed"]
        peak = max(t[2] for t in whole)
        if key[0] == "Job/feature-scan":
            peak = max(t[3] for t in whole)  # the rest is page cache
            self.assertIn("cache-bound", recommendation["flags"])
        self.assertEqual(bytes_of(recommendation["peak"]), peak)
        self.assertEqual(recommendation["wholeRuns"], len(whole))
        self.assertGreater(bytes_of(recommendation["limit"]), peak)
        if key[0] == "Job/vit-train":
            self.assertEqual(recommendation["oomKills"], 2)
            self.assertEqual(bytes_of(recommendation["proven"]), max(t[1] for t in tries if t[0] == "oom-killed"))
        elif key[0] != "Job/feature-scan":
            self.assertNotIn("oomKills", recommendation)

    def test_medians_of_runs_are_exact(self):
        history = next(h["spec"] for h in self.place.items("MemoryHistory")
                       if h["spec"]["workload"] == "Job/resnet-train")
        for run, (_, _, peak, _, values) in zip(history["runs"], recorded()["resnet-train"]):
            values, middle = sorted(values), (len(values) - 1) / 2
            low, share = int(middle), middle - int(middle)
            median = values[low] if not share else values[low] * (1 - share) + values[low + 1] * share
            self.assertEqual(bytes_of(run["peak"]), peak)
            # Exact within a UTC day; a recording moved over midnight is merged, to 1 %.
            self.assertAlmostEqual(bytes_of(run["median"]), median, delta=1 if run.get("exact") else 0.02 * median)

    def test_a_leak_is_told_from_plateaus_by_its_curves(self):
        flags = {key: status["recommendation"].get("flags", []) for key, status in self.place.profiles().items()}
        self.assertEqual([key for key in flags if "leak" in flags[key]], [("Pod/graph-embed", "")])
        runs, checked = recorded(), 0
        for history in self.place.items("MemoryHistory"):
            for run in history["spec"]["runs"]:
                self.assertEqual("curveMax" in run, run["outcome"] == "completed", (history["spec"]["workload"], run))
            if history["spec"]["workload"] not in ("Pod/graph-embed", "Job/resnet-train"):
                continue
            for run, (_, _, peak, _, values) in zip(history["spec"]["runs"], runs[history["spec"]["workload"].split("/")[1]]):
                self.check_curve(run["curveMax"], run["curveMean"], peak, values)
                checked += 1
        self.assertEqual(checked, 4 + 6)
        explain = harness.run(RECOMMENDER, "explain", "--config", self.place.config, "-n", "ml-team", "Pod/graph-embed").stdout
        self.assertIn("memory grows steadily until the run ends: possible leak", explain)
        growth = re.search(r"  growth +([\u2581-\u2588]{8}) from (\d+) % to (\d+) % of its peak "
                           r"\(graph-embed-\S+, without page cache\)", explain)
        parts = list(growth[1])
        self.assertTrue(parts == sorted(parts) and int(growth[2]) < 50 and int(growth[3]) > 90, growth[0])
        self.assertTrue(parts[0] < "\u2585" and parts[-1] == "\u2588", growth[0])

    def check_curve(self, greatest, mean, peak, values):
        """Against the recorded samples of about the same time."""
        n = len(greatest)
        self.assertEqual((n > 16, len(mean), max(greatest)), (True, n, 1000))
        for i, (top, middle) in enumerate(zip(greatest, mean)):
            around = values[max(0, i * len(values) // n - 2):(i + 1) * len(values) // n + 2]
            self.assertLessEqual(middle, top)
            self.assertGreaterEqual(top * peak / 1000, min(around) * 0.99)
            self.assertLessEqual(top * peak / 1000, max(around) * 1.01)

    def test_a_second_run_asks_only_for_the_open_day_and_changes_nothing(self):
        place = self.place_at(self.prometheus.url)
        place.run()
        before = place.content()
        done = place.run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^(1 run|[02-9] runs) found in 1 of 1 day \(")
        self.assertIn("0 profile changes written; 8 profiles known", done.stdout)
        self.assertEqual(place.content(), before)

    def test_explain_and_report_know_it(self):
        explain = harness.run(RECOMMENDER, "explain", "--config", self.place.config, "-n", "ml-team", "Job/vit-train")
        self.assertEqual(explain.returncode, 0, explain.stderr)
        self.assertIn("OOM-killed at 768Mi", explain.stdout)
        report = harness.run(RECOMMENDER, "report", "--config", self.place.config, "-o", "json")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertEqual(json.loads(report.stdout)["summary"]["workloads"], 8)

    def test_a_new_image_is_not_lowered(self):
        """What metrics call an image and what a manifest calls it are one thing on both sides."""
        enforce = os.path.join(self.place.folder, "enforce.yaml")
        with open(self.place.config, encoding="utf-8") as known, open(enforce, "w", encoding="utf-8") as file:
            file.write(known.read() + "mode: enforce\n")
        path = os.path.join(self.place.folder, "job.yaml")
        with open(os.path.join(real_prometheus.DEMO, "manifests/job-far-too-large.yaml"), encoding="utf-8") as file:
            manifest = file.read()
        for tag, outcome in (("1.4", r"will be 1536Mi \(25 % below last run's 2Gi\)"), ("1.5", "not lowered: new image, args or pod count")):
            with self.subTest(tag):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(manifest.replace("resnet-train:1.4", f"resnet-train:{tag}"))
                said = harness.run("memtamer-webhook", "review", "--config", enforce, path).stdout
                self.assertRegex(said, outcome)

    def test_nodes_become_shapes(self):
        shapes = self.place.items("NodeShape")
        self.assertEqual([(s["spec"]["resource"], s["spec"]["accelerators"]) for s in shapes], [("nvidia.com/gpu", 8)])


class ToldOtherwise(OnPrometheus):
    """The same history, told otherwise."""

    def learned_from(self, name, text, *flags, **prometheus):
        server = Prometheus(os.path.join(self.folder, name), text, *flags)
        self.addCleanup(server.stop)
        place = self.place_at(server.url, **prometheus)
        done = place.run()
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return place

    def test_exported_labels_are_found(self):
        place = self.learned_from("exported", real_prometheus.rename_labels(self.text))
        self.assertEqual(place.learned(), self.place.learned())

    def test_pairs_of_servers_count_once(self):
        place = self.learned_from("pair", real_prometheus.add_replica(self.text))
        self.assertEqual(place.learned(), self.place.learned())

    def test_older_kube_state_metrics(self):
        place = self.learned_from("old", real_prometheus.demo_text(self.folder, self.now, "--old-ksm"))
        self.assertEqual(place.learned(), self.place.learned())

    def test_queries_that_are_too_heavy_are_split(self):
        place = self.learned_from("small", self.text, "--query.max-samples=2500")
        for key, status in self.place.profiles().items():
            found = place.profiles()[key]["recommendation"]
            for figure in ("peak", "limit", "runs", "wholeRuns"):
                self.assertEqual(found[figure], status["recommendation"][figure], (key, figure))

    def test_refusals_of_gateways_and_stores_are_split(self):
        """Other engines than Prometheus refuse by other statuses; what they refuse is asked for in parts all the same."""
        too_large = b'{"status":"error","error":"grpc: received message larger than max (5000000 vs. 4194304)"}'
        damaged = b'{"status":"error","errorType":"internal","error":"expanding series: checksum mismatch"}'
        sizes = []

        def measure(_number, path, known, body):
            sizes.append(len(body) if "/query" in path else 0)
            return known, body
        self.place_at(self.proxy(measure).url).run()
        for status, words in ((504, b"<html>504 Gateway Time-out</html>"), (500, too_large), (500, damaged)):
            with self.subTest(status=status, words=words):
                refused = []

                def spoil(_number, path, known, body, refused=refused, answer=(status, words)):
                    if "/query" not in path or len(body) <= max(sizes) * 2 // 3:
                        return known, body
                    refused.append(path)
                    return answer
                place = self.place_at(self.proxy(spoil).url)
                done = place.run()
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertTrue(refused)
                self.assertEqual(place.profiles().keys(), self.place.profiles().keys())

    def test_a_window_that_cannot_be_read_is_passed_over(self):
        """As when a block is damaged: a query fails if its range touches ten minutes of one day."""
        bad = self.now - 3 * 86400
        bad -= bad % 86400 - 43200
        damaged = b'{"status":"error","errorType":"internal","error":"expanding series: checksum mismatch"}'

        def spoil(form, known, body):
            window = re.search(r"\[(\d+)ms\]", form.get("query", ""))
            if not window or "kube_node" in form["query"]:
                return known, body
            length = int(window[1]) / 1000
            end = float(form.get("time", form.get("end", 0)))
            start = float(form.get("start", end)) - length
            return (500, damaged) if start < bad + 600 and end > bad else (known, body)
        proxy = self.proxy(None)
        proxy.spoil_form = spoil
        place = self.place_at(proxy.url)
        for _ in range(2):
            done = place.run()
            self.assertEqual(done.returncode, 1, done.stderr + done.stdout)
            self.assertIn("checksum mismatch", done.stderr)
        done = place.run()
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertEqual(place.profiles().keys(), self.place.profiles().keys())
        self.assertEqual(done.stderr.count("learning continues without it"), 1)
        done = place.run()
        self.assertEqual((done.returncode, "learning continues" in done.stderr), (0, False), done.stderr)
        status = harness.run(RECOMMENDER, "status", "--config", place.config)
        self.assertRegex(status.stdout, r"Not read: \S+Z to \S+Z, .*checksum mismatch")
        gaps = json.loads(harness.run(RECOMMENDER, "status", "--config", place.config, "-o", "json").stdout)["lastCycle"]["gaps"]
        self.assertTrue(gaps and all("checksum" in gap["why"] for gap in gaps), gaps)

    def test_only_namespaces_with_training_pods_are_asked_for_use(self):
        """Most containers of a cluster do not train; what is asked of them is who owns them."""
        start = int(self.now) - 86400 - int(self.now) % 86400 + 3600
        server = [f'kube_pod_owner{{namespace="web",pod="shop-1",uid="11111111-0000-4000-8000-000000000000",'
                  f'owner_kind="ReplicaSet",owner_name="shop",owner_is_controller="true"}} 1 {start + 600 * i}' for i in range(6)]
        head = "# TYPE kube_pod_owner gauge\n"
        text = real_prometheus.many_pods(3, start).replace(head, head + "\n".join(server) + "\n")
        prometheus = Prometheus(os.path.join(self.folder, "web"), text)
        self.addCleanup(prometheus.stop)
        proxy, asked = Proxy(prometheus.port), []
        self.addCleanup(proxy.stop)
        proxy.spoil_form = lambda form, status, body: asked.append(form.get("query", "")) or (status, body)
        place = self.place_at(proxy.url)
        self.assertEqual(place.run().returncode, 0)
        self.assertEqual(len(place.profiles()), 3)
        use = [query for query in asked if "(container_memory" in query and "pod=~" not in query]
        self.assertTrue(use)
        for query in use:
            self.assertIn('namespace=~"team-', query)
            self.assertNotIn("web", query)

    def test_only_the_configured_namespaces_are_read(self):
        start = int(self.now) - 86400 - int(self.now) % 86400 + 3600
        prometheus = Prometheus(os.path.join(self.folder, "some"), real_prometheus.many_pods(5, start))
        self.addCleanup(prometheus.stop)
        place = self.place_at(prometheus.url)
        with open(place.config, encoding="utf-8") as file:
            text = file.read().replace("interval: 1s", "interval: 1s, namespaces: [team-1, team-3]")
        with open(place.config, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(place.run().returncode, 0)
        self.assertEqual({item["metadata"]["namespace"] for item in place.items("MemoryProfile")}, {"team-1", "team-3"})

    def test_ten_thousand_pods(self):
        start = int(self.now) - 86400 - int(self.now) % 86400 + 3600
        place = self.learned_from("many", real_prometheus.many_pods(10000, start))
        self.assertEqual(len(place.profiles()), 100)
        # Jobs 99, 199, ... 9999: the greatest is the last one.
        status = place.profiles()[("Job/train-job99", "")]
        self.assertEqual(bytes_of(status["recommendation"]["peak"]), 100 * MI + 9999 * 1024)
        self.assertEqual(status["recommendation"]["runs"], 100)


class Killed(OnPrometheus):
    def test_kill_at_any_request_loses_and_repeats_nothing(self):
        proxy = self.proxy(None)
        self.place_at(proxy.url).run()
        total = proxy.number
        for number in sorted({1, 3, total // 4, total // 2, total * 3 // 4, total - 1, total}):
            with self.subTest(request=number):
                self.kill_at(number)

    def kill_at(self, number):
        program = []

        def spoil(count, _path, status, body):
            if count == number:
                program[0].kill()
            return status, body

        proxy = self.proxy(None)
        place = self.place_at(proxy.url)
        # The program must be known before its first request is answered.
        proxy.spoil = lambda *arguments: (harness.wait_until(lambda: program, "the program"), spoil(*arguments))[1]
        program.append(harness.Program(place.folder, RECOMMENDER, "run", "--once", "--config", place.config, wrap=False))
        self.assertEqual(program[0].wait(), -signal.SIGKILL)
        place.configure(self.prometheus.url)
        done = place.run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(place.learned(), self.place.learned())

    def test_kill_between_profiles_and_watermark(self):
        place = self.place_at(self.prometheus.url)
        # The state cannot be written: a folder that is not empty is in its place.
        os.makedirs(place.store + ".state/x")
        done = place.run()
        self.assertEqual(done.returncode, 3, done.stdout)
        before = place.content() if os.path.exists(place.store) else None
        shutil.rmtree(place.store + ".state")
        done = place.run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(place.learned(), self.place.learned())
        if before:
            self.assertEqual(place.content(), before)

    def test_stops_on_sigterm(self):
        place = self.place_at(self.prometheus.url)
        program = harness.Program(place.folder, RECOMMENDER, "run", "--config", place.config)
        program.wait_log(r'msg="cycle done"', count=2)
        program.stop()
        self.assertEqual(place.learned(), self.place.learned())


class Spoilt(OnPrometheus):
    def spoilt(self, spoil, code, text):
        """A store that knows everything, and a cycle with spoilt answers: its code, its words, the profiles' fate."""
        proxy = self.proxy(spoil)
        place = self.place_at(self.prometheus.url)
        place.run()
        before = place.content()
        os.unlink(place.store + ".state")  # all days are read again
        place.configure(proxy.url)
        done = place.run()
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        self.assertRegex(done.stderr, text)
        self.assertEqual(place.content(), before)

    @staticmethod
    def on_queries(change):
        return lambda number, path, status, body: change(status, body) if "/query" in path else (status, body)

    def test_truncated(self):
        self.spoilt(self.on_queries(lambda status, body: (status, body[:-2])), 3, "JSON text ends early at byte")

    def test_html(self):
        self.spoilt(self.on_queries(lambda status, body: (status, b"<html>Bad gateway</html>")), 3, "not a JSON object at byte 0")

    def test_html_from_the_first_request(self):
        self.spoilt(lambda *_: (200, b"<html>Log in</html>"), 3, "not an answer of Prometheus.*<html>Log in")

    def test_status_error(self):
        error = b'{"status":"error","errorType":"internal","error":"disk is gone"}'
        self.spoilt(self.on_queries(lambda status, body: (500, error)), 3, "internal: disk is gone")

    def test_status_error_with_200(self):
        error = b'{"status":"error","errorType":"internal","error":"disk is gone"}'
        self.spoilt(self.on_queries(lambda status, body: (200, error)), 3, "internal: disk is gone")

    def test_not_authorised(self):
        self.spoilt(lambda *_: (401, b"who are you?"), 3, "401")

    def test_dies_in_mid_stream(self):
        self.spoilt(self.on_queries(lambda status, body: None), 3, ".")

    def test_half_an_answer_is_not_added(self):
        """Counts add up as they are read: what came before the connection broke must not come once more."""
        broken = []

        def spoil(_number, path, status, body):
            if broken or "query_range" not in path or body.count(b"metric") < 4:
                return status, body
            broken.append(path)
            return None
        place = self.place_at(self.proxy(spoil).url)
        place.run()
        self.assertTrue(broken)
        done = place.run()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(place.learned(), self.place.learned())

    def test_warnings_mean_partial_data(self):
        def warn(status, body):
            return status, body.replace(b'"data"', b'"warnings":["store 7 did not answer"],"data"', 1)
        self.spoilt(self.on_queries(warn), 1, "store 7 did not answer")

    def test_values_that_are_no_numbers(self):
        def nan(status, body):
            return status, re.sub(rb',"[0-9.e+]+"\]', b',"NaN"]', body) if marker in body else body
        for marker in (b'"id":', b'"uid":', b""):  # memory alone, what kube-state-metrics says alone, everything
            with self.subTest(marker):
                self.spoilt(self.on_queries(nan), 0, "metrics found in Prometheus")

    def test_unreachable(self):
        self.spoilt(lambda *_: None, 3, ".")
        place = self.place_at(f"http://127.0.0.1:{harness.free_port()}")
        done = place.run()
        self.assertEqual(done.returncode, 3)
        self.assertFalse(os.path.exists(place.store))

    def test_cycles_that_fail_come_less_often(self):
        """Prometheus refuses everything: the time to the next cycle grows, until an answer comes."""
        proxy = self.proxy(lambda *_: (503, b"overloaded"))
        place = self.place_at(proxy.url, timeout="2s")
        program = harness.Program(place.folder, RECOMMENDER, "run", "--config", place.config)
        self.addCleanup(program.kill)
        program.wait_log(r'msg="cycle failed', count=3)
        harness.wait_until(lambda: self.retry_after_ms(place) >= 4000, "a longer interval in the status")
        status = harness.run(RECOMMENDER, "status", "--config", place.config)
        self.assertRegex(status.stdout, r"Prometheus failed in several cycles: the next one begins \d+s after the last one")
        proxy.spoil = None
        program.wait_log(r'msg="cycle done"')
        harness.wait_until(lambda: self.retry_after_ms(place) == 0, "the interval as configured")
        program.stop()

    @staticmethod
    def retry_after_ms(place):
        if not os.path.exists(place.store + ".status"):
            return -1
        with open(place.store + ".status", encoding="utf-8") as file:
            return json.load(file)["retryAfterMs"]

    def test_an_empty_prometheus(self):
        server = Prometheus(os.path.join(self.folder, "empty"), "# TYPE up gauge\nup 1 1700000000\n# EOF\n")
        self.addCleanup(server.stop)
        done = self.place_at(server.url).run()
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no kube_pod_owner", done.stderr)

    def test_an_unwritable_store(self):
        place = self.place_at(self.prometheus.url)
        with open(place.config, encoding="utf-8") as file:
            text = file.read().replace("profiles.json", "/proc/memtamer/profiles.json")
        with open(place.config, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(place.run().returncode, 3)

    def test_a_bad_configuration(self):
        place = self.place_at(self.prometheus.url, colour="blue")
        done = place.run()
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"config.yaml:\d+:\d+: ")


if __name__ == "__main__":
    unittest.main()
