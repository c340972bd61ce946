"""Content of an exported graph: its files, and the parts lost by their format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....loaders.knowgic import ALIASES_FILE
from ....loaders.records import Fact, KnowledgeGraph, RewriteRequest

Chains = Mapping[str, Sequence[tuple[Fact, ...]]]
"""Chains of each rewrite, by its id: the facts in order from subject to target_true."""


@dataclass(slots=True)
class Layout:
    """Files by name, and the lost parts: one sentence each, with counts."""

    files: dict[str, bytes] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def lose(self, count: int, what: str) -> None:
        """Note something that the format cannot hold, if there is any."""
        if count:
            self.lost.append(f"{count:,} {what}")


def in_scope(fact: Fact, rewrite: RewriteRequest) -> bool:
    """Return True if the chains of a rewrite may use a fact."""
    return not fact.cases or not rewrite.n_records or rewrite.id in fact.cases


def aliases_file(graph: KnowledgeGraph) -> dict[str, bytes]:
    """KnowGIC's file of aliases."""
    aliases = {entity.name: {"answer_alias": list(entity.aliases)} for entity in graph.entities}
    return {ALIASES_FILE: json_bytes(aliases)}


def json_bytes(value: object) -> bytes:
    """Indented JSON in UTF-8, as KnowGIC writes it."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file in UTF-8 with Unix line ends."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()
