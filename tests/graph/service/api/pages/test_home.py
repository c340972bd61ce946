"""The front page: what an empty list of edits says, and chain counts that belong to one app."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from support.experiments import delete_result, store_result
from support.own_graphs import hogwarts_as, own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from support.stored_edits import frontier, random_facts, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.scoring import record
from thinkeval.service.web.app import create_app
from thinkeval.service.web.pages import home

NONE_FITS, NONE_YET = "No edit fits this filter", "None yet: press Score."


@pytest.fixture(scope="module")
def settings(server: dict[str, str]) -> Settings:
    return settings_of(server)


@pytest.fixture(scope="module")
def client(settings: Settings, db: Database) -> Iterator[TestClient]:
    with TestClient(create_app(settings, workers=0), base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


@pytest.fixture(scope="module")
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        yield graph
        for edit in db.read(rows.PageEditRow, "edits/page_edits", dataset=graph, limit=10):
            db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)


def test_a_data_set_without_edits_does_not_blame_a_filter(client: TestClient, graph: str) -> None:
    """Loading the demo graph leads to the list that is filtered by it."""
    text = client.get("/", params={"graph": graph}).text
    assert NONE_YET in text
    assert NONE_FITS not in text
    edit = {"graph": graph, "rewrite": "harry-potter--studied-at", "method": "rome"}
    assert client.post("/v1/edits", json=edit).status_code == 202
    text = client.get("/", params={"graph": graph, "method": "memit"}).text
    assert NONE_FITS in text
    assert NONE_YET not in text


def test_the_leaderboard_over_rest_compares_common_rewrites(
    client: TestClient, db: Database
) -> None:
    with own_graphs(db) as prefix:
        for number, method in ((0, "rome"), (1, "rome"), (1, "memit")):
            store_edit(
                db, f"{prefix}-{method}-{number}", random_facts(number), dataset=prefix,
                method=method, rewrite=f"rewrite-{number}",
            )  # fmt: skip
        board = client.get("/v1/leaderboard", params={"graph": prefix}).json()
        assert {row["Method"]: row["rewrites"] for row in board["rows"]} == {
            "rome": 1,
            "memit": 1,
        }
        assert board["left_out"] == {"m": ["rewrite-0"]}
        assert "left out: 1 rewrite (rewrite-0)" in board["warnings"][0]
        whole = client.get("/v1/leaderboard", params={"graph": prefix, "rewrites": "all"}).json()
        assert {row["Method"]: row["rewrites"] for row in whole["rows"]}["rome"] == 2
        figure = f"/v1/figures/ifr_by_steps.svg?graph={prefix}"
        assert client.get(figure).content != client.get(f"{figure}&rewrites=all").content
        refused = client.get("/v1/leaderboard", params={"graph": prefix, "rewrites": "some"})
        assert refused.status_code == 422
        home = client.get("/", params={"graph": prefix}).text
        assert "IFR beyond subject" in home


def test_two_apps_in_one_process_share_no_counts(
    client: TestClient, settings: Settings, graph: str
) -> None:
    assert client.get(f"/chain-counts/{graph}").json()
    assert f'data-count="{graph}"' not in client.get("/", params={"graph": graph}).text
    with TestClient(create_app(settings, workers=0), base_url=BASE) as other:
        mine, theirs = (each.app.state.thinkeval for each in (client, other))  # type: ignore[attr-defined]
        assert mine.chain_counts is not theirs.chain_counts
        assert mine.boards is not theirs.boards


def test_edits_are_searched_and_sorted_with_undefined_ones_last(db: Database) -> None:
    with own_graphs(db) as prefix:
        for number in range(3):
            store_edit(
                db, f"{prefix}-rome-{number}", random_facts(number), dataset=prefix,
                rewrite=f"rewrite-{number}", method="rome" if number else "memit",
            )  # fmt: skip
        store_edit(
            db, f"{prefix}-unmeasured", random_facts(3), dataset=prefix, rewrite="rewrite-3",
            scored=(),
        )  # fmt: skip

        def ids(**asked: Any) -> list[str]:
            return [i.edit.id for i in home.edits(db, {"graph": prefix}, **asked).items]

        values = {
            i.edit.id: i.numbers["ifr"][0] or 0.0
            for i in home.edits(db, {"graph": prefix}).items
            if "ifr" in i.numbers
        }
        assert len(values) == 3
        rising = sorted(values, key=lambda edit: values[edit])
        assert ids(sort="ifr") == [*rising, f"{prefix}-unmeasured"]
        assert [values[edit] for edit in ids(sort="-ifr")[:3]] == sorted(
            values.values(), reverse=True
        )
        assert ids(sort="-ifr")[3] == f"{prefix}-unmeasured"
        assert ids(text="MEMIT") == [f"{prefix}-rome-0"]
        assert ids(sort="method")[0] == f"{prefix}-rome-0"
        assert ids(sort="-method")[-1] == f"{prefix}-rome-0"
        found = home.edits(db, {"graph": prefix}, text=f"{prefix}-rome", sort="ifr")
        assert (found.total, found.older) == (3, None)
        assert all("ifr" in item.numbers for item in found.items)
        assert ids(text="no-such-word") == []
        page = home.edits(db, {"graph": prefix}, text=f"{prefix}-rome")
        assert all("ifr" in item.numbers for item in page.items), "shown ones have their scores"


def test_pages_of_a_sorted_list_are_by_offset(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "PAGE", 2)
    monkeypatch.setattr(home, "PART", 2)
    with own_graphs(db) as prefix:
        for number in range(5):
            store_edit(
                db, f"{prefix}-{number}", random_facts(number), dataset=prefix,
                rewrite=f"rewrite-{number}",
            )  # fmt: skip
        seen: list[str] = []
        cursor: str | None = None
        for _ in range(3):
            page = home.edits(db, {"graph": prefix}, cursor, sort="-ifr")
            assert page.total == 5
            seen += [item.edit.id for item in page.items]
            cursor = page.older
        assert cursor is None
        assert sorted(seen) == [f"{prefix}-{number}" for number in range(5)]


def test_edits_of_a_fact_stand_together_without_later_rounds_of_co_edits(db: Database) -> None:
    with own_graphs(db) as prefix:
        for number, rewrite in enumerate(("old", "new", "old", "new")):
            store_edit(
                db, f"{prefix}-{number}", random_facts(number % 2), dataset=prefix,
                rewrite=f"{prefix}-{rewrite}",
            )  # fmt: skip
        page = home.edits(db, {"graph": prefix})
        assert [[item.edit.id for item in group] for group in page.by_fact] == [
            [f"{prefix}-3", f"{prefix}-1"],
            [f"{prefix}-2", f"{prefix}-0"],
        ]
        later = record.get_score(db, f"{prefix}-3").model_copy(
            update={"sequence": {"when": "after", "edited": 2, "batch": 2, "requests": []}}
        )
        db.write(
            rows.WrittenRow,
            "edits/write_score",
            id=later.edit,
            graph=later.edit,
            score=later.model_dump_json(),
            provenance="{}",
        )
        made = frontier(id=f"{prefix}-coedit", graph=prefix)
        store_result(db, "coedit", made, [f"{prefix}-1", f"{prefix}-3"])
        page = home.edits(db, {"graph": prefix})
        assert page.total == 3
        assert f"{prefix}-3" not in [item.edit.id for item in page.items]
        delete_result(db, made.id)
