# SPDX-License-Identifier: Apache-2.0
"""What people write into profiles of a real API server: it counts without a recommender, and the recommender learns into
the object that they wrote."""
import json

import harness
import objects
from kit import parallel, wait_for
from objects import HISTORIES, PROFILES
from test_recommender_service import TRAINED, trained_prometheus
from test_snapshot import limit_given
from test_store import configure, learn, run_once, writes

RESNET = {"workloadRef": {"kind": "Job", "name": "resnet-train-20261130"}}
WAITING = {"restartPolicy": "Never", "schedulerName": "memtamer.test/none"}


def patch(t, name, **spec):
    t.kubectl("patch", "mprof", name, "--type=merge", "-p", json.dumps({"spec": spec}), namespace=TRAINED)


def about_resnet(t, resource):
    """Names of the objects that are about the training."""
    part = "status" if resource == PROFILES else "spec"
    return sorted(one["metadata"]["name"] for one in t.get(resource, namespace=TRAINED)
                  if one.get(part, {}).get("workload") == "Job/resnet-train")


def conditions(t, name):
    """Of a profile, by type: (status, reason, message), all about its newest spec; and when each changed."""
    thing = t.get(PROFILES, name, TRAINED)
    generation, status = thing["metadata"]["generation"], thing["status"]
    found = status["conditions"]
    assert status["observedGeneration"] == generation, thing
    assert all(one["observedGeneration"] == generation for one in found), thing
    assert all(len(one.get("message", "")) <= 80 for one in found), thing
    return ({one["type"]: (one["status"], one["reason"], one.get("message", "")) for one in found},
            {one["type"]: one["lastTransitionTime"] for one in found})


def test_a_profile_written_by_hand_is_learned_into(t):
    objects.install(t)
    config = configure(t, t.namespace(), trained_prometheus(t))
    t.create(objects.profile("vision", **RESNET, pinLimit="3Gi"), TRAINED)
    run_once(config)
    assert about_resnet(t, PROFILES) == about_resnet(t, HISTORIES) == ["vision"]
    profile = t.get(PROFILES, "vision", TRAINED)
    learned = profile["status"]["recommendation"]["limit"]
    assert profile["spec"] == {**RESNET, "pinLimit": "3Gi"} and learned != "3Gi", profile
    told, changed = conditions(t, "vision")
    assert told["Ready"][:2] == ("True", "Learned") and told["Pinned"] == ("True", "Person", "limit 3Gi"), told
    explained = harness.run("memtamer-recommender", "explain", "--config", config, "-n", TRAINED, "Job/resnet-train").stdout
    assert "limit       3Gi       pinned by spec.pinLimit; learned " in explained, explained
    # what people change is seen without another run, and without a change of the times
    patch(t, "vision", pinLimit="4Gi", modeCap="fill")
    run_once(config)
    told, later = conditions(t, "vision")
    assert told["Pinned"][2] == "limit 4Gi" and told["Capped"][:2] == ("True", "Person"), told
    assert {key: later[key] for key in changed} == changed, (changed, later)
    # one of two counts
    t.create(objects.profile("rival", **RESNET, pinLimit="9Gi"), TRAINED)
    run_once(config)
    told, _ = conditions(t, "rival")
    assert told == {"Ready": ("False", "Conflict", "decided by profile vision")}, told
    status = json.loads(harness.run("memtamer-recommender", "status", "-o", "json", "--config", config).stdout)
    assert [one["name"] for one in status["ignored"]] == ["rival"], status
    before = writes(t)
    run_once(config)
    assert writes(t) == before, "conditions were written again"
    # deleting them takes the pins away and nothing that was learned
    t.delete(PROFILES, "rival", TRAINED)
    t.delete(PROFILES, "vision", TRAINED)
    run_once(config)
    profile = t.get(PROFILES, "vision", TRAINED)
    assert not profile["spec"] and profile["status"]["recommendation"]["limit"] == learned, profile
    assert about_resnet(t, PROFILES) == about_resnet(t, HISTORIES) == ["vision"]
    return "learned into the object that a person wrote before; its conditions follow its spec, of two one counts"


def test_what_was_learned_moves_into_the_profile_that_people_write(t):
    _, config = learn(t)
    made = about_resnet(t, PROFILES)
    assert made == about_resnet(t, HISTORIES) and len(made) == 1, made
    before, history = (t.get(kind, made[0], TRAINED) for kind in (PROFILES, HISTORIES))
    t.create(objects.profile("vision", **RESNET, pinLimit="3Gi"), TRAINED)
    run_once(config)
    assert about_resnet(t, PROFILES) == about_resnet(t, HISTORIES) == ["vision"]
    after = t.get(PROFILES, "vision", TRAINED)
    assert after["status"]["recommendation"] == before["status"]["recommendation"], after
    assert t.get(HISTORIES, "vision", TRAINED)["spec"] == history["spec"]
    count = writes(t)
    run_once(config)
    assert writes(t) == count, "it was moved again"
    return f"{made[0]} became vision, history and sizes as they were"


@parallel
def test_a_pin_counts_without_a_recommender(t):
    objects.install(t)
    namespace = t.namespace()
    webhook = t.webhook(config={"mode": "raise", "prometheus": {"url": "http://127.0.0.1:1"}}, store="kube")
    webhook.configure(namespace)
    container = {"name": "pytorch", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    t.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": {
        "backoffLimit": 9, "template": {"spec": {**WAITING, "containers": [container]}}}}, namespace)

    def pod():
        """The limit of the Job's newest pod, and its name."""
        found = [one for one in t.get("pods", namespace=namespace) if "deletionTimestamp" not in one["metadata"]]
        return found and (found[0]["spec"]["containers"][0]["resources"]["limits"].get("memory"), found[0]["metadata"]["name"])

    limit, name = wait_for(pod, "the first pod")
    assert limit is None, limit
    spec = {"workloadRef": {"kind": "Job", "name": "train"}}
    t.create(objects.profile("by-hand", **spec, pinRequest="1Gi", pinLimit="2Gi"), namespace)
    wait_for(lambda: limit_given(webhook, namespace) == "2Gi", "the pin to be seen")
    t.delete("pods", name, namespace)
    limit, name = wait_for(lambda: (pod() or (0, name))[1] != name and pod(), "another pod of the same Job")
    assert limit == "2Gi", limit
    decision = json.loads(t.get("pods", name, namespace)["metadata"]["annotations"]["memtamer.io/decision"])
    rules = {one["f"]: one["rule"] for one in decision["set"] if one["r"] == "memory"}
    assert rules == {"request": "pin", "limit": "pin"}, decision
    t.kubectl("patch", "mprof", "by-hand", "--type=merge", "-p", '{"spec":{"modeCap":"observe"}}', namespace=namespace)
    wait_for(lambda: limit_given(webhook, namespace) is None, "the cap to be seen")
    return "a pin without a status counted for the next pod of a Job that ran before, a cap too"
