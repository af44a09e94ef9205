# SPDX-License-Identifier: Apache-2.0
"""Our own kinds of objects in the cluster."""
import json
import os

import yaml

from programs import TOP, wait_for

DEFINITIONS = os.path.join(TOP, "manifests/crds.yaml")
EXAMPLES = os.path.join(TOP, "tests/support/data/objects")
GROUP = "memtamer.io"
VERSION = "memtamer.io/v1alpha1"
PROFILES, HISTORIES, SHAPES = (f"{plural}.{VERSION}" for plural in ("memoryprofiles", "memoryhistories", "nodeshapes"))


def definitions():
    """The CustomResourceDefinitions as the chart installs them."""
    with open(DEFINITIONS, encoding="utf-8") as file:
        return [thing for thing in yaml.safe_load_all(file) if thing]


def apply_definitions(cluster, things):
    """kubectl apply them, and wait until their kinds are served."""
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=things)
    for thing in things:
        spec = thing["spec"]
        wait_for(lambda s=spec: cluster.get(f"/apis/{s['group']}/{s['versions'][0]['name']}/{s['names']['plural']}"),
                 f"{spec['names']['plural']} to be served")


def install(t):
    """Our definitions, once for all tests that need them; they stay."""
    t.session.once("definitions", lambda: apply_definitions(t.cluster, definitions()) or True)


def examples(plural):
    """Objects which together have every field that is ever written."""
    with open(os.path.join(EXAMPLES, plural + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def profile(name, **spec):
    return {"apiVersion": VERSION, "kind": "MemoryProfile", "metadata": {"name": name}, "spec": spec}
