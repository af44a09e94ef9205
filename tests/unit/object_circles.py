#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No circles between the object files of one target: a file either uses another or is used by it.

object_circles.py check BUILD     the symbols that the objects of each target define and need, as nm prints them
object_circles.py selftest        a made-up circle is found
"""
import collections
import os
import subprocess
import sys


def symbols(path):
    """The global symbols that an object defines, and those that it needs."""
    defined, needed = set(), set()
    output = subprocess.run(["nm", "--portability", "--extern-only", path], capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        name, kind = line.split()[:2]
        (needed if kind in "Uvw" else defined).add(name)
    return defined, needed


def targets(build):
    """Target -> its objects by the name of their source, of our own folders."""
    found = collections.defaultdict(dict)
    for top in ("common", "webhook", "recommender"):
        for folder, _, files in os.walk(os.path.join(build, top)):
            if ".dir" not in folder:
                continue
            target = os.path.basename(folder[:folder.index(".dir")])
            for file in files:
                if file.endswith(".c.o"):
                    found[target][file[:-4]] = os.path.join(folder, file)
    return found


def uses(objects):
    """File -> the files of the same target whose symbols it needs; `objects`: file -> (defined, needed)."""
    owner = {name: file for file, (defined, _) in objects.items() for name in defined}
    return {file: {owner[name] for name in needed if owner.get(name, file) != file}
            for file, (_, needed) in objects.items()}


def reach(start, graph):
    seen, todo = set(), [start]
    while todo:
        for file in graph[todo.pop()] - seen:
            seen.add(file)
            todo.append(file)
    return seen


def circles(graph):
    """The sets of files of which each uses each, directly or through others."""
    reached = {file: reach(file, graph) for file in graph}
    return sorted({tuple(sorted(other for other in graph if other in reached[file] and file in reached[other]))
                   for file in graph if file in reached[file]})


def check(build):
    errors = []
    all_targets = targets(build)
    if len(all_targets) < 10:
        errors.append(f"{build}: the objects of {len(all_targets)} targets are too few")
    for target, paths in sorted(all_targets.items()):
        for circle in circles(uses({file: symbols(path) for file, path in paths.items()})):
            errors.append(f"{target}: a circle of {', '.join(circle)}")
    return errors


def selftest():
    objects = {"a": ({"a_new"}, {"b_get", "free"}), "b": ({"b_get"}, {"c_get"}), "c": ({"c_get"}, {"b_get"}),
               "d": ({"d_new"}, {"a_new", "d_new"})}
    found = circles(uses(objects))
    return [] if found == [("b", "c")] else [f"found {found}"]


def main():
    errors = check(sys.argv[2]) if sys.argv[1] == "check" else selftest()
    print("\n".join(errors) or "ok")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
