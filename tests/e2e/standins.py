# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for what else is in clusters: the webhooks of others, and the kinds of ML frameworks."""
import base64
import http.server
import json
import os
import ssl
import threading

import configurations
import harness
from programs import NODE_ADDRESS, wait_for


class OtherWebhook:
    """A webhook of somebody else: answer(request) is called for each AdmissionReview and returns the parts of the
    response that are not `uid` and `allowed` (a list is taken as a JSON Patch). `requests` are those it has seen."""

    def __init__(self, test, answer=None, name="other"):
        self.test, self.answer, self.requests = test, answer or (lambda request: {}), []
        folder = test.path(test.unique(name))
        os.makedirs(folder)
        authority = harness.Authority(folder)
        authority.issue("tls", common_name=name, names=f"IP:{NODE_ADDRESS}")
        with open(authority.cert, "rb") as file:
            self.ca_bundle = base64.b64encode(file.read()).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key"))
        self.server = http.server.ThreadingHTTPServer((NODE_ADDRESS, 0), self._handler())
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://{NODE_ADDRESS}:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        test.at_end(self.close)

    def _handler(self):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802 - the library's name
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(owner.respond(self.path.partition("?")[0], review)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass
        return Handler

    def respond(self, path, review):
        request = review["request"]
        request["path"] = path
        self.requests.append(request)
        given = self.answer(request)
        if isinstance(given, list):
            given = {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(given).encode()).decode()}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "response": {"uid": request["uid"], "allowed": True, **given}}

    def register(self, namespace, name, policy="Never"):
        """As a webhook for pods of that namespace, in a configuration that sorts by `name`."""
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": f"{name}-{namespace}"},
            "webhooks": [{
                "name": "other.example.com", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                "sideEffects": "None", "reinvocationPolicy": policy, "timeoutSeconds": 10,
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "clientConfig": {"url": self.url + "/mutate", "caBundle": self.ca_bundle}}]}
        configurations.install(self.test, configuration)
        pod = harness.training_pod("e2e-is-it-called", namespace)
        path = f"/api/v1/namespaces/{namespace}/pods"

        def called():
            self.test.cluster.request("POST", path + "?dryRun=All", pod)
            return self.requests
        wait_for(called, f"the API server to call webhook {name}")
        self.requests.clear()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# group, served versions (the last is stored), kind, is it the cluster's
KINDS = [
    ("argoproj.io", ["v1alpha1"], "Workflow", False),
    ("argoproj.io", ["v1alpha1"], "WorkflowTemplate", False),
    ("argoproj.io", ["v1alpha1"], "ClusterWorkflowTemplate", True),
    ("argoproj.io", ["v1alpha1"], "CronWorkflow", False),
    ("batch.volcano.sh", ["v1alpha1"], "Job", False),
    ("batch.volcano.sh", ["v1alpha1"], "CronJob", False),
    ("jobset.x-k8s.io", ["v1alpha1", "v1alpha2"], "JobSet", False),
    ("kubeflow.org", ["v1beta1"], "Experiment", False),
    ("kubeflow.org", ["v1"], "JAXJob", False),
    ("kubeflow.org", ["v1", "v2beta1"], "MPIJob", False),
    ("kubeflow.org", ["v1beta1", "v1"], "Notebook", False),
    ("kubeflow.org", ["v1"], "PaddleJob", False),
    ("kubeflow.org", ["v1"], "PyTorchJob", False),
    ("kubeflow.org", ["v1"], "TFJob", False),
    ("kubeflow.org", ["v1beta1"], "Trial", False),
    ("kubeflow.org", ["v1"], "XGBoostJob", False),
    ("leaderworkerset.x-k8s.io", ["v1"], "LeaderWorkerSet", False),
    ("ray.io", ["v1alpha1", "v1"], "RayCluster", False),
    ("ray.io", ["v1"], "RayCronJob", False),
    ("ray.io", ["v1alpha1", "v1"], "RayJob", False),
    ("ray.io", ["v1alpha1", "v1"], "RayService", False),
    ("run.ai", ["v1"], "RunaiJob", False),
    ("sagemaker.amazonaws.com", ["v1"], "HyperPodPyTorchJob", False),
    ("serving.knative.dev", ["v1"], "Service", False),
    ("trainer.kubeflow.org", ["v1alpha1"], "ClusterTrainingRuntime", True),
    ("trainer.kubeflow.org", ["v1alpha1"], "TrainJob", False),
    ("trainer.kubeflow.org", ["v1alpha1"], "TrainingRuntime", False),
    ("workload.codeflare.dev", ["v1beta2"], "AppWrapper", False),
]


def definition(group, versions, kind, is_cluster):
    """A CRD that takes anything: admission sees objects, whatever their schema."""
    plural = kind.lower() + "s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}",
                         # for groups that the Kubernetes project keeps for itself
                         "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for tests"}},
            "spec": {"group": group, "scope": "Cluster" if is_cluster else "Namespaced",
                     "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"},
                     "versions": [{"name": version, "served": True, "storage": version == versions[-1],
                                   "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
                                  for version in versions]}}


def install_kinds(test):
    """Make all of KINDS known to the API server, once for all tests, and wait until it serves them."""
    test.session.once("kinds", lambda: _install_kinds(test.cluster))


def _install_kinds(cluster):
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for row in KINDS:
        answer = cluster.request("POST", path, definition(*row))
        assert answer.status in (201, 409), answer.body
    for group, versions, kind, _ in KINDS:
        for version in versions:
            wait_for(lambda: cluster.get(f"/apis/{group}/{version}/{kind.lower()}s"),  # noqa: B023 - called at once
                     f"{kind} of {group}/{version}")
