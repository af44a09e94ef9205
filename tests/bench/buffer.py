# SPDX-License-Identifier: Apache-2.0
"""How the buffer above the peak was chosen: `tests/bench/run buffer DIR...` tries each setting of GRID on each workload of
trace directories. Then, many times, the best setting for a random half of the workloads is scored on the other half."""
import argparse
import csv
import gzip
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import bench  # noqa: E402  (sets MEMTAMER_BIN)
import harness  # noqa: E402

GRID = list(itertools.product((1, 2, 3), (30, 45, 60, 75, 100), (192, 256, 384, 512, 768)))  # %, %, Mi
OURS = (2, 60, 384)
HALVES = 500
CONFIG = """apiVersion: config.memtamer.io/v1alpha1
sizing:
  buffer: {{min: {}%, spread: {}%, fixed: {}Mi}}
store:
  kind: file
  path: none.json
"""


def read(path):
    opened = gzip.open(path, "rt", newline="") if path.endswith(".gz") else open(path, encoding="utf-8", newline="")
    with opened as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def split(folder, into):
    """A trace directory for each workload with enough runs to be scored."""
    workloads, series = defaultdict(list), defaultdict(list)
    for row in read(os.path.join(folder, "runs.csv")):
        workloads[row["workload"]].append(row)
    name = next(name for name in ("series.csv", "series.csv.gz") if os.path.exists(os.path.join(folder, name)))
    for row in read(os.path.join(folder, name)):
        series[row["run"]].append(row)
    for number, runs in enumerate(runs for _, runs in sorted(workloads.items()) if len(runs) >= 5):
        own = os.path.join(into, str(number))
        os.makedirs(own)
        write(os.path.join(own, "runs.csv"), runs)
        write(os.path.join(own, "series.csv"), [row for run in runs for row in series[run["run"]]])
        yield own


def score(folder, config, rule):
    """{order: (OOM-killed runs, waste)}"""
    done = subprocess.run([harness.program("memtamer-recommender"), "backtest", "--config", config, "--trace", folder,
                           "--rule", rule, "-o", "json"], capture_output=True, check=True, text=True)
    return {row["variant"]: (row["oom_killed"], row["waste_peak_gibh"]) for row in json.loads(done.stdout)["rules"]}


def total(scores, places, order):
    return [sum(scores[place][order][figure] for place in places) for figure in (0, 1)]


def cost(scores, krr, places):
    """OOM-killed runs and waste as shares of KRR's, added up over both orders."""
    parts = [(total(scores, places, order), total(krr, places, order)) for order in ("walk-forward", "causal")]
    return sum(ours[0] / max(theirs[0], 1) + ours[1] / max(theirs[1], 1e-9) for ours, theirs in parts)


def report_trace(folder):
    with tempfile.TemporaryDirectory() as work:
        places = list(split(folder, work))
        scores = {}
        for setting in GRID:
            config = os.path.join(work, "memtamer.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write(CONFIG.format(*setting))
            scores[setting] = {place: score(place, config, "memtamer") for place in places}
        krr = {place: score(place, config, "krr") for place in places}
    chance = random.Random(1)
    sums = {name: [0.0, 0.0] for name in ("chosen on the other half", "the default", "krr")}
    for _ in range(HALVES):
        shuffled = chance.sample(places, len(places))
        half, other = shuffled[:len(places) // 2], shuffled[len(places) // 2:]
        best = min(GRID, key=lambda setting: cost(scores[setting], krr, half))
        for name, rule in zip(sums, (scores[best], scores[OURS], krr)):
            for figure, value in enumerate(total(rule, other, "walk-forward")):
                sums[name][figure] += value / HALVES
    yield from (f"## {os.path.basename(os.path.abspath(folder))}", "",
                f"{len(GRID)} settings, {len(places)} workloads, {HALVES} random halves, walk-forward order, means:", "",
                "| setting | OOM-killed runs | waste, GiBh |", "|---|---|---|")
    yield from (f"| {name} | {killed:.2f} | {waste:,.0f} |" for name, (killed, waste) in sums.items())
    yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="trace directory")
    print("# Choice of the buffer\n\nCommand: `tests/bench/run buffer DIR...`\n")
    for folder in parser.parse_args().folders:
        print("\n".join(report_trace(folder)))


main()
