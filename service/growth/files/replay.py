"""Replay of published growth files: what people changed between raw extraction and final graph.

KnowGIC publishes, for one of its graphs, the triplets as they were extracted (a CSV with the
columns Entity, Relationship, Attribute) and the final graph after review (nested YAML). Everything
here is computed from these two files; nothing is asked of a model.

Two spellings are merged before the comparison, each only on evidence in the files themselves:

* an entity that the final graph lacks, and that is an entity of it followed by the name of the
  relation (`George Weasley, house, Gryffindor house` → `Gryffindor`);
* a relation that the final graph lacks, where the final graph states every pair of entities of it
  under one and the same other relation (`school` → `studied at`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from ....loaders.triple_files import PLAIN_COLUMNS, Triple, has_columns, read_facts
from ...errors import UsageError

Names = tuple[str, str, str]


class Merge(BaseModel):
    """A spelling of the raw file that is merged into one of the final graph."""

    kind: str
    found: str
    meant: str


class ReplayOut(BaseModel):
    """What people changed between the extracted triplets and the final graph.

    Attributes:
        rows, distinct, merged: triplets as listed, without repeats, and after the merges.
        final: facts of the final graph.
        pruned, added: facts that people removed from, and wrote into, the graph.
        kept: facts of both.
        precision: kept / merged; recall: kept / final. None where the denominator is 0.
    """

    rows: int
    distinct: int
    merged: int
    final: int
    kept: int
    precision: float | None
    recall: float | None
    merges: list[Merge]
    pruned: list[Names]
    added: list[Names]


@dataclass(frozen=True, slots=True)
class Sources:
    """The file of extracted triplets, and the file of the final graph."""

    raw: Path
    final: Path


def find_sources(paths: Sequence[Path]) -> Sources:
    """Tell the two files apart by their content; a folder is read as the files in it.

    Raises:
        UsageError: not exactly one of each kind.
    """
    files = [
        file
        for path in paths
        for file in (sorted(path.iterdir()) if path.is_dir() else [path])
        if file.is_file()
    ]
    raw = [file for file in files if has_columns(file, PLAIN_COLUMNS)]
    final = [file for file in files if file.suffix.lower() in {".yaml", ".yml"}]
    if len(raw) != 1 or len(final) != 1:
        raise UsageError(
            f"found {len(raw)} tables of extracted triplets and {len(final)} final graphs;"
            " one of each is needed.",
            remedy=f"Give a CSV with the columns {', '.join(PLAIN_COLUMNS)}, and a YAML file"
            " subject → relation → objects.",
        )
    return Sources(raw[0], final[0])


def replay(paths: Sequence[Path]) -> ReplayOut:
    """Compare the extracted triplets with the final graph, both read from files.

    Raises:
        UsageError: not exactly one file of each kind.
        LoaderError: a file cannot be read; names file and place.
    """
    sources = find_sources(paths)
    return compare(_names(read_facts(sources.raw)), _names(read_facts(sources.final)))


def compare(raw: Sequence[Names], final: Sequence[Names]) -> ReplayOut:
    """Compare extracted triplets with the final graph.

    Args:
        raw: as listed, with repeats.
        final: facts of the graph; repeats count once.
    """
    distinct, facts = list(dict.fromkeys(raw)), list(dict.fromkeys(final))
    entities = _entity_merges(distinct, facts)
    renamed = [(entities.get(s, s), r, entities.get(o, o)) for s, r, o in distinct]
    relations = _relation_merges(renamed, facts)
    merged = list(dict.fromkeys((s, relations.get(r, r), o) for s, r, o in renamed))
    stated, found = set(facts), set(merged)
    kept = len(found & stated)
    return ReplayOut(
        rows=len(raw),
        distinct=len(distinct),
        merged=len(merged),
        final=len(facts),
        kept=kept,
        precision=kept / len(merged) if merged else None,
        recall=kept / len(facts) if facts else None,
        merges=[Merge(kind="entity", found=a, meant=b) for a, b in entities.items()]
        + [Merge(kind="relation", found=a, meant=b) for a, b in relations.items()],
        pruned=[triple for triple in merged if triple not in stated],
        added=[triple for triple in facts if triple not in found],
    )


def _names(triples: Iterable[Triple]) -> list[Names]:
    return [(t.subject, t.relation, t.object) for t in triples]


def _entity_merges(raw: Sequence[Names], final: Sequence[Names]) -> dict[str, str]:
    known = {name for s, _, o in final for name in (s, o)}
    merges: dict[str, str] = {}
    for subject, relation, object_ in raw:
        for name in (subject, object_):
            head = name.removesuffix(f" {relation}")
            if name not in known and head in known:
                merges[name] = head
    return merges


def _relation_merges(raw: Sequence[Names], final: Sequence[Names]) -> dict[str, str]:
    known = {relation for _, relation, _ in final}
    merges: dict[str, str] = {}
    for relation in dict.fromkeys(r for _, r, _ in raw if r not in known):
        pairs = {(s, o) for s, r, o in raw if r == relation}
        shared = Counter(r for s, r, o in set(final) if (s, o) in pairs)
        every = [other for other, n in shared.items() if n == len(pairs)]
        if len(every) == 1:
            merges[relation] = every[0]
    return merges
