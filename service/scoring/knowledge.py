"""A model's knowledge of a graph before any edit, and so the rewrites worth scoring.

An edit of a fact that the model does not know measures nothing, and a chain that it does not
know cannot leak.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...editing.errors import UnknownFactError
from ...loaders.records import Fact, RewriteRequest
from ..base.formatting import least_of, short
from ..graphs.datasets import Dataset, case, list_rewrites
from ..models.edit import KNOWN, KNOWN_CHAIN, EditOptions, Measure
from ..models.options import words_of
from . import battery, model_graph
from . import probe as probes
from .chat import settled
from .probe import Wording, edited_facts, probe, questions_for
from .request import probe_settings
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings
    from ..forms.registry import Form
    from ..models.forms import FormAccuracy
    from .model_graph import AskParts
    from .probe import ProbedFact
    from .resolved import Resolved


THRESHOLDS = (0.5, 0.2, KNOWN)
"""Probabilities from which facts are counted."""
SHOWN = 10
"""Best and least known facts of a summary."""
CASES = 200
"""Rewrites whose chains are counted by one query."""


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact with the probability of its object.

    Attributes:
        says: the model's own likeliest answer; None where it was not asked, or gave none.
    """

    subject: str
    relation: str
    object: str
    p: float
    says: str | None = None

    @property
    def id(self) -> str:
        """Its id within a graph."""
        return Fact(self.subject, self.relation, self.object, prompt="").id


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of facts with a probability of at least each threshold.

    Attributes:
        known: by threshold, as `0.5`.
        mean: None without facts.
    """

    facts: int
    known: dict[str, int]
    mean: float | None


@dataclass(frozen=True, slots=True)
class KnownRelation(Counted):
    """The facts of one relation."""

    relation: str


@dataclass(frozen=True, slots=True)
class KnownRewrite:
    """A model's knowledge of a rewrite, and the command that scores it.

    Attributes:
        p: of the fact that is edited.
        known_chains: chains whose facts' probabilities have a product of at least KNOWN_CHAIN.
        scorable: True if the fact is known; `score` refuses the rewrite else.
        command: None if nothing can be scored.
    """

    rewrite: str
    subject: str
    relation: str
    target_true: str
    target_new: str
    p: float
    chains: int
    known_chains: int
    scorable: bool
    command: str | None


@dataclass(frozen=True, slots=True)
class AskedRelation:
    """The likelihood of a relation's facts by wording.

    Attributes:
        relation: None for all facts of the graph.
        means: by wording, over the facts that have it; `n` counts those.
        best: the wording with the highest mean, of those that most facts have.
        options: those of a command that ask by the best wording; "" where there are none.
    """

    relation: str | None
    means: dict[str, float]
    n: dict[str, int]
    best: str
    options: str


@dataclass(frozen=True, slots=True)
class KnownSummary:
    """A model's knowledge of a graph, as `thinkeval probe` prints it.

    Attributes:
        n_known: facts with a probability of at least KNOWN.
        n_recalled: facts whose prompt's right objects together have more than .5: the objects of a
            one-to-many fact ("was friends with") share the probability of right answers.
        mean: of all facts; None without facts.
        known: facts with at least each of THRESHOLDS.
        weakest, best: at most SHOWN facts each, with the model's own answers.
        facts: all facts, likewise; None where they were not asked for.
        rewrites: those whose fact is known first, and of these the most known chains; none of
            requests to append.
        wordings: None where they were not asked for; the first row is of all facts.
        undecided: sampled answers that are neither right nor wrong.
        chat: always or never, as the facts were asked.
        chat_chosen: how `auto` was decided (`ChatChosen`); None where nothing was measured.
        forms: None where none were asked for.
    """

    graph: str
    model: str
    n_facts: int
    n_known: int
    n_recalled: int
    mean: float | None
    known: dict[str, int]
    weakest: list[KnownFact]
    best: list[KnownFact]
    relations: list[KnownRelation]
    rewrites: list[KnownRewrite]
    wordings: list[AskedRelation] | None
    undecided: int = 0
    chat: str = "never"
    chat_chosen: dict[str, Any] | None = None
    forms: list[FormAccuracy] | None = None
    facts: list[KnownFact] | None = None


def probe_graph(
    runtime: Runtime,
    dataset: Dataset,
    model: RuntimeModel,
    asked: EditOptions,
    measure: Measure,
    *,
    by_wording: bool = False,
    forms: Sequence[Form] = (),
    ask_parts: AskParts | None = None,
    every: bool = False,
) -> KnownSummary:
    """Probe a whole data set graph and sum up the model's knowledge of it.

    Args:
        asked: how the facts are probed, and the model as the next command names it.
        by_wording: also ask every fact in each wording that exists, by likelihood.
        forms: also ask every fact in these forms, and store the answers with the model graph.
        ask_parts: asks the parts of a large graph, see `model_graph.Asked`.
        every: also list all facts, unless these are more than `model_graph.PART`.
    """
    content = runtime.content_of(dataset)
    aliases = {entity.name: entity.aliases for entity in content.entities}
    settings, chat = settled(runtime, dataset, model.loaded, probe_settings(asked, asked.seed))
    source = model_graph.asked_model(model, runtime.progress, ask_parts)
    stored = model_graph.ensure(runtime, dataset, source, settings, content.facts, aliases)
    found = [
        KnownFact(row.subject, row.relation, row.object, float(value))
        for row in runtime.db.read(rows.FactRow, "graph/facts", graph=stored)
        if (value := getattr(row, f"{measure}_pre")) is not None
    ]
    found.sort(key=lambda each: (each.p, each.subject, each.relation, each.object))
    every = every and len(found) <= model_graph.PART
    places = range(len(found))
    shown = places if every else sorted({*places[:SHOWN], *places[-SHOWN:]})
    questions = {q.fact.id: q for q in questions_for(content.facts, aliases)}
    answers = model_graph.stored_answers(runtime, stored)
    own = model_graph.own_answers(
        *(runtime, model.loaded, model.loaded.info.digest),
        [(questions[found[i].id], answers[found[i].id]) for i in shown],
        settings,
    )
    for i, says in zip(shown, own, strict=True):
        found[i] = replace(found[i], says=says)
    right: dict[tuple[str, str], float] = defaultdict(float)
    for each in found:
        right[each.subject, each.relation] += each.p
    whole = _counted([each.p for each in found])
    return KnownSummary(
        graph=stored,
        model=model.name,
        n_facts=whole.facts,
        n_known=whole.known[str(KNOWN)],
        n_recalled=sum(right[each.subject, each.relation] > 0.5 for each in found),
        mean=whole.mean,
        known=whole.known,
        weakest=found[:SHOWN],
        best=found[: -SHOWN - 1 : -1],
        relations=_relations(found),
        rewrites=_rewrites(runtime, dataset, model, stored, asked, measure, found),
        wordings=_wordings(runtime, model, settings, content.facts, aliases)
        if by_wording
        else None,
        undecided=sum(each.undecided for each in answers.values()),
        chat=settings.chat,
        chat_chosen=chat.as_dict() if chat else None,
        forms=battery.unedited(runtime, dataset, model.loaded, stored, forms, content.facts)
        if forms
        else None,
        facts=found[::-1] if every else None,
    )


def _counted(values: Sequence[float]) -> Counted:
    known = {str(least): sum(value >= least for value in values) for least in THRESHOLDS}
    return Counted(len(values), known, fmean(values) if values else None)


def _relations(found: Sequence[KnownFact]) -> list[KnownRelation]:
    """One row a relation, the best known first."""
    by_relation: dict[str, list[float]] = defaultdict(list)
    for each in found:
        by_relation[each.relation].append(each.p)
    out = [
        KnownRelation(**asdict(_counted(values)), relation=relation)
        for relation, values in by_relation.items()
    ]
    return sorted(out, key=lambda each: (-(each.mean or 0.0), each.relation))


def _rewrites(
    runtime: Runtime,
    dataset: Dataset,
    model: RuntimeModel,
    stored: str,
    asked: EditOptions,
    measure: Measure,
    found: Sequence[KnownFact],
) -> list[KnownRewrite]:
    requests = [r for r in list_rewrites(runtime.db, dataset.id) if r.kind != "append"]
    known = {(each.subject, each.relation, each.object): each.p for each in found}
    known |= _further(runtime, dataset, model, asked, measure, requests, known)
    counts: dict[str, rows.KnownChainsRow] = {}
    for start in range(0, len(requests), CASES):
        runtime.progress(start, len(requests), "chains of rewrites")
        counted = runtime.db.read(
            rows.KnownChainsRow,
            "chains/known",
            cases=[case(stored, request) for request in requests[start : start + CASES]],
            max_steps=asked.options.max_steps,
            bare=asked.options.bare,
            pre=f"{measure}_pre",
            known_chain=KNOWN_CHAIN,
        )
        counts |= {row.id: row for row in counted}
    out = []
    for request in requests:
        p = known[request.subject, request.relation, request.target_true]
        chains = counts[request.id]
        scorable = p >= KNOWN
        out.append(
            KnownRewrite(
                rewrite=request.id,
                subject=request.subject,
                relation=request.relation,
                target_true=request.target_true,
                target_new=request.target_new,
                p=p,
                chains=chains.chains,
                known_chains=chains.known,
                scorable=scorable,
                command=_command(dataset, request, asked) if scorable else None,
            )
        )
    return sorted(out, key=lambda row: (not row.scorable, -row.known_chains, -row.p, row.rewrite))


def _further(
    runtime: Runtime,
    dataset: Dataset,
    model: RuntimeModel,
    asked: EditOptions,
    measure: Measure,
    requests: Sequence[RewriteRequest],
    known: Mapping[tuple[str, str, str], float],
) -> dict[tuple[str, str, str], float]:
    """The probabilities of edited facts that the graph does not list; asked now, not stored."""
    lacking = {
        (fact.subject, fact.relation, fact.object): fact
        for fact, _ in (edited_facts(request, ()) for request in requests)
    }
    rest = {key: fact for key, fact in lacking.items() if key not in known}
    if not rest:
        return {}
    content = runtime.content_of(dataset)
    aliases = {entity.name: entity.aliases for entity in content.entities}
    settings, _ = settled(runtime, dataset, model.loaded, probe_settings(asked, asked.seed))
    answers = probe(
        model.loaded,
        questions_for(list(rest.values()), aliases),
        settings,
        progress=runtime.progress,
    )
    return {key: answer.values[measure] for key, answer in zip(rest, answers, strict=True)}


def _command(dataset: Dataset, request: RewriteRequest, asked: EditOptions) -> str:
    """The command that scores a rewrite as its facts were probed."""
    given = {"method": "rome" if request.target_new else "gradient_ascent", "graph": dataset.id}
    changed = {
        name: value
        for name, field in EditOptions.model_fields.items()
        if name not in given
        and (value := getattr(asked, name)) != field.get_default(call_default_factory=True)
    }
    return shlex.join(["thinkeval", "score", request.id, *words_of(EditOptions, given | changed)])


def _wordings(
    runtime: Runtime,
    model: RuntimeModel,
    settings: ProbeSettings,
    facts: Sequence[Fact],
    aliases: Mapping[str, tuple[str, ...]],
) -> list[AskedRelation]:
    """All facts, then each relation, those that the choice of wording changes most first."""
    values = probes.likelihoods(
        model.loaded, questions_for(facts, aliases), settings, runtime.progress
    )
    places: dict[str, list[int]] = defaultdict(list)
    for i, fact in enumerate(facts):
        places[fact.relation].append(i)
    rows_of = [
        row for relation, at in places.items() if (row := _asked_relation(relation, at, values))
    ]
    whole = _asked_relation(None, range(len(facts)), values)
    rows_of.sort(key=lambda row: (-_gain(row), row.relation or ""))
    return [*([whole] if whole else []), *rows_of]


def _asked_relation(
    relation: str | None, places: Sequence[int], values: probes.Values
) -> AskedRelation | None:
    of: dict[Wording, list[float]] = {
        wording: [value for i in places if (value := column[i]) is not None]
        for wording, column in values.items()
    }
    of = {wording: found for wording, found in of.items() if found}
    if not of:
        return None
    most = max(map(len, of.values()))
    best = max((w for w in of if len(of[w]) == most), key=lambda w: fmean(of[w]))
    return AskedRelation(
        relation=relation,
        means={wording.name: fmean(found) for wording, found in of.items()},
        n={wording.name: len(found) for wording, found in of.items()},
        best=best.name,
        options=" ".join(best.flags),
    )


def _gain(row: AskedRelation) -> float:
    """By how much the best wording exceeds the worst one."""
    return row.means[row.best] - min(row.means.values())


# Refuse an edit of a fact that the model does not know: nothing would be measured.

MEASURED_BY = {"likelihood": "p", "p": "sampled share"}
"""The measures by which a fact may be known, and their names in the message."""


def require(resolved: Resolved, pre: Sequence[ProbedFact]) -> None:
    """Refuse the edit if the edited fact is unknown, unless the request says `anyway`.

    A fact is known if its likelihood or its sampled share is at least the request's `known`. An
    appended answer has no old fact that would have to be known.

    Args:
        pre: the probed facts before the edit, with the edited one.

    Raises:
        UnknownFactError: says the probability, and another wording by which the fact is known.
    """
    request = resolved.request
    if request.anyway or request.rewrite.kind == "append":
        return
    edited = next(p for p in pre if p.question.role == "target_true")
    values = {m: edited.pre.values[m] for m in MEASURED_BY if m in edited.pre.values}
    least = request.options.known
    if not values or max(values.values()) >= least:
        return
    raise UnknownFactError(_text(values, least), remedy=_remedy(resolved, edited))


def _text(values: dict[str, float], least: float) -> str:
    given = ", ".join(
        f"{MEASURED_BY[measure]} = {_precise(value)}" for measure, value in values.items()
    )
    return (
        f"The model gives the edited fact {given} (known from {least_of(least)}): nothing to"
        " measure. Nothing was edited."
    )


def _precise(value: float) -> str:
    """A small probability with one significant digit: `.0003`, `2e-07`."""
    return short(value) if value == 0 or value >= 0.001 else f"{value:.1g}".removeprefix("0")


def _remedy(resolved: Resolved, edited: ProbedFact) -> str:
    request, loaded = resolved.request, resolved.model.loaded
    own = probes.wording_of(loaded, request.probe)
    found = probes.likelihoods(loaded, [edited.question], request.probe)
    known = {
        wording: value
        for wording, (value,) in found.items()
        if wording is not own and value is not None and value >= request.options.known
    }
    text = ""
    if known:
        best = max(known, key=lambda wording: known[wording])
        flags = f" (`{' '.join(best.flags)}`)" if best.flags else ""
        text = f"Asked as a {best.name}{flags} it has p = {short(known[best])}. "
        text = text.replace("as a paraphrases", "by its paraphrases")
    return (
        f"{text}`thinkeval probe {request.graph} --model {request.model}` lists the rewrites whose"
        ' fact is known; `thinkeval score --anyway` (REST: `"anyway": true`) edits it all the same.'
    )
