# SPDX-License-Identifier: Apache-2.0
"""What clients may do to each other: whatever some of them send, or do not send, the reviews of others are answered while
it goes on, and the process stays small and ends when it is asked to."""
import contextlib
import os
import re
import threading

import harness
from harness import Case, Load, training_pod

DEADLINE_S = harness.PATIENCE if harness.WRAP else 10  # an API server waits at most 30 s for a webhook, by default 10
MIB = 1 << 20
LIMIT = 64  # connections of the servers here
# Far more clients than places. None of their connections is read or closed by the test while the attack is on.
CLIENTS = 4 * LIMIT
HEAD = b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
PLACES = 512  # the default of webhook.connections
ADDRESSES = 32  # where they come from if they come from many
CLIENT_HELLO_BEGINS = b"\x16\x03\x01\x02\x00\x01\x00"


def send_some(connection, data):
    """As much as the server lets us: a server that hangs up is no failure of a hostile client."""
    with contextlib.suppress(OSError):
        connection.sendall(data)


def elsewhere(number=0):
    """Where hostile clients come from."""
    return f"127.0.0.{2 + number}"


def half_body(size):
    """A request that promises `size` bytes and sends all but ten."""
    return HEAD % size + b" " * (size - 10)


class Attack:
    """Other clients than those of the attack must be answered as long as it lasts: one that keeps its connections, and one
    that comes anew for each review."""

    def __init__(self, case, webhook):
        self.case, self.webhook, self.connections = case, webhook, []
        case.addCleanup(self.end)
        self.loads = [Load(webhook, 2, timeout=DEADLINE_S), Load(webhook, 2, reconnect=True, timeout=DEADLINE_S)]
        self.wait_answered(5)

    def wait_answered(self, more):
        for load in self.loads:
            load.wait_done(more)

    def open(self, count, data=b"", tls=True, addresses=1, **options):
        """`count` further connections that send this and nothing more."""
        for number in range(count):
            with contextlib.suppress(OSError):  # evicted during its handshake
                dial = self.webhook.dial_tls if tls else self.webhook.dial
                made = dial(source=elsewhere(number % addresses), **options)
                self.connections.append(made)
                send_some(made, data)

    def flood(self, source):
        """New connections without end, until the test has ended."""
        stopping = threading.Event()

        def connect():
            while not stopping.is_set():
                with contextlib.suppress(OSError):
                    self.webhook.dial(source=source).close()
        threads = [threading.Thread(target=connect) for _ in range(3)]
        self.case.addCleanup(lambda: [thread.join() for thread in threads])
        self.case.addCleanup(stopping.set)
        for thread in threads:
            thread.start()

    def end(self):
        """The failures of the others."""
        failures = [failure for load in self.loads for failure in load.stop()]
        for connection in self.connections:
            connection.close()
        return failures


class Connections(Case):
    def attack(self, config=f"webhook.connections: {LIMIT}"):
        webhook = self.webhook(f"mode: raise\n{config}")
        return webhook, Attack(self, webhook)

    def assert_harmless(self, attack, more=50):
        attack.wait_answered(more)
        self.assertEqual(attack.end(), [])

    def test_half_sent_bodies_do_not_use_up_the_memory_of_others(self):
        _, attack = self.attack()
        for _ in range(5):  # together the 32 MiB of all
            attack.open(1, half_body(32 * MIB // 5))
        self.assert_harmless(attack)

    def test_idle_clients_give_way(self):
        for name, tls, data in (("no byte", False, b""), ("a slow handshake", False, CLIENT_HELLO_BEGINS),
                                ("no request", True, b""), ("half a head", True, b"POST /mut"),
                                ("half a body", True, half_body(1000)),
                                ("idle after a request", True, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")):
            with self.subTest(name):
                webhook, attack = self.attack()
                attack.open(CLIENTS, data, tls)
                self.assert_harmless(attack)
                evicted = webhook.metric("memtamer_http_connections_evicted_total")
                # and those of a burst, where the addresses share a group (server_limit.c)
                self.assertGreater(evicted, CLIENTS - LIMIT * 3 / 2 - 10, "the attack has filled all places")
                webhook.stop()

    def test_clients_of_many_addresses_give_way_at_the_default(self):
        for name, data in (("no byte", b""), ("a slow handshake", CLIENT_HELLO_BEGINS)):
            with self.subTest(name):
                webhook, attack = self.attack("")
                attack.open(2 * PLACES, data, tls=False, addresses=ADDRESSES)
                self.assert_harmless(attack)
                self.assertGreater(webhook.metric("memtamer_http_connections_evicted_total"), PLACES - 10)
                webhook.stop()

    def test_clients_that_do_not_read_are_cut(self):
        webhook, attack = self.attack(f"webhook.connections: {LIMIT}\nwebhook.requestTimeout: 1s")
        # Answers of some 20 KB each, of which the client takes 4 KiB.
        attack.open(8, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 2000, receive_bytes=4096)
        harness.wait_until(lambda: webhook.metric("memtamer_watchdog_closed_total") >= 8, "all to be cut")
        self.assert_harmless(attack)

    def test_a_flood_of_new_connections(self):
        _, attack = self.attack()
        attack.flood(elsewhere())
        self.assert_harmless(attack)

    def test_sigterm_ends_the_process_under_attack(self):
        webhook, attack = self.attack(f"webhook.connections: {LIMIT}\nwebhook.requestTimeout: 2s\nwebhook.drain: 500ms")
        # together fewer than there are places, so that none gives way to the flood
        attack.open(LIMIT // 8, half_body(1000))
        attack.open(LIMIT // 8, half_body(7 * MIB))
        attack.open(LIMIT // 8, CLIENT_HELLO_BEGINS, tls=False)
        attack.open(LIMIT // 8, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 2000, receive_bytes=4096)
        attack.open(LIMIT // 8, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        attack.flood(elsewhere(1))
        attack.wait_answered(5)
        webhook.terminate()
        self.assertEqual(webhook.wait(), 0, webhook.log())
        self.assertRegex(webhook.log(), "msg=ended")


class Memory(Case):
    def bodies(self):
        """Some that take much to read: many containers, many texts, many annotations, nothing at all."""
        container = b'{"name":"c","image":"x","resources":{"limits":{"nvidia.com/gpu":"1","memory":"4Gi"}}},'
        start = (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"",'
                 b'"version":"v1","kind":"Pod"},"operation":"CREATE","namespace":"ml","object":{"metadata":{"name":"a",'
                 b'"annotations":{')
        spec = b'}},"spec":{"containers":['
        return [(start + spec + container * 70000)[:7 * MIB],
                start + spec + container * 100 + container[:-1] + b"]}}}}",
                (start + spec + b'{"name":"c","args":[' + b'"x",' * 1700000)[:7 * MIB],
                (start + b",".join(b'"k%d":"v"' % i for i in range(400000)) + spec + b"]}}}}")[:7 * MIB],
                b" " * (7 * MIB)]

    @staticmethod
    def mebibytes(webhook, key):
        with open(f"/proc/{webhook.process.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"^{key}:\s+(\d+) kB", file.read(), re.MULTILINE).group(1)) / 1024

    def client(self, webhook, bodies, number, until):
        """Sends bodies, one after the other, and reads the answers; some it leaves half sent."""
        while not until.is_set():
            with contextlib.suppress(OSError), webhook.dial_tls() as connection:
                body = bodies[number % len(bodies)]
                number += 1
                connection.sendall(HEAD % len(body) + (body if number % 3 else body[:-100]))
                if number % 3:
                    connection.recv(65536)
                with self.lock:
                    self.sent += 1

    def test_64_clients_with_large_bodies(self):
        if harness.WRAP:
            self.skipTest("valgrind's own memory would be counted")
        webhook = self.webhook("mode: raise")
        before = self.mebibytes(webhook, "VmRSS")
        bodies, until, self.lock, self.sent = self.bodies(), threading.Event(), threading.Lock(), 0
        load = Load(webhook, 1, timeout=DEADLINE_S)
        self.addCleanup(load.stop)
        threads = [threading.Thread(target=self.client, args=(webhook, bodies, number, until)) for number in range(64)]
        self.addCleanup(lambda: [thread.join() for thread in threads])
        self.addCleanup(until.set)
        for thread in threads:
            thread.start()
        harness.wait_until(lambda: self.sent >= 200, "some bodies of each kind")
        load.wait_done(10)
        until.set()
        self.assertLess(self.mebibytes(webhook, "VmHWM") - before, 128)
        self.assertEqual(load.stop(), [])
        harness.wait_until(lambda: self.mebibytes(webhook, "VmRSS") - before < 16, "the memory to be given back")

    def test_all_connections_with_half_sent_bodies(self):
        if harness.WRAP:
            self.skipTest("valgrind's own memory would be counted")
        webhook = self.webhook("mode: raise")
        before = self.mebibytes(webhook, "VmRSS")
        attack = Attack(self, webhook)
        attack.open(2 * PLACES, half_body(65000), addresses=ADDRESSES)
        for _ in range(5):  # together the 32 MiB of all
            attack.open(1, half_body(32 * MIB // 5))
        attack.wait_answered(5)
        self.assertLess(self.mebibytes(webhook, "VmHWM") - before, 96)  # two large reviews may take the rest of 128
        self.assertEqual(attack.end(), [])
        # by connections that end, without a further review
        harness.wait_until(lambda: self.mebibytes(webhook, "VmRSS") - before < 16, "the memory to be given back")


class Logs(Case):
    def unread(self):
        """A webhook whose log nobody reads, and the end that could be read."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        webhook = self.webhook("mode: raise", stderr=writer)
        os.close(writer)
        return webhook, reader

    def ask_until_dropped(self, webhook):
        """Reviews that each make a line, until pipe and buffer are full."""
        load = Load(webhook, 4, timeout=DEADLINE_S)
        self.addCleanup(load.stop)
        harness.wait_until(lambda: webhook.metric("memtamer_log_lines_dropped_total") > 0, "lines to be dropped")
        load.wait_done(50)
        self.assertEqual(load.stop(), [])

    def test_reviews_do_not_wait_for_who_reads_the_log(self):
        webhook, reader = self.unread()
        self.ask_until_dropped(webhook)
        dropped, text, report = webhook.metric("memtamer_log_lines_dropped_total"), b"", None
        while not report:  # as soon as there is room again
            text += os.read(reader, 65536)
            report = re.search(rb"log lines dropped.* lines=(\d+)\n", text)
        self.assertLessEqual(int(report.group(1)), dropped)

    def test_an_unread_log_does_not_hang_the_end(self):
        webhook, _ = self.unread()
        self.ask_until_dropped(webhook)
        webhook.terminate()
        self.assertEqual(webhook.wait(), 0)

    def test_lines_that_clients_cause_are_limited(self):
        webhook = self.webhook("mode: raise")
        unreadable = training_pod()
        unreadable["spec"]["containers"] = [7]
        connection = webhook.connect()
        self.addCleanup(connection.close)

        def ask():
            self.assertTrue(webhook.admit(unreadable, connection)["allowed"])
            return re.search("allowed without a decision.* suppressed=([0-9]+)", webhook.log())
        for _ in range(100):
            ask()
        self.assertLess(webhook.log().count("allowed without a decision"), 100)
        self.assertGreater(int(harness.wait_until(ask, "the count of the suppressed lines").group(1)), 0)


class Durations(Case):
    def test_answers_are_timed_by_the_server(self):
        webhook = self.webhook("mode: raise")
        for _ in range(3):
            webhook.admit(training_pod())
        webhook.post(b"no review")
        self.assertEqual(webhook.metric("memtamer_admission_duration_seconds_count"), 3)
        self.assertGreater(webhook.metric("memtamer_admission_duration_seconds_sum"), 0)
