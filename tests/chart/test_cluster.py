# SPDX-License-Identifier: Apache-2.0
"""The chart and a real API server: every set of values is taken by it, strictly and without a warning, and a release
comes, changes and goes. test_install.py is about its programs."""
import json
import re
import unittest

import yaml

import chart
import cluster
import test_gitops
from cluster import helm, kubectl, left_of, wait_until_only

OF_NAMESPACE = "memtamer-namespace"
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

    def test_pods_of_the_nodes_network(self):
        """docs/INSTALL.md and NOTES.txt say how a restricted namespace takes them."""
        deployment = chart.find(chart.objects(chart.CHART / "ci/hostnetwork-values.yaml"), "Deployment", "memtamer-webhook")
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": deployment["spec"]["template"]["spec"],
               "metadata": {"name": "webhook", "namespace": chart.NAMESPACE}}
        pod["spec"]["serviceAccountName"] = "memtamer-recommender"  # one that is there
        code, _, err = self.dry_run(yaml.safe_dump(pod))
        self.assertNotEqual(code, 0)
        self.assertIn('violates PodSecurity "restricted', err)
        page = (chart.ROOT / "docs/INSTALL.md").read_text()
        self.addCleanup(cluster.namespace, chart.NAMESPACE)
        kubectl(*re.search(r"^kubectl (label namespace memtamer pod-security.*)$", page, re.M)[1].split())
        code, _, err = self.dry_run(yaml.safe_dump(pod))
        self.assertEqual(code, 0, err)

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


class GitOps(unittest.TestCase):
    """What the programs write is no difference to what git says (docs/GITOPS.md), whoever compares it, and however."""
    PROFILE = test_gitops.manifests("memtamer.io/")[0]

    @classmethod
    def setUpClass(cls):
        profiles = test_gitops.manifests("memtamer.io/")
        cls.items = [item for item in chart.objects() if "helm.sh/hook" not in item["metadata"].get("annotations", {})]
        definitions = [item for item in cls.items if item["kind"] == "CustomResourceDefinition"]
        for name in chart.NAMESPACE, cls.PROFILE["metadata"]["namespace"]:
            cluster.namespace(name)
            cls.addClassCleanup(kubectl, "delete", "namespace", name)
        cls.addClassCleanup(kubectl, "delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump_all(cls.items))
        cluster.apply(*definitions)
        kubectl("wait", "--for=condition=Established", "crd", "--all")
        cls.items += profiles

    def write_as_the_programs_do(self):
        for item in self.items:
            name, namespace = f"{item['kind']}/{item['metadata']['name']}", item["metadata"].get("namespace", "default")
            patch = []
            if item["kind"] in ("Secret", "ConfigMap") and "data" not in item:
                patch = [{"op": "add", "path": "/data", "value": {"x": "Q0E="}}]
            for i, _ in enumerate(item.get("webhooks", [])):
                patch.append({"op": "add", "path": f"/webhooks/{i}/clientConfig/caBundle", "value": "Q0E="})
            if patch:
                kubectl("patch", name, "--namespace", namespace, "--type=json", "--patch", json.dumps(patch))
                self.n_written += 1
        kubectl("patch", "memoryprofile", self.PROFILE["metadata"]["name"], "--namespace", self.PROFILE["metadata"]["namespace"],
                "--subresource=status", "--type=merge", "--patch", '{"status":{"workload":"Job/resnet-train"}}')

    def test_what_the_programs_write_is_no_drift(self):
        self.n_written = 0
        text = yaml.safe_dump_all(self.items)
        for how in ("--field-manager=argocd-controller",), ("--server-side", "--force-conflicts", "--field-manager=flux"):
            with self.subTest(how):
                kubectl("apply", *how, "-f", "-", stdin=text)
                self.write_as_the_programs_do()
                code, out, err = cluster.tool("kubectl", "diff", *how, "-f", "-", stdin=text)
                self.assertEqual((code, out), (0, ""), err)
                kubectl("apply", *how, "-f", "-", stdin=text)
                self.assertIn("Q0E=", kubectl("get", "secret", "memtamer-webhook-tls", "-n", chart.NAMESPACE, "-o", "yaml"))
        self.assertEqual(self.n_written, 2 * 5)


class NamespaceProfiles(unittest.TestCase):
    """The profile memtamer-namespace is the platform's and the recommender's; all others are the tenant's."""
    KINDS = {"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy",
             "ValidatingAdmissionPolicyBinding"}
    TENANT, PLATFORM = ("--as=alice",), ("--as=bob", "--as-group=platform")
    RECOMMENDER = (f"--as=system:serviceaccount:{chart.NAMESPACE}:memtamer-recommender",)
    DENIED = "only users who may write MemoryProfiles in all namespaces"

    @classmethod
    def setUpClass(cls):
        items = [item for item in chart.objects("rbac.protectNamespaceProfiles=true") if item["kind"] in cls.KINDS]
        cls.addClassCleanup(kubectl, "delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump_all(items))
        cluster.apply(*items)
        kubectl("wait", "--for=condition=Established", "crd", "--all")
        kubectl("create", "namespace", "team")
        cls.addClassCleanup(kubectl, "delete", "namespace", "team", "--ignore-not-found")
        # All that a tenant can have: the aggregated role, and the deletion of collections.
        kubectl("create", "rolebinding", "edit", "--clusterrole=memtamer-edit", "--user=alice", "--namespace=team")
        kubectl("create", "role", "all", "--verb=*", "--resource=memoryprofiles.memtamer.io", "--namespace=team")
        kubectl("create", "rolebinding", "all", "--role=all", "--user=alice", "--namespace=team")
        for role in "memtamer-view", "memtamer-edit":
            kubectl("create", "clusterrolebinding", f"{role}-platform", f"--clusterrole={role}", "--group=platform")
            cls.addClassCleanup(kubectl, "delete", "clusterrolebinding", f"{role}-platform")
        for name, answer in (("mine", 0), (OF_NAMESPACE, 1)):
            cluster.wait_for(lambda name=name, answer=answer: cls.write(cls.TENANT, name, "--dry-run=server")[0] == answer,
                             f"the rights and the policy about {name}")

    @staticmethod
    def tool(who, *words, stdin=None):
        return cluster.tool("kubectl", "--namespace=team", *who, *words, stdin=stdin)

    @classmethod
    def write(cls, who, name, *words, metadata=None, verb="create"):
        return cls.tool(who, verb, *words, "-f", "-", stdin=yaml.safe_dump({
            "apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryProfile", "spec": {"modeCap": "observe"},
            "metadata": metadata or {"name": name}}))

    def patch(self, who, name):
        return self.tool(who, "patch", "memoryprofile", name, "--type=merge", "--patch", '{"spec":{"modeCap":"fill"}}')

    def refused(self, answer):
        self.assertNotEqual(answer[0], 0)
        self.assertIn(self.DENIED, answer[2])

    def done(self, answer):
        self.assertEqual(answer[0], 0, answer[2])

    def test_a_tenant_writes_all_but_the_namespaces(self):
        self.done(self.write(self.PLATFORM, OF_NAMESPACE))
        self.addCleanup(kubectl, "delete", "memoryprofile", "--namespace=team", "--all")
        self.refused(self.patch(self.TENANT, OF_NAMESPACE))
        self.refused(self.write(self.TENANT, OF_NAMESPACE, verb="replace"))
        self.refused(self.write(self.TENANT, OF_NAMESPACE, "--server-side", "--force-conflicts", verb="apply"))
        self.refused(self.tool(self.TENANT, "delete", "memoryprofile", OF_NAMESPACE))
        self.refused(self.tool(self.TENANT, "delete", "--raw", "/apis/memtamer.io/v1alpha1/namespaces/team/memoryprofiles"))
        kubectl("delete", "memoryprofile", "--namespace=team", OF_NAMESPACE)
        self.refused(self.write(self.TENANT, OF_NAMESPACE))
        self.refused(self.write(self.TENANT, OF_NAMESPACE, "--server-side", verb="apply"))

        self.done(self.write(self.TENANT, "mine"))
        self.done(self.write(self.TENANT, None, metadata={"generateName": "memtamer-namesp"}))
        self.done(self.patch(self.TENANT, "mine"))
        self.done(self.tool(self.TENANT, "delete", "memoryprofile", "mine"))
        self.done(self.tool(self.TENANT, "delete", "--raw", "/apis/memtamer.io/v1alpha1/namespaces/team/memoryprofiles"))

    def test_the_recommender_and_the_platform_write_it(self):
        for who in self.RECOMMENDER, self.PLATFORM:
            with self.subTest(who):
                self.done(self.write(who, OF_NAMESPACE))
                self.done(self.patch(who, OF_NAMESPACE))
                self.done(self.tool(who, "delete", "memoryprofile", OF_NAMESPACE))

    def test_it_goes_with_its_namespace(self):
        kubectl("create", "namespace", "gone")
        kubectl("create", "-f", "-", stdin=yaml.safe_dump({
            "apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryProfile", "spec": {"modeCap": "observe"},
            "metadata": {"name": OF_NAMESPACE, "namespace": "gone"}}))
        kubectl("delete", "namespace", "gone", "--timeout=60s")


class Release(unittest.TestCase):
    """helm installs, upgrades and uninstalls. No image is there, so no pod comes up, and nothing waits for one."""
    WORDS = ["memtamer", chart.CHART, "--namespace", "memtamer-system", "--values", chart.REQUIRED]

    def test_life(self):
        out = helm("install", *self.WORDS, "--create-namespace")
        notes = out[out.index("NOTES:"):]
        for line in ("logs --selector app.kubernetes.io/component=recommender", "test memtamer", "kubectl apply --dry-run=server",
                     "The next mode is fill: ", "kubectl delete mutatingwebhookconfiguration a0-memtamer"):
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
        out = helm("upgrade", *self.WORDS, "--set", "config.mode=enforce", "--set", "webhook.timeoutSeconds=3")
        self.assertNotIn("The next mode is", out)
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
