#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A steady stream of pod creations in one namespace, and the same in another one that memtamer does not look at.

	stream = Stream(t, watched="team", control="control")
	stream.phase("webhook pod deleted")        requests that begin from now on belong to this phase; those of the phase
	                                           before have ended
	stream.count("webhook pod deleted")        {"watched": Count, "control": Count}
	stream.close()

The pods ask for an accelerator, so they are training pods, and name a scheduler that does not exist, so they stay where
they are and cost nobody anything; batches of them are deleted. Several connections a namespace are kept alive, as a
controller keeps its own. A process of its own (this file as a program, in the cluster's network): what the test does
beside it does not hold it up. It writes one JSON line a request to a file."""
import argparse
import collections
import http.client
import json
import os
import subprocess
import sys
import threading
import time

STREAMS = ("watched", "control")
DECISION = "memtamer.io/decision"
CLIENT_SECONDS = 90  # longer than the API server takes to give up

Record = collections.namedtuple("Record", "stream phase began_s took_s outcome status said pod")


class Count:
    """What came of the requests of one stream in one phase."""

    def __init__(self, records):
        self.records = list(records)
        by = collections.Counter(record.outcome for record in self.records)
        self.created = by["patched"] + by["unpatched"]
        self.patched, self.unpatched = by["patched"], by["unpatched"]
        self.refused, self.unanswered = by["refused"], by["unanswered"]
        self.times_ms = sorted(1000 * record.took_s for record in self.records if record.outcome.endswith("patched"))

    def quantile_ms(self, fraction):
        return self.times_ms[min(len(self.times_ms) - 1, int(fraction * len(self.times_ms)))] if self.times_ms else 0.0

    def said(self):
        """The answers to refused requests, and the troubles of unanswered ones, with how often each was seen."""
        return dict(collections.Counter(record.said for record in self.records
                                        if record.outcome in ("refused", "unanswered")))


class Stream:
    """The process, seen from the test."""

    def __init__(self, test, watched, control, rate=6.0):
        self.path = test.path("stream.jsonl")
        self.process = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), "--rate", str(rate), "--watched", watched,
             "--control", control, "--out", self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        test.at_end(self.close)
        self.name = "start"

    def phase(self, name):
        """Requests that begin from now on belong to `name`. Returns when those that began earlier have ended."""
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().rstrip("\n")
        assert said == name, f"the stream ended with {self.process.poll()}"
        self.name = name

    def records(self, phase=None):
        """Those that have ended so far."""
        with open(self.path, encoding="utf-8") as file:
            found = [Record(*json.loads(line)) for line in file.read().split("\n")[:-1]]
        return [record for record in found if phase in (None, record.phase)]

    def count(self, *phases):
        """By stream; of these phases together, or of all."""
        found = [record for record in self.records() if not phases or record.phase in phases]
        return {stream: Count(record for record in found if record.stream == stream) for stream in STREAMS}

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            status = self.process.wait(timeout=2 * CLIENT_SECONDS)
            assert status == 0, f"the stream ended with status {status}"


# The program --------------------------------------------------------------------------------------------------------

def training_pod(name):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "stream"}},
            "spec": {"schedulerName": "memtamer.test/none", "restartPolicy": "Never",
                     "containers": [{"name": "trainer", "image": "memtamer.test/actor:1",
                                     "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}


class Api:
    """One connection, kept alive; opened again after trouble."""

    def __init__(self, cluster):
        self.cluster, self.connection = cluster, None

    def request(self, method, path, body=None):
        """(status, object); raises OSError or HTTPException."""
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.cluster.host, context=self.cluster.context,
                                                          timeout=CLIENT_SECONDS)
        try:
            self.connection.request(method, path, body=json.dumps(body) if body else None, headers={
                "Authorization": "Bearer " + self.cluster.token, "Content-Type": "application/json",
                "Accept": "application/json"})
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            self.connection.close()
            self.connection = None
            raise


class Source:
    """Creates pods in one namespace at a steady rate. One that falls behind does not catch up with a burst."""

    def __init__(self, program, stream, namespace, rate, connections):
        self.program, self.stream, self.namespace, self.interval = program, stream, namespace, 1 / rate
        self.lock, self.due, self.made = threading.Lock(), time.monotonic(), 0
        self.threads = [threading.Thread(target=self.run) for _ in range(connections)]

    def next(self):
        """(when to send, name of the pod)"""
        with self.lock:
            self.due = max(self.due + self.interval, time.monotonic())
            self.made += 1
            return self.due, f"stream-{os.getpid()}-{self.made}"

    def run(self):
        api = Api(self.program.cluster)
        while True:
            due, name = self.next()
            if self.program.stop.wait(max(0, due - time.monotonic())):
                return
            self.create(api, name)

    def create(self, api, name):
        phase, began = self.program.begin(), time.monotonic()
        status, said = 0, ""
        try:
            status, answer = api.request("POST", f"/api/v1/namespaces/{self.namespace}/pods", training_pod(name))
            if status == 201:
                annotations = answer["metadata"].get("annotations", {})
                outcome = "patched" if DECISION in annotations else "unpatched"
            else:
                outcome, said = "refused", f"{status} {answer.get('message', '')}".replace(name, "POD")
        except (OSError, http.client.HTTPException, ValueError) as error:
            outcome, said = "unanswered", f"{type(error).__name__}: {error}"
        self.program.end(Record(self.stream, phase, began, time.monotonic() - began, outcome, status, said, name))


class Program:
    def __init__(self, options):
        import cluster
        self.cluster = cluster.Cluster()
        self.phase, self.stop, self.lock = "start", threading.Event(), threading.Condition()
        self.under_way = collections.Counter()  # by phase
        self.out = open(options.out, "w", encoding="utf-8")
        self.sources = [Source(self, "watched", options.watched, options.rate, options.connections),
                        Source(self, "control", options.control, options.rate, options.connections)]
        self.broom = threading.Thread(target=self.sweep, args=(options.sweep,))

    def begin(self):
        with self.lock:
            self.under_way[self.phase] += 1
            return self.phase

    def end(self, record):
        with self.lock:
            self.out.write(json.dumps(record) + "\n")
            self.out.flush()
            self.under_way[record.phase] -= 1
            self.lock.notify_all()

    def enter(self, phase):
        with self.lock:
            last, self.phase = self.phase, phase
            self.lock.wait_for(lambda: not self.under_way[last])

    def sweep(self, seconds):
        """Pods that nobody runs; what cannot be deleted now will be later."""
        api = Api(self.cluster)
        last = False
        while not last:
            last = self.stop.wait(seconds)
            for source in self.sources:
                try:
                    api.request("DELETE", f"/api/v1/namespaces/{source.namespace}/pods?labelSelector=app%3Dstream",
                                {"gracePeriodSeconds": 0})
                except (OSError, http.client.HTTPException, ValueError):
                    pass

    def main(self):
        threads = [thread for source in self.sources for thread in source.threads]
        for thread in threads:
            thread.start()
        self.broom.start()
        for line in sys.stdin:
            self.enter(line.rstrip("\n"))
            print(self.phase, flush=True)
        self.stop.set()
        for thread in threads:
            thread.join()
        self.broom.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--watched", required=True)
    parser.add_argument("--control", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rate", type=float, default=6.0, help="pods a second, in each namespace")
    parser.add_argument("--connections", type=int, default=4, help="of each namespace")
    parser.add_argument("--sweep", type=float, default=10.0, help="seconds between deletions")
    Program(parser.parse_args()).main()


if __name__ == "__main__":
    main()
