# SPDX-License-Identifier: Apache-2.0
"""Very many of our objects in etcd, put there as the API server would have stored them.

Writing hundreds of thousands through the API server takes half an hour and measures the API server. So one object of
each kind is written through it, its stored bytes are read from etcd, and the others are copies with names of their own,
put into etcd a hundred at a time. The API server watches etcd and tells of them as of its own."""
import base64
import copy
import gzip
import http.client
import json
import os
import random
import re
import time
import uuid

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESS = ("127.0.0.1", 2379)
PREFIX = "/registry/memtamer.io/"
AT_ONCE = 100
KINDS = {"MemoryProfile": "memoryprofiles", "MemoryHistory": "memoryhistories"}
CURVES, POINTS = 8, 32
FIRST_RUN = 1793607300  # 2026-11-02


def encode(text):
    return base64.b64encode(text.encode()).decode()


class Etcd:
    def __init__(self):
        self.connection = http.client.HTTPConnection(*ADDRESS, timeout=300)

    def call(self, path, body):
        self.connection.request("POST", "/v3/" + path, json.dumps(body))
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"etcd {path}: {answer.status}: {text[:300]!r}")
        return json.loads(text)

    def get(self, key):
        return base64.b64decode(self.call("kv/range", {"key": encode(key)})["kvs"][0]["value"])

    def put_all(self, pairs):
        """Put (key, text) pairs. Bytes of the texts."""
        operations, total = [], 0
        for key, text in pairs:
            total += len(text)
            operations.append({"requestPut": {"key": encode(key), "value": encode(text)}})
            if len(operations) == AT_ONCE:
                self.call("kv/txn", {"success": operations})
                operations = []
        if operations:
            self.call("kv/txn", {"success": operations})
        return total

    def revision(self):
        return self.call("kv/range", {"key": encode("none")})["header"]["revision"]

    def remove(self, prefix):
        """All below a prefix that ends with a slash. The revision of that."""
        answer = self.call("kv/deleterange", {"key": encode(prefix), "range_end": encode(prefix[:-1] + "0")})
        return answer["header"]["revision"]

    def wipe(self):
        """Remove all of our objects, and every trace of them from the file."""
        self.compact(self.remove(PREFIX))

    def compact(self, revision=None):
        """What the API server does every five minutes, and defragmentation, so that the size is that of what is there."""
        revision = revision or self.revision()
        try:
            self.call("kv/compaction", {"revision": revision, "physical": True})
        except RuntimeError as error:
            if "compacted" not in str(error):
                raise
        self.call("maintenance/defragment", {})

    def metric(self, name):
        self.connection.request("GET", "/metrics")
        text = self.connection.getresponse().read().decode()
        return float(re.search(rf"^{name} (.*)$", text, re.MULTILINE).group(1))

    def bytes_in_use(self):
        return self.metric("etcd_mvcc_db_total_size_in_use_in_bytes")


def learned():
    """The MemoryProfile and the MemoryHistory that the recommender made of a recorded training (demo/data)."""
    with open(os.path.join(HERE, "learned.jsonl"), encoding="utf-8") as file:
        return {thing["kind"]: thing for thing in map(json.loads, file)}


def daily_run(run, day, chance):
    """A run like this one on that day, with figures of its own; and what was set in its pods."""
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST_RUN + 86400 * day + chance.randrange(7200)))
    peak = int(chance.uniform(0.85, 1) * 800 * 1024)
    figures = {key: f"{int(share * chance.uniform(0.95, 1) * peak)}Ki" for key, share in
               (("rss", 1), ("median", 0.5), ("p95", 0.8), ("minRankPeak", 0.97), ("ephemeral", 0.8), ("activeFile", 0.01))}
    run = {**run, **figures, "uid": f"{chance.getrandbits(64):016x}", "start": start, "peak": f"{peak}Ki",
           "duration": f"{chance.randrange(1, 9)}h{chance.randrange(60)}m", "samples": chance.randrange(200, 2000),
           "activity": chance.randrange(300, 1000), "by": "memtamer", "mode": "fill", "revision": day}
    rise = [min(1000, 300 + 25 * k + chance.randrange(50)) for k in range(POINTS)]
    run |= {"curveMax": rise, "curveMean": [point - chance.randrange(20, 60) for point in rise]}
    decision = {"time": start, "owner": "JobSet/llm-pretrain", "pod": f"llm-pretrain-workers-0-0-{run['uid'][:5]}", "pods": 8,
                "mode": "fill", "revision": day, "requestTo": "380Mi", "limitTo": f"{900 + day}Mi", "rule": "peak+buffer"}
    return run, decision


def line(thing):
    return " ".join(f"{key}={value}" for key, value in thing.items())


def with_runs(history, count):
    """The same after a run a day, whose figures differ as real ones do, since copies would compress better. It is made of
    the members that the recommender writes."""
    chance, history = random.Random(count), copy.deepcopy(history)
    data = harness.unpacked(history)["spec"]
    for key in ("workload", "role", "container", "aliases"):
        del data[key]
    pairs = [daily_run(data["runs"][0], day, chance) for day in range(count)]
    data["runs"], data["decisions"] = [run for run, _ in pairs], [decision for _, decision in pairs]
    data["days"] = [{"day": run["start"][:10], "mode": "fill", "runs": 1} for run in data["runs"]]
    for run in data["runs"][:-CURVES]:
        del run["curveMax"], run["curveMean"]
    text = json.dumps(data, separators=(",", ":")).encode()
    history["spec"] |= {"data": "v1:" + base64.b64encode(gzip.compress(text, mtime=0)).decode(),
                        "lastDays": [line(day) for day in data["days"][-7:]],
                        "lastDecisions": [line(decision) for decision in data["decisions"][-8:]],
                        "runs": [{key: data["runs"][-1][key] for key in history["spec"]["runs"][0]}]}
    return history


def namespace_of(index):
    return f"team-{index % 97}"


def name_of(index):
    return f"training-{index}-{index:010x}"


def key_of(kind, index):
    return f"{PREFIX}{KINDS[kind]}/{namespace_of(index)}/{name_of(index)}"


def copy_of(stored, index, limit=None):
    """The object as the API server would have stored it for workload `index`."""
    thing = copy.deepcopy(stored)
    thing["metadata"].update(name=name_of(index), namespace=namespace_of(index), uid=str(uuid.UUID(int=index + 2**64)))
    part = thing["status"] if thing["kind"] == "MemoryProfile" else thing["spec"]
    part["workload"] = f"JobSet/training-{index}"
    part["aliases"] = [f"JobSet/training-{index}", f"Job/training-{index}-workers"]
    if limit:
        part["recommendation"]["limit"] = limit
    return json.dumps(thing, separators=(",", ":"))


def copies(stored, indexes, limit=None):
    for index in indexes:
        yield key_of(stored["kind"], index), copy_of(stored, index, limit)


def copies_of_job(stored, indexes):
    """(key, text) of Jobs; the API server reads JSON where it writes protobuf."""
    for index in indexes:
        thing = copy.deepcopy(stored)
        thing["metadata"].pop("resourceVersion", None)
        thing["metadata"].update(name=name_of(index), namespace=namespace_of(index), uid=str(uuid.UUID(int=index + 2**80)))
        yield (f"/registry/jobs/{namespace_of(index)}/{name_of(index)}", json.dumps(thing, separators=(",", ":")))
