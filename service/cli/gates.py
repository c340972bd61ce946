"""The gate: does an edit stay within the limits a team has set? For use in their CI."""

from __future__ import annotations

from dataclasses import dataclass

from thinkeval.service.formatting import several
from thinkeval.service.schemas import Measure, Score


@dataclass(frozen=True, slots=True)
class Limits:
    """What an edit may leak at most and must preserve at least; None is no limit."""

    max_ifr: float | None = None
    min_preservation: float | None = None


def check(score: Score, limits: Limits, measure: Measure) -> list[str]:
    """One line for each limit the score breaks; empty when it holds. At the limit it holds."""
    broken = []
    ifr, preservation = score.get("ifr", measure), score.get("preservation", measure)
    if limits.max_ifr is not None and ifr is not None and ifr.value > limits.max_ifr:
        broken.append(
            f"gate: {score.edit}: IFR {ifr.value:.4f} > {limits.max_ifr} over"
            f" {several(ifr.n, 'chain')}; see `thinkeval chains {score.edit} --surviving`"
        )
    if (
        limits.min_preservation is not None
        and preservation is not None
        and preservation.value < limits.min_preservation
    ):
        broken.append(
            f"gate: {score.edit}: Preservation {preservation.value:.4f} <"
            f" {limits.min_preservation} over {several(preservation.n, 'fact')}"
        )
    return broken
