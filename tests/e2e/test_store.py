# SPDX-License-Identifier: Apache-2.0
"""Profiles and histories in the cluster: written by one cycle, left alone by the next, read by the commands, never
against people's word."""
import json
import os
import subprocess

import harness
import objects
from objects import HISTORIES, PROFILES
from programs import TOP, write_yaml
from release import script
from test_recommender_service import TRAINED, trained_prometheus

WRITES = ("POST", "PUT", "PATCH", "DELETE")
JOB = {
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "vit-train-20261123", "namespace": TRAINED},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{
        "name": "trainer", "image": "registry.example.com/ml/vit-train:1",
        "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "128Mi"}, "requests": {"memory": "128Mi"}}}]}}}}


def writes(t):
    """How many requests that write one of our objects the API server has answered. Not those for all of a namespace
    (scope "namespace"), as the controller sends when the namespace of an earlier test goes."""
    return sum(t.cluster.metric("apiserver_request_total", resource=plural, verb=verb, scope="resource")
               for plural in ("memoryprofiles", "memoryhistories", "nodeshapes") for verb in WRITES)


def collector(t, own):
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in t.get("configmaps", namespace=own)
            if one["metadata"]["name"].startswith("memtamer-collector")}


def configure(t, own, prometheus):
    path = t.path("config.yaml")
    write_yaml(path, {"apiVersion": "config.memtamer.io/v1alpha1", "store": {"kind": "kube"},
                      "namespaces": {"own": own}, "prometheus": {"url": prometheus.url}})
    return path


def run_once(config, want=0):
    done = harness.run("memtamer-recommender", "run", "--once", "--config", config)
    assert done.returncode == want, f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def learn(t):
    """A namespace of ours, the configuration, and all trainings learned once."""
    objects.install(t)
    own, prometheus = t.namespace(), trained_prometheus(t)
    config = configure(t, own, prometheus)
    run_once(config)
    return own, config


def as_developer(t, *resources):
    """A kubeconfig of somebody who may read these resources of ours in the trainings' namespace, and nothing else."""
    name = t.unique("dev")
    meta = {"name": name, "namespace": TRAINED}
    group = "rbac.authorization.k8s.io"
    t.apply([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
             {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta,
              "rules": [{"apiGroups": ["memtamer.io"], "resources": list(resources), "verbs": ["get", "list"]}]},
             {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": meta,
              "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
              "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": TRAINED}]}])
    return t.kubeconfig(name, TRAINED, name=f"{name}.kubeconfig")


def test_a_second_cycle_writes_nothing(t):
    own, config = learn(t)
    profiles = {one["metadata"]["name"]: one for one in t.get(PROFILES, namespace=TRAINED)}
    histories = {one["metadata"]["name"] for one in t.get(HISTORIES, namespace=TRAINED)}
    assert len(profiles) == 8 and set(profiles) == histories, (set(profiles), histories)
    assert all(one["status"]["recommendation"]["limit"] for one in profiles.values()), profiles
    state, before = collector(t, own), writes(t)
    assert before >= 16, f"{before} writes of 8 profiles and 8 histories"
    assert list(state) == ["memtamer-collector"], state
    for _ in range(2):
        run_once(config)
    assert writes(t) == before, f"{writes(t) - before} requests to write"
    assert collector(t, own) == state
    sizes = sorted(len(json.dumps(one, separators=(",", ":"))) for one in profiles.values())
    return (f"8 workloads learned in {int(before)} writes since the server's start; two more cycles wrote nothing; a "
            f"profile as served has {sizes[0]} to {sizes[-1]} bytes, managedFields included")


def test_people_are_not_overwritten(t):
    _, config = learn(t)
    name, learned = next((one["metadata"]["name"], one["status"]["recommendation"]["limit"])
                         for one in t.get(PROFILES, namespace=TRAINED)
                         if one["status"]["workload"] == "Job/resnet-train")
    t.kubectl("patch", "mprof", name, "--type=merge", "-p",
              '{"metadata":{"labels":{"team":"vision"}},"spec":{"pinLimit":"3Gi"}}', namespace=TRAINED)
    t.kubectl("label", "memoryhistory", name, "team=vision", namespace=TRAINED)
    run_once(config)
    profile, history = (t.get(kind, name, TRAINED) for kind in (PROFILES, HISTORIES))
    assert profile["spec"] == {"pinLimit": "3Gi"} and profile["metadata"]["labels"] == {"team": "vision"}, profile
    assert profile["status"]["recommendation"]["limit"] == learned, profile["status"]
    assert history["metadata"]["labels"] == {"team": "vision"}, history["metadata"]
    explained = harness.run("memtamer-recommender", "explain", "--config", config, "-n", TRAINED, "Job/resnet-train").stdout
    assert "limit       3Gi       pinned by spec.pinLimit; learned " in explained, explained
    # What nobody can read is told and left; the others go on.
    t.kubectl("delete", "mprof", name, namespace=TRAINED)
    done = run_once(config)
    assert t.get(PROFILES, name, TRAINED), done.stderr
    return "a pin and labels stay, what was learned stays beside the pin, a deleted profile comes back"


def write_as_release_0_1(t, history, runs=None):
    """Make the object what release 0.1 made of the same history, with only the first runs."""
    thing = harness.unpacked(history)
    thing["spec"]["runs"] = thing["spec"]["runs"][:runs]
    path = t.object_path(HISTORIES, history["metadata"]["name"], TRAINED)
    return t.cluster.call("PUT", path + "?fieldValidation=Strict", thing).body


def explain(config, workload):
    done = harness.run("memtamer-recommender", "explain", "--config", config, "-n", TRAINED, workload)
    assert done.returncode == 0, done
    return done.stdout


def test_an_upgrade_from_release_0_1_loses_nothing(t):
    own, config = learn(t)
    before = {one["metadata"]["name"]: one for one in t.get(HISTORIES, namespace=TRAINED)}
    said = {one["spec"]["workload"]: explain(config, one["spec"]["workload"]) for one in before.values()}
    old = {name: write_as_release_0_1(t, one) for name, one in before.items()}
    assert {workload: explain(config, workload) for workload in said} == said

    # Now without the last run of each: it is found in Prometheus, and added to what release 0.1 had written.
    old = {name: write_as_release_0_1(t, one, -1) for name, one in old.items()}
    damaged, *others = sorted(old)
    old[damaged]["spec"]["data"] = "v1:H4sI"
    old[damaged] = t.cluster.call("PUT", t.object_path(HISTORIES, damaged, TRAINED), old[damaged]).body
    t.delete("configmaps", "memtamer-collector", own)
    done = run_once(config)
    assert f"MemoryHistory {TRAINED}/{damaged}" in done.stderr and "spec.data: damaged" in done.stderr, done.stderr
    after = {one["metadata"]["name"]: one for one in t.get(HISTORIES, namespace=TRAINED)}
    assert after[damaged]["metadata"]["resourceVersion"] == old[damaged]["metadata"]["resourceVersion"], after[damaged]
    for name in others:
        spec, runs = after[name]["spec"], harness.unpacked(after[name])["spec"]["runs"]
        assert set(spec) <= {"workload", "role", "container", "aliases", "data", "lastDays", "lastDecisions", "runs"}, spec
        assert runs == harness.unpacked(before[name])["spec"]["runs"], (runs, before[name])
        assert spec["runs"] == [{key: runs[-1][key] for key in spec["runs"][0]}], spec

    # The way back: what is damaged is deleted, and Prometheus still knows of its runs.
    t.kubectl("delete", "mhist", damaged, namespace=TRAINED)
    t.delete("configmaps", "memtamer-collector", own)
    run_once(config)
    with open(os.path.join(TOP, "docs/OBJECTS.md"), encoding="utf-8") as file:
        command = next(line for line in file if line.startswith("kubectl get mhist NAME"))
    data = json.loads(script("bash", "-euc", command.replace("NAME", f"{damaged} -n {TRAINED}")))
    assert data["runs"] == harness.unpacked(before[damaged])["spec"]["runs"], data
    return f"{len(others)} objects of release 0.1 were read and rewritten; a damaged one was named, kept, and learned anew"


def test_commands_read_the_cluster(t):
    own, config = learn(t)
    admin = t.kubeconfig()
    manifest = t.path("job.yaml")
    write_yaml(manifest, JOB)
    developer = as_developer(t, "memoryprofiles", "memoryhistories")
    explained = 0
    for options in (["--config", config, "-A"], ["--kubeconfig", admin, "-A"], ["-A"],
                    ["--kubeconfig", developer, "-n", TRAINED]):
        done = harness.run("memtamer-recommender", "explain", *options, "Job/vit-train")
        assert done.returncode == 0 and "OOM-killed at 768Mi" in done.stdout, f"{options}: {done}"
        done = harness.run("memtamer-recommender", "report", "-o", "json", *options)
        assert done.returncode == 0, f"{options}: {done}"
        workloads = [one for one in json.loads(done.stdout)["workloads"] if one["namespace"] == TRAINED]
        assert len(workloads) == 8, done.stdout
        done = harness.run("memtamer-webhook", "review", *[one for one in options if one not in ("-n", TRAINED, "-A")], manifest)
        assert done.returncode == 1 and "is below peak" in done.stdout, f"{options}: {done}"
        explained += 1
    assert "limitranges of ml-team are not considered" in done.stderr, done.stderr
    # who may read one namespace, that of the context, reads it, and is told how if it asks for all
    done = harness.run("memtamer-recommender", "report", "-o", "json", "--kubeconfig", developer)
    assert done.returncode == 0 and {one["namespace"] for one in json.loads(done.stdout)["workloads"]} == {TRAINED}, done
    done = harness.run("memtamer-recommender", "report", "-A", "--kubeconfig", developer)
    assert done.returncode == 3 and "-n NAMESPACE" in done.stderr, done
    # rules of the namespace count in a review
    t.kubectl("label", "namespace", TRAINED, "memtamer.io/mode=observe")
    done = harness.run("memtamer-webhook", "review", manifest)
    assert "mode raise would set" in done.stdout, done
    done = harness.run("memtamer-webhook", "review", "--store", "none", manifest)
    assert "No history" in done.stdout, done
    for wrong, status in ((["--context", "nobody"], 2), (["--store", "x", "--context", "y"], 2),
                          (["--kubeconfig", t.path("none")], 2)):
        done = harness.run("memtamer-recommender", "report", *wrong)
        assert done.returncode == status and done.stderr.count("\n") == 1, done
    del own
    return f"explain, report and review read the cluster in {explained} ways, with one namespace's rights, too"


def test_without_definitions_it_says_so(t):
    """In an API server without our kinds: the path of a group that is not there. Days without runs count as read; those
    with runs are learned when the kinds are there."""
    objects.install(t)
    own, prometheus = t.namespace(), trained_prometheus(t)
    config = configure(t, own, prometheus)
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/memoryprofiles.memtamer.io"
    kept = t.cluster.get(definition)
    t.at_end(objects.apply_definitions, t.cluster, objects.definitions())
    t.delete("customresourcedefinitions.apiextensions.k8s.io/v1", kept["metadata"]["name"])
    objects.wait_for(lambda: t.cluster.get("/apis/memtamer.io/v1alpha1/memoryprofiles") is None, "the kind to be gone")
    done = run_once(config, want=3)
    assert "install memtamer's custom resource definitions" in done.stderr, done.stderr
    done = subprocess.run([harness.program("memtamer-recommender"), "report"], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "install" in done.stderr, done
    objects.apply_definitions(t.cluster, objects.definitions())
    objects.wait_for(lambda: t.cluster.get("/apis/memtamer.io/v1alpha1/memoryprofiles"), "the kind to be back")
    run_once(config)
    learned = t.get(PROFILES, namespace=TRAINED)
    assert len(learned) == 8, [one["metadata"]["name"] for one in learned]
    return "without MemoryProfiles a cycle fails, says what to install, and marks nothing as read that has runs"
