# SPDX-License-Identifier: Apache-2.0
"""What happens in the loop: one function for each workload of loop_history.py, which returns when its real runs are over
and everything has become as it should, else raises. tests/e2e/test_loop.py runs them, demo/loop shows them.

	Training(cluster, name, tell)     tell(job, text) is called with each thing that happens
	far_too_large(training), ...      all runs of that workload; .story has what was told
	side_by_side(functions)           all at once; when one raises, the others are given up

Nothing is done to a workload but to create its Jobs, which differ in nothing but their number."""
import concurrent.futures
import json
import threading

import loop_history
from harness import job_pod
from programs import wait_for as wait_patiently
from state_metrics import quantity

PATIENCE = 420  # longer than any run
DECISION = "memtamer.io/decision"
PROFILES = "/apis/memtamer.io/v1alpha1/namespaces/{}/memoryprofiles"
given_up = threading.Event()  # one has failed: nobody waits any more
SURE = 8  # the webhook has several replicas: so many dry runs in a row must have the new size


def wait_for(condition, what):
    def look():
        if given_up.is_set():
            raise RuntimeError("given up, as another one has failed")
        return condition()
    return wait_patiently(look, what, PATIENCE)


def side_by_side(functions):
    given_up.clear()
    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        try:
            for one in concurrent.futures.as_completed([pool.submit(function) for function in functions]):
                one.result()
        except BaseException:
            given_up.set()
            raise


def mib(text):
    return int(quantity(text) / loop_history.MI)


def container_of(pod):
    return pod["spec"]["containers"][0]


def limit_of(pod):
    return container_of(pod)["resources"]["limits"].get("memory")


def live_limit_of(pod):
    """What the kubelet says that it has set."""
    for status in pod["status"].get("containerStatuses", []):
        return status.get("resources", {}).get("limits", {}).get("memory")
    return None


def state_of(pod):
    """(restarts, reason of the end or None, reason of the end before that or None) of its container."""
    for status in pod["status"].get("containerStatuses", []):
        ended, before = (status[key].get("terminated", {}).get("reason") for key in ("state", "lastState"))
        return status["restartCount"], ended, before
    return 0, None, None


def why(pod):
    """How its limit came about, from our annotation."""
    decision = json.loads(pod["metadata"].get("annotations", {}).get(DECISION, "{}"))
    for size in decision.get("set", []):
        if (size["r"], size["f"]) == ("memory", "limit"):
            return f"not the {size['from']} of its YAML ({size['rule']})"
    return "as its YAML says"


class Training:
    def __init__(self, cluster, name, tell=lambda job, text: None):
        self.cluster, self.name, self.workload = cluster, name, loop_history.WORKLOADS[name]
        self.namespace, self.tell, self.story = self.workload.namespace, tell, []

    def say(self, text):
        self.story.append(f"{self.job}: {text}")
        self.tell(self.job, text)

    def told(self):
        return "; ".join(self.story)

    def start(self, number):
        self.job = f"{self.name}-{number}"
        self.cluster.kubectl("apply", "-f", "-", stdin=list(loop_history.manifests(self.name, number)))

    # Looking ---------------------------------------------------------------------------------------------------------

    def pods(self):
        found = self.cluster.get(f"/api/v1/namespaces/{self.namespace}/pods?labelSelector=job-name={self.job}")["items"]
        return sorted(found, key=lambda pod: pod["metadata"]["creationTimestamp"])

    def wait(self, condition, what):
        """condition(pods) becomes true; a Job that has failed for good, and taken its pods along, will not come to it."""
        def look():
            if any(one["type"] == "Failed" and one["status"] == "True" for one in self.status().get("conditions", [])):
                raise RuntimeError(f"{self.job} failed while {what} was waited for: {self.told()}")
            pods = self.pods()
            return pods and condition(pods)
        return wait_for(look, f"{what} of {self.job}; {self.told()}")

    def status(self):
        return self.cluster.get(f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{self.job}").get("status", {})

    def begun(self, index=0):
        """The pod of that try, as soon as it is there."""
        pod = self.wait(lambda pods: pods[index:index + 1], f"try {index + 1}")[0]
        self.say(f"{'retry' if index else 'starts'} with limit {limit_of(pod)}, {why(pod)}")
        return pod

    def ended(self, index=0):
        """How that try ended."""
        reason = self.wait(lambda pods: state_of(pods[index])[1], f"the end of try {index + 1}")
        self.say(f"{reason} with {limit_of(self.pods()[index])}")
        return reason

    def completed(self, failed=0):
        self.wait(lambda pods: any(one["type"] == "Complete" for one in self.status().get("conditions", [])), "completion")
        assert self.status().get("failed", 0) == failed, self.told()

    def learned(self, condition, what):
        """The recommendation for which condition(it) holds."""
        def look():
            for profile in self.cluster.get(PROFILES.format(self.namespace))["items"]:
                status = profile.get("status", {})
                if status.get("workload") == f"Job/{self.name}" and condition(status["recommendation"]):
                    return status["recommendation"]
            return None
        return wait_for(look, f"the profile of {self.name} to know {what}")

    def whole_runs(self, count):
        return self.learned(lambda known: known["wholeRuns"] == count, f"{count} whole runs")

    def next_run_gets(self, expected):
        """Until all webhooks know it; expected(MiB) says what is right."""
        pod = loop_history.manifests(self.name, 999)[0]["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": job_pod(f"{self.name}-999", self.namespace)["metadata"], **pod}

        def look():
            made = [self.cluster.create(f"/api/v1/namespaces/{self.namespace}/pods", pod, dry_run=True).body
                    for _ in range(SURE)]
            return all(expected(mib(limit_of(one))) for one in made)
        wait_for(look, f"the webhooks to know the new size of {self.name}")


# The four workloads ----------------------------------------------------------------------------------------------------

def outgrown(training, earlier=5):
    """OOM-killed at the user's limit, its retry gets more and completes; the next run starts right."""
    training.start(earlier + 1)
    own = training.workload.limit
    assert mib(limit_of(training.begun())) == own, training.told()
    assert training.ended() == "OOMKilled", training.told()
    assert mib(limit_of(training.begun(1))) == 2 * own, training.told()
    assert training.ended(1) == "Completed", training.told()
    training.completed(failed=1)

    def look():  # without earlier runs nothing was measured: what completed is all that is known
        return training.whole_runs(earlier + 1) if earlier else training.learned(
            lambda known: known.get("oomKills") == 1 and mib(known["limit"]) > own, "the kill")
    known = look()
    assert not earlier or own < quantity(known["peak"]) / loop_history.MI < mib(known["limit"]) < 2 * own, known
    training.say(f"is over and learned from: limit {known['limit']} from now on")

    def is_known(size):  # the last sample of all may still come, and move it by a step
        known.update(look())
        return size == mib(known["limit"])
    training.next_run_gets(is_known)
    training.start(earlier + 2)
    assert limit_of(training.begun()) == known["limit"], training.told()
    assert training.ended() == "Completed", training.told()
    training.completed()


def far_too_large(training):
    """`enforce`: down by a quarter a run, and every run completes."""
    assert training.whole_runs(5)["lastLimit"] == "256Mi"
    training.next_run_gets(lambda size: size < 256)
    for number, expected in ((6, "192Mi"), (7, "144Mi")):
        training.start(number)
        assert limit_of(training.begun()) == expected, training.told()
        assert training.ended() == "Completed", training.told()
        training.completed()
        known = training.whole_runs(number)
        assert known["lastLimit"] == expected and not known.get("oomKills"), known
        training.next_run_gets(lambda size, now=mib(expected): size < now)


def restarted_in_place(training):
    """`OnFailure`: only a resize can give the restarted container more than the limit that killed it."""
    training.start(6)
    own = training.workload.limit
    assert mib(limit_of(training.begun())) == own, training.told()
    reason = training.wait(lambda pods: state_of(pods[0])[2], "a restart")
    training.say(f"{reason} with {own}Mi, and restarts in its pod")
    assert reason == "OOMKilled", training.pods()
    pod = training.wait(lambda pods: mib(live_limit_of(pods[0]) or "0") > own and pods[0], "a larger limit")
    training.say(f"resized to {live_limit_of(pod)} in place")
    assert training.ended() == "Completed", training.told()
    training.completed()
    restarts = state_of(training.pods()[0])[0]
    assert len(training.pods()) == 1 and restarts <= 3, f"{restarts} restarts: {training.told()}"


def resized_in_time(training):
    """It would be killed before its usual end, and is resized before that."""
    own, enough = training.workload.limit, loop_history.RESIZE_SECONDS
    assert loop_history.seconds_to_resize(training.workload) > enough, "no resize is promised in that time"
    training.start(6)
    assert mib(limit_of(training.begun())) == own, training.told()

    def is_larger(pods):
        if state_of(pods[0])[1]:
            raise RuntimeError(f"{training.job} ended before it was resized: {state_of(pods[0])[1]}")
        return mib(live_limit_of(pods[0]) or "0") > own and pods[0]
    pod = training.wait(is_larger, "a larger limit")
    training.say(f"resized to {live_limit_of(pod)} while it runs")
    assert training.ended() == "Completed", training.told()
    training.completed()
    assert state_of(training.pods()[0])[0] == 0 and len(training.pods()) == 1, "it was restarted"


PARTS = {"vit-train": outgrown, "asr-train": far_too_large, "bert-finetune": restarted_in_place,
         "unet-train": resized_in_time}
