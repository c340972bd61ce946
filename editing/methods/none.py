"""No edit: the unedited model, scored like an edited one; the control of every table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from ...loaders.records import RewriteRequest
from ..deltas import EditEffect
from ..hparams.of.none import HyperParams
from ..key_value.tokens import check

NAME = "none"
PAPER = "control"
KIND = "control"


def execute(
    model: nn.Module,
    tokenizer: Any,
    requests: Sequence[RewriteRequest],
    hparams: HyperParams | None = None,
    covariance: Mapping[str, Tensor] | None = None,
    *,
    context_templates: Any = None,
    targets: Mapping[str, Tensor] | None = None,
    state: Any = None,
    seed: int = 0,
) -> EditEffect:
    """An effect without updates; the requests are checked (contract: `editing.methods`)."""
    check(requests, tokenizer)
    return EditEffect(n_steps={request.id: 0 for request in requests})
