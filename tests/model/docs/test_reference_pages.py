"""The reference pages of the site name everything that has a name."""

from __future__ import annotations

import importlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thinkeval
from thinkeval import cypher
from thinkeval.editing import hparams, registry
from thinkeval.loaders.formats import formats
from thinkeval.service.base.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[3]
SURFACE = json.loads((ROOT / "tests/unit/public_surface.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pages() -> Iterator[Any]:
    """The package that writes the pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs/generate"))
        yield importlib.import_module("reference_pages")
        for name in [name for name in sys.modules if name.startswith("reference_pages")]:
            del sys.modules[name]


def stored(name: str) -> str:
    text: str = importlib.import_module("reference_pages").written(name)
    return text


def headings(name: str, level: int = 2) -> list[str]:
    outside = re.sub(r"^```.*?^```", "", stored(name), flags=re.S | re.M)
    return [found.strip("`") for found in re.findall(rf"^{'#' * level} (.+)$", outside, re.M)]


def test_nothing_on_a_page_is_of_one_machine_or_day(pages: Any) -> None:
    here = {Path.home(), Path(tempfile.gettempdir()), ROOT, ROOT.parent} - {Path(ROOT.anchor)}
    for name in pages.NAMES:
        text = stored(name)
        assert [str(folder) for folder in here if f"{folder}/" in text] == [], name
        assert not re.search(r" at 0x[0-9a-f]{6,}", text), name
        assert "\r" not in text


@pytest.mark.usefixtures("pages")
def test_every_command_and_option_is_there() -> None:
    page = stored("cli")
    sections = {
        part.split("\n", 1)[0]: part for part in re.split(r"^## ", page, flags=re.M) if part
    }
    for line in SURFACE["commands"]:
        path, *options = re.split(r" (?=--)", line)
        section = sections.get(path) or sections[path.rsplit(" ", 1)[0]]
        missing = [each for each in options if f"`{each}`" not in section and each != "--help"]
        assert missing == [], path
    assert len(headings("cli")) - 2 == len(SURFACE["commands"])


@pytest.mark.usefixtures("pages")
def test_every_metric_and_query_is_there_with_its_text() -> None:
    metrics = [name.removeprefix("metrics/") for name in cypher.names("metrics/")]
    assert sorted(headings("metrics")) == metrics
    for name in metrics:
        assert cypher.query(f"metrics/{name}").text.rstrip() in stored("metrics")
    assert "// include:" not in stored("metrics")
    others = [name for name in cypher.names() if not name.startswith("metrics/")]
    assert sorted(headings("queries", 3)) == others
    assert sorted([*others, *cypher.names("metrics/")]) == SURFACE["queries"]


@pytest.mark.usefixtures("pages")
def test_every_method_is_there_with_its_hyperparameters() -> None:
    page = stored("methods")
    own = [name for name in registry.names() if registry.info(name).origin == "built in"]
    assert headings("methods") == own
    for name in own:
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert [key for key in hparams.entries(name) if f"| `{key}` |" not in section] == []


def test_every_setting_public_name_and_format_is_there(pages: Any) -> None:
    del pages
    names = [f"{PREFIX}{name}".upper() for name in Settings.model_fields]
    assert re.findall(r"^\| `(THINKEVAL_\w+)` \|", stored("settings"), re.M) == names
    assert set(headings("python")) == set(thinkeval.__all__)
    methods = importlib.import_module("reference_pages.python").client_methods()
    assert {f"Client.{name}" for name in methods} <= set(headings("python", 3))
    assert {"score", "chains", "co_edit", "sweep"} <= set(methods)
    assert all(f"| `{key}` |" in stored("file-formats") for key in formats())


def test_every_error_is_there(pages: Any) -> None:
    del pages
    errors = importlib.import_module("reference_pages.errors")
    known = {each.__name__ for base in errors.KNOWN_ERRORS for each in errors.classes(base)}
    assert {"NotFoundError", "LoaderError", "ServerUnavailableError", "HparamsError"} <= known
    assert set(re.findall(r"\| `(\w+Error)` \|$", stored("errors"), re.M)) == known


def test_every_label_and_relationship_type_is_there(pages: Any) -> None:
    del pages
    schema = importlib.import_module("reference_pages.graph_schema")
    declared = schema.declared()
    assert set(declared["label"]) == set(schema.LABELS)
    assert set(declared["type"]) == set(schema.TYPES)
    assert {"p_pre", "p_post", "role", "cases"} <= set(schema.properties()["FACT"])
    assert set(schema.properties()["Entity"]) == {"aliases", "graph", "key", "kind", "name"}
    unexplained = [
        name
        for names in schema.properties().values()
        for name in names
        if not schema.meanings().get(name)
    ]
    assert unexplained == []


def test_links_between_the_pages_lead_to_headings(pages: Any) -> None:
    markdown = importlib.import_module("reference_pages.markdown")
    anchors = {
        name: {markdown.anchor(h) for level in (1, 2, 3) for h in headings(name, level)}
        for name in pages.NAMES
    }
    for name in pages.NAMES:
        outside = re.sub(r"^```.*?^```", "", stored(name), flags=re.S | re.M)
        for target, at in re.findall(r"\]\(((?:[\w-]+\.md)?)#([^)]+)\)", outside):
            assert at in anchors[target.removesuffix(".md") or name], f"{name}: {target}#{at}"


def test_a_docstring_as_markdown(pages: Any) -> None:
    del pages
    markdown = importlib.import_module("reference_pages.markdown")
    found = markdown.docstring(
        """A * B of <x> and `a|b`.

            code  * here

        Args:
            one, two: of both,
                on two lines.

        Returns:
            What it is.
        """
    )
    assert found == (
        "A \\* B of &lt;x> and `a|b`.\n\n```text\ncode  * here\n```\n\n**Args:**\n\n"
        "- `one`, `two`: of both, on two lines.\n\n**Returns:** What it is."
    )
    assert markdown.cell("a|b `c|d`") == "a\\|b <code>c&#124;d</code>"
    assert markdown.table(("A", "B"), [("1", ""), ("2", "")]) == "| A |\n| --- |\n| 1 |\n| 2 |"
