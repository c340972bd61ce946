"""A state as its callers see it: a record, and answers to questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel, Field

from ..scoring.probe import Answer, Progress, Question

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings

Kind = Literal["model", "adapter", "edited", "quantized", "endpoint", "memory"]


class StateOut(BaseModel):
    """A state as records and reports show it."""

    spec: str = Field(description="The state, as it is written on the command line.")
    name: str = Field(description="short, for tables.")
    kind: Kind = Field(description="The last change that was put on.")
    digest: str = Field(
        description="Digest of the model as it is asked: weights, configuration, tokenizer,"
        " template (base with its edits: that of the exported folder); a stored answer of the state"
        " is found by it."
    )
    base_digest: str | None = Field(
        default=None, description="Digest of the base, where something was put on it."
    )
    exact: bool = Field(
        default=True, description="Whether it gives likelihoods; else sampled answers only."
    )
    about: dict[str, Any] = Field(
        default={},
        description="Number type, revision, digests of edits in order, adapter, scheme of"
        " quantisation.",
    )


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
