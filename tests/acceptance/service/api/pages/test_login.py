"""Signing in and out in Chromium, at a service that wants its token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from support.serving import Service, serving
from support.watching import Open, fits, watched

TOKEN = "pässwort of many letters"
WANTED = "/methods?measure=p"


@pytest.fixture(scope="module")
def guarded(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    env = environment | {"THINKEVAL_API_TOKEN": TOKEN}
    folder = tmp_path_factory.mktemp("guarded")
    with serving(env, folder, "--workers", "0") as running:
        running.ready()
        yield running


@pytest.fixture
def open_page(chromium: Browser, guarded: Service) -> Iterator[Open]:
    with watched(chromium, guarded.url) as opened:
        yield opened


def sign_in(page: Page, token: str) -> None:
    """By keyboard: the token's field has the focus."""
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type(token)
    page.keyboard.press("Enter")


def test_the_token_leads_to_where_one_wanted_to_go_and_signing_out_ends_it(
    open_page: Open, guarded: Service
) -> None:
    page = open_page(WANTED, allowed="401", viewport={"width": 390, "height": 844})
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
    sign_in(page, TOKEN[:-1])
    expect(page.get_by_role("alert")).to_contain_text("Wrong token.")
    fits(page, 390)
    sign_in(page, f" {TOKEN} ")
    expect(page).to_have_url(guarded.url + WANTED)
    expect(page.get_by_role("heading", name="Methods", exact=True)).to_be_visible()
    fits(page, 390)
    page.get_by_role("link", name="Edits", exact=True).click()
    expect(page.get_by_role("heading", name="How deep does an edit go?")).to_be_visible()
    page.wait_for_load_state("networkidle")  # what it asks of REST is let in too
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("status")).to_have_text("You are signed out.")
    page.goto(guarded.url + WANTED)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_page_that_was_left_open_asks_for_the_token_and_comes_back(
    open_page: Open, guarded: Service
) -> None:
    page = open_page("/?status=failed", allowed="401")
    sign_in(page, TOKEN)
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies()
    with suppress(Error):  # the page may leave before, as it asks for the edits by itself
        page.evaluate(
            "void import('/static/api.js')"
            ".then(({call}) => call('GET', '/v1/models').catch(() => 0))"
        )
    page.wait_for_url("**/login?**")
    sign_in(page, TOKEN)
    expect(page).to_have_url(f"{guarded.url}/?status=failed")


@pytest.mark.parametrize("elsewhere", ["//example.org/x", "https://example.org/", "/\\example.org"])
def test_signing_in_leads_to_no_other_site(
    open_page: Open, guarded: Service, elsewhere: str
) -> None:
    page = open_page(f"/login?next={elsewhere}")
    sign_in(page, TOKEN)
    expect(page).to_have_url(f"{guarded.url}/")
