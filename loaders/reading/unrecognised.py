"""The reason why no format recognises a file: its encoding, separator, columns, or layout.

A guess for a message; nothing is imported by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..texts import enumeration

HEAD = 65536
"""Bytes of the file that are looked at."""

_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
SPREADSHEETS = frozenset({".xlsx", ".xlsm", ".xls", ".ods", ".numbers"})
"""Endings of files that only a spreadsheet program reads."""
_OTHERS = {
    "hyperparameters of EasyEdit": {"alg_name", "model_name"},
    "WMDP": {"question", "choices"},
    "HalluEditBench": {"subject", "relation", "object", "question"},
}
"""Data sets that are not read, by keys of their records or columns."""

CONVERT = (
    "Convert its facts to a CSV file with the columns subject, relation, object, or to ThinkEval's"
    " YAML: `thinkeval import --help`."
)
HPARAMS = "Give it to the commands that edit, with --hparams FILE."


@dataclass(frozen=True, slots=True)
class Tables:
    """The reading of tables of facts, for messages.

    Attributes:
        endings: of their files.
        columns: the columns of a file.
        expected: the columns of a table of facts, in words.
        remedy: for a table with other columns.
    """

    endings: frozenset[str]
    columns: Callable[[Path], Sequence[str]]
    expected: str
    remedy: str


def encoding_problem(start: bytes) -> str | None:
    """The other encoding that a file seems to have, by its first bytes; None if it is none."""
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            return f"is {name} text, not UTF-8"
    if start[1:2] == b"\0" or start[:1] == b"\0":
        return "is UTF-16 text or no text, not UTF-8"
    return None


def byte_problem(error: UnicodeDecodeError) -> str:
    """The byte that is not UTF-8, with its value and the encodings in which it is a letter."""
    if (other := encoding_problem(bytes(error.object[:4]))) is not None:
        return other
    value = error.object[error.start]
    guess = ""
    if value >= 0xA0:
        guess = f"; in Latin-1 and Windows-1252 it is {chr(value)!r}"
    return f"byte {error.start} (0x{value:02X}) is not UTF-8 text{guess}"


def why(path: Path, tables: Tables) -> tuple[str, str | None]:
    """Return the defect of a file that no format recognises, and the remedy if there is one.

    Args:
        tables: how tables of facts are read.
    """
    if path.is_dir():
        if (facts := path / "facts.csv").is_file():
            problem, remedy = why(facts, tables)
            return f"{facts.name}: {problem}", remedy
        names = enumeration(sorted(file.name for file in path.iterdir())) or "nothing"
        return f"no format recognises this folder, which has {names}", None
    kind = path.suffix.lower()
    if kind in SPREADSHEETS:
        return "a spreadsheet's own format is not read", "Save the sheet as CSV in UTF-8."
    if kind in tables.endings:
        columns = tables.columns(path)
        if len(columns) > 1 or kind != ".txt":
            return _table_problem(columns, tables)
    with path.open("rb") as file:
        start = file.read(HEAD)
    if (problem := encoding_problem(start)) is not None:
        return problem, "Save the file as UTF-8."
    try:
        text = start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.end < len(start) or len(start) < HEAD:
            return byte_problem(error), "Save the file as UTF-8."
        text = start.decode("utf-8-sig", errors="ignore")
    if kind in {".json", ".jsonl"} or text.lstrip()[:1] in {"{", "["}:
        return _json_problem(text)
    if kind in {".yaml", ".yml"}:
        return _yaml_problem(text)
    return "no format recognises it", None


def _json_problem(text: str) -> tuple[str, str | None]:
    keys = list(dict.fromkeys(re.findall(r'"([^"\\]{1,60})"\s*:', text[:20_000])))
    if (problem := _foreign(keys)) is not None:
        return problem, CONVERT
    if re.match(r'\s*\{(\s*"[^"]*"\s*:\s*\[\s*"[^"]*"[,\]])', text) is not None:
        return "it has lists of texts by name, which state no facts", CONVERT
    return f"no format recognises its records, whose keys are {enumeration(keys) or 'none'}", None


def _yaml_problem(text: str) -> tuple[str, str | None]:
    if (number := tab_line(text)) is not None:
        return f"line {number}: indented by a tab", "Indent YAML by spaces."
    keys = re.findall(r"^(['\"]?)([^\s#'\"-][^:\n]{0,60}?)\1\s*:", text, re.M)
    names = [name for _, name in keys]
    if {"alg_name", "model_name"} <= set(names):
        return "it has hyperparameters of an editing method and no facts", HPARAMS
    return (
        "no format recognises this YAML; a graph has the keys relations and facts, or subject ->"
        f" relation -> objects, and this one has {enumeration(names) or 'no key'}",
        None,
    )


def tab_line(text: str) -> int | None:
    """The number of the first line that is indented by a tab; None if none is."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and "\t" in line[: len(line) - len(line.lstrip())]:
            return number
    return None


def _table_problem(columns: Sequence[str], tables: Tables) -> tuple[str, str | None]:
    if (problem := _foreign(columns)) is not None:
        return f"{problem}; a table of facts has the columns {tables.expected}", tables.remedy
    found = enumeration(columns) or "none"
    return f"its columns are {found}; expected {tables.expected}", tables.remedy


def _foreign(keys: Sequence[str]) -> str | None:
    for name, needed in _OTHERS.items():
        if needed <= set(keys):
            return f"it seems to be {name}, which is none of the formats"
    return None
