"""The data that an audit collects from the database equal brute force over its listed facts."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from support.experiments import delete_result, store_result
from support.own_graphs import hogwarts_as, own_graphs, stored_edges
from support.references import reference as ref
from support.references import states_reference
from support.states.audits import is_whole
from support.states.comparisons import comparison
from support.stored_edits import random_facts, store_edit
from thinkeval import cypher
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.base.errors import ConflictError, NotFoundError, UsageError
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.rules import store as rule_store
from thinkeval.service.scoring.model_graph import entities_of, fact_row
from thinkeval.service.states import audit as collecting
from thinkeval.service.states.audit import collect
from thinkeval.service.states.audit_page import DATA, PAGE, build_files, export
from thinkeval.service.states.schemas import ComparisonOut, RoutesOut

FLOOR = 0.01
RULES = (
    rule([Atom("x", "q", "y"), Atom("y", "r", "z")], Atom("x", "r", "z"), support=3, body=4),
    rule([Atom("x", "t", "z")], Atom("x", "r", "z"), support=1, body=2),
)


@pytest.fixture(scope="module")
def compared(db: Database) -> Iterator[ComparisonOut]:
    """A stored comparison with one request, of which the graphs and rules are stored too."""
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        rule_store.save(db, graph, RULES, status="kept")
        facts = random_facts(29)
        edit, id = f"{prefix}-edit", f"{prefix}-comparison"
        store_edit(db, edit, facts, dataset=graph, method="compare:after")
        header = rows.GraphHeader(id, "edit", graph, model="m", edit=id, measures=("likelihood",))
        everything = [each for each in facts if each.question.role != "target_new"]
        entities = entities_of([each.question.fact for each in everything], {})
        write_graph(db, header, entities, [fact_row(each) for each in everything])
        made = comparison(id=id, graph=graph, edit=edit)
        rule = {"floor": FLOOR, "known": ref.KNOWN.known}
        routes = {"likelihood": RoutesOut(**brute(db, edit), **rule)}
        request = made.states[0].requests[0].model_copy(
            update={
                "subject": "S", "target_true": "T", "target_new": "N", "relation": "r",
                "prompt": "{} r", "routes": routes,
            }
        )  # fmt: skip
        queries = {"states/drift": cypher.query("states/drift").digest, "metrics/ifr": "0" * 16}
        update = {"requests": [request], "provenance": {"queries": queries}}
        state = made.states[0].model_copy(update=update)
        out = made.model_copy(update={"states": [state]})
        store_result(db, "comparison", out, [edit])
        yield out
        delete_result(db, id)
        db.write(int, "rules/delete_rules", dataset=graph)


def brute(db: Database, edit: str) -> dict[str, int]:
    return states_reference.routes(chains(db, edit), ref.KNOWN)


def chains(db: Database, edit: str) -> list[ref.Chain]:
    """The chains of other facts: the edited fact itself is no route to its object."""
    edges = stored_edges(db, edit, "likelihood")
    return ref.chains(edges, ref.Case("S", "T", None, "r"), 5, "exclude")


@pytest.fixture(scope="module")
def found(db: Database, compared: ComparisonOut) -> dict[str, Any]:
    return collect(db, compared.id)


def test_every_chain_is_there_with_its_products(
    db: Database, compared: ComparisonOut, found: dict[str, Any]
) -> None:
    wanted = {
        (each[0].subject, *(edge.object for edge in each)): ref.reliability(each)
        for each in chains(db, compared.states[0].requests[0].edit)
    }
    listed = found["chains"]
    assert {tuple(each["entities"]) for each in listed} == wanted.keys()
    assert len(listed) == len(wanted) > 20
    p = {each["fact"]: each["p"]["likelihood"] for each in found["facts"]}
    for each in listed:
        by = each["by"]["likelihood"]
        both = by["product_before"], by["product_after"]
        assert both == pytest.approx(wanted[tuple(each["entities"])])
        assert both == pytest.approx((math.prod(by["before"]), math.prod(by["after"])))
        assert by["before"] == [p[fact]["before"] for fact in by["facts"]]
        assert by["after"] == [p[fact]["after"] for fact in by["facts"]]


def test_open_and_closed_chains_are_counted_as_the_comparison_counts_them(
    compared: ComparisonOut, found: dict[str, Any]
) -> None:
    states = Counter(each["state"] for each in found["chains"])
    routes = compared.states[0].requests[0].routes["likelihood"]
    assert states["open"] + states["closed"] == routes.before
    assert states["open"] + states["opened"] == routes.after
    assert (states["opened"], states["closed"]) == (routes.opened, routes.closed)
    assert min(states["opened"], states["closed"], states["open"]) > 0, "each is among them"
    verdict = found["verdict"]
    (request,) = verdict["requests"]
    assert f"{routes.before} of {routes.chains} chains" in request["chains"]
    # Asked directly, .9 became .2: less often, and not gone, whatever became of the routes.
    assert request["gone"] == pytest.approx(1 - 0.2 / 0.9)
    assert request["kind"] == verdict["kind"]
    assert "less often" in request["direct"]


def test_rule_routes_have_the_strengths_of_their_premises(
    compared: ComparisonOut, found: dict[str, Any]
) -> None:
    p: dict[tuple[str, ...], tuple[float, float]] = {}
    for each in found["facts"]:
        both = each["p"]["likelihood"]
        p[each["subject"], each["relation"], each["object"]] = (both["before"], both["after"])
    confidence = {each.id: each.confidence for each in RULES}

    def strength(proof: dict[str, Any], side: int) -> float:
        if not proof["implied"]:
            return p[proof["subject"], proof["relation"], proof["object"]][side]
        below = math.prod(strength(premise, side) for premise in proof["premises"])
        return below * (confidence[proof["rule"]] or 1.0)

    proofs = [each for each in found["rule_routes"] if each["form"] == "proof"]
    assert {each["rule"] for each in proofs} == set(confidence)
    for each in proofs:
        goal = each["proof"]
        assert (goal["subject"], goal["relation"], goal["object"]) == ("S", "r", "T")
        assert each["before"] == pytest.approx(strength(goal, 0))
        assert each["after"] == pytest.approx(strength(goal, 1))
        was, now = each["before"] > FLOOR, each["after"] > FLOOR
        word = {(1, 1): "open", (0, 1): "opened", (1, 0): "closed", (0, 0): "never"}[was, now]
        assert each["state"] == word
    (summary,) = found["rules"]
    assert summary["routes"] == summary["listed"] == len(found["rule_routes"])
    assert {each["id"] for each in summary["rules"]} == set(confidence)


def test_the_queries_are_whole_and_those_that_were_read(
    db: Database, compared: ComparisonOut, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = {each["name"]: each for each in found["queries"]}
    assert listed["states/drift"]["same"] is True
    assert listed["metrics/ifr"]["same"] is False, "the comparison names another text"
    assert listed["chains/scored"]["text"] == cypher.query("chains/scored").text
    read: set[str] = set()
    real = Database.read

    def watched(self: Database, row: Any, name: str, /, **params: Any) -> Any:
        read.add(name)
        return real(self, row, name, **params)

    monkeypatch.setattr(Database, "read", watched)
    collect(db, compared.id)
    # Look-ups of one record, by which nothing is counted or multiplied.
    looked_up = {"edits/get_edit", "edits/get_score", "graph/get_graph"}
    assert read - looked_up <= set(collecting.USED)


def test_facts_are_those_of_the_graph_and_the_edited_ones(
    compared: ComparisonOut, found: dict[str, Any]
) -> None:
    facts = found["facts"]
    mine = [each for each in facts if each["request"] is None]
    edited = [each for each in facts if each["request"] == compared.states[0].requests[0].edit]
    assert len(mine) == 39
    assert sorted(each["role"] for each in edited) == ["target_new", "target_true"]


def test_it_is_written_as_a_folder_once(
    db: Database, compared: ComparisonOut, tmp_path: Path
) -> None:
    content = export(db, compared.id, tmp_path / "audit")
    assert is_whole(tmp_path / "audit")
    text = (tmp_path / "audit" / DATA).read_text(encoding="utf-8")
    assert json.loads(text) == json.loads(json.dumps(content))
    with pytest.raises(ConflictError):
        export(db, compared.id, tmp_path / "audit")
    export(db, compared.id, tmp_path / "audit", force=True)
    assert is_whole(tmp_path / "audit")


def test_without_rules_their_routes_are_not_known(
    db: Database, compared: ComparisonOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thinkeval.service.states import audit

    monkeypatch.setattr(audit, "kept_rules", lambda db, dataset: [])
    found = collect(db, compared.id)
    assert found["rule_routes"] == []
    assert "not known" in found["verdict"]["requests"][0]["rules"]

    def too_large(*args: object, **options: object) -> None:
        raise UsageError("The closure is too large.")

    monkeypatch.undo()
    monkeypatch.setattr(audit, "omega", too_large)
    found = collect(db, compared.id)
    assert found["rules"][0]["problem"] == "The closure is too large."
    assert b"too large" in build_files(found)[PAGE]


def test_over_rest_it_is_a_zip(client: TestClient, compared: ComparisonOut, tmp_path: Path) -> None:
    answer = client.get(f"/v1/comparisons/{compared.id}/audit")
    assert answer.headers["content-type"] == "application/zip"
    assert f"audit-{compared.id}.zip" in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / compared.id
    assert is_whole(folder)
    assert json.loads((folder / DATA).read_text())["header"]["comparison"] == compared.id
    assert client.get("/v1/comparisons/none-such/audit").status_code == 404
    page = client.get(f"/comparisons/{compared.id}").text
    assert f"/v1/comparisons/{compared.id}/audit" in page


def test_what_cannot_be_audited(db: Database, compared: ComparisonOut) -> None:
    with pytest.raises(NotFoundError, match="comparison"):
        collect(db, "none-such")
    state = compared.states[0].model_copy(update={"requests": []})
    watched = compared.model_copy(update={"id": f"{compared.id}-w", "states": [state]})
    store_result(db, "comparison", watched, [])
    with pytest.raises(UsageError, match="watched the graph") as caught:
        collect(db, watched.id)
    assert "--forget" in caught.value.remedy
    delete_result(db, watched.id)
