"""A graph as tables of cells that a person edits, with problems by row, and as YAML text.

The YAML is the format of `graph_yaml`, whose rules decide what a cell may hold. What that format
cannot say of a stored graph (several wordings of one relation, scopes of rewrites, prompts for
specificity) is named by `tables_of`, never dropped in silence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ...loaders.errors import SchemaError
from ...loaders.graph_yaml import meant
from ...loaders.reading.sources import Place
from ...loaders.records import SUBJECT_SLOT, Fact, KnowledgeGraph, RewriteRequest, fill
from ...loaders.texts import quoted

Row = Mapping[str, str]
"""Cells of one row by column; `paraphrases` and `aliases` have one entry a line."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "relations": ("relation", "prompt", "question", "paraphrases"),
    "facts": ("subject", "relation", "object"),
    "rewrites": (
        "subject", "relation", "target_true", "target_new", "prompt", "question", "paraphrases"
    ),
    "entities": ("entity", "kind", "aliases"),
}  # fmt: skip
"""The columns of each table."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    "relations": ("relation", "prompt"),
    "facts": ("subject", "relation", "object"),
    "rewrites": ("subject", "relation", "target_new"),
    "entities": ("entity",),
}
"""Columns that a row must fill."""
LINES = ("paraphrases", "aliases")
"""Columns with one entry a line."""
PROMPTS = ("prompt", "question", "paraphrases")
"""Columns whose entries have one `{}` for the subject."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What is wrong with one row; `row` counts from 1, `column` is the cell to correct."""

    table: str
    row: int
    column: str
    text: str


@dataclass(frozen=True, slots=True)
class Tables:
    """A graph as rows: relations with their prompts, facts, rewrites, entities."""

    name: str = ""
    relations: tuple[Row, ...] = ()
    facts: tuple[Row, ...] = ()
    rewrites: tuple[Row, ...] = ()
    entities: tuple[Row, ...] = ()

    def rows(self, table: str) -> tuple[Row, ...]:
        """The rows of a table of `COLUMNS`."""
        return getattr(self, table)


def lines(cell: str) -> list[str]:
    """The entries of a cell with one entry a line, without blank ones."""
    return [line.strip() for line in cell.splitlines() if line.strip()]


def to_yaml(tables: Tables) -> str:
    """The tables in the format of `graph_yaml`; they must have no problems (`problems`)."""
    content: dict[str, Any] = {"name": tables.name.strip()}
    content["relations"] = {row["relation"]: _filled(row, PROMPTS) for row in tables.relations}
    if any(row["kind"] or row["aliases"] for row in tables.entities):
        content["entities"] = {
            row["entity"]: _filled(row, ("kind", "aliases")) for row in tables.entities
        }
    facts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in tables.facts:
        facts[row["subject"]][row["relation"]].append(row["object"])
    content["facts"] = {subject: dict(by_relation) for subject, by_relation in facts.items()}
    if tables.rewrites:
        content["rewrites"] = [_filled(row, COLUMNS["rewrites"]) for row in tables.rewrites]
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=100)


def _filled(row: Row, columns: Iterable[str]) -> dict[str, Any]:
    """The cells that are not empty; those with one entry a line as lists."""
    return {
        key: lines(row[key]) if key in LINES else row[key] for key in columns if row[key].strip()
    }


def problems(tables: Tables) -> list[RowProblem]:
    """Everything wrong with single rows, table by table; loading finds the rest."""
    found: list[RowProblem] = []
    known = {row["relation"] for row in tables.relations if row["relation"]}
    for table in COLUMNS:
        seen: dict[tuple[str, ...], int] = {}
        for number, row in enumerate(tables.rows(table), 1):
            flaw = _cell_problem(table, row) or _link_problem(table, row, known, tables)
            key = _identity(table, row)
            if flaw is None and key in seen:
                flaw = (COLUMNS[table][0], f"repeats row {seen[key]}")
            seen.setdefault(key, number)
            if flaw is not None:
                found.append(RowProblem(table, number, *flaw))
    return found


def _identity(table: str, row: Row) -> tuple[str, ...]:
    if table == "rewrites":
        return (RewriteRequest.make_id(row["subject"], row["relation"], row["target_new"]),)
    return tuple(row[column] for column in NEEDED[table] if column != "prompt")


def _cell_problem(table: str, row: Row) -> tuple[str, str] | None:
    """Column and problem of the first cell that the format does not allow."""
    for column in COLUMNS[table]:
        cell = row[column]
        if not cell.strip():
            if column in NEEDED[table]:
                return column, "is empty"
            continue
        place = Place(Path(), column)
        check: Callable[[object], str] = place.prompt if column in PROMPTS else place.name
        for entry in lines(cell) if column in LINES else [cell]:
            try:
                check(entry)
            except SchemaError as error:
                return column, error.problem
    return None


def _link_problem(table: str, row: Row, known: set[str], tables: Tables) -> tuple[str, str] | None:
    """Column and problem of a row that does not fit the other tables."""
    if table not in ("facts", "rewrites"):
        return None
    relation = row["relation"]
    if relation not in known and not (table == "rewrites" and row["prompt"]):
        where = f"{quoted(relation)} is not in the table of relations{meant(relation, known)}"
        return "relation", where
    if table == "facts":
        same = row["subject"].casefold() == row["object"].casefold()
        return ("object", "is the subject itself, so the fact lies on no chain") if same else None
    return _target_problem(row, tables)


def _target_problem(row: Row, tables: Tables) -> tuple[str, str] | None:
    target = row["target_true"]
    if not target:
        about = (row["subject"].casefold(), row["relation"])
        objects = {
            fact["object"]
            for fact in tables.facts
            if (fact["subject"].casefold(), fact["relation"]) == about
        }
        if len(objects) != 1:
            count = f"{len(objects)} objects" if objects else "no object"
            return "target_true", f"is empty, and the facts have {count} for it"
        (target,) = objects
    if target.casefold() == row["target_new"].casefold():
        return "target_new", "is the old object"
    return None


@dataclass
class _LeftOut:
    """Counts of what the format cannot say, by what it is."""

    counts: Counter[str] = field(default_factory=Counter)

    def note(self, what: str, n: int = 1) -> None:
        self.counts[what] += n

    def sentences(self) -> list[str]:
        return [f"{what}: {n}" for what, n in self.counts.items() if n]


def tables_of(graph: KnowledgeGraph) -> tuple[Tables, list[str]]:
    """A graph as tables, and what the format cannot say of it, each with its number."""
    left = _LeftOut()
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for fact in graph.facts:
        by_relation[fact.relation].append(fact)
    wordings = {name: _wording(facts, left) for name, facts in by_relation.items()}
    left.note("facts limited to rewrites", sum(bool(fact.cases) for fact in graph.facts))
    tables = Tables(
        graph.name,
        tuple({"relation": name} | wording for name, wording in wordings.items()),
        tuple(
            {"subject": f.subject, "relation": f.relation, "object": f.object} for f in graph.facts
        ),
        tuple(
            _rewrite(request, wordings.get(request.relation), left)
            for request in graph.rewrites
            if not _append(request, left)
        ),
        tuple(
            {"entity": e.name, "kind": e.kind or "", "aliases": "\n".join(e.aliases)}
            for e in graph.entities
            if e.kind or e.aliases
        ),
    )
    return tables, left.sentences()


def _append(request: RewriteRequest, left: _LeftOut) -> bool:
    if request.correct:
        left.note("requests to append")
    return bool(request.correct)


def _wording(facts: list[Fact], left: _LeftOut) -> dict[str, str]:
    """The most frequent prompt, question and paraphrases of a relation's facts."""
    prompts = Counter(fact.prompt for fact in facts)
    asked = Counter(_template(fact.question, fact.subject) for fact in facts)
    phrased = Counter(fact.paraphrases for fact in facts)
    prompt, question = prompts.most_common(1)[0][0], asked.most_common(1)[0][0]
    paraphrases = phrased.most_common(1)[0][0]
    left.note("facts with a prompt other than most of their relation", _others(prompts))
    lost = sum(f.question != (fill(question, f.subject) if question else None) for f in facts)
    left.note("facts with a question other than most of their relation", lost)
    left.note("facts with paraphrases other than most of their relation", _others(phrased))
    left.note(
        "second and later questions of facts", sum(max(0, len(f.questions) - 1) for f in facts)
    )
    return {"prompt": prompt, "question": question or "", "paraphrases": "\n".join(paraphrases)}


def _others(counts: Counter[Any]) -> int:
    return counts.total() - counts.most_common(1)[0][1]


def _template(question: str | None, subject: str) -> str | None:
    """A question with `{}` for its subject; None where it does not name it exactly once."""
    if question is None or question.count(subject) != 1 or SUBJECT_SLOT in question:
        return None
    return question.replace(subject, SUBJECT_SLOT)


def _rewrite(request: RewriteRequest, wording: Row | None, left: _LeftOut) -> Row:
    """A rewrite as a row; prompts only where they are not those of its relation."""
    row = {key: str(getattr(request, key)) for key in COLUMNS["rewrites"][:4]}
    row |= dict.fromkeys(PROMPTS, "")
    if wording is None or request.prompt != wording["prompt"]:
        row["prompt"] = request.prompt
    if request.question and request.question != fill(
        wording["question"] if wording else "", request.subject
    ):
        row["question"] = _template(request.question, request.subject) or ""
        left.note("questions of rewrites that do not name their subject", not row["question"])
    inherits = wording is not None and (
        (bool(wording["question"]) and not request.question)
        or (bool(wording["paraphrases"]) and not request.paraphrases)
    )
    left.note("rewrites that take questions or paraphrases from their relation", inherits)
    own = "\n".join(request.paraphrases)
    row["paraphrases"] = "" if wording and own == wording["paraphrases"] else own
    extra = request.neighborhood or request.generation_prompts or request.reference_texts
    left.note("rewrites with prompts for specificity, fluency or consistency", bool(extra))
    return row
