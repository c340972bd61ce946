"""A fact as it is asked, what a model said, and both together before and after an edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thinkeval.loaders.records import Fact

Role = Literal["fact", "target_true", "target_new", "implication"]


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A prompt about another subject, and what is asked for there: a name with its aliases."""

    prompt: str
    object: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One fact to ask, with the names its object may go by.

    Attributes:
        aliases: of the object.
        generalization: further clozes asked one by one (the rewrite's paraphrases); the fact's own
            paraphrases are averaged in only where the probe settings say so.
        neighborhood: complete prompts about other subjects, each with its right answer; asked of
            the edited fact, for specificity.
        role: what the fact is in an edit graph.
        listed: whether the data set holds this fact in the scope of the rewrite.
    """

    fact: Fact
    aliases: tuple[str, ...] = ()
    generalization: tuple[str, ...] = ()
    neighborhood: tuple[Neighbor, ...] = ()
    role: Role = "fact"
    listed: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said about one fact.

    Attributes:
        values: probability by measure (`p`, `likelihood`, `likelihood_norm`).
        answers: the sampled texts, as they were matched.
        n_samples: how many samples `p` is a share of; 0 where nothing was sampled.
        paraphrases: by measure, one probability for each prompt of `Question.generalization`.
        neighborhood: by measure, one probability for each prompt of `Question.neighborhood`.
    """

    values: Mapping[str, float]
    answers: tuple[str, ...] = ()
    n_samples: int = 0
    paraphrases: Mapping[str, Sequence[float]] = field(default_factory=dict)
    neighborhood: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProbedFact:
    """A fact with what the model said before and, in an edit graph, after the edit."""

    question: Question
    pre: Answer
    post: Answer | None = None
