# SPDX-License-Identifier: Apache-2.0
"""What people write into the spec of a MemoryProfile, where no recommender runs and no Prometheus answers: review, serve
and explain apply it from the object itself."""
import json

import yaml
from harness import Case, job_pod, patched, profile, run, store, wait_until, write_atomic

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train-7", "namespace": "ml"},
       "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
           {"name": "pytorch", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}}
CONFIG = "apiVersion: config.memtamer.io/v1alpha1\nstore: { kind: file, path: profiles.json }\n"


class Spec(Case):
    def setUp(self):
        super().setUp()
        self.write("job.json", json.dumps(JOB))

    def learned(self, **spec):
        """A profile that learned 512Mi and 712Mi, with this spec."""
        one = profile("train-0123456789", "Job/train", request="512Mi", limit="712Mi", peak="612Mi", median="512Mi")
        one["spec"] = spec
        return one

    def put(self, *profiles):
        write_atomic(self.path("profiles.json"), json.dumps(store(*profiles)))

    def review(self, config="mode: raise"):
        """What `review` says of the Job."""
        self.write("review.yaml", f"{CONFIG}{config}\n")
        told = run("memtamer-webhook", "review", "--config", "review.yaml", "--fail-on", "deny", "job.json",
                   cwd=self.folder)
        self.assertEqual(told.returncode, 0, told.stderr)
        return told.stdout

    def explain(self, *options):
        done = run("memtamer-recommender", "explain", "--store", self.path("profiles.json"), *options, "Job/train",
                   cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def admitted(self, webhook, memory=None):
        """(request, limit) that a pod of the workload gets, and what the decision says of both."""
        pod = job_pod("train-7", resources=memory)
        response = webhook.admit(pod)
        made = patched(pod, response)
        resources = made["spec"]["containers"][0]["resources"]
        decision = json.loads(made["metadata"]["annotations"]["memtamer.io/decision"])
        return (resources.get("requests", {}).get("memory"), resources["limits"].get("memory"),
                {one["f"]: one["rule"] for one in decision["set"] if one["r"] == "memory"})

    def test_a_pin_counts_before_anything_is_computed_again(self):
        self.put(self.learned(pinLimit="2Gi"))
        told = self.review()
        self.assertIn("will be 2Gi (pinned by spec.pinLimit)", told)
        self.assertNotIn("712Mi", told)
        webhook = self.webhook("mode: raise", store(self.learned()))
        self.assertEqual(self.admitted(webhook)[:2], ("512Mi", "712Mi"))
        self.put(self.learned(pinLimit="2Gi"))
        wait_until(lambda: self.admitted(webhook) == ("512Mi", "2Gi", {"request": "median", "limit": "pin"}),
                   "the pin to be applied by the webhook")
        self.assertIn("limit       2Gi       pinned by spec.pinLimit; learned 712Mi: peak of 14 complete runs is 612Mi",
                      self.explain())
        explained = self.explain().splitlines()
        self.assertRegex(explained[1], "  next run    request none -> 512Mi in mode fill, limit none -> 2Gi in mode fill$")
        self.assertEqual(yaml.safe_load(explained[-1].replace("to paste", "")),
                         {"resources": {"requests": {"memory": "512Mi"}, "limits": {"memory": "2Gi"}}})
        report = json.loads(run("memtamer-recommender", "report", "-o", "json", "--store", self.path("profiles.json")).stdout)
        self.assertEqual(report["workloads"][0]["recommendedLimitBytes"], 2 << 30)

    def test_no_limit_is_added_or_advised_where_page_cache_hides_the_need(self):
        """Also none to paste; a pin counts all the same."""
        cached = self.learned()
        cached["status"]["recommendation"]["flags"] = ["cache-bound", "no-lower"]
        self.put(cached)
        self.assertIn("no memory limit; not set: page cache hides what runs need", self.review())
        explained = self.explain()
        self.assertNotIn("limit none -> ", explained)
        self.assertEqual(yaml.safe_load(explained.splitlines()[-1].replace("to paste", "")),
                         {"resources": {"requests": {"memory": "512Mi"}}})
        report = json.loads(run("memtamer-recommender", "report", "-o", "json", "--store", self.path("profiles.json")).stdout)
        self.assertIsNone(report["workloads"][0]["recommendedLimitBytes"])
        cached["spec"] = {"pinLimit": "2Gi"}
        self.put(cached)
        self.assertIn("will be 2Gi (pinned by spec.pinLimit)", self.review())
        self.assertIn("limits: {memory: 2Gi}", self.explain())

    def test_explain_promises_what_the_caps_and_nodes_allow(self):
        """The verdict, as text and as JSON, with a limit of 512Mi in the last run and 712Mi recommended."""
        run_of = {"uid": "r1", "name": "train-7", "outcome": "completed", "start": "2026-11-02T08:00:00Z", "duration": "1h",
                  "attempts": 1, "ranks": 1, "acceleratorsMilli": 1000, "request": "512Mi", "limit": "512Mi", "by": "user",
                  "peak": "500Mi", "whole": True, "source": "pods"}
        history = {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryHistory",
                   "metadata": {"namespace": "ml", "name": "train-0123456789"},
                   "spec": {"workload": "Job/train", "container": "pytorch", "aliases": ["Job/train"], "runs": [run_of]}}

        def cap(mode):
            return {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryProfile",
                    "metadata": {"namespace": "ml", "name": "memtamer-namespace"}, "spec": {"modeCap": mode}}

        node = {"apiVersion": "memtamer.io/v1alpha1", "kind": "NodeShape", "metadata": {"name": "small"},
                "spec": {"resource": "nvidia.com/gpu", "accelerators": 1, "memory": "640Mi", "declared": True}}
        kept = "keeps its own values: capped at {} (modeCap of {})"
        for spec, others, words, mode, limit in (
                ({}, (), "limit 512Mi -> 712Mi in mode raise", "enforce", 712),
                ({}, (cap("raise"),), "limit 512Mi -> 712Mi in mode raise", "raise", 712),
                ({}, (cap("fill"),), kept.format("fill", "profile memtamer-namespace"), "fill", 512),
                ({}, (cap("observe"),), kept.format("observe", "profile memtamer-namespace"), "observe", 512),
                ({"modeCap": "observe"}, (), kept.format("observe", "the workload's profile"), "observe", 512),
                ({}, (node,), "limit 512Mi -> 640Mi in mode raise (largest node 640Mi)", "enforce", 640),
                ({"pinLimit": "512Mi"}, (), "keeps its own values, which fit", "enforce", 512)):
            with self.subTest(words):
                self.put(self.learned(**spec), history, *others)
                self.assertEqual(self.explain().splitlines()[:2], ["ml  Job/train  container pytorch", "  next run    " + words])
                (told,) = json.loads(self.explain("-o", "json"))["workloads"]
                self.assertEqual(told["nextRun"], {"text": words, "mode": mode, "requestFrom": 512 << 20,
                                                   "requestTo": 512 << 20, "limitFrom": 512 << 20, "limitTo": limit << 20})

    def test_the_next_run_and_the_end_are_told_apart(self):
        """A limit is lowered in steps: `explain` names the step and the end, and `report` says that its figure is the end."""
        run_of = {"uid": "r1", "name": "train-7", "outcome": "completed", "start": "2026-11-02T08:00:00Z", "duration": "1h",
                  "attempts": 1, "ranks": 1, "world": 1, "acceleratorsMilli": 1000, "request": "512Mi", "limit": "2Gi",
                  "by": "user", "peak": "500Mi", "whole": True, "source": "pods"}
        history = {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryHistory",
                   "metadata": {"namespace": "ml", "name": "train-0123456789"},
                   "spec": {"workload": "Job/train", "container": "pytorch", "aliases": ["Job/train"], "runs": [run_of]}}
        learned = self.learned()
        learned["status"]["recommendation"]["lastLimit"] = "2Gi"
        self.put(learned, history)
        self.assertIn("limit 2Gi -> 1536Mi in mode enforce (at most 25 % a run, on the way to 712Mi)",
                      self.explain().splitlines()[1])
        report = run("memtamer-recommender", "report", "--store", self.path("profiles.json")).stdout
        self.assertIn("2Gi -> 712Mi", report)
        self.assertIn("of the last run -> recommended in the end (next run: `explain`).\n", report)

    def test_explain_for_programs(self):
        self.put(self.learned(modeCap="raise", pinLimit="2Gi"))
        told = json.loads(self.explain("-o", "json"))
        self.assertEqual((told["apiVersion"], told["kind"]), ("explain.memtamer.io/v1alpha1", "Explanation"))
        (one,) = told["workloads"]
        self.assertEqual((one["namespace"], one["workload"], one["container"]), ("ml", "Job/train", "pytorch"))
        wanted = {"name": "train-0123456789", "requestBytes": 512 << 20, "limitBytes": 2 << 30, "requestBy": "runs",
                  "limitBy": "spec.pinLimit", "learnedLimitBytes": 712 << 20, "peakBytes": 612 << 20, "wholeRuns": 14,
                  "confidence": "high", "flags": [], "notLowered": None, "modeCap": "raise", "specInvalid": None,
                  "reasons": ["peak 612Mi of 14 runs"], "variants": []}
        self.assertEqual({key: one["profile"][key] for key in wanted}, wanted)
        self.assertEqual((one["runs"], one["growth"], one["changes"]), ([], None, []))

    def test_a_ceiling_bounds_what_is_stored(self):
        self.put(self.learned())
        self.assertIn("will be 650Mi", self.review("mode: raise\nsizing: { ceiling: 650Mi }"))
        self.assertIn("not set: the ceiling is below observed use", self.review("mode: raise\nsizing: { ceiling: 600Mi }"))
        self.put(self.learned(ceiling="680Mi"))
        self.assertIn("will be 680Mi", self.review("mode: raise\nsizing: { ceiling: 650Mi }"))
        self.assertIn("limit       680Mi     by spec.ceiling; learned 712Mi", self.explain())
        self.put(self.learned(ceiling="400Mi"))
        self.assertRegex(self.explain(), "limit       400Mi     by spec.ceiling; learned 712Mi: .*; not set, because a run used 612Mi\n")
        self.assertNotIn("on the way to 400Mi", self.explain())

    def test_an_existing_limit_follows_its_pin_as_far_as_the_mode_allows(self):
        webhook = self.webhook("mode: raise", store(self.learned(pinRequest="1Gi", pinLimit="2Gi")))
        small, large = ({"requests": {"memory": size}, "limits": {"nvidia.com/gpu": "1", "memory": size}}
                        for size in ("700Mi", "4Gi"))
        self.assertEqual(self.admitted(webhook, small)[:2], ("1Gi", "2Gi"))
        self.assertEqual(self.admitted(webhook, large)[:2], ("4Gi", "4Gi"))
        webhook.configure("mode: enforce")
        wait_until(lambda: self.admitted(webhook, large)[:2] == ("1Gi", "2Gi"), "the pin to lower in mode enforce")

    def test_an_invalid_spec_changes_nothing_until_it_is_corrected(self):
        for spec, why in (({"pinLimit": "400m"}, 'spec.pinLimit: less than 1Mi: "400m"'),
                          ({"pinLimit": "1Gi", "pinRequest": "2Gi"}, "spec.pinRequest: above spec.pinLimit"),
                          ({"floor": "2Gi", "ceiling": "1Gi"}, "spec.floor: above spec.ceiling")):
            self.put(self.learned(**spec))
            told = self.review()
            self.assertIn("mode fill would set 712Mi", told)
            explained = self.explain()
            self.assertIn(f"spec        not applied, and the mode is at most observe until it is corrected: {why}", explained)
            self.assertIn("limit       712Mi", explained)
            for command in (("explain", "Job/train"), ("status",)):
                said = run("memtamer-recommender", *command, "--store", self.path("profiles.json")).stderr
                self.assertEqual(said.count("spec not applied"), 1, said)
                self.assertIn(why, said)
        webhook = self.webhook("mode: raise", store(self.learned(pinLimit="400m")))
        webhook.wait_log(r'spec of a profile is not applied.*less than 1Mi')
        self.assertEqual(self.admitted(webhook), (None, None, {}))
        self.put(self.learned(pinLimit="400Mi"))
        wait_until(lambda: self.admitted(webhook)[1] == "400Mi", "the corrected pin to count")

    def test_what_a_person_wrote_survives_the_writer_of_the_file(self):
        spec = {"pinLimit": "400m", "note of a newer release": [1, {"a": None}]}
        self.put(self.learned(**spec), profile("other-0123456789", "Job/other"))
        done = run("memtamer-recommender", "undo", "--store", self.path("profiles.json"), "Job/other")
        self.assertEqual(done.returncode, 0, done.stderr)
        refused = run("memtamer-recommender", "undo", "--store", self.path("profiles.json"), "Job/train")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("is invalid and has to be corrected first: spec.pinLimit: less than 1Mi", refused.stderr)
        with open(self.path("profiles.json"), encoding="utf-8") as file:
            specs = {item["metadata"]["name"]: item["spec"] for item in json.load(file)["items"]}
        self.assertEqual(specs, {"train-0123456789": spec, "other-0123456789": {"modeCap": "observe"}})

    @staticmethod
    def named(name, created=None, **spec):
        """A profile as people write it: with a name of their own and without a status."""
        meta = {"namespace": "ml", "name": name, **({"creationTimestamp": created} if created else {})}
        return {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryProfile", "metadata": meta,
                "spec": {"workloadRef": {"kind": "Job", "name": "train-20261101"}, **spec}}

    def test_a_workload_is_pinned_before_its_first_run(self):
        self.put(self.named("gitops", pinRequest="1Gi", pinLimit="2Gi"))
        told = self.review()
        self.assertIn("will be 2Gi (pinned by spec.pinLimit)", told)
        self.assertIn("will be 1Gi (pinned by spec.pinRequest)", told)
        webhook = self.webhook("mode: raise", store(self.named("gitops", pinRequest="1Gi", pinLimit="2Gi")))
        self.assertEqual(self.admitted(webhook), ("1Gi", "2Gi", {"request": "pin", "limit": "pin"}))
        self.put(self.named("gitops", modeCap="observe", pinLimit="2Gi"))
        wait_until(lambda: self.admitted(webhook) == (None, None, {}), "the cap to count")
        self.assertIn("Job/train", self.explain())
        self.assertIn("limit       2Gi       pinned by spec.pinLimit", self.explain())

    def test_what_was_learned_stays_where_a_person_names_the_workload(self):
        self.put(self.learned(), self.named("gitops", pinLimit="2Gi"))
        webhook = self.webhook("mode: raise")
        self.assertEqual(self.admitted(webhook)[:2], ("512Mi", "2Gi"))
        explained = self.explain()
        self.assertIn("spec        of profile gitops, whose workloadRef names this workload", explained)
        self.assertIn("limit       2Gi       pinned by spec.pinLimit; learned 712Mi", explained)
        self.put(self.learned())
        wait_until(lambda: self.admitted(webhook)[:2] == ("512Mi", "712Mi"), "what was learned to count again")

    def test_undo_of_a_workload_that_a_person_has_named(self):
        self.put(self.learned(), self.named("gitops", pinLimit="2Gi"))
        webhook = self.webhook("mode: raise")
        done = run("memtamer-recommender", "undo", "--store", self.path("profiles.json"), "Job/train")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: self.admitted(webhook) == (None, None, {}), "the undo to count")
        done = run("memtamer-recommender", "undo", "--release", "--store", self.path("profiles.json"), "Job/train")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: self.admitted(webhook)[:2] == ("512Mi", "2Gi"), "the release to count")

    def status(self):
        done = run("memtamer-recommender", "status", "-o", "json", "--store", self.path("profiles.json"), cwd=self.folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["ignoredSpecs"], len(told["ignored"]))
        shown = run("memtamer-recommender", "status", "--store", self.path("profiles.json"), cwd=self.folder).stdout
        for one in told["ignored"]:
            self.assertIn(one["why"], shown)
        return {one["name"]: one["why"] for one in told["ignored"]}

    def test_status_says_what_does_not_count(self):
        self.put(self.learned(pinLimit="2Gi"), self.named("a", "2026-11-02T00:00:00Z", pinLimit="8Gi"),
                 self.named("b", "2026-11-01T00:00:00Z", pinLimit="2Gi"))
        self.assertEqual(self.status(), {"train-0123456789": "that of b counts, which names Job/train, too",
                                         "a": "that of b counts, which names Job/train, too"})
        self.assertIn("spec        of profile b, whose workloadRef names this workload; this spec is not applied",
                      self.explain())
        nameless = self.named("c", pinLimit="2Gi")
        del nameless["spec"]["workloadRef"]
        self.put(nameless, self.learned(pinLimit="400m"))
        self.assertEqual(self.status(), {"c": "it names no workload: spec.workloadRef would",
                                         "train-0123456789": 'spec.pinLimit: less than 1Mi: "400m"'})
        self.put(self.learned(pinLimit="2Gi"), self.named("a", modeCap="fill"))
        self.assertEqual(list(self.status()), ["train-0123456789"])
        self.put(self.learned(modeCap="fill"), self.named("a", pinLimit="2Gi"))
        self.assertEqual(self.status(), {}, "of caps the lower one counts")

    def test_of_two_that_name_a_workload_the_older_one_counts(self):
        self.put(self.named("a", "2026-11-02T00:00:00Z", pinLimit="8Gi"),
                 self.named("b", "2026-11-01T00:00:00Z", pinLimit="2Gi"))
        self.assertIn("will be 2Gi", self.review())
        self.put(self.named("a", pinLimit="8Gi"), self.named("b", pinLimit="2Gi"))
        self.assertIn("will be 8Gi", self.review())
