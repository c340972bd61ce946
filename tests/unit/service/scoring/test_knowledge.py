"""An edit of a fact that the model does not know is refused, from the bound on it is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from thinkeval.editing.errors import UnknownFactError
from thinkeval.loaders.records import Fact
from thinkeval.service.scoring import knowledge
from thinkeval.service.scoring.probe import Answer, ProbedFact, Question


def resolved(known: float) -> Any:
    request = SimpleNamespace(
        anyway=False,
        rewrite=SimpleNamespace(kind="replace"),
        options=SimpleNamespace(known=known),
    )
    return SimpleNamespace(request=request)


@pytest.mark.parametrize("measure", ["likelihood", "p"])
def test_a_fact_counts_as_known_from_the_bound_on(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge, "_remedy", lambda *_: "another wording")
    values = {"likelihood": 0.0, "p": 0.0, "likelihood_norm": 1.0, measure: 0.05}
    fact = Question(Fact("Paris", "is a city in", "France", prompt="{} is in"), role="target_true")
    knowledge.require(resolved(0.05), [ProbedFact(fact, Answer(values))])
    with pytest.raises(UnknownFactError):
        knowledge.require(resolved(0.0500001), [ProbedFact(fact, Answer(values))])
