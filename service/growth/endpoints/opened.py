"""Open the model that a request names: in this process, or at an address."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ....editing.probe.settings import ProbeSettings
from ...graphs.datasets import get_or_import
from ...scoring.chat_choice import settled, way_asked
from ...scoring.runtime import parse
from .endpoint import Endpoint

if TYPE_CHECKING:
    from ...scoring.runtime import Runtime
    from ..schemas import EndpointIn, GrowthIn
    from .capabilities import Form


@dataclass(frozen=True, slots=True)
class Opened:
    """An endpoint with its abilities.

    Attributes:
        form: how it gives JSON.
        capabilities: JSON for storing: of a server as found by asking it; of a model in this
            process `asked`, the way that was chosen with its measurement.
        in_chat: True if questions go in the chat template, of a model in this process; else None.
    """

    endpoint: Endpoint
    form: Form = "prompt"
    capabilities: str | None = None
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
        from .in_process import InProcess

        model = runtime.model(posted.model, graph)
        in_chat = found = None
        if chat is not None and graph:
            from ....editing.probe.prompts import uses_chat

            asked = ProbeSettings(chat=cast("Any", chat))
            asked, chosen = settled(runtime, get_or_import(runtime.db, graph), model.loaded, asked)
            in_chat = uses_chat(model.loaded.tokenizer, asked.chat)
            found = json.dumps({"asked": way_asked(asked, chosen)})
        return Opened(InProcess(model.loaded, name=model.name), "prompt", found, in_chat)
    from ...llm import Client
    from . import capabilities
    from .openai_protocol import OpenAIProtocol

    secret = runtime.settings.llm_api_key
    client = Client(posted.url, posted.model, key=secret.get_secret_value() if secret else None)
    try:
        found = capabilities.Capabilities.from_json(known) if known else capabilities.probe(client)
        if not greedy:
            capabilities.require_sampling(found, client.address)
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
    for each in (posted.answers, *posted.roles.values()):
        if each.url is None and parse(each.model).organism is None:
            from ....editing import models

            models.config_of(each.model)
