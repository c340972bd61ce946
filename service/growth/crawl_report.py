"""The report of a stored crawl, read off the run's candidates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.errors import UsageError
from .runs import request_of, require_run
from .schemas import CandidateOut, CrawlReport, LevelRow

if TYPE_CHECKING:
    from ...cypher.run import Database


@dataclass(frozen=True, slots=True)
class Asked:
    """A stored object of a crawl, or a pair that is unknown.

    Attributes:
        fact: True if it is a fact of the run's graph.
        pair: state of its pair: known, unknown or refused.
    """

    triplet: tuple[str, str, str]
    depth: int
    fact: bool
    pair: str


def crawl_report(db: Database, run: str) -> CrawlReport:
    """Return the report of a run.

    Raises:
        NotFoundError: no such run.
        UsageError: the run is no crawl.
    """
    row = require_run(db, run)
    if row.elicit != "crawl":
        raise UsageError(
            f"The run {run!r} is no crawl.",
            remedy="`thinkeval results growth` lists others.",
        )
    posted = request_of(row)
    start = (posted.seed or "").split("|")[0].strip()
    asked = [
        Asked(
            (one.subject, one.relation, one.object),
            one.checks["depth"],
            one.state == "validated",
            one.checks["pair"],
        )
        for one in db.read(CandidateOut, "growth/candidates", run=run)
        if one.kind == "triplet" and one.checks and "depth" in one.checks
    ]
    pairs = {one.triplet[:2]: one.pair for one in asked}
    facts = {one.triplet for one in asked if one.fact}
    known = db.read(rows.FactRow, "graph/facts", graph=posted.base)
    return CrawlReport(
        run=run,
        graph=row.graph,
        model=row.model,
        start=start,
        stop_reason=row.stop_reason,
        asked=row.asked,
        base=posted.base or "",
        facts=len(facts),
        confirmed=len(facts & {(f.subject, f.relation, f.object) for f in known}),
        unknown=sum(state == "unknown" for state in pairs.values()),
        refused=sum(state == "refused" for state in pairs.values()),
        entities=len({start, *(name for fact in facts for name in fact[::2])}),
        questions=len(pairs),
        answers=row.calls,
        seconds=row.seconds,
        levels=_levels(asked, start),
    )


def _levels(asked: Iterable[Asked], start: str) -> list[LevelRow]:
    by_depth: dict[int, list[Asked]] = {}
    for one in asked:
        by_depth.setdefault(one.depth, []).append(one)
    seen = {start}
    levels = []
    for depth, those in sorted(by_depth.items()):
        pairs = {one.triplet[:2]: one.pair for one in those}
        facts = [one.triplet for one in those if one.fact]
        new = {object for *_, object in facts} - seen
        seen |= new
        levels.append(
            LevelRow(
                depth=depth,
                entities=len({subject for subject, _ in pairs}),
                questions=len(pairs),
                unknown=sum(state == "unknown" for state in pairs.values()),
                refused=sum(state == "refused" for state in pairs.values()),
                facts=len(facts),
                new=len(new),
            )
        )
    return levels
