"""Submit jobs: check what a service allows, and queue them or find them stored already.

An accepted job is committed when `enqueue` returns, so it is run whatever process is killed
afterwards.

A service allows less than a command line: files are named by a client that does not own them.
So models come from an allow-list, hyperparameters by the name of a shipped file, covariance
statistics from the graph. Nothing here imports torch.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ...cypher import rows
from ...editing import hparams as hparams_files
from ...editing import registry
from ...editing.organism.config import ARCHITECTURES
from ..base.errors import ConflictError, QueueFullError, UsageError
from ..base.leases import Writer, event
from ..graphs import requests
from ..models.edit import EditIn, RewriteIn
from ..scoring import forget, tasks
from ..scoring.runtime import ModelSpec, parse

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import RewriteRequest
    from ..base.settings import Settings


MOST_STEPS = 20_000
"""Training steps of an organism that a client may ask for: a few minutes."""
FILES = ("archive",)
"""Hyperparameters whose values are files."""


def rewrite_of(db: Database, posted: EditIn) -> RewriteRequest:
    """The rewrite request that an edit names or writes out; its data set is stored.

    Raises:
        NotFoundError: no such rewrite, subject or object; close names are suggested.
        UsageError: it is ambiguous, or its prompt has no place for the subject.
    """
    if isinstance(posted.rewrite, RewriteIn):
        forget = posted.rewrite.target_new is None
        own = requests.OwnRewrite(**posted.rewrite.model_dump(), forget=forget)
        return requests.rewrites(db, posted.graph, [], own, False)[0]
    return requests.rewrites(db, posted.graph, [posted.rewrite], requests.OwnRewrite(), False)[0]


def check(settings: Settings, posted: EditIn) -> None:
    """Refuse at once a request that a worker would refuse after loading a model.

    Raises:
        UsageError: the model is not on the allow-list, or a file is named where none may be.
        EditingError: unknown method, or a hyperparameter that it does not have, of another type or
            out of its bounds.
    """
    registry.info(posted.method)
    require_allowed(settings, posted.model)
    require_overrides(posted.method, posted.overrides)
    forget.require_stored(posted.retain)
    tasks.require_no_files(posted)
    require_hparams(posted.method, posted.method, posted.hparams)


def require_hparams(name: str, method: str, hparams: str | None) -> None:
    """Refuse a file of hyperparameters that does not ship.

    Args:
        name: the method as the client names it.
        hparams: the file that was named, if any.

    Raises:
        UsageError: no file of that name ships.
        UnknownMethodError: no such method.
    """
    shipped = hparams_files.available(method)
    if hparams is not None and hparams not in shipped:
        raise UsageError(
            f"{name} has no hyperparameter file {hparams!r}.",
            remedy=f"Shipped are: {', '.join(shipped) or 'none'}. Single values go into"
            " `overrides`.",
        )


def require_allowed(settings: Settings, model: str) -> None:
    """Refuse a model that the service may not load.

    Raises:
        UsageError: names the allowed values.
    """
    spec = parse(model)
    if spec.organism is not None:
        _require_trainable(spec)
        return
    allowed = settings.models
    if any(fnmatchcase(model, pattern) for pattern in allowed):
        return
    if in_model_dirs(settings, model):
        return
    raise UsageError(
        f"The model {model!r} is not one this service may load.",
        remedy="Allowed: organism"
        + "".join(f", {name}" for name in allowed)
        + "; the operator adds names to THINKEVAL_MODELS, folders to"
        " THINKEVAL_MODEL_DIRS.",
    )


def in_model_dirs(settings: Settings, folder: str) -> bool:
    """Return True if a text is the absolute path of a model in THINKEVAL_MODEL_DIRS.

    A model is a folder or a GGUF file.
    """
    path = Path(folder)
    is_model = os.path.isdir(path) or (path.suffix.lower() == ".gguf" and os.path.isfile(path))
    if not (path.is_absolute() and is_model):  # False, too, for names no path can have
        return False
    # Resolved, so that neither `..` nor a link leads out of an allowed folder.
    real = path.resolve()
    return any(real.is_relative_to(allowed.resolve()) for allowed in settings.model_dirs)


def require_overrides(method: str, overrides: Mapping[str, object]) -> None:
    """Refuse hyperparameters that name a file, and those that the method does not take.

    A file is MEND's `archive`, and anything that is a path. A method of another package may import
    torch, so that its keys are checked by the worker.

    Raises:
        UsageError: one names a file.
        HparamsError: one is unknown, of another type, or out of its bounds.
    """
    for key, value in overrides.items():
        parts = value if isinstance(value, list) else [value]
        if value is not None and (key in FILES or any(map(_is_path, parts))):
            raise UsageError(
                f"The hyperparameter {key!r} names a file of the service's machine.",
                remedy="Leave it out. Hyperparameters are taken from a shipped file by `hparams`;"
                " your own files can be used on the command line.",
            )

    if overrides and registry.is_built_in(method):
        registry.hyperparams(method).require_valid(overrides, source=f"overrides of {method!r}")


def _is_path(value: object) -> bool:
    return isinstance(value, str) and (
        "/" in value or "\\" in value or value.startswith("~") or value.endswith(".json")
    )


def _require_trainable(spec: ModelSpec) -> None:
    if spec.organism not in ARCHITECTURES:
        raise UsageError(
            f"There is no organism {spec.organism!r}.",
            remedy=f"There are: {', '.join(f'organism:{name}' for name in ARCHITECTURES)}.",
        )
    if spec.options.get("steps", 0) > MOST_STEPS or spec.options.get("seed", 0) >= 2**31:
        raise UsageError(
            f"{spec.text!r} asks for too much training, or too large a seed.",
            remedy=f"A service trains for at most {MOST_STEPS:,} steps; seeds are below 2^31.",
        )


def affinity(posted: EditIn) -> str:
    """Same for edits that one loaded model serves."""
    return affinity_of(
        posted.model, posted.graph, posted.dtype, posted.revision, posted.organism_seed
    )


def affinity_of(
    model: str, graph: str, dtype: str, revision: str | None, seed: int | None = None
) -> str:
    """Return the key of the loaded model; jobs with equal keys share one model in memory.

    Args:
        graph: the graph that an organism is trained on; another model is the same for all graphs.
        seed: of an organism whose name tells none.
    """
    spec = parse(model, seed=seed)
    return "|".join(
        [repr(spec), (spec.on or graph) if spec.organism else "", dtype, revision or ""]
    )


@dataclass(frozen=True, slots=True)
class EnqueueResult:
    """The outcome of a submission: `created`, `queued` again, or `known` (there already)."""

    edit: str
    outcome: str


def enqueue(
    write: Writer,
    settings: Settings,
    kind: str,
    jobs: Sequence[Mapping[str, object]],
    *,
    key: str | None = None,
    body: str | None = None,
    again: bool = False,
) -> list[EnqueueResult]:
    """Queue jobs of one kind, all of them or none; the outcome of each, in their order.

    Args:
        jobs: id, request, affinity; total where it has parts, properties that lists show.
        key: the client's idempotency key, for a single job.
        body: digest of the submitted body, to compare with the key's.
        again: queue succeeded jobs again.

    Raises:
        QueueFullError: too many are queued or running already.
        ConflictError: the key belongs to another body.
    """
    found = write(
        rows.SubmitJobsRow,
        "jobs/submit",
        kind=kind,
        rows=[
            {"total": 1, "properties": {}} | dict(job) | {"place": place}
            for place, job in enumerate(jobs)
        ],
        key=key,
        body=body,
        limit=settings.queue_limit,
        again=again,
        event=event("queued", "waiting"),
    )
    return [_accepted(row, settings, key) for row in found]


def _accepted(row: rows.SubmitJobsRow, settings: Settings, key: str | None) -> EnqueueResult:
    if row.outcome == "conflict":
        raise ConflictError(
            f"The idempotency key {key!r} was used for another request.",
            remedy="Use a new key for each different request.",
            status=422,
        )
    if row.outcome == "full" or row.id is None:
        raise QueueFullError(
            f"{row.waiting} jobs are queued or running; the limit is {settings.queue_limit}."
        )
    return EnqueueResult(row.id, row.outcome)
