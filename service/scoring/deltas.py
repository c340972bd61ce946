"""Saved edits of a data directory: stored with every score, applied to models, exported.

A scored edit's update is stored in `deltas/<edit id>.safetensors` under the data directory, unless
it is larger than THINKEVAL_DELTA_LIMIT_MB; the score's provenance contains where, or why not.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...loaders.records import RewriteRequest
from ..base.errors import NothingStoredError, UsageError
from ..base.settings import Settings
from . import record
from .runtime import Runtime, RuntimeModel, parse, written

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.deltas.files import SavedDelta
    from ..models.edit import Score
    from .plan import Plan
    from .resolved import Resolved


FOLDER = "deltas"
ROUNDED = 0.95
"""Below this fraction of an update that rounding to 16 bits keeps, there is a notice."""


@dataclass(frozen=True, slots=True)
class Verified:
    """An edit applied and reverted: SHA-256 over all weights at each stage.

    Attributes:
        scored: True if a stored score was taken with this very update.
    """

    edit: str
    before: str
    edited: str
    after: str
    scored: bool

    @property
    def undone(self) -> bool:
        """Return True if the weights are bit-identical after the edit was reverted."""
        return self.before == self.after


def precision(resolved: Resolved, effect: EditEffect) -> dict[str, object]:
    """A record's fields of what the last bits depend on: rounding, and the size of batches."""
    from ...editing.deltas import rounding_kept
    from ...editing.probe.batching import room_for

    loaded = resolved.model.loaded
    batch = room_for(loaded.model, resolved.request.probe.batch_tokens)
    found: dict[str, object] = {"likelihood_batch_tokens": batch.tokens}
    kept = rounding_kept(loaded.model, effect)
    if kept is None:
        return found
    found["rounding_kept"] = kept
    if kept < ROUNDED:
        found["rounding_notice"] = (
            f"Rounding to {loaded.info.dtype} keeps {kept:.2f} of the update: it is small beside"
            " the weights. --dtype float32 keeps all of it."
        )
        resolved.runtime.announce(str(found["rounding_notice"]))
    return found


def path_of(settings: Settings, edit: str) -> Path:
    """Return the path of a scored edit's update; the file need not exist."""
    return settings.home / FOLDER / f"{edit}.safetensors"


def save(
    plan: Plan, edit: str, effect: EditEffect, edited: Sequence[RewriteRequest]
) -> dict[str, object]:
    """Save a scored edit's update; returns for the provenance where, or why it was not saved.

    A score is worth having without its update, so that no error here ends it.
    """
    from ...editing.deltas import files
    from ...editing.errors import DeltaError

    resolved = plan.resolved
    runtime, request, info = resolved.runtime, resolved.request, resolved.model.loaded.info
    covariance = plan.provenance.get("covariance")
    meta = files.DeltaMeta(
        weights_digest=info.weights_digest,
        inputs=info.inputs,
        method=request.method,
        hparams=_mapping(plan.provenance["hparams"]),
        requests=tuple(rewrite.identity for rewrite in edited),
        seed=request.seed,
        model=lasting_name(request.model, request.organism_seed),
        dataset=resolved.dataset.id,
        revision=info.revision,
        dtype=info.dtype,
        architecture=info.architecture,
        covariance_digest=_mapping(covariance).get("digest"),
        edit=edit,
    )
    path = path_of(runtime.settings, edit)
    limit = runtime.settings.delta_limit_mb * 1_000_000
    try:
        digest = files.save(effect, path, meta, limit_bytes=limit)
    except DeltaError as error:
        with suppress(OSError):  # the folder may be read-only
            path.unlink()  # of an earlier score of the same edit
        return {"saved": False, "reason": error.detail, "remedy": error.remedy}
    return {
        "saved": True,
        "path": path.relative_to(runtime.settings.home).as_posix(),
        "bytes": path.stat().st_size,
        "digest": digest,
    }


def about(score: Score) -> dict[str, Any]:
    """Return the record of a score's saved update: `saved`, `digest`, or the `reason` of none."""
    return _mapping(score.provenance.get("delta"))


def remove(settings: Settings, edit: str) -> None:
    """Remove the saved update of an edit, if there is one."""
    path_of(settings, edit).unlink(missing_ok=True)


def find(runtime: Runtime, name: str) -> Path:
    """The file of a saved edit: by the id of a scored edit, or by its own path.

    Raises:
        NotFoundError: neither an edit nor a file.
        NothingStoredError: the edit was scored, but its update was not saved here.
        UsageError: it is the score of a request between two states.
    """
    if Path(name).is_file():
        return Path(name)
    path = path_of(runtime.settings, name)
    if path.is_file():
        return path
    score = record.get_score(runtime.db, name)
    if "comparison" in score.provenance:
        raise UsageError(
            f"{name!r} was scored between two states and has no update of its own.",
            remedy="Name the edit that was put on; `thinkeval results edits` lists them.",
        )
    path = path_of(runtime.settings, score.edit)  # another one by the id of its job
    if path.is_file():
        return path
    told = about(score)
    reason = told.get("reason") or f"there is no {path}"
    raise NothingStoredError(
        f"The update of edit {name!r} is not saved here: {reason}.",
        remedy=told.get("remedy")
        or f"Score it again: thinkeval score {score.rewrite} -g {score.dataset}"
        f" -m {score.method} --force, with the options it was scored with.",
    )


def model_for(
    runtime: Runtime, deltas: Sequence[SavedDelta], model: str | None = None, graph: str = ""
) -> RuntimeModel:
    """The model that edits were computed for, loaded as it was then, or the one that is named.

    Raises:
        DeltaError: it is another model by now, or the edits are of several models.
        UsageError: the edits do not name their model.
    """
    from ...editing.deltas.files import check_fits

    meta = deltas[0].meta
    text = model or meta.model
    if not text:
        raise UsageError("The edit does not name its model.", remedy="Give --model.")
    graph = graph or meta.dataset
    spec = parse(text)
    if spec.organism and not (graph or spec.on):
        raise UsageError(
            "The edit does not name the graph of its model's training.",
            remedy="Give --graph.",
        )
    revision = meta.revision if text == meta.model else None
    loaded = runtime.model(text, graph, dtype=meta.dtype, revision=revision)
    check_fits(deltas, loaded.loaded.info.weights_digest, loaded.loaded.info.inputs)
    return loaded


def read(runtime: Runtime, name: str) -> SavedDelta:
    """The update of a saved edit, by the id of a scored edit or by its own path.

    Raises:
        DeltaError: the file is damaged.
        NotFoundError, NothingStoredError, UsageError: as in `find`; or the file of that id holds
            the update of another edit, or another update than the one that was scored.
    """
    saved = _loaded(runtime, name)
    if not Path(name).is_file():
        _require_scored(runtime, name, saved)
    return saved


def _loaded(runtime: Runtime, name: str) -> SavedDelta:
    """Load a saved edit as `read` does, before its digest is compared with the score's."""
    from ...editing.deltas import files

    path = find(runtime, name)
    saved = files.load(path)
    if saved.meta.edit != path.stem and not Path(name).is_file():
        raise NothingStoredError(
            f"{path} holds the update of edit {saved.meta.edit!r}, not of {path.stem!r}.",
            remedy=f"Put back the file of {name}, or score the edit again with --force.",
        )
    return saved


def _require_scored(runtime: Runtime, name: str, saved: SavedDelta) -> bool:
    """Return True if a stored score was taken with this update, False if there is no score.

    Raises:
        NothingStoredError: a score was taken with another update.
    """
    if not (saved.meta.edit and (score := record.stored_score(runtime.db, saved.meta.edit))):
        return False
    told = about(score)
    recorded = told.get("digest")
    # What is not saved may still be there of an earlier score, in a folder that is read-only.
    if told.get("saved") is False or recorded not in (None, saved.digest):
        raise NothingStoredError(
            f"{name} holds another update than the one that was scored.",
            remedy="Score the edit again with --force.",
        )
    return recorded is not None


def verify(runtime: Runtime, name: str, model: str | None = None, graph: str = "") -> Verified:
    """Apply a saved edit to its model and revert it, hashing all weights at each stage.

    Raises:
        NothingStoredError: as in `read`, of a file that is named by its path too.
    """
    from ...editing.deltas.files import apply_in_order
    from ...editing.models import weights_digest

    saved = _loaded(runtime, name)
    scored = _require_scored(runtime, name, saved)
    loaded = model_for(runtime, [saved], model, graph).loaded
    before = weights_digest(loaded.model)
    with apply_in_order(loaded.model, [saved]):
        edited = weights_digest(loaded.model)
    after = weights_digest(loaded.model)
    return Verified(saved.meta.edit or name, before, edited, after, scored)


def export_delta(runtime: Runtime, name: str, output: Path) -> dict[str, object]:
    """Copy the file of a saved edit after reading it completely."""
    from ...editing.deltas import files

    runtime.progress(0, 1, f"reading the update of {name}")
    saved = read(runtime, name)
    files.copy(find(runtime, name), output)
    runtime.progress(1, 1, f"reading the update of {name}")
    return {
        "file": str(output),
        "bytes": output.stat().st_size,
        "digest": saved.digest,
        "weights_digest": saved.meta.weights_digest,
        "low_rank": list(saved.low_rank),
    }


def export_model(
    runtime: Runtime,
    names: Sequence[str],
    output: Path,
    *,
    model: str | None = None,
    graph: str = "",
    check: bool = True,
) -> dict[str, object]:
    """Write a model with saved edits applied, in this order, to a new folder."""
    from ...editing.deltas import export

    saved = [read(runtime, name) for name in names]
    runtime.progress(0, 2, "loading the model")
    loaded = model_for(runtime, saved, model, graph).loaded
    runtime.progress(1, 2, f"writing {output}")
    digest = export.export_model(loaded, saved, output, check=check)
    runtime.progress(2, 2, f"writing {output}")
    return {
        "folder": str(output),
        "model": loaded.info.name,
        "edits": [item.meta.edit or item.digest for item in saved],
        "unedited_weights_digest": loaded.info.weights_digest,
        "weights_digest": digest,
    }


def lasting_name(model: str, organism_seed: int | None) -> str:
    """A model's name such that it means the same in another folder and without other options."""
    spec = parse(model, seed=organism_seed)
    if spec.organism:
        return written(spec)
    path = Path(model).expanduser()
    local = path.is_dir() or (path.suffix.lower() == ".gguf" and path.is_file())
    return str(path.resolve()) if local else model


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
