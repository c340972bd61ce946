"""Questions about facts, in each wording, and a model's answers before and after an edit."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...cypher.errors import ParameterError
from ...loaders.records import Fact, RewriteRequest, fill
from ..graphs.edges import caption, change
from ..models.edit import MEASURES

if TYPE_CHECKING:
    from ...editing.models import LoadedModel
    from ...editing.probe import ProbeItem, ProbeResult, ProbeSettings


# The edited fact is probed with target_true and with target_new. The rewrite's paraphrases are
# probed beside it and left out of its mean: they measure generalization, the fact itself
# efficacy. The prompts of its neighborhood are part of the same probe, so that they are in its
# batches.

Role = Literal[
    "fact", "target_true", "target_new", "implication", "coedit", "context", "subject", "outside"
]  # fmt: skip
"""Role of a fact in an edit graph. Chains pass `fact` and `target_true` only. `coedit` states the
new object of a co-edit, `context` is a further fact about its subject (`service.leakcut`),
`subject` a fact about the edited subject that is on no chain (`service.scoring.side_effects`),
`outside` another known fact (`service.scoring.drift`)."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A prompt about another subject, and the name with its aliases that is probed there.

    Attributes:
        longer: as of `Question`.
    """

    prompt: str
    object: str
    aliases: tuple[str, ...] = ()
    longer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One fact to probe, with the aliases of its object.

    Attributes:
        aliases: of the object.
        generalization: further clozes asked one by one (the rewrite's paraphrases); the fact's own
            paraphrases are averaged in only where the probe settings say so.
        neighborhood: complete prompts about other subjects, each with its right answer; asked of
            the edited fact, for specificity.
        role: of the fact in an edit graph.
        listed: True if the data set holds this fact in the scope of the rewrite.
        longer: names of other entities that contain one of the object's, for sampled answers
            (`model_graph.with_longer`).
    """

    fact: Fact
    aliases: tuple[str, ...] = ()
    generalization: tuple[str, ...] = ()
    neighborhood: tuple[Neighbor, ...] = ()
    role: Role = "fact"
    listed: bool = True
    longer: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer about one fact.

    Attributes:
        values: probability by measure (`p`, `likelihood`, `likelihood_norm`). `p` is missing where
            every sampled answer is undecided.
        answers: the sampled texts, as they were matched.
        n_samples: number of decided samples, of which `p` is a fraction; 0 without sampling.
        paraphrases: by measure, one probability for each prompt of `Question.generalization`.
        neighborhood: by measure, one probability for each prompt of `Question.neighborhood`.
        says: the model's own likeliest answer to the prompt; None where it was not asked.
    """

    values: Mapping[str, float]
    answers: tuple[str, ...] = ()
    n_samples: int = 0
    paraphrases: Mapping[str, Sequence[float]] = field(default_factory=dict)
    neighborhood: Mapping[str, Sequence[float]] = field(default_factory=dict)
    says: str | None = None

    @property
    def undecided(self) -> int:
        """Number of samples that are neither right nor wrong (`editing.probe.matching`)."""
        return len(self.answers) - self.n_samples


@dataclass(frozen=True, slots=True)
class ProbedFact:
    """A fact with the answer before and, in an edit graph, after the edit.

    Attributes:
        named: name of the graph that the edited model's own answer gives instead of the object.
    """

    question: Question
    pre: Answer
    post: Answer | None = None
    named: str | None = None


Progress = Callable[[int, int, str], None]

EXACT = "likelihood"
"""The measure that facts beside the chains are asked by."""
BESIDE: tuple[Role, ...] = ("subject", "outside")
"""Roles of these facts."""


def probe(
    loaded: LoadedModel,
    questions: Sequence[Question],
    settings: ProbeSettings,
    *,
    prompt_change: Callable[[str], str] | None = None,
    progress: Progress | None = None,
) -> list[Answer]:
    """Probe a model with questions; one answer a question, in order."""
    from ...editing.probe import probe as measure

    return probe_with(
        questions,
        lambda items: measure(
            loaded, items, settings, prompt_change=prompt_change, progress=progress
        ),
    )


def probe_with(
    questions: Sequence[Question], measure: Callable[[Sequence[ProbeItem]], Sequence[ProbeResult]]
) -> list[Answer]:
    """Answers to questions, whatever measures them; one answer a question, in order."""
    items = [item_of(str(i), question) for i, question in enumerate(questions)]
    near = [_near(str(i), question) for i, question in enumerate(questions)]
    everything = [*items, *(group.item for groups in near for group in groups)]
    results = measure(everything)
    answers = [_answer(result) for result in results[: len(items)]]
    rest = iter(results[len(items) :])
    return [
        replace(answer, neighborhood=_joined(groups, [next(rest) for _ in groups]))
        for answer, groups in zip(answers, near, strict=True)
    ]


def own_answers(
    loaded: LoadedModel,
    probed: Sequence[tuple[Question, Answer]],
    settings: ProbeSettings,
    *,
    prompt_change: Callable[[str], str] | None = None,
) -> list[str | None]:
    """The model's own likeliest answer to each question that it was asked; None without one."""
    from ...editing.probe import own_answers as asked

    found = asked(
        loaded,
        [item_of(str(i), question) for i, (question, _) in enumerate(probed)],
        settings,
        likelihoods=[answer.values.get(EXACT) for _, answer in probed],
        prompt_change=prompt_change,
    )
    return [text or None for text in found]


def spelled_apart(
    loaded: LoadedModel, questions: Sequence[Question], settings: ProbeSettings
) -> dict[str, int]:
    """Count the facts whose object has other tokens than in one text with its prompt.

    Their likelihoods are of a spelling that the model has rarely read (`answer_tokens.spelling`).
    """
    from ...editing.probe import queries_of
    from ...editing.probe.prompts import Renderer, apart

    renderer = Renderer(loaded.tokenizer, settings.chat)
    items = [item_of(str(i), question) for i, question in enumerate(questions)]
    found = [apart(loaded.tokenizer, queries_of(item, settings, renderer)[0]) for item in items]
    return {"facts": sum(found), "of": len(found)}


def filled(prompt: str, subject: str) -> str:
    """A cloze with its subject; its own spaces at the end are the answer's (`editing.joint`)."""
    return fill(prompt, subject)


def item_of(key: str, question: Question) -> ProbeItem:
    """Return the item of a question, with an id."""
    from ...editing.probe import ProbeItem

    fact, separate = question.fact, bool(question.generalization)
    clozes = question.generalization if separate else fact.paraphrases
    return ProbeItem(
        id=key,
        prompt=filled(fact.prompt, fact.subject),
        question=fact.question,
        paraphrases=tuple(filled(p, fact.subject) for p in clozes),
        object=fact.object,
        aliases=question.aliases,
        separate=separate,
        longer=question.longer,
    )


@dataclass(frozen=True, slots=True)
class _Near:
    """The prompts of a neighborhood with one right answer, and their places in it."""

    item: ProbeItem
    places: tuple[int, ...]


def _near(key: str, question: Question) -> list[_Near]:
    """The neighborhood's prompts as the separate paraphrases of one item for each answer.

    The item's own text is the edited fact's, which is probed anyway and computed once.
    """
    places: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for i, neighbor in enumerate(question.neighborhood):
        places[neighbor.object, neighbor.aliases, neighbor.longer].append(i)
    return [
        _Near(
            replace(
                item_of(f"{key} near", question),
                paraphrases=tuple(question.neighborhood[i].prompt for i in found),
                object=name,
                aliases=aliases,
                separate=True,
                longer=longer,
            ),
            tuple(found),
        )
        for (name, aliases, longer), found in places.items()
    ]


def _joined(groups: Sequence[_Near], results: Sequence[ProbeResult]) -> dict[str, list[float]]:
    """The values of all groups by measure, each prompt in its place."""
    at: dict[str, dict[int, float]] = defaultdict(dict)
    for group, result in zip(groups, results, strict=True):
        for measure, values in result.paraphrases.items():
            at[measure].update(zip(group.places, values, strict=True))
    n = sum(len(group.places) for group in groups)
    return {
        measure: [values[i] for i in sorted(values)]
        for measure, values in at.items()
        if len(values) == n  # else a prompt has no decided answer, and the mean no complete n
    }


def _values(result: ProbeResult) -> dict[str, float]:
    pairs = {
        "p": result.p,
        "likelihood": result.likelihood,
        "likelihood_norm": result.likelihood_norm,
    }
    return {name: float(value) for name, value in pairs.items() if value is not None}


def _answer(result: ProbeResult) -> Answer:
    return Answer(
        values=_values(result),
        answers=result.answers,
        n_samples=result.n_samples,
        paraphrases=result.paraphrases,
    )


def undecided(answers: Iterable[Answer]) -> dict[str, int]:
    """Count the samples of some facts, undecided ones, and those with unclosed reasoning.

    A text that several facts are asked with is counted for each of them.
    """
    from ...editing.probe.reasoning import is_unclosed

    found = list(answers)
    return {
        "answers": sum(len(each.answers) for each in found),
        "undecided": sum(each.undecided for each in found),
        "unclosed": sum(is_unclosed(text) for each in found for text in each.answers),
    }


def questions_for(facts: Sequence[Fact], aliases: Mapping[str, tuple[str, ...]]) -> list[Question]:
    """One question a fact, with its object's aliases."""
    return [Question(fact, aliases.get(fact.object, ())) for fact in facts]


def edge_properties(probed: ProbedFact) -> dict[str, object]:
    """The properties of one FACT, see graph/merge_facts; ParameterError for a bad probability."""
    question = probed.question
    fact = question.fact
    properties: dict[str, object] = {
        "relation": fact.relation,
        "prompt": fact.prompt,
        "questions": list(fact.questions),
        "paraphrases": list(question.generalization or fact.paraphrases),
        "cases": list(fact.cases),
        "role": question.role,
        "listed": question.listed,
        "n_samples": probed.pre.n_samples,
        "answers_pre": list(probed.pre.answers),
    }
    if question.neighborhood:
        properties["neighborhood"] = [near.prompt for near in question.neighborhood]
    if fact.question is not None:
        properties["question"] = fact.question
    properties |= _side(fact, probed.pre, "pre")
    leading = next((m for m in ("likelihood", *MEASURES) if m in probed.pre.values), None)
    before = probed.pre.values[leading] if leading else None
    properties["caption"] = caption(fact.relation, before)
    if probed.post is not None:
        properties |= _side(fact, probed.post, "post")
        properties["answers_post"] = list(probed.post.answers)
        after = probed.post.values.get(leading) if leading else None
        if before is not None and after is not None:
            other = replaced(probed)
            properties["change"] = change(before, after, other)
            if other is not None:
                properties["replaced"] = other
            properties["caption"] = caption(fact.relation, before, after)
    if probed.named is not None:
        properties["answer_post"] = probed.named
    return properties


def replaced(probed: ProbedFact) -> bool | None:
    """Return True if the model's own answer named the object before, and is another one now.

    False where it names the object (or an alias) now; None where neither is decided, or it was not
    asked.
    """
    from ...editing.probe.matching import gives

    if probed.post is None or probed.post.says is None:
        return None
    names = (probed.question.fact.object, *probed.question.aliases)
    longer = probed.question.longer
    now = gives(probed.post.says, names, longer=longer)
    if now or now is None:
        return False if now else None
    return (probed.pre.says and gives(probed.pre.says, names, longer=longer)) or None


def _side(fact: Fact, answer: Answer, side: str) -> dict[str, object]:
    out: dict[str, object] = {} if answer.says is None else {f"says_{side}": answer.says}
    for measure, value in answer.values.items():
        out[f"{measure}_{side}"] = _checked(fact, f"{measure}_{side}", value)
    for kind, by_measure in (
        ("paraphrases", answer.paraphrases),
        ("neighborhood", answer.neighborhood),
    ):
        for measure, values in by_measure.items():
            name = f"{kind}_{measure}_{side}"
            out[name] = [_checked(fact, name, v) for v in values]
    return out


def _checked(fact: Fact, name: str, value: float) -> float:
    """The value as a float in [0, 1]; rounding just above 1 is clipped, anything else refused."""
    number = float(value)
    if math.isnan(number) or not -1e-9 <= number <= 1 + 1e-6:
        raise ParameterError(
            f"{name} of ({fact.subject}, {fact.relation}, {fact.object}) is {value!r},"
            " not a probability in [0, 1]; nothing was stored.",
            remedy="If the model gives NaN after an edit, lower the strength of the edit.",
        )
    return min(max(number, 0.0), 1.0)


def edited_facts(rewrite: RewriteRequest, scope: Iterable[Fact]) -> tuple[Fact, Fact | None]:
    """The edited fact twice: with target_true (the listed one where it is) and with target_new.

    The second is None in a request to forget.
    """
    new = _bare(rewrite, rewrite.target_new) if rewrite.target_new else None
    return _listed(rewrite, scope, rewrite.target_true), new


def correct_facts(rewrite: RewriteRequest, scope: Sequence[Fact]) -> list[Fact]:
    """Of a request to append, the facts of its correct answers but target_true and target_new."""
    edited = (rewrite.target_true, rewrite.target_new)
    names = [name for name in dict.fromkeys(rewrite.correct) if name not in edited]
    return [_listed(rewrite, scope, name) for name in names]


def _listed(rewrite: RewriteRequest, scope: Iterable[Fact], target: str) -> Fact:
    """The fact of the rewrite with this object, as the scope lists it or by the rewrite's cloze."""
    ends = (rewrite.subject, rewrite.relation, target)
    found = (fact for fact in scope if (fact.subject, fact.relation, fact.object) == ends)
    return next(found, None) or _bare(rewrite, target)


def _bare(rewrite: RewriteRequest, target: str) -> Fact:
    return Fact(
        subject=rewrite.subject,
        relation=rewrite.relation,
        object=target,
        prompt=rewrite.prompt,
        questions=(rewrite.question,) if rewrite.question else (),
        paraphrases=rewrite.paraphrases,
    )


# The ways to ask for a fact, and how likely a model makes its object in each; by likelihood
# alone.
#
# The same fact may be known by one wording and unknown by another: an instruct model that
# completes a plain cloze may answer nothing of the kind in its chat.


class Wording(NamedTuple):
    """A way to ask; `flags` are the options that ask so, empty where there are none."""

    name: str
    ask: Literal["cloze", "question"]
    chat: bool
    flags: tuple[str, ...]


CLOZE = Wording("cloze", "cloze", False, ("--ask", "cloze", "--chat", "never"))
QUESTION = Wording("question", "question", False, ("--ask", "question", "--chat", "never"))
PARAPHRASES = Wording("paraphrases", "cloze", False, ())
"""The mean over a fact's other clozes, asked one by one."""
CHAT_CLOZE = Wording("chat cloze", "cloze", True, ("--ask", "cloze", "--chat", "always"))
CHAT_QUESTION = Wording(
    "chat question", "question", True, ("--ask", "question", "--chat", "always")
)
WORDINGS = (CLOZE, QUESTION, PARAPHRASES, CHAT_CLOZE, CHAT_QUESTION)

Values = dict[Wording, list[float | None]]
"""A likelihood a fact for each wording that some fact has; None for a fact without it."""


def wording_of(loaded: LoadedModel, settings: ProbeSettings) -> Wording:
    """Return the wording that a probe with these settings uses."""
    from ...editing.probe.prompts import uses_chat

    chat = uses_chat(loaded.tokenizer, settings.chat)
    return next(w for w in WORDINGS if (w.ask, w.chat) == (settings.ask, chat))


def likelihoods(
    loaded: LoadedModel,
    questions: Sequence[Question],
    settings: ProbeSettings,
    progress: Progress | None = None,
) -> Values:
    """Return the likelihood of each question's object in each wording that exists.

    Chat wordings exist where the tokenizer has a template that takes the prompt. Each wording costs
    as much as a probe of all questions by likelihood; paraphrases cost that for each of them.
    """
    from ...editing.errors import ProbeError

    found: Values = {}
    has_chat = getattr(loaded.tokenizer, "chat_template", None) is not None
    for wording in WORDINGS:
        if wording is PARAPHRASES or (wording.chat and not has_chat):
            continue
        try:
            found |= _asked(loaded, questions, settings, wording, progress)
        except ProbeError:  # of a chat template, which is a program of its own
            if not wording.chat:
                raise
    return found


def _asked(
    loaded: LoadedModel,
    questions: Sequence[Question],
    settings: ProbeSettings,
    wording: Wording,
    progress: Progress | None,
) -> Values:
    """The likelihoods of one wording; those of the plain cloze with its paraphrases."""
    places = [i for i, q in enumerate(questions) if wording.ask == "cloze" or q.fact.question]
    if not places:
        return {}
    turned = replace(
        settings, measures=("likelihood",), ask=wording.ask, paraphrases=False,
        chat="always" if wording.chat else "never",
    )  # fmt: skip
    asked = [
        replace(q, neighborhood=(), generalization=_paraphrases(q) if wording is CLOZE else ())
        for q in (questions[i] for i in places)
    ]
    stage = None if progress is None else lambda n, total, _: progress(n, total, wording.name)
    column: list[float | None] = [None] * len(questions)
    others = list(column)
    for i, answer in zip(places, probe(loaded, asked, turned, progress=stage), strict=True):
        column[i] = answer.values["likelihood"]
        if values := answer.paraphrases.get("likelihood"):
            others[i] = fmean(values)
    found: Values = {wording: column}
    if any(value is not None for value in others):
        found[PARAPHRASES] = others
    return found


def _paraphrases(question: Question) -> tuple[str, ...]:
    return question.generalization or question.fact.paraphrases
