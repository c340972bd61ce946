"""The roles of the columns of a table: by a name in any case, or as `map` says.

The subject, relation and object are named by one of TRIPLES; without a relation there is a prompt.
Further columns have the name of their
role, with or without a number: `prompt`, `statement1`, `paraphrase2`, `question`, `target_new`.
`map` is a list of `column=role`, for columns with other names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .errors import LoaderError
from .texts import enumeration, quoted

CORE = ("subject", "relation", "object")
TRIPLES = (
    CORE,
    ("subject", "predicate", "object"),
    ("subject", "property", "value"),
    ("beginning_object", "predicate", "ending_object"),
    ("entity", "relationship", "attribute"),
    ("entity", "attribute", "value"),
    ("head", "relation", "tail"),
    ("subject", "relation", "target_true"),
    ("subject", "prompt", "object"),
    ("subject", "prompt", "target_true"),
)
"""Names of the columns of subject, relation and object, in lower case with `_` for spaces. Without
a relation it is the slug of the prompt."""
ROLES = (*CORE, "target_new", "prompt", "statement", "paraphrase", "question")
EXPECTED = f"{', '.join(CORE)} (or {'; '.join(', '.join(names) for names in TRIPLES[1:])})"
NAME_THEM = (
    'Name the columns: --map "COLUMN=subject" --map "COLUMN=relation" --map "COLUMN=object", over'
    " REST the field `map`. A table needs a header."
)

_FURTHER = re.compile(rf"({'|'.join(ROLES[3:])})s?_?\d*")


def roles(columns: Sequence[str], given: Iterable[str] = ()) -> dict[str, str]:
    """The role of each column that has one; at least those of subject, relation and object.

    Args:
        given: `column=role` for each column that is named otherwise.

    Returns:
        {column: role}; empty if a column of subject, relation or object is missing.

    Raises:
        LoaderError: `given` names a column or a role that does not exist, or a role twice.
    """
    found: dict[str, str] = {}
    for item in given:
        column, role = _parsed(item, columns)
        if role in CORE and role in found.values():
            raise LoaderError(f"--map gives the role {quoted(role)} to two columns")
        found[column] = role
    names = {_plain(column): column for column in columns if column not in found}
    mapped = set(found.values())
    if "prompt" in mapped:
        mapped.add("relation")
    for triple in TRIPLES:
        needed = {role: name for role, name in zip(CORE, triple, strict=True) if role not in mapped}
        if set(needed.values()) <= set(names):
            taken = {names.pop(name): role for role, name in needed.items()}
            found |= {c: "prompt" if _plain(c) == "prompt" else role for c, role in taken.items()}
            break
    else:
        return {}
    for name, column in names.items():
        if (further := _FURTHER.fullmatch(name)) is not None:
            found[column] = further[1]
    return found


def described(columns: Sequence[str], found: dict[str, str]) -> str:
    """Say the role of each column, and name the columns that are not read."""
    used = ", ".join(f"{role} is {quoted(column)}" for column, role in found.items())
    rest = [column for column in columns if column not in found]
    return f"{used}; not read: {enumeration(rest)}" if rest else used


def _parsed(item: str, columns: Sequence[str]) -> tuple[str, str]:
    name, _, role = item.rpartition("=")
    role = _plain(role)
    if role not in ROLES or not name:
        raise LoaderError(
            f"--map {quoted(item)} names no role",
            remedy=f"Write COLUMN=ROLE; the roles are {', '.join(ROLES)}.",
        )
    same = [each for each in columns if each == name.strip()]
    same += [each for each in columns if _plain(each) == _plain(name)]
    if not same:
        raise LoaderError(
            f"--map {quoted(item)}: there is no such column",
            remedy=f"The columns are {enumeration(columns)}.",
        )
    return same[0], role


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())
