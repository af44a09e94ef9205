#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_patches.py CASES: apply every expected patch with an independent RFC 6902 library and hold the result against the
listed sizes: each is there, nothing else of the spec has changed, no cpu, request <= limit in Kubernetes' own arithmetic."""
import copy
import json
import pathlib
import sys
from decimal import Decimal

try:
    import jsonpatch
except ImportError:
    sys.exit(77)

SUFFIXES = {"": 1, "m": Decimal("0.001"), "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
            "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
VARIABLES = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"}


def amount(text):
    digits = text.rstrip("mkMGTKi")
    return Decimal(digits) * SUFFIXES[text[len(digits):]]


def containers(pod):
    spec = pod["spec"]
    return {c["name"]: c for c in spec["containers"] + spec.get("initContainers", [])}


def without_sizes(pod, sizes):
    """The spec with the values of `sizes` and maps that are empty without them taken out."""
    spec = copy.deepcopy(pod["spec"])
    for container in containers({"spec": spec}).values():
        resources = container.get("resources", {})
        for size in sizes:
            if size["container"] == container["name"]:
                resources.get(size["field"] + "s", {}).pop(size["resource"], None)
        for key in ("requests", "limits"):
            if not resources.get(key, True):
                del resources[key]
        if not resources:
            container.pop("resources", None)
    return spec


def take_out_setting(name, patched, pod, answer):
    """Takes out the variable that check allocator sets: the last one of a container that had none of them."""
    for finding in answer["findings"]:
        if finding["check"] != "allocator" or finding["action"] != "patch":
            continue
        container, before = (containers(one)[finding["container"]] for one in (patched, pod))
        variable = container["env"].pop()
        assert variable["name"] in VARIABLES and variable["value"] == "expandable_segments:True", (name, variable)
        assert not {one["name"] for one in container["env"]} & VARIABLES, name
        if "env" not in before:
            del container["env"]


def check(name, pod, answer):
    patched = jsonpatch.JsonPatch(answer["patch"]).apply(copy.deepcopy(pod))
    found = containers(patched)
    for size in answer["sizes"]:
        assert size["resource"] != "cpu", name
        resources = found[size["container"]]["resources"]
        assert resources[size["field"] + "s"][size["resource"]] == size["to"], (name, size)
        both = [resources.get(key, {}).get(size["resource"]) for key in ("requests", "limits")]
        assert None in both or amount(both[0]) <= amount(both[1]), (name, both)
    take_out_setting(name, patched, pod, answer)
    assert without_sizes(patched, answer["sizes"]) == without_sizes(pod, answer["sizes"]), name
    if answer["mode"] == "observe":
        assert patched["spec"] == pod["spec"], name


def main():
    patches = 0
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        pod = json.loads((folder / "object.json").read_text())
        answer = json.loads((folder / "expected.json").read_text())
        if pod["kind"] == "Pod":
            check(folder.name, pod, answer)
            patches += bool(answer["patch"])
    assert patches > 50, patches
    print(f"{patches} patches applied")


main()
