"""Tables of growth runs: iterations, candidates, chains, and the judge against people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..reports.formats import Column

if TYPE_CHECKING:
    from ...cypher import rows
    from .schemas import JudgeRow


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

COUNTS: list[Column[rows.CandidateCountRow]] = [
    Column("kind", lambda row: row.kind),
    Column("state", lambda row: row.state),
    Column("reason", lambda row: row.reason),
    Column("candidates", lambda row: row.candidates),
]

JUDGED: list[Column[JudgeRow]] = [
    Column("iteration", lambda r: "all" if r.iteration is None else r.iteration),
    Column("judged", lambda r: r.judged),
    Column("both", lambda r: r.both),
    Column("TP", lambda r: r.tp),
    Column("FP", lambda r: r.fp),
    Column("FN", lambda r: r.fn),
    Column("TN", lambda r: r.tn),
    Column("precision", lambda r: r.precision),
    Column("recall", lambda r: r.recall),
    Column("F1", lambda r: r.f1),
    Column("rated", lambda r: r.rated),
    Column("pairwise", lambda r: r.pairwise),
    Column("unanimous", lambda r: r.unanimous),
    Column("AC1", lambda r: r.ac1),
    Column("alpha", lambda r: r.alpha),
]
JUDGED_NOTE = (
    "both: triplets that the judge and a person decided, of which TP, FP, FN and TN are counted;"
    " positive is what a person keeps or corrects. rated: candidates that two persons or more"
    " decided, over which pairwise to alpha are their agreement; AC1 is never above pairwise."
)


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
