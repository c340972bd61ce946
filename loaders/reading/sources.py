"""Readers of text, JSON and YAML files, with errors that name the file and the place in it.

A file is read completely before it is interpreted, so a truncated file gives an error and never
half a graph. Repeated keys are errors too: the standard readers silently drop all but the last.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..errors import SchemaError, UnreadableFileError
from ..records import LITERAL_SLOT, slot_parts, slug
from ..texts import enumeration, is_placeholder, name_flaw, quoted, text_flaw
from .json_values import DECODER, JsonValueError
from .unrecognised import byte_problem, tab_line
from .yaml_bounds import require_bounded

PLAIN_STEMS = frozenset({"chains", "kg", "graph", "data", "triples", "facts"})
"""Generic file names; a data set with such a file is named after the folder."""


def default_name(path: Path) -> str:
    """The default name of the data set: the file's, or its folder's if the file's is generic."""
    path = path.resolve()
    if path.is_dir():
        return slug(path.name)
    return slug(path.parent.name if is_plain(path) else path.stem)


def is_plain(path: Path) -> bool:
    """Return True if the file's name is generic, such as `chains.json`."""
    return path.stem.lower() in PLAIN_STEMS


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert errors while reading the file into an UnreadableFileError that names it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{path}: {byte_problem(error)}",
            remedy="Save the file as UTF-8, or check that it is the right file.",
        ) from error
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror or error}") from error


SMALL = 2**20
"""Bytes of a file of settings, at most: one of a hundred keys has a few thousand."""


def small_text(path: Path) -> str:
    """Read the text of a file of settings, which has few bytes; nothing else is read at all.

    It needs no process of its own, as a data set does: in a mebibyte, which is nested only as deep
    as its reader permits (`yaml_bounds.py`), nothing can take long or much memory.

    Raises:
        OSError, UnicodeDecodeError: as `Path.read_text`.
        UnreadableFileError: it has more than SMALL bytes, or is a pipe or a device.
    """
    require_no_pipe(path)
    with path.open("rb") as file:
        content = file.read(SMALL + 1)
    if len(content) > SMALL:
        raise UnreadableFileError(
            f"{path}: it has more than {SMALL:,} bytes, so it is no file of settings",
            remedy="Check that it is the right file.",
        )
    return content.decode("utf-8-sig")


def require_no_pipe(path: Path) -> None:
    """Refuse what may never end, before it is opened, as opening it may never end either.

    Raises:
        UnreadableFileError: it is a pipe, a socket or a device.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UnreadableFileError(
            f"{path}: it is neither a file nor a folder, but a pipe, a socket or a device",
            remedy="Write its content to a file first.",
        )


def read_text(path: Path) -> str:
    """Read the file's text.

    Raises:
        UnreadableFileError: the file is missing, a folder, empty, not UTF-8, or not readable.
    """
    with readable(path):
        text = path.read_text(encoding="utf-8-sig")
    if not text.strip():
        raise UnreadableFileError(f"{path}: the file is empty")
    return text


def read_json(path: Path) -> Any:
    """Read the JSON value in the file; a repeated key in an object is an error."""
    text = read_text(path)
    try:
        return DECODER.decode(text)
    except JsonValueError as error:
        raise SchemaError(path, error.where, error.problem) from error
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        hint = "the file seems cut off" if cut else "not valid JSON"
        raise UnreadableFileError(
            f"{path}: line {error.lineno}, column {error.colno}: {hint} ({error.msg})"
        ) from error
    except RecursionError as error:
        raise UnreadableFileError(f"{path}: nested too deeply for a data set") from error


# The C parser is about ten times as fast, but not in every build of PyYAML.
_YamlBase: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class _TextYaml(_YamlBase):
    """Loads every scalar as text: `No`, `1984` and `2001-09-11` may be entities."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {quoted(key.value)} occurs twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path) -> Any:
    """Read the YAML value in the file, every scalar as text; a repeated key is an error."""
    text = read_text(path)
    try:
        require_bounded(yaml.parse(text, Loader=_YamlBase))
        return yaml.load(text, Loader=_TextYaml)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "unknown place"
        if (number := tab_line(text)) is not None and "token" in str(error.problem):
            raise UnreadableFileError(
                f"{path}: line {number}: indented by a tab", remedy="Indent YAML by spaces."
            ) from error
        raise UnreadableFileError(f"{path}: {place}: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError, TypeError) as error:
        raise UnreadableFileError(f"{path}: not valid YAML ({error})") from error


def kind_of(value: object) -> str:
    """The name of a value's type in JSON and YAML, for messages."""
    names: dict[type, str] = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true/false",
        type(None): "null",
    }
    return names.get(type(value), "a number")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file, for messages; checks the value at this place.

    Attributes:
        path: the file.
        where: record and field, such as `record 12, chain.prompts[3]`.
    """

    path: Path
    where: str

    def at(self, *parts: object) -> Place:
        """A place inside this one."""
        return Place(self.path, ", ".join([self.where, *map(str, parts)]).removeprefix(", "))

    def error(self, problem: str, *, code: str = "") -> SchemaError:
        """The error to raise about this place, with the code of a finding about a label."""
        return SchemaError(self.path, self.where or "top level", problem, code=code)

    def text(self, value: object) -> str:
        """The value, which must be a text that is not blank, without white space at its ends.

        A no-break or ideographic space at the end is the text's own (« in French), and stays.
        """
        text = self._not_blank(value)
        end = str(value)[len(str(value).rstrip()) :]
        text += end.rstrip(" \t\r\n")
        if (flaw := text_flaw(text)) is not None:
            raise self.error(flaw)
        return text

    def name(self, value: object) -> str:
        """The value, which must be a valid name of an entity, alias, relation, kind or data set."""
        name = self._not_blank(value)
        if (flaw := name_flaw(name)) is not None:
            raise self.error(flaw)
        return name

    def object_name(self, value: object) -> str:
        """The value, which must be the name of an entity and no placeholder (`N/A`, a dash)."""
        name = self.name(value)
        if is_placeholder(name):
            raise self.error(f"{quoted(name)} is a placeholder, not a name", code="placeholder")
        return name

    def _not_blank(self, value: object) -> str:
        if not isinstance(value, str):
            raise self.error(f"expected text, found {kind_of(value)}")
        if not value.strip():
            raise self.error("is empty", code="empty-cell")
        return value.strip()

    def prompt(self, value: object) -> str:
        """The value, which must be a cloze with exactly one `{}` for the subject."""
        text = self.text(value)
        if (found := len(slot_parts(text)) - 1) != 1 or LITERAL_SLOT in text:
            raise self.error(
                f"a prompt needs one {{}} for the subject, found {found}: {quoted(text)}"
            )
        return text

    def mapping(self, value: object) -> dict[str, Any]:
        """The value, which must be an object."""
        if not isinstance(value, dict):
            raise self.error(f"expected an object, found {kind_of(value)}")
        return value

    def sequence(self, value: object) -> list[Any]:
        """The value, which must be a list."""
        if not isinstance(value, list):
            raise self.error(f"expected a list, found {kind_of(value)}")
        return value

    def field(self, record: dict[str, Any], name: str) -> Any:
        """A mandatory field of a record."""
        if name not in record:
            raise self.error(
                f"the field {quoted(name)} is missing (has: {enumeration(record) or 'none'})"
            )
        return record[name]
