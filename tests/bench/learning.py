# SPDX-License-Identifier: Apache-2.0
"""What learning costs the recommender: its memory and time by how many training pods end a day, from a real Prometheus
with a history of that many pods, in a first cycle that reads all days and in a second one that reads what is new."""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "blackbox/prometheus"), HERE]

import bench  # noqa: E402  (sets MEMTAMER_BIN)
import harness  # noqa: E402
import real_prometheus  # noqa: E402

ROWS = ((1000, 2), (10000, 2), (10000, 6), (50000, 2))  # training pods a day, days
DAY_SECONDS = 86400
CONFIG = """apiVersion: config.memtamer.io/v1alpha1
store: {{ kind: file, path: profiles.json }}
prometheus: {{ url: {url}, history: {days}d, deadline: 1h }}
"""


def peak_mib(process):
    """Peak RSS until the process ends. The kernel's ru_maxrss would count this program as well, from which it was forked."""
    peak = 0
    while process.poll() is None:
        try:
            peak = bench.rss_mib(process.pid, "VmHWM")
        except AttributeError:  # it has just ended
            pass
        time.sleep(0.02)
    return peak


def cycle(config):
    """(seconds, peak RSS in MiB) of one cycle."""
    begin = time.monotonic()
    process = subprocess.Popen([harness.program("memtamer-recommender"), "run", "--once", "--config", config],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = peak_mib(process)
    if process.returncode:
        raise SystemExit(f"the recommender ended with {process.returncode}")
    return time.monotonic() - begin, peak


def row(pods_a_day, days):
    now = int(time.time())
    with tempfile.TemporaryDirectory(prefix="memtamer-bench-") as folder:
        text = real_prometheus.many_pods(pods_a_day * days, now - days * DAY_SECONDS, DAY_SECONDS / pods_a_day)
        prometheus = real_prometheus.Prometheus(os.path.join(folder, "prometheus"), text)
        try:
            config = os.path.join(folder, "memtamer.yaml")
            harness.write_atomic(config, CONFIG.format(url=prometheus.url, days=days))
            first_seconds, first_mib = cycle(config)
            second_seconds, second_mib = cycle(config)
            prometheus_mib = bench.rss_mib(prometheus.process.pid, "VmHWM")
        finally:
            prometheus.stop()
    return (f"| {pods_a_day:,} | {days} | {first_mib:.0f} MiB | {first_seconds:.1f} s | {second_mib:.0f} MiB | {second_seconds:.1f} s "
            f"| {prometheus_mib:,.0f} MiB |")


def report(quick):
    lines = ["# Learning", "",
             "A Prometheus with some days of pods of one hour, 100 workloads in 20 namespaces. The first cycle reads all of "
             "it, day by day; the second what is new.", "",
             "Command: `tests/bench/run learning`" + (" (quick)" if quick else ""), "", f"Machine: {bench.machine()}.", "",
             "| training pods a day | days | peak RSS, first cycle | time | peak RSS, second cycle | time | peak RSS of Prometheus |",
             "|---|---|---|---|---|---|---|"]
    return lines + [row(*each) for each in (ROWS[:1] if quick else ROWS)]


if __name__ == "__main__":
    bench.main(report)
