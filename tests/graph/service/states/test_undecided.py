"""Answers that are undecided, through a comparison: counted, noted, and none becomes a number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from support.endpoints.cassette_server import playing
from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.service.base.errors import UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.growth.openai_endpoint import CLOZE, OPEN_QUESTION
from thinkeval.service.scoring import record
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.states.compare import compare
from thinkeval.service.states.kind import COMPARISON
from thinkeval.service.states.schemas import ComparisonIn, StateComparison
from thinkeval.service.states.spec import StateIn

ABLE: list[dict[str, Any]] = [
    {"contains": OPEN_QUESTION, "answers": ["It rains.", "It snows."] * 9},
    {"contains": CLOZE, "answers": [" Paris"]},
]
REWRITE = "harry-potter--studied-at--ilvermorny-school-of-witchcraft-and-wizardry"
OTHER = "albus-dumbledore--was-the-head-of--durmstrang-institute"
LOST = "Gryffindor is a house at"
"""A prompt on a chain of the rewrite, whose answers are never decided in the second state."""
DOUBTED = "Ron Weasley was sorted into"
"""A prompt of which one answer in four is undecided."""


@pytest.fixture(scope="module")
def compared(runtime: Runtime) -> Iterator[tuple[Runtime, StateComparison]]:
    with own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        right: dict[str, list[str]] = defaultdict(list)
        for fact in datasets.content(runtime.db, graph).facts:
            right[fact.prompt.replace("{}", fact.subject)].append(fact.object)
        said: dict[str, list[str]] = {prompt: [", ".join(all_)] for prompt, all_ in right.items()}
        doubtful = said | {
            LOST: ["<think>The user asks about Hogwarts. So"],
            DOUBTED: [*said[DOUBTED] * 2, "Slytherin.", "Either Gryffindor or Slytherin."],
        }
        with _playing(said) as first, _playing(doubtful) as second:
            states = [StateIn(model=m, endpoint=t.url) for m, t in (("a", first), ("b", second))]
            asked = ComparisonIn(
                base=states[0], states=states[1:], graph=graph, rewrites=[REWRITE, OTHER], samples=4
            )
            yield runtime, compare(runtime, asked).states[0]


def _playing(said: dict[str, list[str]]) -> Any:
    # The longest prompt first: a shorter one may be a part of it.
    rules = [
        {"contains": prompt, "answers": said[prompt]} for prompt in sorted(said, key=len)[::-1]
    ]
    return playing({"rules": [*ABLE, *rules], "otherwise": ["Nothing."]})


def test_undecided_answers_are_counted_and_noted(
    compared: tuple[Runtime, StateComparison],
) -> None:
    runtime, found = compared
    assert found.before.about["replies"]["undecided"] == 0
    replies = found.after.about["replies"]
    assert (replies["undecided"], replies["unclosed"]) == (5, 4)
    (note,) = [each for each in found.notes if "undecided" in each]
    assert "5 of" in note
    assert "4 of them as their reasoning does not end" in note
    assert COMPARISON.store.result(runtime.db, found.id).notes == found.notes


def test_a_fact_without_a_decided_answer_has_no_probability(
    compared: tuple[Runtime, StateComparison],
) -> None:
    runtime, found = compared
    facts = {
        row.prompt.replace("{}", row.subject): row
        for row in runtime.db.read(rows.FactRow, "graph/facts", graph=found.id)
    }
    assert (facts[LOST].p_pre, facts[LOST].p_post, facts[LOST].change) == (1.0, None, None)
    assert facts[DOUBTED].p_post == pytest.approx(2 / 3), "of the decided answers"
    total = found.drift["p"].total
    assert total.missing == 1
    stored = runtime.db.read(rows.FactRow, "graph/facts", graph=found.id)
    assert total.n == len(stored) - 1


def test_a_request_with_such_a_fact_has_no_metric_of_p(
    compared: tuple[Runtime, StateComparison],
) -> None:
    """Leaving the chain out would change the metric; counting it as 0 would be a wrong answer."""
    runtime, found = compared
    harry, albus = found.requests
    assert [value for value in harry.values if value.measure == "p"] == []
    values = {value.metric: value for value in albus.values if value.step is None}
    assert values["ifr"].value is not None
    assert values["efficacy"].value == 0.0
    assert record.get_score(runtime.db, harry.edit).edit == harry.edit


def test_a_state_that_decides_no_answer_is_refused_and_nothing_is_stored(runtime: Runtime) -> None:
    with own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        endless = {"rules": ABLE, "otherwise": ["<think>The user asks about Hogwarts. So"]}
        with _playing({}) as first, playing(endless) as second:
            states = [StateIn(model=m, endpoint=t.url) for m, t in (("a", first), ("b", second))]
            asked = ComparisonIn(base=states[0], states=states[1:], graph=graph, samples=2)
            with pytest.raises(
                UsageError, match=r"nothing to compare: (\d+) of \1 .* of b "
            ) as got:
                compare(runtime, asked)
        assert "their reasoning does not end" in got.value.detail
        assert "--max-new-tokens" in got.value.remedy
        assert COMPARISON.store.page(runtime.db, graph=graph) == []
