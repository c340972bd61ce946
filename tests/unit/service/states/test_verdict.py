"""The verdict on a state: damage first, then the request, its wordings and its routes."""

from __future__ import annotations

from typing import Any

import pytest

from support.states.comparisons import comparison, known_facts, state, watched, worded
from thinkeval.service.models.edit import MetricValue
from thinkeval.service.states import table
from thinkeval.service.states.schemas import ComparedRequest, StateComparison
from thinkeval.service.states.verdict import verdict


def forgotten(
    value: float | None = 0.999, after: int = 0, wordings: list[Any] | None = None, **changes: Any
) -> StateComparison:
    """A state with one request to forget, and the number of chains that still lead there."""
    made = state()
    (request,) = [each for each in made.requests if each.kind == "forget"]
    routes = request.routes["likelihood"].model_copy(update={"after": after})
    forgetting = MetricValue(metric="forgetting", measure="likelihood", value=value, n=1)
    update = {
        "values": [forgetting], "routes": {"likelihood": routes},
        "wordings": worded() if wordings is None else wordings,
    }  # fmt: skip
    return made.model_copy(update={"requests": [request.model_copy(update=update)], **changes})


@pytest.mark.parametrize(
    ("made", "kind", "said"),
    [
        (forgotten(), "worked", "It worked: London is gone in 4 wordings"),
        (forgotten(after=1), "leaks", "1 chain of other facts still leads to London"),
        (forgotten(0.6), "leaks", "still gives London less often"),
        (forgotten(0.2), "nothing", "still gives London"),
        (forgotten(None), "nothing", "nothing to forget"),
        (
            forgotten(wordings=worded(question_3_shot=0.5)), "leaks",
            "still gives London when it is asked as a question behind three examples (p 0.900 →",
        ),
    ],
)  # fmt: skip
def test_one_fact(made: StateComparison, kind: str, said: str) -> None:
    found = verdict(made, "likelihood")
    assert found.kind == kind
    assert said in found.headline


@pytest.mark.parametrize(
    ("effects", "word"),
    [(known_facts(65, 0, 0.001), "collapsed"), (known_facts(6, 1, 0.8), "is damaged")],
)
def test_a_state_that_lost_what_it_knew_has_forgotten_nothing(effects: Any, word: str) -> None:
    """The fact is gone in every wording and no route is open; the other facts are gone as well."""
    found = verdict(forgotten(side_effects=effects), "likelihood")
    assert found.kind == "broke"
    assert found.headline.startswith(f"cd {word}: of ")
    assert "no fact counts as forgotten" in found.headline
    ruined = watched(comparison()).states[0].model_copy(update={"side_effects": effects})
    assert verdict(ruined, "likelihood").kind == "broke"


def test_facts_near_the_request_are_damage_as_of_an_edit() -> None:
    made = forgotten()
    lost = MetricValue(metric="subject_retention", measure="likelihood", value=0.1, n=3)
    request = made.requests[0].model_copy(update={"values": [*made.requests[0].values, lost]})
    found = verdict(made.model_copy(update={"requests": [request]}), "likelihood")
    assert (found.kind, "other facts about Ada keep 10 %" in found.headline) == ("broke", True)


def test_too_few_known_facts_are_said_and_judge_nothing() -> None:
    found = verdict(forgotten(side_effects=known_facts(4, 0, 0.0)), "likelihood")
    assert found.kind == "worked"
    assert "Damage is not judged: 4 known facts" in " ".join(found.sentences)


@pytest.mark.parametrize("wordings", [worded()[:1], worded(paraphrase_0_shot=None), []])
def test_nothing_is_gone_in_too_few_wordings(wordings: list[Any]) -> None:
    made = forgotten(wordings=wordings)
    found = verdict(made, "likelihood")
    assert found.kind is None
    assert found.headline.startswith("Not decided: London is not given in the wordings asked")
    assert "in paraphrases" in found.headline
    assert "gone" not in " ".join([found.headline, *found.sentences])
    again, _ = table.again(comparison().model_copy(update={"states": [made]}))
    assert again == "thinkeval compare ab cd --graph g --forms question,paraphrase"


def test_routes_by_rules_count_and_unknown_ones_decide_nothing() -> None:
    made = forgotten()
    edit: ComparedRequest = made.requests[0]
    assert verdict(made, "likelihood", {edit.edit: 2}).kind == "leaks"
    assert verdict(made, "likelihood", {edit.edit: None}).kind is None


def test_a_watched_graph_without_change_did_nothing() -> None:
    same = state().model_copy(update={"same": True})
    assert verdict(same, "likelihood").headline == "The states are the same: no fact differs."
    made = watched(comparison()).states[0]
    assert verdict(made, "likelihood").kind is None
    total = made.drift["likelihood"].total.model_copy(
        update={"kept": 7, "weakened": 0, "lost": 0, "added": 0, "unknown": 2}
    )
    drift = made.drift["likelihood"].model_copy(update={"total": total})
    still = made.model_copy(update={"drift": {"likelihood": drift}})
    assert verdict(still, "likelihood").kind == "nothing"
