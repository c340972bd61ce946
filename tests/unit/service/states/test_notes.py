"""Notes of a comparison on what was not asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from thinkeval.loaders.records import Check
from thinkeval.service.states import compare
from thinkeval.service.states.schemas import StateOut


def state(name: str, kind: str) -> StateOut:
    return StateOut(spec=name, name=name, kind=kind, digest=name, about={})


@pytest.mark.parametrize(
    ("kinds", "checks", "noted"),
    [
        (("model", "endpoint"), (Check("a", "Who?", ("Ada",)),), True),
        (("endpoint", "model"), (Check("a", "Who?", ("Ada",)),), True),
        (("model", "model"), (Check("a", "Who?", ("Ada",)),), False),
        (("model", "endpoint"), (), False),
    ],
)
def test_questions_that_an_endpoint_is_not_asked_are_noted(
    kinds: tuple[str, str], checks: tuple[Check, ...], noted: bool
) -> None:
    request = SimpleNamespace(request=SimpleNamespace(rewrite=SimpleNamespace(checks=checks)))
    run: Any = SimpleNamespace(
        notes=[],
        parts=[{}, {}],
        posted=SimpleNamespace(samples=0),
        asked=SimpleNamespace(requests=[request], whole=True),
    )
    compare._note(run, state("base", kinds[0]), state("other", kinds[1]))
    assert any("questions of the data set were not asked" in note for note in run.notes) == noted
