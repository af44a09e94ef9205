# SPDX-License-Identifier: Apache-2.0
"""What tests ask of the optional services of the cluster (kit.needs): Kueue's queues and Workloads, the
VerticalPodAutoscaler's recommendations, and the objects of JobSet and the training-operator.

	queue = Queue(t, namespace, {"cpu": "8", "memory": "1Gi"})      a queue with that quota, which ends with the test
	job["metadata"]["labels"] = queue.labels                        to have a Job, JobSet, PyTorchJob or pod queued
	queue.workload_of("Job", name)                                  what Kueue made of it, with its conditions
	condition(thing, "Admitted")                                    the condition of that type, {} without one
	autoscaler(t, namespace, ("batch/v1", "Job", name), {"memory": "256Mi"})
	job(...), jobset(...), pytorchjob(...)                          objects that run tests/cluster/actor.c"""
import kit

QUEUES = "kueue.x-k8s.io/v1beta2"
AUTOSCALERS = "verticalpodautoscalers.autoscaling.k8s.io/v1"


def condition(thing, kind):
    """The condition of that type, {} without one; `thing` may be None."""
    for one in (thing or {}).get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return one
    return {}


class Queue:
    """A LocalQueue of `namespace`, and a ClusterQueue of its own that covers the resources of `quota`."""

    def __init__(self, t, namespace, quota, name="team"):
        self.t, self.namespace, self.name = t, namespace, name
        self.labels = {"kueue.x-k8s.io/queue-name": name}
        own = t.unique(name)  # ClusterQueues and ResourceFlavors have no namespace
        resources = [{"name": resource, "nominalQuota": amount} for resource, amount in quota.items()]
        group = {"coveredResources": list(quota), "flavors": [{"name": own, "resources": resources}]}
        t.apply([
            {"apiVersion": QUEUES, "kind": "ResourceFlavor", "metadata": {"name": own}},
            {"apiVersion": QUEUES, "kind": "ClusterQueue", "metadata": {"name": own},
             "spec": {"namespaceSelector": {}, "resourceGroups": [group]}},
            {"apiVersion": QUEUES, "kind": "LocalQueue", "metadata": {"name": name, "namespace": namespace},
             "spec": {"clusterQueue": own}}])
        t.at_end(t.cluster.delete, f"/apis/{QUEUES}/resourceflavors/{own}")
        t.at_end(t.cluster.delete, f"/apis/{QUEUES}/clusterqueues/{own}")
        kit.wait_for(lambda: condition(t.get(f"localqueues.{QUEUES}", name, namespace), "Active").get("status") == "True",
                     f"LocalQueue {name} to be active")

    def workload_of(self, kind, name):
        """The Workload of that object, or None."""
        for workload in self.t.get(f"workloads.{QUEUES}", namespace=self.namespace):
            if any((owner["kind"], owner["name"]) == (kind, name) for owner in workload["metadata"]["ownerReferences"]):
                return workload
        return None


def autoscaler(t, namespace, target, requests, container="trainer", mode="Initial", policies=()):
    """A VerticalPodAutoscaler of `target` (API version, kind, name) that recommends these requests, as its recommender
    would have written them; `policies` are its container policies."""
    version, kind, name = target
    t.create({"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": name},
              "spec": {"targetRef": {"apiVersion": version, "kind": kind, "name": name},
                       "updatePolicy": {"updateMode": mode},
                       "resourcePolicy": {"containerPolicies": list(policies)}}}, namespace)
    recommended = {"containerName": container, **{key: requests for key in ("target", "lowerBound", "upperBound")}}
    t.cluster.patch(t.object_path(AUTOSCALERS, name, namespace) + "/status",
                    {"status": {"recommendation": {"containerRecommendations": [recommended]}}})


def pod_spec(args, requests, container="trainer"):
    """Of a pod that runs tests/cluster/actor.c with these arguments."""
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": container, "image": "memtamer.test/actor:1", "args": list(args),
                            "resources": {"requests": requests}}]}


def job(name, args, requests, count=1, labels=None, suspend=False):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"parallelism": count, "completions": count, "backoffLimit": 0, "suspend": suspend,
                     "template": {"spec": pod_spec(args, requests)}}}


def pod_of_job(made):
    """The pod that the job controller would make of a Job that the API server has, for dry runs."""
    meta, template = made["metadata"], made["spec"]["template"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"], "controller": True}
    return {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {"generateName": meta["name"] + "-", "labels": template["metadata"]["labels"],
                         "ownerReferences": [owner]}}


def jobset(name, args, requests, count=1, labels=None):
    """One with one replicated Job, "workers"."""
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"network": {"enableDNSHostnames": False},
                     "replicatedJobs": [{"name": "workers", "replicas": 1,
                                         "template": {"spec": job(name, args, requests, count)["spec"]}}]}}


def pytorchjob(name, args, requests, workers=1, labels=None):
    """One with a master and so many workers."""
    template = {"spec": pod_spec(args, requests, "pytorch")}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"pytorchReplicaSpecs": {role: {"replicas": count, "restartPolicy": "Never", "template": template}
                                             for role, count in (("Master", 1), ("Worker", workers))}}}
