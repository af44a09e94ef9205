# SPDX-License-Identifier: Apache-2.0
"""What the API server's own audit log says about us: the annotations it takes from our answers, and its own."""
import copy
import json
import os

import harness
from kit import Skip, parallel, wait_for
from workloads import HISTORY, WORKLOADS


def audit_log():
    return os.path.join(os.environ["MEMTAMER_CLUSTER"], "logs/audit.log")


def events(namespace, resource):
    """Audit events of requests for that resource in that namespace, oldest first."""
    with open(audit_log(), encoding="utf-8") as file:
        found = [json.loads(line) for line in file if f'"{namespace}"' in line and line.endswith("\n")]
    return [event for event in found if event["objectRef"].get("resource") == resource
            and event["objectRef"].get("namespace") == namespace and "subresource" not in event["objectRef"]]


@parallel
def test_annotations(t):
    if not os.path.exists(audit_log()):
        raise Skip("this cluster came up without MEMTAMER_CLUSTER_AUDIT=tests/e2e/audit.yaml")
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise"}, objects=[
        harness.profile("train-0123456789", "Job/train", namespace, **HISTORY)])
    webhook.configure(namespace)
    path = f"/api/v1/namespaces/{namespace}/pods"

    def made(pod, **query):
        """Annotations of the audit event of its creation."""
        count = len(events(namespace, "pods"))
        t.cluster.create(path, pod, **query)
        found = wait_for(lambda: events(namespace, "pods")[count:], "the audit event")
        return found[0]["annotations"]
    sized = made(harness.job_pod("train", namespace, {"requests": {"memory": "4Gi"},
                                                      "limits": {"memory": "6Gi", "nvidia.com/gpu": "1"}}))
    assert sized["pods.memtamer.io/decision"] == "raise: 2 sizes, 3 findings, workload train-0123456789", sized
    rounds = [json.loads(value) for key, value in sized.items()
              if key.startswith("mutation.webhook.admission.k8s.io/round_0")]
    ours = [one for one in rounds if one["webhook"] == "pods.memtamer.io"]
    assert [one["mutated"] for one in ours] == [True], sized
    plain = harness.training_pod("web", namespace)
    plain["spec"]["containers"][0]["resources"] = {}
    skipped = made(plain)
    assert skipped["pods.memtamer.io/skip"] == "no-sign", skipped
    dry = made(harness.job_pod("train", namespace), dry_run=True)
    assert dry["pods.memtamer.io/decision"].startswith("raise: "), dry
    # The log line of ours about the same pod.
    line = webhook.wait_log(r"pod patched.*workload=train-0123456789.*dry_run=false.*")
    assert f"namespace={namespace}" in line.group(0) and '\\"to\\":\\"12Gi\\"' in line.group(0), line.group(0)
    # Objects that make pods.
    job = copy.deepcopy(WORKLOADS["job"][0])
    job["spec"]["suspend"] = True
    t.cluster.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", job)
    said = wait_for(lambda: events(namespace, "jobs"), "the audit event of the Job")[0]["annotations"]
    assert said["workloads.memtamer.io/decision"] == "raise: 1 template, 2 findings", said
    # Fail open: the API server says so itself.
    webhook.kill()
    opened = made(harness.job_pod("train", namespace))
    failed = [value for key, value in opened.items() if key.startswith("failed-open.mutation.webhook.admission.k8s.io/")]
    assert failed == ["pods.memtamer.io"], opened
    return f"the API server's audit log has our annotations: {sized['pods.memtamer.io/decision']!r}; and its own fail-open"
