"""Target vectors found once and used by every method that would find the same ones.

MEMIT, RECT, PRUNE and AlphaEdit start from the same z, and finding it is nearly all of their time.
What is kept is keyed by everything z depends on, so a shared vector is the one that the method
would have found, to the bit, and the score's identity does not say who found it. It lives as long
as its Workbench.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from thinkeval.loaders.records import digest

if TYPE_CHECKING:
    from thinkeval.editing.deltas import EditEffect
    from thinkeval.service.scoring.plan import Plan
    from thinkeval.service.scoring.request import ScoreRequest
    from thinkeval.service.scoring.runtime import BenchModel, Workbench


@dataclass(frozen=True, slots=True)
class Shared:
    """What one optimisation gave: {request id: vector}, its steps, and the templates it was in."""

    targets: Mapping[str, Any]
    n_steps: Mapping[str, int]
    templates: tuple[tuple[str, ...], ...]


def key_of(made: Plan, request: ScoreRequest, model: BenchModel) -> str | None:
    """What this edit's targets go by; None where the method has none to share.

    A control that carries out another method (`reference`) shares that method's.
    """
    method, hparams = made.method, made.hparams
    if hasattr(method, "reference"):
        method, hparams = method.reference(hparams)
    site = getattr(method, "TARGET_SITE", None)
    if site is None:
        return None
    info = model.loaded.info
    return digest(
        [
            info.weights_digest,
            info.dtype,
            str(model.loaded.device),
            hparams.target_key(site),
            asdict(request.rewrite),
            request.seed,
        ]
    )


def given(bench: Workbench, key: str | None) -> dict[str, Any]:
    """Arguments for `execute`: the vectors and templates that are known, or none."""
    found = bench.targets.get(key) if key else None
    if found is None:
        return {}
    return {"targets": dict(found.targets), "context_templates": found.templates}


def kept(bench: Workbench, key: str | None, effect: EditEffect) -> EditEffect:
    """Keep what was found; of what was given, the effect tells the steps it once took."""
    if key is None or not effect.targets:
        return effect
    found = bench.targets.setdefault(key, Shared(effect.targets, effect.n_steps, effect.templates))
    return replace(effect, n_steps=dict(found.n_steps))
