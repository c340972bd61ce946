"""Keys: the units an organism learns, one per subject and prompt, with all objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...loaders.records import (
    Fact,
    KnowledgeGraph,
    RewriteRequest,
    as_template,
    fill,
    unique,
)


@dataclass(frozen=True, slots=True)
class Form:
    """One wording of a key.

    Attributes:
        template: cloze or question; `{}` marks the subject (a question may lack it).
        objects: all right answers to exactly this wording.
    """

    template: str
    objects: tuple[str, ...]

    def filled(self, subject: str) -> str:
        """The wording with the subject filled in."""
        return fill(self.template, subject)


@dataclass(frozen=True, slots=True)
class Key:
    """A subject with one prompt; the unit of learning, analogous to ROME's key.

    Attributes:
        cloze: the prompt with its objects.
        paraphrases: other clozes, none of which contradicts another key's prompt.
        questions: natural questions.
        invented: True if the key is a filler instead of a fact of the graph.
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
    """Objects by exact filled wording, so that one wording never has different answers."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, None]] = {}

    def add(self, text: str, name: str) -> None:
        self._objects.setdefault(text, {})[name] = None

    def __getitem__(self, text: str) -> tuple[str, ...]:
        return tuple(self._objects.get(text, ()))


def in_order(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The graph with facts and rewrites sorted.

    A graph's content digest, which identifies its organism, is independent of their order; so must
    be the text (the order in the database differs from that in the file).
    """
    return replace(
        graph,
        facts=tuple(sorted(graph.facts, key=lambda f: (f.subject, f.prompt, f.object, f.relation))),
        rewrites=tuple(sorted(graph.rewrites, key=lambda r: r.id)),
    )


def learnt(graph: KnowledgeGraph) -> KnowledgeGraph:
    """The part of a graph that an organism depends on: all but the requests to append an answer.

    Their correct answers are facts of the graph already. So requests that are built with the help
    of a model's answers leave the model, which they are to edit, as it is.
    """
    return replace(graph, rewrites=tuple(r for r in graph.rewrites if r.kind == "replace"))


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
    """The fact with the paraphrases of the rewrites of its key, which are probed as well."""
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
    """The keys of a graph, in an order independent of the graph's.

    A paraphrase that is another key's prompt with other objects is omitted (one wording, one
    answer); questions common to several keys get all answers.
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
        prompt_objects = clozes[filled]
        if prompt_objects and set(prompt_objects) != set(cloze.objects):
            continue
        forms.append(Form(text, prompt_objects or paraphrases[filled]))
    questions_of_key = unique(q for fact in group for q in fact.questions)
    return Key(
        subject,
        cloze,
        tuple(forms),
        tuple(Form(as_template(q, subject), questions[q]) for q in questions_of_key),
    )
