"""A copy of the tree with the files that a page of the documentation adds and changes.

A block with a title is a file; a `diff` with a title changes one, by lines that the tree has. What
is run in the copy imports `thinkeval` from there, by links as an editable installation has them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from support.docs.blocks import Block, blocks
from support.docs.pages import ROOT

ROOMS = ("service", "cypher", "editing", "loaders")
COPIED = (*ROOMS, "tests")
FILES = ("pyproject.toml", "README.md")


class TreeCopy:
    """The copy.

    Attributes:
        root: its folder.
        written: files that were added, as the page names them.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written: list[str] = []
        left_out = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=left_out)
        for name in FILES:
            shutil.copy(ROOT / name, root / name)
        self._path = root / "build" / "shim"
        package = self._path / "thinkeval"
        package.mkdir(parents=True)
        for target in (*(root / room for room in ROOMS), *(root / "service" / "public").iterdir()):
            (package / target.name).symlink_to(target)

    def add(self, page: str) -> None:
        """Write the files of a page of `docs/`, and make its changes."""
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for block in blocks(text):
            if block.title is None or Path(block.title).parts[0] not in COPIED:
                continue
            file = self.root / block.title
            if block.language == "diff":
                file.write_text(changed(file.read_text(encoding="utf-8"), block), encoding="utf-8")
                continue
            assert not file.exists(), f"{block.title} is in the tree already"
            file.write_text(block.text + "\n", encoding="utf-8")
            self.written.append(block.title)

    def python(self, *args: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a module of Python in the copy."""
        mine = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
        return subprocess.run(
            [sys.executable, "-m", *args],
            cwd=self.root,
            env=mine | {"PYTHONPATH": str(self._path), "PYTHONDONTWRITEBYTECODE": "1"} | dict(env),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def changed(text: str, block: Block) -> str:
    """A file's text with a diff's changes; `@@` separates places, which are in the file's order.

    Raises:
        ValueError: the lines of a place are not in the text, or more than once.
    """
    lines = text.split("\n")
    at = 0
    for before, after in _places(block.text):
        found = [
            i for i in range(at, len(lines)) if lines[i : i + len(before)] == before and before
        ]
        if len(found) != 1:
            raise ValueError(f"{block.title}: {len(found)} places with {before}")
        lines[found[0] : found[0] + len(before)] = after
        at = found[0] + len(after)
    return "\n".join(lines)


def _places(diff: str) -> Iterator[tuple[list[str], list[str]]]:
    """The lines of each place, before and after."""
    for part in diff.split("\n@@\n"):
        lines = part.split("\n")
        yield (
            [line[1:] for line in lines if not line.startswith("+")],
            [line[1:] for line in lines if not line.startswith("-")],
        )
