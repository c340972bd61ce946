"""MEND's data: prompts with targets as batches, and training examples drawn from a graph's facts.

A `TargetBatch` holds prompts followed by their targets and the positions at which each target token
is predicted; training, editing and gradient similarity read their losses from it.

An `Example` edits a fact to an object of another fact of the relation. If there is none, and in a
fraction of the draws, the new object is any subject or object of the graph, because an edit's
target may be a name that no fact of the relation has. The example probes the edit by its prompt or
a paraphrase, and other facts as neighbours: every second one has the same subject or relation.

**No training on scored facts.** `training_facts` excludes every fact with the subject and relation
of a rewrite request, both as edit and as neighbour. So no scored edit occurred in training, with
the request's target_new or any other. (The new object may have occurred as the object of another
subject.) Of the rest, a seeded fraction of the subject-relation pairs is reserved for validation
and never trained on either.

With inferences, a premise is edited to an object that they name, and the example probes the
conclusion as well (DepEdit, eq. 3).

With answers, an example also has the pair's objects, which APP keeps above false answers: objects
of the relation that a fact links to the new one (Ma et al. 2024, PEAK, §5.1).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...loaders.records import Fact, RewriteRequest, unique
from .. import nethook
from ..architectures import Adapter
from ..errors import HypernetworkError
from ..key_value.tokens import Row, batch_of, prompt_row, target_ids

MAX_ANSWERS = 10
"""Largest number of correct, and of false, answers of an example."""

MIN_KEYS = 6
"""Smallest number of subject-relation pairs that a hypernetwork can be trained on."""


@dataclass(frozen=True, slots=True)
class TargetRow:
    """Token ids of a prompt and of the target that should follow it."""

    prompt: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetBatch:
    """Rows with the positions that are read; a target of m tokens is read at m positions.

    Attributes:
        inputs: keyword arguments of the model, padded on the right.
        row: [positions], the row of each position.
        place: [positions], index within the row at which the token is predicted.
        token: [positions], the target's token.
        weight: [positions], 1 / number of the row's positions.
        n: number of rows.
    """

    inputs: Mapping[str, Tensor]
    row: Tensor
    place: Tensor
    token: Tensor
    weight: Tensor
    n: int

    def mean_by_row(self, values: Tensor) -> Tensor:
        """Mean of values [positions] over each row's positions, [n]."""
        zeros = torch.zeros(self.n, dtype=values.dtype, device=values.device)
        return zeros.index_add(0, self.row, values * self.weight.to(values.dtype))

    def nll(self, log_p: Tensor) -> Tensor:
        """−mean log p of each row's target tokens, [n]; `log_p` is [positions, vocabulary]."""
        return self.mean_by_row(-log_p.gather(1, self.token[:, None]).squeeze(1))


def target_batch(rows: Sequence[TargetRow], tokenizer: object, device: torch.device) -> TargetBatch:
    """Rows of prompt and target as tensors; the last target token is predicted, not an input."""
    inputs = [Row((*row.prompt, *row.target[:-1]), 0) for row in rows]
    places = [
        (i, len(row.prompt) - 1 + k, token, 1 / len(row.target))
        for i, row in enumerate(rows)
        for k, token in enumerate(row.target)
    ]
    columns = [torch.tensor(column, device=device) for column in zip(*places, strict=True)]
    return TargetBatch(
        batch_of(inputs, tokenizer, device).inputs(),
        *columns,
        n=len(rows),
    )


def log_probabilities(adapter: Adapter, batch: TargetBatch) -> Tensor:
    """Log p over the vocabulary at the positions of a batch, [positions, vocabulary], float32.

    The output head is applied at these positions only.
    """
    head = adapter.lm_head
    with nethook.recording(inputs={"end": head}, stop_before=head) as seen:
        nethook.forward(adapter.model, batch.inputs)
    logits = adapter.logits(nethook.at(seen.inputs["end"], batch.row, batch.place))
    return logits.float().log_softmax(-1)


def training_facts(
    facts: Iterable[Fact], excluded: Collection[tuple[str, str]]
) -> tuple[Fact, ...]:
    """The facts without those of an excluded (subject, relation), sorted.

    The order does not depend on the order of the facts in the graph.
    """
    allowed = [fact for fact in facts if (fact.subject, fact.relation) not in excluded]
    return tuple(sorted(allowed, key=lambda f: (f.subject, f.relation, f.prompt, f.object)))


@dataclass(frozen=True, slots=True)
class Key:
    """A subject-relation pair: its prompts, its objects, and candidate new objects.

    Attributes:
        others: objects of the relation's other facts; `entities` if there are none.
        entities: subjects and objects of the graph other than the pair's.
    """

    subject: str
    relation: str
    prompts: tuple[str, ...]
    objects: tuple[str, ...]
    others: tuple[str, ...]
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inference:
    """A conclusion that an edit entails by a rule and the graph's other facts.

    Attributes:
        premise: subject and relation of the edited fact.
        object: new object of the edited fact.
        subject, prompt, answer: the conclusion.
    """

    premise: tuple[str, str]
    object: str
    subject: str
    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class Example:
    """One training edit with its probes.

    Attributes:
        edit: prompt and new object that the edit is computed from.
        probe: the prompt or a paraphrase, with the new object (L_e).
        neighbours: other facts, whose predictions should not change (L_loc).
        implied: conclusions that the edit entails (L_imp).
        correct, hard: the prompt with the pair's objects, and with false answers (APP's L1); both
            are empty if either would be.
    """

    edit: TargetRow
    probe: TargetRow
    neighbours: tuple[TargetRow, ...]
    implied: tuple[TargetRow, ...] = ()
    correct: tuple[TargetRow, ...] = ()
    hard: tuple[TargetRow, ...] = ()


class _Pool:
    """Keys to draw neighbours from, indexed by subject and by relation."""

    def __init__(self, keys: Sequence[Key], numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self._by_name: dict[tuple[str, str], list[int]] = {}
        for i in numbers:
            for name in (("subject", keys[i].subject), ("relation", keys[i].relation)):
                self._by_name.setdefault(name, []).append(i)

    def near(self, keys: Sequence[Key], number: int) -> list[int]:
        """Keys with the same subject or the same relation, but not both."""
        key = keys[number]
        names = (("subject", key.subject), ("relation", key.relation))
        found = [i for name in names for i in self._by_name.get(name, ())]
        return [
            i for i in found if (keys[i].subject, keys[i].relation) != (key.subject, key.relation)
        ]

    def neighbours(
        self,
        keys: Sequence[Key],
        number: int,
        rng: random.Random,
        n: int,
        without: Collection[int] = (),
    ) -> list[Key]:
        """`n` keys other than `number`, every second one a near one; none of `without`.

        Empty if no other key is left.
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
        seed: of the split into training and validation.
        val_share: fraction of the keys reserved for validation, at least one key.
        any_entity: fraction of the edits whose new object is any subject or object.
        inferences: conclusions of edits; a key that they name is edited to their objects only.
        answers: True if examples have correct and false answers.

    Raises:
        HypernetworkError: too few facts, or no false answers in the graph.
        RequestError: a prompt or an object cannot be tokenised.
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
        answers: bool = False,
    ) -> None:
        self._tokenizer, self.any_entity = tokenizer, any_entity
        self._inferences: dict[tuple[str, str], dict[str, list[Inference]]] = {}
        for inference in inferences:
            by_object = self._inferences.setdefault(inference.premise, {})
            by_object.setdefault(inference.object, []).append(inference)
        self._rows: dict[tuple[str, str, str], TargetRow] = {}
        self.keys = _keys(facts)
        if len(self.keys) < MIN_KEYS:
            raise HypernetworkError(
                f"the graph has {len(self.keys)} subject-relation pairs beside its rewrites; MEND "
                f"needs {MIN_KEYS} or more to train on",
                remedy="Import a larger graph.",
            )
        self._links = _links(facts) if answers else {}
        if answers and not any(_linked(self._links, k, o) for k in self.keys for o in k.others):
            raise HypernetworkError(
                "no fact of the graph links two objects of one relation, so that APP has no false "
                "answers",
                remedy="Set app_alpha to 0, or use another graph.",
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
        """One example; neighbours of a training example are training keys too."""
        number = rng.choice(self.validation if validation else self.training)
        return self.example(number, rng, n_locality, validation=validation)

    def draw_together(self, rng: random.Random, n: int, n_locality: int) -> list[Example]:
        """Training examples that can be edited at once: distinct keys, none another's neighbour."""
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
        """An edit of key `number` to a random object.

        Args:
            without: keys that must not be neighbours, because they are edited too.
        """
        key = self.keys[number]
        any_entity = rng.random() < self.any_entity
        follows = self._inferences.get((key.subject, key.relation), {})
        objects = tuple(o for o in follows if o in (*key.others, *key.entities))
        target = rng.choice(objects or (key.entities if any_entity else key.others))
        near = self._pools[validation].neighbours(self.keys, number, rng, n_locality, without)
        neighbours = tuple(
            self._row(k.subject, rng.choice(k.prompts), rng.choice(k.objects)) for k in near
        )
        hard = _linked(self._links, key, target)
        lists = (key.objects[:MAX_ANSWERS], hard) if hard else ((), ())
        return Example(
            self._row(key.subject, key.prompts[0], target),
            self._row(key.subject, rng.choice(key.prompts), target),
            neighbours,
            tuple(self._row(i.subject, i.prompt, i.answer) for i in follows.get(target, ())),
            *(tuple(self._row(key.subject, key.prompts[0], o) for o in each) for each in lists),
        )

    def _row(self, subject: str, prompt: str, target: str) -> TargetRow:
        found = self._rows.get((subject, prompt, target))
        if found is None:
            name = f"{subject} | {prompt}"
            request = RewriteRequest(name, "", prompt, subject, "", "", target)
            ids = prompt_row(self._tokenizer, request).ids
            found = TargetRow(ids, target_ids(self._tokenizer, request))
            self._rows[subject, prompt, target] = found
        return found


def _keys(facts: Sequence[Fact]) -> list[Key]:
    names = unique(name for fact in facts for name in (fact.object, fact.subject))
    by_relation: dict[str, list[str]] = {}
    by_key: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        by_relation.setdefault(fact.relation, []).append(fact.object)
        by_key.setdefault((fact.subject, fact.relation, fact.prompt), []).append(fact)
    keys: list[Key] = []
    for (subject, relation, prompt), mine in by_key.items():
        objects = unique(fact.object for fact in mine)
        entities = _without(names, (subject, *objects))
        others = _without(by_relation[relation], objects) or entities
        prompts = unique([prompt, *(p for fact in mine for p in fact.paraphrases)])
        if entities:
            keys.append(Key(subject, relation, prompts, objects, others, entities))
    return keys


def _without(objects: Iterable[str], excluded: Collection[str]) -> tuple[str, ...]:
    return tuple(o for o in unique(objects) if o not in excluded)


def _links(facts: Iterable[Fact]) -> dict[str, set[str]]:
    """{entity: entities that a fact names with it, in either direction}."""
    found: dict[str, set[str]] = {}
    for fact in facts:
        found.setdefault(fact.subject, set()).add(fact.object)
        found.setdefault(fact.object, set()).add(fact.subject)
    return found


def _linked(links: Mapping[str, Collection[str]], key: Key, target: str) -> tuple[str, ...]:
    """False answers of an edit to `target`: linked to it, of the relation, not the key's."""
    near = links.get(target, ())
    return tuple(o for o in key.others if o in near and o != target)[:MAX_ANSWERS]
