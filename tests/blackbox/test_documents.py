# SPDX-License-Identifier: Apache-2.0
"""What the documents name exists: subcommands and options of the programs, scripts, keys of the configuration and of
the chart, fields of objects, labels, metrics, and messages that are quoted. Their examples in YAML do what is said of
them. Commands that need a cluster are run by tests/e2e/test_docs.py."""
import functools
import glob
import os
import re
import shlex
import subprocess

import harness
import yaml

PROGRAMS = ("memtamer-webhook", "memtamer-recommender", "kubectl-memtamer")
GUIDES = ("docs/ML-ENGINEERS.md", "docs/TROUBLESHOOTING.md", "docs/FIRST-30-DAYS.md", "docs/COMING-FROM.md")


@functools.cache
def text(name):
    with open(os.path.join(harness.TOP, name), encoding="utf-8") as file:
        return file.read()


@functools.cache
def pages():
    """Names of all documents."""
    found = [os.path.relpath(path, harness.TOP) for path in sorted(glob.glob(os.path.join(harness.TOP, "docs/*.md")))]
    return ["README.md", "CONTRIBUTING.md", "charts/memtamer/README.md", "charts/memtamer/templates/NOTES.txt", *found]


def blocks(page, *kinds):
    """Code blocks of these kinds, also indented ones of lists."""
    return re.findall(rf"^ *```(?:{'|'.join(kinds)})\n(.*?)^ *```", text(page), re.DOTALL | re.MULTILINE)


def prose(page):
    """The page without code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", text(page), flags=re.DOTALL | re.MULTILINE)


def spans(page):
    """Code within the text."""
    return re.findall(r"`([^`\n]+)`", prose(page))


def lines(page):
    """Command lines: of shell blocks and of blocks of text, and code within the text."""
    for block in blocks(page, "sh", "text"):
        block = re.sub(r"<<-?(\w+)\n.*?^\1\n?", "\n", block, flags=re.DOTALL | re.MULTILINE)
        yield from block.replace("\\\n", " ").splitlines()
    yield from spans(page)


def calls(page):
    """(program, words after it) of each call of a program of ours."""
    for line in lines(page):
        line = re.sub(r"kubectl +memtamer\b", "kubectl-memtamer", line.partition("  #")[0])
        words = re.sub(r"[\[\]]", " ", line).split()
        for i, word in enumerate(words):
            if os.path.basename(word) in PROGRAMS and not word.startswith("deployment/"):
                yield os.path.basename(word), words[i + 1:]


@functools.cache
def usage(*command):
    done = harness.run(*command, "--help")
    return done.stdout if done.returncode == 0 else None


def rows(page):
    """The key in the first cell of each row of a generated page."""
    return set(re.findall(r"^\| (?:\w+ |label, else annotation )?`([^`]+)`", text(page), re.MULTILINE))


def is_key(name, keys):
    """Whether it is one of the keys, a part of the tree that has some of them, or within one that is an object."""
    return name in keys or any(key.startswith(name + ".") or name.startswith(key + ".") for key in keys)


@functools.cache
def messages():
    """The strings of the programs' sources, parts joined."""
    found = []
    for folder in ("common", "webhook", "recommender", "plugin"):
        for path in glob.glob(os.path.join(harness.TOP, folder, "**/*.[cdh]*"), recursive=True):
            with open(path, encoding="utf-8") as file:
                found.append(re.sub(r'"\s*\n\s*"', "", file.read()))
    return "\n".join(found)


def without_numbers(words):
    return re.sub(r"\d[\d.]*(?:[KMGT]i)?", "N", words)


class Documents(harness.Case):
    def test_commands_of_ours(self):
        seen = set()
        for page in pages():
            for program, words in calls(page):
                command = words[0] if words and re.fullmatch(r"[a-z]+", words[0]) else None
                if words and not command and not words[0].startswith("-"):
                    continue  # the program's name in a sentence, a path
                with self.subTest(page=page, program=program, words=" ".join(words)):
                    shown = usage(program, command) if command else usage(program)
                    self.assertIsNotNone(shown, "no such command")
                    for option in (word for word in words if word.startswith("-") and len(word) > 1):
                        self.assertRegex(shown, r"(?m)(^|[\s,])" + re.escape(option.split("=")[0]) + r"\b")
                    seen.add(f"{program} {command}")
        self.assertLessEqual({"kubectl-memtamer explain", "kubectl-memtamer undo", "memtamer-recommender probe",
                              "memtamer-recommender backtest", "memtamer-webhook review"}, seen)

    def test_scripts(self):
        seen = set()
        for page in pages():
            for line in (line for block in blocks(page, "sh") for line in block.splitlines()):
                for path in re.findall(r"(?<![\w./-])((?:demo|tests|docs|charts|image)/[\w/.-]+)", line):
                    with self.subTest(page=page, path=path):
                        self.assertTrue(os.path.exists(os.path.join(harness.TOP, path)), path)
                        seen.add(path)
        self.assertLessEqual({"demo/run", "tests/run", "image/build", "image/Containerfile", "charts/generate"}, seen)

    def test_ctests(self):
        lists = "".join(text(os.path.relpath(path, harness.TOP))
                        for path in glob.glob(os.path.join(harness.TOP, "tests/unit/*.cmake")))
        for line in re.findall(r"^ctest .*", text("CONTRIBUTING.md"), re.MULTILINE):
            for name in re.findall(r"\bunit-(\w+)", line):
                self.assertIn(f"memtamer_unit({name} ", lists)

    def test_keys_of_the_configuration_and_the_chart(self):
        keys = rows("docs/CONFIGURATION.md") | rows("charts/memtamer/README.md")
        tops = {key.split(".")[0] for key in rows("docs/CONFIGURATION.md") if "." in key} | {"config"}
        n = 0
        for page in pages():
            for span in spans(page):
                name = re.match(r"[A-Za-z]+(?:\.[A-Za-z]+)+(?!\S*/)", span)
                if not name or name[0].split(".")[0] not in tops or re.search(r"\.(ya?ml|[ch])$", name[0]):
                    continue
                n += 1
                with self.subTest(page=page, key=name[0]):
                    self.assertTrue(is_key(name[0].removeprefix("config."), keys), "no such key")
            for block in blocks(page, "sh"):
                for name in re.findall(r"--set ([\w.]+)=", block):
                    with self.subTest(page=page, key=name):
                        self.assertTrue(is_key(name, keys) or is_key(name.removeprefix("config."), keys), "no such value")
        self.assertGreater(n, 100)

    def test_fields_labels_and_metrics(self):
        fields, metrics = rows("docs/OBJECTS.md"), rows("docs/METRICS.md")
        label_of = re.compile(r"(?<![\w.])memtamer\.io/[a-z]+(?:-[a-z]+)*(?!\w)")
        labels = set(label_of.findall(text("docs/LABELS.md")))
        for page in pages():
            for label in label_of.findall(prose(page) + "".join(blocks(page, "sh", "yaml"))):
                with self.subTest(page=page, label=label):
                    self.assertTrue(label in labels or label.endswith(("profiles", "nodeshapes")))
            for metric in (span for span in spans(page) if re.match(r"memtamer_\w+(?!\w|\()", span)):
                with self.subTest(page=page, metric=metric):
                    self.assertTrue(any(name.startswith(re.match(r"\w+", metric)[0]) for name in metrics))
        for page in GUIDES:
            for span in spans(page):
                name = re.match(r"(?:spec|status)\.[A-Za-z]+(?:\.[A-Za-z]+)*", span)
                if name and not name[0].startswith("spec.template"):
                    with self.subTest(page=page, field=name[0]):
                        self.assertTrue(is_key(name[0], fields))

    def test_quoted_messages(self):
        """In the first cell of a table."""
        warnings = without_numbers(text("tests/golden/warnings.txt"))
        n = 0
        for page in ("docs/ML-ENGINEERS.md", "docs/TROUBLESHOOTING.md"):
            for cell in re.findall(r"^\| (.*?) \|", text(page), re.MULTILINE):
                for quote in re.findall(r"`([^`]+)`", cell):
                    quote = re.sub(r" \(.*", "", quote)
                    if " " not in quote:
                        continue
                    n += 1
                    with self.subTest(page=page, quote=quote):
                        self.assertTrue(quote in messages() or without_numbers(quote) in warnings, "no program says this")
        self.assertGreater(n, 20)

    def test_what_readme_does_in_a_cluster(self):
        """Each command but the installation stands in INSTALL.md, whose commands run on a real cluster."""
        install, n = " ".join("\n".join(blocks("docs/INSTALL.md", "sh")).split()), 0
        for block in blocks("README.md", "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] in (["helm"], ["kubectl"]) and words[1] != "install":
                    n += 1
                    self.assertIn(" ".join(words), install)
        self.assertGreaterEqual(n, 3)

    def review(self, *objects):
        manifest = self.write("m.yaml", yaml.safe_dump_all(objects))
        return harness.run("memtamer-webhook", "review", "--store", "none", "-v", manifest).stdout

    def test_the_pod_template_for_ml_engineers(self):
        spec = yaml.safe_load(blocks("docs/ML-ENGINEERS.md", "yaml")[0])["spec"]
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "ml"},
               "spec": {"template": {"spec": {"restartPolicy": "Never", **spec}}}}
        self.assertRegex(self.review(job), r"Job/train: no findings")

    def test_a_log_without_the_plugin(self):
        """The two lines for a container that ended with an error, with a kubectl that prints its log."""
        lines = re.search(r"^kubectl logs .*\nmemtamer-recommender triage .*$", text("docs/ML-ENGINEERS.md"), re.MULTILINE)[0]
        log = os.path.join(harness.TOP, "demo/logs/rank3.log")
        os.chmod(self.write("kubectl", f'#!/bin/sh\necho "$@" >asked\ncat {log}\n'), 0o755)
        path = f"{self.folder}:{os.path.dirname(harness.program('memtamer-recommender'))}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-ec", lines], capture_output=True, text=True, check=False, timeout=harness.PATIENCE,
                              cwd=self.folder, env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("asked"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "logs POD -n NAMESPACE --previous\n")
        expected = harness.run("memtamer-recommender", "triage", "--log", log).stdout.splitlines()[0]
        self.assertEqual(done.stdout.splitlines()[0], expected)

    def test_memory_is_taken_out_of_a_vpa(self):
        vpa = yaml.safe_load(blocks("docs/COMING-FROM.md", "yaml")[0])
        pod = {"restartPolicy": "Never", "containers": [{
            "name": "trainer", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "4Gi"}}}]}
        job = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {
            "name": vpa["spec"]["targetRef"]["name"], "namespace": vpa["metadata"]["namespace"]},
            "spec": {"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}}
        self.assertNotIn("sized-by-vpa", self.review(vpa, job))
        del vpa["spec"]["resourcePolicy"]
        self.assertIn("sized-by-vpa", self.review(vpa, job))
