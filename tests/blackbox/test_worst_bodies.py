# SPDX-License-Identifier: Apache-2.0
"""Reviews that are as expensive as somebody could make them (tests/property/worst_bodies.txt), sent to the real server:
each is answered, others are answered meanwhile, and memory stays within its bound."""
import json
import os
import re
import subprocess
import threading

import harness

MIB = 2**20
LARGEST = 7 * MIB
CLIENTS = 64
MEMORY = 128 * MIB  # for so many clients, with the bodies that the server holds at a time (32 MiB)
THREADS = 4
# Those that take most memory to read, and to decide about.
LARGE = ["escapes", "labels", "volumes of every template", "a List of Pods", "as many containers as are read"]


def generator(*words):
    program = os.path.join(os.path.dirname(harness.program("memtamer-webhook")), "../tests/property/property_cost")
    descriptions = os.path.join(harness.TOP, "tests/property/worst_bodies.txt")
    return subprocess.run([program, descriptions, *map(str, words)], check=True, capture_output=True).stdout


def bodies():
    """[(name, route)]"""
    return [line.split("\t") for line in generator("--list").decode().splitlines()]


def status_kib(webhook, field):
    with open(f"/proc/{webhook.process.pid}/status", encoding="ascii") as file:
        return int(re.search(field + r":\s+(\d+) kB", file.read()).group(1))


def profiles():
    """A store with those that the bodies find."""
    names = [f"c{i}" for i in range(10)] + ["trainer"]
    return harness.store(*[harness.profile(f"train-{kind.lower()}-{i:010x}", f"{kind}/train", container=name)
                           for kind in ("Job", "PyTorchJob", "Pod", "Workflow") for i, name in enumerate(names)])


class WorstBodies(harness.Case):
    def started(self, threads):
        config = f"mode: enforce\ntemplates: patch\nwebhook.threads: {threads}\nwebhook.requestTimeout: 5m"
        return self.webhook(config, profiles())

    def post_at_once(self, webhook, route, posts):
        """Threads that post these bodies, and the list of their answers: (status or error, body)."""
        answers = []

        def post(body):
            try:
                status, _, answer = webhook.request("POST", route, body, {"Content-Type": "application/json"})
            except OSError as error:
                status, answer = repr(error), b""
            answers.append((status, answer))
        threads = [threading.Thread(target=post, args=(body,)) for body in posts]
        for thread in threads:
            thread.start()
        return threads, answers

    def test_each_is_answered_and_so_are_others_meanwhile(self):
        webhook = self.started(threads=2)
        for name, route in bodies():
            with self.subTest(name):
                posts = [generator("--body", name, size) for size in (LARGEST, MIB)]
                threads, answers = self.post_at_once(webhook, route, posts)
                self.assertEqual(webhook.get("/healthz")[0], 200)
                self.assertTrue(webhook.admit(harness.training_pod())["allowed"])
                for thread in threads:
                    thread.join(harness.PATIENCE)
                self.assertEqual(len(answers), len(posts))
                for status, answer in answers:
                    self.assertEqual(status, 200, answer[:300])
                    self.assertIs(json.loads(answer)["response"]["allowed"], True)
        webhook.stop()

    def test_memory_is_bounded_for_many_clients(self):
        webhook = self.started(THREADS)
        webhook.admit(harness.training_pod())
        before = status_kib(webhook, "VmRSS")
        routes = dict(bodies())
        for name in LARGE:
            with self.subTest(name):
                body = generator("--body", name, MIB)
                threads, answers = self.post_at_once(webhook, routes[name], [body] * CLIENTS)
                for thread in threads:
                    thread.join(harness.PATIENCE)
                # Bodies beyond what the server holds of all clients together are refused.
                self.assertIn(200, [status for status, _ in answers])
                self.assertLess((status_kib(webhook, "VmHWM") - before) * 1024, MEMORY)
        webhook.stop()
