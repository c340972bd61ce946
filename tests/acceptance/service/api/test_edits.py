"""An edit by REST from post to score, as a program uses it; sweeps, cancelling, removing.

One running service with a worker. Every number is that of the command line with the same options.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from support.commands import Cli, Mine
from support.problems import problem
from support.serving import Service, until
from thinkeval.service.models.edit import ENDED

FACT = "harry-potter--studied-at"
STAGES = ["waiting", "probe pre", "edit", "probe post", "write"]


@pytest.fixture(scope="module")
def body(mine: Mine) -> dict[str, Any]:
    return {"graph": mine.graph, "rewrite": FACT, "model": mine.model, "method": "rome",
            "samples": 3}  # fmt: skip


def post(service: Service, body: dict[str, Any], **headers: str) -> httpx.Response:
    return service.http.post("/v1/edits", json=body, headers=headers)


@pytest.fixture(scope="module")
def walked(service: Service, body: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Return the address of a submitted edit, and its record as it was until the end."""
    answer = post(service, body)
    assert answer.status_code == 202
    where = answer.headers["location"]
    assert where == answer.json()["links"]["self"]
    seen = [answer.json()]
    until(lambda: seen.append(service.get(where)) or seen[-1]["status"] in ENDED, 300)  # type: ignore[func-returns-value]
    return where, seen


def test_the_record_tells_each_stage_in_order_and_then_the_end(
    walked: tuple[str, list[dict[str, Any]]],
) -> None:
    _, seen = walked
    # A worker may have claimed it before the answer was written.
    assert seen[0]["status"] in ("queued", "running")
    assert seen[-1]["status"] == "succeeded"
    assert seen[-1]["progress"] == 1.0
    assert seen[-1]["finished_at"]
    reached = [each["progress"] for each in seen]
    assert reached == sorted(reached)
    told = [stage for stage in STAGES for each in seen if each["stage"] == stage]
    assert told == [each["stage"] for each in seen if each["stage"] in STAGES], "in this order"


def exact(value: dict[str, Any]) -> dict[str, Any]:
    """A value of a score; the server adds up in the order it finds facts, hence the last bits."""
    numbers = ("value", "low", "high")
    return value | {
        key: pytest.approx(value[key], rel=1e-12, abs=1e-15)
        for key in numbers
        if value[key] is not None
    }


def test_every_number_is_that_of_the_command_line(
    service: Service, thinkeval: Cli, mine: Mine, walked: tuple[str, list[dict[str, Any]]]
) -> None:
    where, _ = walked
    told = service.get(where)
    score = told["result"]
    assert told["id"] in service.get(f"/v1/edits/{told['id']}")["posted_as"] or told["posted_as"]
    done = thinkeval(
        "score", FACT, "-g", mine.graph, "--model", mine.model, "-m", "rome", "--samples", "3",
        "--force", "--json",
    )  # fmt: skip
    again = done.json[0]
    assert again["edit"] == score["edit"] == told["id"]
    assert again["values"] == [exact(value) for value in score["values"]]
    assert len(score["values"]) > 40
    same = ("method", "model", "subject", "target_true", "target_new", "n_facts", "options")
    assert [again[key] for key in same] == [score[key] for key in same]


def test_the_same_again_is_there_already(
    service: Service, body: dict[str, Any], walked: tuple[str, list[dict[str, Any]]]
) -> None:
    again = post(service, body | {"rewrite": FACT[:-3]})
    assert again.status_code == 200
    whole = service.get(walked[0])
    told = again.json()
    assert (told["id"], told["status"], told["result"]) == (whole["id"], "succeeded", None)
    assert whole["result"]["values"]
    assert len(again.content) < 6_000, "a summary"
    assert told["title"] == whole["title"]
    (listed,) = service.get("/v1/edits", edit=told["id"])["items"]
    assert listed == told | {"posted_as": []}, "a list has the same summary"


def test_a_key_makes_one_edit_of_one_body(
    service: Service, body: dict[str, Any], mine: Mine
) -> None:
    key = {"Idempotency-Key": f"key-{mine.prefix}"}
    first = post(service, body | {"method": "none"}, **key)
    second = post(service, body | {"method": "none"}, **key)
    assert (first.status_code, second.status_code in (200, 202)) == (202, True)
    told = service.ended(first.json()["id"])
    assert service.ended(second.json()["id"])["id"] == told["id"]
    assert "idempotency key" in problem(post(service, body | {"seed": 5}, **key), 422)["detail"]
    problem(post(service, body, **{"Idempotency-Key": "k" * 201}), 422)


def test_a_rewrite_written_out_is_scored_too(
    service: Service, body: dict[str, Any], walked: tuple[str, list[dict[str, Any]]]
) -> None:
    scored = service.get(walked[0])["result"]
    own = {key: scored[key] for key in ("subject", "prompt", "target_true")}
    own |= {"target_new": "Beauxbatons Academy of Magic"}
    answer = post(service, body | {"rewrite": own, "samples": 0})
    assert answer.status_code == 202, answer.text
    told = service.ended(answer.json()["id"])
    assert told["status"] == "succeeded", told
    assert (told["target_new"], told["result"]["subject"]) == (own["target_new"], own["subject"])
    listed = service.get("/v1/rewrites", graph=body["graph"], limit=1000)["items"]
    assert told["rewrite"] not in {each["id"] for each in listed}


def test_edits_are_listed_by_what_is_asked_for_in_pages(
    service: Service, body: dict[str, Any], walked: tuple[str, list[dict[str, Any]]]
) -> None:
    service.ended(post(service, body | {"method": "none"}).json()["id"])
    everything = service.get("/v1/edits", graph=body["graph"], limit=500)["items"]
    assert {each["method"] for each in everything} == {"none", "rome"}
    rome = service.get("/v1/edits", graph=body["graph"], method="rome", status="succeeded")
    assert [each["id"] for each in rome["items"]] == [
        each["id"] for each in everything if each["method"] == "rome"
    ]
    found: list[str] = []
    page = service.get("/v1/edits", graph=body["graph"], limit=1)
    found += [each["id"] for each in page["items"]]
    while page["next"] is not None:
        page = service.get("/v1/edits", graph=body["graph"], limit=1, cursor=page["next"])
        found += [each["id"] for each in page["items"]]
    assert found == [each["id"] for each in everything]


def test_an_edit_is_cancelled_and_removed(service: Service, body: dict[str, Any]) -> None:
    edit = post(service, body | {"seed": 77, "samples": 100}).json()["id"]
    assert service.http.post(f"/v1/edits/{edit}/cancel").status_code == 202
    told = service.ended(edit, 60)
    assert (told["status"], told["result"]) == ("cancelled", None)
    assert "cancelled" in problem(service.http.get(f"/v1/edits/{edit}/chains"), 404)["detail"]
    assert service.http.post(f"/v1/edits/{edit}/cancel").json()["status"] == "cancelled"
    # One that waits or runs is cancelled first; one that has ended goes.
    again = post(service, body | {"seed": 77, "samples": 100})
    assert again.status_code == 202
    assert problem(service.http.delete(f"/v1/edits/{edit}"), 409)["remedy"] == "Cancel it first."
    assert service.http.post(f"/v1/edits/{edit}/cancel").status_code == 202
    told = service.ended(edit, 60)
    # Which of its ids an answer tells depends on how far the worker is; all lead to the same edit.
    assert service.get(f"/v1/edits/{again.json()['id']}") == told
    assert service.http.delete(f"/v1/edits/{edit}").status_code == 204
    problem(service.http.get(f"/v1/edits/{edit}"), 404)
    problem(service.http.delete(f"/v1/edits/{edit}"), 404)


def test_a_sweep_gives_the_table_of_the_command_line(
    service: Service, thinkeval: Cli, body: dict[str, Any]
) -> None:
    sweep = {"graph": body["graph"], "models": [body["model"]], "rewrites": [FACT],
             "methods": ["none", "rome", "memit"], "samples": 3}  # fmt: skip
    answer = service.http.post("/v1/sweeps", json=sweep)
    assert answer.status_code == 202, answer.text
    where = answer.headers["location"]
    assert answer.json()["total"] == 3
    until(lambda: service.get(where)["status"] == "succeeded", 300, 0.2)
    sweep_out = service.get(where)["result"]
    assert (sweep_out["counts"]["succeeded"], len(sweep_out["edits"])) == (3, 3)
    for measure in ("likelihood", "p"):
        rows = service.get(f"{where}/tables/methods", measure=measure, format="json")
        report = thinkeval("report", *sweep_out["edits"], "-f", "json", "--measure", measure).json
        table = {row["Method"]: row for row in rows}
        assert set(table) == {"none", "rome", "memit"}
        for row in report:
            for own in ("differences", "forms", "checks"):  # of a sweep in tables of their own
                del row[own]
            assert table[row["Method"]] == {
                key: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
                for key, value in row.items()
            }
    board = service.get("/v1/leaderboard", graph=body["graph"])
    assert {row["Method"] for row in board["rows"]} == {"none", "rome", "memit"}
    assert board["caption"]
    # The same sweep is the same; it goes, its edits stay.
    assert service.http.post("/v1/sweeps", json=sweep).headers["location"] == where
    assert where in {f"/v1/sweeps/{each['id']}" for each in service.get("/v1/sweeps")["items"]}
    assert service.http.delete(where).status_code == 204
    problem(service.http.get(where), 404)
    assert all(service.get(f"/v1/edits/{edit}")["result"] for edit in sweep_out["edits"])


def test_a_sweep_of_thousands_is_posted_read_and_cancelled_whole(
    service: Service, body: dict[str, Any]
) -> None:
    sweep = {"graph": body["graph"], "models": [body["model"]], "samples": 0,
             "methods": ["none", "rome", "memit", "rect", "kn"],
             "seeds": list(range(1, 50))}  # fmt: skip
    rewrites = service.get("/v1/rewrites", graph=body["graph"], limit=1000)["items"]
    cells = 5 * 49 * len(rewrites)
    assert 1000 < cells < 2000
    answer = service.http.post("/v1/sweeps", json=sweep, timeout=120)
    assert answer.status_code == 202, answer.text
    where = answer.headers["location"]
    told = service.http.post(f"{where}/cancel", timeout=120).json()
    assert told["total"] == cells
    until(lambda: service.get(where)["status"] == "cancelled")
    told = service.http.get(where, timeout=120).json()["result"]
    assert len(set(told["edits"])) == sum(told["counts"].values()) == cells
    assert told["counts"]["queued"] == 0
    assert len(told["failed"]) == told["counts"]["cancelled"] > 1000
    assert service.http.delete(where).status_code == 204
