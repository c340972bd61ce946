"""Intervals of the difference between two sampled scores of one rewrite: their answers are paired.

Two edits of one model that were scored with one seed have the very same answers before the edit,
and answers after it that were sampled with the same random numbers. So a fact's p is drawn once
before and jointly after both edits (`service.scoring.posterior`), for all facts of a prompt; what
the edits have in common drops out of the difference, whose interval is narrower than the two
intervals of the scores suggest.

The draws are moved so that their median is the observed difference: the noise of ratios raises the
draws of each score, and of the one with more left more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...cypher import rows
from ..schemas import Score
from .intervals import (
    DRAWS,
    MEASURE,
    NEW,
    QUANTILES,
    counted_chains,
    ifr_draws,
)
from .posterior import Sampled, joint_draws, pairs_of, prior_of, share

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow
    from ...cypher.run import Database

Bounds = tuple[float, float]


def difference_intervals(
    db: Database, one: Score, other: Score
) -> dict[tuple[str, int | None], Bounds]:
    """95 % intervals of `other` − `one` in ifr and ifr_by_steps of the sampled measure.

    Returns:
        {(metric, step): bounds}; empty where the answers are not paired: other rewrites, models,
        seeds or numbers of samples, or chains that are counted in another way.
    """
    if not _comparable(one, other):
        return {}
    facts = _paired(db, one, other)
    chains = counted_chains(db, one)
    same = {row.entities for row in counted_chains(db, other)}
    if not facts or {row.entities for row in chains} != same:
        return {}
    drawn = {f"{one.edit}|{key[0]}": pair for key, pair in _drawn(facts).items()}
    out = {("ifr", None): chains} | {
        ("ifr_by_steps", step): [row for row in chains if row.steps == step]
        for step in sorted({row.steps for row in chains})
    }
    known = {f"{one.edit}|{fact.key[0]}": _observed(fact) for fact in facts}
    return {
        key: difference(of, drawn, known)
        for key, of in out.items()
        if all(link.id in drawn for row in of for link in row.links)
    }


def difference(
    chains: Sequence[ScoredChainRow],
    drawn: Mapping[str, Sequence[np.ndarray]],
    observed: Mapping[str, Sequence[np.ndarray]],
) -> Bounds:
    """The interval of the second edit's IFR minus the first's.

    Args:
        drawn: draws of each link's p before, after the first edit and after the second.
        observed: the same as it was observed, each of length 1.
    """
    sides = [
        [
            ifr_draws(chains, {key: (pair[0], pair[side]) for key, pair in of.items()})
            for side in (1, 2)
        ]
        for of in (drawn, observed)
    ]
    (first, second), (one, other) = sides
    delta = second - first
    delta = delta - np.median(delta) + float((other - one)[0])
    low, high = np.quantile(delta, QUANTILES)
    return float(low), float(high)


def _comparable(one: Score, other: Score) -> bool:
    of = [
        (
            s.dataset, s.rewrite, s.model, s.subject, s.target_true, s.options.max_steps,
            s.options.bare, s.options.parallel, s.options.counted,
        )
        for s in (one, other)
    ]  # fmt: skip
    sampled = one.edit != other.edit and all(MEASURE in s.measures for s in (one, other))
    return sampled and of[0] == of[1] and one.options.parallel == "before"


def _paired(db: Database, one: Score, other: Score) -> list[Sampled]:
    """The facts of both edits with their answers; none where those before the edit differ."""
    of = [
        {
            row.fact: row
            for row in db.read(rows.FactRow, "graph/facts", graph=score.edit)
            if row.role not in (NEW, "implication") and row.answers_pre and row.answers_post
        }
        for score in (one, other)
    ]
    found = []
    for name in of[0].keys() & of[1].keys():
        a, b = of[0][name], of[1][name]
        if a.answers_pre != b.answers_pre:
            return []
        sides = tuple(tuple(s or ()) for s in (a.answers_pre, a.answers_post, b.answers_post))
        if len({len(side) for side in sides}) > 1:
            return []
        names = (a.object, *a.object_aliases)
        fact = Sampled((a.fact, a.role), (a.subject, a.prompt), names, sides)
        if all(share(right) is not None for right in fact.right):
            found.append(fact)
    return sorted(found, key=lambda fact: fact.key)


def _drawn(facts: Sequence[Sampled]) -> dict[tuple[str, str], tuple[np.ndarray, ...]]:
    prior = prior_of([pairs_of(fact, side) for fact in facts for side in (1, 2)])
    return joint_draws(facts, DRAWS, np.random.default_rng(0), prior)


def _observed(fact: Sampled) -> tuple[np.ndarray, ...]:
    return tuple(np.array([share(side)], dtype=float) for side in fact.right)
