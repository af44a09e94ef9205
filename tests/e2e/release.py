# SPDX-License-Identifier: Apache-2.0
"""memtamer as users have it: the image on the real kubelet, the chart by helm.

	image(session)                     the image is known to the cluster; its name and tag
	release = Release(t, values={...}) nothing is installed yet
	release.keep_state                 for t.at_end, after install(): state.txt has what one would look at
	release.install(), .upgrade(values), .uninstall(), .helm("test", release.name)
	release.pods("webhook")            pods of a component that are not on their way out
	processes("memtamer-webhook")      pids, as this machine counts them, in pods of the cluster
	accelerators(t, 8)                 the node says that it has nvidia.com/gpu"""
import json
import os
import subprocess
import tempfile
import time

import yaml

from kit import TOP, wait_for
from programs import merge

CHART = os.path.join(TOP, "charts/memtamer")
IMAGE = "localhost/memtamer"
PROMETHEUS = "http://10.244.0.1:9090"  # as pods reach it
HELM_SECONDS = 300
DEFINITIONS = ("memoryprofiles.memtamer.io", "memoryhistories.memtamer.io", "nodeshapes.memtamer.io")


def script(*command, **options):
    """One of this repository's scripts, or any command, to its end; what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP, **options)
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def image(session):
    """MEMTAMER_IMAGE (a docker-archive), or an image made of the programs under test."""
    def make():
        path = os.environ.get("MEMTAMER_IMAGE")
        if not path:
            path = os.path.join(session.logs, "memtamer.tar")
            script("image/build", "--bin", os.environ["MEMTAMER_BIN"], "--out", path, "--name", f"{IMAGE}:e2e")
        said = script("tests/cluster/import", path)
        assert IMAGE in said, said
        return said.split(IMAGE + ":", 1)[1].split()[0]
    return f"{IMAGE}:{session.once('image', make)}"


def service(action, name):
    """Start, stop, restart, kill, pause, resume a part of the cluster."""
    script("tests/cluster/service", action, name)


def processes(program):
    """Only pods of our cluster are in its cgroup."""
    with open(os.path.join(os.environ["MEMTAMER_CLUSTER"], "cgroup"), encoding="utf-8") as file:
        mark = "/" + file.read().strip() + "/"
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
                inside = mark in file.read()
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                name = file.read().split("\0")[0]
        except OSError:
            continue
        if inside and os.path.basename(name) == program:
            found.append(int(pid))
    return found


def accelerators(t, count):
    """A device plugin's work: the node has accelerators, and the kubelet runs pods that ask for them."""
    name = t.get("nodes")[0]["metadata"]["name"]
    t.cluster.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": {"nvidia.com/gpu": str(count)}}})
    wait_for(lambda: t.get("nodes", name)["status"]["allocatable"].get("nvidia.com/gpu") == str(count),
             "the node's accelerators")


class Release:
    def __init__(self, test, values=None, name="memtamer", namespace="memtamer"):
        self.test, self.name, self.namespace = test, name, namespace
        path, tag = image(test.session).rsplit(":", 1)
        registry, repository = path.split("/")
        self.values = merge({
            "image": {"registry": registry, "repository": repository, "tag": tag, "pullPolicy": "Never"},
            "config": {"mode": "raise", "prometheus": {"url": PROMETHEUS}, "recommender": {"interval": "5s"}, "log": {"format": "logfmt"}},
        }, values)
        self.home = tempfile.TemporaryDirectory(prefix="memtamer-helm-")

    def helm(self, *args, check=True):
        """helm's process, ended. `--namespace` is added."""
        environment = {**os.environ, "HELM_CACHE_HOME": self.home.name, "HELM_CONFIG_HOME": self.home.name,
                       "HELM_DATA_HOME": self.home.name}
        command = ["helm", "--namespace", self.namespace, *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment,
                              timeout=HELM_SECONDS, cwd=TOP)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}\n"
                                 + self.state())
        return done

    def state(self):
        """What one would look at."""
        return "".join(repr(self.test.kubectl(*words, namespace=self.namespace, check=False)) + "\n" for words in (
            ("get", "pods", "-o", "wide"), ("get", "events", "--sort-by", ".lastTimestamp"),
            ("logs", "--prefix", "--tail", "30", "--ignore-errors", "-l", "app.kubernetes.io/name=memtamer")))

    def write_values(self):
        path = self.test.path(f"values-{self.test.unique('')}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(self.values, file, sort_keys=False)
        return path

    def take_definitions(self, all_of_them=False):
        """Delete the definitions that are not helm's (other tests applied them: helm would not adopt them), or all."""
        for name in DEFINITIONS:
            found = self.test.kubectl("get", "crd", name, "-o", "json", "--ignore-not-found").out
            labels = json.loads(found)["metadata"].get("labels", {}) if found.strip() else {}
            if all_of_them or labels.get("app.kubernetes.io/managed-by") != "Helm":
                self.test.kubectl("delete", "crd", name, "--ignore-not-found")
        self.test.session.forget("definitions")

    def install(self):
        """Returns helm's process; all pods are ready. Uninstalled when the test ends."""
        self.test.at_end(self.remove)
        self.take_definitions()
        return self.helm("install", self.name, CHART, "--create-namespace", "--values", self.write_values(), "--wait",
                         "--timeout", "150s")

    def upgrade(self, values=None):
        self.values = merge(self.values, values)
        return self.helm("upgrade", self.name, CHART, "--values", self.write_values(), "--wait", "--timeout", "150s")

    def uninstall(self):
        return self.helm("uninstall", self.name, "--wait", "--timeout", "150s")

    def remove(self):
        """Whatever became of it: nothing of it stays for the next test."""
        self.helm("uninstall", self.name, "--ignore-not-found", "--wait", check=False)
        for kind in ("mutatingwebhookconfiguration/a0-memtamer", "validatingwebhookconfiguration/memtamer-workloads"):
            self.test.kubectl("delete", kind, "--ignore-not-found", check=False)
        self.test.kubectl("delete", "namespace", self.namespace, "--ignore-not-found", check=False)
        self.take_definitions(all_of_them=True)
        self.home.cleanup()

    def pods(self, component):
        found = self.test.cluster.get(f"/api/v1/namespaces/{self.namespace}/pods?labelSelector="
                                      f"app.kubernetes.io/component={component}")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def is_ready(self, component, count=2):
        """That many pods are ready, and no others are there: neither on their way in nor out."""
        found = self.test.cluster.get(f"/api/v1/namespaces/{self.namespace}/pods?labelSelector="
                                      f"app.kubernetes.io/component={component}")["items"]
        ready = [pod for pod in found if any(one["type"] == "Ready" and one["status"] == "True"
                                             for one in pod["status"].get("conditions", []))]
        return len(found) == len(ready) == count

    def wait_ready(self, component, count=2):
        wait_for(lambda: self.is_ready(component, count), f"{count} pods of the {component} to be ready")

    def logs(self, component):
        return self.test.kubectl("logs", "--prefix", "--tail=-1", "-l", f"app.kubernetes.io/component={component}",
                                 namespace=self.namespace, check=False).out

    def keep_state(self):
        """Writes what one would look at into the test's state.txt. Call it at the test's end, while all is there."""
        with open(self.test.path("state.txt"), "w", encoding="utf-8") as file:
            for words in (("get", "pods"), ("get", "memoryprofiles", "-o", "yaml"), ("get", "memoryhistories", "-o", "yaml"),
                          ("get", "events", "--sort-by", ".lastTimestamp"),
                          ("get", "pods", "-o", "yaml", "--selector", "job-name")):
                file.write(f"--- kubectl {' '.join(words)}\n{self.test.kubectl(*words, '--all-namespaces', check=False).out}")
            for component in ("recommender", "webhook"):
                file.write(f"--- log of the {component}\n{self.logs(component)}")
            for pod in self.pods("recommender"):
                path = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}:8080/proxy/metrics"
                file.write(f"--- {path}\n{self.test.kubectl('get', '--raw', path, check=False).out}")


def now():
    return time.monotonic()
