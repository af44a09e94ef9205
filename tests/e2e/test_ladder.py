# SPDX-License-Identifier: Apache-2.0
"""How far memtamer goes: every rung of the ladder, who decides about it, and how it is switched off."""
import time

import configurations
import harness
from kit import parallel, wait_for

MODES = ["off", "observe", "fill", "raise", "enforce"]
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"

# What a Job's pod asks for, and what it gets on each rung with 14 runs of peak 10Gi. (requests, limits) of memory.
RECOMMENDED = {"request": "8Gi", "limit": "12Gi", "peak": "10Gi", "median": "8Gi"}
PODS = {
    "missing": ({}, {"off": (None, None), "observe": (None, None), "fill": ("8Gi", "12Gi"), "raise": ("8Gi", "12Gi"),
                     "enforce": ("8Gi", "12Gi")}),
    "small": ({"requests": {"memory": "4Gi"}, "limits": {"memory": "6Gi", "nvidia.com/gpu": "1"}},
              {"off": ("4Gi", "6Gi"), "observe": ("4Gi", "6Gi"), "fill": ("4Gi", "6Gi"), "raise": ("8Gi", "12Gi"),
               "enforce": ("8Gi", "12Gi")}),
    "large": ({"requests": {"memory": "40Gi"}, "limits": {"memory": "60Gi", "nvidia.com/gpu": "1"}},
              {"off": ("40Gi", "60Gi"), "observe": ("40Gi", "60Gi"), "fill": ("40Gi", "60Gi"),
               "raise": ("40Gi", "60Gi"), "enforce": ("30Gi", "45Gi")}),
}


def profile(namespace):
    return harness.profile("train-0123456789", "Job/train", namespace, **RECOMMENDED)


def create(t, pod, namespace):
    """The pod as the API server would store it."""
    pod["metadata"]["namespace"] = namespace
    return t.cluster.create(f"/api/v1/namespaces/{namespace}/pods", pod, dry_run=True).body


def memory(pod):
    resources = pod["spec"]["containers"][0]["resources"]
    return tuple(resources.get(key, {}).get("memory") for key in ("requests", "limits"))


def marks(pod):
    """Our marks on a pod, not counting what people write."""
    meta = pod["metadata"]
    return sorted(key for where in ("labels", "annotations") for key in meta.get(where, {})
                  if key.startswith("memtamer.io/") and key not in ("memtamer.io/mode", "memtamer.io/ignore"))


def job_pod(which="small", mode=None):
    pod = harness.job_pod("train", resources=PODS[which][0])
    if mode:
        pod["metadata"]["annotations"] = {"memtamer.io/mode": mode}
    return pod


def assert_rung(t, namespace, mode):
    for which, (_, expected) in PODS.items():
        pod = create(t, job_pod(which), namespace)
        assert memory(pod) == expected[mode], f"{mode}, {which}: {memory(pod)}, not {expected[mode]}"
        assert bool(marks(pod)) == (mode != "off"), (mode, which, marks(pod))
        if mode == "observe":
            plain = create(t, job_pod(which), t.plain)
            assert pod["spec"]["containers"][0]["resources"] == plain["spec"]["containers"][0]["resources"]


@parallel
def test_every_rung_by_config(t):
    t.plain = t.namespace()
    for mode in MODES:
        namespace = t.namespace()
        webhook = t.webhook(config={"mode": mode}, objects=[profile(namespace)], name=mode)
        webhook.configure(namespace)
        assert_rung(t, namespace, mode)
    return f"{len(MODES)} modes in the configuration x {len(PODS)} pods of a Job: patched, or not, as stated"


@parallel
def test_precedence(t):
    """Configuration, then the namespace's label, then the pod's annotation, by watch on the real API server."""
    t.plain = t.namespace()
    webhook = t.webhook(config={"mode": "observe"}, store="kube")
    names = {mode: t.namespace(labels={"memtamer.io/mode": mode} if mode else {}) for mode in [*MODES, "", "nonsense"]}
    for namespace in names.values():
        t.create_profile(profile(namespace))
    webhook.configure(*names.values(), wait_in=names["observe"])
    for mode in MODES:
        wait_for(lambda: memory(create(t, job_pod("missing"), names[mode])) == PODS["missing"][1][mode],
                 f"profile and label of the namespace with mode {mode} to be known")
        assert_rung(t, names[mode], mode)
    assert_rung(t, names[""], "observe")
    assert_rung(t, names["nonsense"], "observe")

    def by_annotation(namespace_mode, pod_mode, pod=None):
        pod = pod or job_pod("small")
        pod["metadata"]["annotations"] = {"memtamer.io/mode": pod_mode}
        return memory(create(t, pod, names[namespace_mode]))

    small, sized = ("4Gi", "6Gi"), ("8Gi", "12Gi")
    assert by_annotation("raise", "observe") == small and by_annotation("raise", "fill") == small
    assert by_annotation("fill", "raise") == small and by_annotation("", "enforce") == small, "annotations only go down"
    assert by_annotation("raise", "off") == small
    assert by_annotation("enforce", "raise", job_pod("large")) == ("40Gi", "60Gi")

    def bare():
        return harness.training_pod("train", resources=PODS["small"][0])

    for mode in ("raise", "enforce"):
        assert memory(create(t, bare(), names[mode])) == small, "a bare pod's own values stand"
    for mode in ("raise", "enforce"):
        t.create_profile(harness.profile("bare-0123456789", "Pod/train", names[mode], **RECOMMENDED))
        wait_for(lambda: by_annotation(mode, mode, bare()) == sized, "a bare pod may ask for itself")
    for mode in ("fill", "observe"):
        assert by_annotation(mode, "enforce", bare()) == small, "but for no more than its namespace has"
    assert by_annotation("off", "raise", bare()) == small, "but not where memtamer is off"
    cap = {"apiVersion": "memtamer.io/v1alpha1", "kind": "MemoryProfile",
           "metadata": {"name": "memtamer-namespace", "namespace": names["raise"]}, "spec": {"modeCap": "observe"}}
    t.create_profile(cap)
    wait_for(lambda: memory(create(t, job_pod("small"), names["raise"])) == small, "the namespace's modeCap to be known")
    assert by_annotation("raise", "raise", bare()) == small
    return "configuration < namespace label < pod annotation, downwards only < modeCap"


@parallel
def test_opt_out_and_kill_switch(t):
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise"}, objects=[profile(namespace)])
    mutating, validating = (configurations.lead_to(one, webhook, [namespace]) for one in configurations.rendered())
    counted = configurations.count_apart(mutating, namespace)
    for thing in (mutating, validating):
        configurations.install(t, thing)
    webhook.wait_called(namespace)
    took = {}

    def failed_open():
        return t.cluster.metric(FAIL_OPEN, name=counted)

    def is_patched():
        return bool(marks(create(t, job_pod(), namespace)))

    def switch(what, change, on):
        """Make the change, then see how soon pods are (not) patched any more."""
        change()
        start = time.monotonic()
        wait_for(lambda: is_patched() == on, f"{what} to take effect")
        took[what] = time.monotonic() - start

    def quiet():
        """Does a pod pass without the API server failing open?"""
        failed = failed_open()
        assert not is_patched()
        return failed_open() == failed

    def label(key, value):
        t.cluster.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {key: value}}})

    assert is_patched()
    ignored = job_pod()
    ignored["metadata"]["labels"]["memtamer.io/ignore"] = "true"
    assert not marks(create(t, ignored, namespace)), "a pod's own label"
    switch("memtamer.io/mode: off", lambda: label("memtamer.io/mode", "off"), on=False)
    before = webhook.metric("memtamer_admission_requests_total")
    for _ in range(5):
        assert not is_patched()
    assert webhook.metric("memtamer_admission_requests_total") == before, "what is off never reaches us"
    switch("on again", lambda: label("memtamer.io/mode", None), on=True)
    switch("memtamer.io/ignore", lambda: label("memtamer.io/ignore", "true"), on=False)
    switch("not ignored", lambda: label("memtamer.io/ignore", None), on=True)
    # memtamer dies; the API server goes on without it, and with the switch does not even try.
    webhook.kill()
    failed = failed_open()
    assert not is_patched()
    wait_for(lambda: failed_open() > failed, "a fail-open to be counted")
    switch("off while dead", lambda: label("memtamer.io/mode", "off"), on=False)
    wait_for(quiet, "the API server not to try any more")
    label("memtamer.io/mode", None)
    for thing in (mutating, validating):
        t.cluster.delete(configurations.path_of(thing))
    wait_for(quiet, "a deleted configuration not to be used any more")
    worst = max(took, key=took.get)
    return f"opt-out and kill switch work, dead or alive; the slowest ({worst}) took {took[worst] * 1000:.0f} ms"
