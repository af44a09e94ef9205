#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""label_keys.py SOURCE: every label and annotation is a constant of common/k8s/keys.h, its text stands nowhere else in
the code, and the table of docs/LABELS.md has it. The chart uses no key that is not there."""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
header, table = root / "common/k8s/keys.h", root / "generate/docs_labels.c"
keys = {text: name for name, text in re.findall(r'^#define (KEY_\w+)\s+"([^"]+)"$', header.read_text(), re.MULTILINE)}
listed = set(re.findall(r"^\t\{(KEY_\w+),", table.read_text(), re.MULTILINE))
faults = [f"{table}: {name} is not in the tables" for name in sorted(set(keys.values()) - listed)]
assert len(keys) > 10 and listed, "nothing was read"

for folder in ("common", "webhook", "recommender", "plugin"):
    for path in sorted((root / folder).rglob("*.[ch]")):
        if path == header:
            continue
        text = path.read_text()
        for key in re.findall(r'"([\w.-]+/[\w.-]+)"', text):
            if key in keys:
                faults.append(f'{path}: "{key}" is {keys[key]} of k8s/keys.h')
            elif key.startswith("memtamer.io/") and not key.endswith("/v1alpha1"):
                faults.append(f'{path}: "{key}" is not in k8s/keys.h')
        for name in re.findall(r"memtamer\.io~1([\w-]+)", text):
            if f"memtamer.io/{name}" not in keys:
                faults.append(f"{path}: memtamer.io~1{name} is no key of k8s/keys.h")

for path in sorted((root / "charts/memtamer/templates").rglob("*.*")):
    for key in re.findall(r"(?<![\w.])memtamer\.io/[a-z-]+", path.read_text()):
        if key not in keys and "crds" not in path.parts:
            faults.append(f"{path}: {key} is not in k8s/keys.h")

print("\n".join(faults) or f"{len(keys)} keys")
sys.exit(bool(faults))
