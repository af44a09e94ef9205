# SPDX-License-Identifier: Apache-2.0
"""How active the accelerators of a run were, from a real Prometheus: a Job of two pods, two GPUs each, over midnight."""
import os
import shutil
import tempfile
import time
import unittest

import harness
import real_prometheus
from real_prometheus import Prometheus
from test_recommender import RECOMMENDER, Place

NAMESPACE, DAY, STEP = "ml-team", 86400, 30
# By pod: what each of its two GPUs shows, in per cent, in the first and in the second half of the hour.
PERCENT = {"train-7-0-abcde": ((90, 100), (50, 60)), "train-7-1-fghij": ((10, 30), (70, 70))}
PERMILLE = 600  # of all of it
OWN = {"namespace": "monitoring", "pod": "dcgm-exporter-x", "container": "exporter"}


def exported(pod):
    """As under ServiceMonitors with honorLabels: false, where `pod` is the exporter's own."""
    return {**OWN, "exported_namespace": NAMESPACE, "exported_pod": pod, "exported_container": "main"}


def honoured(pod):
    return {"namespace": NAMESPACE, "pod": pod, "container": "main"}


def add(families, name, labels, samples):
    text = ",".join(f'{k}="{v}"' for k, v in labels.items())
    families.setdefault(name, []).extend(f"{name}{{{text}}} {value} {t}\n" for t, value in samples)


def render(families):
    return "".join(f"# TYPE {name} gauge\n" + "".join(rows) for name, rows in families.items()) + "# EOF\n"


def job(start, used_mib=100):
    families, end = {}, start + 3600
    for number, name in enumerate(PERCENT):
        uid = f"{number:08x}-0000-4000-8000-000000000000"
        pod = {"namespace": NAMESPACE, "pod": name, "uid": uid}
        seen = range(start + STEP, end + 300, STEP)
        add(families, "kube_pod_owner", {**pod, "owner_kind": "Job", "owner_name": "train-7",
                                         "owner_is_controller": "true"}, [(t, 1) for t in seen])
        for resource, value in (("memory", 1 << 30), ("nvidia_com_gpu", 2)):
            add(families, "kube_pod_container_resource_limits", {**pod, "container": "main", "resource": resource},
                [(t, value) for t in seen])
        add(families, "kube_pod_start_time", pod, [(t, start) for t in seen])
        add(families, "kube_pod_completion_time", pod, [(end + 60, end)])
        add(families, "kube_pod_status_phase", {**pod, "phase": "Succeeded"}, [(end + 60, 1)])
        add(families, "container_memory_working_set_bytes",
            {"namespace": NAMESPACE, "pod": name, "container": "main", "id": f"/kubepods/pod{uid}/{number:064x}"},
            [(t, used_mib << 20) for t in range(start, end, STEP)])
    return families


def devices(families, metric, start, labels, scale=1.0):
    """Devices of the Job's pods, and one of nobody's that is always busy."""
    for pod, gpus in PERCENT.items():
        for gpu, halves in enumerate(gpus):
            add(families, metric, {**labels(pod), "gpu": gpu, "UUID": f"GPU-{pod}-{gpu}", "Hostname": "n"},
                [(t, halves[t >= start + 1800] * scale) for t in range(start, start + 3600, STEP)])
    add(families, metric, {**OWN, "gpu": 7, "UUID": "GPU-idle", "Hostname": "n"},
        [(t, 100 * scale) for t in range(start, start + 3600, STEP)])


def before_midnight():
    """The start of an hour with a midnight in the middle, a day ago."""
    now = int(time.time())
    return now - now % DAY - DAY - 1800


def learn(test, families):
    """The place, and the one run that was found."""
    folder = tempfile.mkdtemp(prefix="memtamer-learn-")
    test.addCleanup(shutil.rmtree, folder)
    server = Prometheus(os.path.join(folder, "a"), render(families))
    test.addCleanup(server.stop)
    place = Place(server.url)
    test.addCleanup(place.remove)
    done = place.run()
    test.assertEqual(done.returncode, 0, done.stderr + done.stdout)
    runs = place.items("MemoryHistory")[0]["spec"]["runs"]
    test.assertEqual(len(runs), 1, runs)
    test.assertEqual(runs[0]["ranks"], 2, runs)
    return place, runs[0]


def setUpModule():
    if not real_prometheus.is_installed():
        raise unittest.SkipTest("Prometheus is not installed")


class Activity(unittest.TestCase):
    sample = True

    def setUp(self):
        self.start = before_midnight()
        self.families = job(self.start)

    def learned(self):
        return learn(self, self.families)

    def test_exported_labels(self):
        devices(self.families, "DCGM_FI_DEV_GPU_UTIL", self.start, exported)
        place, run = self.learned()
        self.assertEqual(run["activity"], PERMILLE)
        before = place.content()
        self.assertEqual(place.run().returncode, 0)
        self.assertEqual(place.content(), before)
        explain = harness.run(RECOMMENDER, "explain", "--config", place.config, "-n", NAMESPACE, "Job/train",
                              "-o", "wide")
        self.assertRegex(explain.stdout, r"PEAK +ACTIVE +OUTCOME\n.* 100Mi +60 % +completed\n")

    def test_own_labels(self):
        devices(self.families, "DCGM_FI_DEV_GPU_UTIL", self.start, honoured)
        self.assertEqual(self.learned()[1]["activity"], PERMILLE)

    def test_the_better_metric(self):
        """Where both are there, they are not mixed."""
        devices(self.families, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", self.start, exported, 0.005)
        devices(self.families, "DCGM_FI_DEV_GPU_UTIL", self.start, exported)
        self.assertEqual(self.learned()[1]["activity"], PERMILLE // 2)

    def test_pairs_of_servers_count_once(self):
        for replica in "ab":
            devices(self.families, "DCGM_FI_DEV_GPU_UTIL", self.start,
                    lambda pod, replica=replica: {**exported(pod), "replica": replica})
        self.assertEqual(self.learned()[1]["activity"], PERMILLE)

    def test_devices_of_nobody(self):
        """An exporter that does not tell pods; its own pod is none that trains."""
        devices(self.families, "DCGM_FI_DEV_GPU_UTIL", self.start, lambda pod: OWN)
        self.assertNotIn("activity", self.learned()[1])

    def test_without(self):
        place, run = self.learned()
        self.assertNotIn("activity", run)
        status = harness.run(RECOMMENDER, "status", "--config", place.config)
        self.assertIn("DCGM_FI_DEV_GPU_UTIL", status.stdout, status.stderr)
        self.assertIn("slower by duration alone", status.stdout)


if __name__ == "__main__":
    unittest.main()
