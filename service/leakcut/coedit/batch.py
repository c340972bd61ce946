"""One update for several requests, computed from the unedited model.

MEMIT and its family find a target vector for each request by itself: the vectors are found one
request at a time, so that a round finds those of earlier rounds again, and the same numbers come
out whether a run was interrupted or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...scoring import covariance
from ...scoring import plan as planning
from ...scoring.request import ScoreRequest
from ...scoring.resolved import resolve

if TYPE_CHECKING:
    from ....editing.deltas import EditEffect
    from ....loaders.records import RewriteRequest
    from ...schemas import EditOptions
    from ...scoring.runtime import Runtime


def effect_of(
    runtime: Runtime, options: EditOptions, requests: Sequence[RewriteRequest]
) -> EditEffect:
    """The effect of editing all requests at once; the model is the same afterwards.

    A method without batches (ROME) edits them one after the other, in order.

    Raises:
        EditingError: a request cannot be edited.
    """
    plan = planning.plan_edit(resolve(runtime, ScoreRequest.of(requests[0], options)))
    resolved = plan.resolved
    loaded = resolved.model.loaded
    found: dict[str, Any] = {}
    apart = getattr(resolved.method, "TARGET_SITE", None) == "layer"
    if apart and not getattr(resolved.hparams, "joint_targets", False):
        targets: dict[str, Any] = {}
        for number, request in enumerate(requests):
            runtime.progress(number, len(requests), "target vectors")
            alone = planning.plan_edit(resolve(runtime, ScoreRequest.of(request, options)))
            effect = planning.execute(alone)
            targets |= effect.targets
            found = {"targets": targets, "context_templates": effect.templates}
    runtime.progress(0, 1, f"editing {len(requests)} facts with {options.method}")
    return resolved.method.execute(
        loaded.model,
        loaded.tokenizer,
        list(requests),
        resolved.hparams,
        covariance.covariance_of(runtime, plan.corpus, resolved.model, plan.layers),
        state=planning.state_of(plan),
        seed=options.seed,
        **found,
    )
