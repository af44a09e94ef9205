# SPDX-License-Identifier: Apache-2.0
"""Beside the real admission controller of VerticalPodAutoscalers: one of the two sets the memory of a container, never
both."""
import json

import harness
import neighbours
from kit import needs, parallel, wait_for
from neighbours import condition

TRAINS = {"memtamer.io/training": "true"}
OWN = ("64Mi", "128Mi")  # of the manifest: the limit is twice the request
OURS = ("256Mi", "512Mi")
THEIRS = ("96Mi", "192Mi")  # the recommended request, and a limit that is twice as large again
CPU_ONLY = {"containerName": "*", "controlledResources": ["cpu"]}


def sizes(pod):
    resources = pod["spec"]["containers"][0]["resources"]
    return resources["requests"]["memory"], resources["limits"]["memory"]


def decision(pod):
    return json.loads(pod["metadata"].get("annotations", {}).get("memtamer.io/decision", "{}"))


def job(name, suspend=True):
    made = neighbours.job(name, ["say", "hello"], {"cpu": "100m", "memory": OWN[0]}, suspend=suspend)
    template = made["spec"]["template"]
    template["metadata"] = {"labels": TRAINS}
    template["spec"]["containers"][0]["resources"]["limits"] = {"memory": OWN[1]}
    return made


def prepare(t, *names):
    """A namespace with a profile for each of these Jobs, in which memtamer raises."""
    t.install_crds()
    namespace = t.namespace()
    for name in names:
        t.create_profile(harness.profile(name, f"Job/{name}", namespace, container="trainer", request=OURS[0],
                                         limit=OURS[1], peak="400Mi", median="256Mi"))
    t.webhook(config={"mode": "raise"}, store="kube").configure(namespace)
    return namespace


def goes_like(t, namespace, name, expected, is_left):
    """The pods of a suspended Job that exists would get these sizes, and do; and memtamer says so."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    made = t.get("jobs.batch/v1", name, namespace)

    def look(pod):
        said = decision(pod)
        seen = sizes(pod), "sized-by-vpa" in said.get("find", []), bool(said.get("set"))
        assert seen == (expected, is_left, not is_left), f"{name}: {seen}"
        return True

    wait_for(lambda: look(t.cluster.create(path, neighbours.pod_of_job(made), dry_run=True).body),
             f"pods of {name} to get {expected}", 60)
    t.cluster.patch(t.object_path("jobs.batch/v1", name, namespace), {"spec": {"suspend": False}})
    wait_for(lambda: condition(t.get("jobs.batch/v1", name, namespace), "Complete"), f"{name} to complete")
    for pod in t.get("pods", namespace=namespace):
        if pod["metadata"]["labels"]["job-name"] == name:
            look(pod)


@needs("vpa-admission")
@parallel
def test_memory_is_set_by_one_of_the_two(t):
    """What its VerticalPodAutoscaler says, the sizes of the pod, and whether memtamer leaves it."""
    rows = {"initial": ({}, THEIRS, True), "recreate": ({"mode": "Recreate"}, THEIRS, True),
            "off": ({"mode": "Off"}, OURS, False),
            "cpu": ({"policies": [CPU_ONLY]}, OURS, False),
            "named": ({"policies": [{"containerName": "*", "mode": "Off"}, {"containerName": "trainer"}]}, THEIRS, True),
            "released": ({"policies": [{"containerName": "trainer", "mode": "Off"}]}, OURS, False)}
    namespace = prepare(t, *rows)
    for name, (options, expected, is_left) in rows.items():
        t.create(job(name), namespace)
        # its recommender gives no figure for what it does not control
        recommended = {"cpu": "100m"} if "policies" in options and not is_left else {"memory": THEIRS[0]}
        neighbours.autoscaler(t, namespace, ("batch/v1", "Job", name), recommended, **options)
        goes_like(t, namespace, name, expected, is_left)
    manifest = t.path("job.yaml")
    for name, (_, _, is_left) in rows.items():
        with open(manifest, "w") as file:
            json.dump(job(name), file)
        said = harness.run("memtamer-webhook", "review", "--kubeconfig", t.kubeconfig(), "-n", namespace, "-m", "raise",
                           manifest).stdout
        assert (f"left to VerticalPodAutoscaler {name}\n" in said) == is_left, f"{name}: {said}"
    return f"{len(rows)} Jobs: where the autoscaler sets memory, memtamer set none; else memtamer did; and review agrees"


@needs("vpa-admission")
@parallel
def test_the_autoscaler_of_a_cronjob(t):
    """Its target is the CronJob; the pods are of a Job of any name that the CronJob controls."""
    namespace = prepare(t, "by-hand")
    t.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"},
              "spec": {"schedule": "0 0 31 2 *", "jobTemplate": {"spec": job("none")["spec"]}}}, namespace)
    cron = t.get("cronjobs.batch/v1", "nightly", namespace)
    made = job("by-hand")
    made["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly",
                                            "uid": cron["metadata"]["uid"], "controller": True}]
    t.create(made, namespace)
    neighbours.autoscaler(t, namespace, ("batch/v1", "CronJob", "nightly"), {"memory": THEIRS[0]})
    goes_like(t, namespace, "by-hand", THEIRS, True)
    return "a CronJob's autoscaler sized the pod of its Job, and memtamer left it"
