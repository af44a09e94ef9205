# SPDX-License-Identifier: Apache-2.0
"""How full the GPUs of a run were, from a real Prometheus: the same Job as in test_activity, with DCGM's memory metrics."""
import json
import os
import unittest

import harness
import real_prometheus
from test_activity import NAMESPACE, OWN, PERCENT, STEP, add, before_midnight, exported, honoured, job, learn
from test_recommender import RECOMMENDER

USED, FREE = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"
CARD = 81000  # MiB
# By pod: MiB in use on each of its two GPUs, in the first and in the second half of the hour.
MIB = {"train-7-0-abcde": ((60000, 80190), (70000, 61000)), "train-7-1-fghij": ((10000, 30000), (70000, 70000))}
FULLEST = ("80190Mi", "81000Mi")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train-8, namespace: ml-team}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: registry.example.com/train:1
        resources: {limits: {memory: 1Gi, nvidia.com/gpu: 2}}
"""


def device(families, start, labels, halves, size=CARD):
    """A device's series, and one of another metric with the same labels."""
    for metric, amount in ((USED, lambda used: used), (FREE, lambda used: size - used)):
        add(families, metric, labels, [(t, amount(halves[t >= start + 1800])) for t in range(start, start + 3600, STEP)])


def cards(families, start, labels):
    """The cards of the Job's pods, and a full one of nobody."""
    for pod, gpus in MIB.items():
        for gpu, halves in enumerate(gpus):
            device(families, start, {**labels(pod), "gpu": gpu, "UUID": f"GPU-{pod}-{gpu}", "Hostname": "n"}, halves)
    device(families, start, {**OWN, "gpu": 7, "UUID": "GPU-idle", "Hostname": "n"}, (CARD, CARD))


def fail(families, end):
    """All pods of the Job failed by themselves."""
    del families["kube_pod_status_phase"]
    for number, name in enumerate(PERCENT):
        pod = {"namespace": NAMESPACE, "pod": name, "uid": f"{number:08x}-0000-4000-8000-000000000000"}
        add(families, "kube_pod_status_phase", {**pod, "phase": "Failed"}, [(end + 60, 1)])
        add(families, "kube_pod_container_status_terminated_reason", {**pod, "container": "main", "reason": "Error"},
            [(end + 60, 1)])


def setUpModule():
    if not real_prometheus.is_installed():
        raise unittest.SkipTest("Prometheus is not installed")


class GpuMemory(unittest.TestCase):
    sample = True

    def setUp(self):
        self.start = before_midnight()
        self.families = job(self.start)

    def learned(self):
        """The place, and the figures of the one run."""
        place, run = learn(self, self.families)
        return place, (run.get("gpuPeak"), run.get("gpuCapacity"))

    def said(self, place, *command):
        done = harness.run(RECOMMENDER, *command, "--config", place.config)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def reviewed(self, place):
        path = os.path.join(place.folder, "job.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(JOB)
        done = harness.run("memtamer-webhook", "review", "--config", place.config, path)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def test_a_run_that_completes(self):
        """It is shown, but a full card alone is no warning."""
        cards(self.families, self.start, exported)
        place, figures = self.learned()
        self.assertEqual(figures, FULLEST)
        before = place.content()
        self.assertEqual(place.run().returncode, 0)
        self.assertEqual(place.content(), before)
        status = place.profiles()[("Job/train", "")]["recommendation"]
        self.assertEqual((status["gpuPeak"], status["gpuCapacity"], status.get("gpuFull")), (*FULLEST, None))
        explain = self.said(place, "explain", "-n", NAMESPACE, "Job/train", "-o", "wide")
        self.assertIn("gpu memory  at most 80190Mi of 81000Mi (99 %) in use on one GPU\n", explain)
        self.assertRegex(explain, r"PEAK +GPU MEMORY +OUTCOME\n.* 100Mi +99 % +completed\n")
        workload = json.loads(self.said(place, "explain", "-n", NAMESPACE, "Job/train", "-o", "json"))["workloads"][0]
        for member in (workload["profile"], workload["runs"][0]):
            self.assertEqual((member["gpuPeakBytes"], member["gpuCapacityBytes"]), (80190 << 20, 81000 << 20))
        self.assertFalse(workload["profile"]["isGpuFull"])
        run = json.loads(self.said(place, "history", "-o", "json"))["runs"][0]
        self.assertEqual((run["gpuPeak"], run["gpuCapacity"]), (80190 << 20, 81000 << 20))
        self.assertRegex(self.said(place, "history", "-o", "wide"), r"GPU MEMORY +OUTCOME")
        self.assertNotIn("gpu-memory-near-capacity", self.reviewed(place))

    def test_a_run_that_fails(self):
        cards(self.families, self.start, honoured)
        fail(self.families, self.start + 3600)
        place, figures = self.learned()
        self.assertEqual(figures, FULLEST)
        self.assertIs(place.profiles()[("Job/train", "")]["recommendation"]["gpuFull"], True)
        self.assertIn("(99 %) in use on one GPU, when the last run failed\n",
                      self.said(place, "explain", "-n", NAMESPACE, "Job/train"))
        review = self.reviewed(place)
        self.assertIn("99 % of the GPU's 81000Mi was in use when the last run failed: triage its log", review)
        self.assertIn("gpu-memory-near-capacity", review)

    def test_slices_of_a_card(self):
        """MIG: the exporter reports each slice, and the card that they are on."""
        for number, pod in enumerate(MIB):
            card = {"gpu": 0, "UUID": f"GPU-{number}", "Hostname": "n"}
            device(self.families, self.start, {**OWN, **card}, (30000, 30000))
            device(self.families, self.start, {**exported(pod), **card, "GPU_I_PROFILE": "1g.10gb", "GPU_I_ID": 7 + number},
                   (5000, 9000 + number), 9728)
        self.assertEqual(self.learned()[1], ("9001Mi", "9728Mi"))

    def test_processes_on_a_shared_card(self):
        """With KUBERNETES_VIRTUAL_GPUS processes have series beside that of the card: the card counts, once."""
        card = {"gpu": 0, "UUID": "GPU-0", "Hostname": "n"}
        device(self.families, self.start, {**exported("train-7-0-abcde"), **card}, (60000, 80000))
        add(self.families, USED, {**exported("train-7-0-abcde"), **card, "vgpu": "1"},
            [(t, 20000) for t in range(self.start, self.start + 3600, STEP)])
        self.assertEqual(self.learned()[1], ("80000Mi", "81000Mi"))

    def test_cards_of_nobody(self):
        """An exporter that does not report pods."""
        cards(self.families, self.start, lambda pod: OWN)
        self.assertEqual(self.learned()[1], (None, None))

    def test_without_free_memory(self):
        """Then it is not known how full a card was."""
        cards(self.families, self.start, exported)
        del self.families[FREE]
        place, figures = self.learned()
        self.assertEqual(figures, (None, None))
        self.assertNotIn("gpu memory", self.said(place, "explain", "-n", NAMESPACE, "Job/train"))
        status = harness.run(RECOMMENDER, "status", "--config", place.config).stdout
        self.assertIn("memory use of GPUs is not known", status)


if __name__ == "__main__":
    unittest.main()
