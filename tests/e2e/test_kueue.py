# SPDX-License-Identifier: Apache-2.0
"""Beside the real Kueue: what memtamer sets is what Kueue counts and admits, and nothing that runs is harmed."""
import harness
import neighbours
from kit import needs, parallel, wait_for
from neighbours import Queue, condition
from state_metrics import quantity
from test_recommender_service import NOBODY, Service

TRAINS = {"memtamer.io/training": "true"}
CPU = {"cpu": "100m"}
ALL = {"cpu": "4", "memory": "4Gi", "ephemeral-storage": "8Gi"}
MI = 1 << 20
DISK = {"noHistoryEphemeralStorageRequest": "1Gi"}


def profile_of(name, namespace, kind="Job"):
    return harness.profile(name, f"{kind}/{name}", namespace, container="trainer", request="256Mi", limit="512Mi",
                           peak="400Mi", median="256Mi")


def sizes(spec):
    """Memory request and limit, and the request of disk, of the first container: MiB, None where there is none."""
    resources = spec["containers"][0]["resources"]
    asked = (("requests", "memory"), ("limits", "memory"), ("requests", "ephemeral-storage"))
    texts = [resources.get(field, {}).get(name) for field, name in asked]
    return tuple(text and quantity(text) / MI for text in texts)


def job_of(name, queue, requests, count=1):
    job = neighbours.job(name, ["say", "hello"], requests, count, labels=queue.labels if queue else None)
    job["spec"]["template"]["metadata"] = {"labels": TRAINS}
    return job


def wait_sized(t, path, thing, spec_of, expected, is_reduced):
    """A dry run of this object gets these sizes, and warnings that name the queue where it gets less than is recommended;
    the queue is known, so no warning says less."""
    def look():
        made = t.cluster.create(path, thing, dry_run=True)
        seen = sizes(spec_of(made.body))[:len(expected)]
        names_queue = any("ClusterQueue" in line for line in made.warnings)
        assert (seen, names_queue) == (expected, is_reduced), (seen, made.warnings)
        assert not any("a queue counts it" in line for line in made.warnings), made.warnings
        return True
    wait_for(look, f"{thing['metadata']['name']} to get {expected}", 60)


def template_of(job):
    return job["spec"]["template"]["spec"]


def admitted_as_it_is(t, queue, kind, name, pod_spec, count):
    """Kueue has admitted a workload of that object, and counted what the template says."""
    workload = wait_for(lambda: (lambda one: condition(one, "Admitted").get("status") == "True" and one)(
        queue.workload_of(kind, name)), f"{kind} {name} to be admitted", 60)
    counted = workload["spec"]["podSets"][0]
    assert counted["count"] == count, counted
    assert sizes(counted["template"]["spec"]) == sizes(pod_spec), (sizes(counted["template"]["spec"]), sizes(pod_spec))


@needs("kueue")
@parallel
def test_jobs_are_sized_as_far_as_their_queue_goes(t):
    """templates: patch. Each row: what the ClusterQueue has, what each of so many pods requests, and what they get."""
    t.install_crds()
    namespace = t.namespace()
    rows = {
        "no-memory": ({"cpu": "4", "nvidia.com/gpu": "8"}, CPU, 1, (None, None, None)),
        "no-disk": ({"cpu": "4", "memory": "4Gi"}, CPU, 1, (256, 512, None)),
        "everything": (ALL, CPU, 1, (256, 512, 1024)),
        "shared": ({"cpu": "4", "memory": "300Mi"}, {**CPU, "memory": "64Mi"}, 2, (150, 512, None)),
        "tight": ({"cpu": "4", "memory": "128Mi"}, {**CPU, "memory": "64Mi"}, 2, (64, 512, None)),
    }
    queues = {name: Queue(t, namespace, row[0], name) for name, row in rows.items()}
    for name in rows:
        t.create_profile(profile_of(name, namespace))
    webhook = t.webhook(config={"mode": "raise", "templates": "patch", "sizing": DISK}, store="kube")
    webhook.configure(namespace, values={"config": {"templates": "patch"}})
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    for name, (_, requests, count, expected) in rows.items():
        job = job_of(name, queues[name], requests, count)
        wait_sized(t, path, job, template_of, expected, expected != (256, 512, 1024))
        spec = template_of(t.cluster.create(path, job).body)
        assert sizes(spec) == expected, f"{name}: {sizes(spec)}"
        admitted_as_it_is(t, queues[name], "Job", name, spec, count)
    for name in rows:
        wait_for(lambda: condition(t.get("jobs.batch/v1", name, namespace), "Complete"), f"{name} to complete")  # noqa: B023
    for pod in t.get("pods", namespace=namespace):
        name = pod["metadata"]["labels"]["job-name"]
        assert sizes(pod["spec"]) == rows[name][3], f"a pod of {name}: {sizes(pod['spec'])}"
    return f"{len(rows)} Jobs were sized as far as their queues go, admitted as they were counted, and ran"


@needs("kueue")
@parallel
def test_an_unknown_queue_adds_nothing(t):
    t.install_crds()
    namespace = t.namespace()
    t.create_profile(profile_of("train", namespace))
    webhook = t.webhook(config={"mode": "raise", "templates": "patch"}, store="kube")
    webhook.configure(namespace, values={"config": {"templates": "patch"}})
    job = job_of("train", None, CPU)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "not-there"}
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    wait_for(lambda: any("a queue counts it" in line for line in t.cluster.create(path, job, dry_run=True).warnings),
             "the profile to be known", 60)
    made = t.cluster.create(path, job)
    assert sizes(made.body["spec"]["template"]["spec"]) == (None, None, None), made.body["spec"]["template"]
    queue = Queue(t, namespace, {"cpu": "4"}, "not-there")
    admitted_as_it_is(t, queue, "Job", "train", made.body["spec"]["template"]["spec"], 1)
    return "a Job of a LocalQueue that is not there yet got no size, and was admitted when the queue came, which has no memory"


@needs("kueue")
@parallel
def test_plain_pods_are_filled(t):
    t.install_crds()
    namespace = t.namespace()
    rows = {"all": (ALL, (256, 512, 1024)), "no-memory": ({"cpu": "4"}, (None, None, None))}
    queues = {name: Queue(t, namespace, row[0], name) for name, row in rows.items()}
    for name in rows:
        t.create_profile(profile_of(name, namespace, "Pod"))
    webhook = t.webhook(config={"mode": "raise", "sizing": DISK}, store="kube")
    webhook.configure(namespace)
    path = f"/api/v1/namespaces/{namespace}/pods"
    for name, (_, expected) in rows.items():
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": neighbours.pod_spec(["say", "hello"], CPU),
               "metadata": {"name": name, "labels": {**TRAINS, **queues[name].labels}}}
        wait_sized(t, path, pod, lambda made: made["spec"], expected, name != "all")
        made = t.cluster.create(path, pod).body
        assert sizes(made["spec"]) == expected, f"{name}: {sizes(made['spec'])}"
        admitted_as_it_is(t, queues[name], "Pod", name, made["spec"], 1)
        wait_for(lambda: t.get("pods", name, namespace)["status"]["phase"] == "Succeeded", f"pod {name} to end")  # noqa: B023
    return "a pod of a queue with memory was filled, one of a queue without was not; both were admitted and ran"


@needs("kueue")
@parallel
def test_a_single_pod_is_not_resized(t):
    """Killed at its limit, it is restarted by the kubelet; with another limit Kueue would delete it."""
    t.install_crds()
    namespace = t.namespace()
    queue = Queue(t, namespace, ALL)
    service = Service(t, t.namespace(), NOBODY, resize="onOOM", interval="30s", namespaces=[namespace],
                      more={"mode": "raise"})
    spec = neighbours.pod_spec(["replay", "0:20,3:90,600:90"], {**CPU, "memory": "32Mi"})
    spec["restartPolicy"] = "OnFailure"
    spec["containers"][0]["resources"]["limits"] = {"memory": "64Mi"}
    made = t.cluster.create(f"/api/v1/namespaces/{namespace}/pods", {
        "apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {
            "name": "train", "labels": {**TRAINS, **queue.labels}, "annotations": {"memtamer.io/mode": "raise"}}}).body

    def restarts():
        status = t.get("pods", "train", namespace)["status"]
        return sum(one["restartCount"] for one in status.get("containerStatuses", []))
    service.wait_log("Kueue deletes a single pod whose containers change")
    seen = restarts()
    wait_for(lambda: restarts() > seen, "the kubelet to restart it once more")
    pod = t.get("pods", "train", namespace)
    assert pod["metadata"]["uid"] == made["metadata"]["uid"] and "deletionTimestamp" not in pod["metadata"], pod["metadata"]
    assert sizes(pod["spec"])[:2] == (32, 64), sizes(pod["spec"])
    assert condition(queue.workload_of("Pod", "train"), "Admitted").get("status") == "True"
    return "a pod that Kueue manages by itself was OOM-killed, kept its limit, and goes on"


@needs("kueue")
@parallel
def test_a_kill_says_what_to_submit(t):
    """Of a Guaranteed pod a queue has counted request and limit, so that no try gets more."""
    t.install_crds()
    namespace = t.namespace()
    queue = Queue(t, namespace, ALL)
    Service(t, t.namespace(), NOBODY, interval="30s", namespaces=[namespace], more={"mode": "raise"}).wait_leads()
    job = job_of("train", queue, {})
    job["spec"]["backoffLimit"] = 1
    trainer = job["spec"]["template"]["spec"]["containers"][0]
    trainer["args"] = ["replay", "0:20,3:90,600:90"]
    trainer["resources"] = {field: {"cpu": "10m", "memory": "64Mi"} for field in ("requests", "limits")}
    t.create(job, namespace)

    def events():
        return [one for one in t.get("events", namespace=namespace) if one["reason"] == "MemoryNotRaised"]
    event = wait_for(events, "the Event")[0]
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Job", "train"), event
    wait_for(lambda: condition(t.get("jobs.batch/v1", "train", namespace), "Failed").get("status") == "True", "all tries to fail")
    assert len(events()) == 1 and events()[0].get("count", 1) == 1, events()
    assert "OOM-killed at its limit of 64Mi" in event["message"] and "submit again with 128Mi" in event["message"], event["message"]
    assert "Queue " in event["message"], event["message"]
    return f"two tries were killed, and the Job says once: {event['message']}"


def made_by_an_operator(t, make, path, spec_of, count):
    """Of such an object in three queues: with memory, without, and with less than is recommended."""
    t.install_crds()
    namespace = t.namespace()
    rows = {"everything": (ALL, CPU, (256, 512)), "no-memory": ({"cpu": "4"}, CPU, (None, None)),
            "shared": ({"cpu": "4", "memory": "300Mi"}, {**CPU, "memory": "64Mi"}, (150, 512))}
    queues = {name: Queue(t, namespace, row[0], name) for name, row in rows.items()}
    for name, (_, requests, _) in rows.items():
        thing = make(name, requests, queues[name].labels)
        for role in ("", "master", "worker", "workers"):
            profile = profile_of(name, namespace, thing["kind"])
            profile["status"].update(role=role, container=spec_of(thing)["containers"][0]["name"])
            profile["metadata"]["name"] += role
            t.create_profile(profile)
    webhook = t.webhook(config={"mode": "raise", "templates": "patch"}, store="kube")
    webhook.configure(namespace, values={"config": {"templates": "patch"}})
    for name, (_, requests, expected) in rows.items():
        thing = make(name, requests, queues[name].labels)
        where = path.format(namespace=namespace)
        wait_sized(t, where, thing, spec_of, expected, name != "everything")
        spec = spec_of(t.cluster.create(where, thing).body)
        assert sizes(spec)[:2] == expected, f"{name}: {sizes(spec)}"
        workload = wait_for(lambda: queues[name].workload_of(thing["kind"], name), "the Workload", 60)  # noqa: B023
        assert sum(one["count"] for one in workload["spec"]["podSets"]) == count, workload["spec"]
        wait_for(lambda: condition(queues[name].workload_of(thing["kind"], name), "Finished").get("status") == "True",  # noqa: B023
                 f"{name} to end", 120)
    return f"{thing['kind']}s of three queues were sized as far as these go, admitted, and ran"


@needs("kueue", "jobset")
def test_jobsets_are_sized_as_far_as_their_queue_goes(t):
    def make(name, requests, labels):
        jobset = neighbours.jobset(name, ["say", "hello"], requests, 2, labels)
        spec_of(jobset, "template")["metadata"] = {"labels": TRAINS}
        return jobset

    def spec_of(jobset, key="spec"):
        template = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        return template if key == "template" else template["spec"]
    return made_by_an_operator(t, make, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets", spec_of, 2)


@needs("kueue", "training-operator")
def test_pytorchjobs_are_sized_as_far_as_their_queue_goes(t):
    def make(name, requests, labels):
        return neighbours.pytorchjob(name, ["say", "hello"], requests, 1, labels)
    return made_by_an_operator(t, make, "/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs",
                               lambda job: job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"], 2)
