# SPDX-License-Identifier: Apache-2.0
"""README.md is true: its commands for the reader's own Prometheus run as written, and then those of docs/COMING-FROM.md."""
import os
import re
import shlex
import tempfile
import time
import unittest

import harness
import real_prometheus

PAGES = "README.md", "docs/COMING-FROM.md"
STATUS = {"review": 1}  # it finds something in demo/manifests; the other commands end with 0


def blocks():
    """The shell blocks of the pages, in order."""
    for page in PAGES:
        with open(os.path.join(harness.TOP, page), encoding="utf-8") as file:
            yield from re.findall(r"^```sh\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


def config_text():
    """The configuration that the README writes with a here document."""
    return re.search(r"cat >memtamer\.yaml <<YAML\n(.*?)^YAML$", "".join(blocks()), re.MULTILINE | re.DOTALL)[1]


def commands():
    """Each command line of ours: (program, arguments)."""
    found = []
    for line in "".join(blocks()).splitlines():
        match = re.match(r"build/release/bin/(memtamer-\S+)(.*)", line)
        if match:
            found.append((match[1], shlex.split(match[2], comments=True)))
    return found


@unittest.skipUnless(real_prometheus.is_installed(), "prometheus is not installed")
class Readme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        name = cls.folder.name
        prometheus = real_prometheus.Prometheus(
            os.path.join(name, "prometheus"), real_prometheus.demo_text(name, int(time.time())))
        cls.addClassCleanup(prometheus.stop)
        text = config_text()
        assert "http://127.0.0.1:9090" in text, text
        with open(os.path.join(name, "memtamer.yaml"), "w", encoding="utf-8") as file:
            file.write(text.replace("http://127.0.0.1:9090", prometheus.url))
        os.symlink(os.path.join(harness.TOP, "demo"), os.path.join(name, "demo"))
        cls.before = set(os.listdir(name))

    def test_commands_run_as_written(self):
        self.assertGreaterEqual(len(commands()), 6)
        for program, arguments in commands():
            with self.subTest(command=" ".join([program, *arguments])):
                done = harness.run(program, *arguments, cwd=self.folder.name)
                self.assertEqual(done.returncode, STATUS.get(arguments[0], 0), done.stderr)
        written = set(os.listdir(self.folder.name)) - self.before
        self.assertTrue(all(re.fullmatch(r"profiles\.json(\..+)?", file) for file in written), written)


if __name__ == "__main__":
    unittest.main()
