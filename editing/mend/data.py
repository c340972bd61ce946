"""What a hypernetwork is trained on: edits made up from a graph's facts, and facts to be kept.

An example edits a fact to another object, one that other facts of the relation have. Where there
is none, and in a share of the draws, it is any subject or object of the graph: an edit's target may
be a name that no fact of the relation holds. The example asks for it by the prompt or a paraphrase,
and looks at other facts beside it, half of them near by (same subject or relation).

**Never trained on what is scored.** `training_facts` leaves out every fact that has the subject
and relation of a rewrite request, as edit and as neighbour. So no score is of an edit that the
hypernetwork has seen, with the request's target_new or any other. (The new object itself may have
served as object of another subject.) Of the rest, a seeded share of the subject-relation pairs is
kept for validation: their edits are never trained on either.

Where inferences are given, an edit of a premise is one that they speak of, and the example asks for
the conclusion too (DepEdit, eq. 3).

Prompts followed by their targets as one batch, and the log-probabilities read from them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from thinkeval.editing import nethook
from thinkeval.editing.architectures import Adapter
from thinkeval.editing.errors import HypernetworkError
from thinkeval.editing.key_value.tokens import Row, batch_of, prompt_row, target_ids
from thinkeval.loaders.records import Fact, RewriteRequest, unique


@dataclass(frozen=True, slots=True)
class TargetRow:
    """The tokens of a prompt and of what has to follow it."""

    prompt: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetBatch:
    """Rows with the places that are read; a target of m tokens is read at m places.

    Attributes:
        inputs: of the model, padded on the right.
        row: [places], the row of each place.
        place: [places], where the token is predicted.
        token: [places], the target's token.
        share: [places], 1 / number of the row's places.
        n: number of rows.
    """

    inputs: Mapping[str, Tensor]
    row: Tensor
    place: Tensor
    token: Tensor
    share: Tensor
    n: int

    def mean_by_row(self, values: Tensor) -> Tensor:
        """Mean of values [places] over each row's places, [n]."""
        zeros = torch.zeros(self.n, dtype=values.dtype, device=values.device)
        return zeros.index_add(0, self.row, values * self.share.to(values.dtype))

    def nll(self, log_p: Tensor) -> Tensor:
        """−mean log p of each row's target tokens, [n]; `log_p` is [places, vocabulary]."""
        return self.mean_by_row(-log_p.gather(1, self.token[:, None]).squeeze(1))


def target_batch(rows: Sequence[TargetRow], tokenizer: object, device: torch.device) -> TargetBatch:
    """Rows of prompt and target as tensors; the last target token is read, not shown."""
    shown = [Row((*row.prompt, *row.target[:-1]), 0) for row in rows]
    places = [
        (i, len(row.prompt) - 1 + k, token, 1 / len(row.target))
        for i, row in enumerate(rows)
        for k, token in enumerate(row.target)
    ]
    columns = [torch.tensor(column, device=device) for column in zip(*places, strict=True)]
    return TargetBatch(
        batch_of(shown, tokenizer, device).inputs(),  # the same padding as all methods have
        *columns,
        n=len(rows),
    )


def log_probabilities(adapter: Adapter, batch: TargetBatch) -> Tensor:
    """Log p over the vocabulary at the places of a batch, [places, vocabulary], float32.

    The head is applied at these places only.
    """
    head = adapter.lm_head
    with nethook.recording(inputs={"end": head}, stop_before=head) as seen:
        nethook.forward(adapter.model, batch.inputs)
    return head(seen.inputs["end"][batch.row, batch.place]).float().log_softmax(-1)


MIN_KEYS = 6
"""Subject-relation pairs that training needs at least."""


def training_facts(
    facts: Iterable[Fact], held_out: Collection[tuple[str, str]]
) -> tuple[Fact, ...]:
    """The facts without those of a held-out (subject, relation), sorted.

    The order does not depend on how the graph was stored.
    """
    kept = [fact for fact in facts if (fact.subject, fact.relation) not in held_out]
    return tuple(sorted(kept, key=lambda f: (f.subject, f.relation, f.prompt, f.object)))


@dataclass(frozen=True, slots=True)
class Key:
    """A subject with a relation: its prompts, its objects, and those it can be edited to.

    Attributes:
        others: objects of the relation that are not its own; else `entities`.
        entities: subjects and objects of the graph but its own.
    """

    subject: str
    relation: str
    prompts: tuple[str, ...]
    objects: tuple[str, ...]
    others: tuple[str, ...]
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inference:
    """What follows from an edit by a rule and the graph's other facts.

    Attributes:
        premise: subject and relation of the edited fact.
        object: its new object.
        subject, prompt, answer: the conclusion.
    """

    premise: tuple[str, str]
    object: str
    subject: str
    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class Example:
    """One edit: how it is made, where it has to show, and what it has to leave alone.

    Attributes:
        implied: conclusions that hold after the edit.
    """

    edit: TargetRow
    asked: TargetRow
    kept: tuple[TargetRow, ...]
    implied: tuple[TargetRow, ...] = ()


class _Pool:
    """The keys that neighbours are drawn from, by subject and by relation."""

    def __init__(self, keys: Sequence[Key], numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self._by_name: dict[tuple[str, str], list[int]] = {}
        for i in numbers:
            for name in (("subject", keys[i].subject), ("relation", keys[i].relation)):
                self._by_name.setdefault(name, []).append(i)

    def near(self, keys: Sequence[Key], number: int) -> list[int]:
        """The keys with the same subject or the same relation, but not both."""
        me = keys[number]
        names = (("subject", me.subject), ("relation", me.relation))
        found = [i for name in names for i in self._by_name.get(name, ())]
        return [
            i for i in found if (keys[i].subject, keys[i].relation) != (me.subject, me.relation)
        ]

    def beside(
        self,
        keys: Sequence[Key],
        number: int,
        rng: random.Random,
        n: int,
        without: Collection[int] = (),
    ) -> list[Key]:
        """`n` keys other than that of the number, every second one a near one; none of `without`.

        There are fewer where nothing else is left.
        """
        near, found = self.near(keys, number), []
        numbers = self.numbers
        if without:
            near = [i for i in near if i not in without]
            numbers = [i for i in numbers if i not in without]
        if all(i == number for i in numbers):
            return []
        while len(found) < n:
            i = rng.choice(near if near and len(found) % 2 == 0 else numbers)
            if i != number:
                found.append(keys[i])
        return found


class Examples:
    """Draws examples from facts.

    Args:
        facts: of `training_facts`.
        tokenizer: of the model.
        seed: of the split.
        val_share: share of the keys that is kept for validation, at least one key.
        any_entity: share of the edits whose new object is any subject or object.
        inferences: what follows from edits; a key that they name is edited to their objects only.

    Raises:
        HypernetworkError: too few facts.
        RequestError: a prompt or an object that cannot be tokenised.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        tokenizer: Any,
        *,
        seed: int,
        val_share: float,
        any_entity: float = 0.0,
        inferences: Sequence[Inference] = (),
    ) -> None:
        self._tokenizer, self.any_entity = tokenizer, any_entity
        self._inferences: dict[tuple[str, str], dict[str, list[Inference]]] = {}
        for one in inferences:
            by_object = self._inferences.setdefault(one.premise, {})
            by_object.setdefault(one.object, []).append(one)
        self._rows: dict[tuple[str, str, str], TargetRow] = {}
        self.keys = _keys(facts)
        if len(self.keys) < MIN_KEYS:
            raise HypernetworkError(
                f"the graph has {len(self.keys)} subject-relation pairs that are no rewrite; MEND "
                f"needs {MIN_KEYS} or more to train on",
                remedy="Import a larger graph.",
            )
        order = list(range(len(self.keys)))
        random.Random(seed).shuffle(order)
        n_val = min(max(1, round(val_share * len(order))), len(order) - MIN_KEYS // 2)
        self.validation = tuple(sorted(order[:n_val]))
        self.training = tuple(sorted(order[n_val:]))
        self._pools = {
            False: _Pool(self.keys, self.training),
            True: _Pool(self.keys, range(len(self.keys))),
        }

    def draw(self, rng: random.Random, n_locality: int, *, validation: bool = False) -> Example:
        """One example; in training its neighbours are training keys too."""
        number = rng.choice(self.validation if validation else self.training)
        return self.example(number, rng, n_locality, validation=validation)

    def draw_together(self, rng: random.Random, n: int, n_locality: int) -> list[Example]:
        """Training examples that can be edited at once: different keys, and none beside another."""
        numbers = rng.sample(self.training, min(n, len(self.training)))
        return [self.example(i, rng, n_locality, without=numbers) for i in numbers]

    def example(
        self,
        number: int,
        rng: random.Random,
        n_locality: int,
        *,
        validation: bool = False,
        without: Collection[int] = (),
    ) -> Example:
        """The key of that number, edited to an object that is drawn.

        Args:
            without: keys that are edited too, and so do not stay as they are.
        """
        key = self.keys[number]
        anything = rng.random() < self.any_entity
        follows = self._inferences.get((key.subject, key.relation), {})
        objects = tuple(o for o in follows if o in (*key.others, *key.entities))
        target = rng.choice(objects or (key.entities if anything else key.others))
        beside = self._pools[validation].beside(self.keys, number, rng, n_locality, without)
        kept = tuple(self._row(k, rng.choice(k.prompts), rng.choice(k.objects)) for k in beside)
        return Example(
            self._row(key, key.prompts[0], target),
            self._row(key, rng.choice(key.prompts), target),
            kept,
            tuple(
                self._said(one.subject, one.prompt, one.answer) for one in follows.get(target, ())
            ),
        )

    def _row(self, key: Key, prompt: str, target: str) -> TargetRow:
        return self._said(key.subject, prompt, target)

    def _said(self, subject: str, prompt: str, target: str) -> TargetRow:
        found = self._rows.get((subject, prompt, target))
        if found is None:
            name = f"{subject} | {prompt}"
            request = RewriteRequest(name, "", prompt, subject, "", "", target)
            ids = prompt_row(self._tokenizer, request).ids
            found = TargetRow(ids, target_ids(self._tokenizer, request))
            self._rows[subject, prompt, target] = found
        return found


def _keys(facts: Sequence[Fact]) -> list[Key]:
    everything = unique(name for fact in facts for name in (fact.object, fact.subject))
    by_relation: dict[str, list[str]] = {}
    by_key: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        by_relation.setdefault(fact.relation, []).append(fact.object)
        by_key.setdefault((fact.subject, fact.relation, fact.prompt), []).append(fact)
    keys: list[Key] = []
    for (subject, relation, prompt), mine in by_key.items():
        objects = unique(fact.object for fact in mine)
        entities = _without(everything, (subject, *objects))
        others = _without(by_relation[relation], objects) or entities
        prompts = unique([prompt, *(p for fact in mine for p in fact.paraphrases)])
        if entities:
            keys.append(Key(subject, relation, prompts, objects, others, entities))
    return keys


def _without(objects: Iterable[str], mine: Collection[str]) -> tuple[str, ...]:
    return tuple(o for o in unique(objects) if o not in mine)
