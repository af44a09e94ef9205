# SPDX-License-Identifier: Apache-2.0
"""The image on the real kubelet."""
from kit import parallel, wait_for
from release import image


def program(name, tag, *args):
    """A container as strict as Kubernetes can make it."""
    return {"name": name, "image": tag, "imagePullPolicy": "Never", "command": ["memtamer-" + name, *args],
            "securityContext": {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
                                "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}}


@parallel
def test_both_programs_run(t):
    tag = image(t.session)
    namespace = t.namespace(labels={"pod-security.kubernetes.io/enforce": "restricted"})
    t.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "versions"},
             "spec": {"restartPolicy": "Never", "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                      "containers": [program("webhook", tag, "--version"), program("recommender", tag, "--version")]}},
            namespace)
    wait_for(lambda: t.get("pods", "versions", namespace)["status"].get("phase") == "Succeeded",
             "both programs to say their version", patience=60)
    said = {name: t.kubectl("logs", "versions", "-c", name, namespace=namespace).out for name in ("webhook", "recommender")}
    for name, text in said.items():
        assert text.startswith(f"memtamer-{name} "), said
    return f"{tag} runs both programs, not as root, on a read-only root, in a namespace of the standard 'restricted'"


@parallel
def test_it_has_no_shell(t):
    tag = image(t.session)
    namespace = t.namespace()
    t.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shell"},
             "spec": {"restartPolicy": "Never", "containers": [
                 {"name": "shell", "image": tag, "imagePullPolicy": "Never", "command": ["sh", "-c", "true"]}]}},
            namespace)

    def refused():
        status = t.get("pods", "shell", namespace)["status"].get("containerStatuses", [{}])[0].get("state", {})
        return status.get("terminated", status.get("waiting", {})).get("message", "")
    message = wait_for(refused, "the container to fail")
    assert '"sh": executable file not found' in message, message
    return "nothing to run but the two programs"
