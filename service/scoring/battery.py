"""Forms of asking with a loaded model: the units, how they are stored, and what they show.

The unedited accuracy of a form is measured once for a model graph, and stored with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...cypher.rows.forms import FormCounts
from ...loaders.records import Fact
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
    from ..forms.material import Outcome
    from ..graphs.datasets import Dataset
    from ..models.edit import EditOptions
    from .probe import ProbedFact
    from .resolved import Resolved
    from .runtime import Runtime, RuntimeModel

CLOZE = "cloze/0-shot"
SAMPLE = "sample"
"""Role of the facts by which a form's unedited accuracy is measured."""
FACTS = 20
"""Facts of the subject, and facts on chains, that are asked in every form at most."""
FACTS_UNEDITED = 30
"""Facts that a score asks for the unedited accuracy of a form, where `probe` did not ask all."""
BATCH = 2000
"""Units that are stored by one statement."""


def context_of(runtime: Runtime, dataset: Dataset, model: RuntimeModel) -> Context:
    """The graph as forms read it, with the model's abilities."""
    chat = takes_chat(model.loaded.tokenizer)
    return runtime.memoised(
        ("forms", dataset.id, dataset.digest, f"{chat}"),
        lambda: Context(runtime.content_of(dataset), chat=chat),
    )


def known_facts(
    runtime: Runtime, model: RuntimeModel, context: Context, units: Iterable[Asked]
) -> set[str]:
    """Ids of the facts among those of some units whose cloze is known to the unedited model."""
    facts = {fact.id: fact for each in units for fact in each.unit.facts}
    asked = plan(chosen([]), list(facts.values()), context).units
    found, _ = outcomes(model.loaded, asked, context, progress=runtime.progress)
    return {
        each.target.fact.id
        for each, outcome in zip(asked, found, strict=True)
        if (outcome.p or 0.0) >= KNOWN_CLOZE
    }


def unedited(
    runtime: Runtime,
    dataset: Dataset,
    model: RuntimeModel,
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
        at_most: facts that are asked in a form; None: all that can be.
    """
    context = context_of(runtime, dataset, model)
    protocols = {form.key: form.protocol(context) for form in forms}
    planned = fitting(model.loaded, plan(forms, facts, context, at_most=at_most), context)
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
        found, _ = outcomes(model.loaded, asked, context, progress=runtime.progress)
        known = known_facts(runtime, model, context, asked)
        written = [
            unit_row(each, protocols[each.form.key], SAMPLE, known, outcome)
            for each, outcome in zip(asked, found, strict=True)
        ]
        runtime.db.atomically(lambda tx: write(tx, graph, written))
    cost = tokens(model.loaded, planned.units, context)
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
class AskedOfEdit:
    """The units of an edit in all forms, before and after it.

    Attributes:
        rows: as cypher/forms/write.cypher takes them.
        left_out: why a form cannot ask the edited fact, by form.
    """

    forms: list[Form]
    rows: list[dict[str, object]]
    left_out: dict[str, str]


def check(request: EditOptions) -> None:
    """Refuse names of forms that do not exist, before a model is loaded.

    Raises:
        UsageError: there is no such form.
    """
    if request.forms:
        chosen([request.forms])


def versions(request: EditOptions) -> dict[str, int]:
    """The forms of a request with their versions, for the id of an edit."""
    return {form.key: form.module.VERSION for form in chosen([request.forms or ""])}


def both(
    resolved: Resolved, effect: EditEffect, probed: Sequence[ProbedFact]
) -> AskedOfEdit | None:
    """Ask the edited fact, its subject's facts and facts on its chains, before and after the edit.

    None where the request has no forms, and of a request to append, which replaces no object. The
    model is restored.

    Args:
        probed: the score's facts, with those of the subject.
    """
    request, runtime = resolved.request, resolved.runtime
    if not request.forms or request.rewrite.kind == "append":
        return None
    forms = chosen([request.forms])
    context = context_of(runtime, resolved.dataset, resolved.model)
    edited, _ = edited_facts(request.rewrite, resolved.scope.facts)
    loaded = resolved.model.loaded
    own = fitting(loaded, plan(forms, [edited], context, request.rewrite), context)
    roles = {edited.id: "edited"} | _others(resolved, context, edited, probed)
    by_id = {each.question.fact.id: each.question.fact for each in probed}
    others = plan(forms, [by_id[id] for id in roles if id != edited.id], context)
    rest = fitting(loaded, others, context)
    units = [*own.units, *rest.units]
    before, after = outcomes(loaded, units, context, effect, runtime.progress)
    known = known_facts(runtime, resolved.model, context, units)
    protocols = {form.key: form.protocol(context) for form in forms}
    written = [
        unit_row(each, protocols[each.form.key], roles[each.target.fact.id], known, pre, post)
        for each, pre, post in zip(units, before, after, strict=True)
    ]
    reasons = {key: next(iter(found)) for key, found in own.left_out.items()}
    return AskedOfEdit(forms, written, reasons)


def _others(
    resolved: Resolved, context: Context, edited: Fact, probed: Sequence[ProbedFact]
) -> dict[str, str]:
    """Roles of the facts beside the edited one, at most FACTS of each, by id."""
    subject = resolved.request.rewrite.subject
    known = [
        each.question.fact
        for each in probed
        if each.question.role in ("fact", "subject")
        and each.pre.values.get("likelihood", 0.0) >= KNOWN_CLOZE
        and (each.question.fact.subject, each.question.fact.relation)
        != (edited.subject, edited.relation)
    ]
    about = [fact for fact in known if fact.subject == subject]
    chains = [fact for fact in known if fact.subject != subject]
    roles = {fact.id: "subject" for fact in context.drawn(about, FACTS, "subject")}
    return roles | {fact.id: "chain" for fact in context.drawn(chains, FACTS, "chain")}


def measured(resolved: Resolved, edit: str, asked: AskedOfEdit | None) -> list[FormOut]:
    """Return the change by the edit in each form, beside the unedited model's accuracy there."""
    if asked is None:
        return []
    runtime, dataset = resolved.runtime, resolved.dataset
    context = context_of(runtime, dataset, resolved.model)
    graph = model_graph.graph_of(resolved)
    answers = model_graph.stored_answers(runtime, graph)

    def is_unknown(fact: Fact) -> bool:
        answer = answers.get(fact.id)
        return answer is None or answer.values.get("likelihood", 0.0) < KNOWN_CLOZE

    drawn = context.drawn(context.facts, len(context.facts), "unedited")
    found = unedited(
        runtime, dataset, resolved.model, graph, asked.forms, sorted(drawn, key=is_unknown),
        at_most=FACTS_UNEDITED,
    )  # fmt: skip
    counts = {row.form: row for row in runtime.db.read(FormCounts, "forms/outcome", owner=edit)}
    return [
        form_out(counts[each.form], each)
        if each.form not in asked.left_out
        else left_out(each, asked.left_out[each.form])
        for each in found
    ]


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
