# SPDX-License-Identifier: Apache-2.0
"""Every set of values renders into what Kubernetes and the programs take, and wrong values are refused in words."""
import functools
import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import yaml

import chart
from chart import find, must, objects, refusal

PROGRAM = chart.ROOT / "build/dev/bin/memtamer-webhook"


def the_charts_own_keys():
    """Values, as of --set, that have keys of labels and annotations which the chart sets, too."""
    labels = ["helm.sh/chart", *(f"app.kubernetes.io/{name}" for name in (
        "name", "instance", "component", "version", "part-of", "managed-by"))]
    pairs = [(value, key) for key in labels for value in (
        "commonLabels", "webhook.podLabels", "recommender.podLabels", "serviceMonitor.labels", "prometheusRule.labels")]
    pairs += [
        ("commonLabels", "rbac.authorization.k8s.io/aggregate-to-view"),
        ("commonAnnotations", "helm.sh/hook-delete-policy"),
        ("webhook.podAnnotations", "memtamer.io/restart-for"),
        ("recommender.podAnnotations", "memtamer.io/restart-for"),
        ("prometheusRule.alertLabels", "severity"),
    ]
    dot = "\\."
    return ["serviceMonitor.enabled=true", "prometheusRule.enabled=true",
            *(f"{value}.{key.replace('.', dot)}=theirs" for value, key in pairs)]


class Rendering(unittest.TestCase):
    def test_lint(self):
        for values in chart.value_sets():
            with self.subTest(values.name):
                code, out, err = chart.helm("lint", "--strict", "--namespace", "memtamer", "--values", values, chart.CHART)
                self.assertEqual(code, 0, out + err)
                self.assertNotIn("Fail:", err)

    def test_generated_files_are_up_to_date(self):
        must(chart.ROOT / "charts/generate", "--check")

    def test_every_object_carries_the_labels_and_the_namespace(self):
        cluster_scoped = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingWebhookConfiguration",
                          "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
        for values in chart.value_sets():
            for item in objects(values, release="sizes-of-ml"):
                with self.subTest(values.name, kind=item["kind"]):
                    labels = item["metadata"]["labels"]
                    self.assertEqual(labels["app.kubernetes.io/instance"], "sizes-of-ml")
                    self.assertEqual(labels["app.kubernetes.io/managed-by"], "Helm")
                    self.assertEqual("namespace" in item["metadata"], item["kind"] not in cluster_scoped)
                    if values.name != "names-values.yaml":
                        continue
                    self.assertEqual(labels["team"], "ml-platform")
                    if item["kind"] != "CustomResourceDefinition":
                        self.assertEqual(item["metadata"]["annotations"]["example.com/owner"], "ml-platform")

    def test_no_key_is_there_twice(self):
        class Strict(yaml.SafeLoader):
            def construct_mapping(self, node, deep=False):
                keys = [self.construct_object(key, deep=True) for key, _ in node.value]
                if len(set(keys)) != len(keys):
                    raise AssertionError(f"twice the same key: {keys}{node.start_mark}")
                return super().construct_mapping(node, deep)

        for values in ([], the_charts_own_keys(), *([values] for values in chart.value_sets())):
            with self.subTest(values):
                list(yaml.load_all(chart.template(*values), Strict))

    def test_labels_of_others_do_not_break_what_labels_are_for(self):
        items = objects(*the_charts_own_keys(), release="123")
        for item in items:
            with self.subTest(item["kind"], name=item["metadata"]["name"]):
                labels = item["metadata"]["labels"]
                self.assertEqual(labels["app.kubernetes.io/instance"], "123")
                self.assertEqual(labels["app.kubernetes.io/managed-by"], "Helm")
                self.assertEqual(labels["app.kubernetes.io/part-of"], "theirs")
        for component in ("webhook", "recommender"):
            name = f"123-memtamer-{component}"
            pods = find(items, "Deployment", name)["spec"]["template"]["metadata"]
            selectors = [find(items, "Deployment", name)["spec"]["selector"]["matchLabels"],
                         *(item["spec"]["selector"] for item in items
                           if item["kind"] == "Service" and item["metadata"]["name"].startswith(name))]
            self.assertEqual(len(selectors), 2)
            for selector in selectors:
                self.assertEqual(selector["app.kubernetes.io/component"], component)
                self.assertEqual(selector, {key: pods["labels"][key] for key in selector})
            self.assertEqual(pods["labels"]["app.kubernetes.io/part-of"], "theirs")
            self.assertNotEqual(pods["annotations"]["memtamer.io/restart-for"], "theirs")
            self.assertEqual(find(items, "ServiceMonitor", name)["metadata"]["labels"]["app.kubernetes.io/component"], component)
        view = find(items, "ClusterRole", "123-memtamer-view")["metadata"]["labels"]
        self.assertEqual(view["rbac.authorization.k8s.io/aggregate-to-view"], "true")

    def test_names_of_a_long_release_are_short_enough(self):
        for item in objects("webhook.tls.certManager.enabled=true", release="a" * 53):
            self.assertLessEqual(len(item["metadata"]["name"]), 63)

    def test_the_namespace_may_be_another_than_the_releases(self):
        for values in chart.value_sets():
            with self.subTest(values.name):
                self.assertEqual(chart.template(values, "namespaceOverride=memtamer", namespace="platform"),
                                 chart.template(values))

    def test_selectors_are_added_to_ours(self):
        added = {"matchLabels": {"team": "ml"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}

        def webhooks(selector):
            values = [] if not selector else [
                f"webhook.{selector}.matchLabels.team=ml",
                f"webhook.{selector}.matchExpressions[0].key=x", f"webhook.{selector}.matchExpressions[0].operator=DoesNotExist"]
            items = objects("config.templates=patch", *values)
            return {webhook["name"]: webhook for item in items for webhook in item.get("webhooks", [])}

        ours = webhooks(None)
        self.assertEqual(len(ours), 4)
        for selector in ("namespaceSelector", "objectSelector"):
            for name, webhook in webhooks(selector).items():
                with self.subTest(selector, name=name):
                    was = ours[name].get(selector, {})
                    if name != "probe.memtamer.io":  # which must be reached whatever is left out
                        was = {"matchExpressions": was.get("matchExpressions", []) + added["matchExpressions"],
                               "matchLabels": added["matchLabels"]}
                    self.assertEqual(webhook, ours[name] | {selector: was})

    def test_the_longest_timeout_is_no_drift(self):
        drift = (chart.ROOT / "webhook/registration/drift.c").read_text()
        longest = int(re.search(r"^#define LONGEST_TIMEOUT_S\s+(\d+)$", drift, re.M)[1])
        schema = json.loads((chart.CHART / "values.schema.json").read_text())
        timeout = schema["properties"]["webhook"]["properties"]["timeoutSeconds"]
        self.assertEqual(timeout["maximum"], longest)

    def test_no_set_renders_a_ca_bundle(self):
        for values in chart.value_sets():
            self.assertNotIn("caBundle", chart.template(values))

    def test_disabled_parts_leave_nothing(self):
        kinds = [item["kind"] for item in objects(chart.CHART / "ci/recommender-only-values.yaml")]
        self.assertNotIn("MutatingWebhookConfiguration", kinds)
        self.assertNotIn("Secret", kinds)
        for component, other in (("webhook", "recommender"), ("recommender", "webhook")):
            for item in objects(chart.CHART / f"ci/{component}-only-values.yaml"):
                self.assertNotEqual(item["metadata"]["labels"].get("app.kubernetes.io/component"), other)


# Functions and macros of CEL in what is rendered, with the minor version of Kubernetes 1 that has them; of the authorizer
# that of ValidatingAdmissionPolicy, where it is used.
CEL = {"has": 25, "exists": 25, "size": 25, "startsWith": 25, "matches": 25, "lowerAscii": 25, "isQuantity": 29,
       "quantity": 29, "compareTo": 29, "group": 30, "resource": 30, "name": 30, "check": 30, "allowed": 30}


class OldestKubernetes(unittest.TestCase):
    """Nothing is rendered that the oldest Kubernetes of Chart.yaml does not know."""
    OLDEST = int(re.search(r">=1\.(\d+)\.", yaml.safe_load((chart.CHART / "Chart.yaml").read_text())["kubeVersion"])[1])

    def parts(self, node, key):
        """Every value of a key, at whatever depth."""
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for name, value in items:
            if name == key:
                yield value
            yield from self.parts(value, key)

    def rendered(self):
        # the values of matchConditions are the user's
        return objects("config.templates=patch", "rbac.protectNamespaceProfiles=true")

    def test_expressions(self):
        rules = [rule for rules in self.parts(self.rendered(), "x-kubernetes-validations") for rule in rules]
        self.assertEqual({key for rule in rules for key in rule}, {"rule", "message"})
        expressions = [rule["rule"] for rule in rules] + list(self.parts(self.rendered(), "expression"))
        self.assertGreater(len(expressions), 15)
        called = {name for expression in expressions
                  for name in re.findall(r"\b(\w+)\(", re.sub(r"'[^']*'", "''", expression)) if name != "in"}
        self.assertEqual(called, set(CEL))
        self.assertLessEqual(max(CEL.values()), self.OLDEST)

    def test_schemas(self):
        schemas = list(self.parts(self.rendered(), "openAPIV3Schema"))
        self.assertEqual(len(schemas), 3)
        extensions = set(re.findall(r"x-kubernetes-[\w-]+", json.dumps(schemas)))
        self.assertEqual(extensions, {"x-kubernetes-validations", "x-kubernetes-map-type"})
        versions = [version for versions in self.parts(self.rendered(), "versions") for version in versions]
        self.assertLessEqual({key for version in versions for key in version},
                             {"name", "served", "storage", "subresources", "additionalPrinterColumns", "schema"})

    def test_apis(self):
        """Of 1.30 and older, and none that is still a beta."""
        known = {"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1",
                 "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1"}
        self.assertEqual({item["apiVersion"] for item in self.rendered()}, known)


class Documents(unittest.TestCase):
    def test_what_is_to_be_set_without_helm(self):
        page = (chart.ROOT / "docs/INSTALL.md").read_text()
        command = re.search(r"^```text\n(sed .*?) >install.yaml$", page, re.M | re.S)[1]
        items = [item for item in yaml.safe_load_all(must("bash", "-c", command)) if item]
        config = yaml.safe_load(find(items, "ConfigMap", "memtamer-config")["data"]["config.yaml"])
        self.assertEqual(config["mode"], "observe")
        self.assertEqual(config["prometheus"]["url"], "http://prometheus.example.com:9090")
        for item in items:
            if item["kind"] == "Deployment":
                image = item["spec"]["template"]["spec"]["containers"][0]["image"]
                self.assertTrue(image.startswith("registry.example.com/ml/memtamer:"), image)
        self.assertNotIn(".invalid", yaml.safe_dump_all(items))

    def notes(self):
        """A function of values that renders the notes. Helm does so only with a cluster, so they become a template of a copy
        of the chart."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        copy = Path(shutil.copytree(chart.CHART, folder.name, dirs_exist_ok=True))
        text = (copy / "templates/NOTES.txt").read_text()
        (copy / "templates/_notes.tpl").write_text(f'{{{{ define "notes" }}}}{text}{{{{ end }}}}')
        (copy / "templates/notes.yaml").write_text('notes: {{ include "notes" . | toJson }}')

        def render(*values):
            code, out, err = chart.helm(*chart.template_words(values, folder=copy), "--show-only", "templates/notes.yaml")
            self.assertEqual(code, 0, err)
            return yaml.safe_load(out)["notes"]
        return render

    def test_notes(self):
        label = r"kubectl label namespace \S+ pod-security.kubernetes.io/enforce=privileged --overwrite"
        of_page, = re.findall(label, (chart.ROOT / "docs/INSTALL.md").read_text())
        cases = [  # values, a line of the notes that only they have
            ("webhook.hostNetwork=true", of_page),
            ("webhook.replicas=1", "One webhook pod: while its node is drained"),
            ("recommender.replicas=0", "No recommender pod: nothing is learned."),
            ("webhook.tls.existingSecret=corp", "The API server trusts the certificate in Secret corp only when"),
            ("webhook.enabled=false", "mode observe, without the webhook"),
        ]
        notes = self.notes()
        plain = notes()
        for value, line in cases:
            self.assertNotIn(line, plain)
            self.assertIn(line, notes(value))
        self.assertIn("namespace elsewhere", notes("webhook.hostNetwork=true", "namespaceOverride=elsewhere"))

    def test_notes_name_the_next_mode(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        values, notes = Path(folder.name, "values.yaml"), self.notes()
        # `off` without quotes is false in YAML
        for mode, after in (("off", "observe"), ('"off"', "observe"), ("observe", "fill"), ("fill", "raise"),
                            ("raise", "enforce"), ("enforce", None)):
            with self.subTest(mode):
                values.write_text(f"config: {{mode: {mode}}}")
                text = notes(values)
                self.assertIn(f", mode {yaml.safe_load(mode) or 'off'}.\n", text)
                said = re.findall(r"The next mode is (\w+): .*\n +config\.mode=(\w+), .* memtamer\.io/mode=(\w+) ", text)
                self.assertEqual(said, [(after, after, after)] if after else [])
                self.assertEqual("The next mode is" in text, bool(after))
                self.assertEqual("Mode observe changes no request or limit." in text, mode == "observe")

    def test_what_the_programs_make_again_is_named(self):
        page = (chart.ROOT / "docs/OPERATIONS.md").read_text()
        command = re.search(r"delete --ignore-not-found (secret/.*?)\n```", page, re.S)[1]
        rendered = chart.template().split("\n---\n")
        made = [yaml.safe_load(text) for text in rendered if "# Source: memtamer/templates/runtime.yaml" in text]
        self.assertEqual(set(command.replace("\\\n", " ").split()),
                         {f"{item['kind'].lower()}/{item['metadata']['name']}" for item in made})


class Pods(unittest.TestCase):
    def pods(self, *values):
        for item in objects(*values):
            if item["kind"] == "Deployment":
                yield item["spec"]["template"]
            elif item["kind"] == "Pod":
                yield item

    def test_restricted_and_without_a_cpu_limit(self):
        for values in chart.value_sets():
            for pod in self.pods(values):
                spec = pod["spec"]
                self.assertEqual(spec["securityContext"], {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}})
                for container in spec["containers"]:
                    self.assertEqual(container["securityContext"], {
                        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})
                    self.assertIn("memory", container["resources"]["limits"])
                    self.assertNotIn("cpu", container["resources"]["limits"])

    def test_image(self):
        def image(*values):
            return {pod["spec"]["containers"][0]["image"] for pod in self.pods(*values)}

        version = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())["appVersion"]
        digest = "sha256:" + "a" * 64
        for values, expected in (
                (["image.registry=r.example.com/ml"], f"r.example.com/ml/memtamer:{version}"),
                (["image.registry=r.example.com/ml/", "image.tag=v7"], "r.example.com/ml/memtamer:v7"),
                (["image.registry=", "global.imageRegistry=r.example.com"], f"r.example.com/memtamer:{version}"),
                (["image.registry=r.example.com", "image.tag=v7", "image.digest=" + digest], "r.example.com/memtamer@" + digest)):
            self.assertEqual(image(*values), {expected})

    def test_the_registry_must_be_set(self):
        words = refusal("image.registry=")
        for part in ("image.registry must be set", "image/build", "registry.example.com/ml", "docs/INSTALL.md"):
            self.assertIn(part, words)
        # Definitions alone need no image.
        objects("image.registry=", "webhook.enabled=false", "recommender.enabled=false")

    def test_pull_secrets(self):
        # a parent chart may have names where a PodSpec has objects
        for values in (["global.imagePullSecrets={other,regcred}", "imagePullSecrets[0].name=regcred"],
                       ["global.imagePullSecrets[0].name=other", "imagePullSecrets[0].name=regcred"]):
            for pod in self.pods(*values):
                self.assertEqual(pod["spec"]["imagePullSecrets"], [{"name": "regcred"}, {"name": "other"}])
        for pod in self.pods():
            self.assertNotIn("imagePullSecrets", pod["spec"])

    def test_a_webhook_is_replaced_before_it_goes_unless_both_want_one_port(self):
        def strategy(*values):
            return find(objects(*values), "Deployment", "memtamer-webhook")["spec"]["strategy"]["rollingUpdate"]

        self.assertEqual(strategy(), {"maxUnavailable": 0, "maxSurge": 1})
        self.assertEqual(strategy("webhook.hostNetwork=true"), {"maxUnavailable": 1, "maxSurge": 0})

    def test_disruption_budgets(self):
        def budget(component, *values):
            found = [item["spec"] for item in objects(*values) if item["kind"] == "PodDisruptionBudget"
                     and item["metadata"]["name"] == f"memtamer-{component}"]
            for spec in found:
                labels = find(objects(*values), "Deployment", f"memtamer-{component}")["spec"]["selector"]
                self.assertEqual((spec.pop("selector"), spec.pop("unhealthyPodEvictionPolicy")), (labels, "AlwaysAllow"))
            return found

        for component in ("webhook", "recommender"):
            value = f"{component}.podDisruptionBudget"
            self.assertEqual(budget(component), [{"minAvailable": 1}])
            self.assertEqual(budget(component, f"{value}.minAvailable=50%"), [{"minAvailable": "50%"}])
            self.assertEqual(budget(component, f"{value}.maxUnavailable=1"), [{"maxUnavailable": 1}])
            self.assertEqual(budget(component, f"{value}.minAvailable=0"), [{"minAvailable": 0}])
            for nothing in (f"{value}.enabled=false", f"{component}.replicas=1", f"{component}.enabled=false"):
                self.assertEqual(budget(component, nothing), [])

    def test_a_webhook_has_the_time_to_drain(self):
        def grace(*values):
            return find(objects(*values), "Deployment", "memtamer-webhook")["spec"]["template"]["spec"][
                "terminationGracePeriodSeconds"]

        self.assertEqual(grace(), 25)
        self.assertEqual(grace("config.webhook.drain=1m30s", "config.webhook.requestTimeout=1500ms"), 90 + 2 + 5)
        self.assertEqual(grace("webhook.terminationGracePeriodSeconds=77"), 77)

    def test_kubelets_without_a_client_certificate_only_connect(self):
        pod = find(objects(chart.CHART / "ci/extras-values.yaml"), "Deployment", "memtamer-webhook")
        container = pod["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["livenessProbe"]["tcpSocket"], {"port": "https"})
        self.assertNotIn("tcpSocket", container["readinessProbe"])  # the values bring a handler of their own

    def test_only_what_is_not_read_again_restarts_pods(self):
        def restart(component, *values):
            template = find(objects(*values), "Deployment", f"memtamer-{component}")["spec"]["template"]
            return template["metadata"]["annotations"]["memtamer.io/restart-for"]

        for component in ("webhook", "recommender"):
            self.assertEqual(restart(component), restart(component, "config.mode=enforce", "config.sizing.minRuns=5"))
            self.assertNotEqual(restart(component), restart(component, "config.log.level=debug"))
        self.assertNotEqual(restart("webhook"), restart("webhook", "config.webhook.threads=8"))
        self.assertEqual(restart("recommender"), restart("recommender", "config.webhook.threads=8"))


class Config(unittest.TestCase):
    def config(self, *values):
        return yaml.safe_load(find(objects(*values), "ConfigMap", "memtamer-config")["data"]["config.yaml"])

    def test_the_programs_take_it(self):
        if not PROGRAM.exists():
            self.skipTest(f"no {PROGRAM}")
        for values in chart.value_sets():
            name = "sizes-config" if values.name == "names-values.yaml" else "memtamer-config"
            with self.subTest(values.name), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(find(objects(values), "ConfigMap", name)["data"]["config.yaml"])
                file.flush()
                must(PROGRAM, "--check-config", "--config", file.name)

    def test_every_documented_key_is_possible(self):
        table = (chart.ROOT / "docs/CONFIGURATION.md").read_text()
        keys = {match for match in re.findall(r"^\| `([^`]+)` \| .* \| .* \| ", table, re.M)}
        rules = (chart.CHART / "templates/validate.yaml").read_text()
        computed = {key for key in keys if f'"{key}" "' in rules}
        values = yaml.safe_load((chart.CHART / "ci/config-values.yaml").read_text())["config"]

        def paths(thing, prefix=""):
            for key, value in thing.items():
                yield prefix + key
                if isinstance(value, dict):
                    yield from paths(value, prefix + key + ".")

        self.assertGreater(len(keys), 60)
        self.assertEqual(keys - computed - set(paths(values)), set())

    def test_an_unquoted_off_is_off(self):
        config = self.config(chart.CHART / "ci/config-values.yaml")
        self.assertEqual(config["mode"], "off")
        self.assertEqual(config["checks"], {"besteffort-qos": "deny", "shm-small": "off"})
        self.assertEqual(config["recommender"]["resize"], "off")

    def test_whatever_may_be_off_may_be_unquoted(self):
        def paths(schema, prefix=()):
            for name, at in schema.get("properties", {}).items():
                if False in at.get("enum", []):
                    yield prefix + (name,)
                yield from paths(at, prefix + (name,))

        schema = json.loads((chart.CHART / "values.schema.json").read_text())
        offs = list(paths(schema["properties"]["config"]))
        self.assertGreater(len(offs), 10)
        config = self.config(*(f"config.{'.'.join(path)}=false" for path in offs))
        for path in offs:
            self.assertEqual(functools.reduce(dict.get, path, config), "off", path)

    def test_what_is_given_wins_over_defaults(self):
        config = self.config("config.webhook.drain=3s", "config.prometheus.history=3d")
        self.assertEqual(config["webhook"]["drain"], "3s")
        self.assertEqual(config["prometheus"]["history"], "3d")
        self.assertEqual(config["log"]["format"], "json")

    def test_certificates(self):
        service = "memtamer-webhook.memtamer.svc"
        tls = self.config("config.webhook.tls.serverNames={a.example.com}")["webhook"]["tls"]
        self.assertEqual(tls, {"secret": "memtamer-webhook-tls", "serverNames": [service, "a.example.com"]})
        for values, secret in (("webhook.tls.certManager.enabled=true", "memtamer-webhook-cert"),
                               ("webhook.tls.existingSecret=corp", "corp")):
            self.assertNotIn("secret", self.config(values)["webhook"]["tls"])
            pod = find(objects(values), "Deployment", "memtamer-webhook")["spec"]["template"]["spec"]
            self.assertIn({"name": "tls", "secret": {"secretName": secret}}, pod["volumes"])
        certificate = find(objects("webhook.tls.certManager.enabled=true"), "Certificate", "memtamer-webhook-cert")
        self.assertEqual(certificate["spec"]["dnsNames"], [service])


class Refusals(unittest.TestCase):
    CASES = [  # values, what the refusal must say
        (["webhok.replicas=3"], "additional properties 'webhok' not allowed"),
        (["webhook.replica=3"], "additional properties 'replica' not allowed"),
        (["webhook.replicas=many"], "got string, want integer"),
        (["webhook.replicas=-1"], "minimum"),
        (["webhook.port=443"], "minimum: got 443, want 1,024"),
        (["webhook.timeoutSeconds=6"], "maximum: got 6, want 5"),
        (["webhook.failurePolicy=Fail"], "webhook.failurePolicy must be Ignore"),
        (["webhook.resources.limit.memory=1Gi"], "additional properties 'limit' not allowed"),
        (["webhook.tls=null"], "missing property 'tls'"),
        (["webhook.matchConditions[0].name=x"], "missing property 'expression'"),
        (["image.digest=latest"], "does not match pattern"),
        (["image.pullPolicy=Sometimes"], "value must be one of"),
        (["fullnameOverride=Memtamer"], "does not match pattern"),
        (["namespaceOverride=ML"], "does not match pattern"),
        (["webhook.objectSelector.matchLabel.team=ml"], "additional properties 'matchLabel' not allowed"),
        (["config.mode=lower"], "value must be one of 'off', 'observe', 'fill', 'raise', 'enforce'"),
        (["config.sizing.minRun=3"], "additional properties 'minRun' not allowed"),
        (["config.sizing.minRuns=99"], "maximum"),
        (["config.prometheus.timeout=30"], "got number, want string"),
        (["config.prometheus.url=prometheus:9090"], "does not match pattern"),
        (["config.checks.no-such-check=warn"], "additional properties 'no-such-check' not allowed"),
        (["config.checks.shm-small=refuse"], "value must be one of"),
        (["config.store.kind=file"], "config.store.kind cannot be set"),
        (["config.webhook.listen=:9443"], "config.webhook.listen cannot be set: it is made from webhook.port"),
        (["config.namespaces.own=other"], "config.namespaces.own cannot be set"),
        (["config.webhook.tls.certFile=/a"], "config.webhook.tls.certFile cannot be set"),
        (["webhook.tls.existingSecret=a", "webhook.tls.certManager.enabled=true"], "exclude each other"),
        (["config.recommender.lease="], "recommender.replicas must be 1"),
        (["webhook.terminationGracePeriodSeconds=20"], "must be above 20"),
        (["webhook.podDisruptionBudget.minAvailable=2"], "2 keeps all 2"),
        (["webhook.podDisruptionBudget.minAvailable=3"], "3 keeps all 2"),
        (["webhook.podDisruptionBudget.minAvailable=51%"], "51% keeps all 2"),
        (["webhook.podDisruptionBudget.minAvailable=100%"], "100% keeps all 2"),
        (["webhook.podDisruptionBudget.minAvailable=91%", "webhook.replicas=10"], "91% keeps all 10"),
        (["webhook.podDisruptionBudget.maxUnavailable=0"], "webhook.podDisruptionBudget.maxUnavailable: 0 keeps all 2"),
        (["recommender.podDisruptionBudget.maxUnavailable=0%"], "maxUnavailable: 0% keeps all 2"),
        (["recommender.podDisruptionBudget.minAvailable=2"], "recommender.podDisruptionBudget.minAvailable: 2 keeps all 2"),
        (["webhook.podDisruptionBudget.minAvailable=some"], "does not match pattern"),
        (["webhook.podDisruptionBudget.minAvailable=1", "webhook.podDisruptionBudget.maxUnavailable=1"],
         "webhook.podDisruptionBudget.minAvailable and maxUnavailable exclude each other"),
        (["recommender.podDisruptionBudget.minAvailable=0", "recommender.podDisruptionBudget.maxUnavailable=50%"],
         "recommender.podDisruptionBudget.minAvailable and maxUnavailable exclude each other"),
        (["webhook.serviceAccount.create=false"], "webhook.serviceAccount.name is needed"),
        (["recommender.serviceAccount.create=false"], "recommender.serviceAccount.name is needed"),
        (["prometheusRule.disabled={Nothing}"], "value must be one of"),
        (["webhook.enabled=false", "recommender.enabled=false", "crds.enabled=false"], "nothing to install"),
    ]

    def test_values(self):
        for values, words in self.CASES:
            with self.subTest(" ".join(values)):
                self.assertIn(words, refusal(*values))

    def test_disruption_budgets_that_leave_a_pod(self):
        for replicas, much in ((2, "0"), (2, "1"), (2, "50%"), (3, "2"), (3, "66%"), (10, "90%"), (1, "1")):
            objects(f"webhook.replicas={replicas}", f"webhook.podDisruptionBudget.minAvailable={much}")
        objects("webhook.podDisruptionBudget.enabled=false", "webhook.podDisruptionBudget.minAvailable=2")
        for much in ("1", "1%", "100%"):
            objects(f"webhook.podDisruptionBudget.maxUnavailable={much}")

    def test_namespaces_that_are_not_its_own(self):
        for namespace in ("kube-system", "kube-public", "kube-node-lease", "default"):
            self.assertIn("needs a namespace of its own", refusal(namespace=namespace))
            self.assertIn("needs a namespace of its own", refusal(f"namespaceOverride={namespace}"))
            objects("namespaceOverride=memtamer", namespace=namespace)

    def test_an_old_kubernetes(self):
        code, _, err = chart.helm(*chart.template_words(), "--kube-version", "1.29.9")
        self.assertNotEqual(code, 0)
        self.assertIn(">=1.30.0-0", err)
