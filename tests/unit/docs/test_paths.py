"""Files, folders and queries that the documentation names are in the tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinkeval import cypher

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*.md"),
        ROOT / "benchmarks" / "README.md",
    ]
)
HISTORY = {"changed-in-0.3.md", "CHANGELOG.md"}
"""A changelog names files as they were called then."""

FOLDERS = (
    "benchmarks", "cypher", "docs", "editing", "examples", "loaders", "service", "tests", "deploy",
)  # fmt: skip
NAMED = re.compile(
    rf"`(?P<path>(?:{'|'.join(FOLDERS)})/[\w./-]+)`|\bpython (?P<program>benchmarks/[\w./-]+)"
)
QUERIES = re.compile(r"`(?P<query>(?:chains|metrics|probes|jobs|append|edits|graph)/\w+)`")
DOTTED = re.compile(r"`(?P<name>(?:cypher|editing|loaders|service)(?:\.\w+)+)`")
LINK = re.compile(r"\]\((?P<to>[^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def missing_paths(text: str) -> Iterator[str]:
    """Paths of the repository in backticks, or behind `python`, that are not there."""
    for found in NAMED.finditer(text):
        path = (found["path"] or found["program"]).rstrip(".")
        capital = re.search(r"(?<![a-z])[A-Z]{3,}", path)  # NAME is any file; README.md is one
        if capital and capital[0] != "README":
            continue
        if not (ROOT / path).exists() and "…" not in path:
            yield path


def missing_modules(text: str) -> Iterator[str]:
    """Dotted names in backticks whose module, or its file, is not there."""
    for found in DOTTED.finditer(text):
        parts = found["name"].split(".")
        place = ROOT
        for at, part in enumerate(parts):
            if (place / part).is_dir():
                place = place / part
                continue
            # The rest names what the module, or the package that was reached, defines.
            file = place / f"{part}.py"
            source = file if file.is_file() else place / "__init__.py"
            rest = parts[at + 1 :] if file.is_file() else parts[at:]
            text_of = source.read_text(encoding="utf-8")
            if not all(re.search(rf"\b{name}\b", text_of) for name in rest):
                yield found["name"]
            break


def missing_links(page: Path, text: str) -> Iterator[str]:
    """Relative links to files that are not there."""
    for found in LINK.finditer(text):
        to = found["to"].split("#")[0]
        outside = "://" in to or to.startswith(("/", "mailto:"))
        if to and not outside and not (page.parent / to).exists() and not is_generated(to):
            yield to


def is_generated(link: str) -> bool:
    """Return True if a link leads to a page that the build of the site makes from the code."""
    path = Path(link)
    module = ROOT / "docs/generate/reference_pages" / f"{path.stem.replace('-', '_')}.py"
    return path.parent.name == "reference" and module.is_file()


def missing_queries(text: str) -> Iterator[str]:
    """Queries, or parts of queries, that are not there; those of REST paths begin with a slash."""
    for found in QUERIES.finditer(text):
        folder, name = found["query"].split("/")
        if (
            found["query"] not in cypher.names()
            and not (ROOT / "cypher" / folder / f"{name}.cypher").is_file()
        ):
            yield found["query"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    if page.name in HISTORY:
        pytest.skip("names files as they were called then")
    text = prose(page)
    absent = [
        *missing_paths(text),
        *missing_modules(text),
        *missing_links(page, text),
        *missing_queries(text),
    ]
    assert absent == [], f"{page.relative_to(ROOT)} names what is not there"


def test_a_file_that_moved_is_found() -> None:
    text = "`service/score.py`, `service/scoring/score.py`, `editing/methods/NAME.py`,"
    assert list(missing_paths(text)) == ["service/score.py"]
    assert list(missing_paths("python benchmarks/bench.py and python benchmarks/no.py")) == [
        "benchmarks/no.py"
    ]
    modules = "`service.experiments.submit.enqueue`, `editing.methods`, `service.worker.none`, "
    modules += "`loaders.nothing_there`"
    assert list(missing_modules(modules)) == ["service.worker.none", "loaders.nothing_there"]
    page = ROOT / "docs" / "inside" / "architecture.md"
    assert list(missing_links(page, "[a](../no.md#x) [b](architecture.md) [c](https://x.y)")) == [
        "../no.md"
    ]
    assert list(missing_queries("`metrics/ifr`, `chains/_scored`, `jobs/nothing`")) == [
        "jobs/nothing"
    ]
