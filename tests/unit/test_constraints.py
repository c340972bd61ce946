"""The pinned versions install on every Python that the project takes.

pip searches for minutes, and in vain, where a pin wants a newer Python than the reader has.
"""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def oldest() -> str:
    """The first release of the oldest Python that `requires-python` names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = re.fullmatch(r">=(\d+\.\d+)", project["requires-python"])
    assert found is not None
    return f"{found[1]}.0"


def pins() -> dict[str, str]:
    """The pinned version of each package."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    texts = [line.split("#")[0].strip() for line in lines]
    parsed = [Requirement(text) for text in texts if text]
    return {str(canonicalize_name(each.name)): str(each.specifier)[2:] for each in parsed}


def refused(python: str, found: dict[str, tuple[str, str]]) -> list[str]:
    """Packages whose installed version is the pinned one and does not take that Python.

    Args:
        found: version and `Requires-Python` of what is installed.
    """
    return sorted(
        f"{name} {version} requires Python {wants}"
        for name, (version, wants) in found.items()
        if pins().get(name) == version and python not in SpecifierSet(wants)
    )


def test_no_pin_wants_a_newer_python_than_the_project() -> None:
    installed = {
        str(canonicalize_name(each.metadata["Name"])): (
            each.version,
            str(each.metadata.json.get("requires_python", "")),
        )
        for each in metadata.distributions()
    }
    assert len(installed.keys() & pins().keys()) > 100
    assert refused(oldest(), installed) == []


def test_a_pin_that_wants_a_newer_one_is_found() -> None:
    name, version = next(iter(pins().items()))
    found = {name: (version, ">=3.11.5"), "no-pin": ("1", ">=3.99")}
    assert refused("3.11.0", found) == [f"{name} {version} requires Python >=3.11.5"]
    assert refused("3.11.5", found) == []
