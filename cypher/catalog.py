"""The queries of this package: one `.cypher` file each, described by the contract in its header.

A header is the comment block a file starts with. It says in prose what the query answers, then:

    // mode: read | write | autocommit
    // higher-is-better: yes | no | neither        (metrics only)
    // source: paper, section, equation            (metrics only)
    // params:
    //   $graph       STRING                       id of the graph
    //   $max_steps   INTEGER(1..5) = 5            longest chain; 5 when not given
    //   $bare        STRING(listed|include) = listed   what a text may be
    //   $rewrite     STRING|NULL = null           null is allowed, and the default
    //   $cases       LIST<MAP>                    the maps' keys are declared below
    //   $cases.id    STRING                       what to call the row
    // returns: one row a chain, by steps
    //   steps        INTEGER                      facts in the chain

Types are Cypher's, and two of ours: PROBABILITY is a FLOAT in [0, 1], GRAPH_ID a STRING that is
neither empty nor holds `|` (which joins graph and name in keys). Columns are separated by two
spaces or more; a line that goes in further continues the sentence above it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

from cypher.errors import QueryContractError, UnknownQueryError


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
"""The default of a parameter that has none."""

MODES: Final = ("read", "write", "autocommit")

_ENTRY = re.compile(
    r"(?P<name>\$?[A-Za-z_][\w.]*)\s+"
    r"(?P<type>[A-Z_]+(?:<[A-Z_]+>)?)(?:\((?P<values>[^)]*)\))?(?P<null>\|NULL)?"
    r"(?:\s+=\s+(?P<default>\S+))?(?:\s{2,}(?P<doc>.*))?$"
)
_FIELD = re.compile(r"(?P<key>[a-z][a-z -]*):(?:\s+(?P<value>.*))?$")
_FIELDS: Final = ("mode", "higher-is-better", "source", "params", "returns")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a query.

    Attributes:
        type: Cypher's name of the type, or PROBABILITY or GRAPH_ID.
        nullable: whether null may be given.
        default: what is sent when the parameter is not given; REQUIRED if it must be.
        choices: for a STRING, the texts that are allowed; empty for any.
        bounds: for an INTEGER, the smallest and largest allowed.
        fields: for a MAP or LIST<MAP>, the keys its maps may and (unless nullable) must have;
            empty if the header does not declare them.
    """

    type: str
    doc: str
    nullable: bool = False
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    fields: Mapping[str, Param] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Column:
    """One column a query returns; `nullable` says whether its value may be null."""

    type: str
    doc: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """One query file: its text and what its header promises.

    Attributes:
        name: path below this package without suffix, such as `chains/enumerate`.
        text: the whole file, header included, as it is sent to the server.
        summary: the first paragraph of the header.
        doc: the header's prose.
        mode: `read`, `write`, or `autocommit` (runs outside a transaction of ours).
        returns: what one row stands for, and the order.
        higher_is_better: `yes`, `no` or `neither` for a metric, else None.
        source: for a metric the paper, section and equation, else None.
        digest: first 16 hex digits of the SHA-256 of the text; part of a score's provenance.
    """

    name: str
    text: str
    summary: str
    doc: str
    mode: str
    params: Mapping[str, Param]
    columns: Mapping[str, Column]
    returns: str
    higher_is_better: str | None
    source: str | None
    digest: str

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
        UnknownQueryError: there is none; says which names are close.
        QueryContractError: its header does not follow the contract.
    """
    if name not in _all_names():
        near = difflib.get_close_matches(name, _all_names(), n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise UnknownQueryError(f"There is no query {name!r}{hint}")
    folder, stem = name.split("/")
    path = resources.files("cypher") / folder / f"{stem}.cypher"
    return parse(name, path.read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Query:
    """Read a query's header; QueryContractError if it breaks the contract above."""
    doc, fields = _sections(name, _header_lines(text))
    mode = fields.get("mode", ("", []))[0]
    if mode not in MODES:
        raise QueryContractError(f"{name}: mode is {mode!r}, not one of {', '.join(MODES)}.")
    if "params" not in fields or "returns" not in fields:
        raise QueryContractError(f"{name}: the header lacks `params:` or `returns:`.")
    verdict = fields.get("higher-is-better", ("", []))[0] or None
    told = fields.get("source", ("", []))
    source = " ".join([told[0], *(line.strip() for line in told[1])]) or None
    if name.startswith("metrics/") and (verdict not in ("yes", "no", "neither") or not source):
        raise QueryContractError(f"{name}: a metric says `higher-is-better:` and `source:`.")
    return Query(
        name=name,
        text=text,
        summary=" ".join(doc.split("\n\n")[0].split("\n")),
        doc=doc,
        mode=mode,
        params=_params(name, fields["params"][1]),
        columns={
            key: Column(entry.type, entry.doc, entry.nullable)
            for key, entry in _entries(name, fields["returns"][1]).items()
        },
        returns=fields["returns"][0],
        higher_is_better=verdict,
        source=source,
        digest=hashlib.sha256(text.encode()).hexdigest()[:16],
    )


@cache
def _all_names() -> tuple[str, ...]:
    folders = (f for f in resources.files("cypher").iterdir() if f.is_dir())
    return tuple(
        sorted(
            f"{folder.name}/{file.name.removesuffix('.cypher')}"
            for folder in folders
            for file in folder.iterdir()
            if file.name.endswith(".cypher")
        )
    )


def _header_lines(text: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" ").rstrip())
    return lines


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


def _sections(name: str, lines: list[str]) -> tuple[str, dict[str, tuple[str, list[str]]]]:
    """The prose, and for each `key:` the rest of its line and the indented lines below it."""
    prose: list[str] = []
    fields: dict[str, tuple[str, list[str]]] = {}
    current: list[str] | None = None
    for line in lines:
        match = _FIELD.match(line)
        if match and match["key"] in _FIELDS:
            current = []
            fields[match["key"]] = (match["value"] or "", current)
        elif current is None:
            prose.append(line)
        elif line.startswith("  "):
            current.append(line)
        elif line:
            raise QueryContractError(f"{name}: header line {line!r} belongs to no field.")
    return "\n".join(prose).strip(), fields


def _entries(name: str, lines: list[str]) -> dict[str, Param]:
    entries: dict[str, Param] = {}
    last = ""
    for line in lines:
        match = _ENTRY.match(line.strip())
        depth = len(line) - len(line.lstrip())
        if depth > 2 and last:
            entries[last] = _continued(entries[last], line.strip())
        elif match:
            last = match["name"]
            entries[last] = _entry(name, match)
        else:
            raise QueryContractError(f"{name}: header line {line.strip()!r} cannot be read.")
    return entries


def _continued(entry: Param, more: str) -> Param:
    return Param(
        entry.type,
        f"{entry.doc} {more}".strip(),
        entry.nullable,
        entry.default,
        entry.choices,
        entry.bounds,
        entry.fields,
    )


def _entry(name: str, match: re.Match[str]) -> Param:
    kind, values = match["type"], match["values"]
    bounds = None
    choices: tuple[str, ...] = ()
    if values and kind == "INTEGER":
        low, high = values.split("..")
        bounds = (int(low), int(high))
    elif values:
        choices = tuple(values.split("|"))
    default: Any = REQUIRED
    if match["default"] is not None:
        is_text = kind in ("STRING", "GRAPH_ID") and match["default"] != "null"
        try:
            default = match["default"] if is_text else json.loads(match["default"])
        except ValueError as error:
            raise QueryContractError(f"{name}: default of {match['name']}: {error}") from error
    return Param(kind, match["doc"] or "", bool(match["null"]), default, choices, bounds)


def _params(name: str, lines: list[str]) -> dict[str, Param]:
    """Parameters by name without `$`, with the keys of their maps nested into `fields`."""
    top: dict[str, Param] = {}
    fields: dict[str, dict[str, Param]] = {}
    for key, entry in _entries(name, lines).items():
        if not key.startswith("$"):
            raise QueryContractError(f"{name}: parameter {key!r} lacks its `$`.")
        owner, _, part = key[1:].partition(".")
        if part:
            fields.setdefault(owner, {})[part] = entry
        else:
            top[owner] = entry
    for owner, parts in fields.items():
        if owner not in top or top[owner].type not in ("MAP", "LIST<MAP>"):
            raise QueryContractError(f"{name}: ${owner} has keys but is no MAP or LIST<MAP>.")
        e = top[owner]
        top[owner] = Param(e.type, e.doc, e.nullable, e.default, e.choices, e.bounds, parts)
    return top
