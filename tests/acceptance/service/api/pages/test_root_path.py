"""A service below a path of a reverse proxy that strips it: REST, and pages in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from http.cookies import SimpleCookie

import httpx
import pytest
from playwright.sync_api import Browser, expect

from support.own_graphs import hogwarts_as, own_graphs
from support.servers.stripping_proxy import proxied
from support.serving import serving
from support.watching import watched
from thinkeval.cypher.run import Database

ROOT = "/tools/thinkeval"
TOKEN = "a token of enough characters"
REWRITE = "harry-potter--studied-at"
PAGES = (
    "/methods", "/sweeps", "/data", "/comparisons", "/rules", "/depedit",
    "/coedits", "/growth", "/documentation",
)  # fmt: skip


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


@pytest.fixture(scope="module")
def below(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, list[str]]]:
    env = environment | {"THINKEVAL_API_TOKEN": TOKEN, "THINKEVAL_ROOT_PATH": ROOT}
    with serving(env, tmp_path_factory.mktemp("below"), "--workers", "0") as running:
        running.ready()
        origin = running.url.removesuffix(ROOT)
        assert origin != running.url
        with proxied(origin, ROOT) as made:
            yield made


@pytest.fixture(scope="module")
def queued(db: Database, prefix: str, below: tuple[str, list[str]]) -> str:
    """An edit that waits; submitted through the proxy."""
    graph = hogwarts_as(db, f"{prefix}-below")
    url, _ = below
    body = {"graph": graph, "rewrite": REWRITE, "method": "rome", "samples": 0}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    done = httpx.post(f"{url}/v1/edits", json=body, headers=headers, timeout=60)
    assert done.status_code == 202, done.text
    found = done.json()
    assert done.headers["location"] == f"{ROOT}/v1/edits/{found['id']}"
    for link in found["links"].values():
        assert link.startswith(f"{ROOT}/")
    again = httpx.get(url.removesuffix(ROOT) + done.headers["location"], headers=headers)
    assert again.json()["status"] == "queued"
    return str(found["id"])


def test_signing_in_leads_back_below_the_path(below: tuple[str, list[str]]) -> None:
    url, _ = below
    origin = url.removesuffix(ROOT)
    with httpx.Client(timeout=60, headers={"accept": "text/html", "origin": origin}) as browser:
        away = browser.get(f"{url}/methods?graph=a")
        assert away.headers["location"] == f"{ROOT}/login?next=/methods%3Fgraph%3Da"
        form = {"token": TOKEN, "next": "/methods?graph=a"}
        done = browser.post(f"{url}/login", data=form)
        assert (done.status_code, done.headers["location"]) == (303, f"{ROOT}/methods?graph=a")
        assert SimpleCookie(done.headers["set-cookie"])["thinkeval"]["path"] == ROOT
        assert browser.get(url).status_code == 200  # without a slash at its end
        document = browser.get(f"{url}/openapi.json").json()
        assert document["servers"] == [{"url": ROOT}]
        out = browser.post(f"{url}/logout")
        assert out.headers["location"] == f"{ROOT}/login?out=1"
        assert SimpleCookie(out.headers["set-cookie"])["thinkeval"]["path"] == ROOT
        assert browser.get(f"{url}/methods").status_code == 303


def test_every_page_stays_below_the_path(
    chromium: Browser, below: tuple[str, list[str]], queued: str
) -> None:
    url, outside = below
    with watched(chromium, url) as opened:
        page = opened(f"/edits/{queued}", allowed="401")
        page.get_by_label("Token").fill(TOKEN)
        with page.expect_response(lambda answer: f"/v1/edits/{queued}" in answer.url) as polled:
            page.keyboard.press("Enter")
        assert polled.value.status == 200  # its progress, which a script reads
        expect(page.get_by_text("queued").first).to_be_visible()
        for path in PAGES:
            answer = page.goto(url + path)
            assert answer is not None
            assert answer.status == 200
            page.wait_for_load_state("networkidle")
            assert page.url.startswith(url + path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.get_by_role("navigation").get_by_role("link", name="Edits", exact=True).click()
        page.wait_for_url(f"{url}/")
        page.wait_for_load_state("networkidle")
        loaded = page.evaluate("getComputedStyle(document.querySelector('.top')).display")
        assert loaded != "block"  # the style sheet is there
        page.get_by_text("More", exact=True).click()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{url}/login?out=1")
    assert outside == []
