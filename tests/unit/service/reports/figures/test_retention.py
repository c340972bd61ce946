"""The curve of retention over states: its points, and its sentence where nothing is defined."""

from __future__ import annotations

from functools import partial

import pytest

from thinkeval.service.reports import series_figures
from thinkeval.service.reports.figure_style import encode, styled
from thinkeval.service.reports.series_figures import StatePoint

POINTS = [
    StatePoint("edit", 1.0, 0.5, 0),
    StatePoint("8bit", None, 0.75, 2),
    StatePoint("finetune:notes.txt:steps=20", 0.25, None, 0),
]


@pytest.mark.parametrize("fmt", ["svg", "png", "pdf"])
def test_the_same_points_give_the_same_bytes(fmt: str) -> None:
    draw = partial(series_figures.draw_retention, POINTS, "title", "caption")
    assert encode(draw, fmt, "t") == encode(draw, fmt, "t")


def test_both_curves_are_drawn_with_gaps_where_a_value_is_undefined() -> None:
    from matplotlib.text import Text

    with styled():
        figure = series_figures.draw_retention(POINTS, "title", "caption")
        figure.draw_without_rendering()
        (axes,) = figure.axes
        curves = {
            str(line.get_label()): [float(y) for y in line.get_ydata()] for line in axes.lines
        }
        texts = [text.get_text() for text in figure.findobj(Text)]
    assert str(curves["retention of the change"]) == "[1.0, nan, 0.25]"
    assert str(curves["IFR"]) == "[0.5, 0.75, nan]"
    assert "8bit\n(2 open again)" in texts
    assert "finetune\nnotes.txt\nsteps=20" in texts
    assert {"1.00", "0.25", "0.50", "0.75"} <= set(texts)


def test_nothing_to_draw_is_said_in_words() -> None:
    figure = series_figures.draw_retention([StatePoint("edit", None, None, 0)], "title", "caption")
    texts = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "undefined in every state" in texts
