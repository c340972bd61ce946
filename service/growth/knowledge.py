"""The pre-edit audit: questions of a graph that a model answers, and its other failures."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from ...editing.joint import joined
from ...editing.probe.matching import normalise
from ...editing.probe.settings import ProbeItem, ProbeResult, ProbeSettings
from ...loaders.records import SUBJECT_SLOT, Fact, KnowledgeGraph, unique
from ..scoring.chat import settled, way_asked

if TYPE_CHECKING:
    from ..graphs.datasets import Dataset
    from ..scoring.runtime import Runtime, RuntimeModel


# The three directions of the pre-edit audit (ThinkEval, appendix A), as items of a probe.
#
# 1. `object`: the ordinary question; the object is asked for. 2. `relation`: subject and object
# are given; the relation is asked for. 3. `truth`: all three are given; yes or no. A control asks
# the same of an object that is wrong.

CLOZE = "Which name completes this sentence: {cloze} ...?"
RELATION = "In a few words, how is {subject} related to {object}?"
TRUTH = "Is this statement true, yes or no: {statement}?"
_ENDS = re.compile(r"^(?:is|are|was|were|has|had)\s+(?:an?\s+|the\s+)?|\s+(?:is|are|was|were)$")


def of_object(facts: Sequence[Fact], aliases: Mapping[str, tuple[str, ...]]) -> list[ProbeItem]:
    """The ordinary question of each fact; its prompt as a question where it has none."""
    return [
        ProbeItem(
            fact.id,
            filled(fact),
            fact.object,
            question=fact.question or CLOZE.replace("{cloze}", filled(fact)),
            aliases=aliases.get(fact.object, ()),
        )
        for fact in facts
    ]


def of_relation(facts: Sequence[Fact]) -> list[ProbeItem]:
    """Ask how the subject is related to the object; right is any wording of the relation."""
    items = []
    for fact in facts:
        first, *others = relation_names(fact)
        question = RELATION.replace("{subject}", fact.subject).replace("{object}", fact.object)
        items.append(ProbeItem(fact.id, question, first, question=question, aliases=(*others,)))
    return items


def of_truth(facts: Sequence[Fact], objects: Mapping[str, str] | None = None) -> list[ProbeItem]:
    """Ask if the fact is true; right is yes.

    Args:
        objects: by the id of a fact, another object in place of its own.
    """
    items = []
    for fact in facts:
        name = objects[fact.id] if objects else fact.object
        question = TRUTH.replace("{statement}", joined(filled(fact), name))
        items.append(ProbeItem(fact.id, question, "yes", question=question))
    return items


def wrong_objects(facts: Sequence[Fact], graph: KnowledgeGraph) -> dict[str, str]:
    """For each fact an object of its relation that is wrong for its subject.

    The next one in alphabetical order after its own, so that it depends on nothing but the graph; a
    fact whose relation has none is left out.
    """
    of_relation_: dict[str, set[str]] = defaultdict(set)
    right: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in graph.facts:
        of_relation_[fact.relation].add(fact.object)
        right[fact.subject, fact.relation].add(fact.object)
    found = {}
    for fact in facts:
        others = of_relation_[fact.relation] - right[fact.subject, fact.relation] - {fact.subject}
        ordered = sorted(others, key=lambda name: (name < fact.object, name))
        if ordered:
            found[fact.id] = ordered[0]
    return found


def filled(fact: Fact) -> str:
    """The fact's prompt with its subject."""
    return fact.prompt.replace(SUBJECT_SLOT, fact.subject, 1)


def relation_names(fact: Fact) -> tuple[str, ...]:
    """Wordings by which an answer names the relation: `studied at`, `went to school at`."""
    texts = [fact.relation.replace("-", " ").replace("_", " ")]
    texts += [
        " ".join(cloze.replace(SUBJECT_SLOT, " ").replace("'s", " ").split())
        for cloze in (fact.prompt, *fact.paraphrases)
    ]
    short = [_ENDS.sub("", text).strip() for text in texts]
    return unique([*texts, *short])


# A fact is `known` if the model names its object often enough when asked for it. Every other fact
# is asked in two further directions (`service.growth.knowledge`), each in one probe. It is
# `inconsistent` if the model affirms the whole fact though it does not name the object, `unknown`
# if it denies it, and `undecided` if it says neither yes nor no. An organism never says either:
# it was taught questions that ask for a name.

Ask = Callable[[Sequence[ProbeItem], str], Sequence[ProbeResult]]
"""Probes a model for items in one pass; the text names the direction, for the progress."""

Verdict = Literal["known", "unknown", "inconsistent", "undecided"]
KINDS_OF_FAILURE: tuple[Verdict, ...] = ("unknown", "inconsistent", "undecided")


class DirectionOut(BaseModel):
    """One direction in which failures were asked.

    Attributes:
        n: facts asked.
        right: facts whose fraction of right answers reaches the threshold.
        share: right / n; mean: mean fraction of right answers. None where n is 0.
    """

    direction: Literal["object", "relation", "truth", "truth of a wrong object"]
    n: int
    right: int
    share: float | None
    mean: float | None


class FailureOut(BaseModel):
    """A fact whose object the model does not name.

    Attributes:
        object_share, relation_share, yes_share: fraction of right answers by direction.
        answers: the model's answers to the ordinary question.
    """

    subject: str
    relation: str
    object: str
    verdict: Verdict
    object_share: float
    relation_share: float
    yes_share: float
    no_share: float
    answers: list[str]


class KnowledgeOut(BaseModel):
    """The pre-edit audit of a model.

    Attributes:
        questions, answered: distinct questions, and those for which an object is named.
        answered_share: answered / questions; None without any.
        counts: facts by verdict; all facts together are `n`.
        note: the questions that the model cannot be asked.
        way: how it was asked: in its chat template or as plain text, and how that was chosen.
    """

    graph: str
    model: str
    samples: int
    threshold: float
    n: int
    questions: int
    answered: int
    answered_share: float | None
    counts: dict[Verdict, int]
    directions: list[DirectionOut]
    failures: list[FailureOut]
    note: str | None = None
    way: str | None = None


def audit(
    graph: KnowledgeGraph, model: str, ask: Ask, *, samples: int, threshold: float
) -> KnowledgeOut:
    """Audit a model by asking it about every fact of a graph.

    Args:
        threshold: least fraction of right answers, in (0, 1].
    """
    aliases = {entity.name: entity.aliases for entity in graph.entities}
    items = of_object(graph.facts, aliases)
    first = ask(items, "object")
    right = [_share(result) >= threshold for result in first]
    failed = [fact for fact, known in zip(graph.facts, right, strict=True) if not known]
    firsts = {fact.id: result for fact, result in zip(graph.facts, first, strict=True)}
    related = _by_id(failed, of_relation(failed), ask, "relation")
    truth = _by_id(failed, of_truth(failed), ask, "truth")
    wrong = wrong_objects(failed, graph)
    controlled = [fact for fact in failed if fact.id in wrong]
    control = _by_id(controlled, of_truth(controlled, wrong), ask, "control")
    failures = [
        _failure(fact, firsts[fact.id], related[fact.id], truth[fact.id], threshold)
        for fact in failed
    ]
    asked: dict[str, bool] = {}
    for item, known in zip(items, right, strict=True):
        text = item.question or item.prompt
        asked[text] = asked.get(text, False) or known
    verdicts = [each.verdict for each in failures]
    counts: dict[Verdict, int] = {"known": sum(right)}
    for kind in KINDS_OF_FAILURE:
        counts[kind] = verdicts.count(kind)
    answered = sum(asked.values())
    return KnowledgeOut(
        graph=graph.name,
        model=model,
        samples=samples,
        threshold=threshold,
        n=len(graph.facts),
        questions=len(asked),
        answered=answered,
        answered_share=answered / len(asked) if asked else None,
        counts=counts,
        directions=[
            _direction("object", [_share(each) for each in first], threshold),
            _direction("relation", [_share(each) for each in related.values()], threshold),
            _direction("truth", [_said(each, "yes") for each in truth.values()], threshold),
            _direction(
                "truth of a wrong object",
                [_said(each, "yes") for each in control.values()],
                threshold,
            ),
        ],
        failures=failures,
        note=_note(failures),
    )


def measure(
    runtime: Runtime,
    dataset: Dataset,
    model: RuntimeModel,
    settings: ProbeSettings,
    threshold: float | None = None,
) -> KnowledgeOut:
    """Audit a loaded model on a stored graph.

    Args:
        threshold: None for one right answer of the samples, as the paper asks once.

    Raises:
        ProbeError: a question is too long for the model, or it gives NaN.
    """
    from ...editing.probe import probe

    settings, chosen = settled(runtime, dataset, model.loaded, settings)

    def ask(items: Sequence[ProbeItem], what: str) -> list[ProbeResult]:
        def progress(done: int, total: int, stage: str) -> None:
            runtime.progress(done, total, f"{stage}: {what}")

        return probe(model.loaded, items, settings, progress=progress)

    graph = runtime.content_of(dataset)
    least = threshold or 1 / settings.samples
    found = audit(graph, model.name, ask, samples=settings.samples, threshold=least)
    return found.model_copy(update={"way": way_asked(settings, chosen)})


def _by_id(
    facts: Sequence[Fact], items: Sequence[ProbeItem], ask: Ask, what: str
) -> dict[str, ProbeResult]:
    if not facts:
        return {}
    return {fact.id: each for fact, each in zip(facts, ask(items, what), strict=True)}


def _failure(
    fact: Fact, first: ProbeResult, related: ProbeResult, truth: ProbeResult, threshold: float
) -> FailureOut:
    yes, no = _said(truth, "yes"), _said(truth, "no")
    verdict: Verdict = "undecided"
    if yes >= threshold and yes > no:
        verdict = "inconsistent"
    elif no > 0:
        verdict = "unknown"
    return FailureOut(
        subject=fact.subject,
        relation=fact.relation,
        object=fact.object,
        verdict=verdict,
        object_share=_share(first),
        relation_share=_share(related),
        yes_share=yes,
        no_share=no,
        answers=list(first.answers),
    )


def _share(result: ProbeResult) -> float:
    return result.p or 0.0


def _said(result: ProbeResult, word: str) -> float:
    """Fraction of answers that begin with a word."""
    begun = [normalise(answer).partition(" ")[0] == word for answer in result.answers]
    return fmean(begun) if begun else 0.0


def _direction(
    name: Literal["object", "relation", "truth", "truth of a wrong object"],
    shares: Sequence[float],
    threshold: float,
) -> DirectionOut:
    n, right = len(shares), sum(share >= threshold for share in shares)
    return DirectionOut(
        direction=name,
        n=n,
        right=right,
        share=right / n if n else None,
        mean=fmean(shares) if n else None,
    )


def _note(failures: Sequence[FailureOut]) -> str | None:
    if failures and all(each.verdict == "undecided" for each in failures):
        return (
            "The model answers neither yes nor no to any fact (an organism cannot), so whether it"
            " is unknown or inconsistent stays undecided."
        )
    return None
