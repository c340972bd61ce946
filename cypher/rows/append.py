"""Row types of cypher/append: the answers of edits that append one, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from .base import Row, WrittenRow


@dataclass(frozen=True)
class WriteAppendAnswersRow(WrittenRow):
    """Whether the answers of an edit are stored."""

    QUERY: ClassVar[str] = "append/write_answers"


@dataclass(frozen=True)
class AppendAnswersRow(Row):
    """The probabilities of all names at one prompt, before and after an edit.

    Attributes:
        correct_pre: in the order of `correct`; the other lists likewise.
        right_pre: of a locality prompt only.
    """

    QUERY: ClassVar[str] = "append/answers"
    place: int
    role: Literal["prompt", "paraphrase", "locality"]
    text: str
    correct: tuple[str, ...]
    hard: tuple[str, ...]
    random: tuple[str, ...]
    new_pre: float
    new_post: float
    correct_pre: tuple[float, ...]
    correct_post: tuple[float, ...]
    hard_pre: tuple[float, ...]
    hard_post: tuple[float, ...]
    random_pre: tuple[float, ...]
    random_post: tuple[float, ...]
    right_pre: float | None
    right_post: float | None


@dataclass(frozen=True)
class AdditivityRow(Row):
    """What else an edit moved, against one set of false answers.

    Attributes:
        n: prompts that count; `prompts` is the number before the filter.
        no_correct: prompts that do not count, by the first list without a kept name.
        left_out: the published code leaves the whole edit out, as its last paraphrase does not
            count; only where that was asked for.
    """

    QUERY: ClassVar[str] = "append/additivity"
    edit: str
    set: Literal["hard", "random"]
    prompts: int
    n: int
    no_correct: int
    no_hard: int
    no_random: int
    left_out: bool
    rff: float | None
    rnf: float | None
    cpc: float | None
    fpc: float | None
    aff: float | None
    anf: float | None
    n_fpc: int
    es: float | None
    n_es: int
    gs: float | None
    n_gs: int
    ls: float | None
    n_ls: int
    asked_ls: int


@dataclass(frozen=True)
class MeanProbabilitiesRow(Row):
    """Mean probabilities of an edit's answers at its prompt; None where a list is empty."""

    QUERY: ClassVar[str] = "append/mean_probabilities"
    edit: str
    correct_pre: float | None
    correct_post: float | None
    hard_pre: float | None
    hard_post: float | None
    random_pre: float | None
    random_post: float | None


@dataclass(frozen=True)
class AppendKeyRow(Row):
    """A pair of subject and relation with several objects, and how it is asked."""

    QUERY: ClassVar[str] = "append/keys"
    subject: str
    relation: str
    correct: tuple[str, ...]
    prompt: str
    question: str | None
    paraphrases: tuple[str, ...]


@dataclass(frozen=True)
class AppendRangeRow(Row):
    """The entities that can be an object of a relation."""

    QUERY: ClassVar[str] = "append/ranges"
    relation: str
    kinds: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class _NewAnswer(Row):
    """A new answer of a subject and relation, and false answers that belong to it."""

    subject: str
    relation: str
    new: str
    names: tuple[str, ...]
    found: int


@dataclass(frozen=True)
class HardAnswersRow(_NewAnswer):
    """False answers of the relation's range that have a fact with the new answer."""

    QUERY: ClassVar[str] = "append/hard"


@dataclass(frozen=True)
class RandomAnswersRow(_NewAnswer):
    """False answers far from the new answer."""

    QUERY: ClassVar[str] = "append/random"


@dataclass(frozen=True)
class AppendLocalityRow(Row):
    """Prompts about other subjects, with their right answers."""

    QUERY: ClassVar[str] = "append/locality"
    subject: str
    relation: str
    new: str
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
