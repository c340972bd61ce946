"""The HTML of an audit: one file, nothing from elsewhere, every text escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from support.states.audits import MARKUP, made_up
from thinkeval.service.states import audit_page
from thinkeval.service.states.audit_page import DATA, SUMS, Step, plain, render

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Elements(HTMLParser):
    """Elements and attributes of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


@pytest.fixture(scope="module")
def html() -> str:
    return render(made_up())


def test_it_names_nothing_outside_itself(html: str) -> None:
    found = Elements()
    found.feed(html)
    assert not {"script", "iframe", "object", "embed", "img", "form", "base"} & set(found.tags)
    links = {v for _, n, v in found.attributes if n in ("href", "src", "action", "xlink:href")}
    assert links == {"data:,"}
    assert ("meta", "content", POLICY) in found.attributes
    assert "@import" not in html
    assert "url(" not in html
    assert not [name for _, name, _ in found.attributes if name.startswith("on")]


def test_ids_are_unique_and_texts_escaped(html: str) -> None:
    found = Elements()
    found.feed(html)
    ids = [value for _, name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert "x" not in ids
    assert MARKUP not in html
    assert "Lon&lt;b id=" in html
    named = {value for _, name, value in found.attributes if name == "aria-labelledby"}
    assert named <= set(ids)


def test_it_has_the_verdict_the_routes_and_the_names_of_the_other_files(html: str) -> None:
    for text in (
        "It leaks: it is so.", "1 of 2 chains.", "1 route by rules.", "A note.",
        "Routes by chains that are open: 1", "1 chain closed", "If [Person A] knew",
        "Forget: Ada", "a/query", DATA, f"sha256sum -c {SUMS}", "forgetting",
    ):  # fmt: skip
        assert text in html, text


def test_a_chain_is_drawn_with_its_probabilities() -> None:
    steps = [Step("knew", "B", 0.9, 0.45), Step("lived-in", "<C>", 1.0, 0.0, implied=True)]
    svg = str(audit_page.draw_chain("A", steps, "open"))
    bars = re.findall(r'class="(before|after)" x="\d+" y="\d+" width="([\d.]+)"', svg)
    wide = audit_page.BAR_WIDTH
    wanted = [0.9 * wide, 0.45 * wide, wide, 0.0]
    assert [float(width) for _, width in bars] == [pytest.approx(each, abs=0.06) for each in wanted]
    assert "&lt;C&gt;" in svg
    assert "∴ lived in" in svg
    assert "A; knew B: .90 before, .45 after" in svg
    assert svg.count("<circle") == 3
    assert "id=" not in svg


def test_a_missing_probability_has_no_bar() -> None:
    svg = str(audit_page.bars(0.5, None))
    assert 'class="before"' in svg
    assert 'class="after"' not in svg
    assert "– after" in svg


def test_values_in_words() -> None:
    assert plain({"seed": 0, "n": 1, "on": True, "off": False, "x": None, "e": "", "y": 0.5}) == (
        "seed 0, n 1, on yes, off no, y 0.5"
    )
    assert plain([]) == plain({}) == plain(None) == "none"
    assert plain(["a", 2]) == "a, 2"
