"""The frontier of a co-edit as a drawing of its page, whose points lead to the rounds' edits."""

from __future__ import annotations

from typing import Any

from ...leakcut.coedit import frontier_table
from ...leakcut.schemas import CoEditOut
from .charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis


def plot(out: CoEditOut) -> dict[str, Any]:
    """IFR against the loss of the facts not edited, one point a round, as pixels.

    A filled point keeps the first edit; the chosen one is ringed. Each leads to its edit's page.
    """
    points = frontier_table.points(out)
    right = max([0.1, *(point.lost for point in points)])
    left = min([0.0, *(point.lost for point in points)])
    x = Axis(left, right * 1.05, LEFT + 8, WIDTH - RIGHT - 8)
    y = Axis(0.0, max([0.1, *(point.ifr for point in points)]) * 1.1, HEIGHT - BOTTOM, TOP)
    edits = {row.number: row.edit for row in out.rounds}
    spots = [
        {
            "x": x.at(point.lost), "y": y.at(point.ifr), "edit": edits[point.number],
            "label": str(point.facts), "installed": point.installed, "chosen": point.chosen,
            "title": f"Round {point.number}: {point.facts} facts edited, IFR {point.ifr:.3f},"
            f" {point.lost:.3f} of Preservation lost",
        }
        for point in points
    ]  # fmt: skip
    path = " ".join(f"{'L' if i else 'M'}{s['x']} {s['y']}" for i, s in enumerate(spots))
    return {
        "spots": spots, "path": path, "x_ticks": x.ticks, "y_ticks": y.ticks, "width": WIDTH,
        "height": HEIGHT, "left": LEFT, "bottom": HEIGHT - BOTTOM, "right": WIDTH - RIGHT,
        "top": TOP,
    }  # fmt: skip
