# SPDX-License-Identifier: Apache-2.0
"""The cluster of these tests, in build/cluster-chart: up for the modules that need it, and its tools."""
import os
import unittest

import yaml

import chart
import harness  # the black-box tests' own

FOLDER = chart.ROOT / "build/cluster-chart"
ENV = {"MEMTAMER_CLUSTER": str(FOLDER), "MEMTAMER_CLUSTER_AUDIT": str(chart.HERE / "audit.yaml")}
TOOLS = chart.ROOT / "tests/cluster"


def up():
    """Once for all modules; it ends with this process. Skips without root."""
    if os.geteuid():
        raise unittest.SkipTest("a kubelet needs root")
    chart.must(TOOLS / "up", "--owner", os.getpid(), env=ENV)


def down():
    tool("down")


def tool(name, *words, stdin=None):
    """@return (exit code, standard output, standard error)"""
    return chart.run(TOOLS / name, *words, stdin=stdin, env=ENV)


def must(name, *words, stdin=None):
    return chart.must(TOOLS / name, *words, stdin=stdin, env=ENV)


def kubectl(*words, stdin=None):
    return must("kubectl", *words, stdin=stdin)


def helm(*words):
    return must("helm", *words)


def apply(*things):
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(things))


def namespace(name, level="restricted"):
    apply({"apiVersion": "v1", "kind": "Namespace",
           "metadata": {"name": name, "labels": {f"pod-security.kubernetes.io/{what}": level for what in ("enforce", "warn")}}})


def wait_for(condition, what, patience=120):
    """The condition's first true value."""
    return harness.wait_until(condition, what, patience, pause=0.2)


def everything(*words, scope="--cached=false"):
    """What exists, as "kind/name", of all kinds that can be listed but events; `words` select."""
    kinds = kubectl("api-resources", "--verbs=list", "--output=name", scope).split()
    kinds = [kind for kind in kinds if not kind.startswith("events")]
    return kubectl("get", ",".join(kinds), "--ignore-not-found", "--output=name", *words).split()


def left_of(release):
    """What exists in the cluster with a release's labels."""
    return everything("--all-namespaces", "--selector", f"app.kubernetes.io/instance={release}")


def wait_until_only(release, prefix):
    """Helm does not wait for what a controller made, pods for example. @return what is left of the release."""
    wait_for(lambda: all(name.startswith(prefix) for name in left_of(release)), lambda: f"{left_of(release)} to go")
    return left_of(release)
