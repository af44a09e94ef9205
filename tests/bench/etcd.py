# SPDX-License-Identifier: Apache-2.0
"""Very many of our objects in etcd, put there as the API server would have stored them.

Writing hundreds of thousands through the API server takes half an hour and measures the API server. So one object of
each kind is written through it, its stored bytes are read from etcd, and the others are copies with names of their own,
put into etcd a hundred at a time. The API server watches etcd and tells of them as of its own."""
import base64
import copy
import http.client
import json
import os
import re
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESS = ("127.0.0.1", 2379)
PREFIX = "/registry/memtamer.io/"
AT_ONCE = 100
KINDS = {"MemoryProfile": "memoryprofiles", "MemoryHistory": "memoryhistories"}
CURVES = 8


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

    def wipe(self):
        """Remove all of our objects, and every trace of them from the file."""
        deleted = self.call("kv/deleterange", {"key": encode(PREFIX), "range_end": encode(PREFIX[:-1] + "0")})
        self.compact(deleted["header"]["revision"])

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


def with_runs(history, count):
    """The same with more runs in the list; only the last ones have curves."""
    history = copy.deepcopy(history)
    runs = [dict(run, uid=f"{index:016x}") for index, run in
            enumerate((history["spec"]["runs"] * count)[:count])]
    for run in runs[:-CURVES]:
        run.pop("curveMax", None)
        run.pop("curveMean", None)
    history["spec"]["runs"] = runs
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
