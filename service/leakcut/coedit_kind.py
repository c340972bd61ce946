"""The kind of experiment `coedit`: a rewrite edited with further facts, and its frontier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ...loaders.records import digest
from ..base.formatting import number, pluralize, with_interval
from ..experiments import submit
from ..experiments.kind import Kind, Prepared, Work
from ..graphs import datasets
from ..models.edit import Measure
from ..models.leakcut import CoEditFact, CoEditIn, CoEditOut, RoundOut
from ..reports import series_figures
from ..reports.figure_style import encode
from ..reports.formats import Column, Table

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.settings import Settings
    from ..scoring.runtime import Runtime


# The frontier of a co-edit as a table, a figure and a list of facts, one place for all surfaces.
#
# Commands, pages, REST and files (Markdown, LaTeX, CSV, JSON) show these columns. A mean has the
# number of its facts beside it; an undefined value is a dash or an empty cell.

SOURCES = {
    "given": "given",
    "rule": "follows by a rule from the edit",
    "relation": "another object of the relation",
    "entity": "another entity",
    "unknown": "unknown",
    "shared": "shared with another fact, as there is no other",
}
"""Source of a new object, in words."""

_MEANS = (
    ("Co-edits", "coedit_efficacy", "n_coedits"),
    ("Preservation", "preservation", "n_preservation"),
    ("Not edited", "preservation_unedited", "n_preservation_unedited"),
    ("Subject retention", "subject_retention", "n_subject_retention"),
    ("Co-edited subjects", "coedited_retention", "n_coedited_retention"),
)
"""Header, value and count of the columns that are means over facts."""

OPTIONAL = {
    "Co-edits": 1,
    "Preservation": 1,
    "Subject retention": 3,
    "Not edited": 4,
    "Co-edited subjects": 4,
}
"""Order in which a narrow terminal omits these columns: the highest first."""

CAPTION = (
    "Facts: edited together, from the unedited model. Leaking: chains with R'/R above {leak:g}, of"
    " all. Efficacy: of the first request, and the mean of the co-edits (their number)."
    " Preservation: of all neighbours; not edited: neighbours kept, without those edited. Subject"
    " retention: of its facts that were not edited; co-edited subjects: of their other facts. In"
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


def points(out: CoEditOut) -> list[series_figures.Point]:
    """The rounds as points of the figure; those without a value on either axis are left out."""
    return [
        series_figures.Point(
            number=row.number,
            facts=row.facts,
            ifr=row.ifr,
            lost=1 - row.preservation_unedited,
            installed=row.reaches and (row.efficacy or 0) >= series_figures.INSTALLED,
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
    return encode(
        partial(series_figures.draw_frontier, points(out), title(out), words),
        fmt,
        f"frontier {out.id}",
    )


def _mean(value: str, n: str) -> Callable[[RoundOut], str]:
    def get(row: RoundOut) -> str:
        found = getattr(row, value)
        return number(found) if found is None else f"{number(found)} ({getattr(row, n)})"

    return get


def _field(name: str) -> Callable[[RoundOut], object]:
    return lambda row: getattr(row, name)


def _change(before: float | None, after: float | None) -> str:
    return f"{number(before)} → {number(after)}"


def _prepare(db: Database, settings: Settings, request: CoEditIn) -> Prepared[CoEditIn]:
    from .coedit import check, id_of

    submit.check(settings, request)
    datasets.get_or_import(db, request.graph)
    rewrite = submit.rewrite_of(db, request)
    check(request, rewrite)
    about = request.model_dump(mode="json", exclude={"rewrite"})
    return Prepared(
        request=request.model_copy(update={"rewrite": rewrite.id}),
        id=id_of(db, request, rewrite),
        body=digest([about, rewrite.identity], 16),
        affinity=submit.affinity(request),
        total=request.rounds + 1,
        rewrites=[rewrite],
    )


def _run(runtime: Runtime, request: CoEditIn, work: Work) -> CoEditOut:
    from ..graphs.datasets import own_or_stored
    from .coedit import co_edit  # imports numpy

    def report(row: RoundOut) -> None:
        ifr = "–" if row.ifr is None else f"{row.ifr:.3f}"
        words = f"round {row.number}: {row.facts} facts edited, IFR {ifr}"
        work.enter(words, min((row.number + 1) / (request.rounds + 1), 1.0))

    work.enter("the edit alone", 0.0)
    rewrite = own_or_stored(runtime.db, request.graph, str(request.rewrite))
    return co_edit(runtime, request, rewrite, lease=work.lease, report=report)


def _tables(out: CoEditOut, measure: Measure | None = None) -> list[Table[Any]]:
    edited = facts(out)
    return [
        Table(
            "frontier",
            "Frontier",
            columns(out),
            out.rounds,
            values=numbers(out),
            rules=caption(out),
        ),
        *([Table("facts", "Facts edited too", FACTS, edited)] if edited else []),
    ]


def _sentences(out: CoEditOut, measure: Measure | None = None) -> list[str]:
    row, alone = out.rounds[out.chosen], out.rounds[0]
    met = "" if out.met is None else (
        f" The objective {out.request['objective']} is {'met' if out.met else 'not met'}."
    )  # fmt: skip
    found = [
        f"Round {row.number} is chosen: {pluralize(row.facts - 1, 'further fact')}, IFR"
        f" {number(row.ifr)} after {number(alone.ifr)}.{met} Stopped: {out.stopped}."
    ]
    if out.sequential and len(out.rounds) > 1:
        found.append(f"{out.method} edits one fact after the other.")
    return found


LISTED: list[Column[CoEditOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("rewrite", lambda out: f"{out.subject}: {out.target_true} → {out.target_new}"),
    Column("graph", lambda out: out.graph, optional=1),
    Column("method", lambda out: out.method, optional=3),
    Column("model", lambda out: out.model, optional=4),
    Column("rounds", lambda out: len(out.rounds) - 1, optional=2),
    Column("IFR alone", lambda out: out.rounds[0].ifr, number),
    Column("chosen", lambda out: out.chosen),
    Column("its IFR", lambda out: out.rounds[out.chosen].ifr, number),
]

COEDIT = Kind(
    name="coedit",
    plural="coedits",
    noun="co-edit",
    about="Edits further facts with a rewrite, round by round, and scores each round.",
    request=CoEditIn,
    result=CoEditOut,
    prepare=_prepare,
    run=_run,
    title=title,
    listed=LISTED,
    sentences=_sentences,
    tables=_tables,
    next=lambda out: [
        f"thinkeval show {out.rounds[out.chosen].edit}",
        f"thinkeval results coedits {out.id} -f latex",
    ],
    figures={"frontier": lambda out, fmt, measure: figure(out, fmt)},
    again="Submit it again: rounds that were scored are found.",
)
