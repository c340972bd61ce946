"""`thinkeval graph grow start`, `grow show`, and `growth` with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from support.endpoints.scripted_model import SCHOOL, ScriptedModel
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.cli.main import main
from thinkeval.service.growth.open_endpoint import Opened
from thinkeval.service.growth.schemas import CandidateOut, GrowthOut

SEED = "Harry Potter|studied at|Hogwarts"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, server: dict[str, str]) -> ScriptedModel:
    made = ScriptedModel()
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    opened = lambda *_, **__: Opened(made, "json_object")  # noqa: E731
    monkeypatch.setattr("thinkeval.service.growth.run.opened", opened)
    return made


@pytest.fixture
def cleared(db: Database, graph_id: str) -> Iterator[None]:
    yield
    for row in db.read(GrowthOut, "growth/runs", limit=1000):
        if row.graph.startswith(graph_id):
            db.autocommit(int, "growth/delete_run", id=row.id)


def thinkeval(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    told = capsys.readouterr()
    return int(stop.value.code or 0), told.out + told.err


def started(graph: str, *more: str) -> list[str]:
    given = ["--endpoint", "http://test/v1", "--model", "scripted", "--samples", "2"]
    return ["graph", "grow", "start", "--seed", SEED, "--graph", graph, *given, *more]


@pytest.mark.usefixtures("cleared")
def test_a_run_from_the_command_line(
    db: Database, model: ScriptedModel, graph_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, dry = thinkeval(capsys, *started(graph_id, "--dry-run", "--json"))
    calls = {each["what"]: each["answers"] for each in json.loads(dry)["calls"]}
    assert (code, model.asked) == (0, [])
    assert calls["validation of the seed"] == 2
    code, out = thinkeval(capsys, *started(graph_id))
    assert code == 0
    assert "iteration 1: 1 triplets, 1 paths" in out
    assert "It is finished: no new triplet." in out
    assert "Harry Potter —was sorted into→ Gryffindor —is a house at→ Hogwarts" in out
    assert f"thinkeval score --graph {graph_id} --all" in out
    (run,) = [row for row in db.read(GrowthOut, "growth/runs") if row.graph == graph_id]
    assert (run.state, run.iterations[-1].paths) == ("finished", 4)
    asked = len(model.asked)
    code, again = thinkeval(capsys, *started(graph_id, "--json"))
    told = json.loads(again)
    assert (code, len(model.asked)) == (0, asked)
    assert told["calls"] == told["iterations"][-1]["calls"] == asked
    code, shown = thinkeval(capsys, "results", "growth", run.id, "--json")
    assert json.loads(shown)["iterations"] == told["iterations"]
    table = thinkeval(capsys, "results", "growth", run.id, "--table", "iterations", "-f", "csv")[1]
    assert table.splitlines()[-1].startswith(f"{len(told['iterations'])},{len(SCHOOL)},4,")
    (listed,) = [each for each in json.loads(thinkeval(capsys, "results", "growth", "--json")[1])
                 if each["id"] == run.id]  # fmt: skip
    assert (listed["status"], listed["kind"]) == ("succeeded", "growth")
    found = next(
        c
        for c in db.read(CandidateOut, "growth/candidates", run=run.id)
        if c.object == "Ron Weasley"
    )
    shown = thinkeval(capsys, "graph", "grow", "show", run.id, found.id)[1]
    assert "Harry Potter was a friend of Ron Weasley." in shown
    assert thinkeval(capsys, "results", "growth", run.id, "--delete")[0] == 0
    assert not db.read(GrowthOut, "growth/runs", id=run.id)
    assert db.read(rows.GraphRow, "graph/get_graph", graph=graph_id)


@pytest.mark.usefixtures("cleared")
def test_no_chain_is_exit_1_with_the_reasons(
    model: ScriptedModel, graph_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model.facts = [fact for fact in SCHOOL if fact[0] != "Harry Potter"]
    code, out = thinkeval(capsys, *started(graph_id))
    assert code == 1
    assert "No chain was found." in out
    assert "unknown to the model" in out


@pytest.mark.usefixtures("cleared")
def test_a_run_is_submitted_only_where_the_service_may_call_the_server(
    db: Database,
    model: ScriptedModel,
    graph_id: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, out = thinkeval(capsys, *started(graph_id, "--queue"))
    assert code == 2
    assert "THINKEVAL_LLM_ENDPOINTS" in out
    monkeypatch.setenv("THINKEVAL_LLM_ENDPOINTS", "http://other/v1,http://test/v1/")
    code, out = thinkeval(capsys, *started(graph_id, "--queue", "--json"))
    assert (code, json.loads(out)["status"]) == (0, "queued")
    assert model.asked == []


def test_bad_requests(capsys: pytest.CaptureFixture[str], model: ScriptedModel) -> None:
    for arguments in (
        ["graph", "grow", "start"],
        ["graph", "grow", "start", "--seed", "x", "--endpoint", "http://test/v1"],
    ):
        assert thinkeval(capsys, *arguments)[0] == 2
