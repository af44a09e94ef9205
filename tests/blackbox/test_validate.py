# SPDX-License-Identifier: Apache-2.0
"""Objects that make pods, posted to /validate as the API server does: the same findings as `review` gives, as warnings."""
import copy
import glob
import json
import os

import harness
import yaml
from harness import Case, job_pod, profile, store, training_pod

MANIFESTS = os.path.join(harness.TOP, "tests/support/manifests")
GOLDEN = os.path.join(harness.TOP, "tests/golden/cases")


def manifests():
    """(name, object) of every object of the manifests that makes pods."""
    for path in sorted(glob.glob(os.path.join(MANIFESTS, "*"))):
        with open(path, encoding="utf-8") as file:
            documents = [json.load(file)] if path.endswith(".json") else [one for one in yaml.safe_load_all(file) if one]
        for document in documents:
            for thing in document["items"] if document["kind"] == "List" else [document]:
                if thing["kind"] != "Pod" and "spec" in thing:
                    yield f"{os.path.basename(path)}:{thing['kind']}", thing


def objects():
    """The manifests, and the golden cases that make pods and need nothing but mode raise."""
    yield from manifests()
    for folder in sorted(glob.glob(os.path.join(GOLDEN, "*", ""))):
        with open(os.path.join(folder, "object.json"), encoding="utf-8") as file:
            thing = json.load(file)
        with open(os.path.join(folder, "config.yaml"), encoding="utf-8") as file:
            config = yaml.safe_load(file)
        if thing["kind"] != "Pod" and config.keys() == {"apiVersion", "mode"} and config["mode"] == "raise":
            yield os.path.basename(os.path.dirname(folder)), thing


def question_of(thing, old=None, **request):
    """An AdmissionReview as the API server sends it for an object that makes pods."""
    group, _, version = thing["apiVersion"].rpartition("/")
    review = harness.review_of(thing, user="kate", operation="UPDATE" if old else "CREATE")
    kind = {"group": group, "version": version, "kind": thing["kind"]}
    resource = {"group": group, "version": version, "resource": thing["kind"].lower() + "s"}
    review["request"].update({"kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
                              "oldObject": old, **request})
    return review


def post(case, webhook, path, question):
    """The response of a review that was answered, which is the question's."""
    status, _, body = webhook.request("POST", path, json.dumps(question), {"Content-Type": "application/json"})
    case.assertEqual(status, 200, body)
    response = json.loads(body)["response"]
    case.assertEqual(response["uid"], question["request"]["uid"])
    return response


class Validate(Case):
    sample = True

    def ask(self, webhook, thing, old=None, **request):
        """The response, checked as the API server checks it: never a patch."""
        response = post(self, webhook, "/validate?timeout=10s", question_of(thing, old, **request))
        self.assertNotIn("patch", response)
        self.assertNotIn("patchType", response)
        warnings = response.get("warnings", [])
        self.assertLessEqual(len(warnings), 10)
        self.assertEqual(len(warnings), len(set(warnings)))
        for line in warnings:
            self.assertTrue(len(line) <= 120 and line.isascii() and line.isprintable(), line)
        return response

    def review(self, thing):
        """Findings of `review -o json` for the same object: [{check, message, container, role ...}]."""
        done = harness.run("memtamer-webhook", "review", "--config", self.path("memtamer.yaml"), "-o", "json",
                           "--namespace", "default", self.write("object.json", json.dumps(thing)))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = []

        def walk(node):
            if isinstance(node, dict) and "check" in node:
                found.append(node)
            elif isinstance(node, (dict, list)):
                for child in node.values() if isinstance(node, dict) else node:
                    walk(child)
        walk(json.loads(done.stdout))
        return found

    def assert_says(self, warnings, findings):
        """Each finding is in one warning (whose end may be cut), and each warning is of a finding."""
        messages = {finding["message"] for finding in findings}
        said = set()
        for line in warnings:
            text = line.removesuffix("...")
            matching = {one for one in messages if any(text.endswith(one[:size]) for size in range(len(one), 15, -1))}
            self.assertTrue(matching, f"a warning of no finding: {line}")
            said |= matching
        if len(warnings) < 10:
            self.assertEqual(said, messages)

    def test_the_same_as_review(self):
        webhook = self.webhook("mode: raise", store())
        count = 0
        for name, thing in objects():
            with self.subTest(name):
                response = self.ask(webhook, thing)
                findings = self.review(thing)
                self.assertIs(response["allowed"], True)
                self.assert_says(response.get("warnings", []), findings)
                count += bool(findings)
        self.assertGreater(count, 12, "where are the objects?")

    def test_update(self):
        webhook = self.webhook("mode: raise", store())
        for name, thing in manifests():
            with self.subTest(name):
                first = self.ask(webhook, thing)
                same = copy.deepcopy(thing)
                same["metadata"]["labels"] = {"added": "later"}
                same["status"] = {"conditions": []}
                self.assertEqual(self.ask(webhook, same, old=thing).get("warnings", []), [])
                changed = copy.deepcopy(thing)
                changed["spec"]["suspend"] = True
                self.assertEqual(self.ask(webhook, thing, old=changed).get("warnings"), first.get("warnings"))
                child = copy.deepcopy(thing)
                child["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1",
                                                         "controller": True}]
                self.assertEqual(self.ask(webhook, child).get("warnings", []), [])
                self.assertEqual(self.ask(webhook, thing, dryRun=True).get("warnings"), first.get("warnings"))
        self.assertGreater(webhook.metric("memtamer_validation_skipped_total", reason="spec-unchanged"), 8)
        self.assertGreater(webhook.metric("memtamer_validation_skipped_total", reason="controlled"), 8)
        self.assertGreater(webhook.metric("memtamer_validation_requests_total", result="warned", dry_run="true"), 8)
        self.assertGreater(webhook.metric("memtamer_validation_duration_seconds_count"), 40)
        self.assertGreater(webhook.metric("memtamer_validation_findings_total", check="memory-limit-missing"), 8)
        self.assertIsNone(webhook.metric("memtamer_admission_requests_total"), "no pod was asked about")

    def test_history_shows_before_anything_runs(self):
        """What the object's dry run announces is what its pods get."""
        webhook = self.webhook("mode: raise", store(profile("a-0123456789", "Job/a", limit="12Gi")))
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "ml"},
               "spec": {"template": {"spec": training_pod()["spec"]}}}
        warnings = self.ask(webhook, job, dryRun=True)["warnings"]
        self.assertTrue(any("no memory limit; will be 12Gi" in line for line in warnings),
                        warnings)
        patch = harness.patch_of(webhook.admit(job_pod("a")))
        self.assertIn("12Gi", [op["value"] for op in patch])

    def test_deny(self):
        webhook = self.webhook("mode: fill\nchecks: { memory-limit-missing: deny }", store())
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "ml"},
               "spec": {"template": {"spec": training_pod()["spec"]}}}
        response = self.ask(webhook, job)
        self.assertIs(response["allowed"], False)
        self.assertEqual(response["status"]["code"], 403)
        for words in ('container "pytorch"', "no memory limit", "memory-limit-missing"):
            self.assertIn(words, response["status"]["message"])
        self.assertIs(self.ask(webhook, job, old=copy.deepcopy(job))["allowed"], True)
        self.assertIs(webhook.admit(job_pod("a"))["allowed"], True, "a pod is never refused")
        self.assertEqual(webhook.metric("memtamer_validation_requests_total", result="denied"), 1)

    def test_bad_input(self):
        webhook = self.webhook("mode: raise", store())
        rss = self.rss_kib(webhook)
        for body, want in ((b"", 400), (b"{", 400), (b"[" * 100000, 400), (b"\xff\xfe", 400)):
            self.assertEqual(webhook.request("POST", "/validate", body, {"Content-Type": "application/json"})[0], want)
        self.assertEqual(webhook.request("GET", "/validate")[0], 405)
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "ml"},
               "spec": {"template": {"spec": {"containers": [{}] * 1000000}}}}
        self.assertIs(self.ask(webhook, job)["allowed"], True)
        job["spec"] = {"template": {"spec": training_pod()["spec"]}, "x": [{}] * 200000}
        old = copy.deepcopy(job)
        old["spec"]["x"][0] = {"a": 1}
        self.assertTrue(self.ask(webhook, job, old=old)["warnings"])
        self.assertEqual(webhook.metric("memtamer_validation_errors_total", reason="bad-pod"), 1)
        self.assertTrue(webhook.is_ready())
        if not harness.WRAP and "Sanitizer" not in self.sanitizer():
            self.assertLess(self.rss_kib(webhook) - rss, 48 * 1024, "large bodies leave no large memory behind")

    def sanitizer(self):
        """What the program is built with, by its symbols."""
        with open(harness.program("memtamer-webhook"), "rb") as file:
            return "Sanitizer" if b"__asan_init" in (text := file.read()) or b"__tsan_init" in text else ""

    @staticmethod
    def rss_kib(webhook):
        with open(f"/proc/{webhook.process.pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


class Audit(Case):
    sample = True

    def lines(self, webhook):
        return [json.loads(line) for line in webhook.log().splitlines() if '"pod patched"' in line]

    def test_a_line_for_each_patched_pod(self):
        webhook = self.webhook("mode: raise\nlog: { format: json }",
                               store(profile("a-0123456789", "Job/a", request="8Gi", limit="12Gi")))
        pod = job_pod("a", resources={"limits": {"nvidia.com/gpu": "1", "memory": "4Gi"},
                                      "requests": {"memory": "4Gi"}})
        webhook.admit(pod, uid="one")
        webhook.admit({**pod, "spec": {"containers": [{"name": "web"}]}, "metadata": {"name": "web"}}, uid="two")
        webhook.admit(pod, uid="three", dry_run=True)
        harness.wait_until(lambda: len(self.lines(webhook)) == 2, "two audit lines")
        first, second = self.lines(webhook)
        self.assertEqual(first["level"], "info")
        want = {"uid": "one", "namespace": "ml", "pod": "a-", "owner": "Job/a", "root": "Job/a", "mode": "raise",
                "revision": 1, "runs": 14, "dry_run": False}
        self.assertEqual({key: first[key] for key in want}, want)
        self.assertTrue(first["workload"].startswith("a-"), first)
        changes = {(one["container"], one["resource"], one["field"]): one for one in first["changes"]}
        limit = changes[("pytorch", "memory", "limit")]
        self.assertEqual((limit["from"], limit["to"]), ("4Gi", "12Gi"))
        self.assertTrue(limit["rule"])
        self.assertEqual((second["uid"], second["dry_run"]), ("three", True))

    def test_logfmt_and_off(self):
        webhook = self.webhook("mode: raise", store())
        webhook.admit(training_pod(), uid="one")
        harness.wait_until(lambda: 'msg="pod patched" uid=one' in webhook.log(), "the audit line")
        (line,) = [line for line in webhook.log().splitlines() if "pod patched" in line]
        self.assertIn(" revision=null ", line)
        _, _, changes = line.partition(" changes=")
        self.assertEqual(json.loads(json.loads(changes))[0]["container"], "pytorch")
        webhook.configure("mode: raise\nlog: { audit: false }")
        harness.wait_until(lambda: webhook.metric("memtamer_config_reloads_total", result="ok"), "the new configuration")
        self.assertTrue(harness.patch_of(webhook.admit(training_pod(), uid="two")))
        self.assertNotIn("uid=two", webhook.log())

    def test_age_of_the_snapshot(self):
        webhook = self.webhook("mode: raise", store())
        self.assertGreaterEqual(webhook.metric("memtamer_snapshot_age_seconds"), 0)
        harness.write_atomic(self.path("profiles.json"), "torn")
        harness.wait_until(lambda: webhook.metric("memtamer_store_reloads_total", result="failed"), "the refusal")
        age = webhook.metric("memtamer_snapshot_age_seconds")
        harness.wait_until(lambda: webhook.metric("memtamer_snapshot_age_seconds") > age + 3, "it to grow")
        harness.write_atomic(self.path("profiles.json"), json.dumps(store()))
        harness.wait_until(lambda: webhook.metric("memtamer_snapshot_age_seconds") < 2.5, "a good store again")
