"""Requests to append an answer for a stored graph: new answers that a model does not give yet.

P0 of a name is its `likelihood_norm` at the prompt before any edit: of this name, without aliases
(PEAK, Ma et al. 2024, §3.2, normalised by length as in its code).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ....editing.probe.settings import ProbeSettings
from ...graphs import append_requests
from ...graphs.append_requests import Key, Pair, Prior, Requests
from ..chat_choice import settled
from ..probe import filled
from .probing import Prompt, answers

if TYPE_CHECKING:
    from ....editing.models import LoadedModel
    from ...graphs.datasets import Dataset
    from ..runtime import Runtime


def build(
    runtime: Runtime,
    dataset: Dataset,
    *,
    model: str | None = "organism",
    chat: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
) -> Requests:
    """Build the requests of a data set and store them in it.

    Args:
        model: the model that must not give the new answers; None: they are chosen by name only.

    Raises:
        ConflictError: the graph has changed meanwhile.
        ProbeError: the model cannot be asked for a name; says which.
    """
    graph, found = append_requests.of_graph(runtime.db, dataset.id)
    todo = append_requests.without_request(graph, found)
    priors = None
    if model is not None and todo:
        loaded = runtime.model(model, dataset, dtype=dtype, revision=revision).loaded
        settings = ProbeSettings(chat=cast("Any", chat))
        chat = settled(runtime, dataset, loaded, settings)[0].chat
        priors = _priors(runtime, loaded, todo, chat)
    requests = append_requests.build(runtime.db, graph, found, priors)
    if requests.built:
        append_requests.store(runtime.db, graph, requests.built)
    return requests


def _priors(
    runtime: Runtime, loaded: LoadedModel, todo: Sequence[Key], chat: str
) -> dict[Pair, Prior]:
    """P0 of every name of the range of every pair, in batches over all."""
    asked = [
        Prompt(
            "prompt",
            filled(key.prompt, key.subject),
            new=key.range[0],
            correct=key.range[1:],
        )
        for key in todo
    ]
    found = answers(loaded, asked, chat=chat, progress=runtime.progress)
    return {
        key.pair: dict(zip(key.range, (each.new, *each.correct), strict=True))
        for key, each in zip(todo, found, strict=True)
    }
