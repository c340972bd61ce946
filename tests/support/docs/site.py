"""The documentation site as it is built, and what its pages link to, load and hold as anchors."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[3]


def build(folder: Path) -> list[Path]:
    """Build the site strictly into a folder; its pages, without that of a missing address.

    Raises:
        AssertionError: the build warns; with what it said.
    """
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [path for path in sorted(folder.rglob("*.html")) if path.name != "404.html"]


@dataclass
class References(HTMLParser):
    """Links and anchors of one page, and what a browser loads for it."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=lambda: {"", "__top"})

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, loads and can be linked by."""
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        href, source = given.get("href"), given.get("src")
        if tag == "a" and href:
            self.links.append(href)
        elif tag == "link" and href and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(href)
        elif source:
            self.loaded.append(source)


def references(page: Path) -> References:
    """What a built page refers to."""
    parser = References()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def broken(pages: dict[Path, References]) -> list[str]:
    """Links and files of pages that lead to no file, or to no anchor of one; a line each."""
    wrong = set()
    for path, page in pages.items():
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            missing = not target.is_file()
            if missing or (known and unquote(parts.fragment) not in known.anchors):
                wrong.add(f"{path.parent.name}/{path.name}: {link}")
    return sorted(wrong)
