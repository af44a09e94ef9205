# SPDX-License-Identifier: Apache-2.0
"""backtest on a trace directory that is made here: the figures, the formats, and what is refused."""
import contextlib
import gzip
import json
import os
import pty
import re
import shutil
import subprocess
import xml.etree.ElementTree

from harness import PATIENCE, TOP, Case, profile, program, run, store

RECOMMENDER = "memtamer-recommender"
RULES = ["memtamer", "krr", "vpa-p90", "vpa-p95", "peak-20", "oracle"]
GIB = 1 << 30


def history(name, workload, runs, namespace="ml"):
    return {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryHistory",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"workload": workload, "role": "", "container": "pytorch", "aliases": [workload], "runs": runs}}


def read_all(terminal):
    """All that was written to it: the kernel may hand it over in pieces, and ends with an error."""
    pieces = []
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 65536):
            pieces.append(piece)
    return b"".join(pieces).decode()


class Backtest(Case):
    def trace(self, *workloads, packed=True):
        """Writes workloads of runs of one hour, one after the other. A run is its use in GiB, in two halves."""
        runs, series = ["run,workload,start_unix,duration_s,outcome"], ["run,t_s,bytes"]
        for w, uses in enumerate(workloads):
            for i, (first, second) in enumerate(uses):
                runs.append(f"r{w}-{i},team/w{w},{1700000000 + 3600 * i},3600,completed")
                series += [f"r{w}-{i},0,{int(first * GIB)}", f"r{w}-{i},1800,{int(second * GIB)}"]
        shutil.rmtree(self.path("trace"), ignore_errors=True)
        os.mkdir(self.path("trace"))
        self.write("trace/runs.csv", "\n".join(runs) + "\n")
        text = "\n".join(series) + "\n"
        if packed:
            with open(self.path("trace/series.csv.gz"), "wb") as file:
                file.write(gzip.compress(text.encode()))
        else:
            self.write("trace/series.csv", text)
        return self.path("trace")

    def call(self, *args, code=0):
        done = run(RECOMMENDER, "backtest", *args)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        if not code:
            self.assertEqual(done.stderr, "")  # a progress bar is for terminals
        return done

    def test_figures(self):
        """krr: limits 1.15, 1.15 and 4.6 for peaks of 1, 4 and 1; the second is killed twice."""
        steady = [(1, 1)] * 3
        done = self.call("--trace", self.trace(steady + [(1, 1), (4, 4), (1, 1)], [(1, 1)] * 4), "-o", "json")
        figures = json.loads(done.stdout)
        self.assertEqual((figures["runs"], figures["workloads"], figures["samples"]), (10, 2, 20))
        rows = figures["rules"]
        self.assertEqual([(row["variant"], row["rule"]) for row in rows],
                         [(variant, rule) for variant in ("walk-forward", "causal") for rule in RULES])
        krr = rows[1]
        self.assertEqual((krr["workloads"], krr["scored"], krr["oom_killed"]), (1, 3, 1))
        for key, want in (("oom_rate", 1 / 3), ("oom_rate_macro", 1 / 3), ("retries_per_run", 2 / 3),
                          ("waste_peak_gibh", 7.8), ("waste_area_gibh", 7.8), ("limit_slack", 1 - 6 / 10.35)):
            self.assertAlmostEqual(krr[key], want, 6, key)
        for row in rows:
            self.assertEqual("difference" in row, row["rule"] != "memtamer")
            self.assertTrue(0 <= row["node_overrun_share"] <= 1)
        oracle = rows[5]
        self.assertEqual((oracle["oom_rate"], oracle["waste_peak_gibh"]), (0, 0))
        self.assertEqual(figures["cold_start"]["first_runs"], 1)
        self.assertEqual([row["scored"] for row in figures["cold_start"]["rules"]], [2] * 12)

    def test_plain_and_compressed_series_give_the_same(self):
        uses = [[(1 + i % 3, 2 + i % 2) for i in range(12)], [(0.1, 0.2)] * 6]
        texts = {self.call("--trace", self.trace(*uses, packed=packed), "-o", "json").stdout
                 for packed in (True, False, True)}
        self.assertEqual(len(texts), 1)

    def test_histories_of_a_store(self):
        """The same runs as in test_figures, of one workload in two namespaces, and one that is still running."""
        def entry(i, gib, **more):
            return {"uid": f"u{i}", "name": f"train-{i}", "start": f"2026-11-02T{i:02}:00:00Z", "duration": "1h",
                    "peak": f"{gib}Gi", "median": f"{gib}Gi", "p95": f"{gib}Gi", "outcome": "completed", "whole": True,
                    **more}
        runs = [entry(i, 4 if i == 4 else 1) for i in range(6)]
        running = [entry(6, 9, outcome="running", whole=False)]
        self.write("profiles.json", json.dumps(store(
            *(profile(name, "Job/train", namespace=namespace) for name, namespace in (("a-0123456789", "ml"),
                                                                                     ("a-1123456789", "other"))),
            history("a-0123456789", "Job/train", runs + running), history("a-1123456789", "Job/train", runs, "other"))))
        for name in (RECOMMENDER, "kubectl-memtamer"):
            for args, workloads in (((), 2), (("-n", "ml"), 1), (("-n", "none"), 0)):
                done = run(name, "backtest", "--store", self.path("profiles.json"), "-o", "json", *args)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                figures = json.loads(done.stdout)
                krr = figures["rules"][1]
                self.assertEqual((figures["runs"], krr["workloads"], krr["scored"], krr["oom_killed"]),
                                 (6 * workloads, workloads, 3 * workloads, workloads))
                self.assertAlmostEqual(krr["waste_peak_gibh"], 7.8 * workloads, 6)
                self.assertAlmostEqual(krr["waste_area_gibh"], 7.8 * workloads, 6)

    def test_rules_are_chosen_by_name(self):
        trace = self.trace([(1, 2)] * 6)
        done = self.call("--trace", trace, "--rule", "oracle", "--rule", "krr", "-o", "json")
        self.assertEqual([row["rule"] for row in json.loads(done.stdout)["rules"]], ["memtamer", "oracle", "krr"] * 2)

    def test_the_configuration_counts(self):
        trace = self.trace([(1, 2)] * 8)
        config = self.write("c.yaml", "apiVersion: config.memtamer.io/v1alpha1\nsizing: { floors: { limit: 9Gi } }\n")
        done = self.call("--trace", trace, "--config", config, "--rule", "krr", "-o", "json")
        self.assertAlmostEqual(json.loads(done.stdout)["rules"][0]["waste_peak_gibh"], 5 * (9 - 2), 3)

    def test_table(self):
        text = self.call("--trace", self.trace([(1, 2)] * 6)).stdout
        self.assertIn("walk-forward, from the fourth run on (scored runs: 3, workloads: 1)", text)
        self.assertIn("causal, cold start with runs 2 and 3 (scored runs: 2, workloads: 1)", text)
        for rule in RULES:
            self.assertRegex(text, rf"(?m)^  {rule} ")
        self.assertRegex(text, r"(?m)^  RULE +OOM +WASTE +TIME>REQ +NODES +OOM % TO MEMTAMER +WASTE TO MEMTAMER$")
        self.assertLessEqual(max(map(len, text.splitlines())), 120, text)
        self.assertRegex(text, r"(?m)^  memtamer +\d+\.\d\d % +")
        wide = self.call("--trace", self.path("trace"), "-o", "wide").stdout
        for words in ("MACRO", "RETRIES", "AREA", "SLACK", "REQ-SLACK", "PEAK>REQ"):
            self.assertNotIn(words, text)
            self.assertIn(words, wide)
        self.assertNotIn("-o wide", wide)

    def test_plot(self):
        plot = self.path("plot.svg")
        done = self.call("--trace", self.trace([(1, 2)] * 6), "--plot", plot, "-o", "json")
        self.assertEqual(len(json.loads(done.stdout)["rules"]), 12)
        drawing = xml.etree.ElementTree.parse(plot).getroot()
        self.assertEqual(drawing.tag, "{http://www.w3.org/2000/svg}svg")
        done = self.call("--trace", self.path("trace"), "--plot", self.path("none/plot.svg"), code=3)
        self.assertIn("none/plot.svg", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_the_commands_of_the_page_work(self):
        with open(os.path.join(TOP, "docs/SIZING.md"), encoding="utf-8") as file:
            text, = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
        trace, plot = self.trace([(1, 2)] * 6), self.path("frontier.svg")
        for line in text.splitlines():
            name, command, *args = line.split()
            self.assertEqual((name, command), (RECOMMENDER, "backtest"))
            self.call(*({"traces/training": trace, "frontier.svg": plot}.get(word, word) for word in args))
        self.assertTrue(os.path.exists(plot))

    def test_progress_is_shown_on_a_terminal_and_taken_away(self):
        trace = self.trace([(1, 2)] * 6)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        done = subprocess.run([program(RECOMMENDER), "backtest", "--trace", trace, "-o", "json"], stderr=theirs,
                              stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
        os.close(theirs)
        shown = read_all(ours)
        self.assertRegex(shown, r"reading +\[")
        self.assertRegex(shown, r"testing +\[#+\]")
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)
        self.assertEqual(len(json.loads(done.stdout)["rules"]), 12)

    def test_usage_errors(self):
        trace = self.trace([(1, 2)] * 6)
        for args, want in ((["--store", self.path("none.json")], "none.json: cannot open: No such file"),
                           (["--trace", trace, "x"], "unexpected operand"),
                           (["--trace", trace, "--store", "s.json"], "--store cannot be given too"),
                           (["--trace", trace, "-n", "ml"], "--namespace cannot be given too"),
                           (["--trace", trace, "--rule", "best"], "there is no rule best"),
                           (["--trace", trace, "--node-memory", "many"], "--node-memory many is not an amount"),
                           (["--trace", trace, "--config", self.path("none.yaml")], "none.yaml"),
                           (["--trace", self.path("none")], "none/runs.csv: No such file")):
            with self.subTest(args):
                done = self.call(*args, code=2)
                self.assertIn(want, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_bad_input_is_refused_with_its_line(self):
        rows = (("runs.csv", lambda text: text + text.splitlines()[1] + "\n", r"runs\.csv:8: run r0-0 was in line 2"),
                ("runs.csv", lambda text: text.replace(",3600,", ",-1,", 1), r"runs\.csv:2: duration_s"),
                ("runs.csv", lambda text: text.replace("team/w0", "", 1), r"runs\.csv:2: .*workload is empty"),
                ("series.csv", lambda text: text + "r9,0,5\n", r"series\.csv:14: run r9 is not in runs\.csv"),
                ("series.csv", lambda text: text + "r0-0,0,5\n", r"series\.csv:14: the rows of run r0-0 are not"),
                ("series.csv", lambda text: text + "r0-5,900,5\n", r"series\.csv:14: t_s falls"),
                ("series.csv", lambda text: text + "r0-5,1800,5\n", r"series\.csv:14: .* two rows"),
                ("series.csv", lambda text: text.replace("r0-5", "r0-4"), r"series\.csv:12: t_s falls"),
                ("series.csv", lambda text: text.rsplit("r0-5,0", 1)[0], r"runs\.csv:7: run r0-5 has no rows"))
        for name, change, want in rows:
            with self.subTest(want):
                path = os.path.join(self.trace([(1, 2)] * 6, packed=False), name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(change(text))
                done = self.call("--trace", self.path("trace"), code=2)
                self.assertRegex(done.stderr, want)
                self.assertEqual(done.stdout, "")

    def test_a_truncated_gzip_is_refused(self):
        path = os.path.join(self.trace([(1, 2)] * 6), "series.csv.gz")
        os.truncate(path, os.path.getsize(path) - 5)
        self.assertRegex(self.call("--trace", self.path("trace"), code=2).stderr,
                         r"series\.csv\.gz:\d+: the gzip ends early: it is truncated")
