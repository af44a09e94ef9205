# SPDX-License-Identifier: Apache-2.0
"""One object of every kind that makes pods, each called "train" and with the same container that asks for two GPUs, and
the profile of its earlier runs. The container has a memory request and a limit below what those runs reached."""
import copy

import harness

RESOURCES = {"requests": {"memory": "4Gi"}, "limits": {"memory": "6Gi", "nvidia.com/gpu": "2"}}
HISTORY = {"request": "8Gi", "limit": "12Gi", "peak": "10Gi", "median": "8Gi"}
TRAINING = {"memtamer.io/training": "true"}  # for kinds that serve, or that people sit at
SUFFIX = {"Gi": 1 << 30, "Mi": 1 << 20}


def amount(text):
    """A quantity in bytes; 0 for none."""
    if not text:
        return 0
    return int(text[:-2]) * SUFFIX[text[-2:]] if text[-2:] in SUFFIX else int(text)


def container(name="main", **more):
    return {"name": name, "image": "train:1", **more, "resources": copy.deepcopy(RESOURCES)}


def template(name="main", restart="Never", labels=None):
    made = {"spec": {"restartPolicy": restart, "containers": [container(name)]}}
    return {"metadata": {"labels": labels}, **made} if labels else made


def parts(**roles):
    return {role: {"replicas": count, "template": template(name)} for role, (count, name) in roles.items()}


def serving(**spec):
    labels = {"app": "train", **TRAINING}
    return {**spec, "selector": {"matchLabels": {"app": "train"}}, "template": template(restart="Always", labels=labels)}


def ray(labels=None):
    def group(name):
        return template(name, "Always", labels)
    return {"headGroupSpec": {"rayStartParams": {}, "template": group("ray-head")},
            "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "rayStartParams": {}, "template": group("ray-worker")}]}


def argo():
    return {"entrypoint": "train", "templates": [{"name": "train", "container": container("")}]}


def thing(api_version, kind, spec, **metadata):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "train", **metadata}, "spec": spec}


JOB = {"template": template()}
CRON = {"schedule": "0 0 29 2 *", "jobTemplate": {"spec": JOB}}
VOLCANO = {"minAvailable": 1, "schedulerName": "volcano", "tasks": [{"name": "worker", "replicas": 2, "template": template()}]}
JOBSET = {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4, **JOB}}}]}
RUNTIME = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {
    "replicatedJobs": [{"name": "node", "template": {"spec": {"template": template("node")}}}]}}}
KUBEFLOW = "kubeflow.org/v1"
PYTORCH = {"pytorchReplicaSpecs": parts(Master=(1, "pytorch"), Worker=(3, "pytorch"))}
RAYJOB = {"entrypoint": "python train.py", "rayClusterSpec": ray()}
LWS = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template(restart="Always", labels=TRAINING)}}

# name of the expectation: (object, change of its spec, role of the profile, its container)
WORKLOADS = {
    "pod": (thing("v1", "Pod", template()["spec"]), None, "", "main"),
    "job": (thing("batch/v1", "Job", JOB), {"parallelism": 2}, "", "main"),
    "cronjob": (thing("batch/v1", "CronJob", CRON), {"suspend": True}, "", "main"),
    "deployment": (thing("apps/v1", "Deployment", serving(replicas=0)), {"paused": True}, "", "main"),
    "statefulset": (thing("apps/v1", "StatefulSet", serving(replicas=0, serviceName="a")), {"minReadySeconds": 1}, "", "main"),
    "daemonset": (thing("apps/v1", "DaemonSet", serving()), {"minReadySeconds": 1}, "", "main"),
    "replicaset": (thing("apps/v1", "ReplicaSet", serving(replicas=0)), {"minReadySeconds": 1}, "", "main"),
    "replicationcontroller": (
        thing("v1", "ReplicationController", {**serving(replicas=0), "selector": {"app": "train"}}),
        {"minReadySeconds": 1}, "", "main"),
    "jobset": (thing("jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET), {"suspend": True}, "workers", "main"),
    "trainjob": (thing("trainer.kubeflow.org/v1alpha1", "TrainJob", {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 2, "image": "train:1", "resourcesPerNode": RESOURCES}}), {"suspend": True}, "node", "node"),
    "trainingruntime": (thing("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", RUNTIME), {"a": 1}, "node", "node"),
    "clustertrainingruntime": (
        thing("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", RUNTIME), {"a": 1}, "node", "node"),
    "pytorchjob": (thing(KUBEFLOW, "PyTorchJob", PYTORCH), {"runPolicy": {"suspend": True}}, "worker", "pytorch"),
    "tfjob": (thing(KUBEFLOW, "TFJob", {"tfReplicaSpecs": parts(Chief=(1, "tensorflow"), PS=(2, "tensorflow"),
                                                                Worker=(4, "tensorflow"))}),
              {"enableDynamicWorker": True}, "worker", "tensorflow"),
    "xgboostjob": (thing(KUBEFLOW, "XGBoostJob", {"xgbReplicaSpecs": parts(Master=(1, "xgboost"))}),
                   {"runPolicy": {"suspend": True}}, "master", "xgboost"),
    "jaxjob": (thing(KUBEFLOW, "JAXJob", {"jaxReplicaSpecs": parts(Worker=(2, "jax"))}),
               {"runPolicy": {"suspend": True}}, "worker", "jax"),
    "paddlejob": (thing(KUBEFLOW, "PaddleJob", {"paddleReplicaSpecs": parts(Worker=(2, "paddle"))}),
                  {"runPolicy": {"suspend": True}}, "worker", "paddle"),
    "mpijob-v1": (thing(KUBEFLOW, "MPIJob", {"mpiReplicaSpecs": parts(Worker=(2, "mpi"))}),
                  {"slotsPerWorker": 2}, "worker", "mpi"),
    "mpijob-v2beta1": (thing("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": parts(Worker=(2, "worker"))}),
                       {"slotsPerWorker": 2}, "worker", "worker"),
    "experiment": (thing("kubeflow.org/v1beta1", "Experiment", {"trialTemplate": {
        "primaryContainerName": "main", "trialSpec": {"apiVersion": "batch/v1", "kind": "Job", "spec": JOB}}}),
        {"maxTrialCount": 3}, "", "main"),
    "trial": (thing("kubeflow.org/v1beta1", "Trial", {"runSpec": {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": JOB}}), {"a": 1}, "", "main"),
    "notebook": (thing(KUBEFLOW, "Notebook", {"template": template(restart="Always", labels=TRAINING)}), {"a": 1}, "", "main"),
    "raycluster": (thing("ray.io/v1", "RayCluster", ray(TRAINING)), {"suspend": True}, "gpu", "ray-worker"),
    "rayjob": (thing("ray.io/v1", "RayJob", RAYJOB), {"suspend": True}, "gpu", "ray-worker"),
    "raycronjob": (thing("ray.io/v1", "RayCronJob", {"schedule": "@daily", "jobTemplate": RAYJOB}),
                   {"suspend": True}, "gpu", "ray-worker"),
    "rayservice": (thing("ray.io/v1", "RayService", {"rayClusterConfig": ray(TRAINING)}), {"suspend": True}, "gpu", "ray-worker"),
    "volcano-job": (thing("batch.volcano.sh/v1alpha1", "Job", VOLCANO), {"maxRetry": 1}, "worker", "main"),
    "volcano-cronjob": (thing("batch.volcano.sh/v1alpha1", "CronJob", {"schedule": "@daily", "jobTemplate": {"spec": VOLCANO}}),
                        {"suspend": True}, "worker", "main"),
    "workflow": (thing("argoproj.io/v1alpha1", "Workflow", argo()), {"suspend": True}, "train", "main"),
    "workflowtemplate": (thing("argoproj.io/v1alpha1", "WorkflowTemplate", argo()), {"suspend": True}, "train", "main"),
    "clusterworkflowtemplate": (
        thing("argoproj.io/v1alpha1", "ClusterWorkflowTemplate", argo()), {"suspend": True}, "train", "main"),
    "cronworkflow": (thing("argoproj.io/v1alpha1", "CronWorkflow", {"schedule": "@daily", "workflowSpec": argo()}),
                     {"suspend": True}, "train", "main"),
    "leaderworkerset": (thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", LWS), {"replicas": 2}, "worker", "main"),
    "appwrapper": (thing("workload.codeflare.dev/v1beta2", "AppWrapper", {
        "components": [{"template": thing(KUBEFLOW, "PyTorchJob", PYTORCH)}]}), {"suspend": True}, "worker", "pytorch"),
    "hyperpodpytorchjob": (thing("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob", {
        "nprocPerNode": "2", "replicaSpecs": [{"name": "pods", "replicas": 2, "template": template()}]}),
        {"nprocPerNode": "1"}, "pods", "main"),
    "runaijob": (thing("run.ai/v1", "RunaiJob", JOB), {"suspend": True}, "", "main"),
    "knative-service": (thing("serving.knative.dev/v1", "Service", {
        "template": {"metadata": {"labels": TRAINING}, "spec": {"containers": [container()]}}}), {"a": 1}, "", "main"),
}
# Objects inside others are known by their own kind; a TrainJob's pods know only of its JobSet.
INNER = {"AppWrapper": "PyTorchJob", "Experiment": "Job", "Trial": "Job", "TrainJob": "JobSet"}


def profile_of(name, namespace):
    """The MemoryProfile of earlier runs of this workload."""
    made, _, role, main = WORKLOADS[name]
    key = f"{INNER.get(made['kind'], made['kind'])}/train"
    return harness.profile(f"{name}-0123456789", key, namespace, container=main, role=role, **HISTORY)
