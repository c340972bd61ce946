"""A resolved request: the data set, model, method and hyperparameters it names, looked up once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.datasets import Dataset
from thinkeval.service.scoring.chat_choice import ChatChosen, settled
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.scope import Pairs, Scope, facts_in_scope, neighbors


@dataclass(frozen=True)
class Resolved:
    """A score request with everything that it names.

    Its request says `always` or `never` for the chat template, and `chat` how that was measured.
    What only some requests need is read at its first use, and then no more.
    """

    runtime: Runtime
    request: ScoreRequest
    dataset: Dataset
    model: RuntimeModel
    method: Any
    hparams: Any
    chat: ChatChosen | None = None

    @cached_property
    def scope(self) -> Scope:
        """The facts on the rewrite's chains."""
        return facts_in_scope(self.runtime.db, self.request)

    @cached_property
    def near(self) -> Pairs:
        """The rewrite's neighborhood."""
        return neighbors(self.runtime.db, self.dataset.id, self.request.rewrite)


def resolve(runtime: Runtime, request: ScoreRequest) -> Resolved:
    """Look up what a request names; its model is loaded.

    Raises:
        NotFoundError: no such data set.
        EditingError: unknown method, a model that it cannot edit, no hyperparameters for the
            model, or an unknown one.
    """
    from thinkeval.editing import hparams, registry
    from thinkeval.editing.architectures import adapter_for

    dataset = datasets.dataset(runtime.db, request.graph)
    model = runtime.model_of(request, dataset)
    method = registry.get(request.method)
    edits = registry.info(request.method).kind == "weights"
    if edits or hasattr(method, "reference"):  # a control that carries out such a method
        adapter_for(model.loaded.model)  # refused now, not after an hour of probing
    values = hparams.load(
        request.method, request.hparams or model.source, overrides=request.overrides
    )
    settings, chat = settled(runtime, dataset, model.loaded, request.probe)
    request = request.model_copy(update={"chat": settings.chat})
    return Resolved(runtime, request, dataset, model, method, values, chat)
