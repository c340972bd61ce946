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

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("service", "cypher", "editing", "loaders", "benchmarks", "docs")
SUFFIXES = (".py", ".cypher", ".html", ".js", ".md")

STANDARD = {
    r"told": "reported, event, message",
    r"said": "answer, output",
    r"held": "stored, cached",
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
    r"share of": "fraction of, proportion of",
    r"things?": "resource, item",
    r"harmed": "broken",
}
"""Pattern refused, and the standard terms (docs/project/glossary.md)."""

DATA = {"editing/organism/unknown.py": ("nobody knows",)}
"""Texts that a model is taught or asked: data, not prose."""

BANNED = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in STANDARD))
"""Case counts (MEND is a method); the first word of a sentence is compared in lower case."""


def readable(path: Path) -> Iterator[tuple[int, str]]:
    """What a person reads in a file: (line, text)."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for number, line in enumerate(node.value.splitlines()):
                yield node.lineno + number, line
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def found(path: Path) -> list[str]:
    """The refused words of a file, each with its place."""
    problems = []
    data = DATA.get(path.relative_to(ROOT).as_posix(), ()) if path.is_relative_to(ROOT) else ()
    for number, text in readable(path):
        if text in data:
            continue
        # `code` in backticks names fields and options, and those have names of their own.
        prose = re.sub(r"`[^`]*`", "", text)
        prose = re.sub(r"(^|[.:] )([A-Z])(?=[a-z])", lambda m: m[1] + m[2].lower(), prose)
        problems += [
            f"{path.relative_to(ROOT)}:{number}: {match[0]!r} in {text.strip()[:90]!r}"
            for match in BANNED.finditer(prose)
        ]
    return problems


def files() -> list[Path]:
    inside = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES]
    top = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    return sorted(p for p in inside + top if p.is_file() and "__pycache__" not in p.parts)


def test_prose_uses_the_standard_terms() -> None:
    problems = [problem for path in files() for problem in found(path)]
    assert not problems, f"{len(problems)} refused words:\n" + "\n".join(problems[:200])


def test_the_check_finds_what_it_refuses(tmp_path: Path) -> None:
    for pattern in ("told", "taken up", "comes back", "key statistics"):
        assert BANNED.search(f"the job is {pattern} here")
    assert not BANNED.search("MEND is a method; `mend` its key; postponed; understand")
