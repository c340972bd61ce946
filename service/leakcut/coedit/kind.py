"""The kind of experiment `coedit`: a rewrite edited together with further facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....loaders.records import digest
from ...experiments.kind import Kind, Prepared, Work
from ...formatting import number, pluralize
from ...graphs import datasets
from ...jobs import submit
from ...reports.formats import Column, Table
from ...schemas import Measure
from ..schemas import CoEditIn, CoEditOut, RoundOut
from . import frontier_table

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...scoring.runtime import Runtime
    from ...settings import Settings


def _prepare(db: Database, settings: Settings, request: CoEditIn) -> Prepared[CoEditIn]:
    from .check import check, id_of

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
    from ...graphs.datasets import own_or_stored
    from .run import co_edit  # imports numpy

    def report(row: RoundOut) -> None:
        ifr = "–" if row.ifr is None else f"{row.ifr:.3f}"
        words = f"round {row.number}: {row.facts} facts edited, IFR {ifr}"
        work.enter(words, min((row.number + 1) / (request.rounds + 1), 1.0))

    work.enter("the edit alone", 0.0)
    rewrite = own_or_stored(runtime.db, request.graph, str(request.rewrite))
    return co_edit(runtime, request, rewrite, lease=work.lease, report=report)


def _tables(out: CoEditOut, measure: Measure | None = None) -> list[Table[Any]]:
    facts = frontier_table.facts(out)
    return [
        Table(
            "frontier",
            "Frontier",
            frontier_table.columns(out),
            out.rounds,
            frontier_table.caption(out),
            values=frontier_table.numbers(out),
        ),
        *([Table("facts", "Facts edited too", frontier_table.FACTS, facts)] if facts else []),
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
    title=frontier_table.title,
    listed=LISTED,
    sentences=_sentences,
    tables=_tables,
    next=lambda out: [
        f"thinkeval show {out.rounds[out.chosen].edit}",
        f"thinkeval coedits {out.id} -f latex",
    ],
    figures={"frontier": lambda out, fmt, measure: frontier_table.figure(out, fmt)},
    again="Submit it again: rounds that were scored are found.",
)
