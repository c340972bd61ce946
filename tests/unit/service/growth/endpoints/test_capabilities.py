"""Abilities of a server, found by effect: servers that ignore, refuse or obey each field."""

from __future__ import annotations

from typing import Any

import pytest

from support.endpoints.cassette_server import playing
from thinkeval.service.base.errors import EndpointError, UsageError
from thinkeval.service.base.llm import Client
from thinkeval.service.growth.openai_endpoint import (
    CLOZE,
    OPEN_QUESTION,
    Capabilities,
    probe,
    require_sampling,
)

EQUAL = {"contains": OPEN_QUESTION, "answers": ["The sun shines."]}
DRAWN = {"contains": OPEN_QUESTION, "answers": ["The sun shines.", "The rain falls."]}
HELLO = {"contains": "Say hello", "answers": ["Hello, all of you."]}
CONTINUED = {"contains": CLOZE, "answers": [" Paris"]}
NO_COMPLETIONS = {"contains": CLOZE, "answers": [{"status": 404, "detail": "Not Found"}]}
REFUSED = {"status": 400, "detail": "unknown field"}
OBJECT = '{"salutation": "Hello"}'


def _hello(field: str, *answers: Any) -> dict[str, Any]:
    return {"contains": "Say hello", "field": field, "answers": list(answers)}


def _probed(*rules: dict[str, Any]) -> tuple[Capabilities, int]:
    with playing({"rules": list(rules)}) as server:
        client = Client(server.url, "tiny", pause_s=0.01)
        found = probe(client)
        client.close()
        return found, len(server.requests())


def test_a_server_that_ignores_every_field_is_found_out() -> None:
    found, asked = _probed(EQUAL, HELLO, CONTINUED)
    assert found == Capabilities("no", "prompt", completions=True, several=False)
    assert found.calls == asked == 13
    with pytest.raises(UsageError, match="This server does not sample: http://x gave 4") as error:
        require_sampling(found, "http://x")
    assert "--greedy" in error.value.remedy


def test_a_server_that_needs_the_further_field_to_sample() -> None:
    drawn = DRAWN | {"field": "generation_config"}
    found, _ = _probed(drawn, EQUAL, HELLO, CONTINUED)
    assert found.sampled == "generation_config"
    require_sampling(found, "http://x")


def test_a_server_that_refuses_the_further_field_does_not_sample() -> None:
    refused = {"contains": OPEN_QUESTION, "field": "generation_config", "answers": [REFUSED]}
    found, _ = _probed(refused, EQUAL, HELLO, CONTINUED)
    assert found.sampled == "no"


def test_a_server_that_has_everything() -> None:
    several = _hello("n", {"text": "Hello.", "choices": 2})
    found, asked = _probed(DRAWN, _hello("response_format", OBJECT), several, CONTINUED)
    assert found == Capabilities("plain", "json_schema", completions=True, several=True)
    assert found.calls == asked == 5


@pytest.mark.parametrize("ignored", [REFUSED, "Hello.", {"status": 422}, {"status": 500}, "{}"])
def test_tools_where_the_format_is_refused_or_has_no_effect(ignored: Any) -> None:
    rules = (_hello("response_format", ignored), _hello("tools", {"arguments": OBJECT}))
    found, _ = _probed(DRAWN, *rules, HELLO, NO_COMPLETIONS)
    assert found == Capabilities("plain", "tools", completions=False, several=False)


def test_any_object_where_a_schema_is_refused() -> None:
    found, _ = _probed(DRAWN, _hello("response_format", REFUSED, '{"hello": 1}'), HELLO, CONTINUED)
    assert found.structured == "json_object"


def test_a_server_that_answers_in_json_by_itself_needs_no_format() -> None:
    """An object without the key that only the schema names is no effect of the schema."""
    rules = (_hello("response_format", '{"hello": 1}', "Hello."), HELLO)
    found, _ = _probed(DRAWN, *rules, CONTINUED)
    assert found.structured == "prompt"


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_server_that_refuses_the_plain_question_is_an_error(status: int) -> None:
    refused = {"contains": OPEN_QUESTION, "answers": [{"status": status, "detail": "pinned to a"}]}
    with pytest.raises(EndpointError, match=f"status {status}: pinned to a"):
        _probed(refused)


def test_a_limit_that_is_reached_meanwhile_is_no_missing_capability() -> None:
    limit = _hello("response_format", {"status": 429, "detail": "quota", "retry_after": 900})
    with pytest.raises(EndpointError, match="quota"):
        _probed(DRAWN, limit)


def test_the_record_is_read_as_it_was_written() -> None:
    found = Capabilities("generation_config", "tools", completions=True, several=False, calls=9)
    again = Capabilities.from_json(found.to_json())
    assert again == found
    assert again.calls == 9


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sampled": "plain", "other": 1}', "nonsense"])
def test_another_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Capabilities.from_json(text)


def test_an_unknown_value_is_refused() -> None:
    text = Capabilities("plain", "tools", completions=True, several=False).to_json()
    with pytest.raises(ValueError, match="unknown capabilities"):
        Capabilities.from_json(text.replace("tools", "grammar"))
