#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the tests of the chart: run.py [--write-rbac] [NAME...]; NAME picks tests whose full name contains it.

--write-rbac writes rbac.txt again, to be looked at, and runs nothing. The tests need helm as tests/cluster/build makes it; those of test_cluster.py bring up a cluster of their own (root)."""
import sys
import unittest
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)


def main():
    sys.path[:0] = [HERE, str(Path(HERE).parent / "blackbox")]
    if sys.argv[1:] == ["--write-rbac"]:
        import test_rbac
        test_rbac.GOLDEN.write_text(test_rbac.golden())
        return
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{name}*" for name in sys.argv[1:]] or None
    suite = loader.discover(HERE, top_level_dir=HERE)
    if not suite.countTestCases():
        sys.exit("no tests chosen")
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())


if __name__ == "__main__":
    main()
