"""Requests for growth: an address that holds a key is never stored, nor shown."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from thinkeval.service.growth.schemas import CrawlOptions, EndpointIn, GrowthIn, scored_as

KEY = "sk-secret-4711"


@pytest.mark.parametrize(
    "url", [f"http://u:{KEY}@host:1/v1", f"http://host:1/v1?key={KEY}", f"host/v1?api-key={KEY}"]
)
def test_an_address_with_a_key_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValidationError) as error:
        EndpointIn(model="m", url=url)
    assert KEY not in str(error.value)
    with pytest.raises(ValidationError) as error:
        GrowthIn.model_validate({"seed": "a|b|c", "answers": {"model": "m", "url": url}})
    assert KEY not in str(error.value)
    assert KEY not in error.value.errors()[0]["msg"]


def test_an_address_is_stored_in_one_way() -> None:
    assert EndpointIn(model="m", url="http://host:1/v1/").url == "http://host:1/v1"
    assert json.loads(EndpointIn(model="m").model_dump_json())["url"] is None


@pytest.mark.parametrize(
    ("answers", "base", "expected"),
    [
        ({"model": "organism"}, "hogwarts", "organism:gpt2:on=hogwarts"),
        ({"model": "organism-unknown"}, "hogwarts", "organism:gpt2:unknown=50,on=hogwarts"),
        ({"model": "organism:seed=2,on=atlas"}, "hogwarts", "organism:gpt2:seed=2,on=atlas"),
        ({"model": "gpt2-xl"}, None, "gpt2-xl"),
        ({"model": "some-chat", "url": "http://127.0.0.1:1/v1"}, None, None),
    ],
)
def test_a_grown_graph_is_scored_on_the_model_that_answered(
    answers: dict[str, str], base: str | None, expected: str | None
) -> None:
    posted = GrowthIn.model_validate({"seed": "a|b|c", "base": base, "answers": answers})
    assert scored_as(posted) == expected


def test_an_option_at_its_default_is_no_part_of_a_request() -> None:
    """Ids of runs are digests of requests, and this option came later."""
    before = GrowthIn.model_validate({"seed": "a|b|c", "crawl": {"samples": 3}})
    asked = before.model_copy(update={"crawl": CrawlOptions(samples=3, invented=2)})
    assert "invented" not in before.model_dump_json()
    assert GrowthIn.model_validate_json(asked.model_dump_json()) == asked
