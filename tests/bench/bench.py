# SPDX-License-Identifier: Apache-2.0
"""The benchmark: the webhook against a TLS server that answers fixed bytes, on one machine, in interleaved rounds.

CPU a request comes from /proc/PID/stat and is told as a ratio to the floor, which other load on the machine moves far
less than the figures themselves. Server and client have a processor each where there are two."""
import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, "build/release")
os.environ["MEMTAMER_BIN"] = os.path.join(BUILD, "bin")
sys.path[:0] = [os.path.join(TOP, "tests/blackbox"), HERE]

import harness  # noqa: E402
import stores  # noqa: E402
import yaml  # noqa: E402

REVIEW = os.path.join(TOP, "tests/support/data/review-11k.json")
WORKLOAD = os.path.join(TOP, "tests/support/manifests/pytorchjob.yaml")
CORES = sorted(os.sched_getaffinity(0))


def pin(pid, core):
    """All threads of a process to one processor."""
    if len(CORES) > 1:
        subprocess.run(["taskset", "-acp", str(CORES[core]), str(pid)], check=True, stdout=subprocess.DEVNULL)


def client(*command, body=REVIEW):
    prefix = ["taskset", "-c", str(CORES[0])] if len(CORES) > 1 else []
    return subprocess.run([*prefix, *command], check=True, capture_output=True, text=True,
                          env={**os.environ, "BODY": body}).stdout


def cpu_seconds(pid):
    """Of all threads, also of those that have ended, to the nanosecond: what clock_getcpuclockid(3) makes of a pid."""
    return time.clock_gettime(~pid << 3 | 2)


def rss_mib(pid, field="VmRSS"):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(field + r":\s+(\d+) kB", file.read()).group(1)) / 1024


class Floor:
    def __init__(self, folder):
        self.port = harness.free_port()
        self.process = subprocess.Popen([os.path.join(BUILD, "bench/bench_floor"), str(self.port),
                                         os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key")],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        pin(self.process.pid, 1)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def start_webhook(folder, n_profiles, authority):
    stores.write(os.path.join(folder, "profiles.json"), n_profiles, REVIEW)
    webhook = harness.Webhook(folder, "mode: enforce\nlog: { level: warn }\nwebhook.drain: 0s", authority=authority)
    pin(webhook.process.pid, 1)
    return webhook


def saturate(server, seconds, path="/mutate", body=REVIEW):
    """wrk at 16 connections. Its figures, and CPU microseconds a request of the server."""
    before = cpu_seconds(server.process.pid)
    out = client("wrk", "-t1", "-c16", f"-d{seconds}s", "-s", os.path.join(HERE, "post.lua"),
                 f"https://127.0.0.1:{server.port}{path}", body=body)
    result = json.loads(re.search(r"^RESULT (.*)$", out, re.MULTILINE).group(1))
    result["cpu_us"] = (cpu_seconds(server.process.pid) - before) * 1e6 / result["requests"]
    return result


def pace(server, seconds, rate=1000):
    return json.loads(client(os.path.join(BUILD, "bench/bench_pace"), str(server.port), str(rate), str(seconds), "16",
                             REVIEW))


def median(rounds, key):
    return statistics.median(row[key] for row in rounds)


def rounds_table(floor, webhook, rounds, seconds):
    both = {"floor": (floor, [], []), "webhook": (webhook, [], [])}
    for index in range(rounds):
        for name in sorted(both, reverse=bool(index % 2)):
            server, saturated, paced = both[name]
            saturated.append(saturate(server, seconds))
            paced.append(pace(server, seconds))
    ratios = [ours["cpu_us"] / theirs["cpu_us"] for ours, theirs in zip(both["webhook"][1], both["floor"][1])]
    lines = ["| server | CPU a request | requests/s | p50 / p99 at saturation | p50 / p99 / p99.9 at 1,000/s | failed |",
             "|---|---|---|---|---|---|"]
    for name, (_, saturated, paced) in both.items():
        rate = statistics.median(row["requests"] / row["seconds"] for row in saturated)
        failed = sum(row["failed"] for row in saturated + paced)
        lines.append(f"| {name} | {median(saturated, 'cpu_us'):.1f} us | {rate:,.0f} "
                     f"| {median(saturated, 'p50_us'):,.0f} / {median(saturated, 'p99_us'):,.0f} us "
                     f"| {median(paced, 'p50_us'):,.0f} / {median(paced, 'p99_us'):,.0f} / "
                     f"{median(paced, 'p999_us'):,.0f} us | {failed} |")
    lines += ["", f"**CPU a request: {statistics.median(ratios):.2f} times the floor** (median of {rounds} interleaved "
                  f"rounds of {seconds} s; from {min(ratios):.2f} to {max(ratios):.2f})."]
    return lines


def workload_review(folder):
    """The path of a review of a PyTorchJob with two roles, as an update of it: the old object is in it too."""
    with open(WORKLOAD, encoding="utf-8") as file:
        job = yaml.safe_load(file)
    old = json.loads(json.dumps(job))
    old["spec"]["runPolicy"] = {"suspend": True}
    question = harness.review_of(job, uid="1", operation="UPDATE")
    question["request"].update({"oldObject": old, "kind": {"group": "kubeflow.org", "version": "v1",
                                                           "kind": "PyTorchJob"}})
    path = os.path.join(folder, "workload-review.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(question, file)
    return path


def workload_lines(floor, webhook, folder, rounds, seconds):
    body = workload_review(folder)
    with open(body, "rb") as file:
        status, _, answer = webhook.request("POST", "/validate", file.read(), {"Content-Type": "application/json"})
    if status != 200 or not json.loads(answer)["response"].get("warnings"):
        raise SystemExit(f"the object gets no warnings, so this would measure something else: {answer[:600]!r}")
    both = {"floor": (floor, []), "webhook": (webhook, [])}
    for index in range(rounds):
        for name in sorted(both, reverse=bool(index % 2)):
            server, saturated = both[name]
            saturated.append(saturate(server, seconds, "/validate", body))
    ratios = [ours["cpu_us"] / theirs["cpu_us"] for ours, theirs in zip(both["webhook"][1], both["floor"][1])]
    lines = ["| server | CPU a request | requests/s | p50 / p99 at saturation | failed |", "|---|---|---|---|---|"]
    for name, (_, saturated) in both.items():
        rate = statistics.median(row["requests"] / row["seconds"] for row in saturated)
        lines.append(f"| {name} | {median(saturated, 'cpu_us'):.1f} us | {rate:,.0f} "
                     f"| {median(saturated, 'p50_us'):,.0f} / {median(saturated, 'p99_us'):,.0f} us "
                     f"| {sum(row['failed'] for row in saturated)} |")
    return lines + ["", f"**CPU a request: {statistics.median(ratios):.2f} times the floor** (a changed PyTorchJob with "
                        f"two templates; {os.path.getsize(body):,} bytes in, {len(answer):,} out)."]


def ready_ms(folder, authority):
    begin = time.perf_counter()
    webhook = harness.Webhook(folder, "log: { level: warn }\nwebhook.drain: 0s", ready=False, authority=authority)
    while not webhook.is_ready():
        webhook.assert_runs()
    taken = (time.perf_counter() - begin) * 1e3
    webhook.stop()
    return taken


def spawn_ms():
    """What starting any program and one TLS request cost here, to be held against ready_ms."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([harness.program("memtamer-webhook"), "--version"], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def memory_table(folder, authority, seconds):
    lines = ["| profiles | store file | start to ready | RSS idle | RSS after 1,000/s | peak RSS | p99 at 1,000/s |",
             "|---|---|---|---|---|---|---|"]
    for count in (1, 1000, 10000, 100000):
        webhook = start_webhook(folder, count, authority)
        idle = rss_mib(webhook.process.pid)
        paced = pace(webhook, seconds)
        busy, peak = rss_mib(webhook.process.pid), rss_mib(webhook.process.pid, "VmHWM")
        webhook.stop()
        starts = sorted(ready_ms(folder, authority) for _ in range(5))
        size = os.path.getsize(os.path.join(folder, "profiles.json")) / 2**20
        lines.append(f"| {count:,} | {size:,.1f} MiB | {starts[2]:.0f} ms | {idle:.1f} MiB | {busy:.1f} MiB "
                     f"| {peak:.1f} MiB | {paced['p99_us']:,.0f} us |")
    return lines + ["", f"Starting the program to print its version takes {spawn_ms():.0f} ms here."]


def growth_line(folder, authority, requests):
    webhook = start_webhook(folder, 1000, authority)
    done, start = 0, None
    while done < requests * 1.3:
        done += saturate(webhook, 5)["requests"]
        if start is None and done >= requests * 0.3:  # connections, arenas and caches have settled
            start, first = rss_mib(webhook.process.pid), done
    end = rss_mib(webhook.process.pid)
    webhook.stop()
    return f"RSS {start:.2f} MiB after {first:,} requests, {end:.2f} MiB after {done:,}."


def micro_table():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profiles.json")
        stores.write(path, 1000, REVIEW)
        result = json.loads(client(os.path.join(BUILD, "bench/bench_micro"), REVIEW, path))
    lines = ["| step | ns |", "|---|---|"]
    sizes = {key: result.pop(key) for key in list(result) if key.endswith("_bytes")}
    lines += [f"| {name} | {value:,.0f} |" for name, value in result.items()]
    return lines + ["", f"The review has {sizes['review_bytes']:,} bytes, the patch {sizes['patch_bytes']:,}."]


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    return (f"{model.group(1) if model else platform.machine()}, {len(CORES)} processors, "
            f"Linux {platform.release().split('-')[0]}, {time.strftime('%Y-%m-%d', time.gmtime())}")


def check_answers(webhook):
    """What is measured must be the whole way: profile found, sizes decided, patch rendered."""
    with open(REVIEW, encoding="utf-8") as file:
        review = json.load(file)
    status, body = webhook.post(review)
    response = json.loads(body)["response"]
    if status != 200 or not harness.patch_of(response):
        raise SystemExit(f"the review is not patched, so this would measure something else: {body[:600]!r}")
    return len(body)


def report(quick):
    rounds, seconds, requests = (2, 2, 50000) if quick else (7, 4, 1000000)
    with tempfile.TemporaryDirectory(prefix="memtamer-bench-") as folder:
        authority = harness.Authority(folder)
        authority.issue("tls")
        floor, webhook = Floor(folder), start_webhook(folder, 1000, authority)
        answer_bytes = check_answers(webhook)
        lines = ["# Benchmarks", "",
                 "The webhook against the floor: a libmicrohttpd TLS server with the same options that reads the body and answers "
                 "1,200 fixed bytes.", f"Same machine, wrk at 16 kept-alive connections, ECDSA P-256; answers of "
                 f"{answer_bytes:,} bytes (with patch), 1,000 profiles.", "",
                 "Command: `make bench`" + (" (quick)" if quick else ""), "", f"Machine: {machine()}.", "",
                 "## One admission", ""]
        lines += rounds_table(floor, webhook, rounds, seconds)
        lines += ["", "## One object of /validate", ""]
        lines += workload_lines(floor, webhook, folder, min(rounds, 3), seconds)
        webhook.stop()
        floor.stop()
        lines += ["", "## Memory and start", ""] + memory_table(folder, authority, seconds)
        lines += ["", "## Growth", "", growth_line(folder, authority, requests)]
        lines += ["", "## Steps of one admission", "", "CPU time, fastest of 25 batches.", ""] + micro_table()
    return lines


def write_part(path, text):
    """A report is a part of the file: its text takes the place of the part with the same title."""
    title = text.partition("\n")[0]
    try:
        with open(path, encoding="utf-8") as file:
            parts = re.split(r"^(?=# )", file.read(), flags=re.MULTILINE)
    except FileNotFoundError:
        parts = []
    parts = {part.partition("\n")[0]: part.rstrip("\n") + "\n" for part in parts if part}
    parts[title] = text
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts.values()))


def main(make):
    """Print the report that make(quick) makes, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short rounds, to see that it works")
    parser.add_argument("--write", metavar="FILE", help="also write the report to FILE, in the place of its older self")
    options = parser.parse_args()
    text = "\n".join(make(options.quick)) + "\n"
    print(text, end="")
    if options.write:
        write_part(options.write, text)


if __name__ == "__main__":
    main(report)
