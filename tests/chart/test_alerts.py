# SPDX-License-Identifier: Apache-2.0
"""The alerts: promtool takes them, each fires when it should and is silent when all is well."""
import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import yaml

import chart
from chart import find, must, objects

ON = "prometheusRule.enabled=true"
# alert: (series that make it fire, series of a calm day); values as promtool writes them, one a minute
CASES = {
    "MemtamerWebhookUnreachable": (
        [('memtamer_webhook_reachable{pod="r-1"}', "0x120")],
        [('memtamer_webhook_reachable{pod="r-1"}', "1x120"), ('memtamer_webhook_reachable{pod="r-2"}', "0x10 _x110")]),
    "MemtamerWebhookNotAsked": (
        [('memtamer_webhook_probe_total{result="refused", pod="r-1"}', "0+1x120")],
        [('memtamer_webhook_probe_total{result="refused", pod="r-1"}', "2x120"),
         ('memtamer_webhook_probe_total{result="reached", pod="r-1"}', "0+1x120")]),
    "MemtamerFailOpen": (
        [('apiserver_admission_webhook_fail_open_count{name="pods.memtamer.io", type="admit"}', "0+3x120")],
        [('apiserver_admission_webhook_fail_open_count{name="pods.memtamer.io", type="admit"}', "7x120"),
         ('apiserver_admission_webhook_fail_open_count{name="pods.other.io", type="admit"}', "0+3x120")]),
    "MemtamerCertificateExpiring": (
        [('memtamer_certificate_expiry_timestamp_seconds{pod="w-1"}', f"{4 * 86400}x120"),
         ('memtamer_certificate_expiry_timestamp_seconds{pod="w-2"}', f"{30 * 86400}x120")],
        [('memtamer_certificate_expiry_timestamp_seconds{pod="w-1"}', f"{10 * 86400}x120"),
         ('memtamer_certificate_ca_expiry_timestamp_seconds{pod="w-1"}', f"{100 * 86400}x120")]),
    "MemtamerCertificateRotationFailing": (
        [('memtamer_certificate_rotation_failures_total{pod="w-1"}', "0+1x120")],
        [('memtamer_certificate_rotation_failures_total{pod="w-1"}', "0x20 1x100")]),
    "MemtamerNotRegistered": (
        [('memtamer_webhook_configuration_present{configuration="mutating", pod="w-1"}', "1x20 0x100"),
         ('memtamer_webhook_configuration_present{configuration="validating", pod="w-1"}', "1x120")],
        [('memtamer_webhook_configuration_present{configuration="mutating", pod="w-1"}', "1x120")]),
    "MemtamerSnapshotStale": (
        [('memtamer_snapshot_age_seconds{pod="w-1"}', "0+60x120"), ('memtamer_snapshot_age_seconds{pod="w-2"}', "1x120")],
        [('memtamer_snapshot_age_seconds{pod="w-1"}', "1x120"), ('memtamer_snapshot_age_seconds{pod="w-2"}', "1x120")]),
    "MemtamerSnapshotMissing": (
        [('memtamer_snapshot_profiles{pod="w-1"}', "0x120"), ('memtamer_snapshot_profiles{pod="w-2"}', "7x120"),
         ('memtamer_snapshot_age_seconds{pod="w-2"}', "1x120")],
        [('memtamer_snapshot_profiles{pod="w-1"}', "0x120"),
         ('memtamer_snapshot_age_seconds{pod="w-1"}', "_x5 1x115")]),
    "MemtamerConfigurationDrift": (
        [('memtamer_webhook_configuration_drift{configuration="a0-memtamer", pod="w-1"}', "1x120")],
        [('memtamer_webhook_configuration_drift{configuration="a0-memtamer", pod="w-1"}', "0x120")]),
    "MemtamerRecommenderStalled": (
        [('memtamer_cycle_success_timestamp_seconds{pod="r-1"}', "0x120")],
        [('memtamer_cycle_success_timestamp_seconds{pod="r-1"}', "0+60x120"),
         ('memtamer_cycle_success_timestamp_seconds{pod="r-2"}', "0x120")]),
    "MemtamerNamespaceCapped": (
        [('memtamer_namespaces_capped{set_by="harm", pod="r-1"}', "0x20 1x100"),
         ('memtamer_namespaces_capped{set_by="person", pod="r-1"}', "0x120")],
        # What a person has decided is no reason to call one.
        [('memtamer_namespaces_capped{set_by="harm", pod="r-1"}', "0x120"),
         ('memtamer_namespaces_capped{set_by="person", pod="r-1"}', "3x120"),
         ('memtamer_namespaces_capped{set_by="harm", pod="r-2"}', "0x10 _x110")]),
    "MemtamerGangHung": (
        [('memtamer_hung_gang_accelerators{pod="r-1"}', "0x60 16x60")],
        # The gang was freed, and another replica leads.
        [('memtamer_hung_gang_accelerators{pod="r-1"}', "0x20 16x20 0x80"),
         ('memtamer_hung_gang_accelerators{pod="r-2"}', "16x10 _x110")]),
    "MemtamerConfigInvalid": (
        [('memtamer_config_reloads_total{result="failed", pod="w-1"}', "0x80 1x40")],
        [('memtamer_config_reloads_total{result="failed", pod="w-1"}', "1x120"),
         ('memtamer_config_reloads_total{result="ok", pod="w-1"}', "0+1x120")]),
    "MemtamerAdmissionErrors": (
        [('memtamer_admission_errors_total{reason="x", pod="w-1"}', "0+1x120")],
        [('memtamer_admission_errors_total{reason="x", pod="w-1"}', "4x120")]),
}


def groups(*values):
    return find(objects(ON, *values), "PrometheusRule", "memtamer")["spec"]


def unit(alert, series, is_firing):
    """A test of promtool: does it fire near the end of two hours?"""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series],
        "promql_expr_test": [{
            "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)', "eval_time": "115m",
            "exp_samples": [{"labels": "{}", "value": 1}] if is_firing else [{"labels": "{}", "value": 0}],
        }],
    }


class Alerts(unittest.TestCase):
    def setUp(self):
        if not shutil.which("promtool"):
            self.skipTest("promtool (Debian's prometheus) is not installed")

    def promtool(self, *words, **files):
        """The first of `files` is handed to it."""
        files = dict(sorted(files.items(), key=lambda item: item[0] != "test"))
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / f"{name}.yaml").write_text(json.dumps(content))
            must("promtool", *words, *(Path(folder) / f"{name}.yaml" for name in list(files)[:1]))

    def test_promtool_takes_them(self):
        specs = {json.dumps(item["spec"]) for values in chart.value_sets() for item in objects(values, ON)
                 if item["kind"] == "PrometheusRule"}
        for spec in specs:
            self.promtool("check", "rules", rules=json.loads(spec))

    def test_the_programs_have_these_metrics(self):
        tables = "".join(path.read_text() for folder in ("webhook", "recommender")
                         for path in (chart.ROOT / folder).rglob("metrics.def"))
        asked = set(re.findall(r"\bmemtamer_\w+", json.dumps(groups())))
        self.assertGreater(len(asked), 5)
        for name in asked:
            self.assertIn(f'"{name}"', tables)

    def test_the_ca_has_an_alert_too(self):
        series = [('memtamer_certificate_ca_expiry_timestamp_seconds{pod="w-1"}', f"{50 * 86400}x120")]
        self.promtool("test", "rules", rules=groups(), test={
            "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [unit("MemtamerCertificateExpiring", series, True)]})

    def test_each_webhook_that_fails_open_is_told(self):
        # all but that of the probe, which is there to find out
        names = {webhook["name"] for item in objects("config.templates=patch") for webhook in item.get("webhooks", [])}
        names.remove("probe.memtamer.io")
        self.assertEqual(len(names), 3)
        series = [(f'apiserver_admission_webhook_fail_open_count{{name="{name}", type="admit"}}', "0+3x120") for name in names]
        self.promtool("test", "rules", rules=groups(), test={
            "rule_files": ["rules.yaml"], "evaluation_interval": "1m",
            "tests": [unit("MemtamerFailOpen", [one], True) for one in series]})

    def test_there_is_a_case_for_each(self):
        self.assertEqual({rule["alert"] for rule in groups()["groups"][0]["rules"]}, set(CASES))

    def test_each_fires_and_is_silent(self):
        tests = [unit(alert, series, is_firing) for alert, (bad, calm) in CASES.items()
                 for series, is_firing in ((bad, True), (calm, False))]
        self.promtool("test", "rules", rules=groups(), test={
            "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests})

    def test_they_say_where_to_read_on(self):
        for rule in groups("prometheusRule.runbookURL=https://wiki/x#", "prometheusRule.alertLabels.team=ml")["groups"][0]["rules"]:
            self.assertEqual(rule["annotations"]["runbook_url"], "https://wiki/x#" + rule["alert"].lower())
            self.assertEqual(rule["labels"]["team"], "ml")
            self.assertIn(rule["labels"]["severity"], ("critical", "warning"))

    def test_no_address_is_made_up(self):
        for rule in groups()["groups"][0]["rules"]:
            self.assertEqual(set(rule["annotations"]), {"summary", "description"})

    def test_a_disabled_one_is_gone(self):
        names = [rule["alert"] for rule in groups("prometheusRule.disabled={MemtamerFailOpen}")["groups"][0]["rules"]]
        self.assertEqual(set(CASES) - set(names), {"MemtamerFailOpen"})

    def test_parts_that_do_not_run_raise_none(self):
        def names(*values):
            return {rule["alert"] for rule in groups(*values)["groups"][0]["rules"]}

        recommender = {"MemtamerGangHung", "MemtamerNamespaceCapped", "MemtamerRecommenderStalled"}
        both = {"MemtamerConfigInvalid"}
        self.assertEqual(names("webhook.enabled=false"), recommender | both)
        self.assertEqual(set(CASES) - names("recommender.enabled=false"), recommender)
        neither = objects(ON, "webhook.enabled=false", "recommender.enabled=false")
        self.assertNotIn("PrometheusRule", [item["kind"] for item in neither])

    def test_they_follow_what_is_configured(self):
        def expression(alert, *values):
            rule, = (rule for rule in groups(*values)["groups"][0]["rules"] if rule["alert"] == alert)
            return rule["expr"]

        self.assertIn("> 3600 ", expression("MemtamerRecommenderStalled", "config.recommender.interval=10m"))
        self.assertIn(" < 86400 ", expression("MemtamerCertificateExpiring", "config.webhook.tls.certLifetime=6d"))
        self.assertIn(f" < {720 * 3600 // 3} ", expression("MemtamerCertificateExpiring", "webhook.tls.certManager.enabled=true"))
