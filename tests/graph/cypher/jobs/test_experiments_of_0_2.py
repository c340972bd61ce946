"""Co-edits, comparisons and lines of states of 0.2: migrated, shown with their numbers, deleted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest

from support.commands import Cli
from support.job_queries import admin as admin
from thinkeval.cypher import migrations
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError
from thinkeval.service.base.settings import Settings
from thinkeval.service.leakcut.coedit_kind import COEDIT
from thinkeval.service.states import table
from thinkeval.service.states.kind import COMPARISON
from thinkeval.service.states.schemas import ComparisonIn
from thinkeval.service.states.spec import StateIn

OLD = Path(__file__).with_name("before_experiments.cypher")
TEXT = "\n".join(line for line in OLD.read_text("utf-8").splitlines() if line[:2] != "//")
STORED = "CoEdit|Comparison|Lasting|Experiment|Job|Edit|RewriteRequest"
REWRITE = {
    "id": "old|rewrite", "rewrite": "rewrite", "dataset": "old", "subject": "S", "relation": "r",
    "prompt": "{} r", "target_true": "T", "target_new": "N",
}  # fmt: skip


def outcomes(label: str) -> dict[str, dict[str, Any]]:
    """The results that 0.2 stored under a label, by id; `lost` was `removed`."""
    found = re.findall(rf'^CREATE \(:{label} .*outcome: ("(?:[^"\\]|\\.)*")', TEXT, re.MULTILINE)
    read = [json.loads(json.loads(each).replace('"removed"', '"lost"')) for each in found]
    return {each["id"]: each for each in read}


(COEDITED,) = outcomes("CoEdit").values()
COMPARED = outcomes("Comparison")
(LINE,) = outcomes("Lasting").values()


@pytest.fixture
def old(db: Database, admin: neo4j.Driver) -> Iterator[None]:
    """The nodes of 0.2 beside those of other tests, in a database of that version, migrated."""
    (before,) = admin.execute_query(f"MATCH (n:{STORED}) RETURN collect(elementId(n)) AS ids")[0]
    try:
        _load(admin)
        admin.execute_query("MATCH (s:Schema) SET s.version = 1")
        db.setup_schema()
        yield
    finally:
        admin.execute_query(
            f"MATCH (n:{STORED}) WHERE NOT elementId(n) IN $ids DETACH DELETE n", ids=before["ids"]
        )
        admin.execute_query("MATCH (s:Schema) SET s.version = $v", v=migrations.latest())


def _load(admin: neo4j.Driver) -> None:
    with admin.session() as session:
        for statement in TEXT.split(";\n"):
            if statement.strip():
                session.run(statement.strip().removesuffix(";")).consume()  # type: ignore[arg-type]
        session.run(
            "MATCH (j:Job {kind: 'lasting'}) CREATE (k:Job)"
            " SET k = j{.*, id: $id, status: 'succeeded', result: $result}",
            id="lasting-job-done", result=LINE["id"],
        ).consume()  # fmt: skip
        session.run(
            "CREATE (r:RewriteRequest) SET r = $rewrite WITH r"
            " MATCH (:CoEdit|Comparison)-->(e:Edit) MERGE (e)-[:REWRITES]->(r)",
            rewrite=REWRITE,
        ).consume()


def test_the_export_has_all_three_kinds() -> None:
    assert len(COMPARED) == 4
    assert len(LINE["states"]) == 3
    assert len(COEDITED["rounds"]) == 2


@pytest.mark.usefixtures("old")
def test_no_node_or_edge_of_0_2_is_left(admin: neo4j.Driver) -> None:
    found = admin.execute_query(
        "MATCH (n:CoEdit|Comparison|Lasting) RETURN n.id AS left"
        " UNION ALL MATCH (:Experiment)-[r:ROUND|COMPARED|STATE]->() RETURN type(r) AS left"
        " UNION ALL MATCH (j:Job {kind: 'lasting'}) RETURN j.id AS left"
    )[0]
    assert found == []


@pytest.mark.usefixtures("old")
def test_a_co_edit_has_its_rounds(db: Database) -> None:
    out = COEDIT.store.result(db, COEDITED["id"])
    kept = out.model_dump(mode="json", exclude={"reused", "created_at"})
    for name, value in COEDITED.items():
        if name not in ("reused", "created_at"):
            assert kept[name] == value, name
    for row in COEDITED["rounds"]:
        (found,) = COEDIT.store.page(db, edit=row["edit"])
        assert found.id == out.id


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("id", COMPARED)
def test_a_comparison_of_two_states_is_one_of_a_base_and_a_state(db: Database, id: str) -> None:
    out, was = COMPARISON.store.result(db, id), COMPARED[id]
    (state,) = out.states
    assert (out.id, state.id, out.n_facts, out.graph) == (id, id, was["n_facts"], was["graph"])
    shown = state.model_dump(mode="json")
    kept = state.model_dump(mode="json", exclude_unset=True)  # without what came after 0.2
    for name in ("measures", "drift", "notes", "same", "seconds", "provenance"):
        assert kept[name] == was[name], name
    for side in ("before", "after"):
        old_one = {name: each for name, each in was[side].items() if name != "word"}
        assert shown[side] == old_one | {"spec": was[side]["word"]}, side
    assert kept["requests"] == was["requests"]
    asked = ComparisonIn.model_validate(out.request)
    assert [asked.base.spec, asked.states[0].spec] == [
        _word(was["request"][side]) for side in ("before", "after")
    ]
    assert table.tables(out)


def _word(state: dict[str, Any]) -> str:
    return StateIn.model_validate(state).spec


@pytest.mark.usefixtures("old")
def test_a_line_of_states_is_a_comparison_of_several(db: Database) -> None:
    out = COMPARISON.store.result(db, LINE["id"])
    assert (out.id, out.graph, out.notes) == (LINE["id"], LINE["graph"], LINE["notes"])
    assert out.base.name == LINE["base"]
    assert [state.id for state in out.states] == [each["comparison"] for each in LINE["states"]]
    for state, was in zip(out.states, LINE["states"], strict=True):
        (request,) = state.requests
        assert (state.spec, request.edit) == (was["change"], was["edit"])
        assert state.updates == ([was["fine_tune"]] if was["fine_tune"] else [])
        assert state.after.digest == was["digest"]
        for measure, numbers in was["numbers"].items():
            kept = request.retention[measure]
            for name in ("retention", "change", "target_true"):
                assert getattr(kept, name) == numbers[name]
            assert kept.reopened.model_dump() == numbers["reopened"]
            assert request.number("ifr", measure) == numbers["ifr"]
            assert request.value("preservation", measure).n == numbers["facts"]
    last = LINE["states"][-1]["numbers"]["likelihood"]["retention"]
    assert f"After 2 later states, {last:.3f} of the change is left." in table.sentences(out)
    assert table.retention_figure(out, "svg").startswith(b"<?xml")
    assert COMPARISON.store.get(db, "lasting-job-done").result == out


@pytest.mark.usefixtures("old")
def test_queued_jobs_go_on_or_say_how_to_submit_them_again(db: Database) -> None:
    open_ = [each for each in COMPARISON.store.listing(db) if each.status != "succeeded"]
    by_status = {each.status: each for each in open_ if each.graph in ("hogwarts", "")}
    failed = by_status["failed"]
    assert "Submit it again as a comparison" in (failed.remedy or "")
    asked = ComparisonIn.model_validate(COMPARISON.upgraded(by_status["queued"].request))
    assert (asked.base.spec, asked.states[0].spec) == ("organism", "organism:seed=1")


@pytest.mark.usefixtures("old")
def test_commands_list_show_and_delete_them(
    db: Database, admin: neo4j.Driver, server: dict[str, str], test_settings: Settings,
    tmp_path: Path,
) -> None:  # fmt: skip
    homes = {
        "THINKEVAL_HOME": str(test_settings.home),
        "THINKEVAL_CACHE": str(test_settings.cache),
    }
    cli = Cli(server | homes, tmp_path)
    listed = cli("results", "comparisons").out
    for id in (*COMPARED, LINE["id"]):
        assert id in listed
    assert COEDITED["id"] in cli("results", "coedits").out
    assert "of the change is left" in cli("results", "comparisons", LINE["id"]).out
    assert "Round" in cli("results", "coedits", COEDITED["id"]).out
    shared = LINE["states"][0]["edit"]

    def is_stored(edit: str) -> bool:
        return bool(admin.execute_query("MATCH (e:Edit {id: $id}) RETURN e", id=edit)[0])

    cli("results", "comparisons", LINE["id"], "--delete")
    with pytest.raises(NotFoundError):
        COMPARISON.store.get(db, LINE["id"])
    assert is_stored(shared), "comparisons scored it too"
    for id in COMPARED:
        cli("results", "comparisons", id, "--delete")
    for edit in (each["edit"] for each in LINE["states"]):
        assert not is_stored(edit)
    cli("results", "coedits", COEDITED["id"], "--delete")
    for row in COEDITED["rounds"]:
        assert is_stored(row["edit"]), "an edit stays"
