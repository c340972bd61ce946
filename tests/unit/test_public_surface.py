"""Names that users rely on: a change is a decision, made in public_surface.json.

`pytest --write tests/unit/test_public_surface.py` writes the list anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import thinkeval
from thinkeval import cypher
from thinkeval.service.base.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("public_surface.json")


def commands() -> list[str]:
    from typer.main import get_command

    from thinkeval.service.cli.main import app

    found = []

    def walk(command: Any, path: str) -> None:
        children = getattr(command, "commands", None)
        if not children:
            options = sorted(o for p in command.params for o in p.opts if o.startswith("--"))
            found.append(" ".join([path, *options]))
        for name, child in sorted((children or {}).items()):
            walk(child, f"{path} {name}")

    walk(get_command(app), "thinkeval")
    return found


def routes() -> list[str]:
    from support import openapi

    paths = openapi.document()["paths"]
    return sorted(
        f"{method.upper()} {path}" for path, methods in paths.items() for method in methods
    )


def entry_point_groups() -> list[str]:
    """The groups that the code asks for."""
    source = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "editing").rglob("*.py"))
    return sorted(set(re.findall(r'(?:GROUP = |group=)"([\w.]+)"', source)))


def surface() -> dict[str, list[str]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    return {
        "names": sorted(thinkeval.__all__),
        "scripts": [f"{name} = {target}" for name, target in project["scripts"].items()],
        "entry point groups": entry_point_groups(),
        "environment": sorted(f"{PREFIX}{name}".upper() for name in Settings.model_fields),
        "commands": commands(),
        "routes": routes(),
        "queries": sorted(cypher.names()),
    }


def test_the_public_surface_is_the_listed_one(pytestconfig: pytest.Config) -> None:
    now = surface()
    if pytestconfig.getoption("write"):
        LIST.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    for kind, names in listed.items():
        gone, new = sorted(set(names) - set(now[kind])), sorted(set(now[kind]) - set(names))
        assert (gone, new) == ([], []), f"{kind}: gone {gone}, new {new}"
    assert listed.keys() == now.keys()


def test_every_public_name_is_there() -> None:
    for name in thinkeval.__all__:
        assert getattr(thinkeval, name) is not None
    assert set(dir(thinkeval)) == set(thinkeval.__all__)


def test_importing_the_package_loads_neither_torch_nor_the_driver() -> None:
    code = (
        "import sys, thinkeval\n"
        "thinkeval.__version__, thinkeval.Client, thinkeval.Settings, thinkeval.EditIn\n"
        "heavy = ('torch', 'transformers', 'neo4j', 'numpy', 'pandas', 'fastapi', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_that_of_the_project() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == thinkeval.__version__
