"""Conversations with a loaded model: the turns as its prompts, and the walk of an edit's chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....editing.joint import joined
from ....editing.probe.prompts import CHAT_CLOZE, CHAT_QUESTION, QUESTION, uses_chat
from .. import metrics
from .walk import Asked, Turns, outcome, walk

if TYPE_CHECKING:
    from ....editing.deltas import EditEffect
    from ....editing.models import LoadedModel
    from ....editing.probe.prompts import PromptChange
    from ...conversation_outcome import ConversationOut
    from ...schemas import Score
    from ..resolved import Resolved

PROTOCOL = 1
"""Part of an edit's identity: raise it when the rules of the conversation change."""

MAX_TOKENS = 32
"""Of an answer: a name, or a sentence around it."""


def measured(resolved: Resolved, effect: EditEffect, score: Score) -> ConversationOut:
    """Walk the chains of a written edit graph with the edited model, which is restored afterwards.

    Raises:
        ProbeError: NaN from the model, or a chat template that rejects several turns.
    """
    from ....editing.deltas import applied

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
        from ....editing.probe.open_answers import OpenRequest, answers, fits

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
