"""Checks of a comparison before it is queued: its requests, and states that may be opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.errors import NothingStoredError, UsageError
from ..experiments import submit
from ..graphs import requests as selection
from ..rules.groundings import rules_for
from ..scoring import record
from .schemas import ComparisonIn
from .spec import FINE_TUNE, FineTune, parse_fine_tune

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import RewriteRequest
    from ..base.settings import Settings
    from .spec import StateIn


def requests_of(db: Database, posted: ComparisonIn) -> list[RewriteRequest]:
    """Return the requests of a comparison, each once; none where the graph is only watched.

    Raises:
        NotFoundError: no such rewrite, subject or fact; close names are suggested.
        UsageError: an ambiguous name, or a fact in another form; implications of no request.
        NothingStoredError: implications of a graph without kept rules.
    """
    none = selection.OwnRewrite()
    found: list[RewriteRequest] = []
    if posted.all_rewrites:
        found += selection.rewrites(db, posted.graph, [], none, True)
    if posted.rewrites:
        found += selection.rewrites(db, posted.graph, posted.rewrites, none, False)
    for text in posted.forget:
        found += selection.rewrites(db, posted.graph, [], selection.to_forget(text), False)
    if posted.implications:
        if not found:
            raise UsageError(
                "Implications are those of requests, and nothing is requested: the graph is"
                " watched.",
                remedy="Name rewrites, or facts to forget.",
            )
        rules_for(db, posted.graph)  # refused now, not by a worker
    return list({request.id: request for request in found}.values())


# The states that a service opens: those of its operator's lists, checked before a job is queued.
#
# Models and folders as for edits (THINKEVAL_MODELS, THINKEVAL_MODEL_DIRS); adapters and texts to
# learn from in those folders only; saved edits by the id of a stored edit, never a file;
# endpoints by the exact addresses that the operator named (THINKEVAL_LLM_ENDPOINTS), so that no
# client chooses an address that the service connects to, and no redirection is followed
# (`service.base.llm`). Imports no torch.


def require_allowed(settings: Settings, db: Database, state: StateIn) -> None:
    """Refuse a state that the service may not open.

    Raises:
        UsageError: the model, the folder of the adapter, or the endpoint is not allowed.
        NotFoundError: no edit of this id is stored.
        NothingStoredError: the edit has no score yet, or its update was not saved.
    """
    if state.endpoint is not None:
        from ..growth.request import require_address  # `--help` does not wait for it

        require_address(settings, state.endpoint)
        return
    submit.require_allowed(settings, state.model)
    if state.adapter is not None and not submit.in_model_dirs(settings, state.adapter):
        raise UsageError(
            f"The adapter {state.adapter!r} is not in a folder that this service may read.",
            remedy="Name it by its whole path; the operator adds folders to THINKEVAL_MODEL_DIRS.",
        )
    for edit in state.edits:
        if edit.startswith(FINE_TUNE):
            _require_file(settings, parse_fine_tune(edit))
        else:
            _require_saved(db, edit)


def _require_file(settings: Settings, change: FineTune) -> None:
    """Refuse a file to learn from that is outside of the operator's folders."""
    if change.of_graph or submit.in_model_dirs(settings, str(Path(change.source).parent)):
        return
    raise UsageError(
        f"The file {change.source!r} is not in a folder that this service may read.",
        remedy="Name it by its whole path; the operator adds folders to THINKEVAL_MODEL_DIRS.",
    )


def _require_saved(db: Database, edit: str) -> None:
    """Refuse an edit that is not stored, or whose update is not saved.

    A fine-tune of a stored comparison is saved like an edit's update.
    """
    if db.read(rows.ExperimentRow, "experiments/page", kind="comparison", update=edit, limit=1):
        return
    about = record.get_score(db, edit).provenance.get("delta")
    if isinstance(about, dict) and about.get("saved") is False:
        raise NothingStoredError(
            f"The update of edit {edit!r} is not saved: {about.get('reason')}.",
            remedy=str(about.get("remedy") or "Score it again with --force."),
        )
