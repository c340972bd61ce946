"""The old object of a request and what comes in its place, as pages show them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from thinkeval.service.web.pages.render import objects


@pytest.mark.parametrize("made", [dict, SimpleNamespace])
def test_objects_of_records_and_of_mappings(made: type) -> None:
    assert objects(made(target_true="A<", target_new="B")) == "<s>A&lt;</s> → B"
    assert objects(made(target_true="A", target_new="")) == "<s>A</s> (forgotten)"
