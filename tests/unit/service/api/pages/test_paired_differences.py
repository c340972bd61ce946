"""Paired differences as rows of the page: bars on one scale, words beside every mark."""

from __future__ import annotations

import pytest

from thinkeval.service.reports.paired import Against, Difference
from thinkeval.service.web.pages import charts
from thinkeval.service.web.pages.render import _environment


def _row(method: str, value: float, interval: tuple[float, float] | None) -> Difference:
    p, least = (0.004 if value > 0.2 else 0.3), (0.0 if interval else 0.25)
    return Difference(
        method, "best", "ifr", None, value, interval, n=9, families=9 if interval else 3, p=p,
        detectable=0.15, p_adjusted=2 * p, least_p=least, comparisons=2,
    )  # fmt: skip


FOUND = Against(
    "m", "best", (_row("far", 0.4, (0.3, 0.5)), _row("near", 0.1, (-0.1, 0.3)))
)  # fmt: skip


def _page(found: Against) -> str:
    (table,) = charts.tables([found])
    source = (
        '{% from "_experiments_paired.html" import paired with context %}'
        "{{ paired(table, false, 'title') }}"
    )
    return _environment().from_string(source).render(table=table, access=None)


def test_bars_are_on_one_scale_around_zero() -> None:
    (table,) = charts.tables([FOUND])
    assert table.scale == 0.5
    far, near = table.rows
    unit = (charts.MIDDLE - charts.PAD) / 0.5
    assert far.at == pytest.approx(charts.MIDDLE + 0.4 * unit, abs=0.05)
    assert far.bar is not None
    assert far.bar[1] == charts.BAR_WIDTH - charts.PAD, "the largest end is at the edge"
    assert near.bar is not None
    assert near.bar[0] < charts.MIDDLE < near.bar[1], "chance: the bar covers 0"


def test_each_row_says_in_words_what_its_mark_says() -> None:
    text = _page(FOUND)
    assert text.count("counted") == 1
    assert "<strong>leaks more</strong>, real" in text
    assert "no difference found; could have seen ≥ .15" in text
    assert "adjusted by Holm over all comparisons here, 2 with" in text
    assert "+0.400 <small>[0.30, 0.50]</small>" in text


def test_without_an_interval_it_is_unknown() -> None:
    found = Against("m", "best", (_row("other", 0.4, None),))
    text = _page(found)
    assert "3 unrelated facts cannot show which method is better" in text
    assert "<td>unknown</td>" in text
    assert "<form" not in text, "the edit whose options it repeats is unknown"
    assert charts.tables([Against("m", "best", ())]) == []


def test_a_method_that_is_not_paired_is_named() -> None:
    text = _page(Against("m", "best", (), ("other is not paired with best: seed 0 and 1.",)))
    assert "other is not paired with best: seed 0 and 1." in text
    assert "<table" not in text
