"""A resolved request: the data set, model, method and hyperparameters it names, looked up once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..graphs import datasets
from ..graphs.datasets import Dataset
from .chat_choice import ChatChosen, settled
from .request import ScoreRequest
from .runtime import Runtime, RuntimeModel
from .scope import Pairs, Scope, facts_in_scope, neighbors

if TYPE_CHECKING:
    from ..schemas import EditOptions


@dataclass(frozen=True)
class Resolved:
    """A score request with everything that it names.

    Its request says `always` or `never` for the chat template, and `chat` how that was measured.
    Data that only some requests need is read at its first use, and then no more.
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
    """Look up the resources that a request names; its model is loaded.

    Raises:
        NotFoundError: no such data set.
        EditingError: unknown method, a model that it cannot edit, no hyperparameters for the
            model, or an unknown one.
    """
    from ...editing import hparams, registry
    from ...editing.architectures import adapter_for

    dataset = datasets.dataset(runtime.db, request.graph)
    method = registry.get(request.method)
    require_hparams(runtime, [request])
    source = request.hparams or runtime.source_of(request)
    values = source and hparams.load(request.method, source, overrides=request.overrides)
    model = runtime.model_of(request, dataset)
    if _edits_weights(request.method):
        adapter_for(model.loaded.model)  # refused now, not after an hour of probing
    values = values or hparams.load(request.method, model.source, overrides=request.overrides)
    settings, chat = settled(runtime, dataset, model.loaded, request.probe)
    request = request.model_copy(update={"chat": settings.chat})
    return Resolved(runtime, request, dataset, model, method, values, chat)


def require_hparams(runtime: Runtime, requests: Iterable[EditOptions]) -> None:
    """Refuse methods without hyperparameters for their model, once for all and before it is loaded.

    Only where some are missing is the model's configuration read: a model that is not there, or
    that no method edits, is the error then.

    Raises:
        HparamsError: names all methods without hyperparameters for a model.
        ModelLoadError, UnsupportedArchitectureError: the model is the reason.
    """
    from ...editing import hparams

    asked: dict[tuple[str, str | None], dict[str, None]] = {}
    sources: dict[str, str] = {}
    for request in requests:
        source = None if request.hparams else runtime.source_of(request)
        if source is not None:
            sources[request.model] = source
            asked.setdefault((request.model, request.revision), {})[request.method] = None
    for (text, revision), methods in asked.items():
        lacking = hparams.without_file(methods, sources[text])
        if lacking:
            if not runtime.lends(text):
                _require_model(sources[text], revision, lacking)
            raise hparams.missing(lacking, sources[text])


def _require_model(source: str, revision: str | None, methods: Iterable[str]) -> None:
    """Refuse a model by its configuration; a name of hyperparameters (an organism) is none."""
    from ...editing import architectures, hparams, models

    if hparams.short_name(source) is not None:
        return
    config = models.config_of(source, revision=revision)
    if any(_edits_weights(name) for name in methods):
        architectures.layout_for(config, config.model_type)


def _edits_weights(name: str) -> bool:
    """Return True if a method edits weights, or is a control that carries out such a method."""
    from ...editing import registry

    return registry.info(name).kind == "weights" or hasattr(registry.get(name), "reference")
