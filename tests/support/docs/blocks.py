"""Fenced blocks of a Markdown page: those to run, and the check of their output.

The rules, for the author of a page:

- `sh`: commands, run one after the other in the page's folder. Each must succeed, unless a comment
  behind it names another end: `# exit 1`, `# 404`.
- `console`: lines that begin with `$ ` are commands; the lines below one are its output. Compared
  as `differences` says. A line `…` stands for any lines, `…` in a line for any text.
- `python`: run in one namespace. `cypher`: read only, finds something, without a warning.
- `yaml`, `json`, `csv`, `text` … with `title="NAME"`: a file, written before what follows it runs.
- `text`, `diff`: what is shown only.

`<!-- not run: REASON -->` in the line above a block has it shown only; what can be checked of it
without a run is still checked. `PLACEHOLDERS` stand for ids of what is stored.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

RUN = ("sh", "console", "python", "cypher")
DATA = ("yaml", "json", "csv", "toml")
SHOWN = ("text", "diff", "mermaid", "bibtex", "dockerfile", "html")
LANGUAGES = (*RUN, *DATA, *SHOWN)

REASONS = (
    "GPU",
    "Docker",
    "download",
    "minutes",
    "terminal",
    "browser",
    "chat model",
    "another machine",
    "another server",
    "does not ship",
    "do not ship",
    "installs",
    "changes the repository",
    "stops the database",
    "deletes",
)
"""Why a block is not run: the comment's text holds one of these."""

PLACEHOLDERS = ("EDIT", "OTHER", "LATER", "RULE", "RUN", "COEDIT", "SWEEP", "SET")

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
NOT_RUN = re.compile(r"<!--\s*not run:\s*(.*?)\s*-->")
TITLE = re.compile(r'title="([^"]+)"')
PLACEHOLDER = re.compile(rf"(?<![\w$-])(?:{'|'.join(PLACEHOLDERS)})(?![\w-])")


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        line: the number of its first line of text in the page, from 1.
        language: the first word after the fence; "" if there is none.
        title: the file that it is to be written to.
        not_run: why it is not run; None if it is.
    """

    line: int
    language: str
    title: str | None
    not_run: str | None
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a shell block, with the output that the page shows for it.

    Attributes:
        shown: lines of output; None in a block that shows none.
    """

    line: int
    text: str
    shown: tuple[str, ...] | None = None

    @property
    def expected(self) -> frozenset[int]:
        """The exit codes with which it may end."""
        comment = re.search(r"(?:^|\s)#(.*)$", self.text)
        words = comment[1] if comment else ""
        code = re.search(r"\bexit(?: code)? (\d+)", words)
        if code:
            return frozenset({int(code[1])})
        # curl ends with 22 where the service refuses.
        return frozenset({22}) if re.search(r"\b4\d\d\b", words) else frozenset({0})


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order.

    Raises:
        ValueError: a block is not closed.
    """
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        if opened is None:
            at += 1
            continue
        indent, ticks, info = opened["indent"], opened["ticks"], opened["info"].strip()
        end = next(
            (
                i
                for i in range(at + 1, len(lines))
                if lines[i].strip().startswith(ticks) and not lines[i].strip().strip(ticks[0])
            ),
            None,
        )
        if end is None:
            raise ValueError(f"line {at + 1}: the block is not closed")
        before = next((each for each in reversed(lines[:at]) if each.strip()), "")
        reason = NOT_RUN.search(before)
        title = TITLE.search(info)
        yield Block(
            line=at + 2,
            language=info.split()[0] if info else "",
            title=title[1] if title else None,
            not_run=reason[1] if reason else None,
            text="\n".join(line.removeprefix(indent) for line in lines[at + 1 : end]),
        )
        at = end + 1


def problems(block: Block) -> Iterator[str]:
    """Yield the defects of a block that need no run."""
    if block.language not in LANGUAGES:
        given = f"the language {block.language!r}" if block.language else "no language"
        yield f"line {block.line}: {given}; one of {', '.join(LANGUAGES)}"
    if block.not_run is not None and not any(reason in block.not_run for reason in REASONS):
        yield f"line {block.line}: not run: {block.not_run!r} names none of {', '.join(REASONS)}"
    if block.title is not None and block.language in RUN and block.language != "python":
        yield f"line {block.line}: what is run has no title"
    if block.title is not None and (Path(block.title).is_absolute() or ".." in block.title):
        yield f"line {block.line}: {block.title!r} is not in the page's folder"


def commands(block: Block) -> list[Command]:
    """The commands of an `sh` or `console` block.

    Raises:
        ValueError: a console block does not begin with a command.
    """
    lines = list(enumerate(block.text.splitlines(), block.line))
    if block.language == "sh":
        return list(_statements(lines))
    found: list[Command] = []
    at = 0
    while at < len(lines):
        number, line = lines[at]
        if not line.startswith("$ "):
            raise ValueError(f"line {number}: output without a command; a command begins with '$ '")
        text = line[2:]
        at += 1
        while text.endswith("\\") and at < len(lines):
            text += "\n" + lines[at][1].removeprefix("> ")
            at += 1
        begin = at
        while at < len(lines) and not lines[at][1].startswith("$ "):
            at += 1
        shown = tuple(line for _, line in lines[begin:at])
        found.append(Command(number, text, shown))
    return found


def _statements(lines: Iterable[tuple[int, str]]) -> Iterator[Command]:
    """Whole commands of a script: lines joined at backslashes, in quotes, here-documents, loops."""
    begin, kept, until = 0, [], None
    for number, line in lines:
        if not kept:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            begin = number
        kept.append(line)
        text = "\n".join(kept)
        if until is None and (here := re.search(r"<<-?\s*['\"]?(\w+)['\"]?", line)):
            until = here[1]
        if until is not None:
            if line.strip() != until:
                continue
            until = None
        elif line.endswith("\\") or not _closed(text):
            continue
        yield Command(begin, text)
        kept = []
    if kept:
        yield Command(begin, "\n".join(kept))


def _closed(text: str) -> bool:
    """Return True if quotes and loops are closed."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return False
    opened = sum(word in ("do", "then", "case") for word in words)
    return opened == sum(word.rstrip(";") in ("done", "fi", "esac") for word in words) and not (
        words and words[0] in ("for", "while", "if") and not opened
    )


NUMBER = re.compile(r"(?<!\w)[-−+]?(?:\d[\d,_]*)?\.?\d+(?:[eE][-+]?\d+)?")
MASKS = (
    (
        re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?"),
        "#",
    ),
    (re.compile(r"\b[\w.-]*-[0-9a-f]{8,}\b"), "#"),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8,}\b"), "#"),
    (re.compile(r"https?://(?:localhost|127\.0\.0\.1)(?::\d+)?"), "#"),
    (re.compile(r"(?:localhost|127\.0\.0\.1):\d+"), "#"),
    # A state of a model, as the change put on: another one may be the first to open a chain.
    (re.compile(r"(?<!\S)\+[a-z0-9]+(?::[\w=.#-]+)*"), "+@"),
    (NUMBER, "#"),
    # A mean and its n: without any value it is undefined.
    (re.compile(r"# \(#\)|(?<!\S)–(?!\S)"), "#"),
)
RULES = re.compile(r"[─━═┄│┃┏┓┗┛┡┩╇┳┻╭╮╰╯├┤┬┴┼]+")


def masked(line: str, names: Sequence[str] = ()) -> str:
    """A line without what another run or another machine gives otherwise.

    Ids, times, addresses and numbers become `#`, as a number that is undefined does, states `+@`,
    `names` `@`, and any space between two words is one: columns are as wide as their numbers.
    """
    for name in names:
        line = line.replace(name, "@")
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return " ".join(RULES.sub(" ", line).split())


def differences(
    shown: Sequence[str], out: str, err: str = "", names: Sequence[str] = ()
) -> list[str]:
    """Return the differences of an output from the one that a page shows.

    Lines are compared masked and in any order, as a table's rows are ordered by their numbers.
    Lines of standard error, where progress is reported, need not be shown.

    Args:
        names: what a table's rows may be about, longest first: another model has other rows.
    """
    expected = Counter(masked(line, names) for line in shown)
    printed = [masked(line, names) for line in out.splitlines()]
    more = [masked(line, names) for line in err.splitlines()]
    found = Counter(printed) + Counter(more)
    expected.pop("", None)
    found.pop("", None)
    elided = expected.pop("…", 0)
    missing: list[str] = []
    for line, count in expected.items():
        if "…" not in line:
            missing += [line] * (count - min(count, found[line]))
            found[line] -= min(count, found[line])
            continue
        like = re.compile(".*".join(map(re.escape, line.split("…"))))
        for _ in range(count):
            hit = next((each for each, n in found.items() if n > 0 and like.fullmatch(each)), None)
            if hit is None:
                missing.append(line)
            else:
                found[hit] -= 1
    times = Counter(line for line in printed if line)
    extra = [] if elided else [ln for ln, n in found.items() for _ in range(min(n, times[ln]))]
    return [f"not in the output: {line}" for line in missing] + [
        f"not on the page: {line}" for line in extra
    ]
