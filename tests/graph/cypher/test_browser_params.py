"""Text to paste into Neo4j Browser is Cypher, and sets the values that our own client sends."""

from __future__ import annotations

from typing import Any

import neo4j
import pytest

from support.references.reference import Case
from support.stored_graphs import case_map
from thinkeval.cypher.browser import literal, param_lines
from thinkeval.cypher.catalog import query
from thinkeval.cypher.errors import ParameterError
from thinkeval.cypher.params import bind

CASES = [case_map("g", Case('Ann "A." O\'Neil \\ `x`', "Zoë\n💡", None, "is {} of"), "né")]


def evaluated(server: dict[str, str], text: str) -> Any:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        return driver.execute_query(f"RETURN {text} AS value").records[0]["value"]


def test_the_lines_set_what_would_be_sent(server: dict[str, str]) -> None:
    lines = param_lines("metrics/active_chains", cases=CASES, threshold=1).split("\n")
    sent = bind(query("metrics/active_chains"), {"cases": CASES, "threshold": 1})
    found = {}
    for line in lines:
        assert line.startswith(":param ")
        assert line.endswith(";")
        name, _, value = line.removeprefix(":param ").removesuffix(";").partition(" => ")
        found[name] = evaluated(server, value)
    assert found == sent
    assert type(found["threshold"]) is float


@pytest.mark.parametrize("value", [None, True, -3, 1e-300, 0.1, "", [], {}, [[1.5], {"a b`": "'"}]])
def test_every_kind_of_value_survives(server: dict[str, str], value: Any) -> None:
    assert evaluated(server, literal(value)) == value


def test_wrong_parameters_are_refused_here_too() -> None:
    with pytest.raises(ParameterError):
        param_lines("metrics/ifr", cases=CASES, max_steps=9)
