# SPDX-License-Identifier: Apache-2.0
"""When a pod ended, from a real Prometheus: kube-state-metrics tells of a completion time as soon as any of its containers
has ended, and goes on to tell it while the others run."""
import unittest

import real_prometheus
from test_activity import NAMESPACE, PERCENT, STEP, add, before_midnight, job, learn


def setUpModule():
    if not real_prometheus.is_installed():
        raise unittest.SkipTest("Prometheus is not installed")


class Ends(unittest.TestCase):
    sample = True

    def test_a_helper_that_ends_first(self):
        start = before_midnight()
        early, end = start + 300, start + 3600
        families = job(start)
        del families["kube_pod_completion_time"], families["kube_pod_status_phase"]
        for number, name in enumerate(PERCENT):
            pod = {"namespace": NAMESPACE, "pod": name, "uid": f"{number:08x}-0000-4000-8000-000000000000"}
            seen = range(early + STEP, end + 300, STEP)
            add(families, "kube_pod_completion_time", pod, [(t, end if t > end else early) for t in seen])
            for phase in ("Succeeded", "Failed"):
                add(families, "kube_pod_status_phase", {**pod, "phase": phase},
                    [(t, int(t > end and phase == "Succeeded")) for t in seen])
        run = learn(self, families)[1]
        self.assertEqual((run["outcome"], run["duration"], run.get("whole"), run["ranks"]), ("completed", "1h", True, 2), run)

    def test_a_child_that_was_killed(self):
        """Kubernetes reports a completion of both pods; cAdvisor counts a kill in one of them, or none. Far below
        the limit of 1 GiB, the node had no memory left."""
        start = before_midnight()
        for kills, used_mib, outcome in ((0, 700, "completed"), (1, 700, "suspected-oom"), (1, 100, "completed")):
            families = job(start, used_mib)
            for number, name in enumerate(PERCENT):
                uid = f"{number:08x}-0000-4000-8000-000000000000"
                add(families, "container_oom_events_total",
                    {"namespace": NAMESPACE, "pod": name, "container": "main", "id": f"/kubepods/pod{uid}/{number:064x}"},
                    [(t, kills * int(number == 0 and t > start + 600)) for t in range(start, start + 3600, STEP)])
            run = learn(self, families)[1]
            self.assertEqual((run["outcome"], run.get("whole", False)), (outcome, outcome == "completed"), run)


if __name__ == "__main__":
    unittest.main()
