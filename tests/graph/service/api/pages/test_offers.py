"""Pages offer what the role of their reader permits: forms, buttons of scripts, links to deletion.

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
from starlette.routing import Match, Route

from support.all_pages import all_pages
from support.own_graphs import atlas_as, own_graphs
from support.problems import BASE
from support.serving import settings_of, until
from thinkeval.cypher.run import Database
from thinkeval.loaders import rules
from thinkeval.service.base import tokens
from thinkeval.service.base.tokens import ROLES, Holder
from thinkeval.service.depedit import store as sets
from thinkeval.service.web import app as application
from thinkeval.service.web import roles, security
from thinkeval.service.web.app import create_app
from thinkeval.service.web.pages.depedit import Chosen
from thinkeval.service.web.pages.render import FOLDER, STATIC, render

PAGES = (
    "/", "/?graph={graph}", "/sweeps", "/sweeps/{sweep}", "/sweeps/{live}", "/sweeps/{stopped}",
    "/sweeps/matrix?graph={graph}", "/facts?graph={graph}", "/facts/{graph}/the-rewrite-0",
    "/compare", "/compare?edit={rome}&edit={memit}", "/compare?a={rome}&b={memit}",
    "/leaderboard?graph={graph}", "/data", "/graphs/{graph}/delete", "/graphs/{atlas}-2/delete",
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

GATE = re.compile(r"may\('([^']+)'\)")


class Operations(HTMLParser):
    """Operations that a page offers, and whether it offers to replace a data set."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.replaces = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method", "get").lower() == "post":
            self.found.add(f"POST {given['action']}")
        if tag == "a" and given.get("href", "").endswith("/delete"):
            self.found.add(f"POST {given['href']}")
        self.found |= {given[name] for name in ("data-act", "data-then") if name in given}
        self.replaces |= given.get("name") == "replace"


def pattern(client: TestClient, operation: str) -> str:
    """The operation as `roles.ROLES` names it; fails if no route answers."""
    method, path = operation.split(" ")
    scope = {"type": "http", "method": method, "path": path.replace("%2F", "/")}
    for route in client.app.state.routes:  # type: ignore[attr-defined]
        if isinstance(route, Route) and route.matches(scope)[0] == Match.FULL:
            return f"{method} {route.path}"
    raise AssertionError(f"no route answers {operation}")


@pytest.fixture(scope="module")
def client(server: dict[str, str]) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(security.Tokens, "FRESH_S", 0.0)
        with TestClient(create_app(settings_of(server), workers=0), base_url=BASE) as client:
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


@pytest.fixture
def held(db: Database) -> Iterator[dict[str, str]]:
    """A token of each role; while there is one, the service requires one."""
    yield {role: tokens.add(db, role, role) for role in ROLES}
    for each in tokens.listed(db):
        tokens.revoke(db, each.name)


def offered(client: TestClient, ids: dict[str, str], token: str | None) -> dict[str, Operations]:
    """The operations of every page, for the holder of a token; None where none is required."""
    headers = {"Accept": "text/html"} | ({"Authorization": f"Bearer {token}"} if token else {})
    found = {}
    for page in PAGES:
        path = page.format(**ids)
        answer = client.get(path, headers=headers)
        assert answer.status_code == 200, (path, answer.text)
        found[page] = Operations(answer.text)
    return found


def operations(client: TestClient, found: dict[str, Operations]) -> set[str]:
    """All operations of the pages, as `roles.ROLES` names them; without signing in."""
    all_of_them = {pattern(client, each) for page in found.values() for each in page.found}
    return all_of_them - {"POST /login"}


def test_each_role_sees_what_it_may_do_and_nothing_else(
    client: TestClient,
    stored: dict[str, str],
    held: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ships = rules.path("hogwarts")
    monkeypatch.setattr(rules, "path", lambda graph: ships)  # as if it were of that name
    seen = {role: offered(client, stored, token) for role, token in held.items()}
    everything = operations(client, seen["admin"])
    for role in ROLES:
        of_role = operations(client, seen[role])
        assert of_role == {each for each in everything if Holder("", role).has(roles.ROLES[each])}
        assert seen[role]["/data"].replaces == (role == "admin")
    assert everything >= {
        each for each in roles.ROLES if each.startswith("POST /") and "/v1/" not in each
    } - {"POST /logout"}
    # Every choice that a template makes was met by a page of this test, but the one below.
    gates = {gate for path in FOLDER.rglob("*.html") for gate in GATE.findall(path.read_text())}
    assert gates - everything - set(roles.REPLACING) <= {"POST /v1/depedit/sets"}


def test_without_tokens_every_page_offers_everything(
    client: TestClient, stored: dict[str, str]
) -> None:
    everything = operations(client, offered(client, stored, None))
    assert {roles.ROLES[each] for each in everything} == set(ROLES)
    assert "This page leaves out" not in client.get("/").text


def test_a_page_says_which_role_it_leaves_things_out_for(
    client: TestClient, stored: dict[str, str], held: dict[str, str]
) -> None:
    headers = {"Authorization": f"Bearer {held['read']}", "Accept": "text/html"}
    told = client.get(f"/growth/{stored['run']}", headers=headers).text
    assert "that require a token of role post. The token read has role read" in told
    headers["Authorization"] = f"Bearer {held['post']}"
    told = client.get("/data", headers=headers).text
    assert "that require a token of role admin. The token post has role post" in told


@pytest.mark.parametrize("role", ROLES)
def test_the_first_page_of_depedit_builds_sets_for_who_may(client: TestClient, role: Any) -> None:
    may = roles.Offers(Holder("", role))
    told = Operations(render("depedit.html", here="/", stored=0, chosen=Chosen(), may=may))
    expected = {"POST /v1/graphs/import", "POST /v1/depedit/sets"} if role != "read" else set()
    assert {pattern(client, each) for each in told.found} == expected


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


def test_an_operation_that_no_route_has_is_an_error() -> None:
    with pytest.raises(KeyError, match="POST /v1/nowhere"):
        roles.Offers(Holder("", "admin"))("POST /v1/nowhere")
    assert not roles.Offers(None)("POST /logout")
