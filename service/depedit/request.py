"""Checks of a request to run DepEdit's protocol, before a model is loaded.

A file belongs to the service, not to the client, so that a request may name none. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ...editing import registry
from ..errors import NotFoundError, NothingStoredError, UsageError
from ..graphs import datasets
from ..jobs import submit
from . import run, store, strategies
from .editor import ALIASES, require_weights
from .protocol import Method
from .schemas import RunsIn

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..settings import Settings

MOST = 2000
"""Runs that one job may ask for."""


def check(settings: Settings, posted: RunsIn) -> list[Method]:
    """Return the methods that are run on each set, in order and each once.

    Raises:
        NotFoundError: no such strategy; close ones are suggested.
        EditingError: no such editor, or it has no hyperparameters for the model.
        UsageError: the model is not on the allow-list, an editor fits no strategy, or a file is
            named. Keys of `overrides` are checked by the worker: methods import torch.
    """
    submit.require_allowed(settings, posted.model)
    submit.require_no_files(posted.overrides)
    found = run.methods(posted.strategies or [], posted.editor)
    for name in dict.fromkeys(filter(None, map(editor_of, found))):
        _check_editor(name, posted)
    # `forwchain` is `finetune+forwchain`: runs of one id are one run.
    return list({(method.strategy, method.wrapped): method for method in found}.values())


def editor_of(method: Method) -> str | None:
    """The editor that a method puts facts in with; None where it edits nothing."""
    name = method.editor or strategies.get(method.strategy).EDITOR
    return None if name == "base" else name


def _check_editor(name: str, posted: RunsIn) -> None:
    method = "mend" if name == "mend_imp" else ALIASES.get(name, name)
    require_weights(name, registry.info(method))
    submit.require_hparams(name, method, posted.hparams, posted.model)


def sets_of(db: Database, posted: RunsIn) -> list[rows.KnowledgeSetRow]:
    """The sets that are meant, in order and each once.

    Raises:
        NotFoundError: no such set, or no such graph; close names are suggested.
        NothingStoredError: the graph has no sets.
        UsageError: nothing says which, or a set came from a file and no graph is named.
    """
    if posted.sets is not None:
        by_id = {row.id: row for row in store.list_sets(db)}
        for name in posted.sets:
            if name not in by_id:
                raise NotFoundError("knowledge set", name, by_id, listing="GET /v1/depedit/sets")
        return [by_id[name] for name in dict.fromkeys(posted.sets)]
    if posted.graph is None:
        raise UsageError(
            "Nothing says which knowledge sets to run.",
            remedy="Give their ids as `sets`, or `graph` for all of a data set's.",
        )
    found = store.list_sets(db, dataset=posted.graph)
    if not found:
        datasets.require_graph(db, posted.graph)
        raise NothingStoredError(
            f"No knowledge set of {posted.graph!r} is stored.",
            remedy="`POST /v1/depedit/sets` builds some.",
        )
    return found


def graphs_of(sets: Sequence[rows.KnowledgeSetRow], graph: str | None) -> list[str]:
    """The graphs whose models are used, each once.

    Raises:
        UsageError: a set came from a file, and no graph is named.
    """
    for row in sets:
        if not (graph or row.dataset):
            raise UsageError(
                f"The knowledge set {row.id!r} came from a file, which names no graph.",
                remedy="Name the graph whose sentences and model are used as `graph`.",
            )
    return list(dict.fromkeys(graph or row.dataset for row in sets))


def require_bounded(sets: Sequence[rows.KnowledgeSetRow], wanted: Sequence[Method]) -> int:
    """Return the number of runs that this makes.

    Raises:
        UsageError: too many for one job.
    """
    total = len(sets) * len(wanted)
    if total > MOST:
        raise UsageError(
            f"{len(sets)} sets and {len(wanted)} strategies make {total:,} runs; one job may ask"
            f" for {MOST:,}.",
            remedy="Post them in parts: fewer sets or strategies at a time.",
        )
    return total
