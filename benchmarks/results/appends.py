"""Tables of docs/results/appended.md."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from columns import Made, Stored, numbers, rounded

APPENDED = ("ES", "GS", "LS", "AFF hard", "ANF hard", "AFF random", "ANF random")


def appended(outputs: Sequence[str], before: Stored) -> Made:
    """PEAK's table in percent, with bootstrap intervals over requests."""
    columns = [{"title": "method"}, *_means(APPENDED)]
    rows = []
    for row in json.loads(outputs[0])["table"]:
        name = row["Method"] + {"bare": "", "+": "+"}.get(row["Variant"], f" {row['Variant']}")
        rows.append([name, *_percent(row, APPENDED)])
    return columns, rows


HARD = ("ES", "AFF hard", "ANF hard")
"""What the tables about parts of APP show."""


def without(outputs: Sequence[str], before: Stored) -> Made:
    """APP whole, and without each of its losses: one sweep each."""
    rows = [
        [row["Method"], row["Variant"], *_percent(row, HARD)]
        for output in outputs
        for row in json.loads(output)["table"]
        if row["Variant"].startswith("APP")
    ]
    rows.sort(key=lambda row: row[0])
    return [{"title": "method"}, {"title": "variant"}, *_means(HARD)], rows


def neighbours(outputs: Sequence[str], before: Stored) -> Made:
    """APP with k correct and k false answers, in the order of k; 0 is the bare method."""
    places: dict[str, tuple[float, str]] = {"bare": (0, "0 (bare)"), "APP": (math.inf, "all")}
    rows = []
    for row in json.loads(outputs[0])["table"]:
        k = row["Variant"].removeprefix("APP k=")
        place, name = places.get(k) or (float(k), k)
        rows.append((place, [row["Method"], name, *_percent(row, HARD)]))
    columns = [{"title": "method"}, {"title": "answers of each kind"}, *_means(HARD)]
    return columns, [cells for _, cells in sorted(rows, key=lambda row: row[0])]


def _means(titles: Iterable[str]) -> list[dict[str, Any]]:
    """Columns of means in percent with their intervals."""
    return [{"title": title, "digits": 1, "bounds": 1} for title in titles]


def _percent(row: Stored, titles: Iterable[str]) -> list[Any]:
    """Means of a row in percent, with the interval where it differs from the mean."""
    cells: list[Any] = []
    for title in titles:
        value, low, high = (
            None if row[f"{title}{end}"] is None else 100 * row[f"{title}{end}"]
            for end in ("", ".low", ".high")
        )
        cells.append(rounded(value if low == high else [value, low, high]))
    return cells


def paired(outputs: Sequence[str], before: Stored) -> Made:
    """APP minus the bare method on the same requests, for hard answers and ES."""
    columns = [
        {"title": "method"}, {"title": "metric"},
        {"title": "APP − bare (95 %)", "digits": 3, "bounds": 3}, {"title": "p (t-test)"},
        *numbers(["requests"], 0),
    ]  # fmt: skip
    rows = []
    for metric in ("AFF hard", "ANF hard", "ES"):
        for row in json.loads(outputs[0]):
            if row["Variant"] == "APP" and row["Metric"] == metric:
                difference = [row[key] for key in ("Value", "Low", "High")]
                p = row["p (t-test)"]
                told = None if p is None else "< .001" if p < 0.001 else f"{p:.3f}"
                cell = None if difference[0] is None else rounded(difference)
                rows.append([row["Method"], metric, cell, told, row["n"]])
    return columns, rows
