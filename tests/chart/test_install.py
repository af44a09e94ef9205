# SPDX-License-Identifier: Apache-2.0
"""A release with the real image: it becomes ready, helm's own test passes, its programs use all their rights and no
others, and nothing is left of it. What memtamer does to pods is for tests/e2e."""
import json
import os
import shutil
import tempfile
import unittest

import yaml

import chart
import cluster
import test_rbac
from cluster import helm, kubectl, wait_for

IMAGE = chart.ROOT / "build/image/memtamer.tar"
NAMESPACE = "memtamer-system"
WORDS = ["memtamer", chart.CHART, "--namespace", NAMESPACE, "--wait", "--timeout", "3m",
         "--set", "image.registry=localhost", "--set", "image.pullPolicy=Never",
         "--set", "config.prometheus.url=http://10.244.0.1:9090", "--set", "config.recommender.interval=1s",
         "--set", "config.recommender.probe=1s", "--set", "config.webhook.drain=1s",
         # what is set gets Events, a right that would be unused else
         "--set", "config.mode=raise", "--set", "config.sizing.noHistoryEphemeralStorageRequest=1Gi"]

# Rights that this test gives no occasion to use, with the occasion. tests/e2e/test_lifecycle.py learns from real runs.
LEARNING = "there is history to learn from"
UNUSED = {
    ("memtamer-webhook", "secrets", "create"): "the Secret was deleted",
    ("memtamer-webhook", "secrets", "get"): "another replica has written it meanwhile",
    ("memtamer-webhook", "admissionregistration.k8s.io/mutatingwebhookconfigurations", "get"): "another has written it",
    ("memtamer-webhook", "admissionregistration.k8s.io/validatingwebhookconfigurations", "get"): "another has written it",
    ("memtamer-recommender", "admissionregistration.k8s.io/mutatingwebhookconfigurations", "get"): "no webhook answers",
    ("memtamer-recommender", "configmaps", "delete"): "the collector's state has become smaller",
    ("memtamer-recommender", "configmaps", "update"): LEARNING,
    ("memtamer-recommender", "memtamer.io/memoryprofiles", "get"): "another has written it",
    ("memtamer-recommender", "memtamer.io/memoryprofiles", "create"): LEARNING,
    ("memtamer-recommender", "memtamer.io/memoryprofiles", "patch"): "sizes of ours did too much harm in a namespace",
    ("memtamer-recommender", "events", "patch"): "the same was told before",
    ("memtamer-recommender", "memtamer.io/memoryprofiles", "delete"): "a workload has not run for recommender.keep",
    ("memtamer-recommender", "memtamer.io/memoryprofiles/status", "update"): LEARNING,
    ("memtamer-recommender", "memtamer.io/memoryhistories", "list"): LEARNING,
    ("memtamer-recommender", "memtamer.io/memoryhistories", "get"): "another has written it",
    ("memtamer-recommender", "memtamer.io/memoryhistories", "create"): LEARNING,
    ("memtamer-recommender", "memtamer.io/memoryhistories", "update"): LEARNING,
    ("memtamer-recommender", "memtamer.io/memoryhistories", "delete"): "a workload has not run for recommender.keep",
    ("memtamer-recommender", "memtamer.io/nodeshapes", "get"): "another has written it",
    ("memtamer-recommender", "memtamer.io/nodeshapes", "create"): LEARNING,
    ("memtamer-recommender", "memtamer.io/nodeshapes", "update"): LEARNING,
    ("memtamer-recommender", "memtamer.io/nodeshapes", "delete"): "such a node has not been there for recommender.keep",
}


def is_installed(resource):
    """Kinds of other products are not, here."""
    return "." not in resource.partition("/")[0] or resource.partition("/")[0].endswith((".k8s.io", "memtamer.io")) and (
        not resource.startswith(("autoscaling.", "jobset.", "sparkoperator.")))


def setUpModule():
    if not IMAGE.exists():
        raise unittest.SkipTest("there is no image; image/build makes it")
    cluster.up()
    cluster.must("import", IMAGE)


def tearDownModule():
    cluster.down()


def audit():
    """Requests of the release's pods: (program, resource, verb, status, whole event)."""
    with open(cluster.FOLDER / "logs/audit.log", encoding="utf-8") as log:
        for line in log:
            if not line.endswith("\n"):
                return  # it is being written
            event = json.loads(line)
            at = event.get("objectRef", {})
            resource = "/".join(part for part in (at.get("apiGroup"), at.get("resource"), at.get("subresource")) if part)
            yield (event["user"]["username"].rpartition(":")[2], resource, event["verb"],
                   event.get("responseStatus", {}).get("code"), event)


def used():
    return {(who, resource, verb) for who, resource, verb, _, _ in audit() if resource}


def granted():
    return {(who.partition("/")[2], resource, verb)
            for who, _, resource, _, verbs in test_rbac.rules() if who.startswith("ServiceAccount/") for verb in verbs.split()
            if is_installed(resource)}


LEASES = ("memtamer-recommender", "memtamer-webhook-tls")


def chart_with_leases(folder):
    """A copy of the chart that renders the Leases, as its versions up to 0.1 did."""
    copy = shutil.copytree(chart.CHART, os.path.join(folder, "memtamer"))
    with open(os.path.join(copy, "templates/leases.yaml"), "w", encoding="utf-8") as file:
        yaml.safe_dump_all([{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                             "metadata": {"name": name, "namespace": NAMESPACE}} for name in LEASES], file)
    return copy


class Install(unittest.TestCase):
    """test_life comes first: it looks at all requests since the cluster is up."""

    def logs(self):
        return "".join(kubectl("logs", "--namespace", NAMESPACE, "--prefix", "--selector",
                               f"app.kubernetes.io/component={component}", "--tail=30") for component in
                       ("webhook", "recommender"))

    def test_life(self):
        cluster.namespace(NAMESPACE)
        done = chart.run(cluster.TOOLS / "helm", "install", *WORDS, env=cluster.ENV)
        if done[0]:
            self.fail(f"{done}\n{kubectl('get', 'pods', '-A', '-o', 'wide')}\n{kubectl('describe', 'pods', '-n', NAMESPACE)}\n"
                      f"{self.logs()}")
        self.wait_for_helm_test(NAMESPACE)
        self.run_a_training()
        wait_for(lambda: granted() - used() <= set(UNUSED),
                 lambda: f"a use of {sorted(granted() - used() - set(UNUSED))}\n{self.logs()}")
        self.assertEqual(used() - granted(), set(), "asked for, but not granted")
        refused = {(who, resource, verb) for who, resource, verb, status, _ in audit() if status in (401, 403)}
        self.assertEqual(refused, set())

        wait_for(lambda: self.states() == "true,0;" * 4, lambda: f"{self.states()}: four ready pods, none restarted")

        helm("uninstall", "memtamer", "--namespace", NAMESPACE, "--wait")
        cluster.wait_until_only("memtamer", "customresourcedefinition")
        wait_for(lambda: sorted(self.left()) == [f"lease.coordination.k8s.io/{name}" for name in LEASES],
                 lambda: f"only the Leases of {self.left()} to stay")
        kubectl("delete", "lease", "--namespace", NAMESPACE, *LEASES)

    def test_upgrade_from_release_0_1(self):
        """With all values of that release. Its chart made the Leases, which the programs have to make since."""
        values = ("--values", chart.CHART / "ci/release-0.1-values.yaml")
        cluster.namespace(NAMESPACE)
        self.addCleanup(self.remove)
        with tempfile.TemporaryDirectory() as folder:
            helm("install", WORDS[0], chart_with_leases(folder), *WORDS[2:], *values)
        wait_for(lambda: self.leases().get("memtamer-recommender", ("", ""))[1], "a recommender to lead")
        before = self.leases()
        self.assertEqual(sorted(before), sorted(LEASES))
        helm("upgrade", *WORDS, *values)
        # The webhook stands for election only when there is something to do for the certificate.
        kubectl("delete", "secret", "memtamer-webhook-tls", "--namespace", NAMESPACE)
        wait_for(lambda: all(name in self.leases() and self.leases()[name][0] != before[name][0] for name in LEASES),
                 lambda: f"the programs to make both Leases again: {before}, {self.leases()}")
        wait_for(lambda: self.leases()["memtamer-recommender"][1], "a recommender to lead again")
        wait_for(lambda: self.states() == "true,0;" * 4, lambda: f"{self.states()}: four ready pods, none restarted")

    def test_the_release_may_be_in_another_namespace(self):
        for name in "platform", NAMESPACE:
            cluster.namespace(name)
        self.addCleanup(kubectl, "delete", "namespace", "platform")
        self.addCleanup(self.remove, "platform")
        words = ["platform" if word == NAMESPACE else word for word in WORDS]
        # The definitions that the release before this one has kept are another release's.
        helm("install", *words, "--take-ownership", "--set", f"namespaceOverride={NAMESPACE},crds.keep=false")
        self.wait_for_helm_test("platform")
        found = {name.partition("/")[0] for name in cluster.everything("--namespace", "platform", scope="--namespaced")}
        self.assertEqual(found, {"configmap", "serviceaccount", "secret"})  # Kubernetes' own, and helm's
        self.assertIn("deployment.apps/memtamer-webhook", self.left())

    def wait_for_helm_test(self, namespace):
        """That pods are ready does not say that the Service leads to them already."""
        wait_for(lambda: "Succeeded" in cluster.tool("helm", "test", "memtamer", "--namespace", namespace)[1],
                 lambda: f"helm test to succeed\n{self.logs()}")

    def leases(self):
        """Of those that are there: uid and holder."""
        found = json.loads(kubectl("get", "leases", "--namespace", NAMESPACE, "--output=json"))["items"]
        return {lease["metadata"]["name"]: (lease["metadata"]["uid"], lease["spec"].get("holderIdentity", ""))
                for lease in found}

    def remove(self, release_namespace=NAMESPACE):
        helm("uninstall", "memtamer", "--namespace", release_namespace, "--wait")
        kubectl("delete", "lease", "--namespace", NAMESPACE, "--ignore-not-found", *LEASES)
        kubectl("delete", "secret", "--namespace", NAMESPACE, "--ignore-not-found", "memtamer-webhook-tls")

    def states(self):
        """ready,restarts; of each pod."""
        return kubectl("get", "pods", "--namespace", NAMESPACE, "--output",
                       "jsonpath={range .items[*]}{.status.containerStatuses[0].ready},{.status.containerStatuses[0].restartCount};{end}")

    def left(self):
        """In memtamer's namespace, but what Kubernetes puts into every namespace."""
        return [name for name in cluster.everything("--namespace", NAMESPACE, scope="--namespaced")
                if name not in ("configmap/kube-root-ca.crt", "serviceaccount/default")]

    def run_a_training(self):
        """A Job of a trainer where a quota counts memory: then pods and owners matter."""
        cluster.apply({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "memory", "namespace": "default"},
            "spec": {"hard": {"requests.memory": "100Gi"}},
        }, {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "default"},
            "spec": {"template": {
                "metadata": {"labels": {"memtamer.io/training": "true"}},
                "spec": {"restartPolicy": "Never", "containers": [{
                    "name": "trainer", "image": "memtamer.test/actor:1", "args": ["eat", str(48 << 20), "3600"],
                    "resources": {"requests": {"memory": "16Mi"}, "limits": {"memory": "128Mi"}}}]},
            }},
        })
