"""The verdict of an audit: its outcome by what is gone and which routes are open."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from support.states.comparisons import state
from thinkeval.cypher import rows
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.states.audit import ByChains, ByRules, Request, state_of, verdict

LISTED: dict[str, Any] = {"rules": [{"id": "r"}], "routes": 0, "listed": 0, "problem": None}


def fact(before: float, after: float) -> rows.FactRow:
    values: dict[str, Any] = dict.fromkeys(each.name for each in fields(rows.FactRow))
    return rows.FactRow(
        **values | {"role": "target_true", "likelihood_pre": before, "likelihood_post": after}
    )


def request(before: float, after: float, *, new: str = "") -> Request:
    asked = state().requests[0 if new else 1]
    leaks = [
        MetricValue(metric=f"leak_at_{k}", measure="likelihood", value=1 - (1 - after) ** k, n=1)
        for k in (1, 5, 100)
    ]
    score = Score(
        edit="e", dataset="g", rewrite="r", subject="Ada", relation="lived-in", prompt="{} lived",
        target_true="London", target_new=new, model="m", method="compare:x", values=leaks,
        n_facts=1,
    )  # fmt: skip
    return Request(1, asked, score, "likelihood", (fact(before, after),))


def found(
    *requests: Request, chains: tuple[str, ...] = (), rules: tuple[str, ...] = (), **summary: Any
) -> dict[str, Any]:
    by_chains = ByChains([], [{"state": state} for state in chains])
    by_rules = ByRules(LISTED | {"routes": len(rules)} | summary, [{"state": s} for s in rules])
    return verdict(state(), [(each, by_chains, by_rules) for each in requests])


@pytest.mark.parametrize(
    ("before", "after", "chains", "rules", "outcome", "headline"),
    [
        (0.9, 0.0, ("closed", "never"), (), "erased", "Erased: the fact is gone"),
        (0.9, 0.08, ("closed",), ("closed",), "erased", "Erased"),
        (0.9, 0.0, ("open", "closed"), (), "open", "Routes are open"),
        (0.9, 0.0, ("closed",), ("opened",), "open", "Routes are open"),
        (0.9, 0.1, (), (), "not erased", "Not erased"),
        (0.9, 0.9, (), (), "not erased", "Not erased"),
        (0.5, 0.9, (), (), "not erased", "Not erased"),
        (0.04, 0.0, (), (), "undefined", "Not known before"),
    ],
)
def test_the_outcome_of_one_fact(
    before: float, after: float, chains: tuple[str, ...], rules: tuple[str, ...], outcome: str,
    headline: str,
) -> None:  # fmt: skip
    out = found(request(before, after), chains=chains, rules=rules)
    (one,) = out["requests"]
    assert one["outcome"] == outcome
    assert out["headline"].startswith(headline)
    known = before >= 0.05
    assert one["gone"] == (pytest.approx(1 - after / before) if known else None)


def test_routes_that_are_not_known_are_no_closed_ones() -> None:
    (one,) = found(request(0.9, 0.0), problem="too large")["requests"]
    assert one["outcome"] == "open"
    assert "not known: too large" in one["rules"]
    (one,) = found(request(0.9, 0.0), rules=())["requests"]
    assert one["rules"] == "No route by rules leads to London in this graph."


def test_the_old_object_decides_where_another_one_replaces_it() -> None:
    out = found(request(0.9, 0.001, new="Paris"))
    (one,) = out["requests"]
    assert (one["outcome"], one["leak"]) == ("erased", None)
    assert "does not give London any more" in one["direct"]


def test_the_worst_of_several_facts_leads_the_headline() -> None:
    gone, left, unknown = request(0.9, 0.0), request(0.9, 0.8), request(0.01, 0.0)
    assert found(gone, gone)["headline"].startswith("Erased: 2 facts gone")
    text = found(gone, left, unknown)["headline"]
    assert text.startswith("Not erased: 1 of 3 facts not gone; 1 of 3 facts not known before")
    assert text.endswith("1 of 3 facts gone, without an open route.")


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
    assert state_of(before, after, 0.01) == state
