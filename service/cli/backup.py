"""`thinkeval db backup`, `restore` and `verify`: all that is stored, in one file and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..base.database import connect
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..scoring.runtime import Runtime
from .codes import ERROR
from .options import JsonFlag
from .output import ProgressBars, emit_json, emit_note, emit_values


def backup(
    file: Annotated[Path, typer.Argument(help="File to write, such as thinkeval.zip; a new one.")],
    json: JsonFlag = False,
) -> None:
    """Write everything that is stored to one file, also while jobs run.

    It has the database (graphs, edits with their scores, experiments, rules, reviews), saved edits,
    tuned hyperparameters and recorded answers of endpoints; not the cache, which can be made again.
    What was finished when it began is in it whole; what is being written meanwhile may be left out.
    """
    from ..base import backup as backups

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        made = backups.make(runtime.db, runtime.settings, file, progress)
    size = file.stat().st_size
    if json:
        emit_json({"file": str(file), "bytes": size} | made.model_dump(mode="json"))
        return
    emit_note(
        f"Wrote {file}: {pluralize(made.n_nodes, 'node')},"
        f" {pluralize(made.n_relationships, 'relationship')},"
        f" {pluralize(len(made.files), 'file')}, {size / 1e6:,.1f} MB."
    )
    for name, n in made.left_out.items():
        emit_note(f"Left out: {n} {name}.")
    emit_note(f"Check it: thinkeval db verify {file}")


def restore(
    file: Annotated[Path, typer.Argument(help="File that `thinkeval db backup` wrote.")],
    json: JsonFlag = False,
) -> None:
    """Restore a backup into an empty database, embedded or that of THINKEVAL_NEO4J_URI.

    The complete file is checked first. A backup of an older release is migrated. Queued jobs stay
    queued, and those that ran are queued again: a service that is started takes them. At the end
    the metrics of all stored edits are read off the restored graphs, and compared with the stored
    scores.
    """
    from ..base import backup as backups
    from ..experiments.job import job_of
    from ..experiments.recovery import release_expired
    from ..kinds import KINDS
    from ..scoring.recompute import recompute

    settings = Settings()
    with ProgressBars() as progress, backups.opened(file) as found:
        told = found.check(progress)
        with connect(settings, progress, restoring=True) as db:
            done = backups.restore(db, settings, found, progress)
            released = release_expired(db, [job_of(kind) for kind in KINDS if kind.run])
            again = recompute(db, progress)
    jobs = {
        "queued": told.jobs["queued"] + sum(each == "queued" for each in released.values()),
        "ended": sum(each != "queued" for each in released.values()),
    }
    if json:
        emit_json(asdict(done) | {"jobs": jobs, "metrics": asdict(again)})
    else:
        emit_note(
            f"Restored {file}: {pluralize(done.nodes, 'node')},"
            f" {pluralize(done.relationships, 'relationship')}, {pluralize(done.files, 'file')}."
        )
        if done.migrations:
            emit_note(f"Migrated: {', '.join(done.migrations)}.")
        if any(jobs.values()):
            emit_note(
                f"Jobs: {jobs['queued']} wait for a service; {jobs['ended']} were under way by a"
                " command, and ended."
            )
        emit_note(again.sentence)
    if again.differing:
        raise typer.Exit(ERROR)


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(help="A backup; nothing is restored. Without it: the database itself."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Check a backup, or the stored scores of the database.

    With a FILE: the SHA-256 of every part, the counts of nodes and relationships, and the digest of
    each saved edit against the one that its score recorded. Without: the metrics of every stored
    edit are read off its graph again, and compared with its score.
    """
    from ..base import backup as backups
    from ..scoring.recompute import recompute

    if file is None:
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            again = recompute(runtime.db, progress)
        if json:
            emit_json(asdict(again))
        else:
            emit_note(again.sentence)
            for each in again.differing:
                emit_note(each)
        if again.differing:
            raise typer.Exit(ERROR)
        return
    with ProgressBars() as progress:
        found = backups.verify(file, progress)
    if json:
        emit_json(asdict(found))
    else:
        _show(found)
    if found.notes:
        raise typer.Exit(ERROR)


def _show(found: Any) -> None:
    emit_values(
        f"{found.file} is whole",
        {
            "made by": f"ThinkEval {found.thinkeval}, {found.created_at}",
            "schema": found.database_schema,
            "parts with the recorded SHA-256": found.parts,
            "nodes": found.nodes,
            "relationships": found.relationships,
            "saved updates read": found.deltas,
            "compared with the digest of a score": found.compared,
            "of experiments, without a score": found.of_experiments,
            "without a scored edit": found.unscored,
            "scored edits without their saved update": found.gone,
        },
    )
    for note in found.notes:
        emit_note(f"Not right in what was backed up: {note}.")
