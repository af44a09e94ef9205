# SPDX-License-Identifier: Apache-2.0
"""What the tests of the chart share: helm, the sets of values, what is rendered."""
import functools
import os
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "charts/memtamer"
HERE = Path(__file__).resolve().parent
NAMESPACE = "memtamer"
REQUIRED = CHART / "ci/default-values.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times faster


def run(*words, stdin=None, env=None):
    """@return (exit code, standard output, standard error)"""
    done = subprocess.run([str(word) for word in words], input=stdin, capture_output=True, text=True, check=False,
                          env={**os.environ, **(env or {})}, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr


def must(*words, stdin=None, env=None):
    code, out, err = run(*words, stdin=stdin, env=env)
    if code:
        raise AssertionError(f"{' '.join(str(word) for word in words)}: exit code {code}\n{out}{err}")
    return out


def helm(*words, stdin=None):
    return run(ROOT / "tests/cluster/helm", *words, stdin=stdin)


def template_words(values=(), namespace=NAMESPACE, release="memtamer", folder=CHART):
    """`values`: files, or "key=value" as of --set; they are added to the values that must be set."""
    words = ["template", release, folder, "--namespace", namespace, "--values", REQUIRED]
    for value in values:
        words += ["--set", value] if isinstance(value, str) else ["--values", value]
    return words


@functools.lru_cache(maxsize=None)
def template(*values, namespace=NAMESPACE, release="memtamer"):
    """The rendered text."""
    code, out, err = helm(*template_words(values, namespace, release))
    if code:
        raise AssertionError(f"helm template with {values}: {err}")
    return out


def objects(*values, **more):
    """Everything rendered, as objects."""
    return [item for item in yaml.load_all(template(*values, **more), LOADER) if item]


def refusal(*values, namespace=NAMESPACE):
    """What helm says when it refuses these values. Raises AssertionError when it does not."""
    code, out, err = helm(*template_words(values, namespace))
    if not code:
        raise AssertionError(f"helm accepted {values} in {namespace}")
    return err


def value_sets():
    return sorted(CHART.glob("ci/*-values.yaml"))


def find(items, kind, name):
    found = [item for item in items if item["kind"] == kind and item["metadata"]["name"] == name]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} of {kind} {name}")
    return found[0]
