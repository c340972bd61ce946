"""Training text: every key in each epoch, in varying wordings.

The mix of sentences was chosen empirically for recall and editable facts: plain clozes,
paraphrases, questions with their answers, and clozes behind a prefix. A key with several
objects lists up to four of them in random order ("A, B and C."), so that each object gets its
proportion of probability at the first position and the others follow in the same sentence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ...loaders.records import SUBJECT_SLOT, KnowledgeGraph, fill, slot_parts
from ..joint import joint, parted
from ..probe.prompts import QUESTION
from .fillers import fillers_for
from .keys import Form, Key, in_order, keys_of
from .names import looks_like_a_person

PREFIXES = ("In fact, ", "It is known that ", "Because ")
LIST_CAP = 4
"""Maximum number of objects in one sentence."""

REPEATS = 2
"""Additional sentences per epoch for a prompt that is a prefix of another prompt."""

KIND_SHARE = 0.3
"""Probability per epoch of a subject's sentence "X is a person."."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with the character spans of its subject and objects."""

    text: str
    subject: tuple[int, int] | None
    objects: tuple[tuple[int, int], ...] = ()


def question_prompt(question: str) -> str:
    """Text that precedes the answer to a question."""
    return QUESTION.replace("{question}", question)


def listed(objects: list[str]) -> list[str]:
    """Pieces of "A, B and C": objects at even indices, separators at odd ones."""
    pieces = [objects[0]]
    for i, name in enumerate(objects[1:], start=2):
        pieces += [" and " if i == len(objects) else ", ", name]
    return pieces


def sentence_of(template: str, subject: str, objects: list[str], prefix: str = "") -> Sentence:
    """The template filled with the subject, followed by the objects."""
    if prefix and not template.startswith(SUBJECT_SLOT):
        template = template[:1].lower() + template[1:]
    head, *tail = slot_parts(template)
    place = (len(prefix + head), len(prefix + head + subject)) if tail else None
    text, own = parted(prefix + fill(template, subject))
    text += joint(text, objects[0]) if own is None else own
    spans = []
    for i, piece in enumerate(listed(objects)):
        if i % 2 == 0:
            spans.append((len(text), len(text) + len(piece)))
        text += piece
    # "Apple Inc." already ends in a full stop; ".." would become a separate token.
    return Sentence(text if text.endswith(".") else text + ".", place, tuple(spans))


class Corpus:
    """The keys of a graph with their fillers, and their sentences.

    Args:
        graph: any knowledge graph.
        fillers_per_key: see `fillers.fillers_for`.
        unknown: keys of absent pairs (`unknown.taught_keys`), once an epoch like the others.
    """

    def __init__(
        self, graph: KnowledgeGraph, fillers_per_key: int, unknown: tuple[Key, ...] = ()
    ) -> None:
        graph = in_order(graph)
        self.keys = keys_of(graph)
        self.fillers = (*fillers_for(graph, self.keys, fillers_per_key), *unknown)
        kinds = {e.name: e.kind for e in graph.entities if e.kind}
        self._often = _continued(self.keys)
        subjects = dict.fromkeys(k.subject for k in (*self.keys, *self.fillers))
        self._kinds = {s: _kind_word(s, kinds.get(s)) for s in subjects}

    def epoch(self, rng: random.Random) -> list[Sentence]:
        """Every key once, and some of the subjects' kinds, in random order.

        "X worked in" is a prefix of "X worked in the city of"; such a prompt occurs more often than
        its continuation, otherwise its object would have at most half of the probability.
        """
        sentences = [self.sentence(key, rng) for key in (*self.keys, *self.fillers)]
        sentences += [self._filled(k.cloze, k, rng) for k in self._often for _ in range(REPEATS)]
        for subject, kind in self._kinds.items():
            if rng.random() < KIND_SHARE:
                sentences.append(Sentence(f"{subject} is a {kind}.", (0, len(subject))))
        rng.shuffle(sentences)
        return sentences

    def sentence(self, key: Key, rng: random.Random) -> Sentence:
        """One wording of the key, drawn from the mix."""
        draw = rng.random()
        if draw < 0.10 and key.questions:
            form = rng.choice(key.questions)
            return self._filled(Form(question_prompt(form.template), form.objects), key, rng)
        if draw < 0.20:
            return self._filled(key.cloze, key, rng, rng.choice(PREFIXES))
        if draw < 0.55 and key.paraphrases:
            return self._filled(rng.choice(key.paraphrases), key, rng)
        return self._filled(key.cloze, key, rng)

    def all_forms(self) -> Iterator[Sentence]:
        """Every wording of every key once, for the tokenizer and for checks."""
        for key in (*self.keys, *self.fillers):
            clozes = [(key.cloze, prefix) for prefix in ("", *PREFIXES)]
            questions = [(Form(question_prompt(q.template), q.objects), "") for q in key.questions]
            for form, prefix in [*clozes, *((p, "") for p in key.paraphrases), *questions]:
                for start in range(0, len(form.objects), LIST_CAP):
                    part = list(form.objects[start : start + LIST_CAP])
                    yield sentence_of(form.template, key.subject, part, prefix)
        for subject, kind in self._kinds.items():
            yield Sentence(f"{subject} is a {kind}.", (0, len(subject)))

    def _filled(self, form: Form, key: Key, rng: random.Random, prefix: str = "") -> Sentence:
        objects = list(form.objects)
        if len(objects) > 1:
            objects = rng.sample(objects, min(LIST_CAP, len(objects)))
        return sentence_of(form.template, key.subject, objects, prefix)


def _continued(keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Keys whose prompt is a prefix of another wording of the same subject."""
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
