#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the black-box tests: run.py --bin build/dev/bin [--valgrind] [NAME...]

NAME picks tests whose full name contains it. With --valgrind every program of ours runs under valgrind, and only tests
of classes with `valgrind = True` run: a sample of every path, not every case."""
import argparse
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
VALGRIND = ("valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect "
            "--show-leak-kinds=definite,indirect --child-silent-after-fork=yes "
            f"--suppressions={os.path.join(HERE, 'valgrind.supp')}")


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--valgrind", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ["MEMTAMER_BIN"] = os.path.abspath(options.bin)
    if options.valgrind:
        os.environ["MEMTAMER_WRAP"] = VALGRIND
    sys.path.insert(0, HERE)
    folders = sorted({folder for folder, _, files in os.walk(HERE)
                      if any(name.startswith("test_") and name.endswith(".py") for name in files)})
    chosen = unittest.TestSuite()
    for folder in folders:
        for test in flatten(unittest.TestLoader().discover(folder, top_level_dir=folder)):
            is_broken = type(test).__name__ == "_FailedTest"
            if options.valgrind and not (is_broken or getattr(test, "valgrind", False)):
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
