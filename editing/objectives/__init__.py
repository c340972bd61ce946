"""Objectives: further terms of the loss that an edit minimises, from further answers to its prompt.

A method that minimises −log p of a request's new target accepts an objective, which names further
answers and returns the loss from the log-probabilities of all. One file per objective; nothing here
imports torch. Without an objective, or where it names no answers, the edit is bit-identical to the
method's own.

    app.py          APP: correct answers are preserved, and false ones do not rise
    all_answers.py  the correct answers are targets, beside the new one
    weights.py      published weights of APP by method and model
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...loaders.records import RewriteRequest
from ..errors import RequestError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Answers", "Objective", "checked_names"]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers to be scored beside a request's new target, in the order of their results.

    Attributes:
        names: the answers, without white space around them; () for none.
        as_targets: score them as the method scores its target (in all contexts); else token by
            token behind the plain edit prompt.
    """

    names: tuple[str, ...] = ()
    as_targets: bool = False


class Objective(Protocol):
    """The loss of an edit as a function of its answers' probabilities."""

    @property
    def digest(self) -> str:
        """Identifies the objective with all of its values, for ids and shared targets."""
        ...

    def rows(self, request: RewriteRequest) -> Answers:
        """The answers whose probabilities the loss of a request needs."""
        ...

    def loss(self, request: RewriteRequest, nll: Tensor, now: Tensor, start: Tensor) -> Tensor:
        """The loss of a request that has answers, a scalar.

        Args:
            nll: L_e, −mean token log p of the new target as the method scores it; a scalar.
            now: mean token log p of each of its `rows`, [answers].
            start: the same of the unedited model, without gradients.
        """
        ...


def checked_names(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The names by request id, without white space around them.

    Raises:
        RequestError: a name is empty; names the request.
    """
    found = {id_: tuple(name.strip() for name in names) for id_, names in lists.items()}
    for id_, names in found.items():
        if not all(names):
            raise RequestError(
                f"request '{id_}': one of its answers is empty",
                remedy="Remove the empty name from the request's lists of answers.",
            )
    return found
