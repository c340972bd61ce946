"""Prompts, units, variants and outcomes: the values that forms of asking are built from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from ...loaders.records import Fact

NEEDS = {
    "question": "a question of the fact",
    "noun phrase": "a noun phrase of the relation, taken from its question",
    "negation": "a cloze with an auxiliary or a verb in the third person behind the subject",
    "inverse": "an object that the graph gives to one subject of the relation",
    "paraphrases": "paraphrases of the fact",
    "chat template": "a model with a chat template",
    "other facts": "further facts in the graph for the prefix",
    "chains": "a chain of two facts",
    "examples": "examples that share no name with the graph",
    "3 options": "three options or more",
}
"""The requirements of forms, by the names that `NEEDS` of a form lists."""

LogP = Sequence[Sequence[float]]
"""ln P of each candidate, row by row; minus infinity where the model gives 0."""


class NotAsked(Exception):
    """A fact cannot be asked in a form; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text that the model continues.

    Attributes:
        user: a user's turn; `text` is then the beginning of the assistant's answer to it.
        earlier: the turns before it, as (role, text).
    """

    text: str
    user: str | None = None
    earlier: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A prompt with the names whose probabilities are measured there.

    Attributes:
        words: True if the candidates are words (Yes, No, a letter) whose spellings are added.
    """

    prompt: Prompt
    candidates: tuple[str, ...]
    words: bool = False


@dataclass(frozen=True, slots=True)
class NextTurn:
    """A question that follows in the same conversation, about the name that the model gave.

    Attributes:
        question: with `{}` for that name.
    """

    question: str
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """Prompts that are scored together: those of a fact, or of one chain that it begins.

    Attributes:
        facts: facts that the answer depends on; a unit counts where the model knows all of them.
        given: number of sentences in a prefix; None where the form has no prefix.
        then: the next turn of a conversation whose first answer is that of the only row; it is
            asked if that answer gives one of the row's candidates.
    """

    rows: tuple[Row, ...]
    facts: tuple[Fact, ...]
    given: int | None = None
    then: NextTurn | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to ask within a form.

    Attributes:
        name: second part of the protocol id.
        scoring: third part: `likelihood`, `rank`, `pairs` (of the right object and each other), or
            `orders` (mean over orders of the options); of a written answer `stop` (until the model
            ends it) or `line` (until a line break).
        examples: number of examples in front, whose digest is a part of the protocol id.
        control: True where a high value shows that the form can be answered without the fact.
        has_accuracy: False where several answers are right, so that there is no accuracy.
        further: meaning of the outcome's further number; None without one.
        least: mean of the further number from which on the form is measurable.
        against: name of the variant that is its control: where that has more than chance, it is
            what the accuracy must exceed.
        on_request: True if `all` leaves it out.
    """

    name: str
    scoring: Literal["likelihood", "rank", "pairs", "orders", "stop", "line"] = "likelihood"
    examples: int = 0
    control: bool = False
    has_accuracy: bool = True
    further: str | None = None
    least: float | None = None
    against: str | None = None
    on_request: bool = False

    @property
    def is_written(self) -> bool:
        """True if the model writes an answer; else probabilities of candidates are measured."""
        return self.scoring in ("stop", "line")


@dataclass(frozen=True, slots=True)
class Answer:
    """A written answer.

    Attributes:
        stopped: True if the model ended it by itself.
        gives: for each candidate of the row, True if the answer gives it; None: undecided.
    """

    text: str
    stopped: bool
    tokens: int
    gives: tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A fact that is asked for, with its options.

    Attributes:
        fact: with its object in the graph; of an edit that is the old object.
        new: object that an edit installs; None where the fact is not edited, or forgotten.
        options: the right object first; of an edit the new object, the old one, then others.
    """

    fact: Fact
    new: str | None
    options: tuple[str, ...]

    @property
    def right(self) -> str:
        """The new object of an edit, else the fact's own."""
        return self.new or self.fact.object


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one unit.

    Attributes:
        p: probability of the right object; of an edit of the new one; None where the form has
            none.
        p_old: probability of the old object; None where the fact is not edited.
        margin: of an edit ln P(new) − ln P(old), else ln P(right) − mean ln P(other options); None
            where a probability is 0.
        right: 1 if the right object is the likeliest option, else 0; of pairs the fraction won;
            None of a written answer that is undecided.
        chance: expected value of `right` by chance.
        further: the number that the variant's `further` describes; None where it is undefined.
        text: a written answer as it was.
        length: its tokens.
    """

    p: float | None
    p_old: float | None
    margin: float | None
    right: float | None
    chance: float
    further: float | None = None
    text: str | None = None
    length: int | None = None


def by_options(
    values: Sequence[float], target: Target, *, edited: bool, further: float | None = None
) -> Outcome:
    """The outcome of one row whose candidates are options, the right one first.

    Args:
        edited: True where the second candidate belongs to the old object.
    """
    return Outcome(
        p=math.exp(values[0]),
        p_old=math.exp(values[1]) if edited else None,
        margin=difference(values[0], values[1:2] if edited else values[1:]),
        right=float(values[0] > max(values[1:])),
        chance=1 / len(values),
        further=further,
    )


def difference(one: float, others: Sequence[float]) -> float | None:
    """A logarithm less the mean of others; None where one of them is infinite."""
    if not all(map(math.isfinite, (one, *others))):
        return None
    return one - fmean(others)


def compared(gains: Sequence[float | None], *, edited: bool) -> tuple[float | None, float]:
    """The margin of the first gain, and the fraction of the others that it exceeds.

    Args:
        edited: True where the second gain belongs to the old object.
    """
    own, others = gains[0], [gain for gain in gains[1:] if gain is not None]
    if own is None or not others:
        return None, 0.0
    won = [0.5 if own == other else float(own > other) for other in others]
    old = gains[1]
    margin = difference(own, others) if not edited else None if old is None else own - old
    return margin, fmean(won)


def spelled(word: str) -> tuple[str, ...]:
    """The spellings of a word behind a prompt, each with its joint.

    A letter has no small form: " a" is an article.
    """
    small = () if len(word) == 1 else (f" {word.lower()}",)
    return (f" {word}", *small, word)


def likeliest(values: LogP, target: Target) -> Outcome:
    """The outcome of a unit of one row with the target's options."""
    return by_options(values[0], target, edited=target.new is not None)


def examples_first(examples: Sequence[str], text: str) -> str:
    """Examples, each a paragraph, in front of a text."""
    return "\n\n".join((*examples, text))
