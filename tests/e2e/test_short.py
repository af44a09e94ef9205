# SPDX-License-Identifier: Apache-2.0
"""The main job from end to end in minutes, for every change: what people do first, on the real cluster. The other files
have all of it."""
import configurations
import loop_history
import loop_scenario
from kit import wait_for
from release import Release, accelerators

NAME = "vit-train"


def warning_of(t, namespace):
    """What `kubectl apply --dry-run=server` of the Job without a memory limit says of its five earlier runs, or None."""
    job, _ = loop_history.manifests(NAME, 6)
    del job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
    done = t.kubectl("apply", "--dry-run=server", "-f", "-", stdin=job, namespace=namespace)
    return next((line for line in done.warnings if "no memory limit" in line and "5 runs" in line), None)


def test_from_the_installation_to_a_retry_that_gets_more(t):
    accelerators(t, 2)
    t.at_end(loop_history.remove, loop_history.add_to_cluster())
    namespace = loop_history.WORKLOADS[NAME].namespace
    t.namespace(labels={"memtamer.io/mode": "raise"}, name=namespace)
    # With the usual floor and buffer a training as small as this would be raised before it is killed.
    sizing = {"floors": {"limit": "64Mi"}, "buffer": {"fixed": "0"}}
    release = Release(t, {"config": {"recommender": {"namespaces": [namespace]}, "sizing": sizing},
                          **configurations.PATIENT})
    release.install()
    t.at_end(release.keep_state)
    training = loop_scenario.Training(t.cluster, NAME)
    training.whole_runs(5)
    warning = wait_for(lambda: warning_of(t, namespace), "a warning that knows the earlier runs")
    loop_scenario.outgrown(training)  # patched where nothing was set, killed, raised, complete
    return f"helm installs it; a dry run says \"{warning.partition('memtamer: ')[2]}\"; {training.told()}"
