# SPDX-License-Identifier: Apache-2.0
"""What an ML engineer reads at `kubectl apply`: the whole of it, word for word, for every kind that makes pods.

tests/e2e/warnings/KIND.txt holds what kubectl printed; with MEMTAMER_E2E_UPDATE=1 it is written again. Read every line of
the difference: these are the sentences that users see."""
import copy
import os

import harness
import workloads
from kit import TOP, parallel, wait_for
from standins import install_kinds

EXPECTED = os.path.join(TOP, "tests/e2e/warnings")
SHAPE = {"apiVersion": "memtamer.io/v1alpha1", "kind": "NodeShape", "metadata": {"name": "h100x8"},
         "spec": {"resource": "nvidia.com/gpu", "accelerators": 8, "memory": "1920Gi", "ephemeralStorage": "7600Gi"}}


def compare(name, text):
    path = os.path.join(EXPECTED, name + ".txt")
    if os.environ.get("MEMTAMER_E2E_UPDATE"):
        harness.write_atomic(path, text)
    with open(path, encoding="utf-8") as file:
        expected = file.read()
    assert text == expected, f"{path}:\n{expected}--- and now:\n{text}"


def printed(title, done):
    return f"$ {title}\n{done.err}{done.out}"


def show(t, name, namespace):
    """kubectl's own words about an object: its dry run, its creation, and a dry run of a change of its spec."""
    thing, change, _, _ = workloads.WORKLOADS[name]
    dry = t.apply(thing, namespace, "--dry-run=server")
    made = t.apply(thing, namespace)
    t.at_end(t.kubectl, "delete", "--wait=false", "--ignore-not-found", "-f", "-", namespace=namespace, stdin=thing)
    assert made.warnings == dry.warnings, f"{name}: a dry run must warn as the real thing does:\n{dry}\n{made}"
    text = printed("kubectl apply --dry-run=server", dry)
    if name in ("pod", "job", "pytorchjob"):
        again = t.apply(thing, namespace)
        assert again.warnings == [] and again.out.endswith(" unchanged\n"), again
    if not change:
        return text, dry
    changed = copy.deepcopy(thing)
    changed["spec"].update(change)
    done = t.apply(changed, namespace, "--dry-run=server")
    assert done.warnings == dry.warnings, f"{name}: a change of the spec shows what creation shows:\n{done}"
    return text + f"$ kubectl apply --dry-run=server, after a change of its spec\n(the same warnings)\n{done.out}", dry


@parallel
def test_every_kind(t):
    install_kinds(t)
    namespace = t.namespace()
    objects = [SHAPE] + [workloads.profile_of(name, namespace) for name in workloads.WORKLOADS]
    webhook = t.webhook(config={"mode": "raise"}, objects=objects)
    webhook.configure(namespace)
    webhook.wait_validating(namespace)
    lines = 0
    for name in workloads.WORKLOADS:
        text, dry = show(t, name, namespace)
        compare(name, text)
        lines += len(dry.warnings)
        for line in dry.warnings:
            assert len(line) <= 120 and line.isascii() and line.startswith("memtamer: "), line
    written = {file[:-4] for file in os.listdir(EXPECTED)}
    assert written == set(workloads.WORKLOADS), written ^ set(workloads.WORKLOADS)
    return f"{len(workloads.WORKLOADS)} kinds, {lines} warnings, as kubectl prints them: dry run, creation, change"
