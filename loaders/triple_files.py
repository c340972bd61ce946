"""Find the files of triples in a folder, and read the triples in them.

`triples.py` describes the files. The triples are read unchanged; nothing is merged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import graph_yaml
from .assembly import GraphAssembly
from .errors import SchemaError, UnknownFormatError, UnreadableFileError
from .reading.sources import CsvRow, CsvTable, Place, read_csv, read_yaml
from .records import unique
from .texts import enumeration, folded, quoted

BASE_FILE = "base_triple.csv"
REWRITES_FILE = "rewrites.yaml"
REWRITES_TABLE = "rewrites.csv"
ENTITIES_TABLE = "entities.csv"
STATEMENT_COLUMNS = ("beginning_object", "predicate", "ending_object")
PLAIN_COLUMNS = ("Entity", "Relationship", "Attribute")
BASE_COLUMNS = ("Attributes", "Relationships")


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact as in the file, with its statements and questions."""

    subject: str
    relation: str
    object: str
    place: Place
    statements: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Subject, relation and object; the names are case-insensitive."""
        return (folded(self.subject), self.relation, folded(self.object))


@dataclass
class Sources:
    """The files of a folder, by their content."""

    facts: Path
    statements: list[Path] = field(default_factory=list)
    base: Path | None = None
    rewrites: list[Path] = field(default_factory=list)
    entities: Path | None = None
    unread: list[Path] = field(default_factory=list)


def find_sources(path: Path) -> Sources:
    """The files to read for a path: the file of facts, and those that complement it."""
    if not path.exists():
        raise UnreadableFileError(f"{path}: no such file or folder")
    folder = path if path.is_dir() else path.parent
    facts = _facts_of_folder(path) if path.is_dir() else path
    sources = Sources(facts)
    from_yaml = facts.suffix.lower() in {".yaml", ".yml"}
    for file in sorted(folder.iterdir()):
        if file == facts or not file.is_file():
            continue
        if file.name == BASE_FILE:
            sources.base = file
        elif file.name in (REWRITES_FILE, REWRITES_TABLE):
            sources.rewrites.append(file)
        elif file.name == ENTITIES_TABLE:
            sources.entities = file
        elif from_yaml and has_columns(file, STATEMENT_COLUMNS):
            sources.statements.append(file)
        elif path.is_dir() and file.suffix.lower() in {".csv", ".yaml", ".yml"}:
            sources.unread.append(file)
    return sources


def _facts_of_folder(folder: Path) -> Path:
    files = [file for file in sorted(folder.iterdir()) if file.is_file()]
    for kind in (
        [file for file in files if file.name.lower() == "kg.yaml"],
        [file for file in files if _is_nested_yaml(file)],
        [file for file in files if has_columns(file, STATEMENT_COLUMNS)],
        [file for file in files if has_columns(file, PLAIN_COLUMNS)],
    ):
        if len(kind) == 1:
            return kind[0]
        if kind:
            names = enumeration(file.name for file in kind)
            raise UnknownFormatError(
                f"{folder}: contains several files of triples: {names}",
                remedy="Give the path of the one to import.",
            )
    raise UnknownFormatError(f"{folder}: contains no file of triples", remedy="Give a file's path.")


def is_facts(file: Path) -> bool:
    """Return True if the file is probably a file of triples."""
    tables = (STATEMENT_COLUMNS, PLAIN_COLUMNS)
    return _is_nested_yaml(file) or any(has_columns(file, columns) for columns in tables)


def _is_nested_yaml(file: Path) -> bool:
    """Return True if the first two lines, without comments, are a key and an indented key."""
    if file.suffix.lower() not in {".yaml", ".yml"} or file.name == REWRITES_FILE:
        return False
    if graph_yaml.recognises(file):
        return False
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    lines = [x for x in text.splitlines() if x.strip() and not x.lstrip().startswith(("#", "---"))]
    if lines and re.match(r"[^\s{\[-][^{]*:\s*\{", lines[0]):
        return True
    keys = [line.rstrip().endswith(":") or ": " in line for line in lines[:2]]
    return keys == [True, True] and lines[0][0] not in " -" and lines[1][0] in " \t"


def has_columns(file: Path, columns: tuple[str, ...]) -> bool:
    """Return True if the file is a CSV file whose header has these columns."""
    if file.suffix.lower() != ".csv":
        return False
    with file.open(encoding="utf-8-sig", errors="replace") as stream:
        header = stream.readline()
    return set(columns) <= {name.strip().strip('"') for name in header.split(",")}


def read_facts(file: Path, assembly: GraphAssembly | None = None) -> list[Triple]:
    """Read the triples of a YAML or CSV file, in its order; at least one."""
    if file.suffix.lower() in {".yaml", ".yml"}:
        triples = _read_nested(file)
    else:
        triples = read_table(file, read_csv(file), assembly)
    if not triples:
        raise Place(file, "").error("there are no facts")
    return triples


def _read_nested(file: Path) -> list[Triple]:
    triples: list[Triple] = []
    top = Place(file, "")
    for subject, relations in top.mapping(read_yaml(file)).items():
        there = top.at(quoted(subject))
        name = there.name(subject)
        for relation, objects in there.mapping(relations).items():
            here = there.at(quoted(relation))
            text = here.name(relation)
            for object_ in graph_yaml.objects_of(here, objects):
                triples.append(Triple(name, text, object_, here))
    return triples


def read_table(file: Path, table: CsvTable, assembly: GraphAssembly | None = None) -> list[Triple]:
    """Convert the rows of a table to triples, with their statements if it has any.

    A row with an unusable cell, such as an empty one, is refused and reported, and the others are
    read; without an assembly to report it to, it is an error.

    Raises:
        SchemaError: a column is missing, or no row is usable.
    """
    columns = STATEMENT_COLUMNS
    if not set(columns) <= set(table.columns):
        columns = PLAIN_COLUMNS
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise Place(file, "line 1").error(
            f"the columns are {enumeration(table.columns)}; expected "
            f"{', '.join(STATEMENT_COLUMNS)} with statements, or {', '.join(PLAIN_COLUMNS)}"
        )
    triples: list[Triple] = []
    refused: list[SchemaError] = []
    for row in table.rows:
        try:
            triples.append(_triple(Place(file, f"line {row.line}"), row, columns))
        except SchemaError as error:
            if assembly is None:
                raise
            refused.append(error)
            assembly.note("refused", f"{file.name}, {error.where}", error.problem)
    if refused and not triples:
        raise refused[0]
    return triples


def read_columns(file: Path, needed: Sequence[str]) -> Iterator[tuple[Place, dict[str, str]]]:
    """Yield place and cells of each row of a table that must have these columns.

    Raises:
        SchemaError: one of them is missing.
    """
    table = read_csv(file)
    if missing := [column for column in needed if column not in table.columns]:
        raise Place(file, "line 1").error(f"the column {quoted(missing[0])} is missing")
    for row in table.rows:
        yield Place(file, f"line {row.line}"), row.cells


def numbered(place: Place, cells: Mapping[str, str], kind: str) -> list[str]:
    """Return the texts of the columns `kind1`, `kind2`, ... that are not blank."""
    return [
        place.at(column).text(text)
        for column, text in cells.items()
        if column.startswith(kind) and text
    ]


def _triple(place: Place, row: CsvRow, columns: tuple[str, ...]) -> Triple:
    subject, relation, object_ = (place.at(c).name(row.cells[c]) for c in columns)
    statements, questions = (
        unique(numbered(place, row.cells, kind)) for kind in ("statement", "question")
    )
    return Triple(subject, relation, object_, place, statements, questions)
