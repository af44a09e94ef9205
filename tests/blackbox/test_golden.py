# SPDX-License-Identifier: Apache-2.0
"""Every golden case through the real programs: pods over HTTPS, other kinds through `review`. The answers are those that
the runner inside the build gets; patches are applied by an independent library, and a second time there is nothing to do."""
import copy
import glob
import json
import os

import harness
import jsonpatch

CASES = os.path.join(harness.TOP, "tests/golden/cases")
UNTOUCHED = os.path.join(harness.TOP, "tests/golden/non-training")


def load(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file) if name.endswith(".json") else file.read()


def cases(top, want_pods):
    """{(config, store): [(name, object, expected, folder)]}: cases that can share a server."""
    groups = {}
    for folder in sorted(glob.glob(os.path.join(top, "*", ""))):
        thing = load(folder, "object.json")
        if (thing["kind"] == "Pod") != want_pods or load(folder, "case.json"):
            continue  # case.json: facts that only a cluster has
        config = "\n".join(line for line in (load(folder, "config.yaml") or "").splitlines()
                           if not line.startswith("apiVersion:"))
        profiles = json.dumps(load(folder, "profiles.json"))
        name = os.path.basename(os.path.dirname(folder))
        groups.setdefault((config, profiles), []).append((name, thing, load(folder, "expected.json"), folder))
    return groups


class Golden(harness.Case):
    def servers(self, top):
        """A webhook for each group of cases, one after the other: (webhook, name, pod, expected)."""
        authority = harness.Authority(self.folder)
        authority.issue("tls")
        count = 0
        for index, ((config, profiles), group) in enumerate(sorted(cases(top, True).items())):
            folder = self.path(str(index))
            os.mkdir(folder)
            webhook = harness.Webhook(folder, f"{config}\nwebhook.drain: 0s", authority=authority,
                                      profiles=None if profiles == "null" else profiles,
                                      tls="tls: { certFile: ../tls.crt, keyFile: ../tls.key }")
            try:
                for name, pod, expected, _ in group:
                    count += 1
                    yield webhook, name, pod, expected
                webhook.stop()
            finally:
                webhook.kill()
        self.assertGreater(count, 20, "where are the cases?")

    def test_pods_over_https(self):
        for webhook, name, pod, expected in self.servers(CASES):
            with self.subTest(name):
                response = webhook.admit(pod)
                patch = harness.patch_of(response)
                self.assertIs(response["allowed"], True)
                self.assertEqual(patch, expected["patch"])
                self.assertEqual(response.get("warnings", []), expected["warnings"])
                after = jsonpatch.apply_patch(copy.deepcopy(pod), patch)
                for size in expected["sizes"]:
                    self.assert_size(after, size)
                again = webhook.admit(after)
                self.assertEqual(harness.patch_of(again), [], "applying twice changes nothing")

    def assert_size(self, pod, size):
        containers = pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
        (container,) = [one for one in containers if one["name"] == size["container"]]
        self.assertEqual(container["resources"][size["field"] + "s"][size["resource"]], size["to"])

    def test_other_pods_are_not_touched(self):
        for webhook, name, pod, _ in self.servers(UNTOUCHED):
            with self.subTest(name):
                response = webhook.admit(pod)
                self.assertEqual(harness.patch_of(response), [])
                self.assertEqual(response.get("warnings", []), [])

    def test_templates_by_review(self):
        """The findings of each template, in order, as `review -o json` tells them."""
        count = 0
        for (config, profiles), group in cases(CASES, False).items():
            if profiles != "null":
                self.write("profiles.json", profiles)
            elif os.path.exists(self.path("profiles.json")):
                os.unlink(self.path("profiles.json"))
            path = self.write("c.yaml", "apiVersion: config.memtamer.io/v1alpha1\n"
                              f"store: {{ kind: file, path: profiles.json }}\n{config}\n")
            for name, thing, expected, folder in group:
                count += 1
                with self.subTest(name):
                    files = [self.write("object.json", json.dumps(thing)), *glob.glob(folder + "runtime.json")]
                    done = harness.run("memtamer-webhook", "review", "--config", path, "-o", "json", *files)
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    want = [(finding["check"], finding["text"]) for template in expected["templates"]
                            for finding in template["findings"]]
                    found = [(finding["check"], finding["message"])
                             for finding in json.loads(done.stdout)["findings"] if finding["file"] == files[0]]
                    self.assertEqual(found, want)
        self.assertGreater(count, 5, "where are the cases?")
