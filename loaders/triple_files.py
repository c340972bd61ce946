"""Find the files of triples in a folder, and read the triples in them.

`triples.py` describes the files. The triples are read unchanged; nothing is merged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import graph_yaml
from .assembly import GraphAssembly
from .errors import LoaderError, SchemaError, UnknownFormatError, UnreadableFileError
from .reading.sources import Place, read_yaml
from .reading.tables import RECORDS, Row, Table, columns_of, read_table
from .records import SUBJECT_SLOT, slug, unique
from .table_roles import EXPECTED, NAME_THEM, described, roles
from .texts import enumeration, folded, quoted
from .wording import from_statement

BASE_FILE = "base_triple.csv"
REWRITES_FILE = "rewrites.yaml"
REWRITES_TABLE = "rewrites.csv"
ENTITIES_TABLE = "entities.csv"
STATEMENT_COLUMNS = ("beginning_object", "predicate", "ending_object")
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
    target_new: str = ""
    key: tuple[str, str, str] = field(init=False, compare=False)
    """Subject, relation and object; the names are case-insensitive."""

    def __post_init__(self) -> None:
        key = (folded(self.subject), self.relation, folded(self.object))
        object.__setattr__(self, "key", key)


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
        elif from_yaml and _has_statements(file):
            sources.statements.append(file)
        elif path.is_dir() and file.suffix.lower() in {".csv", ".yaml", ".yml"}:
            sources.unread.append(file)
    return sources


def _facts_of_folder(folder: Path) -> Path:
    files = [file for file in sorted(folder.iterdir()) if file.is_file()]
    for kind in (
        [file for file in files if file.name.lower() == "kg.yaml"],
        [file for file in files if _is_nested_yaml(file)],
        [file for file in files if _has_statements(file)],
        [file for file in files if is_table(file)],
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
    return _is_nested_yaml(file) or bool(roles(columns_of(file, roles_fit)))


def is_table(file: Path) -> bool:
    """Return True if a file of a folder is a table of triples, and none of the others' tables."""
    others = (REWRITES_TABLE, ENTITIES_TABLE, BASE_FILE)
    return (
        file.name not in others
        and file.suffix.lower() not in RECORDS
        and bool(roles(columns_of(file, roles_fit)))
    )


def roles_fit(columns: Sequence[str]) -> bool:
    """Return True if a table with these columns is one of triples."""
    return bool(roles(columns))


def _has_statements(file: Path) -> bool:
    found = roles(columns_of(file, roles_fit))
    return is_table(file) and set(STATEMENT_COLUMNS) <= {column.casefold() for column in found}


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


def read_facts(file: Path, assembly: GraphAssembly, given: Sequence[str] = ()) -> list[Triple]:
    """Read the triples of a YAML file, a table or records, in its order; at least one.

    Args:
        given: `column=role` for columns of a table with other names.
    """
    if file.suffix.lower() in {".yaml", ".yml"}:
        triples = _read_nested(file)
    else:
        triples = table_triples(file, assembly, given)
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


def table_triples(file: Path, assembly: GraphAssembly, given: Sequence[str] = ()) -> list[Triple]:
    """Read the rows of a table as triples, with their statements if it has any.

    A row with an unusable cell, such as an empty one, is refused and reported, and the others are
    read.

    Raises:
        SchemaError: a column is missing, or no row is usable.
    """
    table = read_table(file, lambda columns: _fits(columns, given))
    found = roles(table.columns, given)
    if not found:
        where = "top level" if file.suffix.lower() in RECORDS else "line 1"
        raise SchemaError(
            file,
            where,
            f"the columns are {enumeration(table.columns)}; expected {EXPECTED}",
            remedy=NAME_THEM,
        )
    assembly.layouts.append(f"{file.name}: {table.layout}; {described(table.columns, found)}")
    _report_guess(file, table, assembly)
    triples: list[Triple] = []
    refused: list[SchemaError] = []
    for row in table.rows:
        try:
            triples.append(_triple(Place(file, row.where), row, found))
        except SchemaError as error:
            refused.append(error)
            assembly.refuse(error, file.name)
    if refused and not triples:
        raise refused[0]
    return triples


def _fits(columns: Sequence[str], given: Sequence[str]) -> bool:
    try:
        return bool(roles(columns, given))
    except LoaderError:
        return False


def _report_guess(file: Path, table: Table, assembly: GraphAssembly) -> None:
    if table.guessed is not None:
        assembly.note(
            "repaired",
            file.name,
            "is not UTF-8, and is read as Windows-1252, which is a guess: check"
            f" {quoted(table.guessed)}, or save the file as UTF-8",
        )


def read_columns(file: Path, needed: Sequence[str]) -> Iterator[tuple[Place, dict[str, str]]]:
    """Yield place and cells of each row of a table that must have these columns.

    Raises:
        SchemaError: one of them is missing.
    """
    table = read_table(file, set(needed).issubset)
    if missing := [column for column in needed if column not in table.columns]:
        raise Place(file, "line 1").error(f"the column {quoted(missing[0])} is missing")
    for row in table.rows:
        yield Place(file, row.where), row.cells


def numbered(place: Place, cells: Mapping[str, str], kind: str) -> list[str]:
    """Return the texts of the columns `kind1`, `kind2`, ... that are not blank."""
    return [
        place.at(column).text(text)
        for column, text in cells.items()
        if column.startswith(kind) and text
    ]


def _triple(place: Place, row: Row, found: Mapping[str, str]) -> Triple:
    by_role: dict[str, list[tuple[Place, str]]] = defaultdict(list)
    for column, role in found.items():
        by_role[role].append((place.at(column), row.cells.get(column, "")))
    [(at, name)], [(there, answer)] = by_role["subject"], by_role["object"]
    subject, object_ = at.name(name), there.name(answer)
    [(at, relation)] = by_role["relation"] or by_role["prompt"]
    if not by_role["relation"]:
        relation = _relation_of(at, relation, subject, object_)

    def texts(*kinds: str) -> tuple[str, ...]:
        cells = (cell for kind in kinds for cell in by_role[kind])
        return unique(there.text(cell) for there, cell in cells if cell)

    (_, new), *_ = by_role["target_new"] or [(place, "")]
    return Triple(
        subject,
        at.name(relation),
        object_,
        place,
        texts("prompt", "statement", "paraphrase"),
        texts("question"),
        new,
    )


def _relation_of(place: Place, prompt: str, subject: str, object_: str) -> str:
    """The relation of a row without one: the slug of its prompt."""
    cloze = from_statement(place.text(prompt), subject, object_)
    if cloze is None:
        problem = f"does not name {quoted(subject)} once: {quoted(prompt)}"
        raise place.error(problem, code="subject-not-in-prompt")
    return slug(cloze.replace(SUBJECT_SLOT, " "))
