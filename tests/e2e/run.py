#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the end-to-end tests on a real cluster: run.py [--bin build/dev/bin] [--only NAME...] [--except NAME...]
[--needing SERVICE...] [--jobs N] [--logs build/logs/e2e] [--list]

The cluster is that of tests/cluster/up: one that is up in $MEMTAMER_CLUSTER is taken and left as it is, else one is
brought up there (default: build/cluster-e2e) and ends with this program, however that ends. The runner moves into the
cluster's network, so tests, kubectl and programs reach the API server as a node does, and it reaches them.

Tests are the functions test_* of the files test_*.py beside this one; kit.py is what they use. --only picks those whose
full name (file.function) contains a NAME, --except leaves such out. Tests marked @parallel run beside each other, the others one by one after
them; then, in the same way, those that need optional services of the cluster. Without --only, tests that need another
service than kueue and vpa-admission are left out; --needing picks those that need one of these services. Each test prints
one line: what it has proved, or why not. Logs, configurations and certificates of what they started stay in
the folder TEST of --logs. The last lines are "passed N", "failed N" and "skipped TEST: WHY".

--again N: a machine may stand still for longer than anything is waited for. Where no more than N tests have failed, they
run once more, alone; one that passes then is told as "unsteady TEST: HOW IT FAILED", and its logs of the first time stay
in TEST.first."""
import argparse
import concurrent.futures
import importlib
import inspect
import os
import shutil
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
INSIDE = "MEMTAMER_E2E_INSIDE"
USUAL_SERVICES = {"kueue", "vpa-admission"}  # optional services that are part of every run


def enter_cluster(services):
    """Bring a cluster up if none is, and go on in its network: the same process, so what it owns stays its own. What is
    built for optional services comes from other networks, so it is built before."""
    subprocess.run([os.path.join(TOP, "tests/cluster/build"), *services], check=True, stdout=subprocess.DEVNULL)
    os.environ.setdefault("MEMTAMER_CLUSTER", os.path.join(TOP, "build/cluster-e2e"))
    subprocess.run([os.path.join(TOP, "tests/cluster/up"), "--owner", str(os.getpid())], check=True,
                   env={"MEMTAMER_CLUSTER_AUDIT": os.path.join(HERE, "audit.yaml"), **os.environ})
    os.environ[INSIDE] = "1"
    command = os.path.join(TOP, "tests/cluster/exec")
    os.execv(command, [command, sys.executable, "-B", os.path.abspath(__file__), *sys.argv[1:]])


def services_of(function):
    return getattr(function, "services", ())


def is_chosen(name, function, names, unwanted, services):
    needed = set(services_of(function))
    if any(part in name for part in unwanted):
        return False
    if names and not any(part in name for part in names):
        return False
    return bool(needed & set(services)) if services else bool(names) or needed <= USUAL_SERVICES


def find_tests(names, unwanted, services):
    """[(full name, function)] in the order of files and lines."""
    found = []
    for file in sorted(os.listdir(HERE)):
        if not (file.startswith("test_") and file.endswith(".py")):
            continue
        module = importlib.import_module(file[:-3])
        functions = [one for name, one in vars(module).items()
                     if name.startswith("test_") and inspect.isfunction(one) and one.__module__ == module.__name__]
        functions.sort(key=lambda one: one.__code__.co_firstlineno)
        found += [(f"{file[5:-3]}.{one.__name__[5:]}", one) for one in functions]
    return [(name, one) for name, one in found if is_chosen(name, one, names, unwanted, services)]


def describe(error):
    """What went wrong and where, without drowning the report in an object that a message holds."""
    text = f"{type(error).__name__}: {error}"
    text = text if len(text) <= 4000 else f"{text[:3000]} [...] {text[-1000:]}"
    return text + "\n" + "".join(traceback.format_tb(error.__traceback__))


class Report:
    """What came out of the tests, printed as it comes."""

    def __init__(self):
        self.passed, self.failed, self.skipped, self.unsteady = 0, {}, [], []
        self.lock = threading.Lock()

    def line(self, word, name, seconds, text):
        print(f"{word:7} {name} ({seconds:.1f}s): {text}", flush=True)

    def run(self, name, function, session):
        import kit
        start = time.monotonic()
        test = kit.Test(session, name)
        trouble = proved = skip = None
        try:
            for service in services_of(function):
                session.start_service(service)
            proved = function(test)
            assert isinstance(proved, str) and proved, "a test returns what it has proved"
        except kit.Skip as why:
            skip = str(why)
        except BaseException as error:  # noqa: BLE001 - also what a thread would swallow
            trouble = describe(error)
        try:
            test.close(failed=trouble is not None)
        except Exception as error:  # noqa: BLE001 - a program of ours that does not end well fails its test
            trouble = (trouble or "") + "at its end: " + describe(error)
        seconds = time.monotonic() - start
        with self.lock:
            if trouble:
                self.failed[name] = trouble.splitlines()[0]
                self.line("FAILED", name, seconds, trouble)
                print(f"        what it left: {test.folder}", flush=True)
            elif skip:
                self.skipped.append(f"{name}: {skip}")
                self.line("skipped", name, seconds, skip)
            else:
                self.passed += 1
                self.line("ok", name, seconds, proved)

    def run_again(self, functions, session):
        """What failed, once more: whether it fails by itself, or failed by what the machine did meanwhile."""
        for name, trouble in list(self.failed.items()):
            folder = os.path.join(session.logs, name)
            os.rename(folder, folder + ".first")
            del self.failed[name]
            self.run(name, functions[name], session)
            if name not in self.failed:
                self.unsteady.append(f"{name}: {trouble}")


def run_all(tests, session, report, jobs):
    """The parallel ones beside each other, then the others one by one."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        beside = [pool.submit(report.run, name, function, session)
                  for name, function in tests if getattr(function, "is_parallel", False)]
        for one in beside:
            one.result()
    for name, function in tests:
        if not getattr(function, "is_parallel", False):
            report.run(name, function, session)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(TOP, "build/dev/bin"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--except", nargs="*", default=[], dest="unwanted")
    parser.add_argument("--needing", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2))
    parser.add_argument("--again", type=int, default=0)
    parser.add_argument("--logs", default=os.path.join(TOP, "build/logs/e2e"))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    sys.path[:0] = [HERE, os.path.join(TOP, "tests/blackbox")]
    os.environ["MEMTAMER_BIN"] = os.path.abspath(options.bin)
    tests = find_tests(options.only, options.unwanted, options.needing)
    if options.list:
        for name, function in tests:
            print(name + (" (parallel)" if getattr(function, "is_parallel", False) else "")
                  + (f" (needs {', '.join(services_of(function))})" if services_of(function) else ""))
        return
    if not tests:
        sys.exit("no tests chosen")
    if os.environ.get(INSIDE) != "1":
        enter_cluster(sorted({service for _, function in tests for service in services_of(function)}))
    import kit
    logs = os.path.abspath(options.logs)
    shutil.rmtree(logs, ignore_errors=True)
    session = kit.Session(logs)
    report = Report()
    try:
        run_all([row for row in tests if not services_of(row[1])], session, report, options.jobs)
        run_all([row for row in tests if services_of(row[1])], session, report, options.jobs)
        if len(report.failed) <= options.again:
            report.run_again(dict(tests), session)
    finally:
        session.close()
    print(f"passed {report.passed}\nfailed {len(report.failed)}")
    for line in report.skipped:
        print(f"skipped {line}")
    for line in report.unsteady:
        print(f"unsteady {line}")
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
