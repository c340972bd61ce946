"""What is recorded with a saved edit: for which model it was made, from what, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinkeval.editing.deltas import EditEffect


@dataclass(frozen=True, kw_only=True)
class DeltaMeta:
    """What an edit was made for and made from.

    Attributes:
        weights_digest: of the unedited model; the edit is refused on any other.
        requests: the rewrite requests, as dictionaries.
        model: the model as the user named it, so that it can be loaded again.
        dataset: the graph the rewrite belongs to; where the model is an organism, the one it was
            trained on.
        covariance_digest: of the key statistics; None where the method took none, or plain ones.
        after: digests of the edits that were on the model when this one was made, first one first;
            such an edit goes on only after the same ones.
        edit: id of the scored edit, if it was scored.
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
    thinkeval: str = field(default_factory=lambda: version("thinkeval"))
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True)
class SavedDelta:
    """An edit that was read from a file.

    Attributes:
        effect: updates (on the CPU), factors, targets, steps, templates, prompt change.
        digest: of updates and prompt change; the same edit has the same one.
        low_rank: the parameters whose update is stored by its factors.
    """

    effect: EditEffect
    meta: DeltaMeta
    digest: str
    low_rank: tuple[str, ...]
