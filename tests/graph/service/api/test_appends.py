"""Appends by REST and on the command line, on the real database: stored, shown, refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from fastapi.testclient import TestClient

from support.own_graphs import hogwarts_as, own_graphs
from support.stored_edits import probed, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.cli.output import console
from thinkeval.service.cli.render import show_score
from thinkeval.service.client.rest import Client
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import rewrite_row
from thinkeval.service.models.edit import AdditivityOptions, AppendOut, Score
from thinkeval.service.reports.by_kind import appended_table
from thinkeval.service.reports.comparison import common
from thinkeval.service.scoring import append, record

HOW = AppendOut(n_correct=2, n_hard=2, n_random=1)
EXAMPLE = {
    "place": 0, "role": "prompt", "text": "Harry Potter owned", "new_pre": 0.1, "new_post": 0.3,
    "correct": ["Hedwig", "The Marauder's Map"], "correct_pre": [0.3, 0.2],
    "correct_post": [0.24, 0.1], "hard": ["Keeper", "Seeker"], "hard_pre": [0.1, 0.05],
    "hard_post": [0.16, 0.04], "random": ["Potions"], "random_pre": [0.01], "random_post": [0.01],
}  # fmt: skip
"""The worked example: of hard false answers RFF, RNF, AFF and ANF are those of VALUES."""
VALUES = {"rff_hard": 0.48399, "rnf_hard": 0.51425, "aff_hard": 0.64911, "anf_hard": 0.63569}
NEAR = {"place": 1, "role": "locality", "text": "Ron Weasley owned", "new_pre": 0.1,
        "new_post": 0.2, "right_pre": 0.5, "right_post": 0.4}  # fmt: skip


@pytest.fixture(scope="module")
def dataset(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, prefix)
        like = datasets.list_rewrites(db, graph)[0]
        request = replace(
            like,
            id="appended",
            prompt="{} owned",
            relation="owned",
            target_true="Hedwig",
            target_new="Crookshanks",
            subject="Harry Potter",
            correct=("Hedwig", "The Marauder's Map"),
            hard=("Keeper", "Seeker"),
            random=("Potions",),
        )
        db.write(
            rows.WrittenRow, "graph/merge_rewrites", dataset=graph, rows=[rewrite_row(request)]
        )
        yield graph


@pytest.fixture(scope="module")
def scored(db: Database, dataset: str) -> Score:
    """A stored append with the answers of the worked example."""
    edit = f"{dataset}-scored"
    facts = [
        probed(("Harry Potter", "owned", "Hedwig"), 0.3, 0.24, "target_true"),
        probed(("Harry Potter", "owned", "Crookshanks"), 0.1, 0.3, "target_new", listed=False),
    ]
    asked = next(r for r in datasets.list_rewrites(db, dataset) if r.id == "appended")
    return store_edit(
        db, edit, facts, dataset=dataset, rewrite=asked, append=HOW, answers=[EXAMPLE, NEAR]
    )


def test_an_append_is_an_edit(client: TestClient, dataset: str) -> None:
    body = {"graph": dataset, "rewrite": "appended", "method": "rome", "append_loss": "app"}
    answer = client.post("/v1/edits", json=body)
    assert answer.status_code == 202
    where = answer.headers["location"]
    found = client.get(where).json()
    assert (found["status"], found["target_new"]) == ("queued", "Crookshanks")
    assert client.get(f"{where}/answers").status_code == 404, "it has no score yet"


def test_options_of_an_append_need_one(client: TestClient, dataset: str) -> None:
    plain = {"graph": dataset, "rewrite": "harry-potter--studied-at", "method": "none"}
    lossy = client.post("/v1/edits", json=plain | {"append_loss": "app"})
    assert (lossy.status_code, "append_loss" in lossy.text) == (422, True)
    untaken = {"graph": dataset, "rewrite": "appended", "method": "kn", "append_loss": "app"}
    refused = client.post("/v1/edits", json=untaken)
    assert (refused.status_code, "takes no further loss" in refused.text) == (422, True)


def test_an_edit_that_replaces_has_no_answers(
    client: TestClient, db: Database, dataset: str
) -> None:
    asked = datasets.list_rewrites(db, dataset)[0]
    key = asked.subject, asked.relation
    facts = [
        probed((*key, asked.target_true), 0.3, 0.2, "target_true"),
        probed((*key, asked.target_new), 0.1, 0.4, "target_new", listed=False),
    ]
    plain = store_edit(db, f"{dataset}-plain", facts, dataset=dataset, rewrite=asked)
    for part in ("answers", "additivity"):
        refused = client.get(f"/v1/edits/{plain.edit}/{part}")
        assert (refused.status_code, "append" in refused.text) == (404, True)


def test_score_and_answers_are_those_stored(client: TestClient, scored: Score) -> None:
    score = client.get(f"/v1/edits/{scored.edit}").json()["result"]
    found = {v["metric"]: v for v in score["values"] if v["measure"] == append.MEASURE}
    assert {name: round(found[name]["value"], 5) for name in VALUES} == VALUES
    assert (found["append_ls"]["value"], found["append_ls"]["n"]) == (1, 1)
    assert (found["append_gs"]["value"], found["append_gs"]["n"]) == (None, 0)
    assert score["append"]["n_correct"] == 2
    answers = client.get(f"/v1/edits/{scored.edit}/answers").json()
    first, near = answers["items"]
    assert {key: first[key] for key in EXAMPLE} == EXAMPLE
    assert (near["right_pre"], near["right_post"], near["hard"]) == (0.5, 0.4, [])


def test_additivity_by_other_options(client: TestClient, scored: Score, db: Database) -> None:
    path = f"/v1/edits/{scored.edit}/additivity"
    hard, random = client.get(path).json()["items"]
    assert (hard["set"], random["set"], hard["prompts"], hard["n"]) == ("hard", "random", 1, 1)
    values = {f"{name}_hard": round(hard[name], 5) for name in ("rff", "rnf", "aff", "anf")}
    assert values == VALUES
    every = client.get(path, params={"ls_over": "all", "published": True, "strict": True}).json()
    assert every["items"][0]["asked_ls"] == every["items"][0]["n_ls"] == 1
    assert client.get(path, params={"es_over": "some"}).status_code == 422
    (same,) = append.measured_again(db, [scored], AdditivityOptions())
    (other,) = append.measured_again(db, [scored], AdditivityOptions(ls_over="all"))
    assert same.values == scored.values
    assert {v.metric for v in other.values} == {v.metric for v in scored.values}


def test_the_client_has_the_answers_as_a_table(client: TestClient, scored: Score) -> None:
    transport = httpx.MockTransport(
        lambda r: httpx.Response(200, content=client.get(r.url.path).content)
    )
    with Client("http://localhost", transport=transport) as remote:
        answers = remote.experiments.answers(scored.edit)
    first = answers[answers.place == 0].set_index("name")
    assert first.loc["Crookshanks", ["answer", "pre", "post"]].tolist() == ["new", 0.1, 0.3]
    assert first.loc["Seeker", ["answer", "pre", "post"]].tolist() == ["hard", 0.05, 0.04]
    assert len(first) == 6
    near = answers[answers.role == "locality"].set_index("answer")
    assert near.loc["right", ["pre", "post"]].tolist() == [0.5, 0.4]


def test_page_of_an_append_is_shown(client: TestClient, scored: Score) -> None:
    page = client.get(f"/edits/{scored.edit}")
    assert page.status_code == 200
    assert '<h2 id="moved-title">What else the answer moved</h2>' in page.text
    assert "Leakage map" not in page.text
    assert f"/edits/{scored.edit}/chains" not in page.text
    for value in VALUES.values():
        assert f'<td class="n">{value:.5f}</td>' in page.text
    assert "The 2 correct answers were disturbed (AFF 0.649, ANF 0.636" in page.text
    rows_of = page.text.split("<tbody>")[-1]
    named = [rows_of.index(f">{name}<") for name in ("Crookshanks", "Hedwig", "Keeper", "Potions")]
    assert named == sorted(named), "the likeliest after the edit is first"


def test_the_table_of_stored_appends(db: Database, dataset: str, scored: Score) -> None:
    scores = record.scores(db, [], graph=dataset, kind="append")
    (row,) = appended_table(scores).rows
    assert (row.method, row.variant, len(row.values)) == (scored.method, "bare", 1)
    found = {name: row.means[name].value for name in ("aff_hard", "anf_hard", "append_gs")}
    assert found == {
        "aff_hard": pytest.approx(VALUES["aff_hard"], abs=5e-6),
        "anf_hard": pytest.approx(VALUES["anf_hard"], abs=5e-6),
        "append_gs": None,
    }
    assert record.scores(db, [], graph=dataset, model="another", kind="append") == []


def test_a_sweep_of_appends_has_their_table(
    client: TestClient, db: Database, scored: Score
) -> None:
    sweep = f"{scored.dataset}-sweep"
    asked = json.dumps({"graph": scored.dataset, "methods": [scored.method]})
    db.write(bool, "jobs/merge_sweep", id=sweep, request=asked, posted_as=[scored.edit])
    path = f"/v1/sweeps/{sweep}/tables/methods"
    try:
        (row,) = client.get(path, params={"format": "json"}).json()
        shown = client.get(path, params={"format": "markdown"}).text
    finally:
        db.write(int, "jobs/delete_sweep", id=sweep)
    assert (row["Method"], row["requests"], row["AFF hard.n"]) == (scored.method, 1, 1)
    assert round(row["AFF hard"], 5) == VALUES["aff_hard"]
    assert "lower is better" in shown


def test_the_command_line_prints_additivity_and_why_there_is_no_ifr(
    scored: Score, capsys: pytest.CaptureFixture[str]
) -> None:
    show_score(scored)
    console().file.flush()
    printed = " ".join(capsys.readouterr().out.split())
    for value in VALUES.values():
        assert f"{value:.5f}" in printed
    assert "Hedwig + Crookshanks" in printed
    assert "ES 1.000 (n = 1), GS – (n = 0), LS 1.000 (n = 1)" in printed
    assert "no old fact" in printed


def test_no_table_of_methods_holds_an_append(scored: Score) -> None:
    found = common([scored], "likelihood")
    assert found.scores == []
    assert found.warnings == (
        "1 score of appended answers or forgotten facts left out: they have other metrics.",
    )
