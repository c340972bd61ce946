"""The query catalogue: one `.cypher` file each, described by the contract in its header.

A query may include named parts (cypher/includes.py), and one holds all metrics over chains
(cypher/unions.py). Its text is that of the resolved query: the text sent to the server, printed,
and pasted into Neo4j Browser.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

from pydantic import Field

from . import includes, unions
from .errors import QueryContractError, UnknownQueryError
from .header import Param, read_header
from .metric_display import FIELDS as DISPLAY_FIELDS
from .metric_display import MetricDisplay, read_display

__all__ = [
    "MetricDisplay",
    "Param",
    "Query",
    "names",
    "over_chains",
    "parse",
    "part_names",
    "part_text",
    "query",
]

_SENTENCE = re.compile(r"(\.)\s+(?=[A-Z`0-9$])")
_WRITES = re.compile(r"\b(?:CREATE|MERGE|SET|DELETE|REMOVE|GRANT|REVOKE)\b")


@dataclass(frozen=True, slots=True)
class Query:
    """A query file: its summary, parameters, columns and complete text."""

    name: Annotated[str, Field(description="Name: folder and file, such as chains/enumerate.")]
    summary: Annotated[str, Field(description="Its result, in one sentence.")]
    doc: Annotated[str, Field(description="Definition and source; the summary comes first.")]
    mode: Annotated[
        Literal["read", "write", "autocommit"],
        Field(description="read, write, or autocommit: it commits by itself."),
    ]
    params: Annotated[Mapping[str, Param], Field(description="Its parameters by name.")]
    columns: Annotated[
        tuple[str, ...], Field(description="Names of the columns, in order; empty without any.")
    ]
    source: Annotated[
        str | None, Field(description="Paper, section and equation; null without one.")
    ]
    higher_is_better: Annotated[
        str | None, Field(description="yes, no or neither; null for a query that is no metric.")
    ]
    display: Annotated[MetricDisplay | None, Field(description="Of a metric: how tables show it.")]
    digest: Annotated[
        str,
        Field(description="First 16 hex digits of the SHA-256 of the statements without comments."),
    ]
    text: Annotated[
        str, Field(description="The complete text as sent to the server, with its shared parts.")
    ]

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements of a file that holds several, each ended by `;` at the end of a line."""
        parts = re.split(r";[ \t]*(?:\n|\Z)", _without_comments(self.text))
        return tuple(part.strip() for part in parts if part.strip())


@cache
def names(prefix: str = "") -> tuple[str, ...]:
    """The names of all queries that start with `prefix`, such as `metrics/`, sorted."""
    return tuple(name for name in _all_names() if name.startswith(prefix))


@cache
def query(name: str) -> Query:
    """The query of that name.

    Raises:
        UnknownQueryError: no query has that name; the message lists similar names.
        QueryContractError: its header breaks the contract, or an include cannot be resolved.
    """
    if name not in _all_names():
        near = difflib.get_close_matches(name, _all_names(), n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise UnknownQueryError(f"There is no query {name!r}{hint}")
    return parse(name, _file(name).read_text(encoding="utf-8"))


def parse(name: str, text: str, part: includes.Read | None = None) -> Query:
    """Read a query's header and resolve its includes.

    Args:
        part: gives the text of a part; default: its file in this package.

    Raises:
        QueryContractError: the header breaks the contract (cypher/header.py), or an include or a
            union cannot be resolved (cypher/includes.py, cypher/unions.py).
    """
    if unions.is_union(text):
        text = unions.joined(name, text, _metrics())
    text = includes.resolve(name, text, part or part_text)
    header = read_header(name, text)
    code = _without_comments(text).strip()
    verdict, source = header.fields.get("higher-is-better"), header.fields.get("source")
    metric = name.startswith("metrics/")
    if metric and (verdict not in ("yes", "no", "neither") or not source):
        raise QueryContractError(f"{name}: a metric needs `higher-is-better:` and `source:`.")
    for field in () if metric else DISPLAY_FIELDS:
        if field in header.fields:
            raise QueryContractError(f"{name}: `{field}:` is a field of metrics only.")
    summary, _, more = _SENTENCE.sub(r"\1\0", header.doc, count=1).partition("\0")
    summary = " ".join(summary.split("\n"))
    return Query(
        name=name,
        text=text,
        summary=summary,
        doc="\n\n".join(filter(None, (summary, more))),
        mode=_mode(code),
        params=header.params,
        columns=_columns(code),
        higher_is_better=verdict,
        source=source,
        display=read_display(name, header.fields) if metric else None,
        digest=hashlib.sha256(code.encode()).hexdigest()[:16],
    )


def _mode(code: str) -> Literal["read", "write", "autocommit"]:
    if "IN TRANSACTIONS" in code:
        return "autocommit"
    return "write" if _WRITES.search(code) else "read"


def _columns(code: str) -> tuple[str, ...]:
    """The names of the columns of the last RETURN, split at the commas outside all brackets."""
    _, found, last = f"\n{code}".rpartition("\nRETURN ")
    depth, parts = 0, [""]
    for letter in re.split(r"\n(?:ORDER BY|SKIP|LIMIT)\b", last)[0].removeprefix("DISTINCT "):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(re.split(r"\sAS\s", each)[-1].strip() for each in parts) if found else ()


@cache
def over_chains() -> tuple[str, ...]:
    """The names of the metrics over chains: those whose values `chains/metrics` returns."""
    return tuple(unions.over_chains(_metrics()))


def part_text(name: str) -> str | None:
    """The text of the file of a part, such as `chains/_paths`; None without one."""
    return _file(name).read_text(encoding="utf-8") if name in part_names() else None


def part_names() -> tuple[str, ...]:
    """The names of all parts that queries include, sorted."""
    return tuple(name for name in _files() if _is_part(name))


@cache
def _metrics() -> Mapping[str, str]:
    """The texts of the files of the metrics, by name."""
    return {name: _file(name).read_text(encoding="utf-8") for name in names("metrics/")}


def _all_names() -> tuple[str, ...]:
    return tuple(name for name in _files() if not _is_part(name))


def _is_part(name: str) -> bool:
    return name.split("/")[1].startswith("_")


def _file(name: str) -> Traversable:
    folder, stem = name.split("/")
    return resources.files("thinkeval.cypher") / folder / f"{stem}.cypher"


@cache
def _files() -> tuple[str, ...]:
    folders = (f for f in resources.files("thinkeval.cypher").iterdir() if f.is_dir())
    return tuple(
        sorted(
            f"{folder.name}/{file.name.removesuffix('.cypher')}"
            for folder in folders
            for file in folder.iterdir()
            if file.name.endswith(".cypher")
        )
    )


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
