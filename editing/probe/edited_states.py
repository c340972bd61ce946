"""Probes of many edited states of one model, without a change of its weights.

One state after the other computes much many times: the layers below an edit, the tokens that
prompts and names have in common, and which tokens these are. Here sequences are packed
(`token_tree`), the layers below the first edited one are run once, and the others run for several
states in one forward pass, where each state's update is added to the outputs of the edited maps
(`linear_updates`). Answers differ from those of one state after the other by rounding alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch

from ..architectures import Adapter, adapter_for
from ..deltas import EditEffect, applied, require_fits
from ..errors import EditingError
from ..evaluation_mode import evaluating
from ..models import LoadedModel
from . import (
    ProbeItem,
    ProbeResult,
    ProbeSettings,
    Progress,
    measured,
    probe,
    queries_of,
)
from .batching import room_for
from .likelihood import Likelihood, likelihoods
from .linear_updates import Updates, updates_of
from .prompts import Query, Renderer
from .sampled import Sampling, sample
from .state_passes import StatePasses, packs
from .token_edges import TokenEdges

State = Sequence[EditEffect]
"""The edits of one state, in the order they are applied; none is the model as it is."""


def probe_states(
    loaded: LoadedModel,
    states: Sequence[State],
    items: Sequence[ProbeItem],
    settings: ProbeSettings | None = None,
    *,
    progress: Callable[[float, int, str], None] | None = None,
) -> list[list[ProbeResult]]:
    """Probe edited states of one model for every item: a list of results for each state, in order.

    Likelihoods are computed for all states together; sampled answers, and states with an in-context
    edit, one state after the other.

    Args:
        loaded: the model that the states are edits of; unchanged on return.
        states: for each the edits; an in-context edit must be the only one.
        settings: the defaults of `ProbeSettings` if None.
        progress: the stage is `likelihood` (finished states; of those that are read together, also
            parts of one) or `sampling`.

    Raises:
        EditingError: an edit was computed for another model, or has NaN.
        ProbeError, DeviceMemoryError: as `thinkeval.editing.probe.probe`.
    """
    settings = settings or ProbeSettings()
    renderer = Renderer(loaded.tokenizer, settings.chat)
    queries = [query for item in items for query in queries_of(item, settings, renderer)]
    weights = [i for i, edits in enumerate(states) if not any(e.prompt_change for e in edits)]
    scored: dict[int, list[Likelihood]] = {}
    if set(settings.measures) - {"p"} and queries:
        done = None if progress is None else lambda n, total: progress(n, total, "likelihood")
        found = likelihoods_of_states(
            loaded,
            [states[i] for i in weights],
            queries,
            batch_tokens=settings.batch_tokens,
            done=done,
        )
        scored = dict(zip(weights, found, strict=True))
    results = []
    for i, edits in enumerate(states):
        if i not in weights:
            results.append(_in_context(loaded, edits, items, settings, progress))
            continue
        values = _columns(loaded, edits, queries, settings, scored.get(i), progress)
        results.append(measured(items, settings, renderer, lambda _, found=values: dict(found)))
    return results


@torch.no_grad()
def likelihoods_of_states(
    loaded: LoadedModel,
    states: Sequence[State],
    queries: Sequence[Query],
    *,
    batch_tokens: int | None = None,
    done: Callable[[float, int], None] | None = None,
) -> list[list[Likelihood]]:
    """Score every query with every state; for each state the values in the order of the queries.

    States whose edits change linear weights of the layers share forward passes. The others (an
    embedding, a norm, a bias, weights of 16 bits, an architecture without adapter) are applied and
    asked one after the other.

    Args:
        loaded: model and tokenizer; unchanged on return.
        batch_tokens: maximum tokens of a forward pass, by default as many as fit.
        done: called with the numbers of finished and of all states; n states that are read together
            are finished together, so that half of their rows are n / 2.

    Raises:
        EditingError, ProbeError, DeviceMemoryError: as `probe_states`.
    """
    for edits in states:
        for edit in edits:
            require_fits(loaded.model, edit)
    tell = done or (lambda *_: None)
    limit = room_for(loaded.model, batch_tokens).tokens
    found: dict[int, list[Likelihood]] = {}
    with evaluating(loaded.model):
        together = _together(loaded, states)
        if together and queries:
            asked = TokenEdges(loaded, queries)
            adapter = adapter_for(loaded.model)
            if packs(adapter, asked):
                passes = StatePasses(adapter, asked, limit)
                keys = list(together)
                log_p = passes.run([together[i] for i in keys], lambda n: tell(n, len(states)))
                for i, values in zip(keys, log_p, strict=True):
                    found[i] = asked.combine(values)
        for i, edits in enumerate(states):
            if i in found:
                continue
            with _applied(loaded, edits):
                found[i] = likelihoods(loaded, queries, batch_tokens=batch_tokens)
            tell(len(found), len(states))
    return [found[i] for i in range(len(states))]


def _together(loaded: LoadedModel, states: Sequence[State]) -> dict[int, Updates]:
    """The states that can share forward passes, as updates of linear maps."""
    try:
        adapter: Adapter = adapter_for(loaded.model)
    except EditingError:
        return {}
    found = ((i, updates_of(adapter, edits)) for i, edits in enumerate(states))
    return {i: updates for i, updates in found if updates is not None}


def _applied(loaded: LoadedModel, edits: State) -> ExitStack:
    """Apply a state's edits in order; reverted when the stack is closed."""
    with ExitStack() as stack:
        for edit in edits:
            stack.enter_context(applied(loaded.model, edit))
        return stack.pop_all()


def _in_context(
    loaded: LoadedModel,
    edits: State,
    items: Sequence[ProbeItem],
    settings: ProbeSettings,
    progress: Progress | None,
) -> list[ProbeResult]:
    if len(edits) > 1:
        raise EditingError(
            "a state with an in-context edit has further edits",
            remedy="Put an in-context edit into a state by itself.",
        )
    (edit,) = edits
    with applied(loaded.model, edit):
        return probe(loaded, items, settings, progress=progress, prompt_change=edit.prompt_change)


def _columns(
    loaded: LoadedModel,
    edits: State,
    queries: Sequence[Query],
    settings: ProbeSettings,
    scored: Sequence[Likelihood] | None,
    progress: Progress | None,
) -> dict[str, list[Any]]:
    """The requested measures of one state, each with a value for each query, and the answers."""
    values: dict[str, list[Any]] = {"answers": [()] * len(queries)}
    if "p" in settings.measures and queries:
        drawing = Sampling(
            settings.samples, settings.temperature, settings.max_new_tokens, settings.seed
        )
        done = None if progress is None else lambda n, total: progress(n, total, "sampling")
        with evaluating(loaded.model), _applied(loaded, edits):
            sampled = sample(
                loaded, queries, drawing, batch_tokens=settings.batch_tokens, done=done
            )
        values["p"] = [each.share for each in sampled]
        values["answers"] = [each.answers for each in sampled]
    for name in ("likelihood", "likelihood_norm"):
        if name in settings.measures and scored is not None:
            values[name] = [getattr(each, name) for each in scored]
    return values
