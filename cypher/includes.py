"""Includes: `// include: chains/_paths` in a query becomes the body of that named part.

A part is a file `FOLDER/_NAME.cypher`. It is not a query: the catalogue does not list it, and it
cannot be run. Its header has prose that describes the part, then:

    // expects:
    //   c  MAP                 variables that must be bound before it
    // binds:
    //   r  LIST<RELATIONSHIP>  variables it leaves bound
    // params:
    //   $max_steps  INTEGER(1..5) = 5  as in a query

An include is a line of its own below the header; every line of the part gets its indentation. A
part may include parts. The header of the resolved text declares the parameters of all its parts; a
declaration of the query's own takes the place of that of a part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .errors import QueryContractError
from .header import Param, body_start, by_param, entries, header_lines, sections

Read = Callable[[str], str | None]
"""Takes the name of a part, such as `chains/_paths`; returns the text of its file, or None."""

_MENTION = re.compile(r"//\s*include\s*:")
INCLUDE = re.compile(r"(?P<indent>[ ]*)// include: (?P<part>[a-z_]+/_[a-z_]+)\s*")
_PARAM = re.compile(r"\$(\w+)")
_PARAMS = "// params:"
_DECLARED = re.compile(r"//   \$([\w.]+)")
_FIELDS = ("expects", "binds", "params")


@dataclass(frozen=True, slots=True)
class Part:
    """A named part: its header's contract, and its body.

    Attributes:
        name: path below this package without suffix, such as `chains/_paths`.
        doc: the prose of the header.
        expects: variables that must be bound before it.
        binds: variables it leaves bound; empty where it ends in RETURN.
        params: lines that declare each parameter it uses, by its name without `$`.
        start: number of header lines and blank lines above the body.
        body: lines of the file below the header, includes not resolved.
    """

    name: str
    doc: str
    expects: Mapping[str, Param]
    binds: Mapping[str, Param]
    params: Mapping[str, list[str]]
    start: int
    body: tuple[str, ...]


def resolve(name: str, text: str, read: Read) -> str:
    """The text of a query with every include replaced by the body of its part.

    Args:
        name: name of the query, for errors.
        read: gives the text of a part.

    Raises:
        QueryContractError: names file and line of an include that is malformed, is in the
            header, names a part that does not exist, or is circular.
    """
    header = len(header_lines(text))
    resolved: list[str] = []
    parts: dict[str, Part] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if number <= header and _MENTION.search(line):
            raise QueryContractError(f"{_at(name, number)}: an include must be below the header.")
        resolved += _resolved(line, _at(name, number), read, (name,), parts)
    return "\n".join(_declaring(resolved, header, parts.values()))


def _declaring(lines: list[str], header: int, parts: Iterable[Part]) -> list[str]:
    """The lines of a query with the parameters of its parts in its header."""
    own = {found[1] for line in lines[:header] if (found := _DECLARED.match(line))}
    added: dict[str, list[str]] = {}
    for part in parts:
        for param, declared in part.params.items():
            if param not in own:
                added.setdefault(param, [f"// {line}" for line in declared])
    if not added:
        return lines
    at = lines.index(_PARAMS, 0, header) + 1 if _PARAMS in lines[:header] else header
    title = [] if at < header or lines[at - 1] == _PARAMS else [_PARAMS]
    return [*lines[:at], *title, *(each for more in added.values() for each in more), *lines[at:]]


def read_part(name: str, text: str) -> Part:
    """Read a part's header; QueryContractError if it breaks the contract, with file and line."""
    header = header_lines(text)
    doc, fields = sections(name, header, _FIELDS)

    def below(field: str) -> list[str]:
        return fields[field][1] if field in fields else []

    params = by_param(below("params"))
    lines = text.rstrip("\n").split("\n")
    start = body_start(text)
    for number, line in enumerate(lines[start:], start + 1):
        for param in _PARAM.findall(_code(line)):
            if param not in params:
                raise QueryContractError(
                    f"{_at(name, number)}: ${param} is not declared in the header of the part."
                )
    return Part(
        name=name,
        doc=doc,
        expects=entries(name, below("expects")),
        binds=entries(name, below("binds")),
        params=params,
        start=start,
        body=tuple(lines[start:]),
    )


def _resolved(
    line: str, at: str, read: Read, within: tuple[str, ...], parts: dict[str, Part]
) -> list[str]:
    """The resolved lines of one line; `within` names the including files, outermost first."""
    if not _MENTION.search(line):
        return [line]
    found = INCLUDE.fullmatch(line)
    if found is None:
        raise QueryContractError(
            f"{at}: {line.strip()!r} is not a valid include; write `// include: FOLDER/_NAME`"
            " on a separate line."
        )
    name = found["part"]
    if name in within:
        raise QueryContractError(f"{at}: circular include: {' → '.join([*within, name])}.")
    text = read(name)
    if text is None:
        raise QueryContractError(f"{at}: there is no part {name!r} (cypher/{name}.cypher).")
    parts[name] = part = read_part(name, text)
    body = [
        each
        for number, inner in enumerate(part.body, part.start + 1)
        for each in _resolved(inner, _at(name, number), read, (*within, name), parts)
    ]
    return [f"{found['indent']}{each}" if each else each for each in body]


def _at(name: str, number: int) -> str:
    return f"{name}.cypher, line {number}"


def _code(line: str) -> str:
    return "" if line.lstrip().startswith("//") else line
