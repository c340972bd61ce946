"""All answers as targets: the mean loss over the new answer and the correct ones.

The "+" baseline of Ma et al. 2024, Neighboring Perturbations of Knowledge Editing on LLMs (ICML),
§7.7: L_e over O ∪ {o*} in place of o* alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...loaders.records import RewriteRequest, digest
from . import Answers, checked_names

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class AllAnswers:
    """The objective of the "+" baseline (`editing.objectives.Objective`).

    Attributes:
        correct: {request id: correct answers}; the request's target_new among them counts once.

    Raises:
        RequestError: a name is empty.
    """

    correct: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "correct", checked_names(self.correct))

    @property
    def digest(self) -> str:
        """Digest of the answers."""
        return digest(["all-answers", self.correct])

    def rows(self, request: RewriteRequest) -> Answers:
        """The correct answers other than target_new, without repeats."""
        names = dict.fromkeys(self.correct.get(request.id, ()))
        names.pop(request.target_new.strip(), None)
        return Answers(tuple(names), as_targets=True)

    def loss(self, request: RewriteRequest, nll: Tensor, now: Tensor, start: Tensor) -> Tensor:
        """Mean negative log-likelihood of target_new and the correct answers."""
        return (nll - now.sum()) / (1 + len(now))
