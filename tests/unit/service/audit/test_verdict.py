"""The verdict of an audit: that of the comparison, with routes by rules, and its sentences."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from support.states.comparisons import known_facts, state, worded
from thinkeval.cypher import rows
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.states.audit import ByChains, ByRules, Request, state_of, verdict
from thinkeval.service.states.schemas import RouteRule

LISTED: dict[str, Any] = {"rules": [{"id": "r"}], "routes": 0, "listed": 0, "problem": None}


def fact(before: float, after: float) -> rows.FactRow:
    values: dict[str, Any] = dict.fromkeys(each.name for each in fields(rows.FactRow))
    return rows.FactRow(
        **values | {"role": "target_true", "likelihood_pre": before, "likelihood_post": after}
    )


def request(before: float, after: float, *, new: str = "", open_chains: int = 0) -> Request:
    """A request that was asked in all wordings, of which none gives the old object any more."""
    asked = state().requests[0 if new else 1]
    gone = None if before < 0.05 else 1 - after / before
    routes = asked.routes["likelihood"].model_copy(update={"after": open_chains})
    values = [
        MetricValue(metric="forgetting", measure="likelihood", value=gone, n=1),
        MetricValue(metric="efficacy", measure="likelihood", value=0.9, n=1),
    ]
    update = {"values": values, "routes": {"likelihood": routes}, "wordings": worded(before, after)}
    leaks = [
        MetricValue(metric=f"leak_at_{k}", measure="likelihood", value=1 - (1 - after) ** k, n=1)
        for k in (1, 5, 100)
    ]
    score = Score(
        edit="e", dataset="g", rewrite="r", subject="Ada", relation="lived-in", prompt="{} lived",
        target_true="London", target_new=new, model="m", method="compare:x", values=leaks,
        n_facts=1,
    )  # fmt: skip
    return Request(1, asked.model_copy(update=update), score, "likelihood", (fact(before, after),))


def found(*requests: Request, rules: tuple[str, ...] = (), **summary: Any) -> dict[str, Any]:
    by_rules = ByRules(LISTED | {"routes": len(rules)} | summary, [{"state": s} for s in rules])
    made = state().model_copy(update={"requests": [each.asked for each in requests]})
    return verdict(made, [(each, ByChains([], []), by_rules) for each in requests])


@pytest.mark.parametrize(
    ("before", "after", "chains", "rules", "kind"),
    [
        (0.9, 0.0, 0, (), "worked"),
        (0.9, 0.08, 0, ("closed",), "worked"),
        (0.9, 0.0, 1, (), "leaks"),
        (0.9, 0.0, 0, ("opened",), "leaks"),
        (0.9, 0.9, 0, (), "nothing"),
        (0.5, 0.9, 0, (), "nothing"),
        (0.04, 0.0, 0, (), "nothing"),
    ],
)
def test_the_outcome_of_one_fact(
    before: float, after: float, chains: int, rules: tuple[str, ...], kind: str
) -> None:
    out = found(request(before, after, open_chains=chains), rules=rules)
    (one,) = out["requests"]
    assert one["kind"] == out["kind"] == kind
    known = before >= 0.05
    assert one["gone"] == (pytest.approx(1 - after / before) if known else None)


def test_routes_that_are_not_known_are_no_closed_ones() -> None:
    out = found(request(0.9, 0.0), problem="too large")
    (one,) = out["requests"]
    assert one["kind"] is None
    assert "routes by rules are not known" in out["headline"]
    assert "not known: too large" in one["rules"]
    (one,) = found(request(0.9, 0.0), rules=())["requests"]
    assert one["rules"] == "No route by rules leads to London in this graph."


def test_a_replaced_object_is_not_asked_for_leak_at_k() -> None:
    (one,) = found(request(0.9, 0.001, new="Paris"))["requests"]
    assert (one["kind"], one["leak"]) == ("worked", None)
    assert "does not give London any more" in one["direct"]


def test_a_broken_model_has_forgotten_nothing() -> None:
    asked = request(0.9, 0.0)
    ruined = state().model_copy(
        update={"requests": [asked.asked], "side_effects": known_facts(65, 0, 0.0)}
    )
    out = verdict(ruined, [(asked, ByChains([], []), ByRules(LISTED, []))])
    assert out["kind"] == out["requests"][0]["kind"] == "broke"
    assert out["headline"].endswith("So no fact counts as forgotten.")


def test_the_headline_counts_several_facts() -> None:
    gone, left, unknown = request(0.9, 0.0), request(0.9, 0.8), request(0.01, 0.0)
    assert found(gone, gone)["headline"].startswith("It worked: 2 of 2 facts changed")
    text = found(gone, left, unknown)["headline"]
    assert text.startswith("It leaks: 2 of 3 facts not changed")
    assert text.endswith("1 of 3 facts changed, without an open route.")


def test_leak_at_k_is_of_requests_to_forget() -> None:
    (one,) = found(request(0.9, 0.02))["requests"]
    assert ".020 for k = 1" in one["leak"]
    assert f"{1 - 0.98**100:.2f}".removeprefix("0") in one["leak"]


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [(0.5, 0.5, "open"), (0.0, 0.5, "opened"), (0.5, 0.0, "closed"), (0.01, 0.01, "never"),
     (None, 0.5, "opened"), (0.5, None, "closed")],
)  # fmt: skip
def test_states_of_a_route(before: float | None, after: float | None, state: str) -> None:
    rule = RouteRule(floor=0.02, known=0.0)
    assert state_of(rule.leads(before), rule.leads(after)) == state
