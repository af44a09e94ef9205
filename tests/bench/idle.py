# SPDX-License-Identifier: Apache-2.0
"""What an idle installation asks of the API server: the chart with its defaults on a real cluster, nothing else going
on, counted by the API server's audit log over a window and scaled to an hour."""
import collections
import datetime
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "chart"), HERE]

import bench  # noqa: E402
import chart  # noqa: E402
import cluster  # noqa: E402
import test_install as install  # noqa: E402

SETTLE_SECONDS = 60  # lists, the first certificate, the first cycle
VALUES = ("image.registry=localhost", "image.pullPolicy=Never", "config.prometheus.url=http://10.244.0.1:9090")


def begun(event):
    return datetime.datetime.fromisoformat(event["requestReceivedTimestamp"].replace("Z", "+00:00")).timestamp()


def report(quick):
    seconds = 120 if quick else 600
    install.setUpModule()
    try:
        cluster.namespace(install.NAMESPACE)
        words = [word for value in VALUES for word in ("--set", value)]
        cluster.helm("install", "memtamer", str(chart.CHART), "--namespace", install.NAMESPACE, "--wait", *words)
        time.sleep(SETTLE_SECONDS)
        start = time.time()
        time.sleep(seconds)
        calls = collections.Counter()
        for who, resource, verb, _, event in install.audit():
            if start <= begun(event) < start + seconds:
                calls[who, verb, resource or event["requestURI"].partition("?")[0]] += 1
    finally:
        install.tearDownModule()
    scale = 3600 / seconds
    lines = ["# An idle installation", "",
             "The chart with its defaults (two webhooks, two recommenders) on a real cluster with nothing to do, by the API "
             f"server's audit log over {seconds} s, scaled to an hour.", "",
             "Command: `tests/bench/run idle`" + (" (quick)" if quick else ""), "", f"Machine: {bench.machine()}.", "",
             "| who | verb | what | requests an hour |", "|---|---|---|---|"]
    lines += [f"| {who} | {verb} | {what} | {count * scale:,.0f} |" for (who, verb, what), count in calls.most_common()]
    return lines + [f"| all | | | **{sum(calls.values()) * scale:,.0f}** |"]


if __name__ == "__main__":
    bench.main(report)
