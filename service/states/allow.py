"""The states that a service opens: those of its operator's lists, checked before a job is queued.

Models and folders as for edits (THINKEVAL_MODELS, THINKEVAL_MODEL_DIRS); adapters and texts to
learn from in those folders only; saved edits by the id of a stored edit, never a file; endpoints by
the exact addresses that the operator named (THINKEVAL_LLM_ENDPOINTS), so that no client chooses an
address that the service connects to, and no redirection is followed (`service.llm`). Imports no
torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import NothingStoredError, UsageError
from ..jobs import submit
from ..scoring import record
from .changes import FINE_TUNE, FineTune, parse_fine_tune

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..settings import Settings
    from .spec import StateIn


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
