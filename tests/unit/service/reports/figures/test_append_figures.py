"""Figures of requests to append: what they draw, and what they say where nothing is to be drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from thinkeval.service.reports import append_figures
from thinkeval.service.reports.by_kind import APPEND_COLUMNS, KINDS
from thinkeval.service.reports.figure_style import encode, styled
from thinkeval.service.reports.pooling import Mean, MeansRow


def row(variant: str, value: float | None, method: str = "rome") -> MeansRow:
    one = Mean(value, 20, 0.8 * value, 1.1 * value) if value is not None else Mean(None, 0)
    return MeansRow("organism", method, variant, {}, dict.fromkeys(APPEND_COLUMNS, one))


ROWS = [
    row(variant, value)
    for variant, value in {
        "bare": 0.8, "APP": 0.3, "APP −L1": 0.6, "APP −L2": 0.4, "APP −L3": None,
        "APP k=1": 0.7, "APP k=3": 0.5,
    }.items()
]  # fmt: skip
PAIRS = {kind: (Mean(0.2, 20, 0.1, 0.3), Mean(0.1, 20)) for kind in KINDS}


def words(draw: Callable[[], Any]) -> str:
    """All texts of a figure, in the order in which they were added; it can be written too."""
    from matplotlib.text import Text

    assert encode(draw, "svg", "t").startswith(b"<?xml")
    with styled():
        figure = draw()
        figure.draw_without_rendering()
        return "\n".join(text for each in figure.findobj(Text) if (text := each.get_text()))


@pytest.mark.parametrize(
    ("draw", "texts"),
    [
        (
            partial(append_figures.ablation, ROWS),
            ["rome APP −L2", "against hard", "against random"],
        ),
        (
            partial(append_figures.neighbours, ROWS),
            ["rome AFF", "rome ANF", "0\n0\n1\n1\n3\n3\nall\nall"],
        ),
        (
            partial(append_figures.probabilities, {f"m{i}": PAIRS for i in range(4)}),
            ["m0", "m3", "correct", "random"],
        ),
    ],
)
def test_a_figure_names_what_it_draws(draw: Callable[..., Any], texts: list[str]) -> None:
    shown = words(partial(draw, "Means."))
    for text in [*texts, "Means."]:
        assert text in shown, text


@pytest.mark.parametrize(
    ("draw", "remedy"),
    [
        (partial(append_figures.ablation, ROWS[:2]), "--axis alpha=0"),
        (partial(append_figures.neighbours, ROWS[:2]), "--axis neighbours"),
        (partial(append_figures.probabilities, {}), "has stored answers"),
    ],
)
def test_without_its_rows_a_figure_says_what_to_run(draw: Callable[..., Any], remedy: str) -> None:
    assert remedy in words(partial(draw, ""))
