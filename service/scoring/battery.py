"""Forms of asking with a loaded model: the units, how they are stored, and what they show.

The unedited accuracy of a form is measured once for a model graph, and stored with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.rows.forms import FormCounts
from ...loaders.records import Fact, digest
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..forms.asking import Asked, Planned, fitting, outcomes, plan, takes_chat, tokens
from ..forms.context import Context
from ..forms.registry import Form, chosen
from ..models.forms import (
    KNOWN_CLOZE,
    LEAST_FACTS,
    FormAccuracy,
    FormOut,
    form_out,
    interval,
    left_out,
)
from . import model_graph
from .probe import edited_facts

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ..forms.material import Outcome
    from ..graphs.datasets import Dataset
    from ..models.edit import MeasuredOptions
    from .probe import ProbedFact
    from .request import ScoreRequest
    from .resolved import Resolved
    from .runtime import Runtime

CLOZE = "cloze/0-shot"
SAMPLE = "sample"
"""Role of the facts by which a form's unedited accuracy is measured."""
FACTS = 20
"""Facts of the subject, and facts on chains, that are asked in every form at most."""
FACTS_UNEDITED = 30
"""Facts that a score asks for the unedited accuracy of a form, where `probe` did not ask all."""
BATCH = 2000
"""Units that are stored by one statement."""


def context_of(runtime: Runtime, dataset: Dataset, loaded: LoadedModel) -> Context:
    """The graph as forms read it, with the model's abilities."""
    chat = takes_chat(loaded.tokenizer)
    return runtime.memoised(
        ("forms", dataset.id, dataset.digest, f"{chat}"),
        lambda: Context(runtime.content_of(dataset), chat=chat),
    )


def known_facts(
    runtime: Runtime, loaded: LoadedModel, context: Context, units: Iterable[Asked]
) -> set[str]:
    """Ids of the facts among those of some units whose cloze is known to the unedited model."""
    facts = {fact.id: fact for each in units for fact in each.unit.facts}
    asked = plan(chosen([]), list(facts.values()), context).units
    found = outcomes(loaded, asked, context, progress=runtime.progress)
    return {
        each.target.fact.id
        for each, outcome in zip(asked, found, strict=True)
        if (outcome.p or 0.0) >= KNOWN_CLOZE
    }


def unedited(
    runtime: Runtime,
    dataset: Dataset,
    loaded: LoadedModel,
    graph: str,
    forms: Sequence[Form],
    facts: Sequence[Fact],
    *,
    at_most: int | None = None,
) -> list[FormAccuracy]:
    """The unedited accuracy of each form; asked, and stored with the model graph, where it is new.

    Args:
        graph: the model graph.
        facts: in the order they are asked.
        at_most: facts that are asked in a form; None: all that can be, whose cost is counted too.
    """
    context = context_of(runtime, dataset, loaded)
    protocols = {form.key: form.protocol(context) for form in forms}
    planned = fitting(loaded, plan(forms, facts, context, at_most=at_most), context)
    counts = Counter(each.form.key for each in planned.units)
    stored = _stored(runtime.db, graph)
    new = [
        form
        for form in forms
        if (row := stored.get(protocols[form.key])) is None
        or (at_most is None and row.asked != counts[form.key])
    ]
    asked = [each for each in planned.units if each.form in new]
    if asked:
        found = outcomes(loaded, asked, context, progress=runtime.progress)
        known = known_facts(runtime, loaded, context, asked)
        written = [
            unit_row(each, protocols[each.form.key], SAMPLE, known, outcome)
            for each, outcome in zip(asked, found, strict=True)
        ]
        runtime.db.atomically(lambda tx: write(tx, graph, written))
    cost = tokens(loaded, planned.units, context) if at_most is None else None
    return accuracies(_stored(runtime.db, graph), forms, protocols, planned, cost)


def accuracies(
    found: Mapping[str, rows.FormAccuracyRow],
    forms: Sequence[Form],
    protocols: Mapping[str, str],
    planned: Planned | None = None,
    cost: Mapping[str, float] | None = None,
) -> list[FormAccuracy]:
    """The unedited accuracy of each form, in their order.

    Args:
        found: what is stored, by protocol.
        cost: tokens of a fact by form.
    """
    of_cloze = (cost or {}).get(CLOZE)
    out = []
    for form in forms:
        row = found.get(protocols[form.key])
        own = (cost or {}).get(form.key)
        out.append(
            _accuracy(
                form,
                protocols[form.key],
                row,
                found.get(protocols.get(f"{form.id}/{form.variant.against}", "")),
                left_out=dict(planned.left_out.get(form.key, {})) if planned else {},
                tokens=own / of_cloze if own and of_cloze else None,
            )
        )
    return out


def _stored(db: Database, graph: str) -> dict[str, rows.FormAccuracyRow]:
    found = db.read(rows.FormAccuracyRow, "forms/accuracy", owner=graph)
    return {row.protocol: row for row in found}


def _accuracy(
    form: Form,
    protocol: str,
    row: rows.FormAccuracyRow | None,
    control: rows.FormAccuracyRow | None,
    left_out: dict[str, int],
    tokens: float | None,
) -> FormAccuracy:
    has = form.variant.has_accuracy
    n = row.n - row.undecided if row else 0
    accuracy = row.accuracy if row and has else None
    chance = row.chance if row and has else None
    low, high = interval(accuracy, n)
    of_control = control.accuracy if control else None
    above = low is not None and chance is not None and low > max(chance, of_control or 0.0)
    least = form.variant.least
    enough = least is None or bool(row and row.further is not None and row.further >= least)
    return FormAccuracy(
        form=form.key,
        protocol=protocol,
        is_control=form.variant.control,
        n=n,
        excluded=row.asked - n if row else 0,
        undecided=row.undecided if row else 0,
        length=row.length if row else None,
        accuracy=accuracy,
        low=low,
        high=high,
        chance=chance,
        p=row.p if row else None,
        margin=row.margin if row else None,
        further=row.further if row else None,
        further_is=form.variant.further,
        control=of_control,
        least=least,
        measurable=n >= LEAST_FACTS and enough and (above or not has),
        by_probability=bool(row and n and row.likely >= n / 2),
        tokens=tokens,
        left_out=left_out,
    )


@dataclass(frozen=True, slots=True)
class Battery:
    """The units of a request in all forms.

    Attributes:
        roles: of each fact to the edit, by its id.
        left_out: why a form cannot ask the edited fact, by form.
    """

    forms: list[Form]
    context: Context
    units: list[Asked]
    roles: dict[str, str]
    left_out: dict[str, str]

    def rows(
        self, known: set[str], before: Sequence[Outcome], after: Sequence[Outcome | None]
    ) -> list[dict[str, object]]:
        """The units with both outcomes, as cypher/forms/write.cypher takes them.

        Args:
            known: ids of the facts whose cloze the model knew.
            after: None where the state after cannot be asked; such a unit has no row.
        """
        protocols = {form.key: form.protocol(self.context) for form in self.forms}
        return [
            unit_row(
                each, protocols[each.form.key], self.roles[each.target.fact.id], known, pre, post
            )
            for each, pre, post in zip(self.units, before, after, strict=True)
            if post is not None
        ]


@dataclass(frozen=True, slots=True)
class AskedOfEdit:
    """The units of an edit in all forms, before and after it.

    Attributes:
        rows: as cypher/forms/write.cypher takes them.
    """

    battery: Battery
    rows: list[dict[str, object]]


def check(request: MeasuredOptions) -> None:
    """Refuse names of forms that do not exist, before a model is loaded.

    Raises:
        UsageError: there is no such form, or a scope without forms.
    """
    if request.forms:
        chosen([request.forms])
    elif request.forms_scope != "edit":
        raise UsageError(
            "--forms-scope is of --forms, which is not given.", remedy="Add --forms all."
        )


def identity(request: MeasuredOptions) -> dict[str, Any]:
    """The forms of a request with their versions, for the id of an edit; empty without forms."""
    if not request.forms:
        return {}
    versions: dict[str, Any] = {form.key: form.module.VERSION for form in chosen([request.forms])}
    return {"forms": versions | ({"scope": "graph"} if request.forms_scope == "graph" else {})}


def recorded(request: MeasuredOptions) -> dict[str, str]:
    """The options of forms that a record has; empty without forms."""
    found = {"forms": request.forms} if request.forms else {}
    return found | ({"forms_scope": "graph"} if request.forms_scope == "graph" else {})


def planned(
    runtime: Runtime,
    dataset: Dataset,
    loaded: LoadedModel,
    request: ScoreRequest,
    scope: Sequence[Fact],
    likelihoods: Mapping[str, float],
) -> Battery | None:
    """The units of a request: of the edited fact, and of known facts beside it.

    None where the request has no forms, and of a request to append, which replaces no object.

    Args:
        scope: the facts on the chains of the request.
        likelihoods: of the unedited model, by id, of those facts that may be asked.
    """
    rewrite = request.rewrite
    if not request.forms or rewrite.kind == "append":
        return None
    forms = chosen([request.forms])
    context = context_of(runtime, dataset, loaded)
    edited, _ = edited_facts(rewrite, scope)
    own = fitting(loaded, plan(forms, [edited], context, rewrite), context)
    known = [
        fact
        for fact in context.facts
        if likelihoods.get(fact.id, 0.0) >= KNOWN_CLOZE
        and (fact.subject, fact.relation) != (edited.subject, edited.relation)
    ]
    roles = _roles(request, context, known, {fact.id for fact in scope})
    others = plan(forms, [fact for fact in known if fact.id in roles], context)
    rest = fitting(loaded, others, context)
    reasons = {key: next(iter(found)) for key, found in own.left_out.items()}
    units = [*own.units, *rest.units]
    return Battery(forms, context, units, {edited.id: "edited"} | roles, reasons)


def _roles(
    request: ScoreRequest, context: Context, known: Sequence[Fact], on_chains: Collection[str]
) -> dict[str, str]:
    """Roles of the facts beside the edited one, by id; at most FACTS of each, or all known ones."""
    subject = request.rewrite.subject
    about = [fact for fact in known if fact.subject == subject]
    chains = [fact for fact in known if fact.subject != subject and fact.id in on_chains]
    if request.forms_scope == "graph":
        named = {fact.id: "graph" for fact in known} | {fact.id: "chain" for fact in chains}
        return named | {fact.id: "subject" for fact in about}
    roles = {fact.id: "subject" for fact in context.drawn(about, FACTS, "subject")}
    return roles | {fact.id: "chain" for fact in context.drawn(chains, FACTS, "chain")}


def announce_cost(runtime: Runtime, loaded: LoadedModel, battery: Battery) -> None:
    """Say once a model and graph how much the forms of an edit ask, before they are asked."""
    keys = (form.key for form in battery.forms)
    key = ("cost of forms", battery.context.graph, loaded.info.digest, *keys)
    runtime.memoised(key, lambda: runtime.announce(_cost(loaded, battery)))


def _cost(loaded: LoadedModel, battery: Battery) -> str:
    facts: dict[str, set[str]] = defaultdict(set)
    for each in battery.units:
        facts[each.form.key].add(each.target.fact.id)
    found = tokens(loaded, battery.units, battery.context)
    whole = sum(each * len(facts[key]) for key, each in found.items())
    cloze = found.get(CLOZE, 0.0) * len(facts[CLOZE])
    times = f", {whole / cloze:.0f} times those of the cloze" if cloze else ""
    return (
        f"Forms: {pluralize(len(battery.units), 'question')} about"
        f" {pluralize(len(battery.roles), 'fact')} in {pluralize(len(battery.forms), 'form')},"
        f" before and after an edit: about {whole:,.0f} tokens{times}. Name forms to ask fewer."
    )


def both(
    resolved: Resolved, effect: EditEffect, probed: Sequence[ProbedFact]
) -> AskedOfEdit | None:
    """Ask in all forms before and after the edit; None as of `planned`. The model is restored.

    Args:
        probed: the score's facts, with those of the subject.
    """
    runtime, loaded = resolved.runtime, resolved.model.loaded
    request = resolved.request
    if not request.forms:
        return None
    likelihoods = {
        each.question.fact.id: each.pre.values.get("likelihood", 0.0)
        for each in probed
        if each.question.role in ("fact", "subject")
    }
    if request.forms_scope == "graph":
        answers = model_graph.stored_answers(runtime, model_graph.graph_of(resolved))
        likelihoods = {id: each.values.get("likelihood", 0.0) for id, each in answers.items()}
    battery = planned(runtime, resolved.dataset, loaded, request, resolved.scope.facts, likelihoods)
    if battery is None:
        return None
    announce_cost(runtime, loaded, battery)
    units, context = battery.units, battery.context
    # All edits of a rewrite have the same units: the unedited model is asked once.
    about = digest([[unit.form.key, unit.target.fact.id, f"{unit.unit}"] for unit in units])
    key = ("forms before", loaded.info.digest, loaded.info.dtype, about)
    before, known = runtime.memoised(
        key,
        lambda: (
            outcomes(loaded, units, context, progress=runtime.progress),
            known_facts(runtime, loaded, context, units),
        ),
    )
    after = before
    if not effect.changes_nothing:
        after = outcomes(loaded, units, context, effect, runtime.progress)
    return AskedOfEdit(battery, battery.rows(known, before, after))


def measured(resolved: Resolved, edit: str, asked: AskedOfEdit | None) -> list[FormOut]:
    """Return the change by the edit in each form, beside the unedited model's accuracy there."""
    if asked is None:
        return []
    runtime = resolved.runtime
    found = sampled(
        runtime, resolved.dataset, resolved.model.loaded, model_graph.graph_of(resolved),
        asked.battery.forms,
    )  # fmt: skip
    return changes(runtime.db, edit, asked.battery, found)


def sampled(
    runtime: Runtime, dataset: Dataset, loaded: LoadedModel, graph: str, forms: Sequence[Form]
) -> list[FormAccuracy]:
    """The unedited accuracy over a sample of the graph's facts, those known by the cloze first."""
    answers = model_graph.stored_answers(runtime, graph)
    context = context_of(runtime, dataset, loaded)

    def is_unknown(fact: Fact) -> bool:
        answer = answers.get(fact.id)
        return answer is None or answer.values.get("likelihood", 0.0) < KNOWN_CLOZE

    drawn = context.drawn(context.facts, len(context.facts), "unedited")
    return unedited(
        runtime, dataset, loaded, graph, forms, sorted(drawn, key=is_unknown),
        at_most=FACTS_UNEDITED,
    )  # fmt: skip


def changes(
    db: Database, edit: str, battery: Battery, found: Sequence[FormAccuracy]
) -> list[FormOut]:
    """The stored change by an edit in each form, beside the unedited accuracy that was found."""
    counts = {row.form: row for row in db.read(FormCounts, "forms/outcome", owner=edit)}
    return [
        form_out(counts[each.form], each)
        if each.form not in battery.left_out and each.form in counts
        else left_out(each, battery.left_out.get(each.form, NOT_READ))
        for each in found
    ]


NOT_READ = "one of the two states cannot be asked in it"


def unit_row(
    asked: Asked,
    protocol: str,
    role: str,
    known: set[str],
    pre: Outcome,
    post: Outcome | None = None,
) -> dict[str, object]:
    """A unit as cypher/forms/write.cypher takes it."""
    fact = asked.target.fact
    row: dict[str, object] = {
        "form": asked.form.key,
        "protocol": protocol,
        "fact": fact.id,
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "role": role,
        "place": asked.place,
        "known": all(each.id in known for each in asked.unit.facts),
        "given": asked.unit.given,
        "chance": pre.chance,
    }
    for side, outcome in (("pre", pre), ("post", post)):
        for name in ("p", "p_old", "margin", "right", "further", "text", "length"):
            row[f"{name}_{side}"] = None if outcome is None else getattr(outcome, name)
    return row


def write(tx: Tx, owner: str, units: Sequence[dict[str, object]]) -> None:
    """Store units of a model graph or an edit; those of the same protocols are replaced."""
    replaced = sorted({str(unit["protocol"]) for unit in units})
    for start in range(0, len(units), BATCH):
        tx.run(
            rows.WrittenRow, "forms/write", owner=owner,
            replaced=[] if start else replaced, rows=list(units[start : start + BATCH]),
        )  # fmt: skip
