"""The API reference in Chromium: below a root path, for a person who signed in by token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from support.serving import Service, serving
from support.watching import watched

TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def guarded(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    env = environment | {"THINKEVAL_API_TOKEN": TOKEN}
    folder = tmp_path_factory.mktemp("docs")
    with serving(env, folder, "--workers", "0", "--root-path", "/below") as running:
        running.ready()
        yield running


@pytest.fixture
def page(chromium: Browser, guarded: Service) -> Iterator[Page]:
    with watched(chromium, guarded.url) as opened:
        # Swagger UI warns of every operation id that has an underscore.
        yield opened("/docs", allowed="escaping deep link whitespace")


def test_a_request_is_sent_from_the_reference(page: Page, guarded: Service) -> None:
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="core", exact=False).first.click()
    operation = page.locator("#operations-core-list_edits")
    operation.get_by_role("button", name="/v1/edits").first.click()
    expect(operation).to_contain_text("Only edits by this method.")
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    answer = operation.locator(".live-responses-table .response").first
    expect(answer).to_contain_text("200")
    expect(answer).to_contain_text('"next"')
    expect(operation.locator(".request-url")).to_contain_text(f"{guarded.url}/v1/edits")


def test_a_body_has_its_example_and_the_page_its_theme(page: Page) -> None:
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#swagger-ui .opblock-tag")
    page.evaluate("location.hash = '#/core/post_edit'")
    page.reload()
    operation = page.locator("#operations-core-post_edit")
    expect(operation).to_contain_text('"rewrite": "harry-potter--studied-at"')
    expect(operation).to_contain_text("application/problem+json")
    page.get_by_text("More", exact=True).click()
    for dark in (False, True):
        page.get_by_role("button", name="Theme").click()  # system, light, dark
        assert ("dark-mode" in (page.locator("html").get_attribute("class") or "")) == dark
