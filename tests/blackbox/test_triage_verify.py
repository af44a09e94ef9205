# SPDX-License-Identifier: Apache-2.0
"""triage --verify: the run after a crash, against the saved answer or against status.diagnosis in a cluster."""
import json

from harness import Case, run
from test_triage_pods import World

RECOMMENDER = "memtamer-recommender"
KEYS = {"apiVersion", "verdict", "why", "crash", "run", "checks", "next", "unseen"}
NAMES = ["lever-present", "passed-step", "reached-checkpoint", "peak-below", "gap-not-growing", "no-co-tenant", "throughput"]
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 GiB of "
       "which 1.00 GiB is free. Including non-PyTorch memory, this process has 79.00 GiB memory in use. Of the allocated "
       "memory 60.00 GiB is allocated by PyTorch, and 18.00 GiB is reserved by PyTorch but unallocated. If reserved but "
       "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n")
CRASH = " 25%|##5       | 1240/5000 [15:18<46:25,  1.35it/s]\n" + OOM
GOOD = ("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" +
        "".join(f"step {step}: allocated=50.0GiB reserved=60.0GiB\n" for step in range(100, 1300, 100)) +
        "Saving model checkpoint to /ckpt/checkpoint-1400\n 30%|###       | 1500/5000 [19:14<44:52,  1.30it/s]\n"
        "peak_reserved=62.50 GiB\n")
SMI = ("| N/A   52C    P0             301W / 700W |   62000MiB / 81920MiB |    100%      Default |\n"
       "|    0   N/A  N/A      4321      C   python3                                     61990MiB |\n")


class Verify(Case):
    sample = True

    def setUp(self):
        super().setUp()
        done = run(RECOMMENDER, "triage", "--log", self.write("crash.log", CRASH), "-o", "json")
        self.crash = self.write("crash.json", done.stdout)

    def verify(self, log, *args, output="json"):
        done = run(RECOMMENDER, "triage", "--verify", "--against", self.crash, "--log", self.write("new.log", log), *args,
                   "-o", output)
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout) if output == "json" else done.stdout

    def test_held(self):
        answer = self.verify(GOOD, "--nvidia-smi", self.write("smi.txt", SMI))
        self.assertEqual(set(answer), KEYS)
        self.assertEqual((answer["apiVersion"], answer["verdict"]), ("triage.memtamer.io/v1alpha1", "held"))
        self.assertEqual([one["name"] for one in answer["checks"]], NAMES)
        self.assertEqual({one["answer"] for one in answer["checks"]}, {"yes"}, answer)
        self.assertEqual(answer["crash"], {"source": self.crash, "kind": "fragmentation", "cause": None})
        peak = answer["checks"][3]
        self.assertEqual((peak["source"], peak["line"]), (self.path("new.log"), 16))
        self.assertIn("62.50 GiB of 80.00 GiB (78 %)", peak["figure"])

    def test_did_not_hold(self):
        answer = self.verify(GOOD + OOM)
        self.assertEqual((answer["verdict"], answer["run"]["kind"]), ("did-not-hold", "fragmentation"))
        self.assertTrue(answer["next"][0].startswith("Next lever: "), answer)
        self.assertIn("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", answer["next"][0])

    def test_too_early(self):
        answer = self.verify("step 10\n")
        self.assertEqual(answer["verdict"], "too-early")
        self.assertTrue(any("torch.cuda.max_memory_reserved()" in text for text in answer["next"]), answer)

    def test_formats(self):
        text = self.verify(GOOD, output="text")
        self.assertTrue(text.startswith("held: The new run came further than the crash"), text)
        self.assertIn(f"expandable_segments:True ({self.path('new.log')}:1)", text)
        markdown = self.verify(GOOD, output="markdown")
        self.assertTrue(markdown.startswith("# held\n"), markdown)
        self.assertIn("| reached-checkpoint | yes | /ckpt/checkpoint-1400 |", markdown)

    def test_standard_input(self):
        with open(self.crash, encoding="utf-8") as file:
            done = run(RECOMMENDER, "triage", "--verify", "--against", "-", "--log", self.write("new.log", GOOD), stdin=file.read())
        self.assertTrue(done.stdout.startswith("held"), done)

    def test_bad_input(self):
        with open(self.crash, encoding="utf-8") as file:
            good = file.read()
        log = self.write("new.log", GOOD)
        verification = run(RECOMMENDER, "triage", "--verify", "--against", self.crash, "--log", log, "-o", "json").stdout
        for text, line, words in ((good[:900], good[:900].count("\n") + 1, "ends early"),
                                  (good.replace("v1alpha1", "v9"), 1, "apiVersion is"),
                                  (good.replace('"kind":"fragmentation"', '"kind":"not-oom"'), 1, 'kind is "not-oom"'),
                                  (verification, 1, "there is no `kind`"), ("", 1, "empty"), ("step 3\n", 1, "at byte")):
            path = self.write("bad.json", text)
            done = run(RECOMMENDER, "triage", "--verify", "--against", path, "--log", log)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(f"{path}:{line}: ", done.stderr)
            self.assertIn(words, done.stderr)
        for args, words in ((["--verify", "--log", log], "needs --against FILE"),
                            (["--against", self.crash, "--log", log], "--against is for --verify"),
                            (["--verify", "--against", self.path("missing"), "--log", log], "missing"),
                            (["--verify", "--against", "-", "--log", "-"], "only once"),
                            (["--verify", "--against", self.crash], "nothing to read")):
            done = run(RECOMMENDER, "triage", *args, stdin="")
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn(words, done.stderr)


def pod(name, created, ended=None, setting=None, log_limit="64Gi"):
    """A pod of pytorchjob/llama that runs, or was killed by its program."""
    state = {"running": {"startedAt": created}}
    if ended:
        state = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": created, "finishedAt": ended}}
    env = [{"name": "PYTORCH_CUDA_ALLOC_CONF", "value": setting}] if setting else []
    return {"metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}", "creationTimestamp": created,
                         "labels": {"training.kubeflow.org/operator-name": "pytorchjob-controller",
                                    "training.kubeflow.org/job-name": "llama", "training.kubeflow.org/replica-type": "master",
                                    "training.kubeflow.org/replica-index": "0"}},
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "pytorch", "env": env, "resources": {"limits": {"memory": log_limit}}}]},
            "status": {"phase": "Failed" if ended else "Running", "containerStatuses": [
                {"name": "pytorch", "restartCount": 0, "state": state, "lastState": {}}]}}


def profile(name, workload, **diagnosis):
    return {"metadata": {"name": name, "namespace": "ml"},
            "status": {"workload": workload, "aliases": [workload], "diagnosis": {
                "kind": "fragmentation", "confidence": "high", "time": "2026-11-02T08:00:00Z", "run": "llama",
                "allocatorVariable": "PYTORCH_CUDA_ALLOC_CONF", **diagnosis}}}


class Cluster(World):
    def verify(self, case, *args, status=0):
        self.serve(case)
        done = self.triage(*args, "--verify", "-o", "json", status=status)
        return json.loads(done.stdout) if not status else done.stderr

    def check(self, answer, name):
        return next(one for one in answer["checks"] if one["name"] == name)

    def test_diagnosis_of_the_profile(self):
        """Of several profiles with a diagnosis that of the workload counts, and of its own the latest."""
        case = {"pods": [pod("llama-master-0", "2026-11-02T09:00:00Z", "2026-11-02T10:00:00Z", "expandable_segments:True")],
                "logs": {"llama-master-0/pytorch": CRASH},
                "memoryprofiles": [profile("other", "PyTorchJob/bert", time="2026-11-02T09:00:00Z"),
                                   profile("llama-worker", "PyTorchJob/llama", time="2026-11-01T08:00:00Z", kind="true-oom"),
                                   profile("llama-master", "PyTorchJob/llama")]}
        answer = self.verify(case, "pytorchjob/llama")
        self.assertEqual((answer["verdict"], answer["crash"]["source"]),
                         ("did-not-hold", "memoryprofile/llama-master status.diagnosis"))
        lever = self.check(answer, "lever-present")
        self.assertEqual((lever["answer"], lever["source"]), ("yes", "pod/llama-master-0 status"), answer)
        self.assertIn("max_split_size_mb:128", answer["next"][0])

    def test_running_pod(self):
        """The log of a pod that runs; of the crash the profile has no step, so it is too early until the run is done."""
        case = {"pods": [pod("llama-master-0", "2026-11-02T09:00:00Z", setting="backend:native")],
                "logs": {"llama-master-0/pytorch": "step 1500\npeak_reserved=60 GiB\n"},
                "memoryprofiles": [profile("llama", "PyTorchJob/llama")]}
        self.assertEqual(self.verify(case, "llama-master-0")["verdict"], "did-not-hold")
        case["pods"][0]["spec"]["containers"][0]["env"] = []
        answer = self.verify(case, "llama-master-0")
        self.assertEqual((answer["verdict"], self.check(answer, "passed-step")["answer"]), ("too-early", "unknown"))
        case["logs"]["llama-master-0/pytorch"] += "Training complete\n"
        self.assertEqual(self.verify(case, "llama-master-0")["verdict"], "held")

    def test_step_and_figures_of_the_profile(self):
        """With the step of the crash, a run that goes on is compared with it, and its peak with the card of the crash."""
        case = {"pods": [pod("llama-master-0", "2026-11-02T09:00:00Z", setting="expandable_segments:True")],
                "logs": {"llama-master-0/pytorch": "step 1500\npeak_reserved=60 GiB\n"},
                "memoryprofiles": [profile("llama", "PyTorchJob/llama", step=1240, steps=5000, tried="2Gi", capacity="80Gi",
                                           unallocated="18Gi")]}
        answer = self.verify(case, "llama-master-0")
        self.assertEqual(answer["verdict"], "held", answer)
        self.assertEqual(self.check(answer, "passed-step")["figure"], "step 1500; the crash was at step 1240 of 5000")
        self.assertIn("60.00 GiB of 80.00 GiB (75 %), as of the crash", self.check(answer, "peak-below")["figure"])
        case["logs"]["llama-master-0/pytorch"] = "step 1000\npeak_reserved=60 GiB\n"
        answer = self.verify(case, "llama-master-0")
        self.assertEqual((answer["verdict"], self.check(answer, "passed-step")["answer"]), ("too-early", "unknown"))
        case["memoryprofiles"] = [profile("llama", "PyTorchJob/llama", kind="container-limit", limit="32Gi", peak="31Gi")]
        answer = self.verify(case, "llama-master-0")
        self.assertEqual(self.check(answer, "lever-present")["figure"], "the memory limit is 64.00 GiB, before 32.00 GiB")

    def test_odd_numbers_of_the_profile(self):
        """Anybody who may edit MemoryProfiles writes them: what makes no sense is not known."""
        case = {"pods": [pod("llama-master-0", "2026-11-02T09:00:00Z")],
                "logs": {"llama-master-0/pytorch": "step 1500\npeak_reserved=60 GiB\n"},
                "memoryprofiles": [profile("llama", "PyTorchJob/llama", step=-7, epoch="x", steps=2 ** 60, tried=[1],
                                           capacity="900Ei", unallocated="much", others=None, peak={}, limit="")]}
        answer = self.verify(case, "llama-master-0")
        self.assertEqual([self.check(answer, name)["answer"] for name in ("passed-step", "peak-below")], ["unknown"] * 2, answer)

    def test_crash_itself(self):
        """The pod that the diagnosis is about is no new run."""
        case = {"pods": [pod("llama-master-0", "2026-11-02T07:00:00Z", "2026-11-02T08:00:00Z")],
                "logs": {"llama-master-0/pytorch": CRASH}, "memoryprofiles": [profile("llama", "PyTorchJob/llama")]}
        answer = self.verify(case, "pytorchjob/llama")
        self.assertEqual(answer["verdict"], "too-early")
        self.assertIn("the crash itself", answer["why"])

    def test_against_a_file(self):
        case = {"pods": [pod("llama-master-0", "2026-11-02T09:00:00Z")], "logs": {"llama-master-0/pytorch": GOOD}}
        crash = self.write("crash.json", run(RECOMMENDER, "triage", "--log", self.write("crash.log", CRASH), "-o", "json").stdout)
        answer = self.verify(case, "llama-master-0", "--against", crash)
        self.assertEqual(answer["verdict"], "held", answer)
        self.assertEqual(self.check(answer, "peak-below")["source"], "log of pod/llama-master-0 container pytorch")

    def test_volume_at_dev_shm(self):
        new = pod("llama-master-0", "2026-11-02T09:00:00Z")
        new["spec"]["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}]
        new["spec"]["containers"][0]["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
        answer = self.verify({"pods": [new], "memoryprofiles": [profile("llama", "PyTorchJob/llama", kind="shm-too-small")]},
                             "llama-master-0")
        self.assertEqual(self.check(answer, "lever-present")["answer"], "yes")
        self.assertIn("volume shm mounted at /dev/shm, sizeLimit 16Gi", self.check(answer, "lever-present")["figure"])

    def test_numbers_of_the_spec(self):
        """A smaller batch in the arguments or the environment, of which the crash's log shows the old one."""
        full = OOM.replace("18.00 GiB is reserved", "0.10 GiB is reserved")
        crash = self.write("crash.json", run(RECOMMENDER, "triage", "--log", self.write(
            "crash.log", "Namespace(per_device_train_batch_size=32, num_workers=8)\nstep 1240\n" + full), "-o", "json").stdout)
        with open(crash, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["numbers"], {"per_device_train_batch_size": 32, "num_workers": 8})
        for change in ({"args": ["train.py", "--per_device_train_batch_size", "16"]},
                       {"command": ["sh", "-c", "python train.py --per-device-train-batch-size=16 --lr 1"]},
                       {"env": [{"name": "PER_DEVICE_TRAIN_BATCH_SIZE", "value": "16"}]}):
            new = pod("llama-master-0", "2026-11-02T09:00:00Z")
            new["spec"]["containers"][0].update(change)
            answer = self.verify({"pods": [new]}, "llama-master-0", "--against", crash)
            lever = self.check(answer, "lever-present")
            self.assertEqual((lever["answer"], lever["figure"], lever["source"]),
                             ("yes", "per_device_train_batch_size is 16, before 32", "pod/llama-master-0 status"), change)

    def test_refusals(self):
        pods = [pod("llama-master-0", "2026-11-02T09:00:00Z")]
        for case, status, words in (
                ({"pods": pods}, 2, "give the crash with --against FILE"),
                ({"pods": pods, "memoryprofiles": [profile("x", "PyTorchJob/bert")]}, 2, "no MemoryProfile of llama-master-0"),
                ({"pods": pods, "memoryprofiles": [profile("x", "PyTorchJob/llama", kind="not-oom")]}, 2, "is not-oom: only"),
                ({"pods": pods, "forbidden": ["memoryprofiles"]}, 3, "memoryprofiles of namespace ml")):
            with self.subTest(words):
                self.assertIn(words, self.verify(case, "llama-master-0", status=status))
