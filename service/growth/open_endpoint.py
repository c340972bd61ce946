"""Open the model that a request names: in this process, or at an address."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ...editing.probe.settings import ProbeSettings
from ..graphs.datasets import get_or_import
from ..scoring.chat import settled, way_asked
from ..scoring.runtime import parse
from .endpoint import Endpoint, Reply, Request

if TYPE_CHECKING:
    from ...editing.models import LoadedModel
    from ..scoring.runtime import Runtime
    from .openai_endpoint import Form
    from .schemas import EndpointIn, GrowthIn


# An endpoint in this process: a model loaded by `thinkeval.editing`, without a server.
#
# All requests of a call are answered in batches, and samples of one text share its evaluation.


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

        A request's schema is not enforced; see `service.growth.writer`.

        Raises:
            ProbeError: a prompt leaves no room for an answer, or NaN from the model.
            DeviceMemoryError: a single row does not fit.
        """
        # Imports torch, which a service that only talks to servers does not need.
        from ...editing.probe.open_answers import OpenRequest, answers

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


@dataclass(frozen=True, slots=True)
class Opened:
    """An endpoint with its abilities.

    Attributes:
        form: how it gives JSON.
        capabilities: of a server as found by asking it, as JSON for storing.
        asked: how a model in this process is asked, with the measurement that chose it.
        in_chat: True if questions go in the chat template, of a model in this process; else None.
    """

    endpoint: Endpoint
    form: Form = "prompt"
    capabilities: str | None = None
    asked: str | None = None
    in_chat: bool | None = None


def opened(
    runtime: Runtime,
    posted: EndpointIn,
    *,
    graph: str = "",
    known: str | None = None,
    greedy: bool = False,
    chat: str | None = None,
) -> Opened:
    """Open an endpoint.

    Args:
        graph: the graph that an organism is trained on.
        known: capabilities that were stored before; the server is not asked for them again.
        greedy: accept a server that does not sample.
        chat: auto, always or never; None: nothing is measured.

    Raises:
        UsageError: the server does not sample.
        EndpointError: it does not answer.
        EditingError: the model cannot be loaded.
    """
    if posted.url is None:
        model = runtime.model(posted.model, graph)
        in_chat = found = None
        if chat is not None and graph:
            from ...editing.probe.prompts import uses_chat

            asked = ProbeSettings(chat=cast("Any", chat))
            asked, chosen = settled(runtime, get_or_import(runtime.db, graph), model.loaded, asked)
            in_chat = uses_chat(model.loaded.tokenizer, asked.chat)
            found = way_asked(asked, chosen)
        endpoint = InProcess(model.loaded, name=model.name)
        return Opened(endpoint, asked=found, in_chat=in_chat)
    from ..base.llm import Client
    from . import openai_endpoint
    from .openai_endpoint import OpenAIProtocol

    secret = runtime.settings.llm_api_key
    client = Client(posted.url, posted.model, key=secret.get_secret_value() if secret else None)
    try:
        found = (
            openai_endpoint.Capabilities.from_json(known)
            if known
            else openai_endpoint.probe(client)
        )
        if not greedy:
            openai_endpoint.require_sampling(found, client.address)
    except BaseException:
        client.close()
        raise
    return Opened(OpenAIProtocol(client, found), found.structured, found.to_json())


def require_models(posted: GrowthIn) -> None:
    """Refuse a run whose models in this process are not there, before anything is asked or loaded.

    Raises:
        ModelLoadError: a name is that of no hub model, folder or GGUF file.
        UsageError: an organism's options that cannot be read, or a state instead of a model.
    """
    for each in filter(None, (posted.answers, posted.judge_model)):
        if each.url is None and parse(each.model).organism is None:
            from ...editing import models

            models.config_of(each.model)
