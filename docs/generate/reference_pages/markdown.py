"""Markdown of the reference: tables, details, and docstrings in Google style.

Texts of the code hold characters that Markdown reads as its own (`*`, `<`, `|`); outside of code
they are escaped.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`+[^`]+`+)")
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields)(?: \([^)]*\))?:")
_ENTRY = re.compile(r"(?P<names>[\w.*]+(?:, [\w.*]+)*)(?P<type> \([^)]*\))?: (?P<text>.*)", re.S)
_BOLD = re.compile(r"\[bold\](.*?)\[/bold\]", re.S)


def inline(text: str) -> str:
    """A text in one line, escaped outside of code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("<", "&lt;").replace("*", "\\*")
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    return re.sub(r"\[(?=[^\]]*\]\()", r"\\[", text)


def help_text(text: str) -> str:
    """A help text of the command line: marked words become code."""
    return _BOLD.sub(lambda found: f"`{found[1]}`", text)


def code(value: object) -> str:
    """A value as code, valid in a cell of a table."""
    text = str(value)
    if "|" in text or "`" in text:
        return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"
    return f"`{text}`" if text else ""


def cell(text: str) -> str:
    """A text as a cell of a table."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        code(part.strip("`")) if part.startswith("`") else _escaped(part).replace("|", "\\|")
        for part in parts
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; "" without rows. Empty columns are left out."""
    body = [list(row) for row in rows]
    if not body:
        return ""
    kept = [i for i in range(len(heads)) if any(row[i] for row in body)]
    lines = [[heads[i] for i in kept], ["---"] * len(kept)]
    lines += [[row[i] for i in kept] for row in body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fence(text: str, language: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.strip(chr(10))}\n```"


def details(summary: str, body: str) -> str:
    """A part that opens at a click."""
    shown = html.escape(summary, quote=False)
    return f'<details markdown="1">\n<summary>{shown}</summary>\n\n{body}\n\n</details>'


def blocks(*parts: str) -> str:
    """Parts of a page below each other, without the empty ones."""
    return "\n\n".join(part.strip("\n") for part in parts if part)


def anchor(heading: str) -> str:
    """The anchor of a heading, as the site and GitHub make it."""
    kept = re.sub(r"[^\w\s-]", "", heading).strip().lower()
    return re.sub(r"[\s]+", "-", kept)


def docstring(doc: str | None, language: str = "text") -> str:
    """A docstring as Markdown: paragraphs, lists, indented parts as code, sections as lists.

    Args:
        language: of indented parts.
    """
    found: list[str] = []
    lines = inspect.cleandoc(doc or "").split("\n")
    at = 0
    while at < len(lines):
        begin = at
        if not lines[at].strip():
            at += 1
        elif _SECTION.fullmatch(lines[at]):
            at = _end(lines, at + 1)
            found.append(_section(lines[begin].rstrip(":"), lines[begin + 1 : at]))
        elif lines[at].startswith("    "):
            at = _end(lines, at)
            body = inspect.cleandoc("\n" + "\n".join(lines[begin:at]))
            found.append(fence(body, language))
        else:
            while at < len(lines) and lines[at].strip() and not lines[at].startswith("    "):
                at += 1
            found.append(_paragraph(lines[begin:at]))
    return blocks(*found)


def _end(lines: Sequence[str], at: int) -> int:
    """Where the indented lines from `at` end, blank lines between them included."""
    last = at
    while at < len(lines) and (not lines[at].strip() or lines[at].startswith("    ")):
        at += 1
        if lines[at - 1].strip():
            last = at
    return last


def _paragraph(lines: Sequence[str]) -> str:
    """A paragraph, or the items of a list that begin with `* ` or `- `."""
    text = "\n".join(lines)
    items = re.split(r"(?:\A|\n)[*-] ", text)
    first = [inline(items[0])] if items[0].strip() else []
    return blocks(*first, "\n".join(f"- {inline(each)}" for each in items[1:]))


def _section(name: str, lines: Sequence[str]) -> str:
    """A section of a docstring: a heading in bold, and its entries as a list."""
    body = inspect.cleandoc("\n" + "\n".join(lines))
    entries = [each for each in re.split(r"\n(?=\S)", body) if each.strip()]
    if name.startswith(("Returns", "Yields")) or not all(map(_ENTRY.match, entries)):
        return f"**{name}:** {inline(body)}"
    return blocks(f"**{name}:**", "\n".join(f"- {_entry(each)}" for each in entries))


def _entry(text: str) -> str:
    found = _ENTRY.match(text)
    assert found is not None
    names = ", ".join(code(name) for name in found["names"].split(", "))
    return f"{names}{inline(found['type'] or '')}: {inline(found['text'])}"
