"""The figure of drift: its bars are the fractions of each line, and nothing is drawn of nothing."""

from __future__ import annotations

import pytest

from thinkeval.service.reports.series_figures import CHANGES, Bar, draw_drift

COUNTS = {"kept": 3, "weakened": 2, "replaced": 0, "lost": 4, "added": 0, "unknown": 1}


def test_bars_have_the_fractions_of_their_lines_and_their_numbers() -> None:
    none = dict.fromkeys(CHANGES, 0)
    groups = [[Bar("all facts", COUNTS, 0.25)], [], [Bar("owned", none | {"kept": 2}, 0.0)]]
    axes = draw_drift(groups, "A → B", "caption").axes[0]
    bars = [patch for patch in axes.patches if patch.get_width() > 0]
    first = [patch.get_width() for patch in bars if patch.get_y() < 0.5]
    assert first == pytest.approx([0.3, 0.2, 0.4, 0.1])
    assert sum(patch.get_width() for patch in bars) == pytest.approx(2)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all facts", "owned"]
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["10", "0.250", "2", "0.000", "facts", "moved"]


def test_without_a_fact_it_says_so() -> None:
    figure = draw_drift([[Bar("all facts", dict.fromkeys(CHANGES, 0), None)]], "A → B", "caption")
    assert not figure.axes
    assert any("No fact" in text.get_text() for text in figure.texts)
