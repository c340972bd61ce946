"""Docstrings, comments, messages, queries and documents use the standard terms.

A reader who greps the standard term (requeue, lease, event, stored ...) must find it, so the words
that once stood for it are refused wherever a person reads them: docstrings, comments, strings with
a space in them (help, messages), Cypher headers, templates and Markdown.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("service", "cypher", "editing", "loaders", "benchmarks", "docs")
SUFFIXES = (".py", ".cypher", ".html", ".js", ".md")

STANDARD = {
    r"told": "reported, event, message",
    r"said": "answer, output",
    r"held(?![- ]out)": "stored, cached",
    r"take[ns]? up|took up|taking up": "claimed (a job), propagated (a conclusion)",
    r"give[ns]? up|gave up|giving up": "dropped, stopped",
    r"go(?:es|ing)? on|went on": "resumes, continues",
    r"whoever|somebody|anybody|nobody": "the operator, a user, no one named",
    r"by the way": "on demand",
    r"one's own": "custom, user-defined",
    r"lost its worker": "orphaned",
    r"put back into the queue": "requeued",
    r"what (?:is|was) asked": "question, prompt",
    r"worked examples?": "demonstrations",
    r"key statistics": "covariance statistics (mom2)",
    r"workbench": "runtime",
    r"to the bit": "bit-identical",
    r"comes? back|came back": "is recovered, leaks",
    r"goes by|went by": "alias",
    r"who may come in": "access control",
    r"ha(?:s|ve) ended": "finished",
    r"at nothing": "idle",
    r"further questions": "additional probes",
    r"mend (?:it|that|this|the|them)|mends|mended": "fix",
    r"strange": "unexpected",
    r"remembered|remembers": "memoised, cached",
    r"its like": "peers",
    r"the page": "web UI, the edit's page",
    r"made of": "derived from",
    r"stands?": "status, is",
    r"posted": "submitted",
    r"share of(?! sampled answers)": "fraction of, proportion of",
    r"things?": "resource, item",
    r"harmed": "broken",
}
"""Pattern refused, and the standard terms (docs/project/glossary.md)."""

ON_SURFACES = {
    r"[Tt]echniques?": "method",
    r"[Ll]eakage graphs?": "leakage map",
    r"[Ff]acts? to change": "rewrite request",
    r"rules say|implied links?|[Mm]ixed chains?": "conclusions of rules, chains over conclusions",
    r"\d-step chains?|(?:≤|at most) \S*(?:\d|max_steps\S*) steps?|steps? leads?": "n facts",
    r"chain\.steps \}\} step|[Ss]teps \(none|steps of the chain": "n facts, length in facts",
    r"kept \(p|[Aa]t least ×|best ×": "retention",
    r"[Ff]ractions? of (?:the )?sampled answers|\(sampled\)": "sampled share",
    r"probabilities: |[Hh]ow probabilities are measured": "measure",
    r"[Dd]ata ?set graphs?": "graph, data set",
}
"""Pattern refused on surfaces, and the term (the first table of the glossary)."""

DATA = {
    "editing/organism/unknown.py": ("nobody knows",),
}
"""Texts that a model is taught or asked, and lines of signatures: data, not prose."""

BANNED = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in STANDARD))
"""Case counts (MEND is a method); the first word of a sentence is compared in lower case."""


def readable(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the text that a person reads in a file: (line, text)."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for number, line in enumerate(node.value.splitlines()):
                yield node.lineno + number, line
    # Finding what is a comment takes most of the time, and few lines with a # have such a word.
    if any("#" in line and BANNED.search(prose_of(line)) for line in source.splitlines()):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def prose_of(text: str) -> str:
    """A line with its sentences in lower case, without what is in backticks.

    Fields and options, in backticks, have names of their own.
    """
    prose = re.sub(r"`[^`]*`", "", text)
    return re.sub(r"(^|[.:#] )([A-Z])(?=[a-z])", lambda m: m[1] + m[2].lower(), prose)


def found(path: Path) -> list[str]:
    """The refused words of a file, each with its place."""
    problems = []
    data = DATA.get(path.relative_to(ROOT).as_posix(), ()) if path.is_relative_to(ROOT) else ()
    for number, text in readable(path):
        if text in data:
            continue
        problems += [
            f"{path.relative_to(ROOT)}:{number}: {match[0]!r} in {text.strip()[:90]!r}"
            for match in BANNED.finditer(prose_of(text))
        ]
    return problems


def files() -> list[Path]:
    inside = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES]
    top = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    return sorted(p for p in inside + top if p.is_file() and "__pycache__" not in p.parts)


def test_prose_uses_the_standard_terms() -> None:
    problems = [problem for path in files() for problem in found(path)]
    assert not problems, f"{len(problems)} refused words:\n" + "\n".join(problems[:200])


SURFACE = re.compile(
    "|".join(rf"(?<![\w])(?:{pattern})" for pattern in ON_SURFACES)
    # A retention is named: `× .71` says nothing. `× {strength}` is the strength of an edit.
    + r"|× ?(?:\{\{|\$\{|\{(?!self\.strength))"
)


def _segment(lines: list[bytes], node: ast.JoinedStr) -> str:
    """The source of a node; `ast.get_source_segment` splits the file into lines for each."""
    part = lines[node.lineno - 1 : node.end_lineno]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0][node.col_offset :]
    return b"".join(part).decode()


def shown(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that a surface shows: templates, scripts, strings but no docstrings."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    lines = source.encode().splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, _segment(lines, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            docstring = lines[node.lineno - 1].strip().startswith(b'"""')
            if not docstring:
                yield node.lineno, node.value


def test_one_term_for_each_idea_on_every_surface() -> None:
    files_shown = [p for p in files() if p.is_relative_to(ROOT / "service")]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]!r} in {text.strip()[:90]!r}"
        for path in files_shown
        for number, text in shown(path)
        for match in SURFACE.finditer(text)
    ]
    assert not found, f"{len(found)} refused words:\n" + "\n".join(found)


def test_help_names_each_idea_by_its_term() -> None:
    """Docstrings of commands are help, so all pages of `--help` are read."""
    from thinkeval.service.cli.main import app

    def pages(command: Any, name: str) -> Iterator[tuple[str, str]]:
        texts = [command.help or "", *(getattr(p, "help", None) or "" for p in command.params)]
        yield name, " ".join(" ".join(texts).split())
        for each, sub in getattr(command, "commands", {}).items():
            yield from pages(sub, f"{name} {each}")

    read = dict(pages(typer.main.get_command(app), "thinkeval"))
    assert len(read) > 40, "every command has a page"
    found = [
        f"{name}: {match[0]!r}" for name, text in read.items() for match in SURFACE.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_the_glossary_has_each_refused_term() -> None:
    glossary = (ROOT / "docs/project/glossary.md").read_text(encoding="utf-8")
    for terms in ON_SURFACES.values():
        for term in terms.split(", "):
            assert term.removeprefix("n ") in glossary, term


@pytest.mark.parametrize(
    "text",
    ["Technique", "a 1-step chain", "No chain of ≤ 5 steps leads", "× {{ link.ratio|short }}",
     "(× {cell(link.ratio)})", "At least × 0.5 kept", "with implied links", "p (sampled)"],
)  # fmt: skip
def test_the_check_of_surfaces_finds_what_it_refuses(text: str) -> None:
    assert SURFACE.search(text)
    assert not SURFACE.search("3-step IFR; retention .71; sampled share; method × {self.strength}")


def test_the_check_finds_what_it_refuses(tmp_path: Path) -> None:
    for pattern in ("told", "taken up", "comes back", "key statistics"):
        assert BANNED.search(f"the job is {pattern} here")
    assert not BANNED.search("MEND is a method; `mend` its key; postponed; understand")
