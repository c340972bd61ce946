"""Parameters that are refused before anything is sent, and those that are sent otherwise."""

from __future__ import annotations

import math
from typing import Any

import pytest

from thinkeval.cypher.catalog import query
from thinkeval.cypher.errors import ParameterError
from thinkeval.cypher.params import bind

FACT = {"id": "f", "subject": "a", "relation": "r", "object": "b", "prompt": "{} r"}
CASE = {"id": "c", "graph": "g", "subject": "a", "object": "b"}


def sent(name: str, **given: Any) -> dict[str, Any]:
    return bind(query(name), given)


def test_defaults_of_the_header_are_filled_in() -> None:
    assert sent("metrics/ifr", cases=[CASE]) == {
        "cases": [CASE],
        "max_steps": 5,
        "bare": "listed",
        "pre": "p_pre",
        "post": "p_post",
        "parallel": "before",
        "known": 0.05,
        "known_chain": 0.01,
        "rule": "known",
    }


def test_only_the_keys_that_are_given_are_sent() -> None:
    row = FACT | {"p_pre": 0.5, "change": None}
    assert sent("graph/merge_facts", graph="g", rows=[row])["rows"] == [row]


def test_numbers_become_floats_where_cypher_would_divide_integers() -> None:
    row = FACT | {"p_pre": 1, "p_post": 0}
    found = sent("graph/merge_facts", graph="g", rows=[row])["rows"][0]
    assert [type(found[key]) for key in ("p_pre", "p_post")] == [float, float]
    assert type(sent("metrics/active_chains", cases=[CASE], threshold=0)["threshold"]) is float


def test_tuples_are_lists() -> None:
    row = FACT | {"questions": ("q",), "cases": ()}
    assert sent("graph/merge_facts", graph="g", rows=(row,))["rows"][0]["questions"] == ["q"]


@pytest.mark.parametrize(
    ("name", "given", "complaint"),
    [
        ("graph/facts", {}, r"needs the parameter \$graph"),
        ("graph/facts", {"graf": "g"}, r"no parameter \$graf; did you mean \$graph"),
        ("schema/server", {"zz": 1}, r"no parameter \$zz; it takes none"),
        ("graph/facts", {"graph": None}, "must be the id of a graph"),
        ("graph/facts", {"graph": " "}, "must be the id of a graph"),
        ("graph/facts", {"graph": "a|b"}, "must be the id of a graph"),
        ("graph/list_graphs", {"kind": "datset"}, "not one of dataset, model, edit"),
        ("graph/list_graphs", {"dataset": 7}, "must be a STRING, not 7"),
        ("graph/list_graphs", {"incomplete": 1}, "must be a BOOLEAN"),
        ("metrics/ifr", {"cases": [CASE], "max_steps": 6}, "not from 1 to 5"),
        ("metrics/ifr", {"cases": [CASE], "max_steps": 0}, "not from 1 to 5"),
        ("metrics/ifr", {"cases": [CASE], "max_steps": True}, "must be an INTEGER"),
        ("metrics/ifr", {"cases": [CASE], "max_steps": 3.0}, "must be an INTEGER"),
        ("metrics/ifr", {"cases": [CASE], "bare": "exlcude"}, "not one of listed, include"),
        ("metrics/ifr", {"cases": CASE}, "must be a LIST<MAP>"),
        ("metrics/ifr", {"cases": ["c"]}, r"\$cases\[0\] must be a MAP"),
        ("metrics/ifr", {"cases": [CASE, {"id": "x"}]}, r"\$cases\[1\] lacks the key 'graph'"),
        ("metrics/ifr", {"cases": [CASE | {"obejct": "b"}]}, "unknown key 'obejct'"),
        ("metrics/ifr", {"cases": [CASE | {"object": 3}]}, r"\$cases\[0\].object must be a STRING"),
        ("metrics/active_chains", {"cases": [CASE], "threshold": "0"}, "must be a FLOAT"),
        ("graph/merge_facts", {"graph": "g", "rows": [FACT | {"role": "old"}]}, "not one of fact"),
        ("graph/merge_facts", {"graph": "g", "rows": [FACT | {"cases": "w"}]}, "must be a LIST"),
        (
            "graph/merge_facts",
            {"graph": "g", "rows": [FACT | {"cases": [1]}]},
            r"cases\[0\] must be",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    name: str, given: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ParameterError, match=complaint) as caught:
        sent(name, **given)
    assert name in caught.value.detail
    assert caught.value.remedy


@pytest.mark.parametrize("value", [-0.1, 1.0000001, math.nan, math.inf, True, "0.5", 2])
@pytest.mark.parametrize("key", ["p_pre", "likelihood_post", "likelihood_norm_pre"])
def test_probabilities_lie_between_0_and_1(key: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=rf"\$rows\[1\]\.{key} "):
        sent("graph/merge_facts", graph="g", rows=[FACT, FACT | {key: value}])


def test_probabilities_in_lists_are_checked_too() -> None:
    row = FACT | {"paraphrases_p_post": [0.5, 1.5]}
    with pytest.raises(ParameterError, match=r"\$rows\[0\].paraphrases_p_post\[1\] is 1.5"):
        sent("graph/merge_facts", graph="g", rows=[row])


def test_a_long_value_is_shown_in_short() -> None:
    with pytest.raises(ParameterError) as caught:
        sent("graph/facts", graph=["x" * 1000])
    assert len(caught.value.detail) < 250
