# SPDX-License-Identifier: Apache-2.0
"""A webhook in service: certificates, store and configuration change under load, and no request fails."""
import json
import os
import signal
import ssl
import subprocess
from unittest import mock

import harness
from harness import Authority, Case, Load, job_pod, profile, store, write_atomic


def sizes(response):
    """{path: value} of what the patch does to resources."""
    return {op["path"]: op["value"] for op in harness.patch_of(response) if "/resources" in op["path"]}


class Certificates(Case):
    sample = True

    def serial(self, webhook):
        """Serial number of the certificate that a new connection gets."""
        pem = ssl.get_server_certificate(("127.0.0.1", webhook.port))
        text = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem, capture_output=True, text=True,
                              check=True).stdout
        return int(text.strip().split("=")[1], 16)

    def install(self, webhook, serial):
        """A new certificate over the old one, key first, as two renames."""
        cert, key = webhook.authority.issue("next", serial=serial)
        os.rename(key, self.path("tls.key"))
        os.rename(cert, self.path("tls.crt"))

    def test_reload_under_load(self):
        webhook = self.webhook()
        loads = [Load(webhook, 3), Load(webhook, 2, reconnect=True)]
        for load in loads:
            self.addCleanup(load.stop)
        for serial in range(1001, 1005):
            self.install(webhook, serial)
            harness.wait_until(lambda want=serial: self.serial(webhook) == want, f"certificate {serial}")
            loads[0].wait_done(5)
        for load in loads:
            self.assertEqual(load.stop(), [])
        webhook.stop()

    def test_a_broken_pair_keeps_the_old_one(self):
        webhook = self.webhook()
        before = self.serial(webhook)
        good_cert = open(self.path("tls.crt"), encoding="ascii").read()
        other_cert, _ = webhook.authority.issue("other")
        for name, text in (("torn", good_cert[:200]), ("empty", ""), ("not PEM", "hello\n"),
                           ("of another key", open(other_cert, encoding="ascii").read())):
            with self.subTest(name):
                seen = len(webhook.log())
                write_atomic(self.path("tls.crt"), text)
                harness.wait_until(lambda: "tls.crt" in webhook.log()[seen:] or "certificate" in webhook.log()[seen:],
                                   "the refusal in the log")
                self.assertEqual(self.serial(webhook), before)
        self.install(webhook, 2001)
        harness.wait_until(lambda: self.serial(webhook) == 2001, "a good pair after bad ones")

    def test_client_certificates(self):
        stranger_folder = self.path("stranger")
        os.mkdir(stranger_folder)
        authority, stranger = Authority(self.folder), Authority(stranger_folder)
        authority.issue("tls")
        webhook = self.webhook(ready=False, authority=authority,
                               tls="tls: { certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt, "
                                   "clientName: kube-apiserver }")
        good = authority.issue("api", "kube-apiserver", "DNS:kube-apiserver")
        for name, pair, works in (("right", good, True), ("none", None, False),
                                  ("wrong name", authority.issue("eve", "eve", "DNS:eve"), False),
                                  ("other CA", stranger.issue("fake", "kube-apiserver", "DNS:kube-apiserver"), False)):
            with self.subTest(name):
                context = ssl.create_default_context(cafile=authority.cert)
                if pair:
                    context.load_cert_chain(*pair)
                webhook.context = context
                if works:
                    webhook.wait_ready()
                    self.assertTrue(webhook.admit(harness.training_pod())["allowed"])
                else:
                    with self.assertRaises(OSError):
                        webhook.request("GET", "/healthz")

    def test_own_certificates(self):
        """Without files memtamer makes a CA and a leaf, and can write the CA for the client."""
        ca = self.path("own-ca.pem")
        webhook = harness.Webhook.__new__(harness.Webhook)
        webhook.folder, webhook.tls, webhook.authority = self.folder, "", None
        webhook.config_path, webhook.port = self.path("memtamer.yaml"), harness.free_port()
        webhook.configure("mode: observe")
        harness.Program.__init__(webhook, self.folder, "memtamer-webhook", "serve", "--config", webhook.config_path,
                                 "--write-ca", ca)
        self.addCleanup(webhook.kill)
        harness.wait_until(lambda: webhook.assert_runs() or os.path.exists(ca), "the CA file")
        webhook.context = ssl.create_default_context(cafile=ca)
        webhook.wait_ready()
        self.assertTrue(webhook.admit(harness.training_pod())["allowed"])
        webhook.stop()


class Stores(Case):
    sample = True

    def limit_of(self, webhook, job="a"):
        return sizes(webhook.admit(job_pod(job))).get("/spec/containers/0/resources/limits/memory")

    def test_reload_under_load(self):
        webhook = self.webhook("mode: fill", store(profile("a-0123456789", "Job/a", limit="12Gi")))
        load = Load(webhook, 4, pod=job_pod("a"))
        self.addCleanup(load.stop)
        self.assertEqual(self.limit_of(webhook), "12Gi")
        for limit in ("13Gi", "14Gi", "15Gi", "16Gi"):
            write_atomic(self.path("profiles.json"), json.dumps(store(
                profile("a-0123456789", "Job/a", limit=limit),
                *(profile(f"n-{i:010x}", f"Job/n{i}") for i in range(200)))))
            harness.wait_until(lambda want=limit: self.limit_of(webhook) == want, f"limit {limit}")
        self.assertEqual(load.stop(), [])
        webhook.stop()

    def test_a_torn_or_foreign_store_changes_nothing(self):
        whole = json.dumps(store(profile("a-0123456789", "Job/a", limit="12Gi")))
        webhook = self.webhook("mode: fill", whole)
        for name, text in (("torn", whole[:-40]), ("empty", ""), ("foreign", '{"kind":"Deployment"}'),
                           ("not JSON", "hello"), ("a bad profile", whole.replace("12Gi", "12Gx"))):
            with self.subTest(name):
                seen = len(webhook.log())
                write_atomic(self.path("profiles.json"), text)
                harness.wait_until(lambda: "profiles.json" in webhook.log()[seen:], "the refusal in the log")
                self.assertEqual(self.limit_of(webhook), "12Gi")
                with open(self.path("profiles.json"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), text, "never overwritten")
        self.assertTrue(webhook.is_ready())
        write_atomic(self.path("profiles.json"), whole.replace("12Gi", "20Gi"))
        harness.wait_until(lambda: self.limit_of(webhook) == "20Gi", "a whole store after broken ones")

    def test_no_store_yet(self):
        webhook = self.webhook("mode: fill")
        self.assertIsNone(self.limit_of(webhook))
        write_atomic(self.path("profiles.json"), json.dumps(store(profile("a-0123456789", "Job/a", limit="12Gi"))))
        harness.wait_until(lambda: self.limit_of(webhook) == "12Gi", "the store that came later")


class Configuration(Case):
    def test_reload(self):
        webhook = self.webhook("mode: observe", store(profile("a-0123456789", "Job/a")))
        load = Load(webhook, 2, pod=job_pod("a"))
        self.addCleanup(load.stop)
        self.assertEqual(sizes(webhook.admit(job_pod("a"))), {})
        webhook.configure("mode: fill")
        harness.wait_until(lambda: sizes(webhook.admit(job_pod("a"))), "mode fill")
        for name, text in (("unknown key", "mode: observe\nmoed: fill"), ("bad value", "mode: sometimes"),
                           ("not YAML", "mode: [")):
            with self.subTest(name):
                seen = len(webhook.log())
                webhook.configure(text)
                harness.wait_until(lambda: "memtamer.yaml:" in webhook.log()[seen:], "file:line:col in the log")
                self.assertNotEqual(sizes(webhook.admit(job_pod("a"))), {}, "the old one goes on")
        webhook.configure("mode: observe")
        harness.wait_until(lambda: not sizes(webhook.admit(job_pod("a"))), "a good one after bad ones")
        self.assertEqual(load.stop(), [])


class Watching(Case):
    # A user namespace of its own in which nobody may watch, as on a node whose fs.inotify.max_user_instances are used up.
    NO_INOTIFY = ["unshare", "--user", "--map-root-user", "sh", "-c",
                  'echo 0 >/proc/sys/user/max_inotify_instances && exec "$0" "$@"']

    def test_without_inotify(self):
        if subprocess.run([*self.NO_INOTIFY, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no user namespaces here")
        with mock.patch.object(harness, "WRAP", self.NO_INOTIFY + harness.WRAP):
            webhook = self.webhook("mode: raise", store())
        webhook.wait_log("inotify is not available")
        self.assertNotIn("12Gi", json.dumps(sizes(webhook.admit(job_pod("a")))))
        write_atomic(self.path("profiles.json"), json.dumps(store(profile("a-0123456789", "Job/a", limit="12Gi"))))
        harness.wait_until(lambda: "12Gi" in json.dumps(sizes(webhook.admit(job_pod("a")))), "the new profiles")
        webhook.configure("mode: observe")
        harness.wait_until(lambda: not sizes(webhook.admit(job_pod("a"))), "the new configuration")


class Drain(Case):
    sample = True

    def test_no_request_fails(self):
        webhook = self.webhook("webhook.drain: 1h")
        load = Load(webhook, 4)
        self.addCleanup(load.stop)
        load.wait_done(20)
        webhook.terminate()
        harness.wait_until(lambda: webhook.get("/readyz")[0] == 503, "readiness to fail first")
        self.assertEqual(webhook.get("/healthz")[0], 200)
        status, headers, _ = webhook.get("/healthz")
        self.assertEqual((status, headers.get("Connection", "").lower()), (200, "close"))
        # As an endpoint list does when readiness fails: no new requests come; those on their way are answered.
        load.wait_done(5)
        self.assertEqual(load.stop(), [])
        self.assertIsNone(webhook.process.poll(), webhook.log())
        webhook.terminate()  # asked again it does not wait any longer
        self.assertEqual(webhook.wait(), 0, webhook.log())

    def test_sigint_ends_it_too(self):
        webhook = self.webhook("webhook.drain: 100ms")
        webhook.process.send_signal(signal.SIGINT)
        self.assertEqual(webhook.wait(), 0, webhook.log())


class Metrics(Case):
    def test_exposition(self):
        webhook = self.webhook("mode: fill", store(profile("a-0123456789", "Job/a")))
        webhook.admit(job_pod("a"))
        webhook.post(b"garbage")
        status, headers, body = webhook.get("/metrics")
        self.assertEqual(status, 200)
        self.assertIn("text/plain", headers["Content-Type"])
        text = body.decode()
        names = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}
        typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
        for name in names:
            self.assertRegex(name, r"^(memtamer|process)_", "our prefix, or what every client library calls it")
            base = name
            for suffix in ("_bucket", "_sum", "_count"):
                base = base.removesuffix(suffix) if base.removesuffix(suffix) in typed else base
            self.assertIn(base, typed)
        checked = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr.decode())
