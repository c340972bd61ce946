"""In-context editing as text: worked examples, which to show, and what is put before a prompt.

A demonstration states a new fact and answers a prompt in its light (Zheng et al. 2023, §4.1):
`copy` repeats the fact, `update` asks for it in other words, `retain` asks for something else,
whose answer stays. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from thinkeval.editing.probe.prompts import CHAT_CLOZE, CHAT_QUESTION

Kind = Literal["copy", "update", "retain"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Similarities = Callable[[Sequence[str]], Sequence[float]]
"""How similar each of some texts is to what is edited."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A worked example.

    Attributes:
        kind: what it shows.
        source: id of the fact it was made from; of one fact at most one example is shown.
        fact: the new fact, a sentence without its full stop.
        prompt: what is asked.
        answer: the right answer, given the new fact.
    """

    kind: Kind
    source: str
    fact: str
    prompt: str
    answer: str

    @property
    def text(self) -> str:
        """As it stands in the context, with the empty line after it."""
        return f"New Fact: {self.fact}\nPrompt: {self.prompt} {self.answer}\n\n"


@dataclass(frozen=True)
class InContext:
    """The change of the prompt: demonstrations and new facts are put before what is asked.

    Plain data, so that it can be saved with the edit.

    Attributes:
        demonstrations: texts, in the order they stand.
        facts: the new facts, oldest first.
    """

    demonstrations: tuple[str, ...]
    facts: tuple[str, ...]

    def __call__(self, asked: str) -> str:
        """The text that is asked instead.

        A chat's instruction ("Complete the sentence ...") comes first: it holds for the prompt at
        the end and is no part of it.
        """
        instruction, content = _parted(asked)
        known = "".join(f"New Fact: {fact}\n" for fact in self.facts)
        return f"{instruction}{''.join(self.demonstrations)}{known}Prompt: {content}"

    def followed_by(self, later: InContext) -> InContext:
        """Both edits as one; facts that the later one holds already are not said twice."""
        facts = tuple(fact for fact in self.facts if fact not in later.facts)
        return InContext(later.demonstrations, (*facts, *later.facts))


def balanced(
    pool: Sequence[Demonstration], k: int, ratio: Sequence[int], similar: Similarities
) -> list[Demonstration]:
    """Up to k demonstrations of the most similar facts, the kinds in the ratio, most similar first.

    The kinds take turns by what they lack of their share, so that each is shown with near and with
    far facts; a turn takes the most similar fact that is left and has that kind. Fewer than k come
    out where facts run out, and of a kind that no fact has there are none.
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
    """The k demonstrations whose whole text is the most similar, whatever their kinds."""
    rank = _ranking([d.text for d in pool], similar)
    return sorted(pool, key=lambda d: rank[d.text])[:k]


def turns(k: int, ratio: Sequence[int]) -> list[Kind]:
    """The kinds of k demonstrations in the ratio copy : update : retain, the one behind first."""
    counts, order = [0] * len(KINDS), []
    for turn in range(k):
        behind = [r * (turn + 1) / sum(ratio) - c for r, c in zip(ratio, counts, strict=True)]
        at = behind.index(max(behind))
        counts[at] += 1
        order.append(KINDS[at])
    return order


def _ranking(texts: Sequence[str], similar: Similarities) -> dict[str, int]:
    """The place of each distinct text by similarity; equal ones by their letters."""
    distinct = sorted(set(texts))
    values = similar(distinct)
    order = sorted(zip(distinct, values, strict=True), key=lambda pair: -pair[1])
    return {text: place for place, (text, _) in enumerate(order)}


def _parted(asked: str) -> tuple[str, str]:
    """A chat's instruction on lines of its own, and what it is about."""
    for frame in (CHAT_CLOZE, CHAT_QUESTION):
        instruction = frame.partition("{")[0]
        if asked.startswith(instruction):
            return f"{instruction.strip().rstrip('.:')}.\n\n", asked.removeprefix(instruction)
    return "", asked
