"""Pages offer what the token of their reader permits: forms, buttons of scripts, links to deletion.

The pages are read as HTML, and each operation on them is looked up among the routes; no list says
which buttons there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from starlette.routing import Match, Route

from support.all_pages import all_pages
from support.own_graphs import atlas_as, own_graphs
from support.problems import BASE, fill, problem
from support.serving import settings_of, until
from thinkeval.cypher.run import Database
from thinkeval.loaders import rules
from thinkeval.service.depedit import store as sets
from thinkeval.service.web import app as application
from thinkeval.service.web import security
from thinkeval.service.web.app import create_app
from thinkeval.service.web.pages.render import STATIC

PAGES = (
    "/", "/?graph={graph}", "/sweeps", "/sweeps/{sweep}", "/sweeps/{live}", "/sweeps/{stopped}",
    "/sweeps/matrix?graph={graph}", "/methods?graph={graph}",
    "/compare?edit={rome}&edit={memit}",
    "/methods?graph={graph}&rewrite=the-rewrite-0", "/data",
    "/graphs/{graph}/delete", "/graphs/{atlas}-2/delete",
    "/edits/{rome}", "/edits/{rome}/delete", "/edits/{rome}/map", "/edits/{rome}/chains",
    "/edits/{rome}/facts", "/edits/{rome}/next", "/edits/{rome}/asked", "/edits/{rome}/rules",
    "/edits/{rome}/neo4j", "/edits/{rome}/export", "/edits/{queued}", "/edits/{queued}/delete",
    "/edits/{cancelled}", "/rules?graph={graph}", "/rules/review?graph={graph}",
    "/rules-choice/{graph}", "/growth", "/growth/{run}", "/growth/{run}/review",
    "/growth/{growing}", "/coedits", "/coedits/{coedit}", "/coedits/{coediting}", "/depedit",
    "/depedit/sets/{set}", "/protocols", "/protocols/{protocol}", "/comparisons", "/derivations",
    "/derivations/{deriving}",
    "/comparisons/{comparison}", "/comparisons/{comparing}", "/login", "/documentation", "/docs",
)  # fmt: skip
NO_PAGES = {
    "/chain-counts/{graph}", "/data/{graph}/csv", "/depedit/report/{table}",
    "/documentation/{name:path}", "/edits/{edit}/file",
    "/favicon.ico", "/neo4j", "/neo4j/guide.html", "/neo4j/thinkeval.grass", "/static/{name}",
}  # fmt: skip
"""Other routes of the web UI: files and numbers."""

TOKENS = {"all": "a token that permits everything", "read": "a token that permits reading"}


class Operations(HTMLParser):
    """Operations that a page offers."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method", "get").lower() == "post":
            self.found.add(f"POST {given['action']}")
        if tag == "a" and given.get("href", "").endswith("/delete"):
            self.found.add(f"POST {given['href']}")
        self.found |= {given[name] for name in ("data-act", "data-then") if name in given}


def pattern(client: TestClient, operation: str) -> str:
    """The operation by the pattern of its route; fails if no route answers."""
    method, path = operation.split(" ")
    scope = {"type": "http", "method": method, "path": path.replace("%2F", "/")}
    for route in client.app.state.routes:  # type: ignore[attr-defined]
        if isinstance(route, Route) and route.matches(scope)[0] == Match.FULL:
            return f"{method} {route.path}"
    raise AssertionError(f"no route answers {operation}")


def bearer(access: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[access]}"}


@pytest.fixture(scope="module")
def client(server: dict[str, str]) -> Iterator[TestClient]:
    """A service with both tokens; its client shows the one for all."""
    both = {"api_token": SecretStr(TOKENS["all"]), "read_token": SecretStr(TOKENS["read"])}
    app = create_app(settings_of(server, **both), workers=0)
    with TestClient(app, base_url=BASE, headers=bearer("all")) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


@pytest.fixture(scope="module")
def stored(db: Database, client: TestClient) -> Iterator[dict[str, str]]:
    """All that pages show, and jobs that wait for a worker or were cancelled."""

    def post(path: str, **body: Any) -> str:
        answer = client.post(f"/v1/{path}", json=body)
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()["id"]

    with all_pages(db) as ids, own_graphs(db) as prefix:
        graph, atlas = ids["graph"], atlas_as(db, f"{prefix}-atlas")
        atlas_as(db, f"{atlas}-2")
        rewrites = client.get("/v1/rewrites", params={"graph": graph}).json()["items"]
        edit = {"graph": graph, "rewrite": rewrites[0]["id"], "method": "none", "samples": 0}
        sweep = {"graph": graph, "rewrites": [edit["rewrite"]], "methods": ["rome"], "samples": 0}
        more = {
            "queued": post("edits", **edit),
            "cancelled": post("edits", **edit, seed=1),
            "live": post("sweeps", **sweep, models=["organism"]),
            "stopped": post("sweeps", **sweep, models=["organism"], seeds=[7]),
            "growing": post("growth", seed="Harry Potter", elicit="crawl", base=graph, chains=1),
            "coediting": post("coedits", graph=graph, rewrite=edit["rewrite"], method="rome"),
            "comparing": post(
                "comparisons", graph=graph, base="organism", states=[f"organism+edit:{ids['rome']}"]
            ),
        }
        more["deriving"] = post("derivations", graph=graph)
        client.post(f"/v1/edits/{more['cancelled']}/cancel")
        client.post(f"/v1/sweeps/{more['stopped']}/cancel")
        made = client.post("/v1/depedit/sets", json={"graph": atlas, "init": "shuffled"}).json()
        more["set"] = made["items"][0]["id"]
        more["protocol"] = post("protocols", graph=atlas, strategies=["finetune"])
        yield ids | more | {"atlas": atlas}
        for kind in ("growth", "coedits", "comparisons", "protocols", "derivations"):
            for each in ("growing", "coediting", "comparing", "protocol", "deriving"):
                client.post(f"/v1/{kind}/{more[each]}/cancel")
                client.delete(f"/v1/{kind}/{more[each]}")
        for each in ("live", "stopped"):
            client.post(f"/v1/sweeps/{more[each]}/cancel")
            db.write(int, "jobs/delete_sweep", id=more[each])
        for each in ("queued", "cancelled"):
            client.post(f"/v1/edits/{more[each]}/cancel")
        for row in sets.list_sets(db, dataset=atlas):
            sets.delete_set(db, row.id)


def offered(client: TestClient, ids: dict[str, str], access: str) -> set[str]:
    """The operations of all pages, for the holder of a token."""
    found = set()
    for page in PAGES:
        answer = client.get(page.format(**ids), headers={"Accept": "text/html"} | bearer(access))
        assert answer.status_code == 200, (page, answer.text)
        found |= {pattern(client, each) for each in Operations(answer.text).found}
    return found - {"POST /login"}


def test_a_reader_is_offered_nothing_that_changes_data(
    client: TestClient, stored: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ships = rules.path("hogwarts")
    monkeypatch.setattr(rules, "path", lambda graph: ships)  # as if it were of that name
    everything = offered(client, stored, "all")
    of_the_ui = {each for each in changing() if "/v1/" not in each and each.startswith("POST /")}
    assert everything >= of_the_ui
    seen = offered(client, stored, "read")
    assert not seen & changing()
    assert "POST /v1/graphs/preview" in seen
    told = client.get("/data", headers=bearer("read")).text
    assert "Your token permits reading only" in told
    assert "Your token permits reading only" not in client.get("/data").text


def changing() -> set[str]:
    """Every operation of REST and the web UI that changes data."""
    return {
        f"{method} {route.path}"
        for router in application.ROUTERS
        for route in router.routes
        for method in getattr(route, "methods", None) or ()
        if security.access_of(method, route.path) == "all"
    }


def test_a_token_for_reading_is_refused_what_changes_data_and_nothing_else(
    client: TestClient,
) -> None:
    assert len(changing()) > 30
    for operation in changing():
        method, path = operation.split(" ")
        told = problem(client.request(method, fill(path), headers=bearer("read")), 403)
        assert "this token permits reading only" in told["detail"]
        assert "THINKEVAL_API_TOKEN" in told["remedy"]
    file = {"file": ("a.yaml", b"Ada:\n  worked with: [Charles]\n")}
    seen = client.post("/v1/graphs/preview", files=file, headers=bearer("read"))
    assert seen.status_code == 200
    assert client.get("/v1/edits", headers=bearer("read")).status_code == 200
    done = client.post("/login", data={"token": TOKENS["read"]}, follow_redirects=False)
    assert done.status_code == 303
    session = {"Authorization": "", "Cookie": f"thinkeval={client.cookies['thinkeval']}"}
    assert client.get("/v1/edits", headers=session).status_code == 200
    problem(client.post("/v1/edits/nowhere/cancel", headers=session), 403)
    client.cookies.clear()


def test_the_document_says_which_token_an_operation_requires(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert paths["/health"]["get"]["security"] == []
    assert paths["/v1/edits/{id}"]["get"]["security"][1] == {"token": ["read"]}
    assert paths["/v1/edits/{id}"]["delete"]["security"][1] == {"token": ["all"]}


def test_every_page_is_looked_at(client: TestClient, stored: dict[str, str]) -> None:
    shown = {
        pattern(client, f"GET {page.format(**stored).partition('?')[0]}").removeprefix("GET ")
        for page in PAGES
    }
    pages = {
        route.path
        for router in application.ROUTERS
        for route in router.routes
        if isinstance(route, Route)
        and "GET" in (route.methods or ())
        and not getattr(route, "include_in_schema", True)
    }
    assert pages - NO_PAGES == shown


def test_scripts_change_data_by_what_the_page_says_alone() -> None:
    """A button that a script gives an operation of its own would escape the tests above."""
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(
            r"call\(\s*[^\"(]|call\(\s*\"(?!GET\")", text.replace("call(method", "")
        ), path
        assert "method:" not in text or path.name == "swagger-ui.js", path
