"""Row types of cypher/append: the answers of edits that append one, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from .base import Row


@dataclass(frozen=True)
class AppendAnswersRow(Row):
    """The probabilities of all names at one prompt, before and after an edit."""

    place: Annotated[int, Field(description="Place among the prompts, from 0.")]
    role: Annotated[
        Literal["prompt", "paraphrase", "locality"],
        Field(description="prompt, paraphrase or locality."),
    ]
    text: Annotated[str, Field(description="The prompt's text.")]
    correct: Annotated[
        tuple[str, ...], Field(description="Correct answers that the model shall keep.")
    ]
    hard: Annotated[
        tuple[str, ...], Field(description="False answers that are easily taken for correct ones.")
    ]
    random: Annotated[tuple[str, ...], Field(description="False answers drawn at random.")]
    new_pre: Annotated[
        float, Field(description="Probability of the appended answer before the edit.")
    ]
    new_post: Annotated[
        float, Field(description="Probability of the appended answer after the edit.")
    ]
    correct_pre: Annotated[
        tuple[float, ...],
        Field(description="Probabilities before the edit, in the order of `correct`."),
    ]
    correct_post: Annotated[
        tuple[float, ...],
        Field(description="Probabilities after the edit, in the order of `correct`."),
    ]
    hard_pre: Annotated[
        tuple[float, ...],
        Field(description="Probabilities before the edit, in the order of `hard`."),
    ]
    hard_post: Annotated[
        tuple[float, ...],
        Field(description="Probabilities after the edit, in the order of `hard`."),
    ]
    random_pre: Annotated[
        tuple[float, ...],
        Field(description="Probabilities before the edit, in the order of `random`."),
    ]
    random_post: Annotated[
        tuple[float, ...],
        Field(description="Probabilities after the edit, in the order of `random`."),
    ]
    right_pre: Annotated[
        float | None,
        Field(
            description="Probability of the right answer before the edit, of a locality prompt"
            " only."
        ),
    ]
    right_post: Annotated[
        float | None,
        Field(
            description="Probability of the right answer after the edit, of a locality prompt only."
        ),
    ]


@dataclass(frozen=True)
class AdditivityRow(Row):
    """Side effects of an edit, against one set of false answers."""

    edit: Annotated[str, Field(description="Id of the edit.")]
    set: Annotated[
        Literal["hard", "random"],
        Field(description="The false answers that are compared with: hard or random."),
    ]
    prompts: Annotated[
        int,
        Field(description="Number of its prompt and paraphrases; 0 where no answers are stored."),
    ]
    n: Annotated[
        int, Field(description="Prompts that count; `prompts` is the number before the filter.")
    ]
    no_correct: Annotated[
        int, Field(description="Prompts that do not count, by the first list without a kept name.")
    ]
    no_hard: Annotated[
        int, Field(description="Prompts that do not count: a correct answer is kept, no hard one.")
    ]
    no_random: Annotated[
        int, Field(description="Prompts that do not count: only no random one is kept.")
    ]
    left_out: Annotated[
        bool,
        Field(
            description="The published code leaves the whole edit out, as its last paraphrase"
            " does not count; only where that was asked for."
        ),
    ]
    rff: Annotated[
        float | None,
        Field(description="RFF: fraction of correct answers below a false one, 0 to 1."),
    ]
    rnf: Annotated[
        float | None,
        Field(description="RNF: fraction of false answers above a correct one, 0 to 1."),
    ]
    cpc: Annotated[
        float | None, Field(description="CPC: change of the correct answers' probability; 1: none.")
    ]
    fpc: Annotated[
        float | None, Field(description="FPC: change of the false answers' probability; 1: none.")
    ]
    aff: Annotated[float | None, Field(description="AFF: harm to the correct answers, 0 to 1.")]
    anf: Annotated[float | None, Field(description="ANF: harm by the false answers, 0 to 1.")]
    n_fpc: Annotated[int, Field(description="Number of prompts that FPC and ANF were taken over.")]
    es: Annotated[float | None, Field(description="ES: efficacy success at the prompt, 0 to 1.")]
    n_es: Annotated[int, Field(description="Number of prompts that ES was taken over.")]
    gs: Annotated[
        float | None, Field(description="GS: generalisation success at the paraphrases, 0 to 1.")
    ]
    n_gs: Annotated[int, Field(description="Number of prompts that GS was taken over.")]
    ls: Annotated[float | None, Field(description="LS: locality success at other prompts, 0 to 1.")]
    n_ls: Annotated[int, Field(description="Number of prompts that LS was taken over.")]
    asked_ls: Annotated[int, Field(description="Number of stored prompts of locality.")]


@dataclass(frozen=True)
class MeanProbabilitiesRow(Row):
    """Mean probabilities of an edit's answers at its prompt; None where a list is empty."""

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

    subject: str
    relation: str
    correct: tuple[str, ...]
    prompt: str
    question: str | None
    paraphrases: tuple[str, ...]


@dataclass(frozen=True)
class AppendRangeRow(Row):
    """The entities that can be an object of a relation."""

    relation: str
    kinds: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class NewAnswerRow(Row):
    """A new answer of a subject and relation, and false answers; `found` without the limit."""

    subject: str
    relation: str
    new: str
    names: tuple[str, ...]
    found: int


@dataclass(frozen=True)
class AppendLocalityRow(Row):
    """Prompts about other subjects, with their right answers."""

    subject: str
    relation: str
    new: str
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
