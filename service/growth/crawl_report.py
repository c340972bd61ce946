"""The report of a stored crawl, alone or against a graph that holds the truth.

Facts, unknown pairs and levels are read off the run's candidates; chains are enumerated by the
project's Cypher on both stored graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ..base.errors import UsageError
from ..graphs import datasets
from .crawl import Names, unknown_entity
from .runs import request_of, require_run
from .schemas import (
    AgainstTruth,
    Agreement,
    Calibration,
    CalibrationBin,
    CandidateOut,
    Chains,
    CrawlReport,
    DepthRow,
    GrowthIn,
    GrowthOut,
    LevelRow,
    RelationRow,
    Retrieval,
)

if TYPE_CHECKING:
    from ...cypher.run import Database


Triplet = tuple[str, str, str]
"""Subject, relation, object."""
BINS = 10


def retrieval(found: Collection[Any], true: Collection[Any], reachable: Collection[Any]) -> dict:
    """The fields of a `Retrieval`.

    Args:
        found: findings, each once.
        true: all that is true: precision counts it as right.
        reachable: the part of it that could be found: recall is over it.
    """
    found, true, reachable = set(found), set(true), set(reachable)
    right, recalled = len(found & true), len(found & reachable)
    precision = right / len(found) if found else None
    recall = recalled / len(reachable) if reachable else None
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "true": len(reachable),
        "found": len(found),
        "right": right,
        "recalled": recalled,
        "precision": precision,
        "recall": recall,
        "f1": f1,
    }


def distances(facts: Iterable[Triplet], start: Iterable[str]) -> dict[str, int]:
    """Steps from the nearest start entity to each entity that facts lead to."""
    objects: dict[str, list[str]] = {}
    for subject, _, object in facts:
        objects.setdefault(subject, []).append(object)
    found = dict.fromkeys(start, 0)
    frontier = list(found)
    while frontier:
        reached = dict.fromkeys(o for name in frontier for o in objects.get(name, ()))
        frontier = [name for name in reached if name not in found]
        found |= dict.fromkeys(frontier, 1 + max(found.values()))
    return found


def reachable(facts: Iterable[Triplet], start: Iterable[str], steps: int) -> set[Triplet]:
    """The facts on paths of at most so many steps from the start."""
    facts = list(facts)
    near = distances(facts, start)
    return {fact for fact in facts if near.get(fact[0], steps) < steps}


def calibration(shares: Sequence[tuple[float, bool]]) -> Calibration:
    """Return the reliability table and Brier score of (fraction of answers, True if true)."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for share, right in shares:
        # (0, .1], (.1, .2], ...; rounding keeps 6/20 out of the bin above.
        bins[max(0, -(-round(share * BINS * 1e6) // 1_000_000) - 1)].append((share, right))
    return Calibration(
        n=len(shares),
        brier=fmean((share - right) ** 2 for share, right in shares) if shares else None,
        bins=[
            CalibrationBin(
                low=i / BINS,
                high=(i + 1) / BINS,
                n=len(each),
                share=fmean(share for share, _ in each) if each else None,
                right=fmean(right for _, right in each) if each else None,
            )
            for i, each in enumerate(bins)
        ],
    )


def grouped(facts: Iterable[Triplet], key: Mapping[Triplet, Any]) -> dict[Any, set[Triplet]]:
    """Facts by their value in `key`; those without one are left out."""
    found: dict[Any, set[Triplet]] = {}
    for fact in facts:
        if fact in key:
            found.setdefault(key[fact], set()).add(fact)
    return found


def jaccard(one: Collection[Triplet], other: Collection[Triplet]) -> float | None:
    """Common facts over those of either; None where both are empty (Jaccard 1901)."""
    either = set(one) | set(other)
    return len(set(one) & set(other)) / len(either) if either else None


LONGEST_CHAIN = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A stored object of a crawl, or a pair that is unknown.

    Attributes:
        fact: True if it is a fact of the run's graph.
        pair: state of its pair: known, unknown or refused.
    """

    triplet: Triplet
    share: float
    depth: int
    fact: bool
    pair: str


def crawl_report(
    db: Database, run: str, *, truth: str | None = None, to: str | None = None
) -> CrawlReport:
    """The report of a run.

    Args:
        truth: graph to compare with; that on which an organism was trained, for example.
        to: object of the chains; the object of the graph's first rewrite of the start entity
            by default.

    Raises:
        NotFoundError: no such run, graph or object.
        UsageError: the run is no crawl.
    """
    row, posted = _run(db, run)
    asked = read_asked(db, run)
    start = start_of(posted)
    usage = db.read(rows.UsageRow, "growth/usage", run=run)
    pairs = {one.triplet[:2]: one.pair for one in asked}
    facts = [one for one in asked if one.fact]
    return CrawlReport(
        run=run,
        graph=row.graph,
        model=row.model,
        start=start,
        stop_reason=row.stop_reason,
        asked=row.asked,
        missed=row.missed,
        facts=len(facts),
        unknown=sum(state == "unknown" for state in pairs.values()),
        refused=sum(state == "refused" for state in pairs.values()),
        entities=len({*start, *(name for f in facts for name in f.triplet[::2])}),
        questions=len(pairs),
        answers=sum(each.calls for each in usage),
        seconds=row.seconds,
        levels=_levels(asked, start),
        against=_against(db, row.graph, asked, start, posted, truth, to) if truth else None,
    )


def agreement(db: Database, one: str, other: str) -> Agreement:
    """Compute the agreement of two crawls' facts, names compared as matching does.

    Raises:
        NotFoundError: no such run.
        UsageError: one is no crawl.
    """
    names, found = Names(), []
    for run in (one, other):
        _run(db, run)
        facts = (each.triplet for each in read_asked(db, run) if each.fact)
        found.append({_rename(fact, names) for fact in facts})
    first, second = found
    return Agreement(
        runs=(one, other),
        facts=(len(first), len(second)),
        common=len(first & second),
        either=len(first | second),
        jaccard=jaccard(first, second),
    )


def read_asked(db: Database, run: str) -> list[Asked]:
    """Every object and unknown pair of a run that its crawl stored, in order."""
    found = []
    for row in db.read(CandidateOut, "growth/candidates", run=run):
        checks = row.checks or {}
        if "depth" not in checks or row.kind != "triplet":
            continue
        triplet = (row.subject, row.relation, row.object)
        state, share = str(checks["pair"]), float(row.share or checks.get("share") or 0.0)
        found.append(Asked(triplet, share, int(checks["depth"]), row.state == "validated", state))
    return found


def start_of(posted: GrowthIn) -> list[str]:
    """The entities that a crawl begins with."""
    return [(posted.seed or "").split("|")[0].strip()]


def _run(db: Database, run: str) -> tuple[GrowthOut, GrowthIn]:
    found = require_run(db, run)
    if found.elicit != "crawl":
        raise UsageError(
            f"The run {run!r} is no crawl.",
            remedy="`thinkeval results growth` lists others.",
        )
    return found, request_of(found)


def _levels(asked: Iterable[Asked], start: Iterable[str]) -> list[LevelRow]:
    by_depth: dict[int, list[Asked]] = {}
    for one in asked:
        by_depth.setdefault(one.depth, []).append(one)
    seen = set(start)
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


def _against(
    db: Database,
    graph: str,
    asked: list[Asked],
    start: list[str],
    posted: GrowthIn,
    truth: str,
    to: str | None,
) -> AgainstTruth:
    content = datasets.content(db, datasets.get_or_import(db, truth).id)
    names, steps = Names(content.entities), posted.crawl.depth
    start = [names.resolve(name) for name in start]
    true = {(f.subject, f.relation, f.object) for f in content.facts}
    near = distances(true, start)
    reached = reachable(true, start, steps)
    named = {_rename(one.triplet, names): one for one in asked if one.triplet[2]}
    found = {triplet for triplet, one in named.items() if one.fact}
    depth_of = {fact: near[fact[0]] + 1 for fact in reached}
    depth_of |= {triplet: one.depth for triplet, one in named.items() if one.fact}
    relation_of = {fact: fact[1] for fact in true | found}
    if to is None:
        to = next((r.target_true for r in content.rewrites if r.subject == start[0]), None)
    elif names.find(to) is None:
        raise unknown_entity(to, truth, names)
    return AgainstTruth(
        truth=truth,
        steps=steps,
        facts=Retrieval(**retrieval(found, true, reached)),
        entities=Retrieval(**_entities(found, reached, start, names)),
        chains=_chains(db, graph, truth, start[0], names.resolve(to), steps, names) if to else None,
        calibration=calibration([(one.share, t in true) for t, one in named.items()]),
        by_relation=[
            RelationRow(relation=key, **each)
            for key, each in _by(found, true, reached, relation_of)
        ],
        by_depth=[DepthRow(depth=key, **each) for key, each in _by(found, true, reached, depth_of)],
    )


def _entities(
    found: set[Triplet], reached: set[Triplet], start: list[str], names: Names
) -> dict[str, Any]:
    true = {*start, *(object for *_, object in reached)}
    those = {*start, *(name for s, _, o in found for name in (s, o))}
    return retrieval(those, names.given, true)


def _by(
    found: set[Triplet], true: set[Triplet], reached: set[Triplet], key: Mapping[Triplet, Any]
) -> list[tuple[Any, dict[str, Any]]]:
    of_found, of_reached = grouped(found, key), grouped(reached, key)
    return [
        (each, retrieval(of_found.get(each, ()), true, of_reached.get(each, ())))
        for each in sorted({*of_found, *of_reached})
    ]


def _chains(
    db: Database, graph: str, truth: str, start: str, to: str, steps: int, names: Names
) -> Chains:
    found, true = (_sequences(db, each, start, to, steps, names) for each in (graph, truth))
    figures = retrieval(found, true, true)
    return Chains(object=to, missed=len(true - found), **figures)


def _sequences(
    db: Database, graph: str, start: str, to: str, steps: int, names: Names
) -> set[tuple[str, ...]]:
    """The chains of a graph by their entities; none of no steps."""
    if steps < 1:
        return set()
    found = db.read(
        rows.ChainRow,
        "chains/enumerate",
        graph=graph,
        subject=start,
        object=to,
        max_steps=min(steps, LONGEST_CHAIN),
        bare="include",
    )
    return {tuple(names.resolve(entity) for entity in row.entities) for row in found}


def _rename(triplet: Triplet, names: Names) -> Triplet:
    subject, relation, object = triplet
    return names.resolve(subject), relation, names.resolve(object)
