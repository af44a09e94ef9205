#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table_cells.py SOURCE: a cell of a table in README.md, docs/ and the chart's README has one sentence and at most
CELL_MAX characters. table_cells.py --selftest: the check finds what it must find, and nothing else."""
import re
import sys
from pathlib import Path

CELL_MAX = 240


def cells(text):
    """Line number and text of each cell of each table; code blocks are left out."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code and line.startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1])


def fault(cell):
    """What is wrong with a cell, or nothing."""
    if len(cell) > CELL_MAX:
        return f"{len(cell)} characters, more than {CELL_MAX}"
    if re.search(r"\. +[A-Z0-9`]", re.sub(r"`[^`]*`", "`", cell)):
        return "more than one sentence"
    return None


def faults(name, text):
    return [f"{name}:{number}: {why}: {cell}" for number, cell in cells(text) if (why := fault(cell))]


def selftest():
    rows = {"| a | One sentence. |": 0, "| a | One. Two. |": 1, "| e. g. small | 1. b |": 0, "| `x. Y` | b |": 0,
            "| One. `two` |": 1, "| One. 100 two. |": 1,
            "| One. Two | Three. Four |": 2, "| " + "a" * CELL_MAX + " |": 0, "| " + "a" * (CELL_MAX + 1) + " |": 1,
            r"| a\| One | b |": 0, "Text. More | text.": 0, "```\n| One. Two |\n```": 0, "```\n```\n| One. Two |": 1}
    for text, n in rows.items():
        assert len(faults("page", text)) == n, text


if sys.argv[1] == "--selftest":
    selftest()
    sys.exit()
root = Path(sys.argv[1])
pages = {page: page.read_text(encoding="utf-8")
         for page in [root / "README.md", root / "charts/memtamer/README.md", *sorted(root.glob("docs/*.md"))]}
assert sum(1 for text in pages.values() for _ in cells(text)) > 1000, "nothing was read"
found = [line for page, text in pages.items() for line in faults(page.relative_to(root), text)]
print("\n".join(found) or f"{len(pages)} pages")
sys.exit(bool(found))
