"""What a state is to its callers: a record, and answers to questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel

from ..scoring.probe import Answer, Progress, Question

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings

Kind = Literal["model", "adapter", "edited", "quantized", "endpoint", "memory"]


class StateOut(BaseModel):
    """A state as records and reports show it.

    Attributes:
        name: short, for tables.
        kind: the last change that was put on.
        digest: of the model as it is asked: weights, configuration, tokenizer, template (base with
            its edits: that of the exported folder); a stored answer of the state is found by it.
        base_digest: of the base, where something was put on it.
        exact: whether it gives likelihoods; else sampled answers only.
        about: number type, revision, digests of edits in order, adapter, scheme of quantisation.
    """

    word: str
    name: str
    kind: Kind
    digest: str
    base_digest: str | None = None
    exact: bool = True
    about: dict[str, Any] = {}


class OpenState(Protocol):
    """A state that can be asked."""

    @property
    def about(self) -> StateOut:
        """Its record."""
        ...

    def ask(
        self,
        questions: Sequence[Question],
        settings: ProbeSettings,
        *,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answers to questions, one each, in order."""
        ...
