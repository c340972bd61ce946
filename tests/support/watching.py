"""Chromium for tests of the page: every page it opens stays on its host and its console empty."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

SLOW_MS = 300_000
"""For what a worker must do first."""
expect.set_options(timeout=30_000)  # for all else: a page is drawn late on a busy machine

Open = Callable[..., Page]


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
"""Programs of one engine, the first of them without the parts that only a desktop shows."""


@contextmanager
def chromium_here() -> Iterator[Browser]:
    """The browser; skips the test where none is installed."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium is installed here; the page is not watched")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def watched(browser: Browser, url: str) -> Iterator[Open]:
    """Opens pages of the service at `url`; at the end nothing may have gone wrong in any of them.

    What is opened with `allowed` may say that on its console: a refusal is an error there.
    """
    contexts, wrong = [], []

    def opened(path: str, *, allowed: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()

        def said(kind: str, text: str) -> None:
            if not allowed or allowed not in text:
                wrong.append(f"{path}: {kind}: {text}")

        page.on("console", lambda m: said(m.type, m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: said("error", str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(url) else said("left the host", request.url)
            ),
        )
        page.goto(url + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong, "\n".join(wrong)


def fits(page: Page, width: int) -> None:
    """Nothing on the page is wider than the window."""
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
