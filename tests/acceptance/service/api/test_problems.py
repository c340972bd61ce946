"""Errors have one shape on every route, whatever goes wrong; a browser gets them as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from support.problems import BASE, fill, paths, problem
from support.serving import until
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.web import problems
from thinkeval.service.web.app import create_app

RULE = {"if": ["a r b", "b s c"], "then": "a t c"}
NEEDED: dict[str, dict[str, Any]] = {
    "POST /v1/graphs/{graph}/rules": {"json": {"rules": [RULE]}},
    "POST /v1/graphs/{graph}/rules/{rule}/labels": {"json": {"annotator": "anna", "label": "a"}},
    "POST /v1/growth/{run}/candidates": {
        "json": {"triplet": {"subject": "a", "relation": "r", "object": "b"}, "by": "anna"}
    },
    "POST /v1/growth/{run}/candidates/{candidate}/decision": {
        "json": {"verb": "keep", "by": "anna"}
    },
    "POST /v1/growth/{run}/decisions": {
        "files": {"file": ("decisions.csv", b"candidate,verb,by\nc1,keep,anna\n")}
    },
    "GET /v1/graphs/{graph}/proofs": {"params": {"subject": "a", "relation": "r", "object": "b"}},
}
"""What has to be sent, by route, for anybody to look for the name in its path."""
PAGES = ("/", "/edits/{edit}", "/methods", "/rules")


@pytest.fixture(scope="module")
def client(environment: dict[str, str], db: Database) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment.items():
            patch.setenv(key, value)
        app = create_app(workers=0)
    with TestClient(app, base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


@pytest.fixture(scope="module")
def away() -> Iterator[TestClient]:
    """A service whose database is not there."""
    settings = Settings(neo4j_uri="bolt://127.0.0.1:9", neo4j_user="neo4j")
    with TestClient(create_app(settings, workers=0), base_url=BASE) as client:
        yield client


def test_what_is_not_there_is_a_404(client: TestClient) -> None:
    asked = 0
    for path, methods in paths(client.app).items():  # type: ignore[arg-type]
        if "{" not in path or "figures" in path:
            continue
        for method in methods:
            sent = NEEDED.get(f"{method} {path}", {})
            told = problem(client.request(method, fill(path), **sent), 404)
            assert told["instance"] == fill(path)
            asked += 1
    assert asked > 15
    problem(client.get("/v1/nowhere"), 404)
    problem(client.get("/v1/edits/"), 404)
    problem(client.get("/v1/edits/nowhere/"), 404)
    problem(client.get("/v1/leaderboard", params={"graph": "nowhere"}), 404)
    problem(client.get("/v1/rewrites", params={"graph": "nowhere"}), 404)


def test_a_close_name_is_suggested(client: TestClient) -> None:
    assert "'metrics/ifr'" in problem(client.get("/v1/queries/metrics/ift"), 404)["detail"]


def test_a_leaderboard_of_an_unknown_graph_names_it(client: TestClient) -> None:
    shown = problem(client.get("/v1/leaderboard", params={"graph": "nope"}), 404)
    assert "graph 'nope'" in shown["detail"]
    assert shown["title"] == "Not found"
    page = client.get("/methods", params={"graph": "nope"}, headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert "nope" in page.text


def test_a_body_without_its_content_type_is_told_apart(client: TestClient) -> None:
    body = b'{"rewrite": "x"}'
    for headers in ({}, {"Content-Type": "application/x-www-form-urlencoded"}):
        shown = problem(client.post("/v1/edits", content=body, headers=headers), 422)
        assert "Content-Type" in shown["detail"]
        assert shown["remedy"] == "Send Content-Type: application/json."
    shown = problem(client.post("/v1/edits", json=[1]), 422)
    assert "Content-Type" not in shown["detail"] + shown["remedy"]


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        ("/v1/edits", {"rewrite": "x", "modle": "gpt2"}, "Did you mean 'model'?"),
        ("/v1/graphs/x/rules", {"rules": [RULE | {"kidns": {}}]}, "Did you mean 'kinds'?"),
        ("/v1/edits", {"rewrite": "x", "zzzzzz": 1}, "unknown field 'zzzzzz'."),
    ],
)
def test_an_unknown_field_gets_a_suggestion(
    client: TestClient, path: str, body: dict[str, Any], hint: str
) -> None:
    shown = problem(client.post(path, json=body), 422)
    assert shown["detail"].endswith(hint)


@pytest.mark.parametrize(
    ("path", "params", "end"),
    [
        ("/v1/edits", {"methd": "rome"}, "unknown parameter 'methd'. Did you mean 'method'?"),
        ("/v1/edits", {"graph": "x", "zzzzzz": 1}, "unknown parameter 'zzzzzz'."),
        ("/v1/edits/x/chains", {"survivin": "true"}, "Did you mean 'surviving'?"),
        ("/v1/graphs", {"skip": 5}, "unknown parameter 'skip'. Did you mean 'kind'?"),
    ],
)
def test_an_unknown_parameter_gets_a_suggestion(
    client: TestClient, path: str, params: dict[str, Any], end: str
) -> None:
    shown = problem(client.get(path, params=params), 422)
    assert shown["detail"].endswith(end)
    assert shown["code"] == "invalid-request"
    page = client.get("/", params={"zzzzzz": 1}, headers={"Accept": "text/html"})
    assert page.status_code == 200, "a page is lenient"


def test_a_rewrite_that_lacks_a_key_names_the_key(client: TestClient) -> None:
    lacks = {"subject": "Ada", "prompt": "{} lived in"}
    shown = problem(client.post("/v1/edits", json={"rewrite": lacks}), 422)
    assert [each["where"] for each in shown["errors"]] == ["body.rewrite.RewriteIn.target_true"]


def test_a_method_a_route_does_not_take_is_a_405(client: TestClient) -> None:
    for path, methods in paths(client.app).items():  # type: ignore[arg-type]
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - methods:
            # `{name:path}` and `/{edit}` may take what another path refuses.
            answer = client.request(method, fill(path))
            if answer.status_code != 404:
                problem(answer, 405)
                assert set(answer.headers["allow"].split(", ")) == methods, path


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/v1/edits", {"rewrite": "x", "samples": -1}, "body.samples"),
        ("/v1/edits", {"rewrite": "x", "samples": False}, "body.samples"),
        ("/v1/edits", {"rewrite": "x", "samples": "5"}, "body.samples"),
        ("/v1/edits", {"rewrite": "x", "force": 1}, "body.force"),
        ("/v1/edits", {"rewrite": "x", "max_steps": 6}, "body.max_steps"),
        ("/v1/edits", {"rewrite": "x", "unknown": 1}, "body.unknown"),
        ("/v1/edits", {"rewrite": "x" * 201}, "body.rewrite"),
        ("/v1/edits", {}, "body.rewrite"),
        ("/v1/sweeps", {"methods": []}, "body.methods"),
        ("/v1/sweeps", {"methods": ["none"], "seeds": [2**31]}, "body.seeds.0"),
        ("/v1/graphs/import", {"source": ""}, "body.source"),
        ("/v1/graphs/import", {"source": "hogwarts", "name": "a|b"}, "body.name"),
        ("/v1/graphs/import", {"source": "hogwarts", "name": "n" * 101}, "body.name"),
    ],
)
def test_a_body_that_does_not_fit_is_a_422_that_says_where(
    client: TestClient, path: str, body: dict[str, Any], where: str
) -> None:
    told = problem(client.post(path, json=body), 422)
    assert any(each["where"].startswith(where) for each in told["errors"]), told
    assert all(each["what"] for each in told["errors"])


@pytest.mark.parametrize(
    "content",
    [
        b'{"rewrite": "x", "\\ud800": 1}',
        b'{"rewrite": "\\ud800"}',
        b'{"rewrite": "x", "overrides": {"\\udfff": 1}}',
        b'{"rewrite": "x", "strength": NaN}',
        b'{"rewrite": "x", "seed": 1' + b"0" * 5000 + b"}",
        b"[" * 100_000,
        b"\xff\xfe",
        b"null",
        b"",
    ],
)
def test_a_body_that_is_hardly_json_is_refused(client: TestClient, content: bytes) -> None:
    answer = client.post("/v1/edits", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    problem(answer, answer.status_code)


@pytest.mark.parametrize(
    "rewrite", ["\x00", "a\x00b", "'; MATCH (n) DETACH DELETE n //", "𝒳" * 200, " ", "|"]
)
def test_hostile_names_find_nothing(client: TestClient, rewrite: str) -> None:
    problem(client.post("/v1/edits", json={"graph": "hogwarts", "rewrite": rewrite}), 404)
    problem(client.post("/v1/edits", json={"graph": rewrite, "rewrite": "x"}), 404)


@pytest.mark.parametrize(
    "cursor",
    ["x", "~", "0000-00-00~x", "2026-01-01 00:00+00:00~x", "20260101T000000Z~x", "\x00~\x00",
     "2026-01-01T00:00:00+23:59~x", "2026-W01-1T00:00:00Z~x"],
)  # fmt: skip
def test_a_cursor_that_is_none_of_ours_is_a_422(client: TestClient, cursor: str) -> None:
    problem(client.get("/v1/rewrites", params={"cursor": cursor[:20]}), 422)


def test_a_query_that_does_not_fit_is_a_422(client: TestClient) -> None:
    for params in ({"limit": "0"}, {"limit": "9" * 50}, {"status": "lost"}, {"graph": "g" * 201}):
        assert problem(client.get("/v1/edits", params=params), 422)["errors"]


def test_without_its_database_every_route_that_needs_it_says_so(away: TestClient) -> None:
    """503 with what to do and when to come back; the others go on."""
    asked = 0
    bodies = {
        "/v1/edits": {"json": {"rewrite": "x"}},
        "/v1/sweeps": {"json": {"methods": ["none"]}},
        "/v1/graphs/import": {"json": {"source": "hogwarts"}},
        "/v1/graphs": {"files": {"file": ("a.csv", b"subject,relation,object\n")}},
    }
    for path, methods in paths(away.app).items():  # type: ignore[arg-type]
        without = ("/health", "/metrics", "/v1/methods", "/v1/models", "/v1/queries")
        if path.startswith(without):
            continue
        for method in methods:
            more = bodies.get(path, {}) if method == "POST" else {}
            place = fill(path).replace("figures/leakage", "figures/ifr_by_steps", 1)
            place = place if "/edits/" not in path else fill(path)
            answer = away.request(method, place, **more)
            told = problem(answer, 503)
            assert int(answer.headers["retry-after"]) > 0
            assert "try again" in told["remedy"]
            asked += 1
    assert asked > 22
    assert away.get("/health").status_code == away.get("/metrics").status_code == 200
    assert away.get("/v1/methods").status_code == 200


def test_a_defect_of_ours_is_a_500_that_tells_nothing(environment: dict[str, str]) -> None:
    app = create_app(Settings(neo4j_uri="bolt://127.0.0.1:9"), workers=0)

    @app.get("/v1/broken")
    def broken() -> None:
        raise RuntimeError("a secret detail")

    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        answer = client.get("/v1/broken")
        told = problem(answer, 500)
        assert "RuntimeError" in told["detail"]
        assert "secret" not in answer.text
        assert 'route="/v1/broken",status="500"' in client.get("/metrics").text


def test_a_browser_gets_the_same_as_a_page(client: TestClient, away: TestClient) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml;q=0.9"}
    for place, status in (("/edits/nowhere", 404), ("/nowhere", 404)):
        answer = client.get(place, headers=browser)
        assert answer.status_code == status
        assert answer.headers["content-type"].startswith("text/html")
        assert "</html>" in answer.text
    for path in PAGES:
        answer = away.get(fill(path), headers=browser)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert answer.headers["content-type"].startswith("text/html")
        problem(away.get(fill(path)), 503)
    # Programs get JSON whatever they say they accept.
    problem(client.get("/v1/edits/nowhere", headers=browser), 404)


def test_every_known_error_says_what_to_do() -> None:
    for kind in problems.KNOWN_ERRORS:
        for each in [kind, *kind.__subclasses__()]:
            assert str(getattr(each, "remedy", "")).strip(), each
