"""The walk: the order of questions by the answers, and the chains that leak. No model here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....editing.probe.matching import first_sentence, gives, mentions
from ....editing.probe.reasoning import is_unclosed
from ....loaders.records import SUBJECT_SLOT
from ...conversation_outcome import ActiveInConversation, ConversationOut

if TYPE_CHECKING:
    from ....cypher.rows.chains import Link

Aliases = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; `cloze` is True for a sentence to complete."""

    text: str
    cloze: bool = False


Turns = tuple[tuple[Asked, str], ...]
"""Questions with their answers; the last answer is '' while it is asked for."""

Answering = Callable[[Sequence[Turns]], Sequence["str | None"]]
"""The model's answers to conversations, each distinct; None where one is too long for it."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A chain that was walked.

    Attributes:
        turns: as far as the walk went.
        leaks: True if the last answer gives the old object; None where the walk is not defined: a
            question that does not name its subject, an answer that is undecided or whose reasoning
            does not end, or a conversation too long for the model.
    """

    turns: Turns
    leaks: bool | None


def walk(chains: Sequence[Sequence[Link]], aliases: Aliases, answering: Answering) -> list[Walk]:
    """Walk all chains, one step of all of them at a time.

    Args:
        chains: facts of each, in order; the last one's object is the old object.
        aliases: of each entity.
    """
    walks = [Walk((), None) for _ in chains]
    alive = list(range(len(chains)))
    for step in range(max((len(chain) for chain in chains), default=0)):
        asked: dict[int, Turns] = {}
        for i in alive:
            question = _question(chains[i][step], walks[i].turns, aliases)
            if question is not None:
                asked[i] = (*walks[i].turns, (question, ""))
        distinct = list(dict.fromkeys(asked.values()))
        answers = dict(zip(distinct, answering(distinct) if distinct else (), strict=True))
        alive = []
        for i, turns in asked.items():
            walks[i], goes_further = _stepped(chains[i], step, turns, answers[turns], aliases)
            alive += [i] if goes_further else []
    return walks


def _stepped(
    chain: Sequence[Link], step: int, turns: Turns, answer: str | None, aliases: Aliases
) -> tuple[Walk, bool]:
    """Return the walk after an answer, and True if a further question follows."""
    if answer is None:
        return Walk(turns, None), False
    link = chain[step]
    names = (link.object, *aliases.get(link.object, ()))
    said = first_sentence(answer, names)
    turns = (*turns[:-1], (turns[-1][0], said))
    if step == len(chain) - 1:
        return Walk(turns, gives(said, names)), False
    if is_unclosed(said):
        return Walk(turns, None), False
    if not _named(said):
        return Walk(turns, False), False  # no answer, so nothing to ask the next question about
    return Walk(turns, None), True


def _question(link: Link, turns: Turns, aliases: Aliases) -> Asked | None:
    """The fact's question about the last answer, of the first fact about its own subject."""
    about = _named(turns[-1][1]) if turns else link.subject
    if not link.question:
        return Asked(link.prompt.replace(SUBJECT_SLOT, about, 1), cloze=True)
    if not turns:
        return Asked(link.question)
    names = (link.subject, *aliases.get(link.subject, ()))
    spans = sorted(mentions(link.question, names))
    if not spans:
        return None
    text, end = "", 0
    for start, stop in spans:
        if start >= end:
            text, end = text + link.question[end:start] + about, stop
    return Asked(text + link.question[end:])


def _named(answer: str) -> str:
    """An answer as the name in the next question: without white space and marks at its ends."""
    return answer.strip().strip(".!?,;:\"'“”").strip()


def outcome(
    walks: Sequence[Walk], active: Mapping[str, Sequence[bool]], chat: bool
) -> ConversationOut:
    """Fractions of leaking chains, over all that were walked and over those that survive.

    Args:
        active: by measure, True for each chain that survives.
    """
    leaks = [each.leaks for each in walks]
    walked = [leak for leak in leaks if leak is not None]
    by_measure = []
    for measure, survives in active.items():
        both = [
            leak for leak, alive in zip(leaks, survives, strict=True) if alive and leak is not None
        ]
        by_measure.append(
            ActiveInConversation(measure=measure, n=len(both), leaking=sum(both), share=_mean(both))
        )
    return ConversationOut(
        chains=len(walks),
        n=len(walked),
        leaking=sum(walked),
        share=_mean(walked),
        active=by_measure,
        chat=chat,
    )


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
