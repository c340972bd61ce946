"""A notebook's walk: the client against `thinkeval serve`, a real worker, the real database.

Every number the client shows is held against what the services of this process read themselves.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Mine
from support.serving import Service, serving
from support.states.audits import is_whole
from thinkeval.cypher.run import Database
from thinkeval.service.client.http import ProblemError
from thinkeval.service.client.rest import Client
from thinkeval.service.models.edit import Score
from thinkeval.service.reports.leakage_selection import Selection
from thinkeval.service.reports.table import method_table
from thinkeval.service.reports.verdict import with_verdict
from thinkeval.service.scoring import record
from thinkeval.service.scoring.metrics import chain_rows, leakage_rows

REWRITE = "harry-potter--studied-at"
TOKEN = "a token of at least sixteen characters"

RULE = {
    "if": ["person was sorted into house", "house is a house at school"],
    "then": "person studied at school",
}


@pytest.fixture(scope="module")
def service(
    environment: dict[str, str], mine: Mine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    env = environment | {
        "THINKEVAL_MODEL_DIRS": str(Path(mine.model).parent),
        "THINKEVAL_API_TOKEN": TOKEN,
    }
    with serving(env, tmp_path_factory.mktemp("client")) as running:
        running.ready()
        yield running


@pytest.fixture(scope="module")
def te(service: Service) -> Iterator[Client]:
    with Client(service.url, TOKEN) as client:
        yield client


@pytest.fixture(scope="module")
def told() -> list[tuple[str, float]]:
    """Return the calls of `progress` while the first edit was scored."""
    return []


@pytest.fixture(scope="module")
def score(te: Client, mine: Mine, told: list[tuple[str, float]]) -> Score:
    """An edit posted by the client, scored by the service's worker."""
    return te.score(
        REWRITE, graph=mine.graph, model=mine.model, method="rome", samples=2, timeout=300,
        progress=lambda stage, done: told.append((stage, done)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def control(te: Client, mine: Mine, score: Score) -> Score:
    return te.score(REWRITE, graph=mine.graph, model=mine.model, method="none", samples=2)


def test_a_score_is_the_stored_one_and_was_followed(
    db: Database, score: Score, told: list[tuple[str, float]]
) -> None:
    assert score == with_verdict(db, record.get_score(db, score.edit))
    assert told[-1] == ("done", 1.0)
    assert len({stage for stage, _ in told}) > 2


def test_the_same_again_comes_back_at_once(te: Client, mine: Mine, score: Score) -> None:
    again = te.score(
        REWRITE, graph=mine.graph, model=mine.model, method="rome", samples=2, wait=False
    )
    assert (again.id, again.status) == (score.edit, "succeeded")
    assert te.experiments.list("edits", graph=mine.graph, method="rome")["id"].tolist() == [
        score.edit
    ]


def test_chains_are_those_of_the_graph(db: Database, te: Client, score: Score) -> None:
    rows = chain_rows(db, score, "likelihood")
    frame = te.chains(score.edit)
    assert frame["entities"].map(tuple).tolist() == [row.entities for row in rows]
    assert frame["r_post"].tolist() == [row.r_post for row in rows]
    alive = te.chains(score.edit, surviving=True, steps=3)
    assert len(alive) == sum(row.surviving and row.steps == 3 for row in rows) > 0
    assert te.chains(score.edit, limit=4)["chain"].tolist() == frame["chain"][:4].tolist()
    leaks = te.leakage(score.edit)
    held = leakage_rows(db, score, "likelihood")
    assert leaks[["id", "chains"]].values.tolist() == [[row.id, row.chains] for row in held]


def test_the_graph_carries_both_sides_and_gives_ifr_again(te: Client, score: Score) -> None:
    import networkx as nx

    graph = te.graph(score.edit)
    assert graph.graph == {"edit": score.edit, "measure": "likelihood"}
    assert graph.nodes[score.subject]["role"] == "subject"
    chains = te.chains(score.edit)
    for row in chains.itertuples():
        r_post = 1.0
        for link in row.links:
            edge = graph.edges[link["subject"], link["object"], link["id"]]
            assert (edge["p_pre"], edge["relation"]) == (link["pre"], link["relation"])
            r_post *= edge["p_post"]
        assert r_post == pytest.approx(row.r_post, rel=1e-9)
    assert nx.has_path(graph, score.subject, score.target_true)
    known = chains[chains["ratio"].notna()]
    weights = known["steps"] ** -0.5
    ifr = score.get("ifr", "likelihood")
    assert ifr is not None
    assert (known["ratio"] * weights).sum() / weights.sum() == pytest.approx(ifr.value)


def test_the_leaderboard_is_the_reports_table(
    te: Client, mine: Mine, score: Score, control: Score
) -> None:
    frame = te.leaderboard(mine.graph).set_index("Method")
    table = method_table([control, score], "likelihood").set_index("Method")
    assert sorted(frame.index) == ["none", "rome"]
    for column in ("IFR", "Preservation", "Efficacy", "3-step", "chains"):
        assert frame[column].to_dict() == pytest.approx(table[column].to_dict())
    assert "Definition 3" in frame.attrs["caption"]


def test_figures_come_in_every_format(te: Client, mine: Mine, score: Score) -> None:
    assert te.figures.edit(score.edit).startswith(b"\x89PNG")
    assert te.figures.edit(score.edit, "chain", "pdf", n=2).startswith(b"%PDF")
    svg = te.figures.edit(score.edit, "leakage", "svg", limit=3, measure="p")
    assert ET.parse(io.BytesIO(svg)).getroot().tag.endswith("svg")
    assert b"(sampled share)" in svg
    chosen = Selection(steps=(2, 3), surviving=True)
    svg = te.figures.edit(score.edit, "leakage", "svg", selection=chosen, caption=False)
    assert b"chains of 2 or 3 facts, that survive" in svg
    assert b"Width: p_post" not in svg
    assert te.figures.methods("ifr_by_steps", "svg", graph=mine.graph).startswith(b"<?xml")
    with pytest.raises(ProblemError, match="no chain 5000"):
        te.figures.edit(score.edit, "chain", n=5000)
    with pytest.raises(ProblemError) as caught:
        te.figures.methods("ifr_by_steps", graph="nowhere")
    assert caught.value.status == 404


def test_a_figure_has_its_media_type_and_is_sent_once(service: Service, score: Score) -> None:
    path = f"/v1/edits/{score.edit}/figures/chain.svg"
    shown = {"Authorization": f"Bearer {TOKEN}"}
    first = service.http.get(path, headers=shown)
    assert (first.status_code, first.headers["content-type"]) == (200, "image/svg+xml")
    again = service.http.get(path, headers=shown | {"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    wrong = service.http.get(path.replace("svg", "gif"), headers=shown)
    assert (wrong.status_code, wrong.json()["status"]) == (422, 422)
    assert wrong.json()["remedy"]


def test_what_there_is_is_listed(te: Client, mine: Mine) -> None:
    assert mine.graph in te.call("list_graphs", kind="dataset")["id"].tolist()
    rewrites = te.rewrites(mine.graph).set_index("id")
    assert rewrites.filter(like=REWRITE, axis=0).iloc[0]["chains_5"] > 0
    assert "rome" in te.call("list_methods")["name"].tolist()
    ifr = te.call("list_queries").set_index("name").loc["metrics/ifr", "text"]
    assert "MATCH" in str(ifr)


def test_every_operation_is_called_by_its_name(te: Client, mine: Mine) -> None:
    rules = te.call("list_rules", graph=mine.graph)
    added = te.call("add_rules", graph=mine.graph, rules=[RULE])["items"]
    assert len(te.call("list_rules", graph=mine.graph)) == len(rules) + 1
    assert te.call("get_rule", graph=mine.graph, rule=added[0]["id"])["text"] == added[0]["text"]
    assert te.call("delete_rule", graph=mine.graph, rule=added[0]["id"]) is None
    assert len(te.call("list_rules", graph=mine.graph)) == len(rules)
    for wrong, told in (
        (("list_rulez", {}), "Did you mean 'list_rules'"),
        (("list_rules", {}), "lacks graph"),
        (("list_rules", {"graph": mine.graph, "stat": 1}), "has no stat"),
    ):
        with pytest.raises(ProblemError, match=told):
            te.call(wrong[0], **wrong[1])


def test_a_file_is_uploaded_and_another_graph_imported(
    te: Client, mine: Mine, tmp_path: Path
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("Ada:\n  worked with: [Charles]\nCharles:\n  lived in: [London]\n")
    done = te.import_graph(file, name=f"{mine.prefix}-own")
    assert (done["status"], done["n_facts"]) == ("imported", 2)
    done = te.import_graph("hogwarts", name=mine.graph)
    assert (done["graph"], done["status"]) == (mine.graph, "unchanged")
    with pytest.raises(ProblemError, match="imports no files"):
        te.import_graph("elsewhere/data.json")


def test_a_sweep_gives_its_table(te: Client, mine: Mine, score: Score, control: Score) -> None:
    sweep = te.sweep(
        ["none", "rome"], graph=mine.graph, models=[mine.model], rewrites=[REWRITE], samples=2,
        timeout=300,
    )  # fmt: skip
    assert sweep.counts.get("succeeded") == 2
    assert set(te.experiments.table("sweeps", sweep, "methods")["Method"]) == {"none", "rome"}


def test_two_states_are_compared_by_a_worker(
    te: Client, mine: Mine, score: Score, service: Service, tmp_path: Path
) -> None:
    after = f"{mine.model}+edit:{score.edit}"
    asked = {"graph": mine.graph, "rewrites": [REWRITE], "samples": 0, "timeout": 300}
    found = te.compare(mine.model, after, **asked)
    (state,) = found.states
    (request,) = state.requests
    assert request.number("ifr", "likelihood") == pytest.approx(
        score.number("ifr", "likelihood"), abs=1e-6
    )
    assert te.compare(mine.model, after, **asked).id == found.id
    listed = te.experiments.list("comparisons", graph=mine.graph).set_index("id")
    assert listed.loc[found.id]["status"] == "succeeded"
    drift = te.experiments.drift(found.id)
    assert drift["n"].iloc[0] == found.n_facts
    assert te.chains(request.edit)["surviving"].sum() == request.number(
        "active_chains", "likelihood"
    )
    folder = te.experiments.audit(found.id, tmp_path / "new" / "audit")
    assert is_whole(folder)
    assert found.id in (folder / "audit.html").read_text(encoding="utf-8")
    with pytest.raises(ProblemError, match="not empty"):
        te.experiments.audit(found.id, folder)
    assert [path.name for path in folder.parent.iterdir()] == ["audit"]
    page = service.http.get(f"/comparisons/{found.id}", headers={"cookie": ""})
    assert page.status_code in (200, 303, 401)
    for state, problem in (("/etc", "not one this service"), ("organism+edit:nope", "nope")):
        with pytest.raises(ProblemError, match=problem):
            te.compare(mine.model, state, graph=mine.graph)
    with pytest.raises(ProblemError, match=r"127\.0\.0\.1"):
        te.compare(mine.model, "endpoint:http://127.0.0.1:9/v1#m", graph=mine.graph)


def test_who_shows_no_token_is_told_so(service: Service) -> None:
    with Client(service.url, "") as stranger, pytest.raises(ProblemError) as caught:
        stranger.call("list_graphs")
    assert caught.value.status == 401
    assert caught.value.remedy
