# SPDX-License-Identifier: Apache-2.0
"""The commands from outside: help, exit codes, configuration, review of manifests in every format."""
import json
import os
import re
import subprocess

import harness
import yaml
from harness import Case, profile, run, store

PROGRAMS = ("memtamer-webhook", "memtamer-recommender", "kubectl-memtamer")
CONFIG = "apiVersion: config.memtamer.io/v1alpha1\n"

JOB = """# a job
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: ml}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: pytorch
        image: train:1
        resources:
          limits:
            nvidia.com/gpu: 1
"""

CLEAN = """apiVersion: v1
kind: ConfigMap
metadata: {name: x}
data: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: web, image: nginx}]}
"""


class Programs(Case):
    sample = True

    def test_version_and_help(self):
        for name in PROGRAMS:
            with self.subTest(name):
                called = name.replace("kubectl-", "kubectl ")
                self.assertRegex(run(name, "--version").stdout, rf"^{called} \d+\.\d+\.\d+")
                self.assertEqual(run(name, "version").stdout, run(name, "--version").stdout)
                top = run(name, "--help")
                self.assertEqual((top.returncode, top.stderr), (0, ""))
                commands = re.findall(r"^  ([a-z][a-z-]*)\s{2,}\S", top.stdout, re.MULTILINE)
                self.assertGreater(len(commands), 1, top.stdout)
                for command in commands:
                    done = run(name, command, "--help")
                    self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                    self.assertIn(f"Usage: {called} {command} [OPTIONS]", done.stdout)
                    example = re.search(rf"\n\nExample:\n  {called} {command} (.+)\n$", done.stdout)
                    for option in re.findall(r"(?:^| )(-\S+)", example[1]):
                        self.assertRegex(done.stdout, rf"(?m)^  (-\w, )?{option}\b")

    def test_bash_completes_words(self):
        script = '''
            source /dev/stdin <<<"$2"
            spec=($(complete -p "$1"))
            COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3)) COMPREPLY=()
            "${spec[-2]}"
            printf '%s\\n' "${COMPREPLY[@]}"
        '''
        path = f"{os.path.dirname(harness.program(PROGRAMS[0]))}:{os.environ['PATH']}"
        for name in PROGRAMS:
            command = "review" if "webhook" in name else "report"
            for words, want in (([""], ["completion", "help", "version"]), ([command[:3]], [command]),
                                ([command, "-o", "js"], ["json"]), ([command, "--output", "=", "js"], ["json"]),
                                ([command, "--kubec"], ["--kubeconfig"]), ([command, "x"], [""])):
                with self.subTest(f"{name} {words}"):
                    done = subprocess.run(["bash", "-c", script, "bash", name, run(name, "completion", "bash").stdout, name,
                                           *words], env={**os.environ, "PATH": path}, capture_output=True, text=True,
                                          check=False, timeout=harness.PATIENCE)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(done.stdout.splitlines()[-len(want):], want)

    def test_kubectl_completes_words(self):
        """kubectl runs the program kubectl_complete-PLUGIN with the words behind the plugin's name."""
        link = self.path("kubectl_complete-memtamer")
        os.symlink(harness.program("kubectl-memtamer"), link)
        for words, want in ((["repo"], "report\n"), (["report", "-o", "w"], "wide\n"), (["report", "--by", ""],
                                                                                     "workload\nnamespace\n")):
            self.assertEqual(subprocess.run([link, *words], capture_output=True, text=True, check=True,
                                            timeout=harness.PATIENCE).stdout, want)

    def test_usage_errors(self):
        for name in PROGRAMS:
            for args in ([], ["nothing"], ["--nothing"], ["--help=x"]):
                with self.subTest(f"{name} {args}"):
                    done = run(name, *args)
                    self.assertEqual(done.returncode, 2)
                    self.assertNotEqual(done.stderr, "")
                    self.assertEqual(done.stdout, "")

    def test_a_store_that_is_named_must_exist(self):
        missing = os.path.join(self.folder, "nosuch.json")
        job = self.write("job.yaml", CLEAN)
        for name, *args in (("memtamer-webhook", "review", job), ("memtamer-recommender", "report"),
                            ("memtamer-recommender", "status"), ("memtamer-recommender", "history"),
                            ("memtamer-recommender", "explain", "Job/x"), ("memtamer-recommender", "undo", "Job/x")):
            with self.subTest(f"{name} {args}"):
                done = run(name, *args, "--store", missing)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("nosuch.json: cannot open: No such file", done.stderr)
                self.assertFalse(os.path.exists(missing))

    def test_configuration_is_checked_and_printed(self):
        good = self.write("good.yaml", CONFIG + "mode: fill\nsizing: { minRuns: 4 }\n")
        bad = self.write("bad.yaml", CONFIG + "mode: fill\nsizing:\n  minRnus: 4\n")
        for name in PROGRAMS:
            with self.subTest(name):
                done = run(name, "--check-config", "--config", good)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = run(name, "--check-config", "--config", bad)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, r"bad\.yaml:4:3: .*minRnus")
                printed = run(name, "--print-config", "--config", good)
                self.assertEqual(printed.returncode, 0, printed.stderr)
                values = yaml.safe_load(printed.stdout)
                self.assertEqual(values["mode"], "fill")
                self.assertEqual(values["sizing"]["minRuns"], 4)
                self.assertRegex(printed.stdout, r"(?m)mode: fill +# .*good\.yaml:2")
                # What is printed is a configuration with the same values.
                again = self.write("again.yaml", printed.stdout)
                self.assertEqual(yaml.safe_load(run(name, "--print-config", "--config", again).stdout), values)

    def test_serve_refuses_what_cannot_work(self):
        rows = [("no such file", ["serve", "--config", self.path("none.yaml")], 2),
                ("bad config", ["serve", "--config", self.write("bad.yaml", "mode: [")], 2),
                ("operand", ["serve", "x"], 2)]
        for name, args, want in rows:
            with self.subTest(name):
                done = run("memtamer-webhook", *args)
                self.assertEqual(done.returncode, want, done.stderr)
                self.assertNotEqual(done.stderr, "")

    def test_port_in_use(self):
        webhook = self.webhook()
        done = run("memtamer-webhook", "serve", "--config", webhook.config_path)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(str(webhook.port), done.stderr)

    def test_prometheus_that_does_not_answer(self):
        port = harness.free_port()
        config = self.write("c.yaml", CONFIG + "store: { kind: file, path: p.json }\n"
                            f"prometheus: {{ url: 'http://127.0.0.1:{port}', timeout: 2s }}\n")
        text = json.dumps(store(profile("a-0123456789", "Job/a")))
        self.write("p.json", text)
        done = run("memtamer-recommender", "run", "--once", "--config", config)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f"127.0.0.1:{port}", done.stderr)
        with open(self.path("p.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), text, "profiles untouched")


class Review(Case):
    sample = True

    def setUp(self):
        super().setUp()
        self.write("profiles.json", json.dumps(store(profile("a-0123456789", "Job/a", limit="12Gi", request="8Gi"))))
        self.config = self.write("memtamer.yaml", CONFIG + "mode: fill\nstore: { kind: file, path: profiles.json }\n")
        self.job = self.write("job.yaml", JOB)

    def review(self, *args, stdin=None):
        return run("memtamer-webhook", "review", "--config", self.config, *args, stdin=stdin, cwd=self.folder)

    def test_text_and_exit_codes(self):
        clean = self.write("clean.yaml", CLEAN)
        done = self.review(self.job)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("job.yaml:", done.stdout)
        self.assertIn("memory-limit-missing", done.stdout)
        rows = [("clean", [clean], 0), ("findings", [self.job], 1), ("fail on deny", ["--fail-on", "deny", self.job], 0),
                ("fail on patch", ["--fail-on", "patch", self.job], 1), ("no file", [self.path("none.yaml")], 2),
                ("bad option", ["--nothing", self.job], 2), ("bad format", ["-o", "xml", self.job], 2), ("none", [], 2)]
        for name, args, want in rows:
            with self.subTest(name):
                done = self.review(*args)
                self.assertEqual(done.returncode, want, done.stdout + done.stderr)

    def test_stdin_and_folders(self):
        from_stdin = self.review("-", stdin=JOB)
        self.assertEqual(from_stdin.returncode, 1)
        self.write("m/one.yaml", JOB)
        self.write("m/deep/two.yml", JOB)
        self.write("m/three.json", json.dumps(yaml.safe_load(JOB)))
        self.write("m/readme.txt", "not: [a manifest")
        done = self.review(self.path("m"))
        self.assertEqual(done.returncode, 1, done.stderr)
        for name in ("one.yaml", "two.yml", "three.json"):
            self.assertIn(name, done.stdout)

    def test_limit_range_beside_the_job(self):
        """The API server would default the container's limit to the maximum: then none is missing."""
        def checks(*files):
            done = self.review("-n", "ml", "-o", "json", *files)
            self.assertEqual(done.returncode, 1, done.stderr)
            return {finding["check"] for finding in json.loads(done.stdout)["findings"]}

        rules = self.write("rules.yaml", "apiVersion: v1\nkind: LimitRange\nmetadata: {name: small, namespace: ml}\n"
                           "spec:\n  limits:\n  - type: Container\n    max: {memory: 32Gi}\n")
        elsewhere = self.write("elsewhere.yaml", "apiVersion: v1\nkind: LimitRange\n"
                               "metadata: {name: small, namespace: other}\n"
                               "spec:\n  limits:\n  - type: Container\n    max: {memory: 32Gi}\n")
        self.assertIn("memory-limit-missing", checks(self.job))
        self.assertIn("memory-limit-missing", checks(self.job, elsewhere))
        self.assertNotIn("memory-limit-missing", checks(self.job, rules))

    def test_json(self):
        done = self.review("-o", "json", self.job)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("memory-limit-missing", done.stdout)
        self.assertEqual({one["status"] for one in json.loads(done.stdout)["objects"]}, {"examined"})

    def test_patched_yaml(self):
        text = CLEAN + "---\n" + JOB
        path = self.write("multi.yaml", text)
        done = self.review("-o", "yaml", path)
        before, after = list(yaml.safe_load_all(text)), list(yaml.safe_load_all(done.stdout))
        self.assertEqual(after[:2], before[:2], "what is not training is not touched")
        resources = after[2]["spec"]["template"]["spec"]["containers"][0]["resources"]
        self.assertEqual(resources["limits"]["memory"], "12Gi")
        self.assertEqual(resources["requests"]["memory"], "8Gi")
        # Reviewing what was patched finds nothing more to patch.
        again = self.review("-o", "yaml", self.write("again.yaml", done.stdout))
        self.assertEqual(list(yaml.safe_load_all(again.stdout)), after)

    def test_sarif(self):
        done = self.review("-o", "sarif", self.job)
        log = json.loads(done.stdout)
        self.assertEqual(log["version"], "2.1.0")
        self.assertRegex(log["$schema"], r"^https://.*sarif.*2\.1\.0.*\.json$")
        (one,) = log["runs"]
        driver = one["tool"]["driver"]
        self.assertEqual(driver["name"], "memtamer")
        rules = [rule["id"] for rule in driver["rules"]]
        self.assertEqual(len(rules), len(set(rules)))
        self.assertGreater(len(one["results"]), 0)
        lines = JOB.splitlines()
        for result in one["results"]:
            self.assertIn(result["ruleId"], rules)
            if "ruleIndex" in result:
                self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
            self.assertIn(result["level"], ("none", "note", "warning", "error"))
            self.assertNotEqual(result["message"]["text"], "")
            place = result["locations"][0]["physicalLocation"]
            self.assertTrue(place["artifactLocation"]["uri"].endswith("job.yaml"))
            region = place["region"]
            self.assertTrue(1 <= region["startLine"] <= len(lines))
            self.assertTrue(1 <= region["startColumn"] <= len(lines[region["startLine"] - 1]) + 1)
        limit = next(result for result in one["results"] if result["ruleId"] == "memory-limit-missing")
        line = limit["locations"][0]["physicalLocation"]["region"]["startLine"]
        self.assertIn(line, range(9, 15), "points into the container")

    def test_bad_manifests_name_the_place(self):
        rows = [("bad indent", "kind: Job\n metadata: {}\n", r"x\.yaml:2:"),
                ("tab", "kind: Job\n\tmetadata: {}\n", r"x\.yaml:2:"),
                ("duplicate key", "apiVersion: batch/v1\nkind: Job\nkind: Job\n", r"x\.yaml:3:1"),
                ("open bracket", "kind: [Job\n", r"x\.yaml:\d+:"),
                ("second document", "kind: ConfigMap\n---\na: b: c\n", r"x\.yaml:3:")]
        for name, text, place in rows:
            with self.subTest(name):
                done = self.review(self.write("x.yaml", text))
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertRegex(done.stderr, place)

    def test_a_broken_store_is_an_error(self):
        self.write("profiles.json", '{"kind":"List","items":[')
        done = self.review(self.job)
        self.assertIn(done.returncode, (2, 3))
        self.assertIn("profiles.json", done.stderr)

    def test_output_that_fails(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([harness.program("memtamer-webhook"), "review", "--config", self.config, self.job],
                                  stdout=full, stderr=subprocess.PIPE, check=False, timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 3, done.stderr)
