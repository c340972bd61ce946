"""The documentation site: it builds strictly, its links resolve, and it loads nothing from outside.

What a reader sees of it in a browser is in `acceptance/docs/test_site.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.docs.site import ROOT, References, broken, broken_in, references

SHOWN_ALONE = (
    "README.md", "examples/README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md",
)  # fmt: skip
"""Files that are read as they are, without the site."""


@pytest.fixture(scope="module")
def site(site_pages: list[Path]) -> dict[Path, References]:
    """The pages of the site and what they refer to."""
    return {page: references(page) for page in site_pages}


@pytest.mark.heavy
def test_every_link_and_anchor_of_the_site_resolves(site: dict[Path, References]) -> None:
    assert len(site) > 60
    assert not broken(site), "\n".join(broken(site))


@pytest.mark.heavy
def test_nothing_is_loaded_from_another_machine(site: dict[Path, References]) -> None:
    loaded = {each for page in site.values() for each in page.loaded}
    assert any(each.endswith(".js") for each in loaded)
    assert not [each for each in loaded if "//" in each]


@pytest.mark.heavy
def test_each_page_of_a_section_is_in_its_menu(site: dict[Path, References]) -> None:
    """A page outside the menu is found by search only; decisions have a list of their own."""
    home = min(site, key=lambda page: len(page.parts))
    linked = {(home.parent / link.partition("#")[0]).resolve() for link in site[home].links}
    left = [page for page in site if page not in linked and page.parent.name != "decisions"]
    assert not left


@pytest.mark.heavy
def test_the_search_has_no_history(site: dict[Path, References]) -> None:
    home = min(site, key=lambda page: len(page.parts)).parent
    found = json.loads((home / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    pages = {each["location"].partition("#")[0] for each in found}
    history = {page for page in pages if page.startswith(("project/changelog", "decisions/"))}
    assert "project/glossary.html" in pages
    assert not history


@pytest.mark.parametrize("name", SHOWN_ALONE)
def test_files_and_anchors_that_a_file_links_to_are_there(name: str) -> None:
    assert broken_in(ROOT / name) == []


def test_a_file_or_anchor_that_is_missing_is_found(tmp_path: Path) -> None:
    other = "# A `b` & c\n## Twice\n## Twice\n## Of [x](y.md) {#given}\n```sh\n# no heading\n```\n"
    (tmp_path / "b.md").write_text(other)
    page = tmp_path / "a.md"
    good = "[1](b.md#a-b--c) [2](b.md#twice-1) [3](b.md#given) [4](#here) [5](https://x.y/#z)"
    page.write_text(f"# Here\n{good}\n[6](b.md#no-heading) [7](c.md) [8](#there) ![9](d.svg)")
    assert broken_in(page) == ["b.md#no-heading", "c.md", "#there", "d.svg"]


def test_a_link_or_anchor_that_is_missing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        '<h1 id="here"></h1><a href="#here"></a><a href="b.html"></a><a href="#no"></a>'
    )
    wrong = broken({page: references(page)})
    assert [line.partition(": ")[2] for line in wrong] == ["#no", "b.html"]
