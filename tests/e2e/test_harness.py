# SPDX-License-Identifier: Apache-2.0
"""What the other tests rely on."""
import harness
from kit import parallel, wait_for

ACTOR = "memtamer.test/actor:1"


def actor_pod(name, *args):
    """A pod that really runs: tests/cluster/actor.c says what it can do."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "actor", "image": ACTOR, "args": list(args)}]}}


@parallel
def test_a_pod_runs(t):
    namespace = t.namespace()
    assert t.apply(actor_pod("says", "say", "hello"), namespace).out == "pod/says created\n"
    wait_for(lambda: t.get("pods", "says", namespace)["status"].get("phase") == "Succeeded", "the pod to succeed")
    assert t.kubectl("logs", "says", namespace=namespace).out == "hello\n"
    t.delete("pods", "says", namespace)
    assert t.get("pods", "none", namespace) is None and t.get("pods", namespace=namespace) == []
    return "a pod was applied, ran to its end on the real kubelet and was deleted"


@parallel
def test_the_api_server_calls_the_webhook(t):
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "fill"})
    webhook.configure(namespace)
    done = t.create(harness.training_pod("train", namespace), namespace, "-o", "json")
    assert done.warnings and all(line.startswith("memtamer: ") for line in done.warnings), done
    pod = t.get("pods", "train", namespace)
    assert "memory" in pod["spec"]["containers"][0]["resources"]["requests"], pod
    assert "memtamer.io/workload-id" in pod["metadata"]["labels"], pod
    assert webhook.metric("memtamer_admission_requests_total", result="patched") >= 1
    return f"a pod was patched on its way into etcd; kubectl printed {len(done.warnings)} warnings"


@parallel
def test_a_kubeconfig_of_a_service_account(t):
    namespace = t.namespace()
    path = t.kubeconfig("default", namespace)
    refused = t.kubectl("get", "pods", namespace=namespace, kubeconfig=path, check=False)
    assert refused.status == 1 and f"system:serviceaccount:{namespace}:default" in refused.err, refused
    return "programs can be run with the rights of a ServiceAccount"
