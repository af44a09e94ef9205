# SPDX-License-Identifier: Apache-2.0
"""docs/GITOPS.md: its manifests render the chart, its profiles are read, its commands fit both; and the chart is what it
says of it. What a real API server takes is in test_cluster.py."""
import json
import re
import shlex
import tempfile
import unittest
from pathlib import Path

import yaml

import chart
import harness
from chart import find, objects

PAGE = (chart.ROOT / "docs/GITOPS.md").read_text()
PROGRAMS = chart.ROOT / "build/dev/bin"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def manifests(api_group):
    """The page's objects of a group."""
    return [item for block in blocks("yaml") for item in yaml.safe_load_all(block)
            if item.get("apiVersion", "").startswith(api_group)]


def commands():
    """Words of the page's commands."""
    return [shlex.split(line) for block in blocks("sh") for line in block.replace("\\\n", " ").splitlines()]


def merged(thing, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    made = dict(thing) if isinstance(thing, dict) else {}
    for key, value in patch.items():
        made[key] = merged(made.get(key), value)
    return {key: value for key, value in made.items() if value is not None}


class Manifests(unittest.TestCase):
    def setUp(self):
        self.application, = manifests("argoproj.io/")
        self.release, = manifests("helm.toolkit.fluxcd.io/")

    def rendered(self, values, namespace):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(values, file)
            # without chart.REQUIRED: the page must say all that is needed
            code, out, err = chart.helm("template", "memtamer", chart.CHART, "--namespace", namespace, "--values", file.name)
        self.assertEqual(code, 0, err)
        return [item for item in yaml.safe_load_all(out) if item]

    def test_both_render_the_chart(self):
        source, spec = self.application["spec"]["source"], self.release["spec"]
        for path, values, namespace in (
                (source["path"], source["helm"]["valuesObject"], self.application["spec"]["destination"]["namespace"]),
                (spec["chart"]["spec"]["chart"], spec["values"], self.release["metadata"]["namespace"])):
            self.assertEqual((chart.ROOT / path).resolve(), chart.CHART)
            items = self.rendered(values, namespace)
            self.assertEqual(items, objects())
        self.assertEqual(self.application["metadata"]["name"], "memtamer")
        self.assertNotIn("releaseName", source["helm"])

    def test_both_have_this_version(self):
        tag = "v" + yaml.safe_load((chart.CHART / "Chart.yaml").read_text())["version"]
        repository, = manifests("source.toolkit.fluxcd.io/")
        self.assertEqual(self.application["spec"]["source"]["targetRevision"], tag)
        self.assertEqual(repository["spec"]["ref"]["tag"], tag)
        self.assertEqual(self.release["spec"]["chart"]["spec"]["sourceRef"]["name"], repository["metadata"]["name"])
        self.assertEqual(self.release["metadata"]["namespace"], repository["metadata"]["namespace"])

    def test_the_namespace_takes_the_pods(self):
        space, = manifests("v1")
        made = self.application["spec"]["syncPolicy"]["managedNamespaceMetadata"]["labels"]
        self.assertEqual((space["metadata"]["name"], space["metadata"]["labels"]), (chart.NAMESPACE, made))
        # test_values.py: the pods are restricted
        self.assertEqual(made, {"pod-security.kubernetes.io/enforce": "restricted"})

    def test_commands_stop_the_tools(self):
        patched = {}
        for words in commands():
            if "patch" not in words:
                continue
            kind, name = words[words.index("patch") + 1:][:2]
            thing = {"application": self.application, "helmrelease": self.release}[kind]
            self.assertEqual((thing["metadata"]["name"], thing["metadata"]["namespace"]),
                             (name, words[words.index("--namespace") + 1]))
            patched[kind] = merged(thing, json.loads(words[words.index("--patch") + 1]))["spec"]
        self.assertNotIn("automated", patched["application"]["syncPolicy"])
        self.assertIn("syncOptions", patched["application"]["syncPolicy"])
        self.assertTrue(patched["helmrelease"]["suspend"])

    def test_the_probe_is_that_of_helm_test(self):
        words, = (words for words in commands() if "exec" in words)
        target, _, program, *arguments = words[words.index("exec") + 1:]
        container = find(objects(), "Pod", "memtamer-probe")["spec"]["containers"][0]
        self.assertEqual(container["command"] + container["args"], [f"/usr/bin/{program}", *arguments])
        find(objects(), "Deployment", target.removeprefix("deployment/"))
        self.assertEqual(words[words.index("--namespace") + 1], chart.NAMESPACE)

    def test_every_block_is_checked(self):
        kinds = [item.get("kind") for block in blocks("yaml") for item in yaml.safe_load_all(block)]
        self.assertEqual(kinds, ["Application", "Namespace", "GitRepository", "HelmRelease", "MemoryProfile", "MemoryProfile",
                                 None])  # the annotation of an Application
        self.assertEqual([next(word for word in words if word in ("exec", "patch")) for words in commands()],
                         ["exec", "patch", "patch"])
        self.assertEqual(len(re.findall("^```", PAGE, re.M)), 2 * (len(blocks("yaml")) + len(blocks("sh"))))


class Claims(unittest.TestCase):
    def test_rendering_depends_on_the_values_only(self):
        for path in (chart.CHART / "templates").rglob("*.*"):
            # of what sprig and helm have, all that differs from one rendering to the next
            for action in re.findall(r"\{\{(.*?)\}\}", path.read_text(), re.S):
                self.assertNotRegex(action, r"\b(lookup|rand\w+|uuidv4|now|gen[A-Z]\w+|htpasswd|bcrypt)\b|Release\.Is")
        hooks = {item["metadata"]["annotations"]["helm.sh/hook"] for values in chart.value_sets() for item in objects(values)
                 if "helm.sh/hook" in item["metadata"].get("annotations", {})}
        self.assertEqual(hooks, {"test"})

    def test_what_changes_at_run_time_is_not_rendered(self):
        table = re.findall(r"^\| `(data|status|clientConfig\.caBundle)` of (.*?) \|", PAGE, re.M)
        self.assertEqual(len(table), 4)
        items = objects()
        named = [name for field, names in table if field == "data" for name in re.findall("`(.*?)`", names)]
        empty = [item["metadata"]["name"] for item in items if item["kind"] in ("Secret", "ConfigMap") and "data" not in item]
        self.assertEqual(sorted(named), sorted(empty))
        for item in items:
            self.assertNotIn("status", item)
            for webhook in item.get("webhooks", []):
                self.assertNotIn("caBundle", webhook["clientConfig"])

    def test_leases_are_made_by_the_programs(self):
        names = re.search(r"two Leases, `(.*?)` and `(.*?)`", PAGE).groups()
        items = objects()
        self.assertNotIn("Lease", [item["kind"] for item in items])
        granted = {name for item in items if item["kind"] == "Role" for rule in item["rules"] if "leases" in rule["resources"]
                   for name in rule.get("resourceNames", [])}
        self.assertEqual(granted, set(names))

    def test_definitions_are_templates_that_are_kept(self):
        self.assertFalse((chart.CHART / "crds").exists())

        def definitions(*values):
            return [item for item in objects(*values) if item["kind"] == "CustomResourceDefinition"]

        self.assertEqual(len(definitions()), 3)
        for item in definitions():
            self.assertEqual(item["metadata"]["annotations"]["helm.sh/resource-policy"], "keep")
        self.assertEqual(definitions("crds.enabled=false"), [])


@unittest.skipUnless(PROGRAMS.exists(), f"no {PROGRAMS}")
class Profiles(harness.Case):
    def test_they_are_applied_to_their_workload(self):
        pinned, capped = manifests("memtamer.io/")
        namespace = pinned["metadata"]["namespace"]
        self.assertEqual(capped["metadata"], {"name": "memtamer-namespace", "namespace": namespace})
        template = {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "trainer", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}
        self.write("job.json", json.dumps({
            "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template},
            "metadata": {"name": pinned["spec"]["workloadRef"]["name"] + "-20261101", "namespace": namespace}}))

        def review(*profiles):
            self.write("store.json", json.dumps(harness.store(*profiles)))
            self.write("c.yaml", "apiVersion: config.memtamer.io/v1alpha1\nmode: raise\nstore: {kind: file, path: store.json}\n")
            done = harness.run("memtamer-webhook", "review", "--config", "c.yaml", "--fail-on", "deny", "job.json", cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        limit = pinned["spec"]["pinLimit"]
        self.assertIn(f"will be {limit} (pinned by spec.pinLimit)", review(pinned, capped))
        self.assertNotIn(f"will be {limit}", review(pinned, merged(capped, {"spec": {"modeCap": "observe"}})))
