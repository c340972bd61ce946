"""Knowledge sets as a user has them: built, moved, shown and reported; also by REST."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.commands import Done
from support.serving import Service, serving
from thinkeval.cypher.run import Database
from thinkeval.service.depedit import store
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.store import Answer, RunRecord

Call = Callable[..., Done]
SETTINGS = ("CQ_DT", "CQ_UT", "ICQ_DT")


@pytest.fixture
def built(at_once: Call, atlas: str) -> list[str]:
    """Nine sets: three rules in three settings. Built again they are as they were."""
    options = [word for name in SETTINGS for word in ("--setting", name)]
    return [
        each["id"]
        for each in at_once("lab", "depedit", "build", atlas, *options, "--json").json["sets"]
    ]


@pytest.fixture(scope="module")
def service(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("depedit")
    with serving(environment, folder, "--workers", "0") as running:
        running.ready()
        yield running


def run_on(db: Database, set_id: str, *, right: bool) -> str:
    """A run whose model was always right, or said nothing."""
    knowledge = store.load_set(db, set_id)
    name = "derive" if right else "base"
    answers = [Answer(q.id, (q.expected if right else None) or "") for q in questions(knowledge)]
    return store.save_run(db, RunRecord(set_id, name, None, "tests"), answers)


def test_sets_go_out_and_come_back(
    at_once: Call, built: list[str], atlas: str, tmp_path: Path, db: Database
) -> None:
    assert len(built) == 9
    before = {name: store.load_set(db, name) for name in built}
    file = tmp_path / "sets.jsonl"
    done = at_once("lab", "depedit", "export", "-g", atlas, "-o", file)
    assert (done.code, done.err) == (0, f"Wrote {file}\n")
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 9
    assert at_once("lab", "depedit", "delete", *built).code == 0
    assert at_once("lab", "depedit", "list", "-g", atlas, "--json").json == []
    file.write_text("\n".join([*lines[:4], '{"init":', *lines[4:]]), encoding="utf-8")
    refused = at_once("lab", "depedit", "import", file, "--strict").error
    assert "line 5: column" in refused
    assert at_once("lab", "depedit", "list", "-g", atlas, "--json").json == []
    told = at_once("lab", "depedit", "import", file, "--json").json
    assert [each["status"] for each in told["sets"]] == ["saved"] * 9
    assert [each["line"] for each in told["refused"]] == [5]
    assert {name: store.load_set(db, name) for name in built} == before
    again = at_once("lab", "depedit", "import", file)
    assert again.code == 0
    assert again.out.count("unchanged") == 9
    assert "refused: line 5" in again.err


def test_a_set_and_a_run_are_shown(at_once: Call, built: list[str], db: Database) -> None:
    name = next(each for each in built if "icq" in each)
    shown = at_once("lab", "depedit", "show", name).out
    assert "established" in shown
    assert "taught as" in shown
    told = at_once("lab", "depedit", "show", name, "--copy", "2", "--json").json
    assert len(told["questions"]) >= 41
    assert {q["change"] for q in told["questions"]} >= {"kept", "updated"}
    assert "no copy" in at_once("lab", "depedit", "show", name, "--copy", "3").error
    run = run_on(db, name, right=True)
    assert at_once("lab", "depedit", "show", run).out.count("1.000") == 7
    shares = at_once("lab", "depedit", "show", run, "--json").json["metrics"]
    assert (shares["upd_i"]["value"], shares["upd_i"]["copies"]) == (1.0, 3)
    assert at_once("lab", "depedit", "delete", run).out == f"Deleted the run {run}\n"


def test_the_tables_say_the_same_everywhere(
    at_once: Call, built: list[str], atlas: str, service: Service, db: Database
) -> None:
    for name in built[:2]:
        run_on(db, name, right=True)
        run_on(db, name, right=False)
    text = at_once("lab", "depedit", "report", "-g", atlas, "-f", "markdown").out
    assert text.count("| Setting | Facts | Model | Method |") == 2
    assert "Table 3" in text
    assert "Tables 4 and 7" in text
    tables = at_once(
        "lab", "depedit", "report", "-g", atlas, "--setting", "cq_dt", "-f", "json"
    ).json
    by_rest = service.get("/v1/depedit/report", graph=atlas, setting="CQ_DT")["items"]
    assert {row["method"] for row in by_rest} == {"derive", "base"}
    for row, told in zip(tables["specificity"], by_rest, strict=True):
        assert row["Method"] == told["method"]
        assert row["Upd.S (%)"] == pytest.approx(100 * told["means"]["upd_s"]["value"])
        assert row["n Upd.S"] == told["means"]["upd_s"]["n"] == 2
    only = ("-g", atlas, "--setting", "CQ_DT", "--table", "implications")
    printed = at_once("lab", "depedit", "report", *only, "-f", "csv").out
    assert [row["Method"] for row in csv.DictReader(io.StringIO(printed))] == [
        row["Method"] for row in tables["implications"]
    ]
    assert at_once("lab", "depedit", "report", "-g", atlas, "-f", "latex").out.startswith(
        "% Percent"
    )
    listed = service.get("/v1/depedit/runs", graph=atlas)["items"]
    assert (
        len(listed)
        == len(at_once("lab", "depedit", "list", "--runs", "-g", atlas, "--json").json)
        == 4
    )
    run = service.get(f"/v1/depedit/runs/{listed[0]['id']}")
    shown = at_once("lab", "depedit", "show", listed[0]["id"], "--json").json
    assert run["metrics"] == shown["metrics"]
    assert len(run["answers"]) == listed[0]["n_answers"]


def test_sets_are_built_and_deleted_by_rest(
    service: Service, built: list[str], atlas: str, db: Database
) -> None:
    answer = service.http.post("/v1/depedit/sets", json={"graph": atlas, "setting": "CQ_UT"})
    assert answer.status_code == 201
    items = answer.json()["items"]
    assert {each["id"] for each in items} <= set(built)
    assert {each["status"] for each in items} == {"unchanged"}
    gone = items[0]["id"]
    assert service.http.delete(f"/v1/depedit/sets/{gone}").status_code == 204
    assert service.http.get(f"/v1/depedit/sets/{gone}").status_code == 404
    again = service.http.post("/v1/depedit/sets", json={"graph": atlas, "setting": "CQ_UT"})
    status = {each["id"]: each["status"] for each in again.json()["items"]}
    assert [name for name in status if status[name] == "saved"] == [gone]
    asked = [each["id"] for each in service.get(f"/v1/depedit/sets/{gone}")["questions"]]
    assert asked == [each.id for each in questions(store.load_set(db, gone))]
    bad = service.http.post("/v1/depedit/sets", json={"graph": atlas, "facts": 60})
    assert bad.status_code == 422
    assert "26 facts" in bad.json()["detail"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("build", "ATLAS", "--facts", "60", "--implications", "30"), "14 of them with"),
        (("build", "ATLAS", "--facts", "20"), "need 24 facts"),
        (("build", "nowhere-graph"), "no dataset graph 'nowhere-graph'"),
        (("build", "ATLAS", "--rule", "0000"), "no rule of"),
        (("show", "nothing"), "no knowledge set 'nothing'"),
        (("import", "missing.jsonl"), "missing.jsonl"),
        (("report", "-g", "nowhere-graph"), "no run"),
        (("report", "-f", "html"), "'html' is not a table format"),
        (("export", "-g", "nowhere-graph"), "no knowledge set to export"),
    ],
)
def test_mistakes_are_one_line_each(
    at_once: Call, atlas: str, words: tuple[str, ...], says: str
) -> None:
    assert says in at_once("lab", "depedit", *(atlas if w == "ATLAS" else w for w in words)).error
