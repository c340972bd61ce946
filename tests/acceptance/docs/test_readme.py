"""The README's counts and its table of methods are those of the program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from support.commands import Cli
from support.docs.pages import ROOT
from thinkeval.service.forms.registry import forms

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_line_of_counts_is_true(tmp_path: Path) -> None:
    methods = _listed("model methods", tmp_path)
    controls = [method for method in methods if method["kind"] == "control"]
    names = {name for method in methods for name in method["architectures"]}
    # gemma3_text is gemma3 without images; IKE's "any decoder" is no architecture.
    names -= {"gemma3_text", "any decoder"}
    counts = {
        "methods": len(methods) - len(controls),
        "controls": len(controls),
        "architectures": len(names),
        "forms": len({form.id for form in forms()}),
        "metrics": len(_listed("db metrics", tmp_path)),
    }
    line = next(line for line in README.splitlines() if re.match(r"\*\*\d+ methods", line))
    found = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line)}
    assert found == counts


def test_the_table_has_every_method(tmp_path: Path) -> None:
    table = README[README.index("| method | changes |") :].split("\n\n")[0]
    first = " ".join(line.split("|")[1] for line in table.splitlines()[2:])
    assert set(re.findall(r"`([a-z_]+)`", first)) == {
        method["name"] for method in _listed("model methods", tmp_path)
    }


def _listed(command: str, folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Cli({}, folder)(*command.split(), "--json").json
    return found
