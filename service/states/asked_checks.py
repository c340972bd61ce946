"""Questions of a data set between two states: the base is asked first, then each state the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ...loaders.records import Check
from ..scoring import checks

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...editing.models import LoadedModel
    from ..experiments.kind import Work
    from ..scoring.checks import CheckCounts, Replies
    from ..scoring.runtime import Runtime
    from .measures import ProbePlan


@dataclass(frozen=True, slots=True)
class AskedChecks:
    """The checks of all requests, as the base answers them.

    Attributes:
        each: those of each request; empty where no request has any, or the base has no weights.
        distinct: all of them, each once.
    """

    each: Sequence[Sequence[Check]] = ()
    distinct: Sequence[Check] = ()
    before: Replies = field(default_factory=lambda: checks.Replies({}))


def ask_base(runtime: Runtime, asking: ProbePlan, loaded: LoadedModel | None) -> AskedChecks:
    """Ask the base the checks of every request, and their conditions."""
    each = [one.request.rewrite.checks for one in asking.requests]
    distinct = list(dict.fromkeys(check for found in each for check in found))
    if not distinct or loaded is None:
        return AskedChecks()
    chat = asking.settings.chat
    before = checks.unedited(runtime, asking.dataset, loaded, distinct, chat)
    return AskedChecks(each, distinct, before)


def ask_state(
    runtime: Runtime,
    asking: ProbePlan,
    asked: AskedChecks,
    loaded: LoadedModel | None,
    *,
    same: bool,
) -> Replies | None:
    """Ask a state the same; None where nothing is asked, or the state has no weights.

    Args:
        same: True if it is the base, which is not asked twice.
    """
    if not asked.distinct or loaded is None:
        return None
    if same:
        return asked.before
    return checks.ask(runtime, asking.dataset, loaded, asked.distinct, asking.settings.chat)


def written(
    db: Database, work: Work, asked: AskedChecks, edits: Sequence[str], after: Replies | None
) -> dict[str, list[CheckCounts]]:
    """Store the answers to the checks of each request under its edit; return their outcome."""
    if after is None:
        return {}
    out = {}
    for edit, own in zip(edits, asked.each, strict=True):
        if own:
            db.atomically(partial(_write, work, edit, checks.judged(own, asked.before, after)))
            out[edit] = checks.measured(db, edit)
    return out


def _write(work: Work, edit: str, answers: Sequence[dict[str, object]], tx: Tx) -> None:
    work.fence(tx.run)
    checks.stored(tx, edit, answers)
