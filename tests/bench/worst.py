# SPDX-License-Identifier: Apache-2.0
"""The most expensive reviews that are known (tests/property/worst_bodies.txt) against the webhook: the CPU time that
each costs over HTTPS, beside a server that reads as many bytes and answers, and memory while many clients send them."""
import contextlib
import http.client
import os
import ssl
import statistics
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import bench  # noqa: E402  (sets MEMTAMER_BIN)
import harness  # noqa: E402
import test_worst_bodies as worst  # noqa: E402

ROWS = 10
CLIENTS = 64
CONFIG = "mode: enforce\ntemplates: patch\nlog: { level: error }\nwebhook.threads: 4\nwebhook.drain: 0s"


def connect(server):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=harness.PATIENCE, context=context)
    connection.connect()
    return connection


def post(connection, route, body):
    connection.request("POST", route, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def cpu_ms(server, route, body, times):
    """The median of the server's CPU time for a request on a connection that is open already."""
    costs = []
    with contextlib.closing(connect(server)) as connection:
        post(connection, route, body)
        for _ in range(times):
            before = bench.cpu_seconds(server.process.pid)
            post(connection, route, body)
            costs.append(1e3 * (bench.cpu_seconds(server.process.pid) - before))
    return statistics.median(costs)


def time_table(floor, webhook, bodies, times):
    rows = []
    for name, route in bodies:
        body = worst.generator("--body", name, worst.LARGEST)
        rows.append((cpu_ms(webhook, route, body, times), cpu_ms(floor, route, body, times), name, route, len(body)))
    rows.sort(reverse=True)
    lines = ["| body | route | bytes | CPU of the webhook | of the floor | times the floor |", "|---|---|---|---|---|---|"]
    lines += [f"| {name} | {route} | {size:,} | {ours:.1f} ms | {theirs:.1f} ms | {ours / theirs:.1f} |"
              for ours, theirs, name, route, size in rows[:ROWS]]
    return lines + ["", f"The other {max(len(rows) - ROWS, 0)} cost less."]


def flood(webhook, route, body):
    """Many clients post the body once, at the same time: how many were answered."""
    answered = []

    def client():
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connect(webhook)) as connection:
            if post(connection, route, body) == 200:
                answered.append(route)
    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(answered)


def memory_lines(webhook, bodies):
    pid = webhook.process.pid
    idle, answered = bench.rss_mib(pid), 0
    for name, route in bodies:
        answered += flood(webhook, route, worst.generator("--body", name, worst.MIB))
    refused = len(bodies) * CLIENTS - answered
    return [f"RSS {idle:.1f} MiB before, at most {bench.rss_mib(pid, 'VmHWM'):.1f} MiB while {CLIENTS} clients sent each of "
            f"{len(bodies)} bodies of 1 MiB at the same time: {answered:,} were answered, and {refused:,} refused for the "
            "32 MiB of bodies that the server holds at most."]


def report(quick):
    times, bodies = 1 if quick else 5, worst.bodies()
    with tempfile.TemporaryDirectory(prefix="memtamer-bench-") as folder:
        authority = harness.Authority(folder)
        authority.issue("tls")
        floor, webhook = bench.Floor(folder), harness.Webhook(folder, CONFIG, worst.profiles(), authority=authority)
        lines = ["# The most expensive reviews", "",
                 "Each body of tests/property/worst_bodies.txt at the largest size that is read (7 MiB), one by one over HTTPS: "
                 "the median of the server's CPU time, on an open connection. The floor reads the body and answers 1,200 bytes.", "",
                 "Command: `tests/bench/run worst`" + (" (quick)" if quick else ""), "",
                 f"Machine: {bench.machine()}.", "", "## CPU time", ""]
        lines += time_table(floor, webhook, bodies, times)
        lines += ["", "## Memory", ""] + memory_lines(webhook, [row for row in bodies if row[0] in worst.LARGE] if quick else bodies)
        webhook.stop()
        floor.stop()
    return lines


if __name__ == "__main__":
    bench.main(report)
