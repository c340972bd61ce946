"""Options of the client's methods: in their signatures, and refused with the closest name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from thinkeval.service.client.http import ProblemError
from thinkeval.service.client.rest import Client, DepEdit, Growth
from thinkeval.service.client.session import Session
from thinkeval.service.growth.schemas import GrowthIn
from thinkeval.service.models.depedit import RunsIn, SetIn
from thinkeval.service.models.edit import EditIn, RewriteIn
from thinkeval.service.models.experiment import SweepIn
from thinkeval.service.models.leakcut import CoEditIn
from thinkeval.service.states.schemas import ComparisonIn

TAKEN: list[tuple[Callable[..., Any], type[BaseModel]]] = [
    (Client.score, EditIn), (Session.score, EditIn), (Client.sweep, SweepIn),
    (Client.compare, ComparisonIn), (Session.compare, ComparisonIn), (Client.co_edit, CoEditIn),
    (Growth.run, GrowthIn), (DepEdit.run, RunsIn), (DepEdit.build, SetIn),
]  # fmt: skip

FACT = {"subject": "Ada", "prompt": "{} lived in", "target_true": "London", "target_new": "Paris"}


@pytest.fixture
def client() -> Iterator[Client]:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.url} was asked")

    with Client(transport=httpx.MockTransport(answer)) as client:
        yield client


@pytest.mark.parametrize(("method", "request_"), TAKEN)
def test_every_field_of_the_request_is_a_keyword(
    method: Callable[..., Any], request_: type[BaseModel]
) -> None:
    shown = inspect.signature(method).parameters
    assert set(request_.model_fields) <= set(shown)
    assert all(p.kind is not p.VAR_KEYWORD for p in shown.values())
    for name, field in request_.model_fields.items():
        if shown[name].kind is inspect.Parameter.KEYWORD_ONLY and name in ("samples", "seed"):
            assert shown[name].default == field.default


@pytest.mark.parametrize("kind", [Client, Session])
def test_a_session_has_fifteen_verbs_at_most(kind: type) -> None:
    verbs = [
        name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))
    ]
    assert len(verbs) <= 15, verbs


def test_an_unknown_option_is_refused_with_the_closest_one(client: Client) -> None:
    with pytest.raises(ProblemError) as caught:
        client.score("harry", mehtod="rome")
    assert caught.value.detail == "Unknown option 'mehtod'. Did you mean 'method'?"
    assert caught.value.status == 422
    with pytest.raises(ProblemError, match="Did you mean 'samples'"):
        client.sweep(["rome"], sample=3)


@pytest.mark.parametrize(
    ("left_out", "lacks"), [("prompt", "prompt (or relation)"), ("target_true", "target_true")]
)
def test_a_rewrite_without_a_key_says_which_are_needed(
    client: Client, left_out: str, lacks: str
) -> None:
    given = {name: text for name, text in FACT.items() if name != left_out}
    with pytest.raises(ProblemError) as caught:
        client.score(given, graph="hogwarts")
    assert caught.value.detail == (
        f"`rewrite` needs subject, prompt (or relation), target_true, target_new; it lacks {lacks}."
    )
    with pytest.raises(ProblemError, match="Did you mean 'target_new'"):
        client.score(FACT | {"target_nwe": "Rome"})
    with pytest.raises(ProblemError, match="No rewrite is named"):
        client.score()
    assert RewriteIn.model_validate(FACT).target_new == "Paris"
