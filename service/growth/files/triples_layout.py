"""A graph as the tables that KnowGIC publishes beside chains; `loaders.triples` reads them again.

* `kg.yaml`: subject → relation → objects.
* `relations_one_to_one.csv`: the same facts, one a row.
* `relations_all_combinations.csv`: every fact, then every longer chain of the rewrites, as paths
  `A->B->C` with their relations `r1->r2`.
* `atomic_samples.csv`: statements of each fact without its object: the prompt, then paraphrases.
* `base_triple.csv`: the facts to edit.

Three further parts are not in the published files, and make the import complete: columns
`question1`, … of `atomic_samples.csv`, `attributes_with_aliases.json` (KnowGIC's format), and
`rewrites.yaml` with the new objects. Lost parts are in `Layout.lost`: kinds of entities, which
rewrites may use which fact, and prompts for specificity and generation.

`tables` is the same graph for a spreadsheet, nothing of it twice: `facts.csv` (as
`atomic_samples.csv`), `rewrites.csv`, and `entities.csv` with kinds and aliases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from ....loaders.records import (
    LITERAL_SLOT,
    SUBJECT_SLOT,
    Fact,
    KnowledgeGraph,
    RewriteRequest,
    slot_parts,
)
from ....loaders.triple_files import (
    BASE_COLUMNS,
    BASE_FILE,
    ENTITIES_TABLE,
    PLAIN_COLUMNS,
    REWRITES_FILE,
    REWRITES_TABLE,
    STATEMENT_COLUMNS,
)
from ....loaders.wording import from_statement
from .layout import Chains, Layout, aliases_file, csv_bytes

ARROW = "->"


def triples(graph: KnowledgeGraph, chains: Chains) -> Layout:
    """The files of a graph."""
    layout = Layout()
    nested: dict[str, dict[str, list[str]]] = {}
    for fact in graph.facts:
        nested.setdefault(fact.subject, {}).setdefault(fact.relation, []).append(fact.object)
    plain = [(fact.subject, fact.relation, fact.object) for fact in graph.facts]
    requests = [_rewrite(rewrite, layout) for rewrite in graph.rewrites]
    bases = [r for r in graph.rewrites if ARROW not in r.subject + r.target_true]
    layout.files = {
        "kg.yaml": _yaml(nested),
        "relations_one_to_one.csv": csv_bytes(PLAIN_COLUMNS, plain),
        "relations_all_combinations.csv": csv_bytes(BASE_COLUMNS, _paths(graph, chains)),
        "atomic_samples.csv": _statements(graph, layout),
        REWRITES_FILE: _yaml(requests),
        **aliases_file(graph),
    }
    if bases:
        rows = dict.fromkeys((f"{r.subject}{ARROW}{r.target_true}", r.relation) for r in bases)
        layout.files[BASE_FILE] = csv_bytes(BASE_COLUMNS, rows)
    if not graph.rewrites:
        del layout.files[REWRITES_FILE]
    layout.lose(sum(e.kind is not None for e in graph.entities), "kinds of entities are left out")
    _note_losses(graph, layout)
    return layout


def tables(graph: KnowledgeGraph) -> Layout:
    """Return the tables of a graph, with all of its facts."""
    layout = Layout()
    replaced = [rewrite for rewrite in graph.rewrites if not rewrite.correct]
    requests = [_rewrite(rewrite, layout) for rewrite in replaced]
    layout.files = {
        "facts.csv": _statements(graph, layout),
        REWRITES_TABLE: _table(
            ("subject", "relation", "target_true", "target_new", "prompt", "question"),
            ("paraphrase",),
            [_number("paraphrase", each.pop("paraphrases")) | each for each in requests],
        ),
        ENTITIES_TABLE: _table(
            ("entity", "kind"),
            ("alias",),
            [
                {"entity": each.name, "kind": each.kind or ""} | _number("alias", each.aliases)
                for each in graph.entities
            ],
        ),
    }
    layout.lose(len(graph.rewrites) - len(replaced), "requests to append are left out")
    _note_losses(graph, layout)
    return layout


def _note_losses(graph: KnowledgeGraph, layout: Layout) -> None:
    layout.lose(
        sum(bool(f.cases) for f in graph.facts),
        "facts are for some rewrites only; after the import every rewrite may use them",
    )
    layout.lose(
        sum(bool(r.neighborhood or r.generation_prompts) for r in graph.rewrites),
        "rewrites have prompts for specificity or generation, which are left out",
    )
    layout.lose(
        sum(not _is_cloze(text) for r in graph.rewrites for text in r.paraphrases),
        "paraphrases of rewrites do not name the subject once, and are left out",
    )


def _table(header: Sequence[str], kinds: Sequence[str], rows: Sequence[Mapping[str, str]]) -> bytes:
    """Return rows as CSV: the columns of the header, then `kind1`, `kind2`, ... of each kind."""
    columns = [*header]
    for kind in kinds:
        n = max((sum(key.startswith(kind) for key in row) for row in rows), default=0)
        columns += [f"{kind}{i + 1}" for i in range(n)]
    return csv_bytes(columns, ([row.get(key, "") for key in columns] for row in rows))


def _number(kind: str, texts: Iterable[str]) -> dict[str, str]:
    return {f"{kind}{i}": text for i, text in enumerate(texts, 1)}


def _yaml(value: object) -> bytes:
    return yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=1000).encode()


def _paths(graph: KnowledgeGraph, chains: Chains) -> Iterator[tuple[str, str]]:
    seen: set[tuple[str, str]] = set()
    longer = (c for r in graph.rewrites for c in chains.get(r.id, ()) if len(c) > 1)
    for path in (*((fact,) for fact in graph.facts), *longer):
        entities = [path[0].subject, *(fact.object for fact in path)]
        row = (ARROW.join(entities), ARROW.join(fact.relation for fact in path))
        if row not in seen:
            seen.add(row)
            yield row


def _statements(graph: KnowledgeGraph, layout: Layout) -> bytes:
    subject, predicate, object_ = STATEMENT_COLUMNS
    rows, otherwise = [], 0
    for fact in graph.facts:
        clozes = (fact.prompt, *fact.paraphrases)
        stated = [_statement(cloze, fact) for cloze in clozes]
        again = [from_statement(text, fact.subject, fact.object) for text in stated]
        otherwise += sum(read != cloze for read, cloze in zip(again, clozes, strict=True))
        names = {subject: fact.subject, object_: fact.object, predicate: fact.relation}
        rows.append(names | _number("statement", stated) | _number("question", fact.questions))
    layout.lose(otherwise, "prompts or paraphrases of facts are read otherwise after the import")
    return _table((subject, object_, predicate), ("statement", "question"), rows)


def _statement(cloze: str, fact: Fact) -> str:
    """The cloze with the subject; the cloze itself where the sentence would be read as another."""
    filled = cloze.replace(SUBJECT_SLOT, fact.subject, 1)
    same = from_statement(filled, fact.subject, fact.object) == cloze
    return filled if same else cloze


def _rewrite(rewrite: RewriteRequest, layout: Layout) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "subject": rewrite.subject,
        "relation": rewrite.relation,
        "target_true": rewrite.target_true,
        "target_new": rewrite.target_new,
        "prompt": rewrite.prompt,
        "paraphrases": [text for text in rewrite.paraphrases if _is_cloze(text)],
    }
    if rewrite.question and rewrite.question.count(rewrite.subject) == 1:
        entry["question"] = rewrite.question.replace(rewrite.subject, SUBJECT_SLOT)
    elif rewrite.question:
        layout.lose(1, f"question of a rewrite does not name {rewrite.subject!r} once: left out")
    return entry


def _is_cloze(text: str) -> bool:
    """Return True if an import takes the text as a paraphrase."""
    return len(slot_parts(text)) == 2 and LITERAL_SLOT not in text
