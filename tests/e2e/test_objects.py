# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions in a real API server: what it keeps, shows, explains and refuses."""
import copy
import json
import re

import objects
from cluster import ApiError
from kit import parallel, wait_for
from objects import HISTORIES, PROFILES, SHAPES

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"


def put_status(t, path, thing, validation="Strict"):
    """As the recommender does: the object is there, its status is written with its resourceVersion."""
    live = t.cluster.get(path)
    live["status"] = thing["status"]
    return t.cluster.call("PUT", f"{path}/status?fieldValidation={validation}", live).body


@parallel
def test_every_field_is_kept(t):
    objects.install(t)
    namespace = t.namespace()
    kept = 0
    for resource, plural in ((PROFILES, "memoryprofiles"), (HISTORIES, "memoryhistories"), (SHAPES, "nodeshapes"),
                             (HISTORIES, "memoryhistories-0.1")):
        for thing in objects.examples(plural):
            where = None if resource == SHAPES else namespace
            thing["metadata"] = {"name": t.unique(thing["metadata"]["name"] if where else "shape")}
            path = t.object_path(resource, thing["metadata"]["name"], where)
            t.at_end(t.cluster.delete, path)
            t.cluster.call("POST", t.object_path(resource, "", where) + "?fieldValidation=Strict", thing)
            if "status" in thing:
                assert "status" not in t.cluster.get(path), "a status that came with a creation was taken"
                put_status(t, path, thing)
            live = t.cluster.get(path)
            assert live["spec"] == thing["spec"] and live.get("status") == thing.get("status"), live
            kept += 1
    return f"{kept} objects with every field that is ever written came back from etcd as they were written"


@parallel
def test_one_writer_has_one_entry_in_managed_fields(t):
    objects.install(t)
    namespace = t.namespace()
    thing = objects.examples("memoryprofiles")[1]
    thing["metadata"]["namespace"] = namespace
    t.cluster.call("POST", t.object_path(PROFILES, "", namespace), thing)
    path = t.object_path(PROFILES, thing["metadata"]["name"], namespace)
    put_status(t, path, thing)
    live = t.cluster.get(path)
    fields = [entry["fieldsV1"] for entry in live["metadata"]["managedFields"] if entry.get("subresource") == "status"]
    assert fields == [{"f:status": {}}], live["metadata"]["managedFields"]
    history = objects.examples("memoryhistories")[0]
    history["metadata"]["namespace"] = namespace
    live = t.cluster.call("POST", t.object_path(HISTORIES, "", namespace), history).body
    assert [entry["fieldsV1"] for entry in live["metadata"]["managedFields"]] == [{"f:spec": {}}], live
    return "what the recommender writes is one entry of managedFields, not one for each field"


@parallel
def test_kubectl_get_answers_at_a_glance(t):
    objects.install(t)
    namespace = t.namespace()
    thing = objects.examples("memoryprofiles")[1]
    thing["metadata"] = {"name": "bert-0123456789"}
    thing["spec"] = {"pinRequest": "9Gi", "pinLimit": "13Gi", "modeCap": "observe"}
    thing["status"].update({"role": "worker", "container": "pytorch", "updated": "2026-11-02T08:15:00Z",
                            "conditions": [{"type": "Ready", "status": "True", "reason": "Learned",
                                            "lastTransitionTime": "2026-11-02T08:15:00Z"}]})
    t.create(thing, namespace)
    put_status(t, t.object_path(PROFILES, "bert-0123456789", namespace), thing)
    head, row = (line.split() for line in t.kubectl("get", "mprof", namespace=namespace).out.splitlines())
    assert head == "NAME WORKLOAD READY RUNS PEAK REQUEST LIMIT PIN CAP LEAK AGE".split(), head
    assert row[:-1] == "bert-0123456789 Job/bert True 14 11Gi 8Gi 12Gi 13Gi observe Suspected".split(), row
    head, row = (line.split() for line in t.kubectl("get", "mprof", "-o", "wide", namespace=namespace).out.splitlines())
    assert head == ("NAME WORKLOAD ROLE CONTAINER READY REASON RUNS MEDIAN PEAK REQUEST LIMIT PIN-REQUEST PIN CAP LEAK "
                    "OOMS CONFIDENCE UPDATED AGE").split(), head
    assert row[:-2] == ("bert-0123456789 Job/bert worker pytorch True Learned 14 7Gi 11Gi 8Gi 12Gi 9Gi 13Gi observe "
                        "Suspected 1 high").split(), row
    t.kubectl("wait", "--for=condition=Ready", "--timeout=5s", "mprof/bert-0123456789", namespace=namespace)

    for name, plural in (("bert-0123456789", "memoryhistories"), ("bert-1123456789", "memoryhistories-0.1")):
        history = objects.examples(plural)[0]
        history["metadata"] = {"name": name}
        t.create(json.dumps(history), namespace)  # as YAML, Python and Go differ about what is a number
        head, row = (line.split() for line in t.kubectl("get", "mhist", name, namespace=namespace).out.splitlines())
        assert head == "NAME WORKLOAD LAST OUTCOME LIMIT AGE".split(), head
        assert [row[k] for k in (0, 1, 3, 4)] == [name, "Job/bert", "oom-killed", "12Gi"], row

    shape = objects.examples("nodeshapes")[0]
    shape["metadata"] = {"name": t.unique("shape")}
    t.at_end(t.cluster.delete, t.object_path(SHAPES, shape["metadata"]["name"]))
    t.create(shape)
    row = t.kubectl("get", "nshape", shape["metadata"]["name"], "--no-headers").out.split()
    assert row[1:6] == ["nvidia.com/gpu", "NVIDIA-H100-80GB-HBM3", "8", "1900Gi", "true"], row

    all_of_ours = t.kubectl("get", "memtamer", "-o", "name", namespace=namespace).out.split()
    assert f"nodeshape.memtamer.io/{shape['metadata']['name']}" in all_of_ours, all_of_ours
    for kind in ("memoryprofile", "memoryhistory"):
        assert f"{kind}.memtamer.io/bert-0123456789" in all_of_ours, all_of_ours
    return "get mprof, mhist, nshape and memtamer show " + " ".join(head)


@parallel
def test_short_names_collide_with_nothing(t):
    objects.install(t)
    rows = t.kubectl("api-resources", "--no-headers", "-o", "name").out.split()
    assert {"memoryprofiles.memtamer.io", "memoryhistories.memtamer.io", "nodeshapes.memtamer.io"} <= set(rows), rows
    for short, plural in (("mprof", "memoryprofiles"), ("mhist", "memoryhistories"), ("nshape", "nodeshapes")):
        names = [line.split() for line in t.kubectl("api-resources", "--no-headers").out.splitlines()]
        assert [name[0] for name in names if short in name[1].split(",")] == [plural], names
    return f"mprof, mhist and nshape are the only ones of their name among {len(rows)} resources"


@parallel
def test_explain_says_what_fields_mean(t):
    objects.install(t)

    def explain():
        return t.kubectl("explain", "mprof.spec").out
    text = wait_for(lambda: "pinLimit" in explain() and explain(), "the schema to be published")
    for word in ("pinRequest", "ceiling", "modeCap", "enum: dense, standing, guaranteed", "whatever runs used"):
        assert word in text, text
    text = t.kubectl("explain", "mhist", "--recursive").out
    for word in ("killedAt", "curveMax", "laterPeakRuns", "decisions"):
        assert word in text, text
    assert "Allocatable memory of one node" in t.kubectl("explain", "nshape.spec.memory").out
    return "kubectl explain answers for all three kinds, down to single fields"


# (spec of a MemoryProfile, words of the answer); its name is `name` unless the third says otherwise.
REFUSED_PROFILES = [
    ({"pinRequest": "64Gi", "pinLimit": "48Gi"}, "pinLimit must not be below pinRequest"),
    ({"pinRequest": "1.5Gi", "pinLimit": "1500M"}, "pinLimit must not be below pinRequest"),
    ({"floor": "2Gi", "ceiling": "1Gi"}, "ceiling must not be below floor"),
    ({"pinLimit": "12Gb"}, "spec.pinLimit: Invalid value: must be a quantity of at least 1Mi, such as 64Gi"),
    ({"pinLimit": "-1Gi"}, "spec.pinLimit: Invalid value: must be a quantity of at least 1Mi, such as 64Gi"),
    ({"pinLimit": "400m"}, "spec.pinLimit: Invalid value: must be a quantity of at least 1Mi, such as 64Gi"),
    ({"pinRequest": "1023Ki"}, "spec.pinRequest: Invalid value: must be a quantity of at least 1Mi, such as 64Gi"),
    ({"floor": "0"}, "spec.floor: Invalid value: must be a quantity of at least 1Mi, such as 64Gi"),
    ({"ceiling": "64"}, "spec.ceiling: Invalid value: must be a quantity of at least 1Mi, such as 64Gi"),
    ({"pinRequest": "lots", "pinLimit": "1Gi"}, "spec.pinRequest: Invalid value: must be a quantity"),
    ({"pinLimit": 64}, "spec.pinLimit in body must be of type string"),
    ({"pinLimit": "1" * 64}, "Too long: may not be more than 63"),
    ({"workloadRef": {"kind": "Job"}}, "workloadRef needs the kind and the name of an object"),
    ({"workloadRef": {"name": "train", "kind": ""}}, "workloadRef.kind must be a kind, such as Job or PyTorchJob"),
    ({"workloadRef": {"name": "train", "kind": "job"}}, "workloadRef.kind must be a kind, such as Job or PyTorchJob"),
    ({"workloadRef": {"name": "n" * 254, "kind": "Job"}}, "Too long: may not be more than 253"),
    ({"quantile": 1001}, "should be less than or equal to 1000"),
    ({"buffer": -1}, "should be greater than or equal to 0"),
    ({"class": "cosy"}, 'supported values: "dense", "standing", "guaranteed"'),
    ({"modeCap": "enforce"}, 'supported values: "off", "observe", "fill", "raise"', "memtamer-namespace"),
    ({"modeCap": False}, "must be of type string", "memtamer-namespace"),  # `off` in YAML without quotes
]
REFUSED_SHAPES = [
    ({"accelerators": 8, "memory": "1Ti"}, "accelerators need a resource"),
    ({"declared": True, "resource": "nvidia.com/gpu"}, "a declared shape must say the memory of one node"),
    ({"memory": "much"}, "must be a quantity"),
    ({"accelerators": -1, "resource": "nvidia.com/gpu"}, "should be greater than or equal to 0"),
    ({"memory": "1Ti"}, "metadata.name must be at most 95 characters long", "s" * 96),
]
TAKEN_PROFILES = [
    {}, {"pinLimit": "48Gi"}, {"pinRequest": "48Gi", "pinLimit": "48Gi"}, {"pinRequest": "1500M", "pinLimit": "1.5Gi"},
    {"floor": "1Mi", "ceiling": "1e12"}, {"pinLimit": "1024Ki"}, {"quantile": 0, "buffer": 10000}, {"class": "guaranteed"},
    {"modeCap": "observe", "modeCapBeforeUndo": "fill"}, {"workloadRef": {"kind": "PyTorchJob", "name": "bert-20261101"}},
    {"workloadRef": {"kind": "workload", "name": "nlp", "role": "worker", "container": "main"}, "pinLimit": "1Gi"},
]


def plain(message):
    """The API server puts the type of what it refuses between, or its text since 1.36."""
    return re.sub(r'Invalid value: "(?:[^"\\]|\\.)*": ', "Invalid value: ", message)


@parallel
def test_people_are_told_in_words(t):
    objects.install(t)
    namespace = t.namespace()
    for spec, words, *name in REFUSED_PROFILES:
        done = t.create(objects.profile(name[0] if name else "one", **spec), namespace, check=False)
        assert done.status == 1 and words in plain(done.err), (spec, done)
    for spec, words, *name in REFUSED_SHAPES:
        thing = {"apiVersion": objects.VERSION, "kind": "NodeShape",
                 "metadata": {"name": name[0] if name else t.unique("shape")}, "spec": spec}
        done = t.create(thing, check=False)
        assert done.status == 1 and words in plain(done.err), (spec, done)
    for index, spec in enumerate(TAKEN_PROFILES):
        t.create(json.dumps(objects.profile(f"good-{index}", **spec)), namespace)
    t.create(objects.profile("memtamer-namespace", modeCap="off"), namespace)
    return (f"{len(REFUSED_PROFILES) + len(REFUSED_SHAPES)} wrong specs were refused in words that say why, "
            f"{len(TAKEN_PROFILES) + 1} right ones taken")


@parallel
def test_unknown_fields(t):
    objects.install(t)
    namespace = t.namespace()
    thing = objects.profile("one", pinLimit="1Gi", pinLimits="2Gi")
    done = t.create(thing, namespace, check=False)
    assert done.status == 1 and 'unknown field "spec.pinLimits"' in done.err, done
    answer = t.cluster.create(t.object_path(PROFILES, "", namespace), thing)
    assert answer.warnings == ['unknown field "spec.pinLimits"'], answer.warnings
    assert answer.body["spec"] == {"pinLimit": "1Gi"}, answer.body
    live = answer.body
    live["status"] = {"workload": "Job/one", "newer": {"x": 1}}
    path = t.object_path(PROFILES, "one", namespace)
    answer = t.cluster.call("PUT", path + "/status", live)
    assert answer.body["status"] == {"workload": "Job/one"}, answer.body
    return "kubectl refuses a misspelt field; of a newer recommender the unknown field is dropped, the rest kept"


@parallel
def test_people_and_recommender_do_not_disturb_each_other(t):
    objects.install(t)
    namespace = t.namespace()
    path = t.object_path(PROFILES, "one", namespace)
    t.create(objects.profile("one"), namespace)
    old = t.cluster.get(path)
    put_status(t, path, {"status": {"workload": "Job/one", "recommendation": {"request": "1Gi"}}})
    pin = ("patch", "mprof", "one", "--type=merge", "-p", json.dumps({"spec": {"pinLimit": "2Gi"}}))
    t.kubectl(*pin, namespace=namespace)
    # A status that was computed before the pin was written must not be taken, and never changes the spec.
    old["status"], old["spec"] = {"workload": "Job/two"}, {"pinLimit": "9Gi"}
    answer = t.cluster.request("PUT", path + "/status", old)
    assert answer.status == 409, answer.body
    live = t.cluster.get(path)
    live["status"]["workload"], live["spec"] = "Job/three", {}
    t.cluster.call("PUT", path + "/status", live)
    # Applied by its owner (GitOps), whose field manager knows of the spec only.
    t.kubectl("apply", "--server-side", "--field-manager=gitops", "--force-conflicts", "-f", "-", namespace=namespace,
              stdin=objects.profile("one", pinLimit="3Gi"))
    live = t.cluster.get(path)
    assert live["spec"] == {"pinLimit": "3Gi"} and live["status"]["workload"] == "Job/three", live
    return "a pin outlives every status, a status every pin; one that was computed from an older object is refused"


def of_group(things, group):
    """The same definitions in a group of their own, so that other tests keep theirs."""
    things = json.loads(json.dumps(things).replace(objects.GROUP, group))
    for thing in things:
        thing["spec"]["names"].pop("shortNames")
        thing["spec"]["names"].pop("categories")
    return things


def older(things):
    """As a first version could have been: fewer fields, no columns, no rules."""
    things = copy.deepcopy(things)
    for thing in things:
        version = thing["spec"]["versions"][0]
        version.pop("additionalPrinterColumns")
        schema = version["schema"]["openAPIV3Schema"]
        for part in ("spec", "status"):
            schema["properties"].get(part, {}).pop("x-kubernetes-map-type", None)
            schema["properties"].get(part, {}).pop("x-kubernetes-validations", None)
        if thing["spec"]["names"]["kind"] == "MemoryProfile":
            schema["properties"]["spec"]["properties"].pop("class")
            schema["properties"]["status"]["properties"].pop("summary")
            for field in schema["properties"]["spec"]["properties"].values():
                field.pop("x-kubernetes-validations", None)
    return things


@parallel
def test_an_upgrade_keeps_objects(t):
    namespace, group = t.namespace(), "upgrade.memtamer.test"
    things = of_group(objects.definitions(), group)
    for thing in things:
        t.at_end(t.cluster.delete, DEFINITIONS + thing["metadata"]["name"])
    objects.apply_definitions(t.cluster, older(things))
    resource = f"memoryprofiles.{group}/v1alpha1"
    collection = t.object_path(resource, "", namespace)

    def path(name):
        return t.object_path(resource, name, namespace)
    thing = objects.examples("memoryprofiles")[1]
    for name, request, limit in (("pinned", "1Gi", "2Gi"), ("wrong", "2Gi", "1Gi")):
        t.cluster.create(collection, {**thing, "apiVersion": f"{group}/v1alpha1", "metadata": {"name": name},
                                      "spec": {"pinRequest": request, "pinLimit": limit}})
        put_status(t, path(name), thing, "Ignore")
    before = t.cluster.get(path("pinned"))
    assert "summary" not in before["status"], "this is no older definition"

    objects.apply_definitions(t.cluster, things)

    wait_for(lambda: "summary" in put_status(t, path("pinned"), thing, "Ignore")["status"],
             "the newer definition to be at work")
    after = t.cluster.get(path("pinned"))
    assert after["spec"] == before["spec"] and after["metadata"]["uid"] == before["metadata"]["uid"], after
    assert after["status"] == thing["status"], after
    # What a newer rule would refuse is kept: its status goes on, only touching the spec means mending it.
    put_status(t, path("wrong"), {"status": {"workload": "Job/wrong"}})
    try:
        t.cluster.patch(path("wrong"), {"spec": {"pinLimit": "1500Mi"}})
        raise AssertionError("a changed spec was not judged by the newer rules")
    except ApiError as error:
        assert "pinLimit must not be below pinRequest" in str(error), error
    t.cluster.patch(path("wrong"), {"spec": {"pinLimit": "2Gi"}})
    return "objects of an older definition stayed, took new fields, and an old mistake did not stop the recommender"
