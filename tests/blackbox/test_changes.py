# SPDX-License-Identifier: Apache-2.0
"""history and undo on a store that is a file: what was changed, a workload's own values back, and back again."""
import csv
import io
import json
import subprocess

import yaml
from harness import Case, profile, run, store
from test_commands import CONFIG, JOB

PROGRAMS = ("memtamer-recommender", "kubectl-memtamer")


def called(name):
    """How a program names itself: as kubectl calls it, if it is a plugin."""
    return name.replace("kubectl-", "kubectl ")


def decision(time, owner, **extra):
    return {"time": time, "owner": owner, "pod": owner.split("/")[1] + "-0-x4k2p", "pods": 8, "mode": "raise",
            "revision": 7, "limitFrom": "10Gi", "limitTo": "12Gi", "requestTo": "8Gi", "rule": "oom", **extra}


def history(name, workload, *decisions, namespace="ml", role="", container="pytorch"):
    return {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryHistory",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"workload": workload, "role": role, "container": container, "aliases": [workload],
                     "decisions": list(decisions)}}


class Changes(Case):
    sample = True

    def setUp(self):
        super().setUp()
        first = decision("2026-11-02T08:00:00Z", "Job/a-1", cap="LimitRange team allows at most 12Gi")
        note = decision("2026-11-02T07:00:00Z", "Job/x")
        del note["owner"], note["pod"]
        self.write("profiles.json", json.dumps(store(
            profile("a-0123456789", "Job/a"), profile("a-1123456789", "Job/a", namespace="other"),
            profile("b-0123456789", "PyTorchJob/b", role="master"),
            profile("b-1123456789", "PyTorchJob/b", role="worker"),
            profile("c-0123456789", "Job/c"), profile("c-1123456789", "PyTorchJob/c"),
            history("a-0123456789", "Job/a", note, first, decision("2026-11-02T10:00:00Z", "Job/a-2", pods=1)),
            history("a-1123456789", "Job/a", decision("2026-11-02T09:00:00Z", "Job/a-1"), namespace="other"),
            history("c-0123456789", "Job/c"))))
        self.store = self.path("profiles.json")

    def call(self, *args, code=0, name=PROGRAMS[0]):
        done = run(name, args[0], "--store", self.store, *args[1:])
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def specs(self):
        with open(self.store, encoding="utf-8") as file:
            items = json.load(file)["items"]
        return {item["metadata"]["name"]: item["spec"] for item in items if item["kind"] == "MemoryProfile"}

    def capped(self):
        return sorted(name for name, spec in self.specs().items() if spec)

    # history

    def test_history_lists_what_was_changed(self):
        for name in PROGRAMS:
            changes = json.loads(self.call("history", "-o", "json", name=name).stdout)["changes"]
            self.assertEqual([(c["namespace"], c["owner"]) for c in changes],
                             [("ml", "Job/a-1"), ("other", "Job/a-1"), ("ml", "Job/a-2")])
            first = changes[0]
            self.assertEqual((first["limitFrom"], first["limitTo"]), (10 << 30, 12 << 30))
            self.assertEqual((first["requestFrom"], first["requestTo"]), (None, 8 << 30))
            self.assertEqual((first["pods"], first["rule"], first["mode"], first["revision"], first["cap"]),
                             (8, "oom", "raise", 7, "LimitRange team allows at most 12Gi"))
            self.assertIsNone(first["ephemeralLimitTo"])
        table, wide = (self.call("history", "-n", "ml", "Job/a", "-o", form).stdout for form in ("table", "wide"))
        for words in ("none -> 8Gi", "10Gi -> 12Gi", "Job/a-2"):
            self.assertIn(words, table)
            self.assertIn(words, wide)
        self.assertIn("LimitRange team allows at most 12Gi", wide)
        self.assertNotIn("other", table)

    def test_history_lists_what_runs_used(self):
        def ended(name, start, **more):
            return {"uid": name, "name": name, "start": start, "duration": "6h", "attempts": 1, "ranks": 2, "world": 2,
                    "request": "32Gi", "limit": "64Gi", "peak": "40Gi", "median": "30Gi", "whole": True, "samples": 60,
                    "source": "query", "outcome": "completed", **more}
        used = history("r-0123456789", "Job/r")
        used["spec"]["runs"] = [ended("r-1", "2026-11-01T08:00:00Z"),
                                ended("r-2", "2026-11-02T08:00:00Z", outcome="oom-killed", whole=False),
                                ended("r-3", "2026-11-03T08:00:00Z", outcome="running", whole=False)]
        self.write("profiles.json", json.dumps(store(profile("r-0123456789", "Job/r"), used)))
        for name in PROGRAMS:
            runs = json.loads(self.call("history", "-o", "json", name=name).stdout)["runs"]
            self.assertEqual([(run["run"], run["ended"], run["outcome"]) for run in runs],
                             [("r-1", "2026-11-01T14:00:00Z", "completed"), ("r-2", "2026-11-02T14:00:00Z", "oom-killed")])
            self.assertEqual([(run["asked"], run["used"], run["unusedGibHours"]) for run in runs],
                             [(64 << 30, 40 << 30, 288)] * 2)
            self.assertIsNone(runs[0]["next"])
            self.assertGreater(runs[1]["next"], 0)
        table, wide = (self.call("history", "-n", "ml", "Job/r", "-o", form).stdout for form in ("table", "wide"))
        for words in ("No changes recorded", "r-2", "oom-killed"):
            self.assertIn(words, table)
            self.assertIn(words, wide)
        for words in ("UNUSED GIB-HOURS", "288.0"):
            self.assertIn(words, wide)
        self.assertRegex(self.call("explain", "Job/r").stdout, r"(?s)  runs \(~: approximate; all columns: -o wide\)\n.* ~30Gi ")
        self.assertNotIn("r-3", table)

    def test_the_runs_of_explain_fit_a_terminal(self):
        """The longest name and outcome are shortened; -o wide has both, and the columns that are left out."""
        name = "a-team-that-likes-long-names-" + 4 * "and-longer-" + "x7k2p"
        run_of = {"uid": "r", "name": name, "outcome": "oom-killed", "start": "2026-11-02T08:00:00Z", "harm": ["oom"],
                  "duration": "10h59m59s", "attempts": 3, "ranks": 128, "request": "1280Mi", "limit": "1600Mi", "peak": "1270Mi",
                  "rss": "1111Mi", "median": "1011Mi", "samples": 60, "activity": 613, "source": "query"}
        told = history("b-0123456789", "PyTorchJob/b", namespace="research")
        told["spec"]["runs"] = [run_of]
        self.write("profiles.json", json.dumps(store(profile("b-0123456789", "PyTorchJob/b", namespace="research"), told)))
        narrow, wide = (self.call("explain", "PyTorchJob/b", "-o", form).stdout for form in ("text", "wide"))
        (row,) = [line for line in narrow.splitlines() if "x7k2p" in line]
        self.assertRegex(row, r" a-team.*\.\.\..*x7k2p +10h59m59s +128, 3 attempts +1280Mi +1600Mi +~?1011Mi +1270Mi +oom-.*\.\.\..*oom$")
        self.assertLessEqual(len(row), 120)
        self.assertIn("  runs (~: approximate; all columns: -o wide)\n", narrow)
        for words in (name, "1111Mi", "61.3 %"):
            self.assertNotIn(words, narrow)
            self.assertIn(words, wide)
        self.assertNotIn("-o wide", wide)

    def test_history_fits_a_terminal(self):
        run_of = {"uid": "r", "name": "bert-large-finetune-20261102", "outcome": "failed", "start": "2026-11-02T08:00:00Z",
                  "duration": "10h59m59s", "attempts": 1, "ranks": 8, "request": "1280Mi", "limit": "1600Mi", "peak": "1270Mi",
                  "samples": 60, "source": "query"}
        one = profile("b-0123456789", "PyTorchJob/bert-large-finetune", namespace="research", role="worker", limit="1536Mi")
        one["status"]["diagnosis"] = {"kind": "fragmentation", "confidence": "high", "time": "2026-11-02T14:00:00Z",
                                      "run": run_of["name"], "evidence": "CUDA out of memory."}
        change = decision("2026-11-02T08:00:00Z", "PyTorchJob/bert-large-finetune", rule="peak+buffer", requestFrom="1280Mi",
                          requestTo="1600Mi", limitFrom="1280Mi", limitTo="1600Mi", ephemeralRequestTo="100Gi",
                          ephemeralLimitTo="120Gi", cap="LimitRange team-of-research allows at most 1600Mi")
        told = history("b-0123456789", "PyTorchJob/bert-large-finetune", change, namespace="research", role="worker")
        told["spec"]["runs"] = [run_of]
        self.write("profiles.json", json.dumps(store(one, told)))
        narrow, wide = self.call("history").stdout, self.call("history", "-o", "wide").stdout
        self.assertLessEqual(max(map(len, narrow.splitlines())), 120, narrow)
        for words in ("PyTorchJob/bert-large-finetune", "1280Mi -> 1600Mi", "peak+buffer", run_of["name"], "1270Mi",
                      "failed (fragmentation)", "1536Mi"):
            self.assertIn(words, narrow)
        for words in (change["cap"], "100Gi", "120Gi", "10h59m59s"):
            self.assertIn(words, wide)
        self.assertTrue(set(narrow.split()) - {"All", "columns:", "-o", "wide."} <= set(wide.split()), narrow + wide)
        (line,) = [line for line in self.call("explain", "PyTorchJob/bert-large-finetune").stdout.splitlines()
                   if "peak+buffer" in line]
        self.assertLessEqual(len(line), 120)
        self.assertIn("LimitRange team-of-research", self.call("explain", "PyTorchJob/bert-large-finetune", "-o", "wide").stdout)
        # containers are shown where they tell rows apart
        self.assertNotIn("pytorch", narrow)
        other = profile("c-0123456789", "PyTorchJob/bert-large-finetune", namespace="research", role="worker",
                        container="loader")
        self.write("profiles.json", json.dumps(store(one, told, other)))
        self.assertEqual(self.call("history").stdout.count(" pytorch "), 2)

    def test_why_the_last_failed_run_failed(self):
        failed = profile("r-0123456789", "Job/r")
        failed["status"]["diagnosis"] = {
            "kind": "fragmentation", "cause": "growth", "confidence": "high", "time": "2026-11-02T14:00:00Z", "run": "r-2",
            "evidence": "CUDA out of memory.", "allocatorVariable": "PYTORCH_CUDA_ALLOC_CONF", "helped": "no",
            "epoch": 3, "step": 1240, "steps": 5000}
        used = history("r-0123456789", "Job/r")
        used["spec"]["runs"] = [{"uid": name, "name": name, "start": start, "duration": "6h", "attempts": 1, "ranks": 1,
                                 "world": 1, "limit": "64Gi", "peak": "40Gi", "samples": 60, "source": "query",
                                 "outcome": "failed"}
                                for name, start in (("r-1", "2026-11-01T08:00:00Z"), ("r-2", "2026-11-02T08:00:00Z"))]
        self.write("profiles.json", json.dumps(store(failed, profile("s-0123456789", "Job/s"), used)))
        for name in PROGRAMS:
            text = self.call("explain", "-n", "ml", "Job/r", name=name).stdout
            self.assertIn("diagnosis   fragmentation: growth, confidence high: run r-2, 2026-11-02T14:00:00Z, epoch 3, step 1240 "
                          "of 5000\n", text)
            self.assertIn("              CUDA out of memory.\n", text)
            self.assertIn("allocator   PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True did not help\n", text)
            (told,) = json.loads(self.call("explain", "-n", "ml", "-o", "json", "Job/r", name=name).stdout)["workloads"]
            self.assertEqual(told["profile"]["diagnosis"], {**failed["status"]["diagnosis"], "since": None, "sinceRun": None})
            runs = json.loads(self.call("history", "-o", "json", name=name).stdout)["runs"]
            self.assertEqual([run["diagnosis"] for run in runs], [None, "fragmentation"])
        table = self.call("history", "-n", "ml", "Job/r").stdout
        self.assertEqual(table.count("failed (fragmentation)"), 1)
        self.assertNotIn("diagnosis", self.call("explain", "-n", "ml", "Job/s").stdout)
        (told,) = json.loads(self.call("explain", "-n", "ml", "-o", "json", "Job/s").stdout)["workloads"]
        self.assertIsNone(told["profile"]["diagnosis"])

    def test_whether_a_fix_held(self):
        """Of the end at a limit: a later complete run with room says that it held."""
        for kind, peak, text, since in (
                ("container-limit", "40Gi", "held since run r-2 of 2026-11-02T08:00:00Z", "held"),
                ("container-limit", "60Gi", "completed since: run r-2 of 2026-11-02T08:00:00Z", "completed"),
                ("true-oom", "40Gi", "completed since: run r-2 of 2026-11-02T08:00:00Z", "completed")):
            ended = profile("r-0123456789", "Job/r")
            ended["status"]["diagnosis"] = {"kind": kind, "confidence": "high", "time": "2026-11-01T14:00:00Z", "run": "r-1"}
            used = history("r-0123456789", "Job/r")
            used["spec"]["runs"] = [{"uid": name, "name": name, "start": start, "duration": "6h", "attempts": 1, "ranks": 1,
                                     "world": 1, "limit": "64Gi", "peak": used_most, "samples": 60, "source": "query",
                                     "outcome": outcome, "whole": outcome == "completed"}
                                    for name, start, used_most, outcome in (
                                        ("r-1", "2026-11-01T08:00:00Z", "63Gi", "failed"),
                                        ("r-2", "2026-11-02T08:00:00Z", peak, "completed"))]
            self.write("profiles.json", json.dumps(store(ended, used)))
            with self.subTest(text):
                self.assertIn(f"              {text}\n", self.call("explain", "-n", "ml", "Job/r").stdout)
                (told,) = json.loads(self.call("explain", "-n", "ml", "-o", "json", "Job/r").stdout)["workloads"]
                self.assertEqual([told["profile"]["diagnosis"][name] for name in ("since", "sinceRun")], [since, "r-2"])
                runs = json.loads(self.call("history", "-o", "json").stdout)["runs"]
                self.assertEqual([run["since"] for run in runs], [since, None])
                self.assertEqual([run["sinceRun"] for run in runs], ["r-2", None])
                self.assertEqual({one["name"]: (one["answer"], one["figure"]) for one in runs[0]["checks"]},
                                 {"lever-present": ("unknown", "the memory limit is 64Gi, before 64Gi"),
                                  "passed-step": ("yes", "run r-2 completed"),
                                  "peak-below": ("yes" if peak == "40Gi" else "no", f"used at most {peak} of 64Gi")})
                self.assertNotIn("checks", runs[1])
                table = self.call("history", "-n", "ml", "Job/r").stdout
                self.assertEqual(table.count(f"failed ({kind}, held)"), int(since == "held"))

    def test_history_of_nothing(self):
        self.assertIn("No changes recorded", self.call("history", "Job/c").stdout)
        self.assertIn("No changes recorded", self.call("history", "-n", "nobody").stdout)
        self.assertEqual(json.loads(self.call("history", "Job/c", "-o", "json").stdout)["changes"], [])
        for name in PROGRAMS:
            self.assertIn(f"{called(name)} history: nothing is known of Job/nobody",
                          self.call("history", "Job/nobody", code=2, name=name).stderr)

    def test_other_namespaces_are_not_read(self):
        chosen = ((), ("-n", "other"), ("-n", "nobody"), ("-A", "-n", "other"))
        for command, key in (("report", "workloads"), ("history", "changes")):
            self.assertEqual([{item["namespace"] for item in json.loads(self.call(command, *args, "-o", "json").stdout)[key]}
                              for args in chosen], [{"ml", "other"}, {"other"}, set(), {"ml", "other"}], command)
        self.assertEqual([json.loads(self.call("status", *args, "-o", "json", code=1).stdout)["workloads"]
                          for args in chosen], [3, 1, 0, 3])

    def test_report_in_other_forms(self):
        rows = list(csv.DictReader(io.StringIO(self.call("report", "-o", "csv").stdout)))
        listed = json.loads(self.call("report", "-o", "json").stdout)
        self.assertEqual(len(rows), 6)
        for row, one in zip(rows, listed["workloads"]):
            self.assertEqual(list(row), list(one))
            same = {key: json.dumps(value) if isinstance(value, bool) else f"{value:.3f}" if isinstance(value, float)
                    else "" if value is None else str(value) for key, value in one.items()}
            self.assertEqual(row, same)
        # each workload of a namespace once, as explain takes it
        self.assertEqual(self.call("report", "-o", "name").stdout.split(), ["Job/a", "Job/c", "PyTorchJob/b", "PyTorchJob/c",
                                                                            "Job/a"])
        self.assertEqual(self.call("report", "-n", "ml", "-o", "name", "pytorchjobs/b").stdout, "PyTorchJob/b\n")
        self.assertIn("nothing is known of", self.call("report", "Job/nobody", code=2).stderr)
        table = self.call("report").stdout
        self.assertRegex(table, r"(?m)^TOTAL .* 42 .* 6 at risk$")
        self.assertNotIn("TOTAL", self.call("report", "-n", "ml", "Job/a").stdout)

    def test_report_fits_a_terminal(self):
        run_of = {"uid": "r", "name": "r", "outcome": "oom-killed", "start": "2026-11-02T08:00:00Z", "duration": "10h",
                  "attempts": 1, "ranks": 8, "request": "1280Mi", "limit": "1280Mi", "by": "user", "peak": "1270Mi",
                  "killedAt": ["1280Mi"], "whole": False, "source": "query", "acceleratorsMilli": 2000}
        names = ("PyTorchJob/bert-finetune", "b-0123456789", {"role": "master"}), ("Job/resnet-train", "r-0123456789", {})
        objects = []
        for workload, name, extra in names:
            objects += [profile(name, workload, request="1536Mi", limit="2560Mi", peak="1270Mi", **extra),
                        history(name, workload, **extra)]
            objects[-1]["spec"]["runs"] = [{**run_of, "uid": str(i), "start": f"2026-11-02T0{i}:00:00Z"} for i in range(3)]
        self.write("profiles.json", json.dumps(store(*objects)))
        narrow, wide = self.call("report").stdout, self.call("report", "-o", "wide").stdout
        self.assertLessEqual(max(map(len, narrow.splitlines())), 120, narrow)
        self.assertEqual(wide.splitlines()[0].split(), "NAMESPACE WORKLOAD ROLE CONTAINER RUNS MEDIAN PEAK REQUEST LIMIT "
                         "WASTE GPU HOURS CONFIDENCE RISK".split())
        self.assertEqual(set(wide.split("\n")[0].split()) - set(narrow.split("\n")[0].split()),
                         {"CONTAINER", "MEDIAN", "PEAK", "GPU", "HOURS", "CONFIDENCE"})
        # 10 hours x 2 GPUs x 8 ranks x 3 runs of both workloads, in all forms of the table
        for table in (narrow, wide):
            self.assertIn("GPU HOURS: 960.00 in all, of these 960.00 in runs that ended OOM-killed", table)
        self.assertRegex(wide, r"(?m)^TOTAL .* 960\.00 \(960\.00 OOM\) .* 2 at risk$")
        # containers are shown where they tell rows apart
        objects += [profile("r-1123456789", "Job/resnet-train", container="loader")]
        self.write("profiles.json", json.dumps(store(*objects)))
        self.assertIn(" loader ", self.call("report").stdout)

    def test_report_by_namespace(self):
        def runs(n, limit):
            return [{"uid": f"r{i}", "name": f"r-{i}", "outcome": "completed", "start": f"2026-11-02T0{i}:00:00Z",
                     "duration": "1h", "attempts": 1, "ranks": 1, "request": "1Gi", "limit": limit, "by": "user",
                     "peak": "1Gi", "whole": True, "source": "query"} for i in range(n)]

        histories = [history(f"{name}-0123456789", f"Job/{name}", namespace=namespace)
                     for name, namespace in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "zero"))]
        for one, (n, limit) in zip(histories, ((1, "3Gi"), (2, "2Gi"), (1, "33Gi"), (3, "1Gi"))):
            one["spec"]["runs"] = runs(n, limit)
        # half a GPU in 4 ranks; one of two runs ended OOM-killed, the other completed after a kill
        for run_of, outcome in zip(histories[1]["spec"]["runs"], ("completed", "oom-killed")):
            run_of.update(acceleratorsMilli=500, ranks=4, outcome=outcome, killedAt=["1Gi"], attempts=2)
        self.write("profiles.json", json.dumps(store(*histories)))
        listed = json.loads(self.call("report", "--by", "namespace", "-o", "json").stdout)
        self.assertEqual([tuple(one.values()) for one in listed["namespaces"]],
                         [("one", 2, 3, 2, 10, 0, 4, 2), ("two", 1, 1, 0, 32, 0, 0, 0), ("zero", 1, 3, 0, 0, 1, 0, 0)])
        self.assertNotIn("workloads", listed)
        self.assertEqual(listed["summary"], json.loads(self.call("report", "-o", "json").stdout)["summary"])
        self.assertEqual(listed["summary"], {"workloads": 4, "runs": 7, "oomKilledRuns": 2, "wasteGibHours": 42, "atRisk": 1,
                                             "gpuHours": 4, "oomKilledGpuHours": 2})
        rows = list(csv.DictReader(io.StringIO(self.call("report", "--by", "namespace", "-o", "csv").stdout)))
        self.assertEqual(rows, [{key: f"{value:.3f}" if isinstance(value, float) else str(value)
                                 for key, value in one.items()} for one in listed["namespaces"]])
        table = [line.split() for line in self.call("report", "--by", "namespace").stdout.splitlines()]
        self.assertEqual(table[0], ["NAMESPACE", "WORKLOADS", "RUNS", "WASTE", "GPU", "HOURS", "AT", "RISK"])
        self.assertEqual(table[1:5], [["one", "2", "3", "(2", "OOM)", "10.00", "4.00", "(2.00", "OOM)", "0"],
                                      ["two", "1", "1", "32.00", "-", "0"], ["zero", "1", "3", "0.00", "-", "1"],
                                      ["TOTAL", "4", "7", "(2", "OOM)", "42.00", "4.00", "(2.00", "OOM)", "1"]])
        self.assertNotIn("TOTAL", self.call("report", "--by", "namespace", "-n", "one").stdout)
        for order, wanted in (("name", "one two zero"), ("waste", "two one zero"), ("runs", "one zero two"),
                              ("risk", "zero one two")):
            self.assertEqual(self.call("report", "--by", "namespace", "--sort-by", order, "-o", "name").stdout.split(),
                             wanted.split(), order)

    def test_yaml_is_the_same_as_json(self):
        now = {"generated": None, "from": None}

        def same(*args, code=0):
            made = [self.call(*args, "-o", form, code=code).stdout for form in ("json", "yaml")]
            one, other = json.loads(made[0]), yaml.load(made[1], yaml.BaseLoader)
            as_text = json.loads(made[0], parse_int=str, parse_float=str, parse_constant=str)
            self.assertNotIn("{\n", made[1])
            self.assertEqual({**other, **now}, {**texts(as_text), **now})
            return one

        def texts(value):
            if isinstance(value, dict):
                return {key: texts(one) for key, one in value.items()}
            if isinstance(value, list):
                return [texts(one) for one in value]
            return "null" if value is None else str(value).lower() if isinstance(value, bool) else value

        self.assertEqual(len(same("report")["workloads"]), 6)
        self.assertEqual(len(same("report", "--by", "namespace")["namespaces"]), 2)
        self.assertEqual(same("report", "-n", "nobody")["workloads"], [])
        self.assertEqual(len(same("history")["changes"]), 3)
        self.assertEqual(len(same("explain", "-n", "ml", "Job/a")["workloads"]), 1)
        self.assertEqual(same("status", code=1)["kind"], "Status")
        evil = profile("e-0123456789", "workload:e: \"x\" # \\")
        evil["status"]["reasons"] = ["- a: 'b'", "{c}", "two\nlines", "\u00e9\u0007"]
        self.write("profiles.json", json.dumps(store(evil)))
        self.assertEqual(same("explain", "workload:e: \"x\" # \\")["workloads"][0]["profile"]["reasons"],
                         evil["status"]["reasons"])

    def test_report_in_other_orders(self):
        def runs(n, request, peak):
            return [{"uid": f"r{i}", "name": f"r-{i}", "outcome": "completed", "start": f"2026-11-02T0{i}:00:00Z",
                     "duration": "1h", "attempts": 1, "ranks": 1, "request": request, "by": "user", "peak": peak,
                     "whole": True, "source": "query"} for i in range(n)]

        histories = [history(f"{name}-0123456789", f"Job/{name}") for name in "abc"]
        for one, (n, request, peak) in zip(histories, ((1, "2Gi", "1Gi"), (2, "20Gi", "1Gi"), (3, "1Gi", "1Gi"))):
            one["spec"]["runs"] = runs(n, request, peak)
            one["spec"]["container"] = "x,\"y\""
        for one in histories[2]["spec"]["runs"]:
            one["limit"] = "1Gi"  # and that is the peak
        self.write("profiles.json", json.dumps(store(*histories)))
        self.assertNotIn("will not be lowered", self.call("report").stdout)
        for order, wanted in (("name", "abc"), ("waste", "bac"), ("runs", "cba"), ("risk", "cab")):
            self.assertEqual(self.call("report", "--sort-by", order, "-o", "name").stdout.split(),
                             [f"Job/{name}" for name in wanted], order)
        self.assertIn("is one of name|waste|risk|runs", self.call("report", "--sort-by", "age", code=2).stderr)
        rows = list(csv.DictReader(io.StringIO(self.call("report", "-o", "csv").stdout)))
        self.assertEqual([(row["container"], row["wasteGibHours"]) for row in rows],
                         [('x,"y"', "1.000"), ('x,"y"', "38.000"), ('x,"y"', "0.000")])

    def test_report_shows_no_arrow_that_will_not_come_true(self):
        run_of = {"uid": "r1", "name": "r-1", "outcome": "completed", "start": "2026-11-02T08:00:00Z", "duration": "1h",
                  "attempts": 1, "ranks": 1, "request": "20Gi", "limit": "20Gi", "by": "user", "peak": "10Gi", "whole": True,
                  "source": "query"}
        one = history("a-0123456789", "Job/a")
        one["spec"]["runs"] = [run_of]
        for flags, arrows, risk in (([], True, ""), (["leak"], False, " leak\n")):
            self.write("profiles.json", json.dumps(store(profile("a-0123456789", "Job/a", flags=flags), one)))
            table, listed = self.call("report").stdout, json.loads(self.call("report", "-o", "json").stdout)
            self.assertEqual("20Gi -> 8Gi" in table and "20Gi -> 12Gi" in table, arrows, table)
            self.assertEqual("will not be lowered" in table, not arrows)
            self.assertIn(risk, table)
            self.assertEqual(listed["workloads"][0]["notLowered"], None if arrows else "memory leak suspected")
            self.assertEqual((listed["workloads"][0]["leakSuspected"], listed["summary"]["atRisk"]), (not arrows, 0 + (not arrows)))

    def test_explain_gives_each_reason_once(self):
        one = profile("r-0123456789", "Job/r", request="8Gi", limit="16Gi", proven="8Gi")
        one["status"]["reasons"] = ["harm: killed (run r-1); not lowered for 10 runs",
                                    "limit 12Gi = peak 10Gi of 14 complete runs + 20 %",
                                    "limit 16Gi: buffer above a limit that was OOM-killed, 14Gi", "request 8Gi = median use over time"]
        one["status"]["recommendation"]["overRequest"] = 298
        self.write("profiles.json", json.dumps(store(one)))
        lines = self.call("explain", "Job/r").stdout.splitlines()
        for words in ("  request     8Gi       median use over time; use is above the request for about 29.8 % of run time",
                      "  limit       16Gi      buffer above a limit that was OOM-killed, 14Gi",
                      "  because     harm: killed (run r-1); not lowered for 10 runs",
                      "              limit 12Gi = peak 10Gi of 14 complete runs + 20 %"):
            self.assertEqual(lines.count(words), 1, lines)
        self.assertEqual(sum("median use" in line for line in lines), 1)

    def test_explain_shows_changes(self):
        text = self.call("explain", "-n", "ml", "Job/a").stdout
        self.assertIn("changed pods", text)
        self.assertIn("10Gi -> 12Gi", text)
        self.assertNotIn("changed pods", self.call("explain", "Job/c").stdout)

    def test_text_of_others_does_not_drive_the_terminal(self):
        esc = decision("2026-11-02T08:00:00Z", "Job/e-1", cap="a\x1b[2J\nb", rule="\u009bm")
        evil = profile("e-0123456789", "workload:e\x1b[31m")
        evil["status"]["reasons"] = ["because \x1b]0;title\x07"]
        self.write("profiles.json", json.dumps(store(evil, history("e-0123456789", "workload:e\x1b[31m", esc))))
        self.write("profiles.json.status", json.dumps({
            "apiVersion": "status.memtamer.io/v1alpha1", "time": "2026-11-02T08:15:00Z", "result": "failed",
            "why": "said \x1b[2J"}))
        workload = "workload:e\x1b[31m"
        texts = [self.call("explain", workload).stdout, self.call("history", "-o", "wide").stdout, self.call("report").stdout,
                 self.call("undo", workload).stdout, self.call("status", code=1).stdout]
        for text in texts:
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        for text in texts[:4]:
            self.assertIn("workload:e?[31m", text)
        self.assertIn("said ?[2J", texts[4])
        self.assertIn("a?[2J?b", texts[1])
        self.assertIn("because ?]0;title?", texts[0])
        change = json.loads(self.call("history", "-o", "json").stdout)["changes"][0]
        self.assertEqual(change["cap"], "a\x1b[2J\nb")

    # undo

    def test_undo_and_back(self):
        before = self.specs()
        text = self.call("undo", "-n", "ml", "Job/a").stdout
        self.assertNotIn("before", text)
        for words in ("spec.modeCap is observe now", "keep what they have",
                      f"To revert it: memtamer-recommender undo --release -n ml Job/a --store {self.store}"):
            self.assertIn(words, text)
        self.assertEqual(self.specs()["a-0123456789"], {"modeCap": "observe"})
        self.assertEqual(self.capped(), ["a-0123456789"])
        self.assertIn("capped at observe", self.call("explain", "-n", "ml", "Job/a").stdout)
        self.assertIn("\n  next run    keeps its own values: capped at observe (modeCap of the workload's profile)\n",
                      self.call("explain", "-n", "ml", "Job/a").stdout)
        self.assertIn("was undone before", self.call("undo", "-n", "ml", "Job/a").stdout)
        self.assertIn("removed", self.call("undo", "--release", "-n", "ml", "Job/a").stdout)
        self.assertEqual(self.specs(), before)
        self.assertIn("has no cap", self.call("undo", "--release", "-n", "ml", "Job/a").stdout)

    def test_all_roles(self):
        self.call("undo", "PyTorchJob/b", name="kubectl-memtamer")
        self.assertEqual(self.capped(), ["b-0123456789", "b-1123456789"])

    def test_which_one_is_asked(self):
        done = self.call("undo", "Job/a", code=2)
        self.assertIn("more than one workload", done.stderr)
        self.assertIn("-n ml Job/a", done.stderr)
        self.assertIn("-n other Job/a", done.stderr)
        done = self.call("undo", "c", code=2)
        self.assertIn("-n ml PyTorchJob/c", done.stderr)
        self.assertIn("nothing is known", self.call("undo", "-n", "other", "Job/c", code=2).stderr)
        self.call("undo", code=2)
        self.assertIn('unexpected operand "b"', self.call("undo", "a", "b", code=2).stderr)
        self.assertEqual(self.capped(), [])

    def keep(self, *workloads):
        self.write("profiles.json", json.dumps(store(*(
            item for i, workload in enumerate(workloads)
            for item in (profile(f"w{i}-0123456789", workload), history(f"w{i}-0123456789", workload))))))

    def test_names_that_recur_and_labels_are_no_stems(self):
        for known, asked in (("CronJob/nightly", "CronJob/nightly-2"), ("CronJob/nightly", "nightly-2"),
                             ("CronWorkflow/nightly", "cronworkflow/nightly-20261101"),
                             ("workload:bert", "workload:bert-2"), ("airflow:a.b", "airflow:a.b-20261101")):
            with self.subTest(asked):
                self.keep(known)
                for command in ("undo", "explain", "history"):
                    self.assertIn("nothing is known of", self.call(command, "-n", "ml", asked, code=2).stderr)
                self.assertEqual(self.capped(), [])

    def test_what_is_said_exactly_is_meant(self):
        for pair in (("CronJob/nightly", "CronJob/nightly-2"), ("workload:bert", "workload:bert-2"),
                     ("workload:bert", "workload:Bert"), ("Job/train", "Job/train-2")):
            for i, asked in enumerate(pair):
                with self.subTest(asked):
                    self.keep(*pair)
                    self.call("undo", "-n", "ml", asked)
                    self.assertEqual(self.capped(), [f"w{i}-0123456789"])
                    text = self.call("explain", asked).stdout
                    self.assertIn(f"ml  {asked}  container", text)
                    self.assertNotIn(f"ml  {pair[1 - i]}  container", text)
        # nothing is called so: what appends numbers to names is taken off
        self.keep("Job/train", "CronJob/nightly")
        self.call("undo", "job/train-20261101")
        self.assertEqual(self.capped(), ["w0-0123456789"])

    def test_kinds_as_kubectl_takes_them(self):
        for asked in ("job/c", "jobs/c", "JOBS/c", "jobs.batch/c", "job.batch/c"):
            self.assertIn("ml  Job/c", self.call("explain", asked).stdout, asked)
        for asked in ("jo/c", "jobss/c", "cronjobs/c", "s/c", "/c"):
            self.assertIn("nothing is known of", self.call("explain", asked, code=2).stderr, asked)

    def test_somebody_elses_cap_stays(self):
        with open(self.store, encoding="utf-8") as file:
            text = file.read()
        for cap, args in (("off", ["undo"]), ("off", ["undo", "--release"]), ("fill", ["undo", "--release"])):
            items = json.loads(text)
            items["items"][4]["spec"] = {"modeCap": cap}
            self.write("profiles.json", json.dumps(items))
            done = self.call(*args, "Job/c", code=1)
            self.assertIn(f"left as it is: spec.modeCap is {cap}", done.stdout)
            self.assertEqual(self.specs()["c-0123456789"], {"modeCap": cap})
        text = self.call("undo", "Job/c").stdout  # fill is higher than what is asked for
        self.assertIn("spec.modeCap is observe now, and was before: fill", text)
        self.assertIn("restores the cap", text)
        self.assertEqual(self.specs()["c-0123456789"], {"modeCap": "observe", "modeCapBeforeUndo": "fill"})

    def test_a_cap_from_before_comes_back(self):
        def say(cap):  # by hand, as `kubectl edit` would
            with open(self.store, encoding="utf-8") as file:
                items = json.load(file)
            spec = next(item for item in items["items"] if item["metadata"]["name"] == "c-0123456789")["spec"]
            spec.pop("modeCap", None)
            spec.update({"modeCap": cap} if cap else {})
            self.write("profiles.json", json.dumps(items))

        def undo(*args, code=0):
            return self.call("undo", *args, "Job/c", code=code).stdout, self.specs()["c-0123456789"]

        say("fill")
        undo()
        text, spec = undo()
        self.assertIn("was undone before", text)  # and its own cap is not taken for a person's
        self.assertEqual(spec, {"modeCap": "observe", "modeCapBeforeUndo": "fill"})
        text, spec = undo("--release")
        self.assertIn("spec.modeCap is as before the undo: fill", text)
        self.assertEqual(spec, {"modeCap": "fill"})
        # what a person says in between stays, and is what the next undo replaces
        undo()
        say("raise")
        self.assertEqual(undo("--release", code=1)[1]["modeCap"], "raise")
        undo()
        self.assertEqual(undo("--release")[1], {"modeCap": "raise"})
        undo()
        say(None)
        self.assertIn("has no cap", undo("--release")[0])
        self.assertEqual(undo()[1], {"modeCap": "observe"})
        self.assertEqual(undo("--release")[1], {})

    def test_another_writer(self):
        lock = self.path("profiles.json.lock")
        self.write("profiles.json.lock", "")
        holder = subprocess.Popen(["flock", lock, "sh", "-c", "echo held; read x"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(holder.stdout.readline(), "held\n")
            done = self.call("undo", "-n", "ml", "Job/a", code=3)
        finally:
            holder.communicate("\n")
        self.assertIn("another writer has the store", done.stderr)
        self.assertIn("Stop it", done.stderr)
        self.assertEqual(self.capped(), [])

    def test_a_torn_store_is_not_touched(self):
        with open(self.store, "r+", encoding="utf-8") as file:
            text = file.read()[:-20]
        self.write("profiles.json", text)
        self.call("undo", "-n", "ml", "Job/a", code=3)
        with open(self.store, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_admission_obeys(self):
        config = self.write("memtamer.yaml", CONFIG + "mode: raise\nstore: { kind: file, path: profiles.json }\n")
        job = self.write("job.yaml", JOB)

        def reviewed():
            return run("memtamer-webhook", "review", "--config", config, "-o", "yaml", job).stdout

        self.assertIn("12Gi", reviewed())
        self.call("undo", "-n", "ml", "Job/a")
        self.assertNotIn("12Gi", reviewed())
        self.call("undo", "--release", "-n", "ml", "Job/a")
        self.assertIn("12Gi", reviewed())
