# SPDX-License-Identifier: Apache-2.0
"""The optional services of the cluster work: what tests of memtamer beside them rely on."""
import neighbours
from kit import needs, parallel, wait_for
from neighbours import condition

CPU = {"cpu": "100m"}


@needs("jobset")
@parallel
def test_a_jobset_runs(t):
    namespace = t.namespace()
    t.create(neighbours.jobset("train", ["say", "hello"], CPU, count=2), namespace)
    jobset = wait_for(lambda: condition(t.get("jobsets.jobset.x-k8s.io/v1alpha2", "train", namespace), "Completed"),
                      "the JobSet to complete")
    pods = [pod["metadata"]["name"] for pod in t.get("pods", namespace=namespace)]
    assert len(pods) == 2, pods
    return f"a JobSet's two pods ran: {jobset['message']}"


@needs("training-operator")
@parallel
def test_a_pytorchjob_runs(t):
    namespace = t.namespace()
    t.create(neighbours.pytorchjob("train", ["say", "hello"], CPU, workers=2), namespace)
    wait_for(lambda: condition(t.get("pytorchjobs.kubeflow.org/v1", "train", namespace), "Succeeded").get("status") == "True",
             "the PyTorchJob to succeed")
    said = [t.kubectl("logs", name, "-c", "pytorch", namespace=namespace).out
            for name in ("train-master-0", "train-worker-0", "train-worker-1")]
    assert said == ["hello\n"] * 3, said
    return "a PyTorchJob's master and two workers ran"
