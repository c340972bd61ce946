"""Edits one after the other: each batch on the model with all earlier ones on.

Works with any method. The model itself stays unedited: what is yielded after each batch is the
whole edit so far, to be put on with `deltas.applied` and scored, now or at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from thinkeval.editing.deltas import EditEffect, applied
from thinkeval.editing.key_value.tokens import check
from thinkeval.loaders.records import RewriteRequest


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
) -> Iterator[EditEffect]:
    """Edit batch after batch; after each, the cumulative effect relative to the model as given.

    The model is unchanged, bit for bit, at each yield and afterwards, also after an exception or
    when the iteration is given up.

    Args:
        batches: the requests of each edit; those of a batch are edited together, as far as the
            method can. All are read and checked before the first is edited.
        method: of `editing.registry.get`.
        covariance: of the unedited model; serves all batches.
        context_templates: as for the method; sampled from the unedited model, once, if None.
        targets: {request id: vector} to use instead of optimising. Vectors that were optimised on
            another state of the model than that batch will find are not what the method would find.
        state: of an earlier sequence, whose updates the model then carries; or what a method needs
            besides (demonstrations).
        seed: of the templates and of the first batch; batch i has seed + i, so that a method with
            random parts does not draw the same for each batch.

    Yields:
        An effect with the sum of all updates (`factors` as long as they are of low rank), targets
        and steps of all requests so far (the later one's where an id comes again), the prompt
        changes of all batches, and the state after this batch.

    Raises:
        RequestError: a request of any batch cannot be edited; raised before the first edit.
        EditingError: whatever the method raises for a batch; the earlier yields stand.
    """
    listed = [list(batch) for batch in batches]
    for batch in listed:
        check(batch, tokenizer)

    def run() -> Iterator[EditEffect]:
        total, templates, going = EditEffect(), context_templates, state
        for i, batch in enumerate(listed):
            with applied(model, total):
                effect = method.execute(
                    model,
                    tokenizer,
                    batch,
                    hparams,
                    covariance,
                    context_templates=templates,
                    targets=targets,
                    state=going,
                    seed=seed + i,
                )
            templates = effect.templates or templates
            going = effect.state or going
            total = combined(total, effect) if i else effect
            yield total

    return run()


def combined(first: EditEffect, second: EditEffect) -> EditEffect:
    """Two effects, one after the other, as one; the state is that of the second."""
    deltas, factors = {}, {}
    for name in (*first.deltas, *(n for n in second.deltas if n not in first.deltas)):
        pair = _joined(name, first, second)
        if pair is not None:
            factors[name] = pair
            deltas[name] = (pair[0].double() @ pair[1].double()).float()
        else:
            parts = [e.deltas[name].double() for e in (first, second) if name in e.deltas]
            deltas[name] = torch.stack(parts).sum(0).float()
    return replace(
        second,
        deltas=deltas,
        factors=factors,
        targets=first.targets | second.targets,
        n_steps=first.n_steps | second.n_steps,
        templates=second.templates or first.templates,
        prompt_change=_composed(first.prompt_change, second.prompt_change),
    )


def _joined(name: str, first: EditEffect, second: EditEffect) -> tuple[Tensor, Tensor] | None:
    """The factors of the sum; None where an update has none, or they outgrow the matrix."""
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
    """The change of the later edit first: the earlier one's text stays in front of the prompt."""
    if first is None or second is None:
        return second if first is None else first
    # A change that knows how to go on stays plain data, and tells nothing twice.
    if isinstance(second, type(first)) and hasattr(first, "followed_by"):
        return first.followed_by(second)
    return lambda prompt: first(second(prompt))
