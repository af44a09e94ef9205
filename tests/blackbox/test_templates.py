# SPDX-License-Identifier: Apache-2.0
"""Objects that make pods, posted to /templates as the API server does: with `templates: patch` their pod templates get
their sizes when the object is created, and the same values again when the manifest is applied once more."""
import base64
import copy
import json

import jsonpatch
from harness import Case, patched, profile, store, training_pod, wait_until
from test_validate import manifests, post, question_of

SIZES = ("memory", "ephemeral-storage")
DISK = "\nsizing: { noHistoryEphemeralStorageRequest: 1Gi }"
ANNOTATION = "memtamer.io/template-decision"
PROFILE = profile("train", "Job/train", namespace="default", container="trainer", request="40Gi", limit="48Gi",
                  peak="42Gi", median="40Gi")


def job(name="train", resources=None, labels=None, owner=None):
    """A Job with one GPU, as its user writes it."""
    container = {"name": "trainer", "image": "registry/train:1",
                 "resources": resources or {"limits": {"nvidia.com/gpu": "1"}}}
    metadata = {"name": name, "namespace": "default", **({"labels": labels} if labels else {})}
    if owner:
        metadata["ownerReferences"] = [{**owner, "name": "owner", "uid": "11", "controller": True}]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
            "spec": {"template": {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}}}


def resources_in(node):
    """All `resources` of an object, in order."""
    if isinstance(node, dict):
        return [one for key in sorted(node) for one in
                ([node[key]] if key == "resources" and isinstance(node[key], dict) else resources_in(node[key]))]
    return [one for child in node for one in resources_in(child)] if isinstance(node, list) else []


def without_ours(thing):
    """An object without what memtamer may touch."""
    copied = copy.deepcopy(thing)

    def strip(node):
        if isinstance(node, dict):
            for field in ("requests", "limits"):
                if isinstance(node.get("resources"), dict) and isinstance(node["resources"].get(field), dict):
                    for name in SIZES:
                        node["resources"][field].pop(name, None)
                    if not node["resources"][field]:
                        del node["resources"][field]
            if node.get("resources") == {}:
                del node["resources"]
            for child in node.values():
                strip(child)
        elif isinstance(node, list):
            for child in node:
                strip(child)
    strip(copied)
    annotations = copied["metadata"].get("annotations", {})
    annotations.pop(ANNOTATION, None)
    if not annotations:
        copied["metadata"].pop("annotations", None)
    return copied


class Templates(Case):
    sample = True

    def ask(self, webhook, thing, old=None, **request):
        """(the object after the patch, the response)"""
        response = post(self, webhook, "/templates?timeout=2s", question_of(thing, old, **request))
        self.assertIs(response["allowed"], True)
        self.assertEqual("patch" in response, "patchType" in response)
        patch = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
        for operation in patch:
            self.assertIn(operation["op"], ("add", "replace"))
        return jsonpatch.apply_patch(thing, patch), response

    def test_every_manifest(self):
        """The patch applies by an independent library and touches nothing else; a second look changes nothing, nor does
        the manifest applied once more."""
        webhook = self.webhook("mode: raise\ntemplates: patch" + DISK, store())
        n_patched = 0
        for name, thing in manifests():
            with self.subTest(name):
                after, response = self.ask(webhook, thing)
                self.assertEqual(without_ours(after), without_ours(thing))
                self.assertEqual("patch" in response, ANNOTATION in after["metadata"].get("annotations", {}))
                again, response = self.ask(webhook, after)
                self.assertEqual(again, after)
                self.assertNotIn("patch", response)
                once_more, _ = self.ask(webhook, after, old=after)
                self.assertEqual(once_more, after)
                applied = copy.deepcopy(thing)
                applied["metadata"].setdefault("annotations", {}).update(after["metadata"].get("annotations", {}))
                if applied["metadata"]["annotations"] == {}:
                    del applied["metadata"]["annotations"]
                self.assertEqual(self.ask(webhook, applied, old=after)[0], after)
                n_patched += after != thing
        self.assertGreater(n_patched, 6, "where are the patches?")

    def test_both_webhooks_say_the_same(self):
        """What /validate says about an object after /templates has patched it was said by /templates, word for word."""
        webhook = self.webhook("mode: raise\ntemplates: patch", store(PROFILE))
        submitted = [*manifests(), ("queued", job(labels={"kueue.x-k8s.io/queue-name": "gpu"})), ("job", job())]
        n_said = 0
        for name, thing in submitted:
            with self.subTest(name):
                after, response = self.ask(webhook, thing)
                said = post(self, webhook, "/validate?timeout=2s", question_of(after)).get("warnings", [])
                if thing["kind"] != "CronJob":
                    self.assertLessEqual(set(said), set(response.get("warnings", [])))
                n_said += len(said)
        self.assertGreater(n_said, 6)

    def test_validate_alone(self):
        """Where /templates was not asked, /validate does not say that a size was set."""
        webhook = self.webhook("mode: raise\ntemplates: patch", store(PROFILE))
        said = post(self, webhook, "/validate?timeout=2s", question_of(job()))["warnings"]
        self.assertTrue(any("will be 48Gi" in line for line in said), said)
        self.assertFalse(any("set to" in line for line in said), said)

    def test_raise_and_apply_again(self):
        webhook = self.webhook("mode: raise\ntemplates: patch",
                               store(PROFILE))
        thing = job(resources={"requests": {"memory": "8Gi"}, "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"}})
        after, response = self.ask(webhook, thing)
        sizes = resources_in(after)[0]
        self.assertEqual((sizes["requests"]["memory"], sizes["limits"]["memory"]), ("40Gi", "48Gi"))
        self.assertTrue(any("set to 48Gi" in line for line in response["warnings"]), response)
        said = json.loads(after["metadata"]["annotations"][ANNOTATION])
        self.assertEqual({entry["at"] for entry in said["set"]}, {"/spec/template"})
        self.assertEqual({(entry["f"], entry["from"], entry["to"]) for entry in said["set"] if entry["r"] == "memory"},
                         {("request", "8Gi", "40Gi"), ("limit", "16Gi", "48Gi")})
        # kubectl apply once more: the manifest's values over the live object, whose annotations stay
        applied = copy.deepcopy(after)
        resources_in(applied)[0]["requests"]["memory"] = "8Gi"
        resources_in(applied)[0]["limits"]["memory"] = "16Gi"
        again, _ = self.ask(webhook, applied, old=after)
        self.assertEqual(again, after)
        # somebody's new word stays
        edited = copy.deepcopy(after)
        resources_in(edited)[0]["limits"]["memory"] = "64Gi"
        self.assertEqual(self.ask(webhook, edited, old=after)[0], edited)
        # and a size that would no longer fit beside it is not set
        edited = copy.deepcopy(after)
        resources_in(edited)[0]["requests"]["memory"] = "8Gi"
        resources_in(edited)[0]["limits"]["memory"] = "20Gi"
        self.assertEqual(self.ask(webhook, edited, old=after)[0], edited)

    def test_apply_again_of_no_whole_bytes(self):
        """The API server keeps `1.1Gi` as thousandths of a byte; the annotation names whole bytes."""
        webhook = self.webhook("mode: raise\ntemplates: patch", store(PROFILE))
        after, _ = self.ask(webhook, job(resources={"limits": {"memory": "1181116006400m", "nvidia.com/gpu": "1"}}))
        self.assertEqual(resources_in(after)[0]["limits"]["memory"], "48Gi")
        applied = copy.deepcopy(after)
        resources_in(applied)[0]["limits"]["memory"] = "1181116006400m"
        self.assertEqual(self.ask(webhook, applied, old=after)[0], after)

    def test_asked_again(self):
        """Another webhook has changed the object (Kueue: suspend): what the first round said is not forgotten."""
        webhook = self.webhook("mode: raise\ntemplates: patch",
                               store(PROFILE, profile("log", "Job/train", namespace="default", container="log",
                                                      request="4Gi", limit="5Gi", peak="4Gi", median="4Gi")))
        sizes = {"requests": {"memory": "8Gi"}, "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"}}
        thing = job(resources=sizes)
        after, _ = self.ask(webhook, thing)
        after["spec"]["suspend"] = True
        self.assertNotIn("patch", self.ask(webhook, after)[1])
        first = json.loads(after["metadata"]["annotations"][ANNOTATION])["set"]
        self.assertTrue(first)
        # a container more
        added = copy.deepcopy(after)
        added["spec"]["template"]["spec"]["containers"].append(
            {"name": "log", "image": "registry/log:1", "resources": {"limits": {"memory": "1Gi"}}})
        both, _ = self.ask(webhook, added)
        said = json.loads(both["metadata"]["annotations"][ANNOTATION])["set"]
        self.assertEqual(said[:len(first)], first)
        self.assertEqual({entry["c"] for entry in said[len(first):]}, {"log"})
        self.assertNotIn("patch", self.ask(webhook, both)[1])
        applied = copy.deepcopy(both)
        applied["spec"]["template"]["spec"]["containers"][0]["resources"] = sizes
        self.assertEqual(self.ask(webhook, applied, old=both)[0], both)
        # one value changed: the annotation is no word of this object's
        copied = copy.deepcopy(both)
        copied["spec"]["template"]["spec"]["containers"][1]["resources"]["limits"]["memory"] = "900Mi"
        copied["spec"]["template"]["spec"]["containers"][1]["resources"]["requests"]["memory"] = "900Mi"
        fresh, _ = self.ask(webhook, copied)
        said = json.loads(fresh["metadata"]["annotations"][ANNOTATION])["set"]
        self.assertEqual({(entry["c"], entry["f"], entry["from"]) for entry in said},
                         {("log", "request", "900Mi"), ("log", "limit", "900Mi")})

    def test_no_warnings_about_its_own_values(self):
        """/validate, which follows /templates, and the next apply say nothing about what memtamer has just set, and go on
        about everything else."""
        webhook = self.webhook("mode: raise\ntemplates: patch" + DISK, store(profile(
            "train", "Job/train", namespace="default", container="trainer", request="712Mi", limit="712Mi", peak="611Mi",
            median="510Mi", runs=6), {
                "apiVersion": "memtamer.io/v1alpha1", "kind": "NodeShape", "metadata": {"name": "small"},
                "spec": {"resource": "nvidia.com/gpu", "accelerators": 8, "memory": "2Gi"}}))

        def warnings(thing, old=None):
            return post(self, webhook, "/validate?timeout=2s", question_of(thing, old)).get("warnings", [])

        thing = job(resources={"limits": {"nvidia.com/gpu": "2"}})
        after, _ = self.ask(webhook, thing)
        self.assertEqual(resources_in(after)[0]["requests"]["memory"], "712Mi")
        self.assertTrue(any("memory request" in line for line in warnings(thing)))
        others = [line for line in warnings(thing) if "/dev/shm" in line or "runs peaked" in line]
        self.assertEqual((len(others), warnings(after)), (2, others))
        changed = copy.deepcopy(after)
        changed["spec"]["parallelism"] = 2
        self.assertEqual(warnings(changed, after), others)
        # a person's value is not memtamer's
        edited = copy.deepcopy(after)
        resources_in(edited)[0]["limits"]["memory"] = "600Mi"
        resources_in(edited)[0]["requests"]["memory"] = "600Mi"
        self.assertTrue(any("600Mi" in line for line in warnings(edited, after)))

    def test_no_warning_about_the_ratio_of_its_own_values(self):
        """A request of 32Mi beside a limit of 8Gi is no wrong unit where memtamer has set one of them."""
        sizes = {"request": "32Mi", "limit": "8Gi", "peak": "7Gi", "median": "30Mi"}
        webhook = self.webhook("mode: raise\ntemplates: patch" + DISK, store(
            profile("train", "Job/train", namespace="default", container="trainer", **sizes),
            profile("bare", "Pod/train", **sizes)))

        def about_units(lines):
            return [line for line in lines if "is the unit right" in line]

        for requests in ({}, {"memory": "32Mi"}):
            with self.subTest(requests):
                thing = job(resources={"requests": requests, "limits": {"nvidia.com/gpu": "1"}})
                after, response = self.ask(webhook, thing)
                sizes = resources_in(after)[0]
                self.assertEqual((sizes["requests"]["memory"], sizes["limits"]["memory"]), ("32Mi", "8Gi"))
                said = post(self, webhook, "/validate?timeout=2s", question_of(after)).get("warnings", [])
                self.assertEqual(about_units(response.get("warnings", []) + said), [])
        # a person's values are still looked at
        thing = job(resources={"requests": {"memory": "32Mi"}, "limits": {"memory": "9Gi", "nvidia.com/gpu": "1"}})
        self.assertTrue(about_units(post(self, webhook, "/validate?timeout=2s", question_of(thing))["warnings"]))
        # the second round of a bare pod
        bare = training_pod(resources={"limits": {"nvidia.com/gpu": "1"}})
        after = patched(bare, webhook.admit(bare))
        self.assertEqual(after["spec"]["containers"][0]["resources"]["limits"]["memory"], "8Gi")
        self.assertEqual(about_units(webhook.admit(after).get("warnings", [])), [])

    def test_request_of_its_limit(self):
        """A request that the API server would only have made of the limit is not there when a merge patch has replaced
        the list of containers: it is set again as well."""
        webhook = self.webhook("mode: raise\ntemplates: patch", store(profile(
            "train", "JobSet/train", namespace="default", container="trainer", role="worker", request="40Gi",
            limit="48Gi", peak="42Gi", median="40Gi")))
        thing = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                 "metadata": {"name": "train", "namespace": "default"},
                 "spec": {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": {"spec": job(
                     resources={"limits": {"memory": "16Gi", "nvidia.com/gpu": "1"}})["spec"]}}]}}
        after, _ = self.ask(webhook, thing)
        sizes = resources_in(after)[0]
        self.assertGreater(int(sizes["requests"]["memory"][:-2]), 16)
        said = json.loads(after["metadata"]["annotations"][ANNOTATION])["set"]
        self.assertEqual({(entry["f"], entry.get("from")) for entry in said if entry["r"] == "memory"},
                         {("request", None), ("limit", "16Gi")})
        applied = copy.deepcopy(thing)
        applied["metadata"]["annotations"] = after["metadata"]["annotations"]
        self.assertEqual(self.ask(webhook, applied, old=after)[0], after)

    def test_lowered_once(self):
        """A second round takes no second quarter off, and does not speak of one."""
        webhook = self.webhook("mode: enforce\ntemplates: patch", store(PROFILE))
        thing = job(resources={"requests": {"memory": "200Gi"}, "limits": {"memory": "256Gi", "nvidia.com/gpu": "1"}})
        after, response = self.ask(webhook, thing)
        self.assertEqual(resources_in(after)[0]["limits"]["memory"], "192Gi")
        self.assertTrue(any("set to 192Gi" in line for line in response["warnings"]), response)
        after["spec"]["suspend"] = True
        again, response = self.ask(webhook, after)
        self.assertEqual(again, after)
        self.assertFalse([line for line in response.get("warnings", []) if "set to" in line], response)

    def test_an_unknown_queue(self):
        """A queue may have no room for a larger request; a limit beside a request is not counted."""
        webhook = self.webhook("mode: raise\ntemplates: patch" + DISK, store(PROFILE))
        thing = job(labels={"kueue.x-k8s.io/queue-name": "team"},
                    resources={"requests": {"memory": "8Gi"}, "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"}})
        after, response = self.ask(webhook, thing)
        self.assertEqual(resources_in(after)[0], {"requests": {"memory": "8Gi"},
                                                  "limits": {"memory": "48Gi", "nvidia.com/gpu": "1"}})
        status, _, body = webhook.request("POST", "/validate", json.dumps(question_of(after)),
                                          {"Content-Type": "application/json"})
        warnings = json.loads(body)["response"]["warnings"]
        self.assertEqual(status, 200)
        self.assertTrue(all("40Gi suggested" in line or "ephemeral-storage" in line for line in warnings), warnings)
        # Both webhooks say the same of the request, so the API server passes it on once. Nothing has been counted yet.
        both = [[line for line in lines if "40Gi suggested" in line] for lines in (response["warnings"], warnings)]
        self.assertEqual(both[0], both[1])
        self.assertTrue(both[0] and all(line.endswith("40Gi suggested (a queue counts it)") for line in both[0]), both)

    def test_annotations_without_room(self):
        """The API server rejects an object with more than 256 KiB of annotations: where ours would not fit, nothing is
        set, and the pods are sized when they are created."""
        webhook = self.webhook("mode: raise\ntemplates: patch", store(PROFILE))
        ours = self.ask(webhook, job())[0]["metadata"]["annotations"]
        room = (256 << 10) - sum(len(key) + len(value) for key, value in ours.items())
        key, copied = "kubectl.kubernetes.io/last-applied-configuration", {ANNOTATION: "x" * 100}
        for others, fills in (({"notes": ""}, "n"), ({key: ""}, '"'), ({"notes": "", key: "x" * 1000}, "n"),
                              ({"notes": "", **copied}, "n")):
            first = next(iter(others))
            taken = sum(len(key) + len(value) for key, value in others.items() if key != ANNOTATION)
            for spare in (0, -1):
                with self.subTest(others=list(others), spare=spare):
                    thing = job()
                    thing["metadata"]["annotations"] = {**others, first: fills * (room - taken - spare)}
                    after, response = self.ask(webhook, thing)
                    said = post(self, webhook, "/validate?timeout=2s", question_of(after)).get("warnings", [])
                    if spare == 0:
                        self.assertEqual(after["metadata"]["annotations"][ANNOTATION], ours[ANNOTATION])
                        self.assertEqual(resources_in(after)[0]["limits"]["memory"], "48Gi")
                    else:
                        self.assertEqual(after, thing)
                        self.assertNotIn("warnings", response)
                        self.assertEqual(response["auditAnnotations"], {"skip": "annotations-full"})
                        self.assertTrue(any("will be 48Gi" in line for line in said), said)
        self.assertEqual(webhook.metric("memtamer_template_skipped_total", reason="annotations-full"), 4)
        self.assertIsNone(webhook.metric("memtamer_template_errors_total", reason="bad-pod"))

    def test_annotations_of_a_pod_without_room(self):
        """The same of a pod; nothing of it is changed, in observe too."""
        for mode in ("observe", "raise"):
            webhook = self.webhook(f"mode: {mode}", store(PROFILE))
            ours = patched(training_pod(), webhook.admit(training_pod()))["metadata"]["annotations"]
            room = (256 << 10) - sum(len(key) + len(value) for key, value in ours.items()) - len("notes")
            for spare in (0, -1):
                with self.subTest(mode=mode, spare=spare):
                    pod = training_pod(annotations={"notes": "n" * (room - spare)})
                    response = webhook.admit(pod)
                    if spare == 0:
                        self.assertEqual(patched(pod, response)["metadata"]["annotations"], {
                            **pod["metadata"]["annotations"], **ours})
                    else:
                        self.assertEqual(response["auditAnnotations"], {"skip": "annotations-full"})
                        self.assertNotIn("patch", response)
            webhook.finish()

    def test_who_is_asked(self):
        webhook = self.webhook("mode: raise\ntemplates: patch", store())
        made_by = {"cron": {"apiVersion": "batch/v1", "kind": "CronJob"}, "set": {"apiVersion": "jobset.x-k8s.io/v1alpha2",
                                                                                 "kind": "JobSet"}}
        self.assertIn("patch", self.ask(webhook, job(owner=made_by["cron"]))[1])
        self.assertNotIn("patch", self.ask(webhook, job(owner=made_by["set"]))[1])
        cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "namespace": "default"},
                "spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": job()["spec"]}}}
        self.assertNotIn("patch", self.ask(webhook, cron)[1])
        self.assertEqual(webhook.metric("memtamer_template_skipped_total", reason="recurring"), 1)
        self.assertEqual(webhook.metric("memtamer_template_skipped_total", reason="controlled"), 1)
        webhook.configure("mode: raise")
        wait_until(lambda: "patch" not in self.ask(webhook, job())[1], "the new configuration")

    def test_foreign_annotation(self):
        """What was copied with the YAML, or edited by hand, sets nothing that the API server would refuse."""
        webhook = self.webhook("mode: observe\ntemplates: patch", store())
        for text in ("", "{", '{"v":1}', '{"v":1,"set":[7,{"at":"/spec/template"}]}', json.dumps(
                {"v": 1, "set": [{"at": "/spec/template", "c": "trainer", "r": "memory", "f": "request", "to": "-5"}]}),
                json.dumps({"v": 1, "set": [{"at": "/spec/template", "c": "trainer", "r": "memory", "f": "request",
                                             "to": "90Gi"}]})):
            with self.subTest(text):
                thing = job(resources={"limits": {"memory": "16Gi"}})
                thing["metadata"]["annotations"] = {ANNOTATION: text}
                after, _ = self.ask(webhook, thing, old=job())
                self.assertEqual(after, thing)
                resources_in(thing)[0]["limits"]["nvidia.com/gpu"] = "1"
                created, _ = self.ask(webhook, thing)
                self.assertEqual(json.loads(created["metadata"]["annotations"][ANNOTATION])["set"], [])
                self.assertNotIn("patch", self.ask(webhook, created)[1])
