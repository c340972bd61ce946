"""Ids of requests and queries: stored answers are found by them, so they must not change."""

from __future__ import annotations

from dataclasses import asdict, replace

from thinkeval.loaders.records import digest
from thinkeval.service.growth.context import query_of
from thinkeval.service.growth.endpoint import Message, Request, Sampling

REQUEST = Request(
    (Message("system", "Be short."), Message("user", "Who?")),
    Sampling(0.5, 8, 3),
    2,
    "direct",
    schema="{}",
)


def test_an_id_is_the_digest_of_all_fields_but_the_kind() -> None:
    fields = {k: v for k, v in asdict(REQUEST).items() if k != "kind"}
    assert REQUEST.id("m@a") == digest(["m@a", fields], 24)
    assert REQUEST.id("m@a") == "f0e643a67b92bb74865de40d"
    assert replace(REQUEST, kind="cot").id("m@a") == REQUEST.id("m@a")
    for other in (
        replace(REQUEST, sample=3),
        replace(REQUEST, form="cloze"),
        replace(REQUEST, schema=None),
        replace(REQUEST, sampling=Sampling(0.5, 8, 4)),
        replace(REQUEST, messages=REQUEST.messages[1:]),
    ):
        assert other.id("m@a") != REQUEST.id("m@a")
    assert REQUEST.id("m@b") != REQUEST.id("m@a")


def test_samples_of_one_text_share_a_query() -> None:
    assert query_of(REQUEST, "m@a") == query_of(replace(REQUEST, sample=9), "m@a")
    assert query_of(REQUEST, "m@a") != query_of(replace(REQUEST, form="cloze"), "m@a")
