"""A server as an endpoint: concurrent requests, what is sent, and what is kept at a failure."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.endpoints.cassette_server import Cassette, playing, request_digest
from thinkeval.editing import interruption
from thinkeval.service.base.errors import EndpointError
from thinkeval.service.base.llm import Client
from thinkeval.service.growth.endpoint import Form, Message, Reply, Request, Sampling
from thinkeval.service.growth.openai_endpoint import Capabilities, OpenAIProtocol, derived_seed

Part = list[tuple[int, Reply]]
ABLE = Capabilities("plain", "json_schema", completions=True, several=True)
SERVE = Capabilities("generation_config", "prompt", completions=True, several=False)


def _request(
    text: str,
    sample: int = 0,
    form: Form = "chat",
    schema: str | None = None,
    temperature: float = 1.0,
) -> Request:
    turns = (Message("user", text),)
    return Request(turns, Sampling(temperature, 8, 5), sample, "direct", form, schema)


@contextmanager
def _endpoint(
    cassette: dict[str, Any], able: Capabilities = ABLE, **options: Any
) -> Iterator[tuple[OpenAIProtocol, Cassette]]:
    with playing(cassette) as server:
        client = Client(server.url, "tiny", "secret", pause_s=0.02)
        endpoint = OpenAIProtocol(client, able, **options)
        try:
            yield endpoint, server
        finally:
            endpoint.close()


def _all(endpoint: OpenAIProtocol, requests: list[Request]) -> list[Reply]:
    found = [pair for part in endpoint.ask(requests) for pair in part]
    assert sorted(place for place, _ in found) == list(range(len(requests)))
    return [reply for _, reply in sorted(found, key=lambda pair: pair[0])]


def _listen(
    endpoint: OpenAIProtocol, requests: list[Request], keep: Callable[[Part], None]
) -> None:
    for part in endpoint.ask(requests):
        keep(part)


def test_replies_belong_to_their_requests_though_they_end_in_another_order() -> None:
    rules = [
        {"contains": f"number {i}!", "answers": [{"text": str(i), "delay_s": 0.3 - 0.02 * i}]}
        for i in range(12)
    ]
    with _endpoint({"rules": rules}) as (endpoint, server):
        replies = _all(endpoint, [_request(f"number {i}!") for i in range(12)])
        assert len(server.requests()) == 12
    assert [reply.text for reply in replies] == [str(i) for i in range(12)]


def test_requests_run_at_the_same_time_but_only_so_many() -> None:
    slow = {"otherwise": [{"text": "a", "delay_s": 0.2}]}
    with _endpoint(slow, concurrent=4) as (endpoint, server):
        _all(endpoint, [_request("first")])
        parts = endpoint.ask([_request(str(i)) for i in range(8)])
        first = next(parts)
        assert 1 <= len(first) <= 4
        assert sum(len(part) for part in parts) == 8 - len(first)
        assert 2 <= server.at_once() <= 4


def test_what_is_sent_and_how_it_is_read() -> None:
    answers = [{"text": "Hogwarts", "finish": "length"}]
    with _endpoint({"otherwise": answers}) as (endpoint, server):
        chat, cloze = _all(endpoint, [_request("Where?"), _request("He is at", form="cloze")])
        by_path = {each["path"]: each["body"] for each in server.requests()}
        assert endpoint.id == f"tiny@{server.url}"
    assert chat == Reply("Hogwarts", "length", chat.seconds, chat.tokens_in, 1)
    assert cloze.text == "Hogwarts"
    sent = by_path["/v1/chat/completions"]
    assert sent["messages"] == [{"role": "user", "content": "Where?"}]
    assert (sent["max_tokens"], sent["temperature"]) == (8, 1.0)
    assert sent["seed"] == derived_seed(_request("Where?"))
    assert by_path["/v1/completions"]["prompt"] == "He is at"
    assert not {"generation_config", "response_format", "tools", "n"} & {*sent}


def test_the_answers_of_a_digest_are_replayed() -> None:
    requests = [_request("Where?", k) for k in range(3)]
    bodies = [
        {
            "messages": [{"role": "user", "content": "Where?"}],
            "temperature": 1.0,
            "max_tokens": 8,
            "seed": derived_seed(request),
        }
        for request in requests
    ]
    answers = {request_digest(body): [f"answer {k}"] for k, body in enumerate(bodies)}
    with _endpoint({"answers": answers}) as (endpoint, _):
        replies = _all(endpoint, requests)
        with pytest.raises(EndpointError, match="no recorded answer for"):
            _all(endpoint, [_request("Where?", 3)])
    assert [reply.text for reply in replies] == ["answer 0", "answer 1", "answer 2"]


def test_a_server_without_completions_gets_a_cloze_as_a_chat() -> None:
    able = Capabilities("plain", "prompt", completions=False, several=False)
    with _endpoint({"otherwise": ["Hogwarts"]}, able) as (endpoint, server):
        _all(endpoint, [_request("He is at", form="cloze")])
        assert server.requests()[0]["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(("temperature", "extra"), [(1.0, True), (0.0, False)])
@pytest.mark.parametrize("form", ["chat", "cloze"])
def test_the_further_field_is_sent_only_where_the_server_needs_it(
    form: Form, temperature: float, extra: bool
) -> None:
    with _endpoint({"otherwise": ["Hogwarts"]}, SERVE) as (endpoint, server):
        _all(endpoint, [_request("He is at", form=form, temperature=temperature)])
        body = server.requests()[0]["body"]
    assert ("generation_config" in body) is extra
    if extra:
        assert json.loads(body["generation_config"])["do_sample"] is True


def test_a_schema_is_sent_in_the_form_that_has_an_effect() -> None:
    schema = '{"type": "object"}'
    tools = Capabilities("plain", "tools", completions=True, several=True)
    answer = {"otherwise": [{"arguments": '{"a": 1}', "finish": "tool_calls"}]}
    with _endpoint(answer, tools) as (endpoint, server):
        (reply,) = _all(endpoint, [_request("Extract.", schema=schema)])
        sent = server.requests()[0]["body"]
    assert (reply.text, reply.finish) == ('{"a": 1}', "stop")
    assert sent["tools"][0]["function"]["parameters"] == {"type": "object"}
    with _endpoint({"otherwise": ['{"a": 1}']}) as (endpoint, server):
        (reply,) = _all(endpoint, [_request("Extract.", schema=schema)])
        sent = server.requests()[0]["body"]
    assert reply.text == '{"a": 1}'
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize("answer", [{"refusal": "No."}, {"text": "", "finish": "content_filter"}])
def test_the_protocols_refusals(answer: dict[str, Any]) -> None:
    with _endpoint({"otherwise": [answer]}) as (endpoint, _):
        assert _all(endpoint, [_request("Where?")])[0].finish == "refusal"


def test_each_sample_of_each_text_has_a_seed_of_its_own() -> None:
    seeds = {derived_seed(_request(text, k)) for text in ("a", "b") for k in range(50)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert derived_seed(_request("a", 3)) == derived_seed(_request("a", 3, form="cloze"))


def test_what_was_answered_before_a_failure_is_kept_and_nothing_more_is_asked() -> None:
    rules = [
        {"contains": "bad", "answers": [{"status": 401, "detail": "no such key", "delay_s": 0.15}]},
        {"contains": "good", "answers": [{"text": "yes", "delay_s": 0.3}]},
    ]
    requests = [_request("bad"), *(_request(f"good {i}") for i in range(50))]
    found: list[tuple[int, Reply]] = []
    with _endpoint({"rules": rules}, concurrent=3) as (endpoint, server):
        with pytest.raises(EndpointError, match="status 401: no such key"):
            _listen(endpoint, requests, found.extend)
        asked = len(server.requests())
        time.sleep(0.15)
        assert len(server.requests()) == asked == 3
    assert sorted(place for place, _ in found) == [1, 2]


def test_an_interruption_keeps_what_is_running_and_asks_nothing_more() -> None:
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    found: list[tuple[int, Reply]] = []

    def keep(part: Part) -> None:
        found.extend(part)
        stop.set()

    slow = {"otherwise": [{"text": "a", "delay_s": 0.3}]}
    with _endpoint(slow, concurrent=2) as (endpoint, server):
        with interruption.checked(check), pytest.raises(KeyboardInterrupt):
            _listen(endpoint, [_request(str(i)) for i in range(100)], keep)
        assert len(server.requests()) == len(found) <= 6


def test_an_interruption_ends_the_pauses_of_requests_that_fail() -> None:
    def check() -> None:
        if time.monotonic() > began + 0.2:
            raise KeyboardInterrupt

    began = time.monotonic()
    busy = {"otherwise": [{"status": 429, "detail": "slow down", "retry_after": 50}]}
    with (
        _endpoint(busy) as (endpoint, _),
        interruption.checked(check),
        pytest.raises(KeyboardInterrupt),
    ):
        list(endpoint.ask([_request(str(i)) for i in range(9)]))
    for thread in threading.enumerate():
        if thread.name.startswith("thinkeval-endpoint"):
            thread.join(10)
            assert not thread.is_alive()
    assert time.monotonic() - began < 40


def test_a_caller_that_stops_listening_stops_the_asking() -> None:
    with _endpoint({"otherwise": [{"text": "a", "delay_s": 0.1}]}) as (endpoint, server):
        parts = endpoint.ask([_request(str(i)) for i in range(100)])
        next(parts)
        parts.close()
        time.sleep(0.25)
        assert len(server.requests()) <= 9
