# SPDX-License-Identifier: Apache-2.0
"""status against a real Prometheus: within one cycle of a new installation, in mode observe, before anything was changed;
and what it says when Prometheus, the cycle's record or a metric is not there."""
import json
import os
import tempfile
import time
import unittest

import harness
import real_prometheus
from real_prometheus import Prometheus
from test_recommender import RECOMMENDER, Place

shared = None


class Shared:
    def __init__(self):
        folder = tempfile.TemporaryDirectory(prefix="memtamer-status-")
        unittest.addModuleCleanup(folder.cleanup)
        self.folder = folder.name
        self.text = real_prometheus.demo_text(self.folder, time.time())
        self.prometheus = Prometheus(os.path.join(self.folder, "a"), self.text)
        unittest.addModuleCleanup(self.prometheus.stop)


def setUpModule():
    global shared
    if not real_prometheus.is_installed():
        raise unittest.SkipTest("Prometheus is not installed")
    shared = Shared()


class Status(unittest.TestCase):
    sample = True

    def place(self, url=None, mode="observe"):
        place = Place(url or shared.prometheus.url)
        self.addCleanup(place.remove)
        with open(place.config, "a", encoding="utf-8") as file:
            file.write(f"mode: {mode}\n")
        return place

    def status(self, place, *args, code=0, by=None):
        done = harness.run(RECOMMENDER, "status", *(by or ["--config", place.config]), "-o", "json", *args)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def test_one_cycle_is_enough(self):
        place = self.place()
        self.assertEqual(place.run().returncode, 0)
        before = place.content()
        status = self.status(place)
        self.assertEqual(status["lastCycle"]["result"], "done")
        self.assertEqual(status["lastCycle"]["mode"], "observe")
        self.assertEqual(status["lastCycle"]["runs"], 37)
        self.assertEqual(status["webhook"], "not-asked")
        self.assertEqual(status["metrics"]["source"], "prometheus")
        missing = {m["name"]: m["without"] for m in status["metrics"]["items"] if not m["isPresent"]}
        self.assertIn("evictions and preemptions", missing["kube_pod_status_reason"])
        self.assertEqual(status["coverage"]["matched"], 1.0)
        self.assertAlmostEqual(sum(r["podHours"] for r in status["coverage"]["byReason"].values()),
                               status["coverage"]["podHours"], places=2)
        self.check_replay(status["replay"])
        self.assertEqual({r["workload"] for r in status["riskiest"]},
                         {"Pod/graph-embed", "PyTorchJob/bert-finetune"})
        self.assertEqual(place.content(), before, "status changes nothing")
        done = harness.run(RECOMMENDER, "status", "--config", place.config)
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("Last cycle  done", "Webhook     not tested", "Coverage    100 % of", "would have set missing values in 5", "Riskiest",
                      "Pod/graph-embed", "22 of 42 not judged: fewer than 3 complete runs before them"):
            self.assertIn(words, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 120, done.stdout)

    def check_replay(self, replay):
        self.assertEqual(replay["runs"], 42)  # with the roles of PyTorchJob/bert-finetune by themselves
        self.assertEqual(replay["oomKills"], 2)  # vit-train at 512Mi and 768Mi
        self.assertEqual(replay["tooSmall"], 0)
        undecided = sum(replay["undecided"].values())
        self.assertGreater(replay["fill"], 0)
        self.assertGreater(replay["lower"], 0)
        self.assertGreater(undecided, 0)
        self.assertLessEqual(undecided + replay["unchanged"], replay["runs"])
        self.assertGreaterEqual(undecided + replay["unchanged"] + replay["fill"] + replay["raise"] + replay["lower"],
                                replay["runs"])

    def test_one_namespace(self):
        place = self.place()
        place.run()
        self.assertEqual(self.status(place, "-n", "nobody")["workloads"], 0)
        self.assertIsNone(self.status(place, "-n", "nobody")["coverage"]["matched"])
        self.assertEqual(self.status(place, "-n", "ml-team")["workloads"], 8)

    def test_a_store_alone(self):
        place = self.place()
        place.run()
        status = self.status(place, by=["--store", place.store])
        self.assertEqual(status["metrics"]["source"], "last-cycle")
        self.assertIn("--config", status["metrics"]["unknown"])
        self.assertEqual(len(status["metrics"]["items"]), 21)

    def test_no_cycle_yet(self):
        place = self.place()
        status = self.status(place, code=1)
        self.assertIsNone(status["lastCycle"])
        self.assertIn("profiles.json.status", status["lastCycleUnknown"])
        self.assertIsNone(status["webhook"])
        self.assertEqual(status["metrics"]["source"], "prometheus")

    def test_prometheus_is_away(self):
        place = self.place()
        place.run()
        port = harness.free_port()
        place.configure(f"http://127.0.0.1:{port}", timeout="2s")
        status = self.status(place)  # the last cycle was good
        self.assertEqual(status["metrics"]["source"], "last-cycle")
        self.assertIn(f"127.0.0.1:{port}", status["metrics"]["unknown"])
        self.assertEqual(status["replay"]["runs"], 42)
        self.assertEqual(place.run().returncode, 3)
        status = self.status(place, code=1)
        self.assertEqual(status["lastCycle"]["result"], "failed")
        self.assertNotEqual(status["lastCycle"]["why"], "")
        self.assertEqual(status["metrics"]["items"], [])

    def test_a_spoilt_record(self):
        place = self.place()
        place.run()
        for text in ("", "{", "[]", '{"apiVersion":"v1"}', "x" * 70000):
            with self.subTest(text[:20]):
                with open(place.store + ".status", "w", encoding="utf-8") as file:
                    file.write(text)
                status = self.status(place, code=1)
                self.assertIsNone(status["lastCycle"])
                self.assertIn("cannot be read", status["lastCycleUnknown"])

    def test_sizes_that_nobody_saw(self):
        lines = [line for line in self.lines() if "kube_pod_container_resource_" not in line]
        server = Prometheus(os.path.join(shared.folder, "bare"), "\n".join(lines) + "\n")
        self.addCleanup(server.stop)
        place = self.place(server.url)
        place.run()
        status = self.status(place)
        replay = status["replay"]
        self.assertEqual((replay["limitsKnown"], replay["requestsKnown"]), (False, False))
        self.assertEqual((replay["fill"], replay["raise"], replay["lower"]), (0, 0, 0))
        self.assertEqual([r for r in status["riskiest"] if r["risk"] == "no limit"], [])

    @staticmethod
    def lines():
        return shared.text.splitlines()


class Undone(unittest.TestCase):
    def test_the_next_cycles_keep_a_persons_word(self):
        place = Place(shared.prometheus.url)
        self.addCleanup(place.remove)
        place.run()
        before = place.profiles()
        done = harness.run(RECOMMENDER, "undo", "--config", place.config, "-n", "ml-team", "Job/vit-train")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("undo --release -n ml-team Job/vit-train", done.stdout)
        self.assertEqual(place.profiles(), before, "what was learned stays")
        place.run()
        self.assertEqual([p["spec"] for p in place.items("MemoryProfile") if p["spec"]], [{"modeCap": "observe"}])
        status = json.loads(harness.run(RECOMMENDER, "status", "--config", place.config, "-o", "json").stdout)
        self.assertEqual(status["replay"]["undecided"]["capped"], 5)

    def test_a_running_recommender_has_the_file(self):
        place = Place(shared.prometheus.url)
        self.addCleanup(place.remove)
        place.run()
        running = harness.Program(place.folder, RECOMMENDER, "run", "--config", place.config)
        self.addCleanup(running.stop)
        harness.wait_until(lambda: "cycle done" in running.log(), "a cycle")
        done = harness.run(RECOMMENDER, "undo", "--config", place.config, "Job/vit-train")
        self.assertEqual(done.returncode, 3)
        self.assertIn("another writer has the store", done.stderr)
        self.assertIn("Stop it, run `memtamer-recommender undo -n ml-team Job/vit-train`", done.stderr)
        running.stop()
        done = harness.run(RECOMMENDER, "undo", "--config", place.config, "Job/vit-train")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
