#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Send a manifest's pod to a memtamer webhook as the API server would, and show what comes back.

usage: admit.py --url https://127.0.0.1:8443 --ca ca.pem [--title TEXT] [--expect-patch] MANIFEST

A Job's pod is made as the job controller makes it (generateName, labels, owner reference); a Pod goes as it is. The
answer's JSON Patch is applied by python3-jsonpatch, an independent implementation of RFC 6902. Exit status 0 only if
the webhook answered a valid review (and, with --expect-patch, changed something)."""
import argparse
import base64
import copy
import difflib
import json
import ssl
import sys
import urllib.request
import uuid

import jsonpatch
import yaml

COLOUR = {"-": "\033[31m", "+": "\033[32m", "@": "\033[36m"} if sys.stdout.isatty() else {}
YELLOW, RESET = ("\033[33m", "\033[0m") if COLOUR else ("", "")


def pod_of_job(job):
    """The pod that the job controller would create for a batch/v1 Job."""
    name, template = job["metadata"]["name"], copy.deepcopy(job["spec"]["template"])
    uid = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name,
              "controller-uid": uid, "job-name": name}
    meta = template.setdefault("metadata", {})
    meta["labels"] = {**meta.get("labels", {}), **labels}
    meta["generateName"] = name + "-"
    meta["namespace"] = job["metadata"].get("namespace", "default")
    meta["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid,
                                "controller": True, "blockOwnerDeletion": True}]
    return {"apiVersion": "v1", "kind": "Pod", **template}


def review_of(pod):
    meta = pod["metadata"]
    gvk = {"group": "", "version": "v1", "kind": "Pod"}
    gvr = {"group": "", "version": "v1", "resource": "pods"}
    request = {"uid": str(uuid.uuid4()), "kind": gvk, "resource": gvr, "requestKind": gvk, "requestResource": gvr,
               "name": meta.get("name", ""), "namespace": meta["namespace"], "operation": "CREATE",
               "userInfo": {"username": "system:serviceaccount:kube-system:job-controller",
                            "groups": ["system:serviceaccounts", "system:authenticated"]},
               "object": pod, "oldObject": None, "dryRun": False,
               "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def post(url, ca, review):
    context = ssl.create_default_context(cafile=ca)
    request = urllib.request.Request(url + "/mutate?timeout=2s", data=json.dumps(review).encode(),
                                     headers={"Content-Type": "application/json", "Accept": "application/json, */*"})
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        return json.load(answer)


def show_diff(before, after):
    """What changes in the pod's containers."""
    def lines(pod):
        return yaml.safe_dump(pod["spec"]["containers"], sort_keys=False, width=100).splitlines()

    diff = difflib.unified_diff(lines(before), lines(after), "before", "after", lineterm="", n=1)
    for line in diff:
        if line.startswith(("---", "+++", "@@")):
            continue
        colour = COLOUR.get(line[:1], "")
        print(f"  {colour}{line}{RESET if colour else ''}")


def show_reasons(after):
    """The rules behind the values, from the annotation that records them."""
    decision = after["metadata"].get("annotations", {}).get("memtamer.io/decision", "{}")
    for item in json.loads(decision).get("set", []):
        cap = f", {item['cap']}" if "cap" in item else ""
        print(f"  {item['f']} {item.get('from', 'none')} -> {item['to']} ({item['rule']}{cap})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--expect-patch", action="store_true")
    parser.add_argument("manifest")
    args = parser.parse_args()

    with open(args.manifest, encoding="utf-8") as f:
        manifest = yaml.safe_load(f)
    pod = pod_of_job(manifest) if manifest["kind"] == "Job" else manifest
    review = review_of(pod)
    answer = post(args.url, args.ca, review)
    response = answer["response"]
    if response["uid"] != review["request"]["uid"] or not response["allowed"]:
        sys.exit(f"admit.py: the webhook did not allow the pod: {json.dumps(response)}")
    patch = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    after = jsonpatch.apply_patch(pod, patch)
    if args.title:
        print(args.title)
    for warning in response.get("warnings", []):
        print(f"  {YELLOW}Warning:{RESET} {warning}")
    show_diff(pod, after)
    show_reasons(after)
    if args.expect_patch and pod["spec"] == after["spec"]:
        sys.exit("admit.py: the webhook changed nothing in the pod's spec")


main()
