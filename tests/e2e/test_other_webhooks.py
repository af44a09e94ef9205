# SPDX-License-Identifier: Apache-2.0
"""Webhooks of others, before and after ours, on the same fields; and several of ours that know different things."""
import json

import harness
from kit import parallel
from standins import OtherWebhook
from workloads import HISTORY

ASKED = "memtamer_admission_requests_total"
GIB = 1 << 30


def profile(namespace, **other):
    return harness.profile("train-0123456789", "Job/train", namespace, **{**HISTORY, **other})


def create(t, namespace, requests=None, limits=None):
    """A Job's pod, as the API server stores it. Raises ApiError if it is refused."""
    pod = harness.job_pod("train", namespace)
    resources = pod["spec"]["containers"][0]["resources"]
    resources["limits"].update(limits or {})
    if requests:
        resources["requests"] = requests
    made = t.cluster.create(f"/api/v1/namespaces/{namespace}/pods", pod).body
    t.delete("pods", made["metadata"]["name"], namespace)
    return made


def memory(pod, container=0):
    resources = pod["spec"]["containers"][container]["resources"]
    return tuple(resources.get(key, {}).get("memory") for key in ("requests", "limits"))


def set_limit(value, where="/spec/containers/0/resources"):
    """An answer that sets the memory limit of the first container, whatever it was; nothing if it is so already."""
    def answer(request):
        resources = request["object"]["spec"]["containers"][0]["resources"]
        if resources.get("limits", {}).get("memory") == value:
            return {}
        limits = {**resources.get("limits", {}), "memory": value}
        return [{"op": "add", "path": where + "/limits", "value": limits}]
    return answer


def inject(container, first=False):
    """An answer that adds a container which is not there yet."""
    def answer(request):
        if any(one["name"] == container["name"] for one in request["object"]["spec"]["containers"]):
            return {}
        return [{"op": "add", "path": "/spec/containers/" + ("0" if first else "-"), "value": container}]
    return answer


def decision(pod):
    return json.loads(pod["metadata"]["annotations"]["memtamer.io/decision"])


@parallel
def test_a_sidecar_injector_after_ours(t):
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise"}, objects=[profile(namespace)])
    webhook.configure(namespace)
    sidecar = {"name": "istio-proxy", "image": "proxy", "resources": {"requests": {"memory": "128Mi", "cpu": "100m"},
                                                                      "limits": {"memory": "1Gi"}}}
    where = {"last": (sidecar, False), "first": (sidecar, True), "without resources": ({"name": "p", "image": "i"}, False)}
    for what, (container, first) in where.items():
        other = OtherWebhook(t, inject(container, first), name="injector")
        other.register(namespace, "z-" + what.replace(" ", "-"))
        before = webhook.metric(ASKED)
        pod = create(t, namespace)
        assert webhook.metric(ASKED) == before + 2, f"{what}: asked again after the injector"
        ours = next(i for i, one in enumerate(pod["spec"]["containers"]) if one["name"] == "pytorch")
        assert memory(pod, ours) == ("8Gi", "12Gi"), (what, memory(pod, ours))
        theirs = next(one for one in pod["spec"]["containers"] if one["name"] == container["name"])
        if "resources" in container:
            assert theirs["resources"] == container["resources"], theirs
        assert {one["c"] for one in decision(pod)["set"] if one["r"] == "memory"} == {"pytorch"}, decision(pod)
        other.answer = lambda request: {}
    return "asked a second time after a sidecar came in, at either end, memtamer leaves its own answer as it was"


@parallel
def test_the_same_fields_before_and_after(t):
    """Who sets the limit, when, in which mode -> what the pod has in the end. It is never refused."""
    rows = [
        # mode, name of the other (sorts), limit it sets, reinvocation of the other, expected (request, limit)
        ("raise", "a-", "6Gi", "Never", ("8Gi", "12Gi")),
        # The API server makes the request of a lone limit between webhooks, before we see either.
        ("raise", "a-", "20Gi", "Never", ("20Gi", "20Gi")),
        ("fill", "a-", "6Gi", "Never", ("6Gi", "6Gi")),
        ("fill", "a-", "20Gi", "Never", ("20Gi", "20Gi")),
        ("observe", "a-", "6Gi", "Never", ("6Gi", "6Gi")),
        ("raise", "z-", "20Gi", "Never", ("8Gi", "20Gi")),
        # A limit that somebody sets after us, below our request: ours gives way, else the pod would be refused.
        ("raise", "z-", "6Gi", "Never", ("6Gi", "6Gi")),
        ("raise", "z-", "6Gi", "IfNeeded", ("6Gi", "6Gi")),
        ("raise", "z-", "10Gi", "IfNeeded", ("8Gi", "10Gi")),
        ("fill", "z-", "20Gi", "Never", ("8Gi", "20Gi")),
        ("fill", "z-", "6Gi", "Never", ("6Gi", "6Gi")),
        ("fill", "z-", "6Gi", "IfNeeded", ("6Gi", "6Gi")),
        # Who insists, and is asked last, has the last word.
        ("enforce", "z-", "60Gi", "Never", ("8Gi", "45Gi")),
        ("enforce", "z-", "60Gi", "IfNeeded", ("8Gi", "60Gi")),
    ]
    troubles = []
    for mode, name, limit, policy, expected in rows:
        namespace = t.namespace()
        webhook = t.webhook(config={"mode": mode}, objects=[profile(namespace)])
        webhook.configure(namespace)
        other = OtherWebhook(t, set_limit(limit))
        other.register(namespace, name + "other", policy)
        try:
            pod = create(t, namespace)
        except AssertionError as error:
            troubles.append(f"{mode}, {name}{limit} {policy}: refused: {error}")
            continue
        if memory(pod) != expected:
            troubles.append(f"{mode}, {name}{limit} {policy}: {memory(pod)}, not {expected}")
        # memtamer, asked about it once more and then again, has nothing more to change.
        once = harness.patched(pod, webhook.post("/mutate", harness.review_of(pod))[1]["response"])
        if "patch" in webhook.post("/mutate", harness.review_of(once))[1]["response"]:
            troubles.append(f"{mode}, {name}{limit} {policy}: not at rest")
        webhook.finish()
    assert not troubles, "\n".join(troubles)
    return f"{len(rows)} ways for another webhook to set the limit before or after us: no pod refused, and each at rest"


@parallel
def test_replicas_that_know_different_things(t):
    """The API server asks one replica first and another one again; each has another snapshot."""
    namespace = t.namespace()
    first = t.webhook(config={"mode": "enforce"}, objects=[profile(namespace)], name="first")
    others = {"newer": [profile(namespace, limit="48Gi", peak="40Gi", median="30Gi", request="30Gi")],
              "lower": [profile(namespace, limit="4Gi", peak="3Gi", median="2Gi", request="2Gi")], "nothing": []}
    first.configure(namespace)
    for what, objects in others.items():
        second = t.webhook(config={"mode": "enforce"}, objects=objects, name=what)
        second.configure(namespace, name=f"b0-{what}")
        before = first.metric(ASKED), second.metric(ASKED)
        pod = create(t, namespace)
        asked = first.metric(ASKED) - before[0], second.metric(ASKED) - before[1]
        assert asked[0] >= 1 and asked[1] >= 1, asked
        assert memory(pod) == ("8Gi", "12Gi"), (what, memory(pod))
        assert decision(pod)["runs"] == 14 and [one["to"] for one in decision(pod)["set"]][:2] == ["8Gi", "12Gi"]
        second.finish()
    # And the same with a webhook of somebody else behind them, so that all are asked again.
    second = t.webhook(config={"mode": "enforce"}, objects=others["newer"], name="again")
    second.configure(namespace, name="b0-again")
    injector = OtherWebhook(t, inject({"name": "istio-proxy", "image": "proxy"}))
    injector.register(namespace, "z-injector")
    before = first.metric(ASKED), second.metric(ASKED)
    pod = create(t, namespace)
    assert first.metric(ASKED) - before[0] == 2 and second.metric(ASKED) - before[1] == 2
    assert memory(pod) == ("8Gi", "12Gi"), memory(pod)
    return "what the first replica decided stays, whatever the second one knows, also when both are asked again"
