# SPDX-License-Identifier: Apache-2.0
"""What triage needs for a long log, beside `LC_ALL=C grep -cE` with the words that triage searches for. Prints Markdown."""
import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]

import bench  # noqa: E402  (sets MEMTAMER_BIN)
import harness  # noqa: E402

OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB.\n"


def step_line(rng, number):
    return (f"2026-11-20 10:{rng.randrange(60):02d}:{rng.randrange(60):02d},{rng.randrange(1000):03d} INFO [rank{rng.randrange(8)}] "
            f"train.py:211 step {number} loss {rng.random():.4f} grad_norm {rng.random():.3f} tokens/s {rng.randrange(90000)}\n")


def other_line(rng, number):
    return (f"[{number}.123456] worker-{rng.randrange(64)} fetched batch {rng.randrange(900)} in {rng.random():.3f}s from "
            f"shard-{rng.randrange(1000):05d}.tar, NCCL channel {rng.randrange(32):02d}/0 via P2P/CUMEM\n")


def sample_line(rng, number):
    return f"step {number} allocated={rng.random() * 40:.1f}GiB reserved={40 + rng.random():.1f}GiB rss {rng.randrange(90)} GB\n"


def warning_line(rng, number):
    return f"WARNING retrying request {number} after connection error: timed out, exit code {rng.randrange(3)}\n"


def peak_line(rng, number):
    return f"[rank{rng.randrange(8)}] step {number}: loss={rng.random():.3f} peak_reserved={40 + rng.random() * 30:.2f}GiB gap={rng.random():.1f}GiB\n"


def retry_line(rng, number):
    return f"WARNING caught OOM in batch {number}, retrying with batch size {rng.randrange(64)}\n"


def mixed_line(rng, number):
    return step_line(rng, number) if rng.random() < 0.6 else other_line(rng, number)


LOGS = (("no line has one of the words", other_line), ("60 % of the lines name a step", mixed_line),
        ("each line has figures of memory", sample_line), ("each line may be a retry or an end", warning_line),
        ("each line of 8 ranks has a peak of memory", peak_line), ("each line is a retry", retry_line))


def write_log(path, mib, line):
    """A block of lines again and again, and an OOM at the end."""
    rng = random.Random(1)
    block = "".join(line(rng, n) for n in range(20000)).encode()
    with open(path, "wb") as file:
        for _ in range(max(1, (mib << 20) // len(block))):
            file.write(block)
        file.write(OOM.encode())
    return os.path.getsize(path)


def escape(word):
    return "".join("\\" + c if c in "\\[](){}.*+?^$|" else c for c in word)


def measure(command):
    """CPU seconds, and the largest resident memory in MiB."""
    # grep ends at the first match where its output is /dev/null.
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"})
    _, status, usage = os.wait4(child.pid, 0)
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 1), command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(folder, words, name, mib, line, rounds):
    path = os.path.join(folder, "train.log")
    size = write_log(path, mib, line)
    pattern = os.path.join(folder, "words")
    with open(pattern, "w", encoding="utf-8") as file:
        file.write("|".join(map(escape, words)))
    ours, floor, memory = [], [], 0
    for _ in range(rounds):
        seconds, rss = measure([harness.program("memtamer-recommender"), "triage", "--log", path])
        ours.append(seconds)
        memory = max(memory, rss)
        floor.append(measure(["grep", "-cE", "-f", pattern, path])[0])
    ratio = statistics.median(a / b for a, b in zip(ours, floor))
    os.remove(path)
    return f"| {name} | {size >> 20:,} | {min(ours):.2f} s | {min(floor):.2f} s | {ratio:.2f} | {memory:.0f} MiB |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of each log (default: 1024)")
    parser.add_argument("--long-mib", type=int, default=10240, help="size of the log of the last row, which is read once (default: 10240)")
    parser.add_argument("--write", metavar="FILE", help="also write the report to FILE, in the place of its older self")
    options = parser.parse_args()
    words = subprocess.run([os.path.join(bench.BUILD, "bench/bench_words")], capture_output=True, check=True,
                           text=True).stdout.splitlines()
    lines = ["# Triage of a long log", "", "Command: `tests/bench/run triage`", "", f"Machine: {bench.machine()}.", "",
             "CPU time beside `LC_ALL=C grep -cE` with the same words, in the same run; median of 5 ratios.", "",
             "| log | MiB | triage | grep | ratio | memory of triage |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, line in LOGS:
            lines.append(row(folder, words, name, options.mib, line, 5))
        lines.append(row(folder, words, "60 % of the lines name a step; read once", options.long_mib, mixed_line, 1))
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.write:
        bench.write_part(options.write, text)


if __name__ == "__main__":
    main()
