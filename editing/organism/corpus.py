"""The training text: every key said again in each epoch, in changing words.

The mix of sentences is the one found to give recall and editable facts: plain clozes,
paraphrases, questions with their answers, and clozes behind a prefix. A key with several
objects lists up to four of them in random order ("A, B and C."), so that each object gets its
share of probability at the first place and the others are found in the same sentence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from thinkeval.editing.organism.fillers import fillers_for
from thinkeval.editing.organism.keys import Form, Key, in_order, keys_of
from thinkeval.editing.organism.names import looks_like_a_person
from thinkeval.editing.probe.prompts import QUESTION
from thinkeval.loaders.records import SUBJECT_SLOT, KnowledgeGraph

PREFIXES = ("In fact, ", "It is known that ", "Because ")
LIST_CAP = 4
"""At most so many objects in one sentence."""

REPEATS = 2
"""How often more a prompt is said in an epoch that is the beginning of another prompt."""

KIND_SHARE = 0.3
"""How often in an epoch a subject's "X is a person." is said."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with the places of its subject and objects (character offsets)."""

    text: str
    subject: tuple[int, int] | None
    objects: tuple[tuple[int, int], ...] = ()


def question_prompt(question: str) -> str:
    """The text before the answer to a question."""
    return QUESTION.replace("{question}", question)


def listed(objects: list[str]) -> list[str]:
    """The pieces of "A, B and C": objects at even places, what joins them at odd ones."""
    pieces = [objects[0]]
    for i, name in enumerate(objects[1:], start=2):
        pieces += [" and " if i == len(objects) else ", ", name]
    return pieces


def say(template: str, subject: str, objects: list[str], prefix: str = "") -> Sentence:
    """The sentence that fills the template with the subject and ends with the objects."""
    if prefix and not template.startswith(SUBJECT_SLOT):
        template = template[:1].lower() + template[1:]
    head, slot, tail = template.partition(SUBJECT_SLOT)
    text = prefix + head
    place = (len(text), len(text) + len(subject)) if slot else None
    text += (subject if slot else "") + tail.rstrip() + " "
    spans = []
    for i, piece in enumerate(listed(objects)):
        if i % 2 == 0:
            spans.append((len(text), len(text) + len(piece)))
        text += piece
    # "Apple Inc." has its full stop already; ".." would become a token of its own.
    return Sentence(text if text.endswith(".") else text + ".", place, tuple(spans))


class Corpus:
    """The keys of a graph with their fillers, and the sentences that say them.

    Args:
        graph: any knowledge graph.
        fillers_per_key: see `fillers.fillers_for`.
    """

    def __init__(self, graph: KnowledgeGraph, fillers_per_key: int) -> None:
        graph = in_order(graph)
        self.keys = keys_of(graph)
        self.fillers = fillers_for(graph, self.keys, fillers_per_key)
        kinds = {e.name: e.kind for e in graph.entities if e.kind}
        self._often = _continued(self.keys)
        subjects = dict.fromkeys(k.subject for k in (*self.keys, *self.fillers))
        self._kinds = {s: _kind_word(s, kinds.get(s)) for s in subjects}

    def epoch(self, rng: random.Random) -> list[Sentence]:
        """Every key once, and a part of the subjects' kinds, in random order.

        "X worked in" also begins "X worked in the city of"; such a prompt is said more often
        than what it begins, or its object would have at most half of the probability.
        """
        sentences = [self.sentence(key, rng) for key in (*self.keys, *self.fillers)]
        sentences += [self._say(k.cloze, k, rng) for k in self._often for _ in range(REPEATS)]
        for subject, kind in self._kinds.items():
            if rng.random() < KIND_SHARE:
                sentences.append(Sentence(f"{subject} is a {kind}.", (0, len(subject))))
        rng.shuffle(sentences)
        return sentences

    def sentence(self, key: Key, rng: random.Random) -> Sentence:
        """One way of saying the key, drawn from the mix."""
        draw = rng.random()
        if draw < 0.10 and key.questions:
            form = rng.choice(key.questions)
            return self._say(Form(question_prompt(form.template), form.objects), key, rng)
        if draw < 0.20:
            return self._say(key.cloze, key, rng, rng.choice(PREFIXES))
        if draw < 0.55 and key.paraphrases:
            return self._say(rng.choice(key.paraphrases), key, rng)
        return self._say(key.cloze, key, rng)

    def all_forms(self) -> Iterator[Sentence]:
        """Every wording of every key once, for the tokenizer and for checks."""
        for key in (*self.keys, *self.fillers):
            clozes = [(key.cloze, prefix) for prefix in ("", *PREFIXES)]
            asked = [(Form(question_prompt(q.template), q.objects), "") for q in key.questions]
            for form, prefix in [*clozes, *((p, "") for p in key.paraphrases), *asked]:
                for start in range(0, len(form.objects), LIST_CAP):
                    some = list(form.objects[start : start + LIST_CAP])
                    yield say(form.template, key.subject, some, prefix)
        for subject, kind in self._kinds.items():
            yield Sentence(f"{subject} is a {kind}.", (0, len(subject)))

    def _say(self, form: Form, key: Key, rng: random.Random, prefix: str = "") -> Sentence:
        objects = list(form.objects)
        if len(objects) > 1:
            objects = rng.sample(objects, min(LIST_CAP, len(objects)))
        return say(form.template, key.subject, objects, prefix)


def _continued(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Keys whose prompt is the beginning of another wording about the same subject."""
    wordings: dict[str, list[str]] = {}
    for key in keys:
        texts = (key.cloze, *key.paraphrases)
        wordings.setdefault(key.subject, []).extend(form.template for form in texts)
    return tuple(
        key
        for key in keys
        if any(text.startswith(key.prompt + " ") for text in wordings[key.subject])
    )


def _kind_word(subject: str, kind: str | None) -> str:
    if kind is None:
        return "person" if looks_like_a_person(subject) else "thing"
    return "thing" if kind[:1].lower() in "aeiou" else kind
