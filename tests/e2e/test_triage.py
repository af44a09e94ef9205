# SPDX-License-Identifier: Apache-2.0
"""`kubectl memtamer triage` on what a real kubelet and a real kernel leave behind: a container and a child that were
OOM-killed, an eviction for ephemeral storage, and a rank that died while the other one waits."""
import json

from kit import parallel, wait_for
from test_commands import kubectl_memtamer, somebody
from test_pods import ACTOR, ended, job, pods_of

# The image has one program; a shell comes from the node.
SHELL = ["/host/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "--library-path", "/host/usr/lib/x86_64-linux-gnu",
         "/host/bin/sh", "-c"]
LOOK = [{"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}]


def shell_pod(name, script, **limits):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
        "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
        "containers": [{"name": "trainer", "image": ACTOR, "command": [*SHELL, script], "resources": {"limits": limits},
                        "volumeMounts": [{"name": "host", "mountPath": "/host", "readOnly": True}]}]}}


def triage(t, kubeconfig, *args):
    return json.loads(kubectl_memtamer(t, "triage", "-o", "json", *args, kubeconfig=kubeconfig).out)


def wait_ended(t, name, namespace):
    return wait_for(lambda: t.get("pods", name, namespace)["status"]["phase"] in ("Failed", "Succeeded"), f"the end of {name}")


@parallel
def test_ends_that_are_real(t):
    namespace = t.namespace()
    reader = somebody(t, namespace, *LOOK)
    nobody = somebody(t, namespace)

    t.apply([job("killed", "eat", 128 << 20, 60, backoffLimit=0)], namespace)
    wait_for(lambda: (pods_of(t, "killed", namespace) or [{}])[0].get("status", {}).get("phase") == "Failed", "the kill")
    for asked in ("job/killed", "killed", pods_of(t, "killed", namespace)[0]["metadata"]["name"]):
        answer = triage(t, reader, "-n", namespace, asked)
        assert (answer["rule"], answer["figures"]["limit_bytes"]) == ("oomkilled", 64 << 20), answer
        assert answer["evidence"][0]["source"].startswith("pod/killed-"), answer
        assert any(text.startswith("Nothing is known of node") for text in answer["unseen"]), answer
    told = kubectl_memtamer(t, "triage", "-n", namespace, "job/killed", kubeconfig=nobody, status=3).err
    assert "pods is forbidden" in told or "not allowed to list pods" in told, told

    script = ("/actor eat 134217728 60 & wait $!; "
              "echo \"RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. ($?)\"; exit 1")
    t.apply([shell_pod("child", script, memory="64Mi")], namespace)
    wait_ended(t, "child", namespace)
    answer = triage(t, reader, "-n", namespace, "child")
    state = ended(t.get("pods", "child", namespace))
    assert answer["kind"] == "container-limit" and answer["figures"]["limit_bytes"] == 64 << 20, (answer, state)
    assert answer["rule"] == ("oomkilled" if state["reason"] == "OOMKilled" else "hidden-kill"), (answer, state)
    assert state["exitCode"] == 137 or answer["cause"] == "child-killed", (answer, state)
    assert state["exitCode"] == 137 or any("DataLoader" in one["text"] for one in answer["evidence"]), answer

    script = f"i=0; while [ $i -lt 30000 ]; do echo {'x' * 1000}; i=$((i+1)); done; exec /actor pause"  # 30 MB of log
    t.apply([shell_pod("writer", script, memory="64Mi", **{"ephemeral-storage": "10Mi"})], namespace)
    # The program ends with 0 on SIGTERM, so that the pod says Succeeded: only the event tells.
    wait_for(lambda: [one for one in t.get("events", namespace=namespace)
                      if (one["reason"], one["involvedObject"]["name"]) == ("Evicted", "writer")], "the eviction")
    wait_ended(t, "writer", namespace)
    evicted = triage(t, reader, "-n", namespace, "pod/writer")
    assert (evicted["rule"], evicted["figures"]["limit_bytes"]) == ("evicted-storage", 10 << 20), evicted
    assert evicted["evidence"][0]["source"] == "event", evicted
    return f"a container, a child ({answer['rule']}, exit code {state['exitCode']}) and an eviction, with a reader's rights"


@parallel
def test_a_gang_that_hangs(t):
    namespace = t.namespace()
    gang = job("gang", "pause", parallelism=2, completions=2, completionMode="Indexed", backoffLimit=0,
               backoffLimitPerIndex=0, maxFailedIndexes=1)
    del gang["spec"]["backoffLimit"]
    trainer = gang["spec"]["template"]["spec"]["containers"][0]
    gang["spec"]["template"]["spec"]["volumes"] = [{"name": "host", "hostPath": {"path": "/"}}]
    trainer["volumeMounts"] = [{"name": "host", "mountPath": "/host", "readOnly": True}]
    trainer.pop("args")
    trainer["command"] = [*SHELL, "[ $JOB_COMPLETION_INDEX = 0 ] && exec /actor pause; exec /actor eat 134217728 60"]
    t.apply([gang], namespace)
    wait_for(lambda: sorted(pod["status"]["phase"] for pod in pods_of(t, "gang", namespace)) == ["Failed", "Running"],
             "one rank dead and one waiting")
    answer = triage(t, None, "-n", namespace, "job/gang")
    assert (answer["kind"], answer["rank"]) == ("container-limit", 1), answer
    assert f"kubectl patch job/gang -n {namespace}" in answer["next"][0] and "gang-hung" in answer["next"][0], answer
    assert not any("node" in text for text in answer["unseen"]), answer
    t.kubectl("patch", "job/gang", "--type=merge", "-p", '{"spec":{"suspend":true}}', namespace=namespace)
    wait_for(lambda: not any(pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
                             for pod in pods_of(t, "gang", namespace)), "the other rank to be let go")
    return "rank 1 named, and the printed command let the other rank go"
