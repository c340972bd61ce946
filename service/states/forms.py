"""Forms of asking between two states: the base is asked first, then each state the same units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ...cypher.rows.forms import FormCounts
from ..base.errors import UsageError
from ..forms.asking import outcomes, takes_chat
from ..models.forms import UNKNOWN_CLOZE
from ..scoring import battery
from .schemas import Wording
from .verdict import WORDINGS

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...editing.models import LoadedModel
    from ..experiments.kind import Work
    from ..forms.material import Outcome
    from ..models.forms import FormAccuracy, FormOut
    from ..scoring.battery import Battery
    from ..scoring.runtime import Runtime
    from .measures import Answers, ProbePlan
    from .schemas import ComparisonIn


@dataclass(frozen=True, slots=True)
class AskedForms:
    """The forms of all requests, as the base answers them.

    Attributes:
        batteries: one a request; empty where there are no forms, or no requests.
        before: outcomes of the units of all batteries, in order.
        known: ids of the facts whose cloze the base knows.
        unedited: accuracy of the base in each form.
    """

    batteries: Sequence[Battery] = ()
    before: Sequence[Outcome] = ()
    known: set[str] = field(default_factory=set)
    unedited: Sequence[FormAccuracy] = ()


def check(posted: ComparisonIn) -> None:
    """Refuse forms of states behind an endpoint, and names that do not exist.

    Raises:
        UsageError: likewise; and of a comparison without requests, which has no edited fact.
    """
    battery.check(posted)
    if not posted.forms:
        return
    for state in (posted.base, *posted.states):
        if state.endpoint is not None:
            raise UsageError(
                f"--forms needs likelihoods, which {state.spec} does not give.",
                remedy="Leave it out, or name a model in place of the endpoint.",
            )
    if not (posted.rewrites or posted.all_rewrites or posted.forget):
        raise UsageError(
            "--forms asks edited facts in other forms, and no request is named.",
            remedy="Add --rewrite ID, --all or --forget; `thinkeval probe --forms` asks one model.",
        )


def ask_base(
    runtime: Runtime, asking: ProbePlan, loaded: LoadedModel, answers: Answers
) -> AskedForms:
    """Plan the units of every request, and ask the base."""
    likelihoods = {id: each.values.get("likelihood", 0.0) for id, each in answers.facts.items()}
    found = [
        battery.planned(
            runtime, asking.dataset, loaded, each.request, each.scope.facts, likelihoods
        )
        for each in asking.requests
    ]
    batteries = [each for each in found if each is not None]
    if not batteries:
        return AskedForms()
    first = batteries[0]
    battery.announce_cost(runtime, loaded, first)
    units = [unit for each in batteries for unit in each.units]
    before = outcomes(loaded, units, first.context, progress=runtime.progress)
    return AskedForms(
        batteries,
        before,
        battery.known_facts(runtime, loaded, first.context, units),
        battery.sampled(runtime, asking.dataset, loaded, answers.graph, first.forms),
    )


def ask_state(
    runtime: Runtime, asked: AskedForms, loaded: LoadedModel | None, *, same: bool
) -> Sequence[Outcome | None]:
    """Ask a state the same units; None of those in a chat, where it has no chat template.

    Args:
        same: True if it is the base, which is not asked twice.
    """
    if not asked.batteries or same or loaded is None:
        return asked.before
    units = [unit for each in asked.batteries for unit in each.units]
    chat = takes_chat(loaded.tokenizer)
    taken = [
        i
        for i, each in enumerate(units)
        if chat or all(row.prompt.user is None for row in each.unit.rows)
    ]
    found = outcomes(
        loaded, [units[i] for i in taken], asked.batteries[0].context, progress=runtime.progress
    )
    after: list[Outcome | None] = [None] * len(units)
    for i, outcome in zip(taken, found, strict=True):
        after[i] = outcome
    return after


def written(
    db: Database,
    work: Work,
    asked: AskedForms,
    edits: Sequence[str],
    after: Sequence[Outcome | None],
) -> dict[str, list[FormOut]]:
    """Store the units of each request under its edit, and return the changes in each form."""
    out: dict[str, list[FormOut]] = {}
    if not asked.batteries:
        return out
    start = 0
    for edit, each in zip(edits, asked.batteries, strict=True):
        end = start + len(each.units)
        units = each.rows(asked.known, asked.before[start:end], after[start:end])
        start = end
        db.atomically(partial(_write, work, edit, units))
        out[edit] = battery.changes(db, edit, each, asked.unedited)
    return out


def wordings(db: Database, edit: str, forms: Sequence[FormOut], *, forgets: bool) -> list[Wording]:
    """The old object's probability in the wordings by which a fact counts as forgotten.

    A form that is not measurable over the graph tells as much about this fact: the model gave the
    object in it before the change.

    Args:
        forgets: True of a request to forget, whose right object is the old one.
    """
    if not forms:
        return []
    counts = {row.form: row for row in db.read(FormCounts, "forms/outcome", owner=edit)}
    name = "p_new" if forgets else "p_old"
    out = []
    for form in forms:
        if form.form not in WORDINGS or form.form == battery.CLOZE:
            continue
        row = counts.get(form.form)
        before, after = (getattr(row, f"{name}{side}", None) for side in ("_pre", ""))
        reason = None if after is not None else form.reason or UNKNOWN_CLOZE
        out.append(
            Wording(form=form.form, measure="likelihood", before=before, after=after, reason=reason)
        )
    return out


def _write(work: Work, edit: str, units: Sequence[dict[str, object]], tx: Tx) -> None:
    work.fence(tx.run)
    battery.write(tx, edit, units)
