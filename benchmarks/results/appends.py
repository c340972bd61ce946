"""Tables of docs/results/appended.md."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from columns import Made, Stored, numbers, rounded

APPENDED = {
    "ES": "es", "GS": "gs", "LS": "ls", "AFF hard": "aff_hard", "ANF hard": "anf_hard",
    "AFF random": "aff_random", "ANF random": "anf_random",
}  # fmt: skip


def appended(outputs: Sequence[str], before: Stored) -> Made:
    """PEAK's table in percent, with bootstrap intervals over requests."""
    columns = [{"title": "method"}, *_means(APPENDED)]
    rows = []
    for row in json.loads(outputs[0])["rows"]:
        name = row["method"] + {"bare": "", "+": "+"}.get(row["variant"], f" {row['variant']}")
        rows.append([name, *_percent(row, APPENDED.values())])
    return columns, rows


HARD = {title: APPENDED[title] for title in ("ES", "AFF hard", "ANF hard")}
"""What the tables about parts of APP show."""


def without(outputs: Sequence[str], before: Stored) -> Made:
    """APP whole, and without each of its losses."""
    rows = [
        [row["method"], row["variant"], *_percent(row, HARD.values())]
        for row in json.loads(outputs[0])["rows"]
        if row["variant"].startswith("APP")
    ]
    return [{"title": "method"}, {"title": "variant"}, *_means(HARD)], rows


def neighbours(outputs: Sequence[str], before: Stored) -> Made:
    """APP with k correct and k false answers, in the order of k; 0 is the bare method."""
    places: dict[str, tuple[float, str]] = {"bare": (0, "0 (bare)"), "APP": (math.inf, "all")}
    rows = []
    for row in json.loads(outputs[0])["rows"]:
        k = row["variant"].removeprefix("APP k=")
        place, name = places.get(k) or (float(k), k)
        rows.append((place, [row["method"], name, *_percent(row, HARD.values())]))
    columns = [{"title": "method"}, {"title": "answers of each kind"}, *_means(HARD)]
    return columns, [cells for _, cells in sorted(rows, key=lambda row: row[0])]


def _means(metrics: Stored) -> list[dict[str, Any]]:
    """Columns of means in percent with their intervals."""
    return [{"title": title, "digits": 1, "bounds": 1} for title in metrics]


def _percent(row: Stored, metrics: Iterable[str]) -> list[Any]:
    """Means of a row in percent, with the interval where it differs from the mean."""
    cells: list[Any] = []
    for name in metrics:
        # ES, GS and LS have a prefix in stored scores.
        mean = row["means"].get(name) or row["means"][f"append_{name}"]
        value, low, high = (
            None if mean[key] is None else 100 * mean[key] for key in ("value", "low", "high")
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
