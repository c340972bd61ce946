"""Sequential editing: each batch is edited on the model with all earlier edits applied.

Works with any method. The model itself is not changed: after each batch the cumulative edit is
yielded, to be applied with `deltas.applied` and scored, immediately or later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from ..loaders.records import RewriteRequest
from .deltas import EditEffect, applied
from .key_value.tokens import check
from .linear_algebra import in_float64
from .objectives import Objective


def edit_in_sequence(
    model: nn.Module,
    tokenizer: Any,
    batches: Iterable[Sequence[RewriteRequest]],
    method: Any,
    hparams: Any,
    covariance: Mapping[str, Tensor] | None,
    *,
    context_templates: Any = None,
    targets: Mapping[str, Tensor] | None = None,
    state: Any = None,
    seed: int = 0,
    objective: Objective | None = None,
    before: EditEffect | None = None,
    done: int = 0,
) -> Iterator[EditEffect]:
    """Edit batch after batch; yields the cumulative effect relative to the model as passed.

    The model is bit-identical at each yield and afterwards, also after an exception or when the
    iteration is abandoned.

    Args:
        batches: the requests of each edit; the requests of a batch are edited together, if the
            method supports it. All are read and validated before the first edit.
        method: of `editing.registry.get`; `editing.methods` describes the other arguments.
        covariance: of the unedited model; used for all batches.
        context_templates: sampled once from the unedited model if None.
        targets: {request id: vector} to use instead of optimising. Vectors that were optimised on
            another state of the model differ from the method's own.
        state: of an earlier sequence, whose updates the model then carries; or other inputs of the
            method (demonstrations).
        seed: of the templates and of the first batch; batch i uses seed + i, so that a method's
            random parts differ between batches.
        objective: of all batches, for a method with `TAKES_OBJECTIVE`; log P0 of a batch's answers
            is that before the batch.
        before: the cumulative effect of `done` earlier batches of this sequence, with its state and
            templates; `batches` are those that remain.

    Yields:
        An effect with the sum of all updates (`factors` while they are of low rank), targets and
        steps of all requests so far (the latest for a repeated id), the prompt changes of all
        batches, and the state after this batch.

    Raises:
        RequestError: a request of any batch cannot be edited; raised before the first edit.
        EditingError: an error of the method for a batch; earlier yields remain valid.
    """
    listed = [list(batch) for batch in batches]
    target = "target_true" if getattr(method, "FORGETS", False) else "target_new"
    for batch in listed:
        check(batch, tokenizer, objective, target)

    taken: dict[str, Any] = {} if objective is None else {"objective": objective}

    def run() -> Iterator[EditEffect]:
        total, templates, current = before or EditEffect(), context_templates, state
        if before is not None:
            templates, current = before.templates or templates, before.state or current
        for i, batch in enumerate(listed, start=done):
            with applied(model, total):
                effect = method.execute(
                    model,
                    tokenizer,
                    batch,
                    hparams,
                    covariance,
                    context_templates=templates,
                    targets=targets,
                    state=current,
                    seed=seed + i,
                    **taken,
                )
            templates = effect.templates or templates
            current = effect.state or current
            total = combined(total, effect) if i > 0 else effect
            yield total

    return run()


def combined(first: EditEffect, second: EditEffect) -> EditEffect:
    """Two consecutive effects as one; the state is that of the second."""
    deltas, factors = {}, {}
    for name in (*first.deltas, *(n for n in second.deltas if n not in first.deltas)):
        pair = _joined(name, first, second)
        if pair is not None:
            factors[name] = pair
            deltas[name] = (in_float64(pair[0]) @ in_float64(pair[1])).float()
        else:
            parts = [in_float64(e.deltas[name]) for e in (first, second) if name in e.deltas]
            deltas[name] = torch.stack(parts).sum(0).float()
    return replace(
        second,
        deltas=deltas,
        factors=factors,
        targets=first.targets | second.targets,
        n_steps=first.n_steps | second.n_steps,
        residual_left=first.residual_left | second.residual_left,
        templates=second.templates or first.templates,
        prompt_change=_composed(first.prompt_change, second.prompt_change),
    )


def _joined(name: str, first: EditEffect, second: EditEffect) -> tuple[Tensor, Tensor] | None:
    """Factors of the sum; None if an update has none, or if they are larger than the matrix."""
    pairs = []
    for effect in (first, second):
        if name in effect.factors:
            pairs.append(effect.factors[name])
        elif name in effect.deltas:
            return None
    lefts, rights = zip(*pairs, strict=True)
    left, right = torch.cat(lefts, dim=1), torch.cat(rights)
    fits = left.numel() + right.numel() < len(left) * right.shape[1]
    return (left, right) if fits else None


def _composed(first: Any, second: Callable[[str], str] | None) -> Any:
    """Composition: the later change is applied first, so the earlier edit's text precedes it."""
    if first is None or second is None:
        return second if first is None else first
    # `followed_by` merges the changes as plain data, without repeated facts.
    if isinstance(second, type(first)) and hasattr(first, "followed_by"):
        return first.followed_by(second)
    return lambda prompt: first(second(prompt))
