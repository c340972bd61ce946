"""The documentation site from disk in a browser: search, width, axe-core, and no request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

from support.axe import in_each_document, violations
from support.docs.site import ROOT
from support.docs.site_page import (
    HEIGHT,
    STILL,
    one_of_a_kind,
    scrolled_by_mouse_only,
    show,
    too_wide,
)
from thinkeval.service.base.settings import Settings

DOCS = ROOT / "docs"
SEARCHED = {
    "resume": "how-to/resume-after-a-crash.html",
    "retry": "how-to/resume-after-a-crash.html",
    "locality": "how-to/locality-and-counterfact.html",
    "covariance": "how-to/covariance.html",
    "unlearning": "concepts/unlearning.html",
}
SECTIONS = sorted({str(path.parent.relative_to(DOCS)) for path in DOCS.rglob("*.md")})
"""Folders of pages; `.` is that of the first page."""
THEMES_OWN = (".md-code__nav",)
"""What axe-core refuses in the theme's own script: the bar of each code block's copy button is a
`nav`, and all of them have one name (rule landmark-unique)."""


@pytest.fixture(scope="module")
def pages(site_pages: list[Path]) -> list[Path]:
    return site_pages


def home(pages: list[Path]) -> Path:
    """The first page of the site: the one in no section's folder."""
    return min(pages, key=lambda path: len(path.parts))


@contextmanager
def from_disk_only(window: BrowserContext) -> Iterator[None]:
    """Whatever a window reads meanwhile, and it reads something, is on the disk."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    window.on("request", note)
    yield
    window.remove_listener("request", note)
    assert asked
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture(scope="module")
def window(chromium: Browser, test_settings: Settings) -> Iterator[Page]:
    """Yield one window for all but the search: a browser keeps its compiled code of a page."""
    context = chromium.new_context(viewport={"width": 1280, "height": HEIGHT})
    context.add_init_script(STILL)
    in_each_document(context, test_settings.cache / "axe")
    yield context.new_page()
    context.close()


@pytest.fixture
def offline(window: Page) -> Iterator[Page]:
    """A page that may read from the disk only."""
    with from_disk_only(window.context):
        yield window


@pytest.fixture(scope="module")
def first_page(pages: list[Path], chromium: Browser) -> Iterator[Page]:
    """The first page, once for all words: its search reads the whole site at the first of them."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    with from_disk_only(context):
        page = context.new_page()
        page.goto(home(pages).as_uri())
        yield page
        context.close()


@pytest.mark.parametrize(("word", "wanted"), SEARCHED.items())
def test_the_search_finds_the_page(first_page: Page, word: str, wanted: str) -> None:
    box = first_page.get_by_role("textbox", name="Search")
    results = first_page.locator(".md-search-result__item > .md-search-result__link")
    box.fill("")
    expect(results).to_have_count(0)  # those of the word before are gone
    box.press_sequentially(word)
    expect(results.first).to_be_visible()
    found = [link.get_attribute("href") or "" for link in results.all()[:3]]
    assert any(wanted in each for each in found), found


@pytest.mark.parametrize("section", SECTIONS)
def test_every_page_fits_and_axe_finds_nothing_in_light_and_dark(
    pages: list[Path], offline: Page, test_settings: Settings, section: str
) -> None:
    """Each page is opened once: measured, then looked at by axe-core without repeated elements."""
    folder = home(pages).parent / section
    looked_at = [path for path in pages if path.parent == folder]
    assert looked_at
    wrong = []
    for path in looked_at:
        offline.emulate_media(color_scheme="light")
        offline.set_viewport_size({"width": 1280, "height": HEIGHT})
        offline.goto(path.as_uri())
        wrong += too_wide(offline) + scrolled_by_mouse_only(offline)
        one_of_a_kind(offline)  # first, as few elements are placed anew more quickly than all
        offline.set_viewport_size({"width": 1280, "height": HEIGHT})
        wrong += violations(offline, test_settings.cache / "axe", settled=True, show=show)
    wrong = [line for line in wrong if not any(part in line for part in THEMES_OWN)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("repeated", "rule"),
    [
        ('<p style="color: #bbb; background: #fff">pale</p>', "color-contrast"),
        ("<table><tr><th></th></tr><tr><td>x</td></tr></table>", "empty-table-header"),
        ('<a href="#"></a>', "link-name"),
    ],
)
def test_what_is_repeated_is_still_looked_at(
    offline: Page, test_settings: Settings, tmp_path: Path, repeated: str, rule: str
) -> None:
    file = tmp_path / "page.html"
    file.write_text(f'<html lang="en"><title>x</title><body><main><h1>x</h1>{repeated * 500}')
    offline.goto(file.as_uri())
    before, kept = one_of_a_kind(offline)
    assert before > 500 > 20 > kept
    found = violations(offline, test_settings.cache / "axe", settled=True)
    assert any(f"light: {rule}:" in line for line in found)


@pytest.mark.parametrize(
    ("style", "rule"),
    [
        ("h1 { background: #222; color: #444 }", "color-contrast"),
        ("body { background: #222; color: #ddd } a { color: #9ab }", "link-in-text-block"),
    ],
)
def test_what_is_wrong_in_dark_only_is_found(
    offline: Page, test_settings: Settings, tmp_path: Path, style: str, rule: str
) -> None:
    file = tmp_path / "page.html"
    style = f"@media (prefers-color-scheme: dark) {{ {style} }}"
    style = f"a {{ color: #06c; text-decoration: none }} {style}"
    text = 'Words, <a href="#x">a link</a> among them, and more words that are no link.'
    file.write_text(
        f'<html lang="en"><title>x</title><style>{style}</style><body><main><h1>Words</h1><p>{text}'
    )
    offline.goto(file.as_uri())
    found = violations(offline, test_settings.cache / "axe", settled=True)
    rules = {line.removeprefix(f"{offline.url} ").rpartition(": [")[0] for line in found}
    assert rules == {f"dark: {rule}"}


def test_a_page_that_is_too_wide_is_found(offline: Page, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text('<body data-md-color-scheme="default"><div style="width: 800px">x</div>')
    offline.goto(file.as_uri())
    assert [line.partition(": ")[2] for line in too_wide(offline)] == [
        "wider than 390 px, dark",
        "wider than 390 px, light",
    ]
