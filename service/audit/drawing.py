"""Inline SVG of an audit: a chain as a path with its probabilities, two bars for one fact.

Colours are classes of the document's style sheet, so that light, dark and print each have theirs. A
drawing has no ids, and its content as a text for readers who do not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..formatting import short
from ..reports.leakage_map.text import wrapped

WIDTH = 340
STEP = 46
"""Height of one fact, from entity to entity."""
LINE, TEXT, BARS, NUMBERS = 10, 26, 214, 280
"""Places in a row: the line, texts, the two bars, the two numbers."""
LETTERS = 12.0
BAR_WIDTH = 60
FACT_WIDTH = 96


@dataclass(frozen=True, slots=True)
class Step:
    """One fact of a chain.

    Attributes:
        implied: True if a rule concludes it.
    """

    relation: str
    object: str
    before: float | None
    after: float | None
    implied: bool = False


def chain(subject: str, steps: Sequence[Step], state: str) -> Markup:
    """A chain from top to bottom: entities, and between two of them relation, bars and numbers."""
    height = 28 + STEP * len(steps)
    parts = [
        Markup('<line class="way" x1="{0}" y1="14" x2="{0}" y2="{1}"/>').format(LINE, height - 14),
        _entity(subject, 14),
    ]
    for number, step in enumerate(steps):
        y = 14 + STEP * number
        parts += [_fact(step, y + STEP // 2), _entity(step.object, y + STEP)]
    label = subject + "".join(
        f"; {_words(step.relation)}{' (by a rule)' * step.implied} {step.object}:"
        f" {short(step.before)} before, {short(step.after)} after"
        for step in steps
    )
    return Markup(
        '<svg class="chain {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(state, WIDTH, height, label, Markup("").join(parts))


def _entity(name: str, y: int) -> Markup:
    text = _fitted(name, WIDTH - TEXT - 4)
    return Markup(
        '<circle class="stop" cx="{}" cy="{}" r="5"/><text class="name" x="{}" y="{}">{}</text>'
    ).format(LINE, y, TEXT, y + 4, text)


def _fact(step: Step, y: int) -> Markup:
    relation = ("∴ " if step.implied else "") + _words(step.relation)
    return Markup(
        '<text class="relation" x="{}" y="{}">{}</text>{}<text class="p" x="{}" y="{}">{}</text>'
    ).format(
        TEXT, y + 4, _fitted(relation, BARS - TEXT - 8),
        _bars(step.before, step.after, BARS, y, BAR_WIDTH), NUMBERS, y + 4,
        f"{short(step.before)} → {short(step.after)}",
    )  # fmt: skip


def bars(before: float | None, after: float | None) -> Markup:
    """A fact's two probabilities, that before above that after."""
    label = f"{short(before)} before, {short(after)} after"
    return Markup(
        '<svg class="bars" viewBox="0 0 {0} 16" width="{0}" height="16" role="img"'
        ' aria-label="{1}">{2}</svg>'
    ).format(FACT_WIDTH, label, _bars(before, after, 0, 8, FACT_WIDTH))


def _bars(before: float | None, after: float | None, x: int, y: int, width: int) -> Markup:
    parts = [
        Markup('<rect class="room" x="{}" y="{}" width="{}" height="14"/>').format(x, y - 7, width)
    ]
    for name, value, top in (("before", before, y - 6), ("after", after, y + 1)):
        if value is not None:
            long = round(width * min(1.0, max(0.0, value)), 1)
            parts.append(
                Markup('<rect class="{}" x="{}" y="{}" width="{}" height="5"/>').format(
                    name, x, top, long
                )
            )
    return Markup("").join(parts)


def _fitted(text: str, width: float) -> str:
    """The text in one line, cut at its end where it is too wide."""
    return next(iter(wrapped(text, width, LETTERS, 1)), "")


def _words(relation: str) -> str:
    return relation.replace("-", " ").replace("_", " ")
