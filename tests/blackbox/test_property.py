# SPDX-License-Identifier: Apache-2.0
"""Random pods over HTTPS: whatever the pod, profile and mode, the patched pod is one that the API server takes.

The quantities are read by this file and the patch is applied by an independent library, so that a mistake in ours is not
made twice. A failure names its seed."""
import random
import re

import harness
from harness import profile, store

SUFFIX = {"": 1, "m": 1e-3, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30,
          "Ti": 2**40}
PODS = 150


def amount(text):
    number, suffix = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text).groups()
    return (float(number) if "." in number else int(number)) * SUFFIX[suffix]


def random_resources(rng, has_gpu):
    requests, limits = {}, {}
    for name, unit in (("memory", "Mi"), ("ephemeral-storage", "Mi"), ("cpu", "m")):
        limit = rng.randint(1, 1 << rng.randint(1, 18))
        if rng.random() < 0.4:
            limits[name] = f"{limit}{unit}"
        if name in limits or rng.random() < 0.3:
            requests[name] = f"{rng.choice([limit, rng.randint(1, limit)])}{unit}"
    if has_gpu:
        requests["nvidia.com/gpu"] = limits["nvidia.com/gpu"] = "1"
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def random_pod(rng):
    pod = harness.job_pod("a") if rng.random() < 0.7 else harness.training_pod("a")
    containers = pod["spec"]["containers"]
    containers[0]["resources"] = random_resources(rng, True)
    for index in range(rng.randint(0, 2)):
        containers.append({"name": f"helper-{index}", "image": "x", "resources": random_resources(rng, False)})
    if rng.random() < 0.3:
        pod["spec"]["initContainers"] = [{"name": "init", "image": "x", "resources": random_resources(rng, False)}]
    if rng.random() < 0.3:
        pod["metadata"]["annotations"] = {"memtamer.io/mode": rng.choice(["observe", "fill", "raise", "enforce"])}
    return pod


def all_containers(pod):
    return pod["spec"]["containers"] + pod["spec"].get("initContainers", [])


def qos(pod):
    """0 BestEffort, 1 Burstable, 2 Guaranteed, by the documented rules."""
    requests = [one.get("resources", {}).get("requests", {}) for one in all_containers(pod)]
    limits = [one.get("resources", {}).get("limits", {}) for one in all_containers(pod)]
    if not any(name in some for some in requests + limits for name in ("cpu", "memory")):
        return 0
    equal = all(name in limit and name in request and amount(limit[name]) == amount(request[name])
                for request, limit in zip(requests, limits) for name in ("cpu", "memory"))
    return 2 if equal else 1


class Property(harness.Case):
    def test_patched_pods_are_valid(self):
        patched = 0
        for mode in ("observe", "fill", "raise", "enforce"):
            webhook = self.one_mode(mode)
            for seed in range(PODS // 4):
                rng = random.Random(f"{mode}-{seed}")
                pod = random_pod(rng)
                with self.subTest(mode=mode, seed=seed):
                    response = webhook.admit(pod)
                    after = harness.patched(pod, response)
                    patched += pod["spec"] != after["spec"]
                    self.check(mode, pod, after)
                    self.assertEqual(harness.patch_of(webhook.admit(after)), [], "applying twice changes nothing")
            webhook.stop()
        self.assertGreater(patched, PODS // 4, "too few pods were patched to prove anything")

    def one_mode(self, mode):
        return self.webhook(f"mode: {mode}", store(
            profile("a-0123456789", "Job/a", request="8Gi", limit="12Gi", peak="10Gi", median="8Gi"),
            {"apiVersion": "memtamer.io/v1alpha1", "kind": "NodeShape", "metadata": {"name": "n"},
             "spec": {"resource": "nvidia.com/gpu", "accelerators": 8, "memory": "512Gi", "ephemeralStorage": "2Ti"}}))

    def check(self, mode, before, after):
        self.assertGreaterEqual(qos(after), qos(before))
        if mode == "observe" and "memtamer.io/mode" not in before["metadata"].get("annotations", {}):
            self.assertEqual(after["spec"], before["spec"])
        for was, now in zip(all_containers(before), all_containers(after)):
            old, new = was["resources"], now["resources"]
            for name, limit in new.get("limits", {}).items():
                self.assertIn(name, new["requests"], "a lone limit would become the request")
                self.assertLessEqual(amount(new["requests"][name]), amount(limit), name)
            for part in ("requests", "limits"):
                for name, value in old.get(part, {}).items():
                    self.assertIn(name, new[part], "nothing is removed")
                    if name not in ("memory", "ephemeral-storage") or mode in ("observe", "fill"):
                        if "memtamer.io/mode" not in before["metadata"].get("annotations", {}):
                            self.assertEqual(new[part][name], value)
                self.assertEqual(set(new.get(part, {})) - set(old.get(part, {})) - {"memory", "ephemeral-storage"},
                                 set(), "only memory and ephemeral-storage are added")
