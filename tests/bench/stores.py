# SPDX-License-Identifier: Apache-2.0
"""Stores of many profiles for the benchmark. stores.py COUNT REVIEW > profiles.json"""
import json
import sys

import harness

NODE_SHAPES = [{"apiVersion": "memtamer.io/v1alpha1", "kind": "NodeShape", "metadata": {"name": "h100-8"},
                "spec": {"accelerator": "nvidia.com/gpu", "count": 8, "memory": "2000Gi", "ephemeralStorage": "7000Gi"}}]


def write(path, count, review):
    """`count` profiles, the first of which is that of the review's pod."""
    with open(review, encoding="utf-8") as file:
        request = json.load(file)["request"]
    main = request["object"]["spec"]["containers"][0]["name"]
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[')
        for index in range(count):
            file.write(",\n" if index else "\n")
            json.dump(one(index, request["namespace"], main), file, separators=(",", ":"))
        file.write("\n]}\n")


def one(index, namespace, container):
    workload = "PyTorchJob/bert-large" if index == 0 else f"Job/training-{index}"
    name = f"training-{index}-{index:010x}"
    item = harness.profile(name, workload, namespace if index == 0 else f"team-{index % 97}", request="40Gi",
                           limit="56Gi", peak="50Gi", median="40Gi", container=container,
                           role="worker" if index == 0 else "")
    if index:
        item["status"]["aliases"] = [workload, f"owner-stem:training-{index}", f"pod-stem:training-{index}"]
    return item


if __name__ == "__main__":
    write("/dev/stdout", int(sys.argv[1]), sys.argv[2])
