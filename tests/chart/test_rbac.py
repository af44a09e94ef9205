# SPDX-License-Identifier: Apache-2.0
"""What memtamer may do, all of it, compared with the reviewed list in rbac.txt. No set of values may give it more.

A change of the roles is a change of that list: look at it, then write it again with `tests/chart/run.py --write-rbac`."""
import re
import unittest

import chart
from chart import objects

GOLDEN = chart.HERE / "rbac.txt"
HEAD = """# All rules of the chart's roles: who, where, resource, names ("-": all), verbs. Compared by tests/chart/test_rbac.py.
"""


PIECES = [f"memtamer-collector-{parity}-{i}" for parity in range(2) for i in range(64)]


def names_of(rule):
    names = " ".join(rule.get("resourceNames", ["-"]))
    return names.replace(" ".join(PIECES), "memtamer-collector-{0,1}-{0..63}")


def rules(*values):
    """Lines of (who, where, resource, names, verbs), one for each resource."""
    items = objects(*values)
    bindings = {(item["kind"].replace("Binding", ""), item["roleRef"]["name"]): item["subjects"]
                for item in items if item["kind"].endswith("RoleBinding")}
    for item in items:
        if item["kind"] not in ("Role", "ClusterRole"):
            continue
        subjects = bindings.get((item["kind"], item["metadata"]["name"]))
        labels = item["metadata"]["labels"]
        who = ([f"{subject['kind']}/{subject['name']}" for subject in subjects] if subjects else
               [f"everybody with {label.rpartition('aggregate-to-')[2]}" for label in sorted(labels) if "aggregate-to-" in label])
        where = "cluster" if item["kind"] == "ClusterRole" else "own namespace"
        for rule in item["rules"]:
            if "nonResourceURLs" in rule:
                raise AssertionError(f"a rule with nonResourceURLs: {rule}")
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for name in who:
                        yield (name, where, f"{group}/{resource}" if group else resource,
                               names_of(rule), " ".join(rule["verbs"]))


def table(lines):
    widths = [max(len(cell) for cell in column) for column in zip(*lines)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() + "\n" for line in lines)


def kind_rows():
    """Rows of common/k8s/kinds.c: group, name, and the text of the rest."""
    table = (chart.ROOT / "common/k8s/kinds.c").read_text()
    table = table[table.index("kinds[] = {"):table.index("\n};")]
    return re.findall(r'^\t\{"(.*?)", "(.*?)", (.*?)\},$', table, flags=re.M | re.S)


def owner_kinds():
    """Rows of common/k8s/kinds.c that webhook/cluster/cluster_kinds.c watches, as group/plural."""
    others = {"TrainingRuntime", "ClusterTrainingRuntime", "Experiment", "Notebook"}
    for group, name, rest in kind_rows():
        if (group and "KIND_SERVING" not in rest and "RECURRING(" not in rest and ".has_argo" not in rest and
                name not in others and re.search(r"\b(TEMPLATES|OBJECTS)\(", rest)):
            yield f"{group}/{name.lower()}s"


def asked_kinds():
    """Rows of common/k8s/kinds.c that recommender/pods/pod_owners.c asks for, as group/plural."""
    source = (chart.ROOT / "recommender/pods/pod_owners.c").read_text()
    tops = set(re.findall(r'"(\w+)"', re.search(r"tops\[\] = \{(.*?)\};", source, flags=re.S).group(1)))
    for group, name, rest in kind_rows():
        if group and "KIND_SERVING" not in rest and "RECURRING(" not in rest and name not in tops:
            yield f"{group}/{name.lower()}s"


def default_rules():
    return sorted(rules())


RESIZE = "config.recommender.resize=beforeOOM"
LOGS = "config.recommender.readLogs=true"


def added_rules(value):
    return sorted(set(rules(value)) - set(default_rules()))


def resize_rules():
    """What resizes of running pods add."""
    return added_rules(RESIZE)


def golden():
    return HEAD + table(default_rules()) + "".join(f"# With {value} also:\n" + table(added_rules(value))
                                                   for value in (RESIZE, LOGS))


class Rules(unittest.TestCase):
    maxDiff = None

    def test_are_the_reviewed_ones(self):
        self.assertEqual(GOLDEN.read_text(), golden())

    def test_the_owners_of_owners_may_be_asked_for(self):
        allowed = {resource for who, where, resource, names, verbs in default_rules()
                   if who.endswith("/memtamer-recommender") and verbs == "get" and where == "cluster" and names == "-"}
        self.assertEqual(set(asked_kinds()), allowed)

    def test_no_set_of_values_adds_to_them(self):
        allowed = {}
        for who, where, resource, names, verbs in default_rules() + resize_rules() + added_rules(LOGS):
            allowed.setdefault((who, where, resource, names), set()).update(verbs.split())
        for values in chart.value_sets():
            for who, where, resource, names, verbs in rules(values):
                who, names = (word.replace("sizes-", "memtamer-") for word in (who, names))
                with self.subTest(values.name, who=who, resource=resource):
                    self.assertLessEqual(set(verbs.split()), allowed.get((who, where, resource, names), set()))

    def test_nothing_that_reaches_beyond_us(self):
        resizes = resize_rules()
        for who, where, resource, names, verbs in default_rules() + resizes:
            with self.subTest(who, resource=resource):
                self.assertNotIn("*", resource + names + verbs)
                if (who, where, resource, names, verbs) in resizes:
                    continue
                self.assertNotIn("pods/", resource)
                self.assertFalse(set(verbs.split()) & {"escalate", "bind", "impersonate", "deletecollection", "approve"})
                if resource in ("secrets", "configmaps", "coordination.k8s.io/leases"):
                    self.assertEqual(where, "own namespace")
                if resource == "configmaps":
                    self.assertIn((names, verbs), (("-", "create"), ("memtamer-status", "get patch"),
                                                   ("memtamer-collector", "get update"),
                                                   ("memtamer-collector-{0,1}-{0..63}", "get delete")))
                if resource == "secrets":
                    self.assertTrue(names == "memtamer-webhook-tls" or (names, verbs) == ("-", "create"))
                if "webhookconfigurations" in resource:
                    self.assertIn(names, ("a0-memtamer", "memtamer-workloads"))
                    self.assertFalse({"create", "delete", "update"} & set(verbs.split()))
                if not resource.startswith("memtamer.io/") and where == "cluster" and names == "-":
                    self.assertLessEqual(set(verbs.split()) - ({"create", "patch"} if resource == "events" else set()),
                                         {"get", "list", "watch"})

    def test_pods_that_run_are_touched_only_where_that_is_asked_for(self):
        words = [words for words in default_rules() if words[2].startswith("pods/")]
        self.assertEqual(words, [])
        for value, adds in (("onOOM", True), ("beforeOOM", True), ("off", False), ("false", False)):
            found = set(rules(f"config.recommender.resize={value}"))
            self.assertEqual(found - set(default_rules()), set(resize_rules()) if adds else set())
        self.assertEqual({(resource, verbs) for who, _, resource, _, verbs in resize_rules()
                          if {"patch", "create", "update", "delete"} & set(verbs.split())},
                         {("pods/resize", "patch"), ("events", "create patch")})

    def test_logs_are_read_only_where_that_is_asked_for(self):
        self.assertEqual([words[2:] for words in added_rules(LOGS)], [("pods/log", "-", "get")])
        self.assertEqual(added_rules("config.recommender.readLogs=false"), [])

    def test_the_store_has_no_more_pieces(self):
        source = chart.ROOT / "common/store/store_kube_state.c"
        if not source.exists():
            self.skipTest("the store has no ConfigMaps yet")
        self.assertRegex(source.read_text(), rf"#define MAX_PIECES\s+{len(PIECES) // 2}\n")

    def test_owners_are_those_that_the_webhook_watches(self):
        groups = {kind.partition("/")[0] for kind in owner_kinds()}
        given = {resource for who, _, resource, _, _ in rules() if resource.partition("/")[0] in groups and "webhook" in who}
        self.assertEqual(given, set(owner_kinds()))

    def test_programs_that_have_no_role_get_none(self):
        for values, gone in (("webhook.enabled=false", "memtamer-webhook"), ("recommender.enabled=false", "memtamer-recommender")):
            self.assertFalse([line for line in rules(values) if gone in line[0]])
        self.assertEqual(list(rules("rbac.create=false")), [])

    def test_a_certificate_that_others_make_needs_no_secret(self):
        for values in ("webhook.tls.certManager.enabled=true", "webhook.tls.existingSecret=corp"):
            for who, _, resource, _, verbs in rules(values):
                self.assertNotEqual(resource, "secrets")
                if "webhookconfigurations" in resource:
                    self.assertNotIn("patch", verbs.split())
