"""Reads the contract in the header of a query file.

A header is the comment block at the start of a file: prose that describes the query, then, where a
query has them:

    // higher-is-better: yes | no | neither        (metrics only)
    // source: paper, section, equation            (metrics only)
    // headline: yes                               (metrics only; more in cypher/metric_display.py)
    // params:
    //   $graph       STRING                       id of the graph
    //   $max_steps   INTEGER(1..5) = 5            longest chain; 5 when not given
    //   $bare        STRING(listed|include) = listed   allowed texts
    //   $rewrite     STRING|NULL = null           null is allowed, and the default
    //   $cases       LIST<MAP>                    keys of the maps are declared below
    //   $cases.id    STRING                       label of the row
    //   $cases.p_{pre,post}  FLOAT                two keys, $cases.p_pre and $cases.p_post

Types are those of Cypher and two more: PROBABILITY is a FLOAT in [0, 1], GRAPH_ID a non-empty
STRING without `|` (which joins graph and name in keys). Columns are separated by at least two
spaces; a line with deeper indentation continues the description above it. The columns are those of
the last RETURN; what they mean, the class says that their rows are read into (cypher/rows).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from pydantic import Field as Doc

from .errors import QueryContractError
from .metric_display import FIELDS as DISPLAY_FIELDS

_ENTRY = re.compile(
    r"(?P<name>\$?[A-Za-z_][\w.{,}]*)\s+"
    r"(?P<type>[A-Z_]+(?:<[A-Z_]+>)?)(?:\((?P<values>[^)]*)\))?(?P<null>\|NULL)?"
    r"(?:\s+=\s+(?P<default>\S+))?(?:\s{2,}(?P<doc>.*))?$"
)
_FIELD = re.compile(r"(?P<key>[a-z][a-z -]*):(?:\s+(?P<value>.*))?$")
_FIELDS: Final = ("higher-is-better", "source", *DISPLAY_FIELDS, "params")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a query, or one key of its maps."""

    type: Annotated[str, Doc(description="Cypher's name of the type, or PROBABILITY or GRAPH_ID.")]
    doc: Annotated[str, Doc(description="Its meaning.")]
    nullable: Annotated[bool, Doc(description="True if null may be given.")] = False
    default: Annotated[Any, Doc(description="Value where none is given.")] = None
    required: Annotated[bool, Doc(description="True if a value must be given.")] = False
    choices: Annotated[tuple[str, ...], Doc(description="The allowed texts; empty for any.")] = ()
    bounds: Annotated[
        tuple[int, int] | None, Doc(description="Smallest and largest INTEGER allowed; or null.")
    ] = None
    fields: Annotated[
        Mapping[str, Param],
        Doc(description="Keys of its maps, required unless nullable; empty for any."),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    """A header as read; values of the fields of metrics are not checked yet.

    Attributes:
        doc: the prose before the first field.
        fields: for each `key:` the rest of its line and its continuation lines.
    """

    doc: str
    fields: Mapping[str, str]
    params: Mapping[str, Param]


def read_header(name: str, text: str) -> Header:
    """Read the header of a query file; QueryContractError if it breaks the contract."""
    doc, fields = sections(name, header_lines(text), _FIELDS)
    params = fields.pop("params", ("", []))[1]
    return Header(
        doc=doc,
        fields={
            key: " ".join([first, *map(str.strip, more)]) for key, (first, more) in fields.items()
        },
        params=_params(name, params),
    )


def header_lines(text: str) -> list[str]:
    """The lines of the comment block at the start of a file, without `//`."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" ").rstrip())
    return lines


def body_start(text: str) -> int:
    """The number of lines of the header and of blank lines below it."""
    lines = text.split("\n")
    start = len(header_lines(text))
    while start < len(lines) and not lines[start].strip():
        start += 1
    return start


def sections(
    name: str, lines: list[str], known: Collection[str]
) -> tuple[str, dict[str, tuple[str, list[str]]]]:
    """The prose, and for each `key:` the rest of its line and the indented lines below it.

    Args:
        known: the keys a header may have; any other line `key:` is prose.
    """
    prose: list[str] = []
    fields: dict[str, tuple[str, list[str]]] = {}
    current: list[str] | None = None
    for line in lines:
        match = _FIELD.match(line)
        if match and match["key"] in known:
            current = []
            fields[match["key"]] = (match["value"] or "", current)
        elif current is None:
            prose.append(line)
        elif line.startswith("  "):
            current.append(line)
        elif line:
            raise QueryContractError(f"{name}: header line {line!r} belongs to no field.")
    return "\n".join(prose).strip(), fields


def entries(name: str, lines: list[str]) -> dict[str, Param]:
    """The indented lines below a `key:`, by the name at the start of each."""
    found: dict[str, Param] = {}
    last: list[str] = []
    for line in lines:
        match = _ENTRY.match(line.strip())
        depth = len(line) - len(line.lstrip())
        if depth > 2 and last:
            found |= {each: _continued(found[each], line.strip()) for each in last}
        elif match:
            last = _expanded(match["name"])
            found |= dict.fromkeys(last, _entry(name, match))
        else:
            raise QueryContractError(f"{name}: header line {line.strip()!r} cannot be read.")
    return found


def _expanded(name: str) -> list[str]:
    """Return the names of a name with alternatives, such as `p_{pre,post}`."""
    if not (found := re.search(r"\{([\w,]+)\}", name)):
        return [name]
    head, tail = name[: found.start()], name[found.end() :]
    return [each for part in found[1].split(",") for each in _expanded(f"{head}{part}{tail}")]


def by_param(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines below `params:` of each parameter and of each key of one, by its name."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if start := re.match(r"  \$([\w.]+)", line):
            name = start[1]
        found.setdefault(name, []).append(line)
    return found


def _continued(entry: Param, more: str) -> Param:
    return replace(entry, doc=f"{entry.doc} {more}".strip())


def _entry(name: str, match: re.Match[str]) -> Param:
    kind, values = match["type"], match["values"]
    bounds = None
    choices: tuple[str, ...] = ()
    if values and kind == "INTEGER":
        low, high = values.split("..")
        bounds = (int(low), int(high))
    elif values:
        choices = tuple(values.split("|"))
    default: Any = None
    if match["default"] is not None:
        is_text = kind in ("STRING", "GRAPH_ID") and match["default"] != "null"
        try:
            default = match["default"] if is_text else json.loads(match["default"])
        except ValueError as error:
            raise QueryContractError(f"{name}: default of {match['name']}: {error}") from error
    required = match["default"] is None
    nullable = bool(match["null"])
    return Param(kind, match["doc"] or "", nullable, default, required, choices, bounds)


def _params(name: str, lines: list[str]) -> dict[str, Param]:
    """Parameters by name without `$`, with the keys of their maps nested into `fields`."""
    top: dict[str, Param] = {}
    fields: dict[str, dict[str, Param]] = {}
    for key, entry in entries(name, lines).items():
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
        top[owner] = replace(top[owner], fields=parts)
    return top
