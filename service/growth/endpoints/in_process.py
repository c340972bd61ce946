"""An endpoint in this process: a model loaded by `thinkeval.editing`, without a server.

All requests of a call are answered in batches, and samples of one text share its evaluation.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .endpoint import Reply, Request

if TYPE_CHECKING:
    from ....editing.models import LoadedModel


class InProcess:
    """A loaded model that answers.

    Its id has the beginning of the model's digest, so that answers stored for a model are not
    used for another one of the same name.

    Args:
        loaded: model and tokenizer; unchanged by answering.
        name: short name of the model, by default as it was loaded.
        batch_tokens: maximum tokens of a batch, by default as many as fit; does not change answers.

    Attributes:
        chat: True if the tokenizer has a chat template. Without one a question is put as
            `editing.probe.prompts.QUESTION`, and its answer is one sentence.
    """

    def __init__(
        self, loaded: LoadedModel, *, name: str | None = None, batch_tokens: int | None = None
    ) -> None:
        self._loaded: LoadedModel | None = loaded
        self._batch_tokens = batch_tokens
        self.model = name or loaded.info.name
        self.id = f"{self.model}@local-{loaded.info.digest[:8]}"
        self.chat = getattr(loaded.tokenizer, "chat_template", None) is not None

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        """Answer requests in parts of about one batch: (place of the request, reply).

        A request's schema is not enforced; see `service.growth.structured`.

        Raises:
            ProbeError: a prompt leaves no room for an answer, or NaN from the model.
            DeviceMemoryError: a single row does not fit.
        """
        # Imports torch, which a service that only talks to servers does not need.
        from ....editing.probe.open_answers import OpenRequest, answers

        if self._loaded is None:
            raise RuntimeError("the endpoint is closed")
        opened = [
            OpenRequest(
                turns=tuple((message.role, message.text) for message in request.messages),
                cloze=request.form == "cloze",
                sample=request.sample,
                seed=request.sampling.seed,
                temperature=request.sampling.temperature,
                max_tokens=request.sampling.max_tokens,
            )
            for request in requests
        ]
        began = time.perf_counter()
        for part in answers(self._loaded, opened, batch_tokens=self._batch_tokens):
            seconds = (time.perf_counter() - began) / max(1, len(part))
            yield [
                (
                    place,
                    Reply(
                        text=answer.text,
                        finish="length" if answer.cut else "stop",
                        seconds=seconds,
                        tokens_in=answer.tokens_in,
                        tokens_out=answer.tokens_out,
                    ),
                )
                for place, answer in part
            ]
            began = time.perf_counter()

    def close(self) -> None:
        """Release the model."""
        self._loaded = None
