# SPDX-License-Identifier: Apache-2.0
"""The chart and a real API server: every set of values is taken by it, strictly and without a warning, and a release
comes, changes and goes. test_install.py is about its programs."""
import unittest

import yaml

import chart
import cluster
from cluster import helm, kubectl, left_of, wait_until_only

# Kinds that come with other products. What they check is theirs; here they only have to be there.
STAND_INS = [
    ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"),
    ("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"),
    ("cert-manager.io", "v1", "Certificate", "certificates"),
    ("cert-manager.io", "v1", "Issuer", "issuers"),
]


def stand_in(group, version, kind, plural):
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}],
        },
    }


def setUpModule():
    cluster.up()
    cluster.apply(*(stand_in(*kind) for kind in STAND_INS))
    kubectl("wait", "--for=condition=Established", "crd", "--all")


def tearDownModule():
    cluster.down()


class Accepted(unittest.TestCase):
    """Each is a dry run on the server: decoding (strict), defaulting, validation, admission."""

    @classmethod
    def setUpClass(cls):
        cluster.namespace(chart.NAMESPACE)
        for account in "memtamer-recommender", "sizes-recommender":  # a pod is refused without its account
            kubectl("create", "serviceaccount", account, "--namespace", chart.NAMESPACE)

    @classmethod
    def tearDownClass(cls):
        kubectl("delete", "namespace", chart.NAMESPACE)

    def dry_run(self, text, *words):
        return cluster.tool("kubectl", "apply", "--dry-run=server", "--validate=strict", *words, "-f", "-", stdin=text)

    def test_every_set_of_values(self):
        for values in chart.value_sets():
            for words in (), ("--server-side", "--force-conflicts"):
                with self.subTest(values.name, words=words):
                    code, _, err = self.dry_run(chart.template(values), *words)
                    self.assertEqual(code, 0, err)
                    # (where the account above was not made by apply, kubectl says so)
                    warnings = [line for line in err.splitlines()
                                if line.startswith("Warning: ") and "last-applied" not in line]
                    if values.name == "hostnetwork-values.yaml":
                        # the one thing that "restricted" cannot allow
                        self.assertTrue(all("hostNetwork=true" in line for line in warnings) and warnings, err)
                    else:
                        self.assertEqual(warnings, [])

    def test_manifests(self):
        code, _, err = self.dry_run((chart.ROOT / "manifests/install.yaml").read_text())
        self.assertEqual(code, 0, err)
        code, _, err = self.dry_run((chart.ROOT / "manifests/crds.yaml").read_text(), "--server-side")
        self.assertEqual(code, 0, err)

    def test_a_wrong_field_would_be_seen(self):
        text = chart.template().replace("revisionHistoryLimit", "revisionHistoryLimt")
        code, _, err = self.dry_run(text)
        self.assertNotEqual(code, 0)
        self.assertIn("unknown field", err)


class Release(unittest.TestCase):
    """helm installs, upgrades and uninstalls. No image is there, so no pod comes up, and nothing waits for one."""
    WORDS = ["memtamer", chart.CHART, "--namespace", "memtamer-system"]

    def test_life(self):
        out = helm("install", *self.WORDS, "--create-namespace")
        notes = out[out.index("NOTES:"):]
        for line in ("logs deployment/memtamer-recommender", "test memtamer", "kubectl apply --dry-run=server",
                     "kubectl delete mutatingwebhookconfiguration a0-memtamer"):
            self.assertIn(line, notes)
        was = left_of("memtamer")
        for name in ("deployment.apps/memtamer-webhook", "deployment.apps/memtamer-recommender",
                     "customresourcedefinition.apiextensions.k8s.io/memoryprofiles.memtamer.io"):
            self.assertIn(name, was)

        # What the webhook and cert-manager write must survive an upgrade.
        patch = '[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "Q0E="}]'
        webhooks = [name for name in was if "webhookconfiguration" in name]
        for name in webhooks:
            kubectl("patch", name, "--type=json", "--patch", patch)
        helm("upgrade", *self.WORDS, "--set", "config.mode=enforce", "--set", "webhook.timeoutSeconds=3")
        for name in webhooks:
            hooks = yaml.safe_load(kubectl("get", name, "--output=yaml"))["webhooks"]
            self.assertEqual((hooks[0]["clientConfig"]["caBundle"], hooks[0]["timeoutSeconds"]), ("Q0E=", 3))
        self.assertIn("mode: enforce", kubectl("get", "configmap", "memtamer-config", "-n", "memtamer-system", "-o", "yaml"))

        helm("uninstall", "memtamer", "--namespace", "memtamer-system", "--wait")
        self.assertEqual(len(wait_until_only("memtamer", "customresourcedefinition")), 3)

        # A second release takes over what was kept, and takes it with it when told to.
        helm("install", *self.WORDS, "--set", "crds.keep=false")
        helm("uninstall", "memtamer", "--namespace", "memtamer-system", "--wait")
        wait_until_only("memtamer", ("nothing",))
