# SPDX-License-Identifier: Apache-2.0
"""What the README tells people to type exists: scripts, make targets, commands and their options, the configuration."""
import os
import re
import shlex
import subprocess
import sys

import harness

sys.path.append(os.path.join(harness.TOP, "tests/e2e"))
import loop_history  # noqa: E402

README = os.path.join(harness.TOP, "README.md")


def blocks():
    """The shell blocks of the README."""
    with open(README, encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)


def commands():
    """Words of each command; here-documents and comments left out."""
    for block in blocks():
        block = re.sub(r"<<-?(\w+)\n.*?^\1\n?", "\n", block, flags=re.DOTALL | re.MULTILINE)
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|\|\||;|\|", line):
                words = shlex.split(part, comments=True)
                if words:
                    yield words


class Readme(harness.Case):
    def test_commands_of_ours(self):
        seen = set()
        for words in commands():
            name = os.path.basename(words[0])
            if name not in ("memtamer-webhook", "memtamer-recommender"):
                continue
            with self.subTest(" ".join(words)):
                usage = harness.run(name, words[1], "--help")
                self.assertEqual(usage.returncode, 0, usage.stderr)
                for option in (word for word in words[2:] if word.startswith("-")):
                    self.assertRegex(usage.stdout, r"(?m)(^|[\s,])" + re.escape(option.split("=")[0]) + r"\b")
                seen.add(f"{name} {words[1]}")
        self.assertTrue({"memtamer-recommender run", "memtamer-recommender explain", "memtamer-webhook review"} <= seen,
                        f"the README shows {sorted(seen)}")

    def test_scripts_and_targets(self):
        with open(os.path.join(harness.TOP, "Makefile"), encoding="utf-8") as file:
            targets = re.findall(r"^([a-z]+):", file.read(), re.MULTILINE)
        with open(README, encoding="utf-8") as file:
            for target in re.findall(r"`make ([a-z]+)`", file.read()):
                self.assertIn(target, targets)
        for words in commands():
            if re.match(r"^[a-z]+/\w+$", words[0]):
                self.assertTrue(os.access(os.path.join(harness.TOP, words[0]), os.X_OK), words[0])

    def test_configurations(self):
        found = 0
        for block in blocks():
            for _, text in re.findall(r"<<-?(\w+)\n(.*?)^\1$", block, re.DOTALL | re.MULTILINE):
                found += 1
                done = harness.run("memtamer-recommender", "--check-config", "--config", self.write("c.yaml", text))
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(found, 0)

    def test_the_figures_of_the_loop(self):
        """tests/e2e/test_loop.py proves that a retry gets twice the limit of the workload's YAML, and completes."""
        limit = loop_history.WORKLOADS["vit-train"].limit
        with open(README, encoding="utf-8") as file:
            self.assertIn(f"OOM-killed at the {limit}Mi of its YAML, and its retry completes with {2 * limit}Mi",
                          file.read().replace("\n", " "))

    def test_a_cluster_that_is_gone(self):
        """demo/loop does not take what a cluster left for a cluster that runs."""
        self.write("init.pid", "999999999 1\n")
        for left in (False, True):
            if left:
                self.write("ready", "")
            done = subprocess.run([os.path.join(harness.TOP, "demo/loop")], capture_output=True, text=True, check=False,
                                  timeout=harness.PATIENCE, env={**os.environ, "MEMTAMER_CLUSTER": self.folder})
            self.assertEqual((done.returncode, done.stdout), (1, ""), done)
            self.assertEqual(done.stderr, f"demo/loop: no cluster runs in {self.folder}: demo/cluster (or make cluster) "
                                          "starts one\n")
