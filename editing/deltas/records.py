"""Records of a saved edit: provenance (`DeltaMeta`), and the edit as read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import EditEffect


@dataclass(frozen=True, kw_only=True)
class DeltaMeta:
    """Provenance of an edit: model, method and inputs.

    Attributes:
        weights_digest: of the unedited model; the edit is rejected on any other model.
        requests: the rewrite requests, as dictionaries.
        model: the model as the user named it, so that it can be loaded again.
        dataset: graph of the rewrite; for an organism, the graph it was trained on.
        covariance_digest: of the covariance statistics; None if the method used none, or
            statistics without a source.
        after: digests of the edits that were applied when this one was computed, in order; the edit
            can only be applied after the same edits.
        edit: id of the scored edit, if it was scored.
        inputs: digest of the model's configuration, buffers and tokenizer.
    """

    weights_digest: str
    method: str
    hparams: Mapping[str, Any] = field(default_factory=dict)
    requests: tuple[Mapping[str, Any], ...] = ()
    seed: int = 0
    model: str = ""
    dataset: str = ""
    revision: str | None = None
    dtype: str = "float32"
    architecture: str = ""
    covariance_digest: str | None = None
    after: tuple[str, ...] = ()
    edit: str | None = None
    inputs: str = ""
    thinkeval: str = field(default_factory=lambda: version("thinkeval"))
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True)
class SavedDelta:
    """An edit read from a file.

    Attributes:
        effect: updates (on the CPU), factors, targets, steps, templates, prompt change.
        digest: of updates and prompt change; equal for equal edits.
        low_rank: parameters whose update is stored by its factors.
    """

    effect: EditEffect
    meta: DeltaMeta
    digest: str
    low_rank: tuple[str, ...]
