"""The client of the OpenAI protocol against a real server process: retries, errors, and the key."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from support.endpoints.cassette_server import Cassette, playing
from thinkeval.service.base import llm
from thinkeval.service.base.errors import EndpointError, UsageError, describe, in_one_line
from thinkeval.service.base.llm import Client, Completion, checked_address

KEY = "sk-secret-4711"
HELLO = [{"role": "user", "content": "Where did Harry Potter study?"}]


@contextmanager
def _talking(*answers: dict[str, Any] | str, **options: Any) -> Iterator[tuple[Client, Cassette]]:
    with playing({"otherwise": list(answers)}) as cassette:
        client = Client(cassette.url, "tiny", KEY, pause_s=0.02, **options)
        try:
            yield client, cassette
        finally:
            client.close()


def _ask(client: Client, **options: Any) -> Completion:
    return client.chat(HELLO, temperature=1.0, max_tokens=8, seed=7, **options)


def test_a_chat_and_a_completion() -> None:
    with _talking({"text": " Hogwarts.", "finish": "length"}) as (client, cassette):
        found = _ask(client, extra={"generation_config": "{}"})
        plain = client.complete("Harry studied at", temperature=0.0, max_tokens=4)
        asked = cassette.requests()
    assert (found.text, found.finish, found.choices) == (" Hogwarts.", "length", 1)
    assert found.tokens_in
    assert found.tokens_out == 1
    assert found.seconds > 0
    assert plain.text == " Hogwarts."
    assert [each["path"] for each in asked] == ["/v1/chat/completions", "/v1/completions"]
    assert asked[0]["body"] == {
        "model": "tiny", "messages": HELLO, "temperature": 1.0, "seed": 7, "max_tokens": 8,
        "generation_config": "{}",
    }  # fmt: skip
    assert asked[1]["body"] == {
        "model": "tiny", "prompt": "Harry studied at", "temperature": 0.0, "max_tokens": 4,
    }  # fmt: skip
    assert asked[0]["headers"]["authorization"] == f"Bearer {KEY}"


def test_other_servers_settings_of_the_environment_are_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-another-server")
    with playing({"otherwise": ["Hogwarts."]}) as cassette:
        client = Client(cassette.url, "tiny")
        _ask(client)
        client.close()
        headers = cassette.requests()[0]["headers"]
    assert "of-another-server" not in json.dumps(headers)


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 429, "detail": "slow down", "retry_after": 0},
        {"status": 500, "detail": "oops"},
        {"status": 503, "raw": "<html>down</html>"},
        {"status": 408, "detail": "slow"},
        {"raw": '{"choices": [{"mess'},
        {"raw": '{"choices": []}'},
        {"raw": "[]"},
    ],
    ids=lambda failure: json.dumps(failure)[:40],
)
def test_a_failure_that_may_pass_is_tried_again(failure: dict[str, Any]) -> None:
    with _talking(failure, failure, "Hogwarts.") as (client, cassette):
        assert _ask(client).text == "Hogwarts."
        assert len(cassette.requests()) == 3


def test_five_tries_and_then_an_error_with_address_status_and_text() -> None:
    failure = {"status": 500, "raw": '{"error": {"message": "CUDA\\nout of memory"}}'}
    with _talking(failure) as (client, cassette):
        with pytest.raises(EndpointError) as error:
            _ask(client)
        assert len(cassette.requests()) == 5
    assert error.value.detail == (
        f"The model 'tiny' at {cassette.url} does not answer after 5 tries: "
        "status 500: CUDA out of memory"
    )
    assert error.value.answered == 500
    assert "resume the run" in error.value.remedy


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_shown_at_once_in_one_line(status: int) -> None:
    detail = "Server is pinned to 'a';\n  requested 'tiny'."
    with _talking({"status": status, "detail": detail}) as (client, cassette):
        with pytest.raises(EndpointError) as error:
            _ask(client)
        assert len(cassette.requests()) == 1
    assert f"status {status}: Server is pinned to 'a'; requested 'tiny'." in error.value.detail
    assert "\n" not in in_one_line(error.value)
    assert error.value.answered == status
    assert describe(error.value).status == 502


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirection_is_not_followed(status: int) -> None:
    """It would lead past the list of allowed addresses."""
    with playing({"otherwise": ["secret"]}) as elsewhere:
        target = f"{elsewhere.url}/chat/completions"
        failure = {"status": status, "detail": "moved", "location": target}
        with (
            _talking(failure) as (client, _),
            pytest.raises(EndpointError, match=f"status {status}: moved") as refused,
        ):
            _ask(client)
        assert elsewhere.requests() == []
    assert "redirects" in refused.value.remedy


def test_a_server_is_waited_for_as_long_as_it_asks() -> None:
    busy = {"status": 429, "detail": "slow down", "retry_after": 0.2}
    with _talking(busy, "Hogwarts.") as (client, _):
        began = time.monotonic()
        assert _ask(client).text == "Hogwarts."
        assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(None, None), ("", None), ("soon", None), ("7", 7), ("-1", 0), ("0.5", 0.5)],
)
def test_seconds_until_the_next_try(value: str | None, seconds: float | None) -> None:
    assert llm._retry_after(value) == seconds


def test_a_date_of_the_next_try() -> None:
    for seconds in (300, -300):
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
        for text in (date, date.replace(" GMT", "")):
            assert llm._retry_after(text) == pytest.approx(max(0, seconds), abs=30)


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    busy = {"status": 429, "detail": "quota", "retry_after": 3600}
    with _talking(busy) as (client, cassette):
        with pytest.raises(EndpointError, match=r"status 429: quota; it asks to wait 3600 s$"):
            _ask(client)
        assert len(cassette.requests()) == 1


def test_a_time_limit_and_a_missing_server_are_errors() -> None:
    options: dict[str, Any] = {"timeout_s": 0.2, "tries": 2}
    with (
        _talking({"text": "late", "delay_s": 2}, **options) as (client, _),
        pytest.raises(EndpointError, match=r"after 2 tries: no answer within 0\.2 s"),
    ):
        _ask(client)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    gone = Client(address, "tiny", tries=2, pause_s=0.01)
    with pytest.raises(EndpointError, match=r"no connection .*refused") as error:
        _ask(gone)
    assert error.value.answered is None
    assert error.value.remedy.startswith("Start the server")


def test_an_interruption_is_noticed_during_a_pause() -> None:
    class StoppedError(Exception):
        pass

    began = time.monotonic()

    def check() -> None:
        if time.monotonic() > began + 0.2:
            raise StoppedError

    busy = {"status": 429, "detail": "slow down", "retry_after": 50}
    with _talking(busy, check=check) as (client, _), pytest.raises(StoppedError):
        _ask(client)
    assert time.monotonic() - began < 40


def test_the_key_is_in_no_error_log_and_representation(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"status": 401, "detail": f"Incorrect API key provided: {KEY}"}
    with _talking({"status": 500, "detail": KEY}, "ok", echo) as (client, _):
        _ask(client)
        with pytest.raises(EndpointError) as error:
            _ask(client)
        shown = [repr(client), str(error.value), repr(error.value), in_one_line(error.value)]
    assert "Incorrect API key provided: ***" in error.value.detail
    assert not [text for text in shown if KEY in text]
    assert caplog.records
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    "address",
    [
        f"http://user:{KEY}@127.0.0.1:8000/v1",
        f"http://{KEY}@127.0.0.1:8000/v1",
        f"http://127.0.0.1:8000/v1?key={KEY}",
        f"http://127.0.0.1:8000/v1#{KEY}",
        f"user:{KEY}@127.0.0.1:8000/v1",
        f"127.0.0.1:8000/v1?key={KEY}",
        f"http://user:{KEY}@127.0.0.1:port/v1",
    ],
)
def test_an_address_that_may_hold_a_key_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(UsageError) as error:
        Client(address, "tiny")
    assert KEY not in in_one_line(error.value)


@pytest.mark.parametrize(
    "address", ["", "127.0.0.1:8000", "ftp://host/v1", "http://", "http:///v1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a server"):
        checked_address(address)


def test_an_address_is_written_in_one_way() -> None:
    assert checked_address(" http://127.0.0.1:8000/v1/ ") == "http://127.0.0.1:8000/v1"


def test_a_missing_package_is_an_error_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(llm, "import_module", missing)
    with pytest.raises(UsageError, match="needs the package `openai`") as error:
        Client("http://127.0.0.1:8000/v1", "tiny")
    assert error.value.remedy == 'pip install "thinkeval[llm]"'


def test_a_model_with_another_name_for_the_length_is_asked_with_that() -> None:
    refusal = {"status": 400, "detail": "Use 'max_completion_tokens' instead of 'max_tokens'."}
    with _talking(refusal, "Hogwarts.") as (client, cassette):
        assert [_ask(client).text for _ in range(2)] == ["Hogwarts."] * 2
        bodies = [each["body"] for each in cassette.requests()]
    named = [[name for name in body if name.startswith("max_")] for body in bodies]
    assert named == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_takes_no_seed_is_asked_without(status: int) -> None:
    refusal = {"status": status, "detail": [{"loc": ["body", "seed"], "msg": "extra forbidden"}]}
    with _talking(refusal, "Hogwarts.") as (client, cassette):
        assert [_ask(client).text for _ in range(2)] == ["Hogwarts."] * 2
        assert ["seed" in each["body"] for each in cassette.requests()] == [True, False, False]
    with _talking(refusal) as (client, cassette):
        with pytest.raises(EndpointError, match="extra forbidden"):
            _ask(client)
        assert len(cassette.requests()) == 2


@pytest.mark.parametrize(
    ("answer", "text", "finish", "arguments"),
    [
        ({"refusal": "I can't help with that."}, "I can't help with that.", "refusal", None),
        ({"arguments": '{"a": 1}'}, "", "stop", '{"a": 1}'),
        ({"text": "cut", "finish": "content_filter"}, "cut", "content_filter", None),
        (
            {"raw": '{"choices": [{"message": {"content": [{"type": "text", "text": "a"}]}}]}'},
            "a", "stop", None,
        ),
        ({"raw": '{"choices": [{"message": null}], "usage": null}'}, "", "stop", None),
        ({"raw": '{"choices": [{}], "usage": {"prompt_tokens": "3"}}'}, "", "stop", None),
    ],
)  # fmt: skip
def test_answers_in_unusual_forms(
    answer: dict[str, Any], text: str, finish: str, arguments: str | None
) -> None:
    with _talking(answer) as (client, _):
        found = _ask(client)
    assert (found.text, found.finish, found.arguments) == (text, finish, arguments)
