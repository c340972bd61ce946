"""Each chain as a conversation with the edited model, its own answers in place of the entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...editing.joint import joined
from ...editing.probe.matching import first_sentence, gives, mentions
from ...editing.probe.prompts import CHAT_CLOZE, CHAT_QUESTION, QUESTION, uses_chat
from ...editing.probe.reasoning import is_unclosed
from ...loaders.records import SUBJECT_SLOT
from ..models.edit import ActiveInConversation, ConversationOut
from . import metrics

if TYPE_CHECKING:
    from ...cypher.rows.chains import Link
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...editing.probe.prompts import PromptChange
    from ..models.edit import Score
    from .resolved import Resolved


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


# Conversations with a loaded model: the turns as its prompts, and the walk of an edit's chains.

PROTOCOL = 1
"""Part of an edit's identity: raise it when the rules of the conversation change."""

MAX_TOKENS = 32
"""Of an answer: a name, or a sentence around it."""


def measured(resolved: Resolved, effect: EditEffect, score: Score) -> ConversationOut:
    """Walk the chains of a written edit graph with the edited model, which is restored afterwards.

    Raises:
        ProbeError: NaN from the model, or a chat template that rejects several turns.
    """
    from ...editing.deltas import applied

    db, loaded = resolved.runtime.db, resolved.model.loaded
    found = {
        measure: {row.entities: row for row in metrics.chain_rows(db, score, measure)}
        for measure in score.measures
    }
    rows = found[score.measures[0]]
    chains = [row.links for row in rows.values()]
    active: dict[str, list[bool]] = {
        measure: [by_entities[entities].surviving for entities in rows]
        for measure, by_entities in found.items()
    }
    chat = uses_chat(loaded.tokenizer, resolved.request.chat)
    with applied(loaded.model, effect):
        ask = Answerer(loaded, chat, effect.prompt_change, resolved.runtime.progress)
        walks = walk(chains, resolved.scope.aliases, ask)
    return outcome(walks, active, chat)


class Answerer:
    """The most likely answers of a loaded model to conversations.

    Args:
        chat: take the chat template; else questions and answers are one text.
        change: of an in-context method, applied to the text before anything is asked.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        chat: bool,
        change: PromptChange | None = None,
        progress: Callable[[int, int, str], Any] = lambda done, total, stage: None,
    ) -> None:
        self._loaded, self._chat, self._change = loaded, chat, change
        self._progress = progress

    def __call__(self, conversations: Sequence[Turns]) -> list[str | None]:
        """One answer each, None where the model reads fewer tokens."""
        from ...editing.probe.open_answers import OpenRequest, answers, fits

        requests = [
            OpenRequest(self._turns(turns), not self._chat, 0, 0, 0.0, MAX_TOKENS)
            for turns in conversations
        ]
        places = [i for i, request in enumerate(requests) if fits(self._loaded, request)]
        found: list[str | None] = [None] * len(requests)
        done = 0
        for part in answers(self._loaded, [requests[i] for i in places]):
            for place, answer in part:
                found[places[place]] = answer.text
            done += len(part)
            self._progress(done, len(places), "conversation")
        return found

    def _turns(self, turns: Turns) -> tuple[tuple[str, str], ...]:
        change = self._change or (lambda text: text)
        if not self._chat:
            return (("user", change("\n".join(self._plain(*turn) for turn in turns))),)
        made: list[tuple[str, str]] = []
        for i, (asked, answer) in enumerate(turns):
            frame, slot = (CHAT_CLOZE, "{cloze}") if asked.cloze else (CHAT_QUESTION, "{question}")
            text = frame.replace(slot, asked.text.strip())
            made += [("user", text if i else change(text)), ("assistant", answer)]
        return tuple(made[:-1])

    def _plain(self, asked: Asked, answer: str) -> str:
        text = asked.text
        if not asked.cloze:
            text = QUESTION.replace("{question}", asked.text.strip())
        return joined(text, answer.rstrip())
