"""axe-core over every page of the web UI, in light and dark, on stored data: nothing is scored.

Left out is `/docs`: its markup and its colours are Swagger UI's.

The tabs of an edit are in `test_first_screen.py`; they show a real score.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from support.all_pages import all_pages
from support.axe import in_each_document, violations
from support.serving import Service
from support.watching import watched
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings

PAGES = (
    "/?graph={graph}", "/sweeps", "/sweeps/{sweep}",
    "/sweeps/matrix?graph={graph}",
    "/methods?graph={graph}", "/methods?graph={graph}&rewrite=the-rewrite-0",
    "/compare?edit={rome}&edit={memit}",
    "/data", "/graphs/{graph}/delete",
    "/edits/{rome}/delete", "/rules?graph={graph}",
    "/growth", "/growth/{run}", "/coedits", "/coedits/{coedit}", "/depedit",
    "/comparisons", "/comparisons/{comparison}", "/comparisons/{sequence}",
    "/login", "/documentation",
)  # fmt: skip


@pytest.fixture(scope="module")
def stored(db: Database) -> Iterator[dict[str, str]]:
    with all_pages(db) as ids:
        yield ids


@pytest.fixture(scope="module")
def page(chromium: Browser, service: Service, test_settings: Settings) -> Iterator[Page]:
    """The page in which all are opened: a browser starts it, and compiles axe-core, only once."""
    with watched(chromium, service.url) as opened:
        page = opened("/login", allowed="Canvas2D")  # axe-core reads colours back
        in_each_document(page, test_settings.cache / "axe")
        yield page


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_on_any_page_in_light_or_dark(
    page: Page, service: Service, stored: dict[str, str], test_settings: Settings, path: str
) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(service.url + path.format(**stored))
    found = violations(page, test_settings.cache / "axe")
    assert not found, "\n".join(found)
