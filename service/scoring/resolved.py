"""A resolved request: the data set, model, method and facts that it names, looked up once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.records import SUBJECT_SLOT, Fact, RewriteRequest
from ..base.errors import UsageError
from ..graphs import datasets
from ..graphs.datasets import Dataset, case, to_fact
from . import hyperparameters as given
from .chat import ChatChosen, settled
from .hyperparameters import Chosen
from .probe import Neighbor
from .request import ScoreRequest
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..models.edit import EditOptions


# Step 1 of a score: the facts on a rewrite's chains, and the prompts of its neighborhood.
#
# An edit must change nothing at the prompts of the neighborhood. A data set with a neighborhood
# states it (CounterFact, zsRE). For any other, the graph itself holds the natural one: facts of
# other subjects with the same relation and the same object as target_true, which is CounterFact's
# own definition (Meng et al. 2022, section 3.3). At most LIMIT of them are taken, always the same
# ones; a graph without such facts gives none, and specificity is then 0 with n = 0.


@dataclass(frozen=True, slots=True)
class Scope:
    """The facts on a rewrite's chains, and the graph's entities that have further names."""

    facts: tuple[Fact, ...]
    aliases: dict[str, tuple[str, ...]]


def facts_in_scope(db: Database, request: ScoreRequest) -> Scope:
    """The facts on the rewrite's chains of ≤ max_steps steps, and the aliases of their objects.

    A rewrite without chains has an empty scope: its IFR is 0 and its Preservation 1 by definition,
    both with n = 0.
    """
    params = case(request.graph, request.rewrite)
    found = db.read(
        rows.FactRow,
        "probes/facts_in_scope",
        graph=request.graph,
        subject=params["subject"],
        object=params["object"],
        rewrite=params["rewrite"],
        max_steps=request.max_steps,
    )
    named = db.read(rows.EntityRow, "graph/entities", graph=request.graph, aliased=True)
    return Scope(tuple(to_fact(row) for row in found), {e.name: e.aliases for e in named})


LIMIT = 10
"""As many as CounterFact has for each record."""

Pairs = tuple[tuple[str, str], ...]


def neighbors(db: Database, graph: str, rewrite: RewriteRequest) -> Pairs:
    """Complete prompts about other subjects, each with its right answer."""
    if rewrite.neighborhood:
        return rewrite.neighbors
    found = db.read(
        rows.NeighborRow,
        "probes/neighborhood",
        graph=graph,
        subject=rewrite.subject,
        relation=rewrite.relation,
        object=rewrite.target_true,
        limit=LIMIT,
    )
    return tuple(
        (row.prompt.replace(SUBJECT_SLOT, row.subject, 1), rewrite.target_true) for row in found
    )


def near_questions(
    pairs: Pairs, aliases: Mapping[str, tuple[str, ...]], target_new: str | None = None
) -> tuple[Neighbor, ...]:
    """The questions at the prompts: for their right answers or, at all of them, for target_new."""
    return tuple(
        Neighbor(prompt, name, aliases.get(name, ()))
        for prompt, right in pairs
        for name in (right if target_new is None else target_new,)
    )


@dataclass(frozen=True)
class Resolved:
    """A score request with everything that it names.

    Its request says `always` or `never` for the chat template, and `chat` how that was measured.
    `chosen` says where the hyperparameters are from.
    Data that only some requests need is read at its first use, and then no more.
    """

    runtime: Runtime
    request: ScoreRequest
    dataset: Dataset
    model: RuntimeModel
    method: Any
    hparams: Any
    chosen: Chosen
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
        EditingError: unknown method, a model that it cannot edit, or unknown hyperparameters.
    """
    from ...editing import registry
    from ...editing.architectures import adapter_for

    dataset = datasets.dataset(runtime.db, request.graph)
    require_another(runtime.db, request)
    method = registry.get(request.method)
    hyperparameters(runtime, request)  # an error of theirs comes before the model is loaded
    model = runtime.model_of(request, dataset)
    found = hyperparameters(runtime, request, model.loaded.info.digest, dataset.digest)
    if _edits_weights(request.method):
        adapter_for(model.loaded.model)  # refused now, not after an hour of probing
    settings, chat = settled(runtime, dataset, model.loaded, request.probe)
    request = request.model_copy(update={"chat": settings.chat})
    return Resolved(runtime, request, dataset, model, method, found.values, found, chat)


def require_another(db: Database, request: ScoreRequest) -> None:
    """Refuse a new object that is another name of the old one: nothing would be changed.

    Raises:
        UsageError: names the entity and its names.
    """
    rewrite = request.rewrite
    new = rewrite.target_new.casefold()
    if not new or rewrite.kind == "append":
        return
    named = db.read(rows.EntityRow, "graph/entities", graph=request.graph, aliased=True)
    names = {entity.name: (entity.name, *entity.aliases) for entity in named}
    old = next(
        (each for each in names.values() if rewrite.target_true in each), (rewrite.target_true,)
    )
    if new in (name.casefold() for name in old):
        raise UsageError(
            f"{rewrite.target_new!r} is a name of {old[0]!r} in {request.graph}: the edit would"
            " change nothing.",
            remedy="Name another object with --target-new, or take the alias out of the graph.",
        )


def require_hparams(runtime: Runtime, requests: Iterable[EditOptions]) -> None:
    """Find the hyperparameters of all requests before a model is loaded; announce suggested ones.

    Only for a model without files is its configuration read: a model that is not there, or that
    no method edits, is the error then.

    Raises:
        HparamsError: a file cannot be read, or a key is unknown, missing or of a wrong type.
        ModelLoadError, UnsupportedArchitectureError: the model is the reason.
    """
    distinct = {request.model_dump_json(include=_DECIDES): request for request in requests}
    found: list[tuple[str, Chosen]] = []
    try:
        for request in distinct.values():
            found.append((Path(request.model).name, hyperparameters(runtime, request)))
    finally:
        given.announce(runtime, found)


_DECIDES = {"model", "revision", "organism_seed", "method", "hparams", "overrides"}
"""Options that decide which hyperparameters a request has."""


def hyperparameters(
    runtime: Runtime, request: EditOptions, state: str | None = None, content: str = ""
) -> Chosen:
    """The hyperparameters of a request, by its model's name and configuration.

    Args:
        state: digest of the loaded model, and `content` of the graph, by which tuned ones are
            found; None: the model is not loaded, and nothing is announced.

    Raises:
        HparamsError, ModelLoadError, UnsupportedArchitectureError: as `require_hparams`.
    """
    source = runtime.source_of(request)
    if source is None:  # an organism whose training refuses its architecture
        source = runtime.model_of(request).listed_as
    named = given.source_for(request.method, request.hparams)
    return given.chosen(
        runtime,
        request.method,
        named or source,
        request.overrides,
        name=None if named else Path(request.model).name,
        config=lambda: _config(runtime, request, source),
        tuned=given.tuned_for(runtime.settings, request.method, state, content) if state else None,
        anyway=request.anyway,
        state_known=state is not None,
    )


def _config(runtime: Runtime, request: EditOptions, source: str) -> Any:
    """The configuration of a request's model, which no method may refuse to edit."""
    from ...editing import architectures, models

    if runtime.lends(request.model):
        return runtime.model_of(request).loaded.model.config
    config = models.config_of(source, revision=request.revision)
    if _edits_weights(request.method):
        architectures.layout_for(config, config.model_type)
    return config


def _edits_weights(name: str) -> bool:
    """Return True if a method edits weights, or is a control that carries out such a method."""
    from ...editing import registry

    return registry.info(name).kind == "weights" or hasattr(registry.get(name), "reference")
