"""APP: an answer is appended while correct answers are preserved and false ones do not rise.

Ma et al. 2024, Neighboring Perturbations of Knowledge Editing on LLMs (ICML), §6, eq. 7–10. For the
N correct answers o_i and the M false answers f_j of a request,

    L  = L_e + α L1 + β L2 + γ L3
    L1 = 1/(NM) Σ_i Σ_j max(0, 2 − log P(o_i) + log P(f_j))
    L2 = 1/N Σ_i max(0, log P0(o_i) − log P(o_i))
    L3 = 1/M Σ_j max(0, log P(f_j) − log P0(f_j))

with log P the mean token log-probability of an answer behind the plain edit prompt, and log P0 that
of the unedited model. At the corner of a maximum, as at the start of L2 and L3, the gradient is 0.
A term over an empty list is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...loaders.records import RewriteRequest, digest
from ..errors import HparamsError
from . import Answers, checked_names

if TYPE_CHECKING:
    from torch import Tensor

MARGIN = 2.0
"""By how much log P of a correct answer should exceed that of a false one (published)."""

Names = Mapping[str, tuple[str, ...]]
"""{request id: names}; a request that is missing has none."""


@dataclass(frozen=True)
class App:
    """APP's objective (`editing.objectives.Objective`).

    Attributes:
        alpha, beta, gamma: weights of L1, L2 and L3; a term of weight 0 is not computed.
        correct, hard: correct and false answers of each request, already selected by the caller.

    Raises:
        HparamsError: a weight is negative, NaN or infinite.
        RequestError: a name is empty.
    """

    alpha: float
    beta: float
    gamma: float
    correct: Names = field(default_factory=dict)
    hard: Names = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "gamma"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise HparamsError(
                    f"'{name}', a weight of APP, is {value}; it must be a number from 0",
                    remedy="Pass 0 to leave the term out, or a positive number.",
                )
        for name in ("correct", "hard"):
            object.__setattr__(self, name, checked_names(getattr(self, name)))

    @property
    def digest(self) -> str:
        """Digest of the weights and of the answers."""
        weights = [float(self.alpha), float(self.beta), float(self.gamma)]
        return digest(["app", MARGIN, weights, self.correct, self.hard])

    def rows(self, request: RewriteRequest) -> Answers:
        """The correct answers, then the false ones, each list only if a term needs it."""
        return Answers(sum(self._needed(request), ()))

    def loss(self, request: RewriteRequest, nll: Tensor, now: Tensor, start: Tensor) -> Tensor:
        """L of a request (eq. 7)."""
        correct, hard = self._needed(request)
        n = len(correct)
        if self.alpha and correct and hard:
            nll = nll + self.alpha * margin_loss(now[:n], now[n:])
        if self.beta and correct:
            nll = nll + self.beta * rise(start[:n], now[:n])
        if self.gamma and hard:
            nll = nll + self.gamma * rise(now[n:], start[n:])
        return nll

    def _needed(self, request: RewriteRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The answers that a term of positive weight reads."""
        correct, hard = self.correct.get(request.id, ()), self.hard.get(request.id, ())
        both = self.alpha > 0 and bool(correct) and bool(hard)
        return (
            correct if both or self.beta > 0 else (),
            hard if both or self.gamma > 0 else (),
        )


def margin_loss(correct: Tensor, false: Tensor) -> Tensor:
    """L1 (eq. 8): mean over all pairs of max(0, margin − log P(o_i) + log P(f_j)), a scalar.

    Args:
        correct: log P of the correct answers, [N], N ≥ 1.
        false: log P of the false answers, [M], M ≥ 1.
    """
    return (MARGIN - correct[:, None] + false[None, :]).relu().mean()


def rise(to: Tensor, above: Tensor) -> Tensor:
    """Mean of max(0, to − above) over answers, [n] each: L3 (eq. 10), and L2 (eq. 9) reversed."""
    return (to - above).relu().mean()
