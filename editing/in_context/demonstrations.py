"""Demonstrations of in-context editing: their texts, their selection, and the changed prompt.

A demonstration states a new fact and answers a prompt given the fact (Zheng et al. 2023, §4.1):
`copy` repeats the fact, `update` paraphrases it, `retain` has an unrelated prompt, whose answer
does not change. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ..joint import joined
from ..probe.prompts import CHAT_CLOZE, CHAT_QUESTION

Kind = Literal["copy", "update", "retain"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Similarities = Callable[[Sequence[str]], Sequence[float]]
"""Similarity of each text to the edited facts."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A demonstration.

    Attributes:
        kind: `copy`, `update` or `retain`.
        source: id of the fact it is derived from; at most one demonstration per fact is selected.
        fact: the new fact, a sentence without its full stop.
        prompt: the prompt to answer.
        answer: the right answer, given the new fact.
    """

    kind: Kind
    source: str
    fact: str
    prompt: str
    answer: str

    @property
    def text(self) -> str:
        """The text in the context, with a trailing empty line."""
        return f"New Fact: {self.fact}\nPrompt: {joined(self.prompt, self.answer)}\n\n"


@dataclass(frozen=True)
class InContext:
    """Prompt change that prepends demonstrations and new facts to a prompt.

    Plain data, so that it can be saved with the edit.

    Attributes:
        demonstrations: texts, in order.
        facts: the new facts, oldest first.
    """

    demonstrations: tuple[str, ...]
    facts: tuple[str, ...]

    def __call__(self, prompt: str) -> str:
        """The changed prompt.

        A chat's instruction ("Complete the sentence ...") comes first: it refers to the prompt at
        the end and is not part of it.
        """
        instruction, content = _split_instruction(prompt)
        known = "".join(f"New Fact: {fact}\n" for fact in self.facts)
        return f"{instruction}{''.join(self.demonstrations)}{known}Prompt: {content}"

    def followed_by(self, later: InContext) -> InContext:
        """Both edits as one, without duplicate facts."""
        facts = tuple(fact for fact in self.facts if fact not in later.facts)
        return InContext(later.demonstrations, (*facts, *later.facts))


def balanced(
    pool: Sequence[Demonstration], k: int, ratio: Sequence[int], similar: Similarities
) -> list[Demonstration]:
    """Up to k demonstrations of the most similar facts, kinds in the ratio, most similar first.

    The kinds alternate (`turns`), so that each gets similar and less similar facts; a turn selects
    the most similar remaining fact with a demonstration of that kind. Fewer than k are returned if
    there are too few facts.
    """
    rank = _ranking([d.fact for d in pool], similar)
    by_rank = sorted(pool, key=lambda d: rank[d.fact])
    chosen: list[Demonstration] = []
    used: set[str] = set()
    for kind in turns(k, ratio):
        fitting = (d for d in by_rank if d.kind == kind and d.source not in used)
        if (found := next(fitting, None)) is not None:
            chosen.append(found)
            used.add(found.source)
    return sorted(chosen, key=lambda d: rank[d.fact])


def flat(pool: Sequence[Demonstration], k: int, similar: Similarities) -> list[Demonstration]:
    """The k demonstrations with the most similar texts, regardless of kind."""
    rank = _ranking([d.text for d in pool], similar)
    return sorted(pool, key=lambda d: rank[d.text])[:k]


def turns(k: int, ratio: Sequence[int]) -> list[Kind]:
    """Kinds of k demonstrations in the ratio copy : update : retain, the rarest so far first."""
    counts, order = [0] * len(KINDS), []
    for turn in range(k):
        behind = [r * (turn + 1) / sum(ratio) - c for r, c in zip(ratio, counts, strict=True)]
        at = behind.index(max(behind))
        counts[at] += 1
        order.append(KINDS[at])
    return order


def _ranking(texts: Sequence[str], similar: Similarities) -> dict[str, int]:
    """Rank of each distinct text by similarity; ties in alphabetical order."""
    distinct = sorted(set(texts))
    values = similar(distinct)
    order = sorted(zip(distinct, values, strict=True), key=lambda pair: -pair[1])
    return {text: place for place, (text, _) in enumerate(order)}


def _split_instruction(prompt: str) -> tuple[str, str]:
    """A chat's instruction as a separate paragraph, and the rest of the prompt."""
    for frame in (CHAT_CLOZE, CHAT_QUESTION):
        instruction = frame.partition("{")[0]
        if prompt.startswith(instruction):
            return f"{instruction.strip().rstrip('.:')}.\n\n", prompt.removeprefix(instruction)
    return "", prompt
