"""`thinkeval doctor --deep`: saved updates, edits, graphs and caches against each other.

What can be made again (the cache) is deleted where it is damaged. A user's data are named, and
never changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.formatting import pluralize
from ..models.edit import Score
from ..scoring import chat, deltas, record, templates
from ..scoring.recompute import recompute

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.database import Progress
    from ..base.settings import Settings

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: success, the finding, and the remedy if it failed."""

    check: str
    ok: bool
    found: str
    remedy: str = ""


def examine(db: Database, settings: Settings, progress: Progress) -> list[Finding]:
    """Every check of stored data; damaged files of the cache are deleted."""
    edits = db.read(rows.EditRow, "edits/list_edits")
    scores = {row.id: record.readable(row.score) for row in edits if row.status == "succeeded"}
    return [
        *_updates(db, settings, {row.id for row in edits}, scores, progress),
        *_scores(db, scores, progress),
        _graphs(db),
        *_caches(settings, progress),
    ]


def _updates(
    db: Database,
    settings: Settings,
    edits: set[str],
    scores: dict[str, Score | None],
    progress: Progress,
) -> Iterator[Finding]:
    """Compare each saved update with its own digests, and with the score of its edit."""
    from ...editing.deltas import files
    from ...editing.errors import DeltaError

    of_experiments = set(db.read(str, "experiments/updates"))
    paths = sorted((settings.home / deltas.FOLDER).glob("*.safetensors"))
    damaged, other, nobody = [], [], []
    compared = 0
    for i, path in enumerate(paths):
        progress(i, len(paths), "reading saved updates")
        edit = path.stem
        try:
            saved = files.load(path)
        except DeltaError:
            damaged.append(edit)
            continue
        if edit not in edits and edit not in of_experiments:
            nobody.append(edit)
        score = scores.get(edit)
        if score is not None:
            digest = deltas.about(score).get("digest")
            compared += digest is not None
            if saved.meta.edit != edit or digest not in (None, saved.digest):
                other.append(edit)
    again = "Restore them from a backup, or score these edits again with --force."
    wrong = (("damaged", damaged), ("other than the scored ones", other))
    yield _finding(
        "saved updates",
        f"{len(paths)} read, {compared} compared with the digest of their score",
        [f"{len(ids)} {what}: {_listed(ids)}" for what, ids in wrong if ids],
        again,
    )
    yield _finding(
        "updates without an edit",
        pluralize(len(nobody), "file"),
        [_listed(nobody)] if nobody else [],
        f"Delete the files in {settings.home / deltas.FOLDER}, or restore the edits from a backup.",
    )
    have = {path.stem for path in paths}
    gone = [
        edit
        for edit, score in scores.items()
        if score is not None and deltas.about(score).get("saved") and edit not in have
    ]
    yield _finding(
        "edits whose update is gone",
        pluralize(len(gone), "edit"),
        [_listed(gone)] if gone else [],
        again,
    )


def _scores(db: Database, scores: dict[str, Score | None], progress: Progress) -> Iterator[Finding]:
    """Compare the stored metrics with the graphs."""
    damaged = [edit for edit, score in scores.items() if score is None]
    yield _finding(
        "stored scores",
        f"{len(scores)} read",
        [f"{len(damaged)} damaged: {_listed(damaged)}"] if damaged else [],
        "Score these edits again with --force, or restore a backup.",
    )
    found = recompute(db, progress)
    yield _finding(
        "metrics of edits",
        found.sentence,
        [*found.differing[:_NAMED]],
        "Score these edits again with --force, or restore a backup.",
    )


def _graphs(db: Database) -> Finding:
    graphs = db.read(str, "graph/unrecorded")
    return _finding(
        "graphs without an edit",
        pluralize(len(graphs), "graph"),
        [_listed(graphs)] if graphs else [],
        "Unless a comparison runs now, delete them: thinkeval results graphs --delete GRAPH. The"
        " same comparison, run again, uses them.",
    )


def _caches(settings: Settings, progress: Progress) -> Iterator[Finding]:
    """Delete what is damaged in the cache: it is made again when it is needed."""
    from ...editing.covariance import projector
    from ...editing.covariance.files import is_whole as whole_covariance
    from ...editing.mend.store import is_whole as whole_editor
    from ...editing.organism.store import stored as organism
    from ...editing.probe import own_samples
    from ...editing.whole_folder import whole_folder

    # By the readers themselves, which find more than that a file is cut short.
    checks: tuple[tuple[str, str, str, Callable[[Path], object]], ...] = (
        ("organisms", "organisms", "[!.]*/", organism),
        ("downloaded models", "models", "[!.]*/", whole_folder),
        ("covariances", "covariance", "[!.]*.safetensors", whole_covariance),
        ("eigenvectors of covariances", "covariance/eigen", "[!.]*.safetensors", projector.read),
        ("MEND editors", "mend", "[!.]*.safetensors", whole_editor),
        ("chosen chat modes", "chat", "[!.]*.json", chat.read),
        ("context templates", "templates", "[!.]*.json", templates.read),
        ("texts of models", "own-samples", "[!.]*.json", own_samples.read),
    )
    for check, folder, pattern, whole in checks:
        paths = sorted((settings.cache / folder).glob(pattern))
        damaged = []
        for i, path in enumerate(paths):
            progress(i, len(paths), f"checking {check}")
            if not whole(path):
                damaged.append(path.name)
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        deleted = f", {len(damaged)} damaged and deleted: {_listed(damaged)}" if damaged else ""
        remedy = "Nothing: it is made again when it is needed." if damaged else ""
        yield Finding(check, True, f"{len(paths)} checked{deleted}", remedy)


def _finding(check: str, found: str, wrong: Sequence[str], remedy: str) -> Finding:
    text = "; ".join([found, *wrong])
    return Finding(check, not wrong, text, remedy if wrong else "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
