# SPDX-License-Identifier: Apache-2.0
"""Draws docs/flow.svg from docs/flow.txt; docs/generate calls it."""
import re

WIDTH, HEIGHT, COLUMN, ROW, LEFT, TOP, TIP = 150, 60, 210, 135, 20, 30, 2
HEAD = """\
<!-- Made by docs/generate from flow.txt; do not edit. -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="14" role="img" \
aria-label="Runs are measured by Prometheus, the recommender learns from it and writes MemoryProfiles, and the webhook sizes the next run with \
them.">
  <style>
    .box { fill: none; stroke: #57606a; stroke-width: 1.5 }
    .ours { stroke: #1a7f37; stroke-width: 2.5 }
    .line { fill: none; stroke: #57606a; stroke-width: 1.5; marker-end: url(#tip) }
    text { fill: #24292f; text-anchor: middle }
    .small { font-size: 12px; fill: #57606a }
    #tip path { fill: #57606a }
    @media (prefers-color-scheme: dark) {
      .box, .line { stroke: #8b949e } .ours { stroke: #3fb950 } text { fill: #e6edf3 } .small { fill: #9da7b3 } #tip path { fill: #8b949e }
    }
  </style>
  <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse">\
<path d="M0 0 10 5 0 10z"/></marker></defs>"""


class Box:
    def __init__(self, column, row, is_ours, text):
        self.x, self.y = LEFT + COLUMN * (int(column) - 1), TOP + ROW * (int(row) - 1)
        self.right, self.bottom = self.x + WIDTH, self.y + HEIGHT
        self.middle, self.centre = self.x + WIDTH // 2, self.y + HEIGHT // 2
        self.is_ours, self.lines = is_ours, [line.strip() for line in text.split("/")]

    def svg(self):
        kind = "box ours" if self.is_ours else "box"
        yield f'  <rect class="{kind}" x="{self.x}" y="{self.y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        if len(self.lines) == 1:
            yield f'  <text x="{self.middle}" y="{self.centre + 5}">{self.lines[0]}</text>'
            return
        yield f'  <text x="{self.middle}" y="{self.centre - 4}">{self.lines[0]}</text>'
        yield f'  <text class="small" x="{self.middle}" y="{self.centre + 16}">{self.lines[1]}</text>'


def line(path):
    return f'  <path class="line" d="{path}"/>'


def arrow(one, other, is_both, text):
    """In a row: straight. To a lower row: down, then left. To a higher row: up, left, up, with the text at the bend."""
    if one.y == other.y and is_both:
        yield line(f"M{one.right} {one.centre - 10}H{other.x - TIP}")
        yield line(f"M{other.x} {one.centre + 13}H{one.right + TIP}")
    elif one.y == other.y:
        yield line(f"M{one.right} {one.centre}H{other.x - TIP}")
    elif one.y < other.y:
        yield line(f"M{one.middle} {one.bottom}V{other.centre}H{other.right + TIP}")
    else:
        bend = (one.y + other.bottom) // 2
        yield line(f"M{one.middle} {one.y}V{bend}H{other.middle}V{other.bottom + TIP}")
        yield f'  <text class="small" x="{(one.middle + other.middle) // 2}" y="{bend - 6}">{text}</text>'


def draw(source):
    boxes, arrows = {}, []
    for number, row in enumerate(source.splitlines(), 1):
        box = re.fullmatch(r"(\w+): (\d) (\d) (ours )?(.+)", row)
        joined = re.fullmatch(r"(\w+) (<?)-> (\w+)(?:: (.+))?", row)
        if box:
            boxes[box[1]] = Box(box[2], box[3], bool(box[4]), box[5])
        elif joined:
            arrows += arrow(boxes[joined[1]], boxes[joined[3]], bool(joined[2]), joined[4] or "")
        else:
            assert not row or row.startswith("#"), f"flow.txt:{number}: {row}"
    width, height = (max(getattr(box, end) for box in boxes.values()) + 20 for end in ("right", "bottom"))
    head = HEAD.replace("{width}", str(width)).replace("{height}", str(height))
    return "\n".join([head, *(text for box in boxes.values() for text in box.svg()), *arrows, "</svg>"]) + "\n"
