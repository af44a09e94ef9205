#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the black-box tests: run.py --bin build/dev/bin [--sample] [--under valgrind|setarch] [NAME...]

NAME picks tests whose full name contains it. --sample runs only classes with `sample = True`: every path, not every
case. --under puts every program of ours under valgrind, or (for ThreadSanitizer) under `setarch -R`."""
import argparse
import os
import platform
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
VALGRIND = ("valgrind -q --vgdb=no --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect "
            "--show-leak-kinds=definite,indirect --child-silent-after-fork=yes "
            f"--suppressions={os.path.join(HERE, 'valgrind.supp')}")
WRAPS = {"valgrind": VALGRIND, "setarch": f"setarch {platform.machine()} -R"}


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--under", choices=sorted(WRAPS))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ["MEMTAMER_BIN"] = os.path.abspath(options.bin)
    if options.under:
        os.environ["MEMTAMER_WRAP"] = WRAPS[options.under]
    sys.path.insert(0, HERE)
    folders = sorted({folder for folder, _, files in os.walk(HERE)
                      if any(name.startswith("test_") and name.endswith(".py") for name in files)})
    chosen = unittest.TestSuite()
    for folder in folders:
        for test in flatten(unittest.TestLoader().discover(folder, top_level_dir=folder)):
            is_broken = type(test).__name__ == "_FailedTest"
            if options.sample and not (is_broken or getattr(test, "sample", False)):
                continue
            if options.names and not (is_broken or any(name in test.id() for name in options.names)):
                continue
            chosen.addTest(test)
    if not chosen.countTestCases():
        sys.exit("no tests chosen")
    result = unittest.TextTestRunner(verbosity=2).run(chosen)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
