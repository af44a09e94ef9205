# SPDX-License-Identifier: Apache-2.0
"""The backtest on trace directories: `tests/bench/run backtest DIR...` prints the figures of docs/SIZING.md, and what the
command costs."""
import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import bench  # noqa: E402  (sets MEMTAMER_BIN)
import harness  # noqa: E402

HEAD = ("| rule | order | OOM-killed runs | waste, GiBh | difference of waste to memtamer (95 %) | limit slack | "
        "time above request | nodes overrun |\n|---|---|---|---|---|---|---|---|")


def row_text(row):
    difference = row.get("difference", {}).get("waste_peak_gibh")
    apart = f"{difference['value']:+,.0f} ({difference['low']:+,.0f} to {difference['high']:+,.0f})" if difference else ""
    return (f"| {row['rule']} | {row['variant']} | {row['oom_killed']} ({100 * row['oom_rate']:.2f} %) | "
            f"{row['waste_peak_gibh']:,.0f} | {apart} | {100 * row['limit_slack']:.1f} % | "
            f"{100 * row['time_over_request']:.1f} % | {100 * row['node_overrun_share']:.0f} % |")


def cold_text(row):
    return f"{row['rule']} {row['oom_killed']} of {row['scored']} runs, {row['waste_peak_gibh']:,.0f} GiBh"


def report_trace(folder):
    began = time.monotonic()
    done = subprocess.run([harness.program("memtamer-recommender"), "backtest", "--trace", folder, "-o", "json"],
                          capture_output=True, check=True, text=True)
    seconds = time.monotonic() - began
    figures = json.loads(done.stdout)
    cold = [row for row in figures["cold_start"]["rules"] if row["variant"] == "walk-forward"]
    first = figures["rules"][0]
    return [f"## {os.path.basename(os.path.abspath(folder))}", "",
            f"{figures['runs']:,} runs, {figures['samples']:,} samples; {first['scored']:,} runs of {first['workloads']} "
            f"workloads are scored. {seconds:.2f} s.", "", HEAD, *map(row_text, figures["rules"]), "",
            f"Cold start, walk-forward: {'; '.join(map(cold_text, cold))}.", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="trace directory")
    parser.add_argument("--write", metavar="FILE", help="also write the report to FILE, in the place of its older self")
    options = parser.parse_args()
    lines = ["# Backtest", "", "Command: `tests/bench/run backtest DIR...`", "", f"Machine: {bench.machine()}.", ""]
    for folder in options.folders:
        lines += report_trace(folder)
    text = "\n".join(lines)
    print(text, end="")
    if options.write:
        bench.write_part(options.write, text)


if __name__ == "__main__":
    main()
