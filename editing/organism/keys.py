"""What an organism has to learn: one key per subject and prompt, with all of its objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thinkeval.loaders.records import SUBJECT_SLOT, Fact, KnowledgeGraph, RewriteRequest, unique


@dataclass(frozen=True, slots=True)
class Form:
    """One way of asking for a key's objects.

    Attributes:
        template: cloze or question; `{}` marks the subject (a question may lack it).
        objects: every right answer to exactly this wording.
    """

    template: str
    objects: tuple[str, ...]

    def filled(self, subject: str) -> str:
        """The wording with the subject in its place."""
        return self.template.replace(SUBJECT_SLOT, subject, 1)


@dataclass(frozen=True, slots=True)
class Key:
    """A subject asked about in one prompt; the unit that is learnt, as ROME's key is.

    Attributes:
        cloze: the prompt with its objects.
        paraphrases: further clozes, none of which contradicts another key's prompt.
        questions: natural questions.
        invented: whether the key is a filler and no fact of the graph.
    """

    subject: str
    cloze: Form
    paraphrases: tuple[Form, ...] = ()
    questions: tuple[Form, ...] = ()
    invented: bool = False

    @property
    def prompt(self) -> str:
        """The cloze template."""
        return self.cloze.template


class _Answers:
    """Objects by the exact text asked, so that one wording never gets two different answers."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, None]] = {}

    def add(self, text: str, name: str) -> None:
        self._objects.setdefault(text, {})[name] = None

    def __getitem__(self, text: str) -> tuple[str, ...]:
        return tuple(self._objects.get(text, ()))


def fill(template: str, subject: str) -> str:
    """The template with the subject in its (first) slot."""
    return template.replace(SUBJECT_SLOT, subject, 1)


def in_order(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph with facts and rewrites sorted.

    A graph's content digest, by which organisms are kept, does not depend on their order; nor
    may the text (a graph read from the database comes in another order than from its file).
    """
    return replace(
        graph,
        facts=tuple(sorted(graph.facts, key=lambda f: (f.subject, f.prompt, f.object, f.relation))),
        rewrites=tuple(sorted(graph.rewrites, key=lambda r: r.id)),
    )


def facts_to_learn(graph: KnowledgeGraph) -> tuple[Fact, ...]:
    """The graph's facts, and the edited fact of every rewrite that the graph does not list."""
    graph = in_order(graph)
    facts = [_with_paraphrases_of(fact, graph.rewrites) for fact in graph.facts]
    listed = {(f.subject, f.prompt, f.object) for f in facts}
    for request in graph.rewrites:
        name = (request.subject, request.prompt, request.target_true)
        if name not in listed:
            listed.add(name)
            facts.append(_true_fact(request))
    return tuple(facts)


def _with_paraphrases_of(fact: Fact, rewrites: Iterable[RewriteRequest]) -> Fact:
    """The fact with the paraphrases of the rewrites that edit its key: they are probed as well."""
    more = [
        text
        for r in rewrites
        if r.subject == fact.subject and r.relation == fact.relation
        for text in (r.prompt, *r.paraphrases)
        if text != fact.prompt
    ]
    if not more:
        return fact
    return Fact(
        fact.subject,
        fact.relation,
        fact.object,
        fact.prompt,
        fact.questions,
        unique([*fact.paraphrases, *more]),
        fact.cases,
    )


def _true_fact(request: RewriteRequest) -> Fact:
    questions = (request.question,) if request.question else ()
    return Fact(
        request.subject,
        request.relation,
        request.target_true,
        request.prompt,
        questions,
        request.paraphrases,
        (request.id,),
    )


def keys_of(graph: KnowledgeGraph) -> tuple[Key, ...]:
    """The keys of a graph, in an order that does not depend on the graph's own.

    A paraphrase that is another key's own prompt and has other objects there is left out of
    the training text (one wording, one answer); questions shared by keys get all answers.
    """
    facts = facts_to_learn(graph)
    clozes, paraphrases, questions = _Answers(), _Answers(), _Answers()
    grouped: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        grouped.setdefault((fact.subject, fact.prompt), []).append(fact)
        clozes.add(fill(fact.prompt, fact.subject), fact.object)
        for text in fact.paraphrases:
            paraphrases.add(fill(text, fact.subject), fact.object)
        for text in fact.questions:
            questions.add(text, fact.object)
    return tuple(
        _key(subject, prompt, group, clozes, paraphrases, questions)
        for (subject, prompt), group in grouped.items()
    )


def _key(
    subject: str,
    prompt: str,
    group: list[Fact],
    clozes: _Answers,
    paraphrases: _Answers,
    questions: _Answers,
) -> Key:
    cloze = Form(prompt, clozes[fill(prompt, subject)])
    forms = []
    for text in unique(t for fact in group for t in fact.paraphrases):
        filled = fill(text, subject)
        asked_as_prompt = clozes[filled]
        if asked_as_prompt and set(asked_as_prompt) != set(cloze.objects):
            continue
        forms.append(Form(text, asked_as_prompt or paraphrases[filled]))
    asked = unique(q for fact in group for q in fact.questions)
    return Key(
        subject,
        cloze,
        tuple(forms),
        tuple(Form(_as_template(q, subject), questions[q]) for q in asked),
    )


def _as_template(question: str, subject: str) -> str:
    """The question with `{}` for the subject where it is written out; unchanged otherwise."""
    return question.replace(subject, SUBJECT_SLOT, 1)
