"""Figures of a crawl against the truth: over sets of facts, entities and chains. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from .schemas import Calibration, CalibrationBin

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
