# SPDX-License-Identifier: Apache-2.0
"""The webhook configurations as the chart makes them, led to processes of the tests instead of the chart's Service."""
import copy
import functools
import json
import os
import subprocess
import tempfile

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHART = os.path.join(TOP, "charts/memtamer")
OWN_NAMESPACE = "memtamer"  # the release's, for what is rendered and never installed
TEMPLATES = ("templates/mutatingwebhook.yaml", "templates/validatingwebhook.yaml")
API = "/apis/admissionregistration.k8s.io/v1/"
# As long as the chart allows, for tests of what is said: a machine that is slow must not be taken for a webhook that is gone.
PATIENT = {"webhook": {"timeoutSeconds": 5}}


@functools.lru_cache(maxsize=None)
def _render(values, namespace):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(values)
        file.flush()
        command = ["helm", "template", "memtamer", CHART, "--namespace", namespace, "--kube-version", "1.34.0",
                   "--set", "image.registry=registry.example.com", "--values", file.name]
        for name in TEMPLATES:
            command += ["--show-only", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"helm template: {done.stderr}")
    return [thing for thing in yaml.safe_load_all(done.stdout) if thing]


def rendered(values=None, namespace=OWN_NAMESPACE):
    """[MutatingWebhookConfiguration, ValidatingWebhookConfiguration] of the chart with these values."""
    return copy.deepcopy(_render(json.dumps(values or {}, sort_keys=True), namespace))


def path_of(configuration):
    return f"{API}{configuration['kind'].lower()}s/{configuration['metadata']['name']}"


def lead_to(configuration, server, namespaces, name=None):
    """That configuration, for these namespaces only, with a process (its `url` and `ca_bundle`) behind it."""
    configuration["metadata"]["name"] = name or f"{configuration['metadata']['name']}-{namespaces[0]}"
    for entry in configuration["webhooks"]:
        entry["timeoutSeconds"] = PATIENT["webhook"]["timeoutSeconds"]
        entry["clientConfig"] = {"url": server.url + entry["clientConfig"]["service"]["path"],
                                 "caBundle": server.ca_bundle}
        entry.setdefault("namespaceSelector", {}).setdefault("matchExpressions", []).append(
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(namespaces)})
    return configuration


def count_apart(configuration, namespace):
    """Give the webhook of pods a name of its own, which is returned: the API server counts by it, and tests that run
    beside each other use the same one."""
    name = f"pods.{namespace}.memtamer.io"
    next(one for one in configuration["webhooks"] if one["name"] == "pods.memtamer.io")["name"] = name
    return name


def install(test, configuration):
    """Create it; it ends with the test."""
    test.at_end(test.cluster.delete, path_of(configuration))
    return test.cluster.create(API + configuration["kind"].lower() + "s", configuration).body
