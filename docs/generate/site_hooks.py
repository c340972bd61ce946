"""Hooks of the site's build: reference pages, links to files, and pages that show a root file.

The pages of `reference/` are made from the code at each build (`reference_pages`).

MkDocs knows the pages under docs/ only. A link from one of them to another file of the repository
becomes that file's path as code, since the site has no copy of it. A page with `include: NAME` in
its metadata shows the root file of that name, with its links into docs/ made relative. The
changelog and the decisions are not searched: they name everything, and hide the pages that explain
it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
UNSEARCHED = ("project/changelog.md", "decisions/")
FENCE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, *, config: Any) -> Files:
    """Add the reference pages."""
    sys.path.insert(0, str(Path(__file__).parent))
    from reference_pages import NAMES, written

    for name in NAMES:
        files.append(File.generated(config, f"reference/{name}.md", content=written(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The Markdown of a page with the links and inclusions above."""
    at = Path(page.file.src_uri).parent
    if page.file.src_uri.startswith(UNSEARCHED):
        page.meta["search"] = {"exclude": True}
    included = page.meta.get("include")
    if included:
        markdown = (ROOT / included).read_text(encoding="utf-8")
        markdown = LINK.sub(lambda found: _from_root(found, at), markdown)
    if page.file.src_uri == "decisions/index.md":
        markdown += _decisions()
    parts = FENCE.split(markdown)  # code is left as it is
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda found: _link(found, at), part)
        for part in parts
    )


def on_post_page(output: str, **_: Any) -> str:
    """The HTML of a page; the theme's search dialog gets the name that a screen reader says."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def _from_root(found: re.Match[str], at: Path) -> str:
    """A link of a root file, relative to where it is shown."""
    text, target, anchor = found.groups()
    path = os.path.relpath(ROOT / target, DOCS / at)
    return f"[{text}]({path}{anchor or ''})"


def _link(found: re.Match[str], at: Path) -> str:
    text, target, _ = found.groups()
    path = Path(os.path.normpath(DOCS / at / target))
    if path.is_relative_to(DOCS) or not path.is_relative_to(ROOT):
        return found.group()
    name = path.relative_to(ROOT).as_posix()
    if text.strip("`") in (name, path.name):
        return f"`{name}`"
    return f"{text} (`{name}`)"


def _decisions() -> str:
    """One line a decision: its title, linked."""
    lines = []
    for path in sorted((DOCS / "decisions").glob("0*.md")):
        title = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"
