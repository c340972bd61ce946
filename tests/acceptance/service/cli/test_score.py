"""One edit's numbers, three ways: the command line, the documented Cypher, and brute force.

The Cypher is given to the server by the plain driver: once with parameters written out here as a
reader of the query's header would, once as `thinkeval db queries NAME --edit EDIT` prints it for
pasting into Neo4j Browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import neo4j
import pytest

from support.commands import Cli, Done, Mine
from support.own_graphs import stored_edges
from support.references import reference as ref
from thinkeval.cypher.run import Database

Call = Callable[..., Done]
MEASURES = ("likelihood", "p", "likelihood_norm")
METRICS = ("ifr", "ifr_by_steps", "preservation", "efficacy", "generalization", "active_chains")


@pytest.fixture(scope="module")
def score(thinkeval: Cli, mine: Mine) -> dict[str, Any]:
    """The demo's edit by MEMIT, as the command line prints it."""
    args = ("-g", mine.graph, "--model", mine.model, "-m", "memit", "--seed", "4", "--json")
    return thinkeval("score", "harry-potter--studied-at", *args).json[0]


@pytest.fixture(scope="module")
def driver(server: dict[str, str]) -> Iterator[neo4j.Driver]:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as connected:
        yield connected


def printed(score: dict[str, Any], metric: str, measure: str) -> dict[int | None, tuple[Any, ...]]:
    return {
        v["step"]: (v["value"], v["n"], v["excluded"])
        for v in score["values"]
        if (v["metric"], v["measure"]) == (metric, measure)
    }


def told(records: list[neo4j.Record]) -> dict[int | None, tuple[Any, ...]]:
    return {r["step"]: (r["value"], r["n"], r["excluded"]) for r in records}


def alike(found: dict[Any, tuple[Any, ...]], wanted: dict[Any, tuple[Any, ...]]) -> None:
    assert found.keys() == wanted.keys()
    for step, (value, n, excluded) in wanted.items():
        assert found[step][0] == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert found[step][1:] == (n, excluded)


@pytest.mark.parametrize("metric", METRICS)
def test_the_documented_query_gives_what_the_command_printed(
    at_once: Call, driver: neo4j.Driver, score: dict[str, Any], metric: str
) -> None:
    text = at_once("db", "queries", f"metrics/{metric}").out
    case = {
        "id": "mine",
        "graph": score["edit"],
        "subject": "Harry Potter",
        "object": "Hogwarts School of Witchcraft and Wizardry",
        "relation": "studied at",
        "rewrite": None,
    }
    for measure in MEASURES:
        records, _, _ = driver.execute_query(
            text,  # pyright: ignore[reportArgumentType]
            cases=[case],
            max_steps=5,
            parallel="before",
            bare="listed",
            unit="rewrite",
            rule="known",
            known=0.05,
            known_chain=0.01,
            threshold=0.0 if measure == "p" else 0.01,
            pre=f"{measure}_pre",
            post=f"{measure}_post",
        )
        alike(told(records), printed(score, metric, measure))


@pytest.mark.parametrize("metric", ["ifr", "preservation", "efficacy"])
def test_what_is_pasted_into_the_browser_gives_the_same(
    at_once: Call, driver: neo4j.Driver, score: dict[str, Any], metric: str
) -> None:
    for measure in MEASURES:
        args = ("--edit", score["edit"], "--measure", measure)
        lines = at_once("db", "queries", f"metrics/{metric}", *args).out.splitlines()
        given = [re.fullmatch(r":param (\w+) => (.*?);?", line) for line in lines]
        params = {
            # The server itself reads each literal, as the Browser lets it.
            m[1]: driver.execute_query(f"RETURN {m[2]} AS it").records[0]["it"]  # pyright: ignore[reportArgumentType]
            for m in given
            if m
        }
        assert "cases" in params
        query = "\n".join(line for line in lines if not line.startswith(":param"))
        records, _, _ = driver.execute_query(query, params)  # pyright: ignore[reportArgumentType]
        alike(told(records), printed(score, metric, measure))


def test_brute_force_gives_the_same(
    db: Database, score: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Trying all sequences of 50 entities would take days.
    monkeypatch.setattr(ref, "entity_sequences", ref.walked_sequences)
    case = ref.Case(score["subject"], score["target_true"], None, score["relation"])
    for measure in MEASURES:
        edges = stored_edges(db, score["edit"], measure)
        of = ref.chains(edges, case, walk=True)
        wanted: dict[str, dict[int | None, ref.Value]] = {
            "ifr": {None: ref.ifr(of)},
            "ifr_by_steps": dict(ref.ifr_by_steps(of, 5)),
            "preservation": {None: ref.preservation(edges, case, 5, "listed", "rewrite")},
            "efficacy": {None: ref.efficacy(edges, case)},
            "generalization": {None: ref.generalization(edges, case)},
            "active_chains": ref.active(of, 5, 0.0 if measure == "p" else 0.01),
        }
        assert set(wanted) == set(METRICS)
        for metric, values in wanted.items():
            expected = {step: (v.value, v.n, v.excluded) for step, v in values.items()}
            alike(printed(score, metric, measure), expected)


def test_the_numbers_are_no_constants(score: dict[str, Any]) -> None:
    ifr = printed(score, "ifr", "likelihood")[None]
    assert 0 < ifr[0] < 1
    assert ifr[1] > 90, "chains that the model knows"
    assert ifr[1] + ifr[2] == 103
    assert printed(score, "efficacy", "likelihood")[None][0] > 0.8
    values = [v[0] for v in printed(score, "ifr_by_steps", "likelihood").values()]
    assert len(set(values)) == 5


def test_the_graph_can_be_looked_at_as_readme_says(
    driver: neo4j.Driver, score: dict[str, Any]
) -> None:
    """The query that README gives for the links of an edit that survive."""
    records, _, _ = driver.execute_query(
        "MATCH (s:Entity)-[f:FACT {graph: $edit}]->(o:Entity)"
        " WHERE f.likelihood_post > 0.5 AND f.role <> 'target_new' RETURN s, f, o",
        edit=score["edit"],
    )
    assert len(records) > 20
    assert all(r["f"]["likelihood_pre"] > 0 for r in records)
    assert {r["s"]["name"] for r in records} > {"Gryffindor"}
