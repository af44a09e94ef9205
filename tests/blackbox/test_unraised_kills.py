# SPDX-License-Identifier: Apache-2.0
"""The Event about an OOM kill that memtamer does not answer, from a recommender in a cluster that keeps what is written."""
from harness import Case, wait_until
from test_ignored_namespaces import Cluster, at, dead_pod, run_in

NOT_BEFORE_THE_START = -600


MORE_THAN_A_PASS_TELLS = 100


def killed_pod(name):
    """A bare pod whose container was killed and restarts."""
    pod = dead_pod("ml", 0)
    pod["metadata"].update(name=name, uid=f"u-{name}")
    pod["spec"]["restartPolicy"] = "OnFailure"
    pod["status"] = {"phase": "Running", "startTime": at(900), "containerStatuses": [
        {"name": "main", "restartCount": 1, "state": {"running": {"startedAt": at(0)}}, "lastState": {"terminated": {
            "reason": "OOMKilled", "exitCode": 137, "startedAt": at(900), "finishedAt": at(NOT_BEFORE_THE_START)}}}]}
    return pod


class UnraisedKills(Case):
    def test_the_profile_may_name_more_than_twice_the_limit(self):
        pod = killed_pod("train")
        cluster = Cluster(("/api/v1/namespaces/ml/pods/train", pod))
        self.addCleanup(cluster.stop)

        def said(limit):
            return [one for path, one in list(cluster.objects.items())
                    if "/events/" in path and one.get("reason") == "MemoryNotRaised"
                    and one.get("message", one.get("note", "")).endswith(f"submit again with {limit}")]

        program = run_in(self, cluster)
        wait_until(lambda: said("16Gi"), f"an Event with twice the limit; log:\n{program.log()}")
        profiles = [one for path, one in cluster.objects.items() if "/memoryprofiles/" in path]
        self.assertEqual(len(profiles), 1)
        program.stop()
        profiles[0]["spec"] = {"pinLimit": "40Gi"}
        program = run_in(self, cluster)
        wait_until(lambda: said("40Gi"), f"an Event with the limit of the profile; log:\n{program.log()}")
        program.stop()

    def test_many_kills_do_not_wait_for_the_next_cycle(self):
        """The interval is an hour."""
        names = [f"train-{i}" for i in range(MORE_THAN_A_PASS_TELLS)]
        cluster = Cluster(*((f"/api/v1/namespaces/ml/pods/{name}", killed_pod(name)) for name in names))
        self.addCleanup(cluster.stop)
        program = run_in(self, cluster)

        def told():
            events = [one for path, one in list(cluster.objects.items())
                      if "/events/" in path and one.get("reason") == "MemoryNotRaised"]
            return {one.get("involvedObject", one.get("regarding"))["name"] for one in events}

        wait_until(lambda: told() == set(names), lambda: f"Events about all kills, not only {len(told())}")
        program.stop()
