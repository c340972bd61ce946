"""The documentation site from disk in a browser: its search, its width, its contrast, no request.

Colours and landmarks are the theme's on every page, so axe-core looks at one page of each kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from support.axe import violations
from support.docs.site import build
from thinkeval.service.settings import Settings

SEARCHED = {
    "resume": "how-to/resume-after-a-crash.html",
    "retry": "how-to/resume-after-a-crash.html",
    "locality": "how-to/locality-and-counterfact.html",
    "covariance": "how-to/covariance.html",
    "unlearning": "concepts/model-states.html",
}
LOOKED_AT = (
    "index", "start/demo", "concepts/ifr", "how-to/compare-methods", "reference/settings",
    "results/knowgic", "inside/a-score-in-six-steps", "project/glossary",
)  # fmt: skip
THEMES_OWN = (".md-code__nav",)
"""What axe-core refuses in the theme's own script: the bar of each code block's copy button is a
`nav`, and all of them have one name (rule landmark-unique)."""
FOLLOWS = """matchMedia("(prefers-color-scheme: dark)").addEventListener("change", event =>
    document.body.setAttribute("data-md-color-scheme", event.matches ? "slate" : "default"))"""
"""The theme reads the reader's scheme when a page is opened; axe-core's run changes it later."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("site"))


def home(pages: list[Path]) -> Path:
    """The first page of the site: the one in no section's folder."""
    return min(pages, key=lambda path: len(path.parts))


@pytest.fixture
def offline(chromium: Browser) -> Iterator[BrowserContext]:
    """A window whose pages may read from the disk only."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    yield context
    context.close()
    assert asked
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


@pytest.mark.parametrize(("word", "wanted"), SEARCHED.items())
def test_the_search_finds_the_page(
    pages: list[Path], offline: BrowserContext, word: str, wanted: str
) -> None:
    page = offline.new_page()
    page.goto(home(pages).as_uri())
    page.get_by_role("textbox", name="Search").press_sequentially(word)
    results = page.locator(".md-search-result__item > .md-search-result__link")
    expect(results.first).to_be_visible()
    found = [link.get_attribute("href") or "" for link in results.all()[:3]]
    assert any(wanted in each for each in found), found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_no_page_is_wider_than_the_window(
    pages: list[Path], offline: BrowserContext, width: int, scheme: str
) -> None:
    page = offline.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    wide = []
    for path in pages:
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path.name)
    shown = page.locator("body").get_attribute("data-md-color-scheme")
    assert shown == {"light": "default", "dark": "slate"}[scheme]
    assert not wide


@pytest.mark.parametrize("name", LOOKED_AT)
def test_axe_finds_nothing_in_light_or_dark(
    pages: list[Path], offline: BrowserContext, test_settings: Settings, name: str
) -> None:
    page = offline.new_page()
    page.emulate_media(color_scheme="light")
    page.add_init_script(FOLLOWS)
    page.goto((home(pages).parent / f"{name}.html").as_uri())
    found = [
        line
        for line in violations(page, test_settings.cache / "axe")
        if not any(part in line for part in THEMES_OWN)
    ]
    assert not found, "\n".join(found)
