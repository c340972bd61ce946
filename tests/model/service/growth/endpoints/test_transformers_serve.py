"""`transformers serve` as an endpoint: a real server, and each field that it accepts and ignores.

The model is tiny and random: what its answers say means nothing, only whether they are equal.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.endpoints.model_server import ModelServer, serving_model, with_template
from support.tiny_models import build_tiny
from thinkeval.editing.models import load
from thinkeval.service.base.errors import EndpointError
from thinkeval.service.base.llm import Client
from thinkeval.service.growth.endpoint import Endpoint, Form, Message, Request, Sampling, state_of
from thinkeval.service.growth.open_endpoint import InProcess
from thinkeval.service.growth.openai_endpoint import Capabilities, OpenAIProtocol, probe

pytestmark = pytest.mark.heavy

QUESTION = "Which school did Harry Potter attend?"
CLOZE = "Harry Potter studied at"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that can be served."""
    path = tmp_path_factory.mktemp("model")
    model, tokenizer = build_tiny("gpt2", seed=3)
    model.save_pretrained(path / "plain")
    tokenizer.save_pretrained(path / "plain")
    return with_template(path / "plain", path / "chat")


@pytest.fixture(scope="module")
def served(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with serving_model(folder, tmp_path_factory.mktemp("serve")) as server:
        yield server


@pytest.fixture(scope="module")
def client(served: ModelServer) -> Iterator[Client]:
    client = Client(served.url, served.model)
    yield client
    client.close()


@pytest.fixture(scope="module")
def able(client: Client) -> Capabilities:
    return probe(client)


def _request(text: str, sample: int = 0, form: Form = "chat", temperature: float = 0.0) -> Request:
    sampling = Sampling(temperature, 12, 7)
    return Request((Message("user", text),), sampling, sample, "direct", form)


def _texts(endpoint: Endpoint, requests: list[Request]) -> list[str]:
    found = dict(pair for part in endpoint.ask(requests) for pair in part)
    return [found[i].text for i in range(len(requests))]


def test_what_it_is_able_to_do_is_found_though_it_accepts_everything(able: Capabilities) -> None:
    assert able == Capabilities("generation_config", "prompt", completions=True, several=False)


def test_several_choices_and_formats_are_accepted_and_ignored(client: Client) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    plain = client.chat(messages, temperature=0.0, max_tokens=8)
    extra = {"n": 2, "response_format": {"type": "json_object"}, "logprobs": True}
    ignored = client.chat(messages, temperature=0.0, max_tokens=8, extra=extra)
    assert (ignored.text, ignored.choices) == (plain.text, 1)


def test_without_the_further_field_four_samples_are_one_answer(
    client: Client, able: Capabilities
) -> None:
    requests = [_request(QUESTION, k, temperature=1.5) for k in range(4)]
    believed = Capabilities("plain", "prompt", completions=True, several=False)
    assert len(set(_texts(OpenAIProtocol(client, believed), requests))) == 1
    assert len(set(_texts(OpenAIProtocol(client, able), requests))) > 1


def test_equal_seeds_are_equal_answers_one_request_at_a_time(
    client: Client, able: Capabilities
) -> None:
    endpoint = OpenAIProtocol(client, able, concurrent=1)
    requests = [_request(QUESTION, k, temperature=1.5) for k in range(4)]
    assert _texts(endpoint, requests) == _texts(endpoint, requests)


def test_the_most_likely_answers_are_those_of_the_same_model_in_this_process(
    client: Client, able: Capabilities, folder: Path
) -> None:
    requests = [_request(f"{QUESTION} {i}") for i in range(6)]
    near = InProcess(load(folder, device="cpu"))
    assert near.chat
    assert _texts(OpenAIProtocol(client, able), requests) == _texts(near, requests)


def test_a_cloze_is_continued_without_the_template(
    client: Client, able: Capabilities, folder: Path
) -> None:
    request = _request(CLOZE, form="cloze")
    (there,) = _texts(OpenAIProtocol(client, able), [request])
    (here,) = _texts(InProcess(load(folder, device="cpu")), [request])
    # In this process a cloze ends with its sentence; the server goes to the limit.
    assert there.startswith(here)
    (chat,) = _texts(OpenAIProtocol(client, able), [_request(CLOZE)])
    assert chat != there


def test_an_answer_at_the_limit_is_cut_and_tokens_are_counted(
    client: Client, able: Capabilities
) -> None:
    ((_, reply),) = next(iter(OpenAIProtocol(client, able).ask([_request(QUESTION)])))
    assert reply.tokens_in
    assert reply.tokens_out == 12
    assert reply.finish == "length"
    assert state_of(reply) == "cut"


def test_another_models_name_is_refused_with_the_servers_own_text(served: ModelServer) -> None:
    other = Client(served.url, "another")
    with pytest.raises(EndpointError, match=r"status 400: Server is pinned to .*; requested 'an"):
        probe(other)
    other.close()


def test_its_list_of_models_fails_and_is_not_needed(
    served: ModelServer, able: Capabilities
) -> None:
    with pytest.raises(urllib.error.HTTPError, match="500") as error:
        urllib.request.urlopen(f"{served.url}/models", timeout=30)
    error.value.close()
    assert able.calls
