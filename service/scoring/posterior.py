"""Posterior of sampled probabilities: draws of p for all facts of a prompt, before and after edits.

For each prompt the shares of the patterns of right answers (which objects before, which after) get
a Dirichlet posterior. Its prior has four cells a fact: right both times, before only, after only,
never. It is fitted to many facts at once, as five answers of one cannot show that most facts are
answered alike both times, and is mixed with the symmetric prior of ¼ a cell, whose margins are the
Jeffreys posterior Beta(½, ½). Answers of one index count where each of them is decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

PRIOR = 0.25
"""Symmetric prior of a cell: right both times, before only, after only, never."""
PRIOR_FACTS = 10
"""Facts that the symmetric prior weighs as much as, beside those that the prior is fitted to."""
FLOOR, CEILING = 0.05, 20.0
"""Bounds of a fitted cell: no pattern is impossible because a few answers did not show it."""
CROSS = 0.02
"""Prior that an answer names one object of its prompt before the edit and another one after it."""
_ITERATIONS = 30

Pattern = tuple[frozenset[int], ...]
"""The objects that an answer names, on each side: before the edit, after it, after another one."""


@dataclass(frozen=True)
class Sampled:
    """A fact with its sampled answers.

    Attributes:
        key: names the fact.
        prompt: equal for facts that share a prompt, and so its answers.
        names: of the object, with aliases; an answer is right where it gives one.
        sides: the k answers before the edit, then those after it (or after each of two edits);
            answers of one index were sampled with the same random numbers.
    """

    key: tuple[str, str]
    prompt: tuple[str, str]
    names: tuple[str, ...]
    sides: tuple[tuple[str, ...], ...]

    @cached_property
    def right(self) -> list[list[bool | None]]:
        """For each answer, [sides][k]: True if it is right; None: undecided."""
        return [hits(side, self.names) for side in self.sides]


def hits(answers: Sequence[str], names: Sequence[str]) -> list[bool | None]:
    """Return for each answer True if it gives one of the names; None: undecided."""
    from ...editing.probe.matching import (
        gives,  # importing `editing` late keeps `--help` quick
    )

    return [gives(text, names) for text in answers]


def share(right: Sequence[bool | None]) -> float | None:
    """Proportion of right answers among the decided ones; None if none is decided."""
    from ...editing.probe import matching

    return matching.share(right)


def pairs_of(fact: Sampled, side: int = 1) -> tuple[int, int, int, int]:
    """Count the pairs of decided answers right both times, before only, after only, never."""
    cells = [0, 0, 0, 0]
    for before, after in zip(fact.right[0], fact.right[side], strict=True):
        if before is None or after is None:
            continue
        cells[(0 if after else 1) if before else (2 if after else 3)] += 1
    return cells[0], cells[1], cells[2], cells[3]


def prior_of(pairs: Sequence[Sequence[int]]) -> np.ndarray:
    """The prior of the four cells, fitted to facts by maximum likelihood, [4].

    A Dirichlet-multinomial by Minka's fixed point ("Estimating a Dirichlet distribution", 2000,
    eq. 55), each cell between `FLOOR` and `CEILING`, then mixed with the symmetric prior.

    Args:
        pairs: counts of each fact (`pairs_of`); without any the prior is symmetric.
    """
    counts = np.array(pairs, dtype=float).reshape(-1, 4)
    prior = np.full(4, PRIOR)
    totals = counts.sum(axis=1)
    for _ in range(_ITERATIONS if len(counts) else 0):
        ratio = _excess(counts, prior).sum(axis=0) / _excess(totals, prior.sum()).sum()
        prior = np.clip(prior * ratio, FLOOR, CEILING)
    return (len(counts) * prior + PRIOR_FACTS * PRIOR) / (len(counts) + PRIOR_FACTS)


def _excess(counts: np.ndarray, prior: np.ndarray | float) -> np.ndarray:
    """digamma(counts + prior) − digamma(prior), exact for whole counts."""
    most = int(counts.max(initial=0))
    return np.sum([np.where(counts > i, 1 / (prior + i), 0.0) for i in range(most)], axis=0)


def joint_draws(
    facts: Sequence[Sampled], n_draws: int, rng: np.random.Generator, prior: np.ndarray
) -> dict[tuple[str, str], tuple[np.ndarray, ...]]:
    """{key: draws of the fact's p on each side, each [n_draws]}.

    Facts that share a prompt are drawn together.

    Args:
        prior: of the four cells, [4].
    """
    prompts: dict[tuple[object, ...], list[Sampled]] = defaultdict(list)
    for fact in facts:
        prompts[fact.prompt, fact.sides].append(fact)
    out = {}
    for group in prompts.values():
        objects = {fact.names: fact for fact in group}
        draws = _of_prompt(list(objects.values()), n_draws, rng, prior)
        places = {names: at for at, names in enumerate(objects)}
        for fact in group:
            at = places[fact.names]
            out[fact.key] = tuple(side[:, at] for side in draws)
    return out


def _of_prompt(
    facts: Sequence[Sampled], n_draws: int, rng: np.random.Generator, prior: np.ndarray
) -> list[np.ndarray]:
    """Draws of the facts' probabilities, for each side [n_draws, facts].

    Args:
        facts: of one prompt and its answers, each with an object of its own.
    """
    sides = facts[0].sides
    weights = _prior_weights(len(facts), len(sides), prior)
    for k in range(len(sides[0])):
        if any(right[k] is None for fact in facts for right in fact.right):
            continue
        pattern = tuple(
            frozenset(i for i, fact in enumerate(facts) if fact.right[side][k])
            for side in range(len(sides))
        )
        weights[pattern] = weights.get(pattern, 0.0) + 1
    drawn = rng.standard_gamma(list(weights.values()), size=(n_draws, len(weights)))
    drawn /= drawn.sum(axis=1, keepdims=True)
    return [
        drawn @ np.array([[i in p[side] for i in range(len(facts))] for p in weights], float)
        for side in range(len(sides))
    ]


def _prior_weights(n: int, n_sides: int, prior: np.ndarray) -> dict[Pattern, float]:
    """The prior of every pattern of at most one object a side.

    With two edits, their answers are independent given the answer before.
    """
    both, before, after, never = prior
    cells = np.full((n + 1, n + 1), CROSS)
    cells[range(n), range(n)], cells[:n, n], cells[n, :n] = both, before, after
    # That an answer does not name this object includes that it names another one.
    cells[n, n] = max(FLOOR, never - (n - 1) * (both + before + after))
    given = cells / cells.sum(axis=1, keepdims=True)
    out: dict[Pattern, float] = {}
    for first, *others in product(range(n + 1), repeat=n_sides):
        weight = cells[first].sum() * np.prod([given[first, other] for other in others])
        out[tuple(frozenset({i} - {n}) for i in (first, *others))] = float(weight)
    return out
