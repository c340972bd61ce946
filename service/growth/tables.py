"""Tables of growth runs: iterations, chains, why there are none, and the list of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..reports.formats import Column

if TYPE_CHECKING:
    from ...cypher import rows
    from .schemas import CandidateOut, GrowthOut


ITERATIONS: list[Column[rows.IterationRow]] = [
    Column("iteration", lambda row: row.number),
    Column("triplets", lambda row: row.triplets),
    Column("paths", lambda row: row.paths),
    Column("CoT queries", lambda row: row.cot_queries),
    Column("calls", lambda row: row.calls),
    Column("tokens in", lambda row: row.tokens_in),
    Column("tokens out", lambda row: row.tokens_out),
    Column("seconds", lambda row: round(row.seconds, 1)),
]
SUMS = "As Table 10 of ThinkEval: all but the seconds are sums since the start."

CHAINS: list[Column[rows.ChainRow]] = [
    Column("steps", lambda row: row.steps),
    Column("chain", lambda row: chain_text(row)),
]

RUNS: list[Column[GrowthOut]] = [
    Column("run", lambda run: run.id, whole=True, link=lambda run: f"/growth/{quote(run.id)}"),
    Column("seed", lambda run: run.seed),
    Column("model", lambda run: run.model, optional=1),
    Column("found by", lambda run: run.elicit, optional=2),
    Column("status", lambda run: run.status),
    Column("candidates", lambda run: run.candidates, optional=4),
    Column("to review", lambda run: run.to_review, optional=3),
    Column("answers", lambda run: run.calls),
    Column("seconds", lambda run: round(run.seconds, 1), optional=5),
    Column("created", lambda run: run.created_at[:16].replace("T", " "), optional=5),
    Column("stopped", lambda run: run.stop_reason or run.error or "", optional=4),
]


@dataclass(frozen=True, slots=True)
class Reason:
    """Candidates of one kind that ended in the same state for the same reason."""

    kind: str
    state: str
    reason: str
    candidates: int


CANDIDATE_COUNTS: list[Column[Reason]] = [
    Column("kind", lambda row: row.kind),
    Column("state", lambda row: row.state),
    Column("reason", lambda row: row.reason),
    Column("candidates", lambda row: row.candidates),
]


def reasons(candidates: Iterable[CandidateOut]) -> list[Reason]:
    """Candidates by kind, state and reason, the most frequent first."""
    found = Counter((one.kind, one.state, one.reason or "") for one in candidates)
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [Reason(*key, candidates=n) for key, n in ranked]


def chain_text(row: rows.ChainRow) -> str:
    """A chain as a person reads it: names with the relations between them."""
    steps = zip(row.relations, row.entities[1:], strict=True)
    return row.entities[0] + "".join(f" —{relation}→ {name}" for relation, name in steps)


def iteration_line(row: rows.IterationRow) -> str:
    """An iteration as one line, printed when it ends."""
    return (
        f"iteration {row.number}: {row.triplets} triplets, {row.paths} paths,"
        f" {row.cot_queries} CoT queries, {row.calls} calls,"
        f" {row.tokens_in + row.tokens_out} tokens, {row.seconds:.1f} s"
    )
