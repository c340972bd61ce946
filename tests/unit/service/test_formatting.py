"""Numbers and counts as text, for terminal, reports and web UI."""

from __future__ import annotations

import math

from thinkeval.service.base import formatting


def test_numbers_have_three_decimals_and_undefined_ones_a_dash() -> None:
    shown = [formatting.number(x) for x in (0.2845, 0.0, 12.0, None, math.nan)]
    assert shown == ["0.284", "0.000", "12.000", "–", "–"]
    assert formatting.number(math.nan, "--") == "--"


def test_cells_take_any_value() -> None:
    values = (0.5, math.nan, None, True, False, 7, "text", 0)
    assert [formatting.cell(v) for v in values] == [
        "0.500", "–", "–", "yes", "no", "7", "text", "0",
    ]  # fmt: skip


def test_differences_have_a_sign() -> None:
    assert [formatting.signed(x) for x in (0.12, -0.5, 0.0, None, math.nan)] == [
        "+0.120", "-0.500", "0", "–", "–",
    ]  # fmt: skip


def test_intervals_stand_behind_their_value() -> None:
    assert formatting.interval((0.104, 0.5)) == "[0.10, 0.50]"
    assert formatting.interval(None) == "–"
    assert formatting.with_interval(0.2345, 0.1, 0.5) == "0.234 [0.10, 0.50]"
    assert formatting.with_interval(0.2345, 0.1, math.nan) == "0.234"
    assert formatting.with_interval(None, None, None) == "–"


def test_short_numbers_are_those_of_the_papers_figures() -> None:
    values = (None, math.nan, 0.0, 1.0, 0.934, 0.0451, 1e-5, 250.0)
    assert [formatting.short(x) for x in values] == [
        "–", "–", "0", "1.00", ".93", ".045", "<.001", "250",
    ]  # fmt: skip
    assert [formatting.two_digits(x) for x in (0.08, 0.001, 0.999, 0.5)] == [
        ".08", ".00", "1", ".50",
    ]  # fmt: skip


def test_percentages_sizes_and_counts() -> None:
    assert formatting.percent(0.321) == "32 %"
    assert [formatting.file_size(n) for n in (14_000, 14_001, 2_100_000)] == [
        "14 KB", "15 KB", "2.1 MB",
    ]  # fmt: skip
    assert [formatting.pluralize(n, "rule") for n in (0, 1, 2, 12_000)] == [
        "0 rules", "1 rule", "2 rules", "12,000 rules",
    ]  # fmt: skip
    assert [formatting.pluralize(n, "new entity") for n in (1, 2)] == [
        "1 new entity",
        "2 new entities",
    ]
    assert formatting.pluralize(2, "key") == "2 keys"
