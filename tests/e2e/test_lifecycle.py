# SPDX-License-Identifier: Apache-2.0
"""The life of an installation: helm install, the first pods, NOTES, helm test, helm upgrade, helm uninstall."""
import os
import re
import shutil
import subprocess

import yaml

import configurations
import harness
from kit import TOP, wait_for
from release import Release, accelerators
from state_metrics import StateMetrics

DECISION = "memtamer.io/decision"
RUNS, MOST_RUNS = 3, 6  # submitted at first, and in all until three of them are complete
CRDS = {f"customresourcedefinition.apiextensions.k8s.io/{name}.memtamer.io"
        for name in ("memoryprofiles", "memoryhistories", "nodeshapes")}


def everything(t):
    """{"NAMESPACE KIND/NAME"} of all that can be listed."""
    kinds = t.kubectl("api-resources", "--verbs=list", "-o", "name").out.split()
    listed = t.kubectl("get", ",".join(kind for kind in kinds if not kind.startswith("events")), "--all-namespaces",
                       "--ignore-not-found", "-o", "custom-columns=N:.metadata.namespace,G:.apiVersion,K:.kind,M:.metadata.name",
                       "--no-headers").out
    return {" ".join(line.split()) for line in listed.splitlines()}


def labelled(t):
    """Objects that say that they are part of memtamer."""
    kinds = t.kubectl("api-resources", "--verbs=list", "-o", "name").out.split()
    return set(t.kubectl("get", ",".join(kinds), "--all-namespaces", "--ignore-not-found", "-o", "name",
                         "-l", "app.kubernetes.io/name=memtamer").out.split())


def training_job(name):
    """One that really runs: a minute, because a complete run needs three samples, and the kubelet takes one in 10 to 15
    seconds."""
    container = {"name": "trainer", "image": "memtamer.test/actor:1", "args": ["eat", str(100 << 20), "60"],
                 "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}


def succeeded(t, namespace, count):
    return [pod["status"].get("phase") for pod in t.get("pods", namespace=namespace)] == ["Succeeded"] * count


def limit_now(t, namespace):
    """What a run would get that is submitted now."""
    pod = harness.job_pod("net-train-9", namespace)
    pod["spec"]["containers"] = training_job("net-train-9")["spec"]["template"]["spec"]["containers"]
    made = t.cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod).body
    return made["spec"]["containers"][0]["resources"]["limits"].get("memory")


def check_learned(t, namespace):
    """From real runs to the size of the next one; nobody else wrote these objects. A run that a slow machine did not measure
    from its start is not complete, so another one is submitted when all ends are learned and three complete ones are not
    among them. The recommendation may change while ends are learned."""
    submitted = RUNS

    def counts():
        nonlocal submitted
        found = (t.get("memoryprofiles.memtamer.io/v1alpha1", namespace=namespace) or [{}])[0]
        known = found.get("status", {}).get("recommendation", {})
        if known.get("runs") == submitted < MOST_RUNS and known.get("wholeRuns", 0) < 3 and succeeded(t, namespace, submitted):
            t.apply(training_job(f"net-train-{100 + submitted}"), namespace)
            submitted += 1
        assert known.get("runs") == submitted and known.get("wholeRuns", 0) >= 3, known
        now = limit_now(t, namespace)
        assert now == known["limit"], (now, known)
        return found
    known = wait_for(counts, "a MemoryProfile of three complete runs that counts for new runs", patience=900)
    assert known["status"]["workload"] == "Job/net-train", known
    assert t.get("memoryhistories.memtamer.io/v1alpha1", known["metadata"]["name"], namespace), "no MemoryHistory"
    assert any(one["spec"].get("accelerators") == 8 for one in t.get("nodeshapes.memtamer.io/v1alpha1")), "no NodeShape"
    t.apply(training_job("net-train-8"), namespace)

    def sized():
        for pod in t.get("pods", namespace=namespace):
            if pod["metadata"]["name"].startswith("net-train-8-"):
                return pod["spec"]["containers"][0]["resources"].get("limits", {}).get("memory") or "none"
        return None
    limit = wait_for(sized, "the next run's pod")
    assert limit == known["status"]["recommendation"]["limit"], (limit, known)
    return limit


def create_pod(t, namespace, name=None):
    """A training pod that nobody runs, created; None while it is not patched."""
    pod = harness.training_pod(name or t.unique("train"), namespace)
    pod["spec"]["schedulerName"] = "memtamer.test/none"
    made = t.cluster.create(f"/api/v1/namespaces/{namespace}/pods", pod).body
    return made if DECISION in made["metadata"].get("annotations", {}) else None


def wait_patched(t, namespace):
    return wait_for(lambda: create_pod(t, namespace), "a new pod to be patched")


def run_note(t, release, line):
    """A command that NOTES print, typed as it stands there. helm and kubectl find the cluster as a user's do."""
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=t.folder,
                          timeout=180, env={**os.environ, "HELM_CACHE_HOME": release.home.name,
                                            "HELM_DATA_HOME": release.home.name, "HELM_CONFIG_HOME": release.home.name})


def check_notes(t, release, notes):
    commands = re.findall(r"^     ((?:kubectl|helm) .*)$", notes, re.MULTILINE)
    assert len(commands) == 3, notes
    said = []
    for command in commands:
        done = run_note(t, release, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        said.append(done)
    assert said[0].stdout, "the recommender's log is empty"
    assert "Succeeded" in said[1].stdout, said[1].stdout
    assert "Warning: memtamer: " in said[2].stderr, said[2].stderr
    return commands


def test_install_upgrade_uninstall(t):
    accelerators(t, 8)
    namespace, learns = t.namespace(), t.namespace()
    shutil.copy(os.path.join(TOP, "demo/manifests/job-nothing-set.yaml"), t.path("job.yaml"))
    with open(t.path("job.yaml"), encoding="utf-8") as file:
        named = yaml.safe_load(file)["metadata"]["namespace"]
    t.namespace(name=named)
    # Left by other tests, where this one runs again after them.
    t.kubectl("delete", "--ignore-not-found", *sorted(CRDS))
    before, wears = everything(t), labelled(t)
    assert not wears, wears
    StateMetrics(t)
    t.apply([training_job(f"net-train-{number}") for number in range(RUNS)], learns)
    release = Release(t, {"config": {"mode": "observe"}, **configurations.PATIENT})
    notes = release.install().stdout

    first = wait_patched(t, namespace)
    assert "memory" not in first["spec"]["containers"][0]["resources"].get("requests", {}), "mode observe changes nothing"
    check_notes(t, release, notes)

    release.upgrade({"config": {"mode": "fill"}})

    def filled():
        pod = create_pod(t, namespace)
        return pod and "memory" in pod["spec"]["containers"][0]["resources"].get("requests", {})
    wait_for(filled, "the new mode to be in effect")
    wait_for(lambda: succeeded(t, learns, RUNS), "the runs of a Job", patience=180)
    limit = check_learned(t, learns)
    assert f"memtamer {release.namespace} 2 " in " ".join(release.helm("list", "--no-headers").stdout.split())

    release.uninstall()
    assert create_pod(t, namespace) is None, "who patched this pod?"
    left = expect_nothing_left(t, before, (namespace, learns), kept=True)

    # Once more, and this time nothing is to stay.
    release = Release(t, {"crds": {"keep": False}, **configurations.PATIENT})
    release.install()
    wait_patched(t, namespace)
    release.uninstall()
    expect_nothing_left(t, before, (namespace, learns), kept=False)
    return ("helm install, a patched pod, the three commands of NOTES with helm test, helm upgrade to another mode; "
            f"three real runs of a Job set the limit of its fourth to {limit}; helm uninstall: left were {left} CRDs with their objects and two Leases; with crds.keep=false the Leases alone")


def expect_nothing_left(t, before, namespaces, kept):
    """Returns the number of CRDs that are left."""
    def left():
        found = set()
        for line in everything(t) - before:
            where, group, kind, name = line.split(None, 3)
            # Pods of ours; the namespace that helm made, with what every namespace has; what passes by itself.
            if where in namespaces or (kind, name) == ("Namespace", "memtamer") or kind == "Event":
                continue
            if where == "memtamer" and (kind, name) in (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")):
                continue
            # Made by the programs, not by the chart.
            if where == "memtamer" and kind == "Lease" and name in ("memtamer-recommender", "memtamer-webhook-tls"):
                continue
            # The API server's own entry for the group of the CRDs.
            if kept and (group.startswith("memtamer.io/") or name.endswith(".memtamer.io")
                         and kind in ("CustomResourceDefinition", "APIService")):
                continue
            found.add(line)
        return found
    try:
        wait_for(lambda: not left(), "everything to be gone")
    except AssertionError:
        raise AssertionError("left behind:\n" + "\n".join(sorted(left()))) from None
    crds = {name for name in t.kubectl("get", "crd", "-o", "name").out.split() if name.endswith(".memtamer.io")}
    assert crds == (CRDS if kept else set()), crds
    wears = {name for name in labelled(t) if not (kept and ("memtamer.io/" in name or name in CRDS))}
    assert not wears, wears
    return len(crds)
