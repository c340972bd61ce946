"""The chains of an edit folded into a tree: by their first fact, then by the next ones.

206 chains may be permutations of five relatives; folded by first fact they are a handful of
branches, each with its fraction of IFR. A branch is a prefix of chains: its facts from the subject
on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow
    from ...cypher.rows.chains import Link


@dataclass(frozen=True, slots=True)
class Branch:
    """All chains that begin with the same facts.

    Attributes:
        link: the last of these facts.
        path: ids of these facts, the subject's first.
        chains: number of chains, and how many of them survive.
        ifr_share: their part of IFR's numerator, 0 to 1; None where that is 0. Fractions of the
            next facts and of the chains that end here add up to that of the branch.
        best: their largest R'/R; None where none has one (R = 0).
        ends: chains that end with this fact: 1, or 0.
        branches: the next facts, largest share first.
    """

    link: Link
    path: tuple[str, ...]
    chains: int
    surviving: int
    ifr_share: float | None
    best: float | None
    ends: int
    branches: tuple[Branch, ...]


def chain_tree(rows: Sequence[ScoredChainRow]) -> list[Branch]:
    """The branches from the subject, largest fraction of IFR first.

    IFR is the mean of R'/R over chains of n facts with weights 1 / sqrt(n) (ThinkEval §5.1, Eq. 6):
    a branch's share is the weighted sum of its ratios over that of all chains. A chain without a
    ratio (R = 0) is counted and adds nothing.
    """
    whole = _weighted(rows)
    return _branches(list(rows), 0, whole)


def _branches(rows: Sequence[ScoredChainRow], depth: int, whole: float) -> list[Branch]:
    groups: dict[str, list[ScoredChainRow]] = {}
    for row in rows:
        if depth < len(row.links):
            groups.setdefault(row.links[depth].id, []).append(row)
    found = [_branch(group, depth, whole) for group in groups.values()]
    return sorted(found, key=lambda each: (-(each.ifr_share or 0.0), -each.chains, each.path))


def _branch(group: Sequence[ScoredChainRow], depth: int, whole: float) -> Branch:
    ratios = [row.ratio for row in group if row.ratio is not None]
    first = group[0]
    return Branch(
        link=first.links[depth],
        path=tuple(link.id for link in first.links[: depth + 1]),
        chains=len(group),
        surviving=sum(row.surviving for row in group),
        ifr_share=_weighted(group) / whole if whole else None,
        best=max(ratios, default=None),
        ends=sum(len(row.links) == depth + 1 for row in group),
        branches=tuple(_branches(group, depth + 1, whole)),
    )


def _weighted(rows: Sequence[ScoredChainRow]) -> float:
    return sum((row.ratio or 0.0) / math.sqrt(row.steps) for row in rows)
