"""Numbers and counts as text: every place that shows a number to a reader formats it here."""

from __future__ import annotations

import math
import re

UNDEFINED = "–"
"""Shown in place of a value that is not defined."""


def number(value: float | None, missing: str = UNDEFINED) -> str:
    """Three decimals: `0.284`; `missing` for None and NaN."""
    return missing if value is None or math.isnan(value) else f"{value:.3f}"


def least(value: float) -> str:
    """A small probability with one digit that counts: `0.0003`, `2e-09`."""
    return number(value) if value >= 0.01 or not value else f"{value:.1g}"


def fine(value: float | None) -> str:
    """Five decimals: `0.48399`, for values of which small differences count."""
    return UNDEFINED if value is None or math.isnan(value) else f"{value:.5f}"


def cell(value: object) -> str:
    """A value of any type: floats with three decimals, `yes` or `no`, texts unchanged."""
    if value is None or isinstance(value, float):
        return number(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def signed(delta: float | None) -> str:
    """A difference with its sign: `+0.120`; an exact zero as `0`."""
    if delta is None or math.isnan(delta):
        return UNDEFINED
    return "0" if delta == 0 else f"{delta:+.3f}"


def interval(bounds: tuple[float, float] | None) -> str:
    """Two bounds: `[0.21, 0.66]`."""
    return UNDEFINED if bounds is None else f"[{bounds[0]:.2f}, {bounds[1]:.2f}]"


def with_interval(value: object, low: float | None, high: float | None) -> str:
    """A value with its 95 % interval; the value alone where a bound is missing or NaN."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return cell(value)
    return f"{cell(value)} {interval((low, high))}"


def signed_interval(delta: float | None, low: float | None, high: float | None) -> str:
    """A difference with its 95 % interval, where there is one: `+0.120 [0.05, 0.21]`."""
    if delta is None or low is None or high is None:
        return signed(delta)
    return f"{signed(delta)} {interval((low, high))}"


def objects(target_true: str, target_new: str, *, appends: bool = False) -> str:
    """Return the change of the old object: `A → B`, `A + B`, `A forgotten`."""
    if not target_new:
        return f"{target_true} forgotten"
    return f"{target_true} {'+' if appends else '→'} {target_new}"


def short(value: float | None) -> str:
    """A probability or ratio as the papers' figures print it: `.93`, `.045`, `<.001`, `0`."""
    if value is None or math.isnan(value):
        return UNDEFINED
    if value == 0:
        return "0"
    if value < 0.001:
        return "<.001"
    if value >= 100:
        return f"{value:.0f}"
    text = f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    return text.removeprefix("0")


def least_of(threshold: float) -> str:
    """A threshold without further digits: `.5`, `.05`."""
    return f"{threshold:g}".removeprefix("0")


def two_digits(probability: float) -> str:
    """A probability in the least room: `.08`, `.00`; a rounded 1 as `1`."""
    text = f"{probability:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")


def percent(fraction: float) -> str:
    """A fraction as a percentage: `32 %`."""
    return f"{100 * fraction:.0f} %"


def file_size(size: int) -> str:
    """A number of bytes: `14 KB`, `2.1 MB`."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{math.ceil(size / 1000)} KB"


def pluralize(n: int, what: str) -> str:
    """A counted noun: `1 rule`, `2 rules`, `12,000 facts`, `2 entities`."""
    if n != 1:
        what = f"{what[:-1]}ies" if re.search("[^aeiou]y$", what) else f"{what}s"
    return f"{n:,} {what}"
