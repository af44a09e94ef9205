# SPDX-License-Identifier: Apache-2.0
"""The commands for people on a real cluster, as they are called: `kubectl memtamer status | history | undo`."""
import json
import os

import yaml

import configurations
import harness
from kit import parallel, wait_for
from programs import write_yaml
from test_ladder import create, job_pod, memory, profile
from test_recommender_service import Service, trained_prometheus

GROUP = "rbac.authorization.k8s.io"
DECISION = {"time": "2026-11-02T09:00:00Z", "owner": "Job/train-7", "pod": "train-7-x4k2p", "pods": 1, "mode": "raise",
            "revision": 1, "requestFrom": "4Gi", "requestTo": "8Gi", "limitFrom": "6Gi", "limitTo": "12Gi",
            "rule": "peak+buffer"}


def kubectl_memtamer(t, *args, kubeconfig=None, status=0):
    """The plugin as kubectl finds it: by its name in PATH."""
    folder = os.path.dirname(harness.program("kubectl-memtamer"))
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{before}"
    try:
        done = t.cluster.kubectl("memtamer", *args, check=False, kubeconfig=kubeconfig or t.kubeconfig())
    finally:
        os.environ["PATH"] = before
    assert done.status == status, repr(done)
    return done


def somebody(t, namespace, *rules):
    """A kubeconfig of somebody who may do this in the namespace, and nothing else."""
    name = t.unique("dev")
    meta = {"name": name, "namespace": namespace}
    t.apply([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
             {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": meta, "rules": list(rules)},
             {"apiVersion": f"{GROUP}/v1", "kind": "RoleBinding", "metadata": meta,
              "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name},
              "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]}])
    return t.kubeconfig(name, namespace, name=f"{name}.kubeconfig")


def may(plural, *verbs):
    return {"apiGroups": ["memtamer.io"], "resources": [plural], "verbs": list(verbs)}


def history_of(namespace):
    return {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryHistory",
            "metadata": {"namespace": namespace, "name": "train-0123456789"},
            "spec": {"workload": "Job/train", "container": "main", "aliases": ["Job/train"], "decisions": [DECISION]}}


@parallel
def test_a_workload_gets_its_own_values_back(t):
    t.install_crds()
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise"}, store="kube")
    webhook.configure(namespace)
    t.create_profile(profile(namespace))
    t.create_profile(history_of(namespace))
    reader = somebody(t, namespace, may("memoryprofiles", "get", "list"), may("memoryhistories", "get", "list"))
    editor = somebody(t, namespace, may("memoryprofiles", "get", "list", "patch"),
                      may("memoryhistories", "get", "list"))
    workload = ("-n", namespace, "Job/train")

    def sized():
        return memory(create(t, job_pod("small"), namespace))

    wait_for(lambda: sized() == ("8Gi", "12Gi"), "the profile to be known")
    told = kubectl_memtamer(t, "undo", *workload, kubeconfig=reader, status=3).err
    assert f"not allowed to patch memoryprofiles.memtamer.io in namespace {namespace}" in told, told
    assert sized() == ("8Gi", "12Gi"), "nothing was changed"
    said = kubectl_memtamer(t, "undo", *workload, kubeconfig=editor).out
    assert f"undo --release -n {namespace} Job/train" in said, said
    wait_for(lambda: sized() == ("4Gi", "6Gi"), "the undo to be known to the webhook")
    assert "was undone before" in kubectl_memtamer(t, "undo", *workload, kubeconfig=editor).out
    changes = json.loads(kubectl_memtamer(t, "history", "-o", "json", *workload, kubeconfig=reader).out)["changes"]
    assert [(c["owner"], c["limitFrom"], c["limitTo"]) for c in changes] == [("Job/train-7", 6 << 30, 12 << 30)], changes
    explained = kubectl_memtamer(t, "explain", *workload, kubeconfig=reader).out
    assert "capped at observe" in explained and "6Gi -> 12Gi" in explained, explained
    there = t.get("memoryprofiles.memtamer.io/v1alpha1", "train-0123456789", namespace)
    assert there["spec"] == {"modeCap": "observe"} and there["status"]["recommendation"]["limit"] == "12Gi", there
    kubectl_memtamer(t, "undo", "--release", *workload, kubeconfig=editor)
    wait_for(lambda: sized() == ("8Gi", "12Gi"), "the release to be known to the webhook")
    nobody = somebody(t, namespace)
    told = kubectl_memtamer(t, "status", "-n", namespace, kubeconfig=nobody, status=3).err
    assert "not allowed to list memoryprofiles.memtamer.io" in told, told
    status = json.loads(kubectl_memtamer(t, "status", "-n", namespace, "-o", "json", kubeconfig=reader, status=1).out)
    assert status["lastCycle"] is None and "memtamer-status" in status["lastCycleUnknown"], status
    return "undo by a patch of spec.modeCap alone, obeyed by the webhook, released; history and missing rights in words"


def test_status_of_a_new_installation(t):
    own, prometheus, name = t.namespace(), trained_prometheus(t), t.unique("a0-memtamer")
    webhook = t.webhook()
    mutating = configurations.lead_to(configurations.rendered(namespace=own)[0], webhook, [own], name)
    service = Service(t, own, prometheus.url, probe="1s",
                      more={"mode": "observe", "webhook": {"configurations": {"mutating": name}}})

    def record():
        there = t.get("configmaps", "memtamer-status", own)
        return json.loads(there["data"]["status.json"]) if there else {}

    wait_for(lambda: record().get("webhook") == "not-configured", "a cycle to say that there is no webhook")
    status = json.loads(kubectl_memtamer(t, "status", "--memtamer-namespace", own, "-o", "json", status=1).out)
    assert status["webhook"] == "not-configured" and status["lastCycle"]["mode"] == "observe", status
    configurations.install(t, mutating)
    wait_for(lambda: record().get("webhook") == "reached", "a cycle to say that the webhook is reached")

    def stays():
        """Through three cycles; the objects of tests before this one may still be going, which is news."""
        before, cycles = record(), service.metric("memtamer_cycles_total")
        service.wait_metric("memtamer_cycles_total", lambda n: n > cycles + 3)
        return record()["time"] == before["time"]
    wait_for(stays, "what says nothing new not to be written")
    here = kubectl_memtamer(t, "status", "--memtamer-namespace", own).out
    for words in ("Last cycle  done", "Webhook     reached", "Coverage", "Replay", "ml-team"):
        assert words in here, here
    asked = harness.run("memtamer-recommender", "status", "--config", service.config_path, "-o", "json")
    assert asked.returncode == 0, asked.stderr
    status = json.loads(asked.stdout)
    assert status["metrics"]["source"] == "prometheus" and status["workloads"] >= 8, status
    replay = status["replay"]
    assert replay["runs"] > 0 and replay["fill"] + sum(replay["undecided"].values()) > 0, replay
    return (f"one cycle in observe: {status['coverage']['podHours']:.1f} pod-hours, replay of {replay['runs']} runs; "
            "webhook not configured, then reached; the record is written when it says something new")


def log_in(t, name, user):
    """A kubeconfig for the cluster with this user."""
    path = t.kubeconfig(name=name)
    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    config["users"][0]["user"] = user
    return write_yaml(path, config)


def plugin(t, name, script):
    """A user of a credential plugin that is this shell script."""
    harness.write_atomic(t.path(name), "#!/bin/sh\n" + script)
    os.chmod(t.path(name), 0o700)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": t.path(name)}}


def runs_of(path):
    """Command lines of processes that name this file."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                line = file.read().replace("\0", " ")
        except OSError:
            continue
        if path in line:
            found.append(line)
    return found


@parallel
def test_logins(t):
    t.install_crds()
    namespace, token = t.namespace(), t.cluster.token
    t.create_profile(profile(namespace))
    harness.write_atomic(t.path("own-token"), token)
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token}}
    certificate = os.path.join(os.path.dirname(os.environ["KUBECONFIG"]), "config/apiserver-kubelet-client")
    users = {
        "token": {"token": token},
        "token-file": {"tokenFile": t.path("own-token")},
        "certificate": {"client-certificate": certificate + ".crt", "client-key": certificate + ".key"},
        "plugin": plugin(t, "give-token", f"echo '{json.dumps(credential)}'\n"),
        "impersonation": {"token": token, "as": "somebody", "as-groups": ["system:masters"]},
    }
    for name, user in users.items():
        path = log_in(t, name, user)
        done = harness.run("memtamer-recommender", "explain", "--kubeconfig", path, "-n", namespace, "Job/train")
        assert done.returncode == 0 and "12Gi" in done.stdout and not done.stderr, f"{name}: {done}"
        assert not runs_of(path), f"{name}: {runs_of(path)}"
    refused = {
        "wrong-token": ({"token": "nobody"}, "unauthorized"),
        "failing-plugin": (plugin(t, "fail", "echo 'your login has expired' >&2; exit 7\n"), "your login has expired"),
        "missing-plugin": ({"exec": {**plugin(t, "gone", "")["exec"], "command": "/nonexistent/login"}}, "/nonexistent/login"),
        "missing-certificate": ({"client-certificate": t.path("none"), "client-key": t.path("none")}, t.path("none")),
    }
    for name, (user, words) in refused.items():
        path = log_in(t, name, user)
        done = harness.run("memtamer-recommender", "explain", "--kubeconfig", path, "-n", namespace, "Job/train")
        assert done.returncode in (2, 3) and words in done.stderr and done.stderr.count("\n") == 1, f"{name}: {done}"
        assert not runs_of(path), f"{name}: {runs_of(path)}"
    return f"{len(users)} kinds of login, and {len(refused)} that fail in the words of kubectl; nothing is left of kubectl"
