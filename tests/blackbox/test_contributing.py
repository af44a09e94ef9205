# SPDX-License-Identifier: Apache-2.0
"""CONTRIBUTING.md is true: its commands run as written, rows that exist stand in the files that are named, and the example
of a check compiles."""
import filecmp
import functools
import glob
import os
import re
import shlex
import shutil
import subprocess
import unittest

import harness

BUILD = os.path.dirname(os.path.abspath(os.environ.get("MEMTAMER_BIN", os.path.join(harness.TOP, "build/dev/bin"))))
SECTIONS = "A first evening", "Add a check", "Add a kind", "Add a metric"
# They install, build, need helm or a repository, or run these tests.
NOT_RUN = {("tests/install", "build"), ("cmake", "--preset"), ("charts/generate",), ("tests/chart/run.py", "--write-rbac"),
           ("git", "diff"), ("/usr/bin/python3", "-B")}
WRITTEN = "docs", "manifests", "charts", "tests/golden"
FLAGS = "-std=gnu17 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wconversion -Wmissing-prototypes -Werror".split()


def text(path):
    with open(os.path.join(harness.TOP, path), encoding="utf-8") as file:
        return file.read()


@functools.cache
def section(name):
    return re.search(rf"^## {name}\n(.*?)(?=^## )", text("CONTRIBUTING.md"), re.MULTILINE | re.DOTALL)[1]


def blocks(name, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", section(name), re.MULTILINE | re.DOTALL)


def commands():
    """Words of each command, in order."""
    for name in SECTIONS:
        for line in "".join(blocks(name, "sh")).splitlines():
            yield shlex.split(line, comments=True)


def squeezed(code):
    """Without what a formatter changes: white space, and where a string is broken."""
    return re.sub(r"\s", "", re.sub(r'"\s+"', "", code))


class Contributing(harness.Case):
    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "tests/golden/golden_runner")), "a build without tests")
    def test_commands_run_as_written(self):
        """In a copy whose build/dev is the build under test. What they write again is what it was."""
        clone = self.path("clone")
        for folder in ("", "tests", "build"):
            os.mkdir(os.path.join(clone, folder))
        for folder in ("", "tests"):
            for name in set(os.listdir(os.path.join(harness.TOP, folder))) - {"tests", "build", ".git"}:
                path = os.path.join(folder, name)
                if path in WRITTEN:
                    shutil.copytree(os.path.join(harness.TOP, path), os.path.join(clone, path))
                else:
                    os.symlink(os.path.join(harness.TOP, path), os.path.join(clone, path))
        os.symlink(BUILD, os.path.join(clone, "build/dev"))
        n = 0
        for words in commands():
            if tuple(words[:2]) in NOT_RUN:
                continue
            n += 1
            with self.subTest(" ".join(words)):
                done = subprocess.run(words, cwd=clone, capture_output=True, text=True, timeout=harness.PATIENCE, check=False)
                self.assertEqual(done.returncode, 1 if "review" in words else 0, done.stdout + done.stderr)
                self.assertNotIn("No tests were found", done.stdout + done.stderr)
        self.assertGreaterEqual(n, 6)
        for folder in WRITTEN:
            self.assert_same(filecmp.dircmp(os.path.join(harness.TOP, folder), os.path.join(clone, folder)))

    def assert_same(self, compared):
        self.assertEqual((compared.diff_files, compared.left_only, compared.right_only), ([], [], []), compared.left)
        for inner in compared.subdirs.values():
            self.assert_same(inner)

    def test_those_that_are_not_run(self):
        self.assertEqual({tuple(words[:2]) for words in commands()} & NOT_RUN, NOT_RUN)
        names = [words[-1] for words in commands() if words[2:3] == ["tests/blackbox/run.py"]]
        self.assertEqual([bool(glob.glob(os.path.join(harness.TOP, f"tests/blackbox/**/{name}*.py"), recursive=True))
                          for name in names], [True])

    def test_rows_that_exist(self):
        """Each block stands in a file that its step names."""
        n = 0
        for name in ("Add a kind", "Add a metric"):
            for step in re.split(r"^(?=\d\. )", section(name), flags=re.MULTILINE)[1:]:
                named = [path for path in re.findall(r"`([\w./-]+)`", step) if os.path.isfile(os.path.join(harness.TOP, path))]
                for block in re.findall(r"^```(?:c|yaml)\n(.*?)^```$", step, re.MULTILINE | re.DOTALL):
                    n += 1
                    with self.subTest(block):
                        self.assertTrue(any(squeezed(block) in squeezed(text(path)) for path in named), f"not in {named}")
        self.assertEqual(n, 7)

    @unittest.skipUnless(shutil.which("gcc"), "gcc is not installed")
    def test_the_example_of_a_check_compiles(self):
        row, function, entry = blocks("Add a check", "c")
        policy = self.path("policy")
        shutil.copytree(os.path.join(harness.TOP, "common/policy"), policy)
        declaration = function.partition("\n")[0] + " ATTR_NODISCARD;\n"
        sources = "checks.c", "decide/decide_checks.c", "decide/decide_checks_amount.c"
        for path, find, replace in (("checks.def", r"\Z", row), ("decide/decide_checks.h", r"\Z", declaration),
                                    (sources[1], r"(?m)(?=^};)", entry), (sources[2], r"\Z", "\n" + function)):
            path = os.path.join(policy, path)
            with open(path, encoding="utf-8") as file:
                edited = re.sub(find, lambda _, new=replace: new, file.read(), count=1)
            self.write(path, edited)
        for path in sources:
            done = subprocess.run(["gcc", *FLAGS, "-I", self.folder, "-I", os.path.join(harness.TOP, "common"),
                                   os.path.join(policy, path)], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_helm_needs_no_kubernetes(self):
        """charts/generate calls tests/cluster/helm."""
        os.mkdir(self.path("assets"))
        helm = self.write("assets/helm", "#!/bin/sh\necho helm was called: \"$@\"\n")
        os.chmod(helm, 0o755)
        done = subprocess.run([os.path.join(harness.TOP, "tests/cluster/helm"), "template"], capture_output=True, text=True,
                              check=False, timeout=harness.PATIENCE,
                              env={**os.environ, "XDG_CACHE_HOME": self.folder, "MEMTAMER_CLUSTER": self.path("none"),
                                   "KUBEBUILDER_ASSETS": self.path("assets")})
        self.assertEqual((done.returncode, done.stdout), (0, "helm was called: template\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
