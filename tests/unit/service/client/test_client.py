"""The client where the network or the service fails: what it tries again, and what it then says.

The transport is scripted, so that every failure happens when it is meant to; what the client reads
from the real service is tested in acceptance/test_client.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from support.states.comparisons import LATER, sequence
from thinkeval.service.client import http
from thinkeval.service.client import rest as client_module
from thinkeval.service.client.http import ProblemError
from thinkeval.service.client.rest import Client

Answer = httpx.Response | Exception
PROBLEM = "application/problem+json"

SCORE: dict[str, Any] = {
    "edit": "rome-1", "dataset": "d", "rewrite": "r", "subject": "s", "relation": "x",
    "prompt": "{} x", "target_true": "o", "target_new": "n", "model": "m", "method": "rome",
    "values": [], "n_facts": 1,
}  # fmt: skip


def edit(status: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "rome-1", "kind": "edit", "graph": "d", "rewrite": "r", "subject": "s",
        "relation": "x", "prompt": "{} x", "target_true": "o", "target_new": "n", "model": "m",
        "method": "rome",
        "status": status, "progress": 0.5, "stage": "edit", "created_at": "2026-01-01",
    } | more  # fmt: skip


class Script:
    """Answers in order, and what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        assert self.answers, f"nothing is left to answer {request.method} {request.url}"
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds the client wanted to sleep; it does not."""
    slept: list[float] = []
    monkeypatch.setattr(http.time, "sleep", slept.append)
    monkeypatch.delenv("THINKEVAL_API_TOKEN", raising=False)
    return slept


@pytest.fixture
def scripted() -> Iterator[Callable[..., tuple[Client, Script]]]:
    opened: list[Client] = []

    def make(*answers: Answer, **options: Any) -> tuple[Client, Script]:
        script = Script(*answers)
        opened.append(Client(transport=httpx.MockTransport(script), **options))
        return opened[-1], script

    yield make
    for each in opened:
        each.close()


def ok(body: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json=body)


def problem(status: int, detail: str = "no", remedy: str = "do", **headers: str) -> httpx.Response:
    told = {"type": "about:blank", "status": status, "detail": detail, "remedy": remedy}
    return httpx.Response(status, json=told, headers=headers | {"content-type": PROBLEM})


def test_problems_are_raised_with_their_remedy(scripted: Any) -> None:
    te, _ = scripted(problem(404, "There is no edit 'x'.", "Look."))
    with pytest.raises(ProblemError) as caught:
        te.experiments.get("edits", "x")
    error = caught.value
    assert (error.detail, error.remedy, error.status) == ("There is no edit 'x'.", "Look.", 404)
    assert str(error) == "There is no edit 'x'. → Look."


def test_nothing_there_asks_whether_the_service_runs() -> None:
    with Client("http://127.0.0.1:9") as te, pytest.raises(ProblemError) as caught:
        te.rewrites("g")
    assert "start `thinkeval serve`" in str(caught.value).lower()
    assert caught.value.status == 0


def test_another_program_at_that_address_is_recognised(scripted: Any) -> None:
    te, _ = scripted(httpx.Response(200, text="<html>"), httpx.Response(502, text="<html>"))
    for _ in range(2):
        with pytest.raises(ProblemError, match="the address of a ThinkEval service"):
            te.rewrites("g")


def test_reads_are_tried_again_and_then_given_up(scripted: Any, naps: list[float]) -> None:
    broken = httpx.ReadError("reset")
    te, script = scripted(broken, problem(503, **{"Retry-After": "2"}), ok({"items": []}))
    assert te.rewrites("g").empty
    assert naps == [http.BACKOFF_S, 2.0]
    assert len(script.asked) == 3
    te, script = scripted(*[broken] * http.ATTEMPTS)
    with pytest.raises(ProblemError, match="ReadError reset"):
        te.rewrites("g")
    assert script.answers == []


def test_a_post_tried_again_has_the_same_key_and_another_post_another(scripted: Any) -> None:
    done = ok(edit("succeeded", result=SCORE))
    broken = httpx.RemoteProtocolError("gone before the answer")
    te, script = scripted(broken, ok(edit("queued"), 202), done, ok(edit("queued"), 202), done)
    assert te.score("r", graph="d").edit == "rome-1"
    assert te.score("r", graph="d").edit == "rome-1"
    posts = [r.headers["idempotency-key"] for r in script.asked if r.method == "POST"]
    assert posts[0] == posts[1] != posts[2]
    assert json.loads(script.asked[0].content) == {"rewrite": "r", "graph": "d"}


def test_a_full_queue_is_waited_for(scripted: Any, naps: list[float]) -> None:
    te, script = scripted(problem(429, **{"Retry-After": "7"}), ok(edit("queued"), 202))
    assert te.score("r", wait=False).status == "queued"
    assert naps == [7.0]
    te, script = scripted(*[problem(429, "The queue is full.")] * http.ATTEMPTS)
    with pytest.raises(ProblemError, match="queue is full"):
        te.score("r")
    assert script.answers == []


def test_an_upload_is_not_sent_twice(scripted: Any, tmp_path: Any) -> None:
    file = tmp_path / "own.json"
    file.write_text("[]")
    te, script = scripted(httpx.ReadError("reset"))
    with pytest.raises(ProblemError):
        te.import_graph(file)
    assert len(script.asked) == 1
    assert b'filename="own.json"' in script.asked[0].content


def test_the_status_is_read_until_the_end_across_a_broken_connection(
    scripted: Any, naps: list[float]
) -> None:
    te, script = scripted(
        ok(edit("queued"), 202), ok(edit("queued", stage="waiting", progress=0.0)),
        httpx.ReadError("reset"), ok(edit("running", stage="scope", progress=0.1)),
        ok(edit("succeeded", stage="done", progress=1.0, result=SCORE)),
    )  # fmt: skip
    said: list[tuple[str, float]] = []
    score = te.score("r", progress=lambda stage, done: said.append((stage, done)))
    assert score.edit == "rome-1"
    assert said == [("waiting", 0.0), ("scope", 0.1), ("done", 1.0)]
    assert {asked.url.path for asked in script.asked[1:]} == {"/v1/edits/rome-1"}
    assert len(naps) >= 2, "it pauses between two looks"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_an_edit_without_a_score_says_why(scripted: Any, status: str) -> None:
    ended = ok(edit(status, error="The layer is not there.", remedy="Name another."))
    te, _ = scripted(ok(edit("queued"), 202), ended)
    with pytest.raises(ProblemError) as caught:
        te.score("r")
    assert caught.value.detail == f"rome-1 {status}: The layer is not there."
    assert caught.value.remedy == "Name another."


def test_waiting_ends_in_time_and_the_edit_goes_on(scripted: Any) -> None:
    te, script = scripted(ok(edit("running")))
    with pytest.raises(TimeoutError, match="running after 0 s"):
        te.experiments.wait("edits", "rome-1", timeout=0)
    assert len(script.asked) == 1


def test_an_edit_removed_while_it_is_followed_is_a_problem(scripted: Any) -> None:
    te, _ = scripted(ok(edit("running")), problem(404, "There is no edit."))
    with pytest.raises(ProblemError, match="There is no edit"):
        te.experiments.wait("edits", "rome-1")


def test_every_page_is_read_up_to_the_limit(scripted: Any) -> None:
    def page(*ids: int, next: str | None = None) -> httpx.Response:
        chains = [{"entities": ["s", f"e{i}", "o"], "steps": 2, "r_pre": 1.0} for i in ids]
        return ok({"items": chains, "next": next})

    te, script = scripted(page(0, 1, next="a"), page(2, next="b"), page(3))
    frame = te.chains("rome-1", surviving=True, steps=2)
    assert frame["chain"].tolist() == [f"s → e{i} → o" for i in range(4)]
    assert list(frame.columns) == list(client_module.CHAIN_COLUMNS)
    asked = [dict(r.url.params) for r in script.asked]
    assert [a.get("cursor") for a in asked] == [None, "a", "b"]
    assert asked[0] == {"limit": "1000", "surviving": "true", "steps": "2"}
    te, script = scripted(page(0, 1, next="a"), page(2, next="b"))
    assert len(te.chains("rome-1", limit=3)) == 3
    assert script.asked[1].url.params["limit"] == "1"


def test_tables_without_rows_have_their_columns(scripted: Any) -> None:
    nothing = ok({"items": [], "next": None})
    te, _ = scripted(nothing, nothing, ok([]))
    assert "status" in te.experiments.list("edits").columns
    assert "surviving" in te.chains("x").columns
    assert "share" in te.leakage("x").columns


def test_names_are_one_part_of_the_path(scripted: Any) -> None:
    te, script = scripted(ok({"items": []}))
    te.chains("a/../b?c")
    assert script.asked[0].url.raw_path.startswith(b"/v1/edits/a%2F..%2Fb%3Fc/chains?")


def test_the_token_is_shown(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    te, script = scripted(ok({"items": []}), token="secret")
    te.rewrites("g")
    assert script.asked[0].headers["authorization"] == "Bearer secret"
    monkeypatch.setenv("THINKEVAL_API_TOKEN", "from the environment")
    te, script = scripted(ok({"items": []}))
    te.rewrites("g")
    assert script.asked[0].headers["authorization"] == "Bearer from the environment"


def experiment(status: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "comparison-1", "kind": "comparison", "graph": "d", "status": status,
        "progress": 0.5, "stage": "ask after", "created_at": "2026-01-01",
    } | more  # fmt: skip


def test_an_experiment_is_awaited_and_its_result_read(scripted: Any) -> None:
    out = sequence()
    done = experiment("succeeded", progress=1.0, result=out.model_dump(mode="json"))
    te, script = scripted(
        ok(experiment("queued"), 202), ok(experiment("running")), httpx.ReadError("reset"), ok(done)
    )
    said: list[tuple[str, float]] = []
    found = te.compare("ab", "+edit:e", "+8bit", progress=lambda *told: said.append(told))
    assert found == out
    assert said == [("ask after", 0.5), ("ask after", 1.0)]
    body = json.loads(script.asked[0].content)
    assert (body["base"], body["states"]) == ("ab", ["+edit:e", "+8bit"])
    te, script = scripted(ok(done), ok(done))
    te.compare("ab", ["+edit:e", "+8bit"], rewrites="harry", forget="a|b|c")
    body = json.loads(script.asked[0].content)
    assert body["states"] == ["+edit:e", "+8bit"]
    assert (body["rewrites"], body["forget"]) == (["harry"], ["a|b|c"])
    te, _ = scripted(ok(done))
    frame = te.experiments.drift(out)
    assert frame["state"].tolist() == [f"ab{spec}" for spec, _, _ in LATER for _ in range(18)]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_an_experiment_without_a_result_says_why(scripted: Any, status: str) -> None:
    ended = ok(experiment(status, error="The edit is gone.", remedy="Score it again."))
    te, _ = scripted(ok(experiment("queued"), 202), ended)
    with pytest.raises(ProblemError) as caught:
        te.co_edit("r")
    assert caught.value.detail == f"comparison-1 {status}: The edit is gone."
    assert caught.value.remedy == "Score it again."


def test_an_experiment_continues_after_the_time_to_wait(scripted: Any) -> None:
    te, _ = scripted(ok(experiment("running")))
    with pytest.raises(TimeoutError, match="running after 0 s"):
        te.experiments.wait("comparisons", "comparison-1", timeout=0)


def test_importing_the_client_loads_nothing_heavy() -> None:
    import subprocess
    import sys

    code = (
        "import sys, thinkeval.service.client.rest\n"
        "heavy = ('torch', 'numpy', 'pandas', 'networkx', 'neo4j', 'fastapi', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
