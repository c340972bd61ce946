"""The documentation site as it is built, and what its pages link to, load and hold as anchors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[3]


def build(folder: Path) -> list[Path]:
    """Build the site strictly into a folder; its pages, without that of a missing address.

    Raises:
        AssertionError: the build warns; with its warning.
    """
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [path for path in sorted(folder.rglob("*.html")) if path.name != "404.html"]


@dataclass
class References(HTMLParser):
    """Links and anchors of one page, and the files that a browser loads for it."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=lambda: {"", "__top"})

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag's links, loads and anchors."""
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
    """Return the links, loads and anchors of a built page."""
    parser = References()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.M)
NAMED = re.compile(r"""\{[^}\n]*#([\w-]+)[^}\n]*\}|\bid=["']([\w-]+)["']""")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)\)")


def anchors_of(markdown: str) -> set[str]:
    """The anchors that a Markdown file has where it is shown by itself, as on GitHub.

    Of a heading: its words in lower case, joined by hyphens, without marks; the second of a name
    ends with `-1`.
    """
    text = FENCE.sub("", markdown)
    found = {name for pair in NAMED.findall(text) for name in pair if name}
    count: Counter[str] = Counter()
    for heading in HEADING.findall(text):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", NAMED.sub("", heading))
        slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{count[slug]}" if count[slug] else slug)
        count[slug] += 1
    return found


def broken_in(file: Path) -> list[str]:
    """Links of a Markdown file to files that are not there, or to no anchor of a Markdown file."""
    wrong = []
    for link in LINK.findall(FENCE.sub("", file.read_text(encoding="utf-8"))):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        if not target.exists():
            wrong.append(link)
        elif parts.fragment and target.suffix == ".md":
            there = anchors_of(target.read_text(encoding="utf-8"))
            if unquote(parts.fragment) not in there:
                wrong.append(link)
    return wrong


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
