"""Plain triples: nested YAML, CSV, and the folders in which KnowGIC publishes both.

* YAML: subject -> relation -> list of objects (`kg.yaml`).
* A table with columns subject, relation, object, or other usual names (`table_roles.py`), separated
  by commas, semicolons, tabs or bars, in UTF-8, UTF-16 or Windows-1252; or JSON records with these
  keys. `prompt` has {} for the subject, or its name. A row with `target_new` gives a rewrite.
* CSV with columns beginning_object, ending_object, predicate, statement1, statement2, ...: the
  statements express the fact in several ways, without the object (`atomic_samples.csv`). The
  first is the prompt, the others are paraphrases. Columns question1, ... are questions with the
  subject in them (`thinkeval graph grow export` writes them). In such a table a row without
  statements is asked as most facts of its relation are.
* `base_triple.csv` in the same folder, columns Attributes (`Harry Potter->Hogwarts`) and
  Relationships: the fact to edit.
* `attributes_with_aliases.json` in the same folder: aliases, as in KnowGIC.
* `entities.csv` in the same folder, columns entity, kind, alias1, ...: kinds and aliases.

A YAML file is read together with the statements and the base triple in its folder; so is a folder.
A file of statements belongs to it if at least half of its facts are facts of the YAML, or if its
name starts with the YAML's (`cities.yaml`, `cities_statements.csv`); another is not read, with a
note. A row without a subject, relation or object is refused with its line, and the others are read.

None of these files contains the new object of the edited fact. Its sources are, in this order: the
option `target_new`; a `rewrites.yaml` in the same folder, a list of rewrites as in `graph_yaml.py`,
or a `rewrites.csv` with columns of the same names and paraphrase1, ...; a KnowGIC `chains.json`
with the same rewrite, in the folder or the one above. Without any of them the graph has no rewrite,
and the report says so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import hallu_edit_bench, knowgic
from .assembly import GraphAssembly
from .graph_yaml import Wording
from .reading.sources import default_name
from .records import SUBJECT_SLOT, LoadedGraph, unique
from .texts import examples, folded, quoted
from .triple_files import (
    Sources,
    Triple,
    find_sources,
    is_facts,
    numbered,
    read_columns,
    read_facts,
    table_triples,
)
from .triple_rewrites import add_rewrites, add_row_rewrites
from .wording import from_relation, from_statement

SUMMARY = "facts: a table or JSON records of subject, relation, object, or YAML by subject"


def recognises(path: Path) -> bool:
    """Return True if the path is a file of triples, or a folder with one."""
    if path.is_dir():
        if knowgic.recognises(path):
            return False
        return any(is_facts(file) for file in sorted(path.iterdir()) if file.is_file())
    return is_facts(path) and not hallu_edit_bench.recognises(path)


def load(
    path: Path | str,
    *,
    name: str | None = None,
    target_new: str | None = None,
    map: Sequence[str] = (),
) -> LoadedGraph:
    """Read triples.

    Args:
        path: a YAML file, a table or a file of JSON records, or the folder that contains them.
        name: the data set's name; by default the folder's or file's.
        target_new: the new object of the base triple.
        map: `column=role` for each column of a table that is named otherwise.

    Raises:
        UnreadableFileError: a file is missing, or is neither YAML nor a table.
        SchemaError: a value is missing or wrong; names file, line or key, and problem.
        UnknownFormatError: the folder contains no such file, or several.
    """
    path = Path(path)
    sources = find_sources(path)
    assembly = GraphAssembly(name or default_name(path))
    if sources.entities:
        _read_entities(sources.entities, assembly)
    triples = read_facts(sources.facts, assembly, map)
    assembly.read["facts"] = len(triples)
    stated = _read_statements(sources, triples, assembly)
    as_others = sources.facts.suffix.lower() not in {".yaml", ".yml"}
    wordings = _word_facts(triples + stated, assembly, as_others=as_others)
    asked: dict[tuple[str, str, str], tuple[str, ...]] = defaultdict(tuple)
    for triple in triples + stated:
        asked[triple.key] = unique((*asked[triple.key], *triple.questions))
    kept: list[Triple] = []
    for triple in triples:
        if assembly.leaves_out(triple.place, triple.subject, triple.object):
            continue
        kept.append(triple)
        fact = wordings[triple.key].fact(triple.subject, triple.relation, triple.object)
        assembly.facts.append(replace(fact, questions=asked[triple.key]))
    add_row_rewrites(kept, wordings, assembly)
    add_rewrites(sources, target_new, assembly)
    if (aliases := sources.facts.parent / knowgic.ALIASES_FILE).is_file():
        knowgic.add_aliases(aliases, assembly)
    if sources.unread:
        listed = examples(file.name for file in sources.unread)
        assembly.note(
            "flagged", f"{len(sources.unread)} files", f"are not part of this data set: {listed}"
        )
    return assembly.finish(str(path), "triples")


def _read_entities(file: Path, assembly: GraphAssembly) -> None:
    """Read kinds and aliases of entities."""
    for place, cells in read_columns(file, ("entity",)):
        name = place.at("entity").name(cells["entity"])
        assembly.aliases[name] = tuple(numbered(place, cells, "alias"))
        if kind := cells.get("kind"):
            assembly.kinds[name] = place.at("kind").name(kind)
    assembly.declared = frozenset(assembly.aliases)


def _read_statements(
    sources: Sources, triples: list[Triple], assembly: GraphAssembly
) -> list[Triple]:
    """Rows of statements for the facts of a YAML file; rows for other facts are refused."""
    keys = {triple.key for triple in triples}
    kept: list[Triple] = []
    for file in sources.statements:
        rows = table_triples(file, assembly)
        shared = sum(row.key in keys for row in rows)
        if 2 * shared < len(rows) and not file.stem.startswith(sources.facts.stem):
            assembly.note(
                "flagged",
                file.name,
                f"is not read: only {shared} of its {len(rows)} rows are facts of"
                f" {sources.facts.name}, so it is taken for another data set's",
            )
            continue
        assembly.read["statements"] = assembly.read.get("statements", 0) + sum(
            len(row.statements) for row in rows
        )
        for row in rows:
            if row.key in keys:
                kept.append(row)
            else:
                fact = f"{row.subject} / {row.relation} / {row.object}"
                reason = f"{quoted(fact)} is not a fact of {sources.facts.name}"
                assembly.note("refused", f"{file.name}, {row.place.where}", reason)
    return kept


def _word_facts(
    triples: list[Triple], assembly: GraphAssembly, *, as_others: bool
) -> dict[tuple[str, str, str], Wording]:
    """Prompt and paraphrases of every fact, from its statements or else from its relation.

    Args:
        as_others: a fact without statements has the usual prompts of its relation's other facts.
    """
    clozes: dict[tuple[str, str, str], list[str]] = {triple.key: [] for triple in triples}
    usual: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    odd: list[tuple[Triple, int, str]] = []
    for triple in triples:
        for i, statement in enumerate(triple.statements):
            cloze = from_statement(statement, triple.subject, triple.object)
            if cloze is None:
                odd.append((triple, i, statement))
            else:
                clozes[triple.key].append(cloze)
                usual[triple.relation, i][cloze] += 1
    for triple, i, statement in odd:
        _repair(triple, i, statement, usual, clozes, assembly)
    if as_others:
        _fill_in(triples, usual, clozes, assembly)
    wordings: dict[tuple[str, str, str], Wording] = {}
    guessed: dict[str, int] = Counter()
    for triple in triples:
        prompt, *others = unique(clozes[triple.key]) or (from_relation(triple.relation),)
        wordings[triple.key] = Wording(prompt, None, tuple(others))
    for triple in {triple.key: triple for triple in triples}.values():
        guessed[triple.relation] += not clozes[triple.key]
    for relation, count in guessed.items():
        if count:
            assembly.note(
                "repaired",
                f"relation {quoted(relation)}",
                f"{count} facts have no statement; the prompt is {quoted(from_relation(relation))}",
            )
    return wordings


def _fill_in(
    triples: list[Triple],
    usual: dict[tuple[str, int], Counter[str]],
    clozes: dict[tuple[str, str, str], list[str]],
    assembly: GraphAssembly,
) -> None:
    """Give facts without statements the most frequent ones of their relation."""
    filled: dict[str, int] = Counter()
    for triple in {triple.key: triple for triple in triples}.values():
        if not clozes[triple.key]:
            for i in range(
                1 + max((i for name, i in usual if name == triple.relation), default=-1)
            ):
                clozes[triple.key] += _most(usual[triple.relation, i])
            filled[triple.relation] += bool(clozes[triple.key])
    for relation, count in filled.items():
        if count:
            (prompt,) = _most(usual[relation, 0])
            assembly.note(
                "repaired",
                f"relation {quoted(relation)}",
                f"{count} facts have no statement; they have those of most other facts of the"
                f" relation, first {quoted(prompt)}",
            )


def _most(counts: Counter[str]) -> list[str]:
    """Return the most frequent text, the first by letters of equal ones; nothing of nothing."""
    return sorted(counts, key=lambda text: (-counts[text], text))[:1]


def _repair(
    triple: Triple,
    i: int,
    statement: str,
    usual: dict[tuple[str, int], Counter[str]],
    clozes: dict[tuple[str, str, str], list[str]],
    assembly: GraphAssembly,
) -> None:
    """Use the cloze of other facts of the relation if a statement gives none."""
    where = f"{triple.place.path.name}, {triple.place.where}, statement {i + 1}"
    problem = (
        f"{quoted(statement)} does not name {quoted(triple.subject)} once and "
        f"{quoted(triple.object)} last"
    )
    others = _most(usual[triple.relation, i])
    named = SUBJECT_SLOT in statement or folded(triple.subject) in folded(statement)
    code = "object-in-prompt" if named else "subject-not-in-prompt"
    if not others:
        problem += "; no other fact of the relation gives a cloze"
        assembly.note("refused", where, problem, code)
        return
    (cloze,) = others
    # At the statement's index: the first statement is the prompt.
    clozes[triple.key].insert(min(i, len(clozes[triple.key])), cloze)
    problem += f"; replaced by the cloze of other facts: {quoted(cloze)}"
    assembly.note("repaired", where, problem, code)
