"""A model's knowledge of a graph, in a terminal: facts, relations, wordings, rewrites to score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ...formatting import least_of, number, pluralize
from ...reports.formats import Column, Table, indexed
from ...schemas import KNOWN, KNOWN_CHAIN
from ...scoring.knowledge import THRESHOLDS
from ...scoring.wordings import WORDINGS
from ..output import (
    emit_command,
    emit_note,
    emit_table,
    emit_values,
    more_below,
)

if TYPE_CHECKING:
    from ...schemas import Measure
    from ...scoring.knowledge import AskedRelation, KnownRewrite, KnownSummary

SHOWN, RELATIONS_SHOWN = 10, 20
"""Rewrites and relations that are printed; --json has all."""
BEST = "*"
"""Marks the best wording of a relation."""

REWRITES: list[Column[KnownRewrite]] = [
    Column("subject", lambda row: row.subject),
    Column("relation", lambda row: row.relation),
    Column("new object", lambda row: row.target_new or "none: forgotten"),
    Column("p of the fact", lambda row: row.p),
    Column("known chains", lambda row: row.known_chains),
    Column("chains", lambda row: row.chains),
]


def show_known(found: KnownSummary, graph: str, measure: Measure) -> None:
    """Print how many facts are known, which, and which rewrites are worth scoring."""
    if found.chat_chosen:
        typer.echo(found.chat_chosen["sentence"])
    emit_values(
        f"{found.model} on {graph}",
        [
            ("graph stored as", found.graph),
            ("facts asked", found.n_facts),
            *(
                (f"facts with {measure} ≥ {least_of(least)}", found.known[str(least)])
                for least in THRESHOLDS
            ),
            ("facts whose prompt's objects together have > .5", found.n_recalled),
            (f"mean {measure}", found.mean),
            *([("sampled answers undecided", found.undecided)] if found.undecided else ()),
        ],
    )
    _show_relations(found)
    facts = indexed("subject", "relation", "object", measure)
    emit_table(Table("best", "Best known facts", facts, found.best))
    if any(value >= KNOWN for *_, value in found.weakest):
        emit_table(Table("weakest", "Least known facts", facts, found.weakest))
    if found.wordings is not None:
        _show_wordings(found.wordings)
    _show_rewrites(found, graph)


def _show_relations(found: KnownSummary) -> None:
    rows = [
        (row.relation, row.facts, *(row.known[str(least)] for least in THRESHOLDS), row.mean)
        for row in found.relations
    ]
    headers = [f"≥ {least_of(least)}" for least in THRESHOLDS]
    note = more_below(len(rows), RELATIONS_SHOWN)
    title = "Known facts by relation"
    columns = indexed("relation", "facts", *headers, "mean")
    emit_table(Table("relations", title, columns, rows[:RELATIONS_SHOWN], note))


def _show_wordings(found: list[AskedRelation]) -> None:
    names = [w.name for w in WORDINGS if any(w.name in row.means for row in found)]
    rows = [
        (
            "all" if row.relation is None else row.relation,
            *(number(row.means.get(name)) + (BEST if name == row.best else "") for name in names),
        )
        for row in found
    ]
    best = found[0] if found else None
    note = f"{BEST}: the wording that the model answers best."
    if best and best.options:
        note += f" Of all facts that is {best.best}: {best.options}."
    more = more_below(len(rows) - 1, RELATIONS_SHOWN)
    note = f"{note} {more}".strip()
    columns = indexed("relation", *names)
    title = "Mean likelihood by wording"
    emit_table(Table("wordings", title, columns, rows[: 1 + RELATIONS_SHOWN], note))


def _show_rewrites(found: KnownSummary, graph: str) -> None:
    """The rewrites, and the command that scores the first; or why there is none."""
    if not found.rewrites:
        emit_note(
            f"{graph} has no rewrites of a fact. `thinkeval score --subject …` edits any fact."
        )
        return
    unknown = sum(not row.scorable for row in found.rewrites)
    notes = [
        more_below(len(found.rewrites), SHOWN),
        f"A chain is known from R = {least_of(KNOWN_CHAIN)}, the product of its facts'"
        " probabilities.",
    ]
    if unknown:
        notes.append(
            f"Of {pluralize(unknown, 'rewrite')} the model does not know the fact (p below"
            f" {least_of(KNOWN)}): `score` does not edit it."
        )
    note = " ".join(filter(None, notes))
    title = "Rewrites that are worth scoring: most known chains first"
    emit_table(Table("rewrites", title, REWRITES, found.rewrites[:SHOWN], note))
    first = found.rewrites[0]
    if first.command is not None:
        emit_note("Next:")
        emit_command(first.command)
    elif found.wordings is None:
        emit_note(
            "The model knows the fact of no rewrite: there is nothing to score. --wordings shows"
            " which wording it answers best; `thinkeval graphs` lists other graphs."
        )
