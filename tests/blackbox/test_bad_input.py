# SPDX-License-Identifier: Apache-2.0
"""What a hostile or broken client may send, and what it gets: a fixed answer each, and a server that goes on."""
import json
import socket
import ssl

import harness
from harness import job_pod, review_of, training_pod


def review_text(pod=None, **changes):
    review = review_of(pod or training_pod(), uid="uid-1")
    review.update({key: value for key, value in changes.items() if key in ("apiVersion", "kind")})
    review["request"].update({key: value for key, value in changes.items() if key not in ("apiVersion", "kind")})
    return json.dumps(review)


GOOD = review_text()

# name, body: an unreadable review, or one without a readable uid: 400.
REFUSED = [
    ("empty", ""),
    ("not JSON", "hello"),
    ("HTML", "<html><body>502 Bad Gateway</body></html>"),
    ("null", "null"),
    ("array", "[]"),
    ("number", "12"),
    ("truncated before the uid", GOOD[:GOOD.index("uid-1")]),
    ("nested objects", '{"a":' * 100000),
    ("nested arrays", "[" * 100000 + "]" * 100000),
    ("no request", '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}'),
    ("request is null", '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}'),
    ("request is a list", '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[1]}'),
    ("no uid", GOOD.replace('"uid": "uid-1", ', "", 1)),
    ("uid is empty", GOOD.replace('"uid-1"', '""', 1)),
    ("uid is a number", GOOD.replace('"uid-1"', "7", 1)),
    ("uid is null", GOOD.replace('"uid-1"', "null", 1)),
    ("two uids", GOOD.replace('"uid": "uid-1"', '"uid": "uid-1", "uid": "uid-2"', 1)),
    ("uid escaped and plain", GOOD.replace('"uid": "uid-1"', '"uid": "uid-1", "\\u0075id": "uid-2"', 1)),
    ("NUL in the uid", GOOD.replace('"uid-1"', '"uid-1\\u0000x"', 1)),
    ("NUL in a listed key", GOOD.replace('"uid": "uid-1"', '"uid\\u0000": "uid-1"', 1)),
    ("raw NUL byte", GOOD.replace("uid-1", "uid\0-1", 1)),
    ("invalid UTF-8", GOOD.encode().replace(b"uid-1", b"uid\xff\xfe", 1)),
    ("comment", "/* hi */" + GOOD),
    ("single quotes", GOOD.replace('"', "'")),
    ("two requests", GOOD.replace('"request": ', '"request": {"uid": "uid-2"}, "request": ', 1)),
    ("wrong version", review_text(apiVersion="admission.k8s.io/v2")),
    ("wrong group", review_text(apiVersion="v1")),
    ("wrong kind", review_text(kind="Pod")),
]

# name, body: the uid can be read, the rest is not what it should be: allowed, without a patch.
TOLERATED = [
    ("truncated at half", GOOD[:len(GOOD) // 2]),
    ("truncated by one byte", GOOD[:-1]),
    ("something behind it", GOOD + "{}"),
    ("deep inside the object", GOOD.replace('"spec": {', '"spec": {"x": ' + '{"a":' * 200 + "1" + "}" * 200 + ", ", 1)),
    ("NaN", GOOD.replace('"dryRun": false', '"dryRun": NaN', 1)),
    ("two objects", GOOD.replace('"object": ', '"object": {}, "object": ', 1)),
    ("NUL in a name", GOOD.replace('"train-0"', '"train\\u0000-0"')),
    ("object is null", GOOD.replace(json.dumps(training_pod()), "null", 1)),
    ("object is a string", GOOD.replace(json.dumps(training_pod()), '"x"', 1)),
    ("spec is a list", review_text({"metadata": {"name": "x"}, "spec": []})),
    ("containers is an object", review_text({"metadata": {"name": "x"}, "spec": {"containers": {"a": 1}}})),
    ("container is a number", review_text({"metadata": {"name": "x"}, "spec": {"containers": [7]}})),
    ("resources is a string", review_text({"metadata": {"name": "x"}, "spec": {
        "containers": [{"name": "c", "resources": "lots"}]}})),
    ("labels hold numbers", review_text({"metadata": {"name": "x", "labels": {"a": 1}}, "spec": {
        "containers": [{"name": "c"}]}})),
    ("no containers", review_text({"metadata": {"name": "x"}, "spec": {}})),
    ("1,000 containers", review_text({"metadata": {"name": "x"}, "spec": {
        "containers": [{"name": f"c{i}", "resources": {"limits": {"nvidia.com/gpu": "1"}}} for i in range(1000)]}})),
]


class BadReviews(harness.Case):
    sample = True

    def test_each_has_its_answer(self):
        webhook = self.webhook()
        for name, body in REFUSED:
            with self.subTest(name):
                status, answer = webhook.post(body if isinstance(body, bytes) else body.encode())
                self.assertEqual(status, 400, answer[:300])
                self.assertLess(len(answer), 2000, "an error must not echo the body")
        for name, body in TOLERATED:
            with self.subTest(name):
                status, answer = webhook.post(body.encode())
                self.assertEqual(status, 200, answer[:300])
                response = json.loads(answer)["response"]
                self.assertEqual(response["uid"], "uid-1")
                self.assertIs(response["allowed"], True)
                self.assertEqual(harness.patch_of(response), [])
        self.assertTrue(webhook.admit(training_pod())["allowed"], "it goes on")
        webhook.stop()

    def test_keys_named_like_what_is_dropped_do_not_confuse(self):
        """A label or an annotation called like a path that the projection drops or reads stays a label."""
        webhook = self.webhook("mode: fill", harness.store(harness.profile("a-0123456789", "Job/a")))
        plain = job_pod("a")
        named = job_pod("a")
        named["metadata"]["labels"].update({"managedFields": "x", "spec": "y", "containers": "z"})
        named["metadata"]["annotations"] = {"managedFields": "x", "resources": "1Gi", "request.uid": "evil"}
        first, second = webhook.admit(plain), webhook.admit(named)

        def sizes(response):
            return [op for op in harness.patch_of(response) if "resources" in op["path"]]
        self.assertEqual(sizes(first), sizes(second))
        self.assertNotEqual(sizes(first), [])


class Http(harness.Case):
    def test_too_large(self):
        webhook = self.webhook()
        for size in (7 * 2**20 + 1, 9 * 2**20):
            with self.subTest(size=size):
                status, _ = webhook.post(b" " * size)
                self.assertEqual(status, 413)
        status, _ = webhook.post(b" " * (7 * 2**20 - len(GOOD)) + GOOD.encode())
        self.assertEqual(status, 200, "exactly at the limit it is read")

    def test_too_large_chunked(self):
        webhook = self.webhook()
        connection = webhook.connect()
        self.addCleanup(connection.close)
        connection.request("POST", "/mutate", body=(b" " * 65536 for _ in range(130)), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked", "Content-Type": "application/json"})
        self.assertEqual(connection.getresponse().status, 413)

    def test_methods_and_paths(self):
        webhook = self.webhook()
        rows = [("GET", "/mutate", 405), ("PUT", "/mutate", 405), ("POST", "/healthz", 405), ("POST", "/metrics", 405),
                ("GET", "/", 404), ("GET", "/nothing", 404), ("POST", "/mutate/x", 404), ("GET", "/healthz", 200),
                ("GET", "/readyz", 200), ("GET", "/metrics", 200), ("HEAD", "/healthz", 200)]
        for method, path, want in rows:
            with self.subTest(f"{method} {path}"):
                self.assertEqual(webhook.request(method, path, b"{}" if method in ("POST", "PUT") else None)[0], want)

    def test_slow_requests_are_cut_and_others_served(self):
        """A client that sends a byte now and then is cut by the request deadline; meanwhile others are served."""
        webhook = self.webhook("webhook.requestTimeout: 5s")
        drips = []
        for head in (b"POST /mutate HT", b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"):
            drip = webhook.context.wrap_socket(socket.create_connection(("127.0.0.1", webhook.port)),
                                               server_hostname="localhost")
            self.addCleanup(drip.close)
            drip.sendall(head)
            drips.append(drip)
        raw = socket.create_connection(("127.0.0.1", webhook.port))  # half a ClientHello
        self.addCleanup(raw.close)
        raw.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        for drip in drips + [raw]:
            self.assertTrue(webhook.admit(training_pod())["allowed"])
            self.assertTrue(harness.wait_until(lambda open_=drip: self.drip_once(open_), "the server to hang up"))
        self.assertTrue(webhook.admit(training_pod())["allowed"])

    @staticmethod
    def drip_once(connection):
        """Send one more byte; true once the server has closed."""
        connection.settimeout(0.3)
        try:
            connection.send(b"x")
            return connection.recv(65536) == b""
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True

    def test_old_tls_is_refused(self):
        webhook = self.webhook()
        for version, works in ((ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context = ssl.create_default_context(cafile=webhook.authority.cert)
            context.minimum_version = context.maximum_version = version
            connection = webhook.connect(context)
            self.addCleanup(connection.close)
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().status == 200, works)
        import subprocess
        for old in ("-tls1", "-tls1_1"):
            done = subprocess.run(["openssl", "s_client", old, "-cipher", "DEFAULT@SECLEVEL=0", "-connect",
                                   f"127.0.0.1:{webhook.port}"], input=b"", capture_output=True, check=False)
            self.assertNotEqual(done.returncode, 0, old)
