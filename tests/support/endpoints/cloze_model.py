"""An endpoint without chat that continues texts from a table, counts them, and stops at will."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from support.endpoints.scripted_model import Stopped
from thinkeval.service.growth.endpoint import Reply, Request

PART = 5
"""Answers that come together."""


class ClozeModel:
    """Continues texts.

    Args:
        answers: by the beginning of a text; the longest one that fits counts. An answer that is a
            tuple has one text a sample.
        otherwise: the answer to all others.
        stop_at: raise Stopped once so many requests were answered.
    """

    chat = False

    def __init__(
        self,
        answers: Mapping[str, str | tuple[str, ...]],
        otherwise: str = "nobody knows.",
        stop_at: int | None = None,
    ) -> None:
        self.answers, self.otherwise, self.stop_at = answers, otherwise, stop_at
        self.model, self.id = "cloze", "cloze@test"
        self.asked: list[Request] = []

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        for start in range(0, len(requests), PART):
            part = []
            for place in range(start, min(start + PART, len(requests))):
                if self.stop_at is not None and len(self.asked) >= self.stop_at:
                    raise Stopped
                self.asked.append(requests[place])
                part.append((place, Reply(self._text(requests[place]), "stop", 0.0, 5, 3)))
            yield part

    def _text(self, request: Request) -> str:
        text = request.messages[0].text
        fitting = [key for key in self.answers if text.startswith(key)]
        told = self.answers[max(fitting, key=len)] if fitting else self.otherwise
        return told if isinstance(told, str) else told[request.sample % len(told)]

    def close(self) -> None:
        pass
