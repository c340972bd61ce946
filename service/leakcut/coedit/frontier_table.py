"""The frontier of a co-edit as a table, a figure and a list of facts, one place for all surfaces.

Commands, pages, REST and files (Markdown, LaTeX, CSV, JSON) show these columns. A mean has the
number of its facts beside it; an undefined value is a dash or an empty cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ...formatting import number, pluralize, with_interval
from ...reports.figures import frontier
from ...reports.figures.style import encode
from ...reports.formats import Column
from ..schemas import CoEditFact, CoEditOut, RoundOut

SOURCES = {
    "given": "given",
    "rule": "follows by a rule from the edit",
    "relation": "another object of the relation",
    "entity": "another entity",
    "unknown": "unknown",
}
"""Source of a new object, in words."""

_MEANS = (
    ("Co-edits", "coedit_efficacy", "n_coedits"),
    ("Preservation", "preservation", "n_preservation"),
    ("Not edited", "preservation_unedited", "n_preservation_unedited"),
    ("Subject", "subject_retention", "n_subject_retention"),
    ("Co-edited subjects", "coedited_retention", "n_coedited_retention"),
)
"""Header, value and count of the columns that are means over facts."""

OPTIONAL = {
    "Co-edits": 1,
    "Preservation": 1,
    "Subject": 3,
    "Not edited": 4,
    "Co-edited subjects": 4,
}
"""Order in which a narrow terminal omits these columns: the highest first."""

CAPTION = (
    "Facts: edited together, from the unedited model. Leaking: chains with R'/R above {leak:g}, of"
    " all. Efficacy: of the first request, and the mean of the co-edits (their number)."
    " Preservation as the paper defines it, and over the facts that were not edited. Subject:"
    " retention of its facts that were not edited; co-edited subjects: of their other facts. In"
    " parentheses the number of facts."
)


def columns(out: CoEditOut) -> list[Column[RoundOut]]:
    """The columns for readers: intervals and counts are beside the value."""
    return [
        Column("Round", lambda row: row.number, whole=True),
        Column("Facts", lambda row: row.facts, whole=True),
        Column("IFR", lambda row: with_interval(row.ifr, row.ifr_low, row.ifr_high), whole=True),
        Column("Leaking", lambda row: f"{row.leaking} / {row.n_chains}", whole=True, optional=2),
        Column("Efficacy", lambda row: row.efficacy, whole=True),
        *(
            Column(header, _mean(value, n), whole=True, optional=OPTIONAL[header])
            for header, value, n in _MEANS
        ),
        Column("", lambda row: marks(out, row), whole=True),
    ]


def numbers(out: CoEditOut) -> list[Column[RoundOut]]:
    """The columns for programs: one number a cell, counts and bounds in columns of their own."""
    return [
        Column("Round", lambda row: row.number),
        Column("Edit", lambda row: row.edit),
        Column("Facts", lambda row: row.facts),
        Column("IFR", lambda row: row.ifr),
        Column("IFR low", lambda row: row.ifr_low),
        Column("IFR high", lambda row: row.ifr_high),
        Column("Leaking", lambda row: row.leaking),
        Column("Surviving", lambda row: row.surviving),
        Column("Chains", lambda row: row.n_chains),
        Column("Efficacy", lambda row: row.efficacy),
        *(
            column
            for header, value, n in _MEANS
            for column in (Column(header, _field(value)), Column(f"n {header}", _field(n)))
        ),
        Column("Chosen", lambda row: row.number == out.chosen),
        Column("Meets", lambda row: row.meets),
    ]


def marks(out: CoEditOut, row: RoundOut) -> str:
    """Remarks on a round: chosen, or that it lost the first edit."""
    said = ["chosen"] if row.number == out.chosen else []
    if not row.reaches:
        said.append("edit lost")
    if row.opened:
        said.append(f"{pluralize(row.opened, 'new object')} leads to the old one")
    return ", ".join(said)


def caption(out: CoEditOut) -> str:
    """Return the caption: the meaning of the columns, and the basis of the rounds."""
    leak = out.request.get("cut", {}).get("leak", 0.1)
    return CAPTION.format(leak=leak)


def title(out: CoEditOut) -> str:
    """The rewrite and the method, in a line."""
    return f"{out.subject}: {out.target_true} → {out.target_new} ({out.method}, {out.model})"


@dataclass(frozen=True, slots=True)
class Added:
    """The facts that a round edits for the first time."""

    number: int
    facts: Sequence[CoEditFact]


def added(out: CoEditOut) -> list[Added]:
    """For each round after the first, its new facts with their values in that round."""
    return [
        Added(row.number, [fact for fact in row.coedits if fact.added == row.number])
        for row in out.rounds[1:]
    ]


FACTS: list[Column[CoEditFact]] = [
    Column("Round", lambda fact: fact.added),
    Column("Fact", lambda fact: f"{fact.subject}, {fact.relation}"),
    Column("Old object", lambda fact: fact.object),
    Column("New object", lambda fact: fact.target_new),
    Column("Chosen as", lambda fact: SOURCES[fact.source], optional=2),
    Column(
        "p of the old", lambda fact: _change(fact.old_pre, fact.old_post), whole=True, optional=1
    ),
    Column("p of the new", lambda fact: _change(fact.new_pre, fact.new_post), whole=True),
]
"""Columns of the further facts that a round edits; the last p is the co-edit's efficacy."""


def facts(out: CoEditOut) -> list[CoEditFact]:
    """The further facts of all rounds, each as measured in the round that edited it first."""
    return [fact for each in added(out) for fact in each.facts]


def points(out: CoEditOut) -> list[frontier.Point]:
    """The rounds as points of the figure; those without a value on either axis are left out."""
    return [
        frontier.Point(
            number=row.number,
            facts=row.facts,
            ifr=row.ifr,
            lost=1 - row.preservation_unedited,
            installed=row.reaches and (row.efficacy or 0) >= frontier.INSTALLED,
            chosen=row.number == out.chosen,
            low=row.ifr_low,
            high=row.ifr_high,
        )
        for row in out.rounds
        if row.ifr is not None and row.preservation_unedited is not None
    ]


def figure(out: CoEditOut, fmt: str) -> bytes:
    """The frontier as a PNG, SVG or PDF.

    Raises:
        UsageError: another format.
    """
    counts = sorted({row.n_preservation_unedited for row in out.rounds})
    kept = pluralize(counts[-1], "fact")
    kept = kept if len(counts) == 1 else f"{counts[0]} to {kept}"
    chains = pluralize(out.rounds[0].n_chains, "chain")
    words = f"n = {chains}; {kept} not edited. Co-edit {out.id} on {out.model}."
    return encode(partial(frontier.draw, points(out), title(out), words), fmt, f"frontier {out.id}")


def _mean(value: str, n: str) -> Callable[[RoundOut], str]:
    def get(row: RoundOut) -> str:
        found = getattr(row, value)
        return number(found) if found is None else f"{number(found)} ({getattr(row, n)})"

    return get


def _field(name: str) -> Callable[[RoundOut], object]:
    return lambda row: getattr(row, name)


def _change(before: float | None, after: float | None) -> str:
    return f"{number(before)} → {number(after)}"
