"""`thinkeval graph crawl`: a small crawl of the organism, its report, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from support.commands import Cli, Mine
from support.serving import Service
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.growth.schemas import GrowthOut

SMALL = (
    "--start", "Harry Potter", "--samples", "2", "--wordings", "2", "--gate", "stored",
    "--depth", "1",
)  # fmt: skip


def test_a_subject_is_audited_from_its_crawl_to_the_folder(
    db: Database, mine: Mine, thinkeval: Cli, tmp_path: Path
) -> None:
    audit = (
        "lab", "audit-subject", "luna lovegood", "-g", mine.graph, "--model", mine.model,
        "--depth", "1",
    )  # fmt: skip
    known = thinkeval(*audit, "--json").json
    try:
        facts = db.read(rows.FactRow, "graph/facts", graph=known["graph"])
        of_subject = [f for f in facts if f.subject == "Luna Lovegood"]
        assert known["facts"] == len(facts)
        assert sorted(known["forget"]) == sorted(
            f"{f.subject}|{f.relation}|{f.object}" for f in of_subject
        )
        assert of_subject
        printed = thinkeval(*audit).out
        assert f"--forget '{known['forget'][0]}'" in printed
        folder = tmp_path / "audit"
        compared = thinkeval(*audit, "--state", "+8bit", "--audit", folder, "--json").json
        (state,) = compared["states"]
        assert len(state["requests"]) == len(of_subject)
        assert {each["kind"] for each in state["requests"]} == {"forget"}
        assert (folder / "audit.html").is_file()
        thinkeval("results", "comparisons", compared["id"], "--delete")
    finally:
        db.autocommit(int, "graph/delete_graph", graph=known["graph"])


def test_a_crawl_is_a_graph_with_a_report(
    db: Database, mine: Mine, thinkeval: Cli, at_once: Any
) -> None:
    crawl = ("graph", "crawl", mine.graph, *SMALL, "--model", mine.model)
    made = [thinkeval(*crawl, "--seed", seed, "--json").json for seed in ("0", "1")]
    again = thinkeval(*crawl, "--seed", "0", "--json").json
    try:
        first = made[0]
        assert again["run"] == first["run"] != made[1]["run"]
        assert (again["facts"], again["answers"]) == (first["facts"], first["answers"])
        assert (first["stop_reason"], first["start"]) == ("depth", "Harry Potter")
        assert first["facts"] >= 10
        facts = db.read(rows.FactRow, "graph/facts", graph=first["graph"])
        stored = {(f.subject, f.relation, f.object) for f in facts}
        assert {s for s, _, _ in stored} == {"Harry Potter"}
        true = {
            (f.subject, f.relation, f.object)
            for f in db.read(rows.FactRow, "graph/facts", graph=mine.graph)
        }
        assert first["confirmed"] == len(stored & true)
        assert all(f.p_pre is not None and 0.2 <= f.p_pre <= 1 for f in facts)
        shown = thinkeval("graph", "crawl", "report", first["run"]).out
        for text in ("Levels of", f"of them in {mine.graph}", "depth"):
            assert text in shown
        assert thinkeval("graph", "rewrites", first["graph"]).out
    finally:
        for one in made:
            db.autocommit(int, "growth/delete_run", id=one["run"])
            db.autocommit(int, "graph/delete_graph", graph=one["graph"])


def test_what_a_crawl_refuses(mine: Mine, at_once: Any, db: Database) -> None:
    done = at_once("graph", "crawl", mine.graph, "--start", "Hary Potter", "--model", mine.model)
    assert done.code == 2
    assert "Did you mean 'Harry Potter'" in done.err
    assert not [row for row in db.read(GrowthOut, "growth/runs") if row.seed == "Hary Potter"]
    done = at_once("graph", "crawl", "report", "grow-nothing")
    assert (done.code, "growth run" in done.err) == (2, True)
    assert (
        at_once("graph", "crawl", mine.graph, "--start", "Harry Potter", "--depth", "11").code == 2
    )


def test_a_crawl_as_a_job_over_rest_is_reported_as_by_the_command(
    db: Database, mine: Mine, thinkeval: Cli, service: Service
) -> None:
    body = {
        "seed": "Harry Potter",
        "base": mine.graph,
        "elicit": "crawl",
        "single_link": False,
        "answers": {"model": mine.model},
        "crawl": {"depth": 2, "samples": 1, "wordings": 1, "gate": "stored", "max_questions": 20},
    }
    posted = service.http.post("/v1/growth", json=body)
    assert posted.status_code == 202, posted.text
    run, graph = posted.json()["id"], posted.json()["graph"]
    try:
        until = time.monotonic() + 60
        while (told := service.http.get(f"/v1/growth/{run}").json())["status"] != "succeeded":
            assert told["status"] in ("queued", "running"), told
            assert time.monotonic() < until, told
            time.sleep(0.1)
        assert told["result"]["stop_reason"] == "budget"
        report = thinkeval("graph", "crawl", "report", run, "--json").json
        assert report["questions"] == 20
    finally:
        db.autocommit(int, "growth/delete_run", id=run)
        db.autocommit(int, "graph/delete_graph", graph=graph)
